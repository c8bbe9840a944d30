"""Do clusters and relevance come back when the clustering is fitted again?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from whyclust.auditing.subject import Subject
from whyclust.metrics import Estimate, Stability, stability

# How Hennig (2007) reads the mean Jaccard similarity of a cluster.
HIGHLY_STABLE, STABLE, PATTERN = 0.85, 0.75, 0.6


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
    """

    bootstrap: Stability | None = None
    reseed: Stability | None = None
    unknown: str | None = None
    notes: tuple[str, ...] = ()

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
    ['highly stable', 'stable', 'a pattern', 'not to be trusted']
    """
    if value >= HIGHLY_STABLE:
        return "highly stable"
    if value >= STABLE:
        return "stable"
    return "a pattern" if value >= PATTERN else "not to be trusted"


def refit(subject: Subject, *, n_refits: int, random_state: int, progress: Callable[[str], None]) -> Refits:
    """Fit the subject's model again, on other rows and with other seeds."""
    if n_refits == 0:
        return Refits(unknown="refits were not asked for (n_refits=0)")
    if subject.model is None:
        return Refits(unknown=subject.fixed)
    found: dict[str, Stability] = {}
    notes: list[str] = []
    parameters = subject.model.get_params(deep=True)
    sources = ["bootstrap"]
    if any(name.rpartition("__")[2] == "random_state" for name in parameters):
        sources.append("reseed")
    with warnings.catch_warnings(record=True) as caught:
        # A refit that does not converge is a finding about the clustering, told with the others.
        warnings.simplefilter("always")
        for source in sources:
            progress(f"Fitting {n_refits} times again: {source}")
            try:
                found[source] = stability(
                    subject.model,
                    subject.table.data,
                    n_repeats=n_refits,
                    bootstrap=source == "bootstrap",
                    reseed=source == "reseed",
                    random_state=random_state,
                )
            except (TypeError, ValueError) as error:
                notes.append(f"It could not be fitted again ({source}): {_one_line(error)}")
    notes += dict.fromkeys(f"In refits: {_one_line(warning.message)}" for warning in caught)
    unknown = None if found else notes[0][0].lower() + notes[0][1:].rstrip(".")
    return Refits(found.get("bootstrap"), found.get("reseed"), unknown, tuple(notes if found else notes[1:]))


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
