"""The certificate of a surrogate: how well it reproduces the labels it was fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.saving.registry import saved

# Below this share of held-out rows a cluster's explanation tells more of the surrogate than of the labels.
ENOUGH_AGREEMENT = 0.9
# A sentence names this many clusters; the others are counted.
_CLUSTERS_NAMED = 5


@saved
@dataclass(frozen=True, eq=False)
class Fidelity:
    """Agreement of a surrogate with the labels given to it.

    Attributes
    ----------
    clusters : ndarray of shape (n_clusters,)
        The given labels, noise among them if there was any.
    sizes : ndarray of shape (n_clusters,)
        Rows of each label.
    in_sample : ndarray of shape (n_clusters,)
        Share of each label's rows that the surrogate gives the same label.
    held_out : ndarray of shape (n_clusters,)
        The same for rows that the surrogate had not seen.
    precision : ndarray of shape (n_clusters,)
        Of the unseen rows that the surrogate assigns to a label, the share that has it; 1 where it
        assigns none.
    noise : object or None
        The label of rows in no cluster, where there are any.
    unseen : str
        What the rows were that it had not seen, in words.
    """

    clusters: NDArray
    sizes: NDArray
    in_sample: NDArray
    held_out: NDArray
    precision: NDArray
    noise: Any = None
    unseen: str = "cross-validation"

    @property
    def overall_in_sample(self) -> float:
        """Share of all rows on which the surrogate agrees."""
        return float(np.average(self.in_sample, weights=self.sizes))

    @property
    def overall_held_out(self) -> float:
        """Share of all rows on which it agrees when it has not seen them."""
        return float(np.average(self.held_out, weights=self.sizes))

    @property
    def agreement(self) -> NDArray:
        """The smaller of both shares of unseen rows: a cluster may lose rows, or get those of others."""
        return np.minimum(self.held_out, self.precision)

    @property
    def untrusted(self) -> list[Any]:
        """Clusters whose agreement on unseen rows is below 90%, in either direction."""
        return self.clusters[self.agreement < ENOUGH_AGREEMENT].tolist()

    def to_pandas(self) -> pd.DataFrame:
        """Return one line per cluster."""
        return pd.DataFrame(
            {
                "cluster": self.clusters,
                "rows": self.sizes,
                "in_sample": self.in_sample,
                "held_out": self.held_out,
                "precision": self.precision,
                "trusted": self.agreement >= ENOUGH_AGREEMENT,
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "in_sample": self.overall_in_sample,
            "held_out": self.overall_held_out,
            "threshold": ENOUGH_AGREEMENT,
            "clusters": self.to_pandas().to_dict("records"),
        }

    def sentences(self) -> list[str]:
        """Say it in words: how far it agrees, then the labels that it reproduces less well, a line each."""
        return [
            f"The surrogate that stands for the given labels agrees with {self.overall_held_out:.1%} of them "
            f"on rows it had not seen ({self.unseen}), and with {self.overall_in_sample:.1%} on the rows "
            "it was fitted to.",
            *self.reservations(),
        ]

    def reservations(self) -> list[str]:
        """Lines about the labels that it reproduces less well, and what to do; none where there are none."""
        weak = np.flatnonzero(self.agreement < ENOUGH_AGREEMENT)
        if len(weak) == 0:
            return []
        weak = weak[np.argsort(self.agreement[weak], kind="stable")]
        n_labels = len(self.clusters)
        well = f"{n_labels - len(weak)} of {n_labels}" if len(weak) < n_labels else f"none of the {n_labels}"
        lines = [
            f"It reproduces {well} labels on {ENOUGH_AGREEMENT:.0%} of the rows not seen or more, in both "
            "directions. Less well:"
        ]
        for place in weak[:_CLUSTERS_NAMED]:
            named = "Noise" if self.clusters[place] == self.noise else f"Cluster {self.clusters[place]}"
            kept, own = self.held_out[place], self.precision[place]
            lines.append(
                f"{named}: {kept:.1%} of its rows not seen get its label."
                if kept <= own
                else f"{named}: {own:.1%} of the rows not seen that get its label have it."
            )
        more = len(weak) - _CLUSTERS_NAMED
        if more > 0:
            lines.append(f"And {more} more.")
        return [
            *lines,
            "There, explanations tell more of the surrogate than of the labels: look at the rows that it "
            "assigns elsewhere, add columns that tell such clusters apart, or merge those it takes for one "
            "another.",
        ]

    def warning(self) -> str | None:
        """What to know before reading on, in a few lines; None where every label is reproduced."""
        reservations = self.reservations()
        if not reservations:
            return None
        first, *weak, advice = reservations
        listed = "\n".join(f"- {line}" for line in weak)
        return (
            f"The surrogate agrees with {self.overall_held_out:.1%} of the labels on rows it had not seen. "
            f"{first}\n{listed}\n{advice}"
        )

    def doubt(self, cluster: Any) -> str | None:
        """Say why to read a cluster's explanation with care; None where nothing speaks against it."""
        place = int(np.flatnonzero(self.clusters == cluster)[0])
        kept, own = self.held_out[place], self.precision[place]
        if min(kept, own) >= ENOUGH_AGREEMENT:
            return None
        if kept <= own:
            return f"With care: of its rows not seen, the surrogate assigns only {kept:.1%} to it."
        return f"With care: of the rows not seen that get this label, only {own:.1%} have it."

    def __repr__(self) -> str:
        weak = self.untrusted
        more = len(weak) - _CLUSTERS_NAMED
        listed = ", ".join(map(str, weak[:_CLUSTERS_NAMED])) + (f" and {more} more" if more > 0 else "")
        tail = f", of which below {ENOUGH_AGREEMENT:.0%}: {listed}" if weak else ""
        return (
            f"<Fidelity: {self.overall_held_out:.1%} held out, {self.overall_in_sample:.1%} in sample, "
            f"{len(self.clusters)} clusters{tail}>"
        )
