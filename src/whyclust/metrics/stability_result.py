"""What refits of a clustering say of its stability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_SOURCES = {
    ("bootstrap",): "bootstrap samples of the rows",
    ("reseed",): "the same rows with other seeds",
    ("bootstrap", "reseed"): "bootstrap samples of the rows with other seeds",
}


@dataclass(frozen=True)
class Estimate:
    """A mean over repeats and its standard error.

    >>> print(Estimate(0.9, 0.01))
    0.900 ± 0.010
    """

    mean: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.standard_error:.3f}"


def estimate(values: NDArray) -> Estimate | None:
    """Mean and standard error of the repeats in which there is a value; None where fewer than two have one.

    >>> estimate(np.array([1.0, 3.0, np.nan]))
    Estimate(mean=2.0, standard_error=1.0)
    """
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return None
    return Estimate(float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known))))


@dataclass(frozen=True, eq=False)
class Stability:
    """How clusters and relevances came back in refits.

    Arrays of repeats hold NaN where a repeat has no answer: no row kept its cluster, relevance was
    constant, or there are fewer than three columns to correlate. Means leave these out, and are None
    where fewer than two repeats have an answer.

    Attributes
    ----------
    clusters, sizes : ndarray of shape (n_clusters,)
        The original's clusters and how many rows each has.
    ari_per_repeat, share_per_repeat : ndarray of shape (n_repeats,)
        Adjusted Rand index with the original, and share of rows that keep their cluster.
    jaccard_per_repeat : ndarray of shape (n_repeats, n_clusters)
        Jaccard similarity of each cluster with the most similar one of the refit (Hennig 2007).
    pearson_per_repeat, spearman_per_repeat : ndarray of shape (n_repeats,)
        Mean correlation, over rows that keep their cluster, of the row's relevances with the original's.
    profile_per_repeat : ndarray of shape (n_repeats, n_clusters)
        Pearson correlation of each cluster's mean relevances with its partner's.
    sources : tuple of str
        What was changed: "bootstrap", "reseed" or both.
    noise : cluster id or None
        The one among `clusters` that is none, but rows in no cluster.
    """

    clusters: NDArray
    sizes: NDArray
    ari_per_repeat: NDArray
    share_per_repeat: NDArray
    jaccard_per_repeat: NDArray
    pearson_per_repeat: NDArray
    spearman_per_repeat: NDArray
    profile_per_repeat: NDArray
    sources: tuple[str, ...]
    noise: Any = None

    @property
    def n_repeats(self) -> int:
        """How often the model was fitted again."""
        return len(self.share_per_repeat)

    @property
    def ari(self) -> Estimate | None:
        """Adjusted Rand index with the original."""
        return estimate(self.ari_per_repeat)

    @property
    def share(self) -> Estimate | None:
        """Share of rows that keep their cluster."""
        return estimate(self.share_per_repeat)

    @property
    def pearson(self) -> Estimate | None:
        """Correlation of the relevances of rows that keep their cluster."""
        return estimate(self.pearson_per_repeat)

    @property
    def spearman(self) -> Estimate | None:
        """Rank correlation of the same."""
        return estimate(self.spearman_per_repeat)

    def to_pandas(self) -> pd.DataFrame:
        """Return one line per cluster, with means and standard errors over repeats."""
        columns: dict[str, object] = {"cluster": self.clusters, "rows": self.sizes}
        for name, values in [("jaccard", self.jaccard_per_repeat), ("profile", self.profile_per_repeat)]:
            found = [estimate(column) for column in values.T]
            columns[name] = [None if one is None else one.mean for one in found]
            columns[f"{name}_se"] = [None if one is None else one.standard_error for one in found]
        frame = pd.DataFrame(columns)
        return frame.astype(dict.fromkeys(frame.columns[2:], "Float64"))

    def repeats_to_pandas(self) -> pd.DataFrame:
        """Return one line per repeat."""
        return pd.DataFrame(
            {
                "ari": self.ari_per_repeat,
                "share": self.share_per_repeat,
                "jaccard": self.jaccard_per_repeat.mean(axis=1),
                "pearson": self.pearson_per_repeat,
                "spearman": self.spearman_per_repeat,
            }
        )

    def sentence(self) -> str:
        """Say it in words."""
        told = (
            f"Fitted {self.n_repeats} times again on {_SOURCES[self.sources]}, the clustering keeps "
            f"{self.share} of the rows in their cluster (adjusted Rand index {self.ari})"
        )
        jaccards = self.jaccard_per_repeat.mean(axis=0)
        # Outliers are seldom the same: noise is none of the clusters that come back or do not.
        least = int(np.argmin(np.where(self.clusters == self.noise, np.inf, jaccards)))
        similarity = f"with a Jaccard similarity of {jaccards[least]:.3f}"
        if jaccards[least].round(3) == 1:
            told += f"; all clusters come back, {similarity}"
        else:
            told += f"; the least stable cluster is {self.clusters[least]}, {similarity}"
        if self.pearson is not None:
            told += f"; the relevances of rows that keep their cluster correlate by {self.pearson}"
        return told + "."

    def __repr__(self) -> str:
        relevance = "" if self.pearson is None else f", relevance {self.pearson}"
        return f"<Stability by {' and '.join(self.sources)}: share {self.share}, ARI {self.ari}{relevance}>"
