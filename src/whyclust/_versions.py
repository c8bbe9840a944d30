"""Versions of what a result depends on."""

from __future__ import annotations


def versions() -> dict[str, str]:
    """Return the versions of what a result depends on.

    Examples
    --------
    >>> sorted(versions())
    ['numpy', 'python', 'scikit-learn', 'scipy', 'whyclust']
    """
    import platform
    from importlib.metadata import version

    import whyclust

    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "whyclust": whyclust.__version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
