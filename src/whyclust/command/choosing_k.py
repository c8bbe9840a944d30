"""How the command line chooses k, by name: what ``--k-by`` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from whyclust._checks import did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from whyclust.cluster import ChosenK
    from whyclust.cluster.elbow import Elbow

Progress = Callable[[str], None]

# What the report and summary.json say of them.
TOLD = {"apart": "clusters that stand apart", "elbow": "elbow"}


def names() -> list[str]:
    """What can be asked for; the first is the default."""
    return list(TOLD)


def check(name: str) -> None:
    """Refuse an unknown name."""
    if name not in TOLD:
        raise ValueError(
            f"there is no --k-by '{name}', expected {' or '.join(TOLD)}{did_you_mean(name, names())}"
        )


def chosen(name: str, matrix: np.ndarray, method: str, seed: int, progress: Progress) -> ChosenK | Elbow:
    """Choose k for the prepared columns of a table.

    Parameters
    ----------
    name : str
        One of `names()`.
    matrix : ndarray of shape (n_samples, n_features)
    method : str
        How rows will be clustered; for methods that `choose_k` does not know, k-means stands in.
    seed : int
    progress : callable
        Called with a short text at every step.
    """
    if name == "elbow":
        from whyclust.cluster.elbow import inertia_curve

        return inertia_curve(
            matrix, random_state=seed, progress=lambda tried: progress(f"Choosing k: trying {tried}")
        )
    from whyclust.cluster.choose_k import METHODS, choose_k

    known = method if method in METHODS else METHODS[0]
    return choose_k(matrix, method=known, random_state=seed, progress=progress)


def where_drawn(choice: Mapping[str, Any]) -> str:
    """Where the curve is to be seen, if several numbers were tried.

    >>> where_drawn({"n_clusters": [1]}), where_drawn({"n_clusters": [1, 2, 3]})
    ('', ' The curve is in the report.')
    """
    return " The curve is in the report." if len(choice["n_clusters"]) > 1 else ""
