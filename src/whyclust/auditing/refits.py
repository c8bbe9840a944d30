"""Do clusters and relevance come back when the clustering is fitted again?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import take_rows
from whyclust._progress import step
from whyclust.auditing.subject import Subject, stratified
from whyclust.metrics import Estimate, Stability, stability

# How Hennig (2007) reads the mean Jaccard similarity of a cluster.
HIGHLY_STABLE, STABLE, PATTERN = 0.85, 0.75, 0.6
# Larger tables are sampled: refits of all their rows would take hours and say little more.
MOST_REFITTED = 10_000


@dataclass(frozen=True, eq=False)
class Refits:
    """Stability under other rows and under other seeds, where either can be had.

    Attributes
    ----------
    bootstrap, reseed : Stability or None
    unknown : str or None
        Why nothing is known, where both are None.
    notes : tuple of str
        What was warned of during the refits.
    n_rows : int or None
        Rows that were fitted and compared, a sample of large tables; None where nothing was.
    """

    bootstrap: Stability | None = None
    reseed: Stability | None = None
    unknown: str | None = None
    notes: tuple[str, ...] = ()
    n_rows: int | None = None

    @property
    def known(self) -> dict[str, Stability]:
        """The stabilities that there are, by their source."""
        both = {"bootstrap": self.bootstrap, "reseed": self.reseed}
        return {source: found for source, found in both.items() if found is not None}

    @property
    def relevance(self) -> Estimate | None:
        """The lower of the correlations of relevance; None where nothing could be correlated."""
        found = [one.pearson for one in self.known.values() if one.pearson is not None]
        return min(found, key=lambda one: one.mean) if found else None

    def to_pandas(self) -> pd.DataFrame | None:
        """One line per cluster: Jaccard similarities, correlation of its mean relevance, and a reading.

        Noise is no cluster, and outliers are seldom the same: it has no line.
        """
        if not self.known:
            return None
        first = next(iter(self.known.values())).to_pandas()
        frame = first[["cluster", "rows"]].copy()
        for source, found in self.known.items():
            lines = found.to_pandas()
            frame[source], frame[f"{source}_se"] = lines["jaccard"], lines["jaccard_se"]
        frame["relevance"], frame["relevance_se"] = first["profile"], first["profile_se"]
        # A cluster is as stable as the less stable of the two says.
        frame["jaccard"] = frame[list(self.known)].min(axis=1)
        frame["reading"] = [read_jaccard(float(value)) for value in frame["jaccard"]]
        noise = next(iter(self.known.values())).noise
        return frame if noise is None else frame[frame["cluster"] != noise].reset_index(drop=True)


def read_jaccard(value: float) -> str:
    """The usual reading of a cluster's mean Jaccard similarity (Hennig 2007).

    >>> [read_jaccard(value) for value in (0.9, 0.8, 0.7, 0.3)]
    ['highly stable', 'stable', 'comes back in part', 'not to be trusted']
    """
    if value >= HIGHLY_STABLE:
        return "highly stable"
    if value >= STABLE:
        return "stable"
    return "comes back in part" if value >= PATTERN else "not to be trusted"


def refit(
    subject: Subject,
    clusters: NDArray,
    *,
    n_refits: int,
    random_state: int,
    progress: Callable[[str], None],
) -> Refits:
    """Fit the subject's model again, on other rows and with other seeds; large tables are sampled."""
    if n_refits == 0:
        return Refits(unknown="refits were not asked for (n_refits=0)")
    if subject.model is None:
        return Refits(unknown=subject.fixed)
    found: dict[str, Stability] = {}
    notes: list[str] = []
    parameters = subject.model.get_params(deep=True)
    rows = stratified(clusters, MOST_REFITTED, np.random.default_rng(random_state))
    data = subject.table.data if len(rows) == len(clusters) else take_rows(subject.table.data, rows)
    sources = ["bootstrap"]
    if any(name.rpartition("__")[2] == "random_state" for name in parameters):
        sources.append("reseed")
    with warnings.catch_warnings(record=True) as caught:
        # A refit that does not converge is a finding about the clustering, told with the others.
        warnings.simplefilter("always")
        for place, source in enumerate(sources):
            progress(f"Fitting {n_refits} times again: {source}")
            step(place, len(sources))
            try:
                kept = stability(
                    subject.model,
                    data,
                    n_repeats=n_refits,
                    bootstrap=source == "bootstrap",
                    reseed=source == "reseed",
                    random_state=random_state,
                )
                # Clusters have the rows that they have, not those of the sample.
                found[source] = replace(kept, sizes=_sizes(kept.clusters, clusters))
            except (TypeError, ValueError) as error:
                notes.append(f"It could not be fitted again ({source}): {_one_line(error)}")
    notes += dict.fromkeys(f"In refits: {_one_line(warning.message)}" for warning in caught)
    unknown = None if found else notes[0][0].lower() + notes[0][1:].rstrip(".")
    told = tuple(notes if found else notes[1:])
    return Refits(found.get("bootstrap"), found.get("reseed"), unknown, told, len(rows))


def _sizes(names: NDArray, clusters: NDArray) -> NDArray:
    known, counts = np.unique(clusters, return_counts=True)
    sizes = dict(zip(known.tolist(), counts.tolist(), strict=True))
    return np.array([sizes.get(name, 0) for name in names.tolist()])


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
