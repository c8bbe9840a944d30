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
        The same for rows that the surrogate had not seen, by cross-validation.
    precision : ndarray of shape (n_clusters,)
        Of the unseen rows that the surrogate assigns to a label, the share that has it; 1 where it
        assigns none.
    noise : object or None
        The label of rows in no cluster, where there are any.
    """

    clusters: NDArray
    sizes: NDArray
    in_sample: NDArray
    held_out: NDArray
    precision: NDArray
    noise: Any = None

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
        """Say it in words: the agreement, and which clusters not to trust."""
        told = [
            "The surrogate that stands for the given labels agrees with them on "
            f"{self.overall_in_sample:.1%} of the rows, and on {self.overall_held_out:.1%} of rows it "
            "had not seen (cross-validation)."
        ]
        warning = self.warning()
        return told if warning is None else [*told, f"Warning: {warning}"]

    def warning(self) -> str | None:
        """One sentence about the clusters not to trust, or None."""
        agreement = self.agreement
        weak = np.flatnonzero(agreement < ENOUGH_AGREEMENT)
        if len(weak) == 0:
            return None
        weak = weak[np.argsort(agreement[weak], kind="stable")]
        parts = [
            f"{'noise' if self.clusters[i] == self.noise else self.clusters[i]} ({agreement[i]:.1%})"
            for i in weak[:_CLUSTERS_NAMED]
        ]
        more = len(weak) - len(parts)
        listed = ", ".join(parts) + (f" and {more} more" if more else "")
        return (
            f"do not rely on the explanations of these clusters, on whose unseen rows the surrogate agrees "
            f"with the given labels in less than {ENOUGH_AGREEMENT:.0%}: {listed}."
        )

    def doubt(self, cluster: Any) -> str | None:
        """Say why not to rely on a cluster's explanation; None where nothing speaks against it."""
        place = int(np.flatnonzero(self.clusters == cluster)[0])
        kept, own = self.held_out[place], self.precision[place]
        if min(kept, own) >= ENOUGH_AGREEMENT:
            return None
        if kept <= own:
            return f"Do not rely on this: of its rows not seen, the surrogate assigns only {kept:.1%} to it."
        return f"Do not rely on this: of the rows not seen that get this label, only {own:.1%} have it."

    def __repr__(self) -> str:
        weak = self.untrusted
        tail = f", not to be trusted: {', '.join(map(str, weak[:_CLUSTERS_NAMED]))}" if weak else ""
        return (
            f"<Fidelity: {self.overall_in_sample:.1%} in sample, {self.overall_held_out:.1%} held out, "
            f"{len(self.clusters)} clusters{tail}>"
        )
