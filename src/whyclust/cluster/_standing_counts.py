"""For every k: how many clusters stand apart, in a table and in tables of one lump that are made like it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whyclust._progress import done, step
from whyclust.cluster._distances import FloatArray
from whyclust.cluster._k_paths import Family
from whyclust.cluster._one_lump import LUMPS, blurred, kinds_of_columns, one_lump
from whyclust.cluster._standing_apart import tallies

# A reference is drawn more than once, so each is halved less often.
_SPLITS_OF_REFERENCES = 2


@dataclass(frozen=True)
class Counts:
    """What was counted, for each k.

    Attributes
    ----------
    apart : dict of int to float
        Clusters that stand apart.
    by_chance : dict of int to float
        Those of tables without clusters.
    agreement : dict of int to float
        How far clusters come back in halves, from 0 to 1.
    """

    apart: dict[int, float]
    by_chance: dict[int, float]
    agreement: dict[int, float]

    def joined(self, other: Counts) -> Counts:
        """These and those of further k."""
        return Counts(
            self.apart | other.apart, self.by_chance | other.by_chance, self.agreement | other.agreement
        )


def count_clusters(
    rows: FloatArray,
    ks: Sequence[int],
    kind: Family,
    generator: np.random.Generator,
    progress: Callable[[str], None],
) -> Counts:
    """Count the clusters that stand apart.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
    ks : sequence of int
        Numbers of clusters; those that the rows have too few distinct ones for are left out.
    kind : Family
        What clusters them.
    generator : numpy.random.Generator
    progress : callable
        Called with a short text at every step.

    Returns
    -------
    Counts
    """
    progress(f"Choosing k: {ks[0]} to {ks[-1]} clusters")
    step(0, 1 + len(LUMPS))
    tally = tallies(blurred(rows, generator), ks, kind, kind.n_splits, generator, done)
    tried = list(tally)
    # By which of several categories rows are cut differs from one reference to the next: then more of them
    # are drawn, and the most of any counts, since a mean would hide what one in a few gives.
    mixed = bool(kinds_of_columns(rows)[1])
    chance = np.zeros(len(tried))
    for place, lump in enumerate(LUMPS):
        progress(f"Choosing k: {ks[0]} to {ks[-1]} clusters, without any (table {place + 1} of {len(LUMPS)})")
        step(1 + place, 1 + len(LUMPS))
        drawn, n_references = [], kind.n_references * (2 if mixed else 1)
        for number in range(n_references):
            done(number / n_references)
            reference = blurred(one_lump(rows, lump, generator), generator)
            found = tallies(reference, tried, kind, _SPLITS_OF_REFERENCES, generator)
            drawn.append([found[k].standing().sum() if k in found else 0.0 for k in tried])
        chance = np.maximum(chance, np.max(drawn, axis=0) if mixed else np.mean(drawn, axis=0))
    return Counts(
        apart={k: float(one.standing().sum()) for k, one in tally.items()},
        by_chance=dict(zip(tried, chance.tolist(), strict=True)),
        agreement={k: one.agreement for k, one in tally.items()},
    )
