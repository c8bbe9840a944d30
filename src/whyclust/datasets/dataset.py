"""What load() returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set and what is known about it.

    Attributes
    ----------
    name : str
        Its name in :func:`whyclust.datasets.available`.
    X : DataFrame, array, sparse matrix or None
        A frame for tables, an array for images, TF-IDF as a sparse matrix; None where there is no
        table, as for raw texts.
    y : ndarray of int or None
        Classes, from 0 on. They are for judging a clustering, not for making it.
    feature_names : list of str or None
        Columns of X, where they have names.
    class_names : list of str or None
        Name of class 0, 1, ...
    n_clusters : int or None
        K of Table I of the NEON paper, which its authors chose by the elbow and not by the classes.
    description, source, licence : str
        What it is, who published it, and on what terms (as stated there).
    notes : tuple of str
        Where the rows or columns here are not those of the papers, and what was done to them.
    texts : tuple of str or None
        The documents, where rows are documents.
    arrays : mapping of str to ndarray
        Whatever else belongs to the rows: masks, dates, the official split, word vectors.
    """

    name: str
    X: Any
    y: NDArray | None
    feature_names: list[str] | None
    class_names: list[str] | None
    n_clusters: int | None
    description: str
    source: str
    licence: str
    notes: tuple[str, ...] = ()
    texts: tuple[str, ...] | None = None
    arrays: Mapping[str, NDArray] = field(default_factory=dict)

    @property
    def n_classes(self) -> int | None:
        """Number of classes, or None where rows have none."""
        if self.y is None:
            return None
        return len(self.class_names) if self.class_names else int(self.y.max()) + 1

    def __repr__(self) -> str:
        parts = []
        if self.X is not None:
            parts.append(" x ".join(map(str, self.X.shape)))
        elif self.texts is not None:
            parts.append(f"{len(self.texts)} texts")
        else:
            parts.append(f"{len(self.arrays)} arrays")
        if self.n_classes is not None:
            parts.append(f"{self.n_classes} classes")
        if self.n_clusters is not None:
            parts.append(f"K = {self.n_clusters}")
        return f"<Dataset {self.name}: {', '.join(parts)}>"
