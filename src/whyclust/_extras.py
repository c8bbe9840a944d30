"""Packages that are not always there: what an error says where one is missed."""

from __future__ import annotations

# There is no release yet, so an extra is installed from the folder of the code. With the first release this
# becomes "whyclust": here, and in the docs, which a test compares with it.
_SOURCE = "."
# By extra, what people call the package that it brings.
_CALLED = {
    "torch": "PyTorch",
    "shap": "shap",
    "plots": "matplotlib",
    "excel": "openpyxl",
    "anndata": "anndata",
    "dask": "dask",
}


def how_to_install(extra: str) -> str:
    """The command that brings an extra.

    >>> how_to_install("torch")
    "pip install '.[torch]'"
    """
    return f"pip install '{_SOURCE}[{extra}]'"


def missing(what: str, extra: str) -> ImportError:
    """The error of whatever needs an extra that is not installed.

    Parameters
    ----------
    what : str
        What the user called.
    extra : {"torch", "shap", "plots", "excel", "anndata", "dask"}

    Examples
    --------
    >>> missing("to_shap()", "shap")
    ImportError("to_shap() needs shap, which is not installed: pip install '.[shap]', in the folder of
    whyclust's code.")
    """
    where = ", in the folder of whyclust's code" if _SOURCE == "." else ""
    return ImportError(
        f"{what} needs {_CALLED[extra]}, which is not installed: {how_to_install(extra)}{where}."
    )
