"""Sentences of what is wrong with the gates of a fit that is over, or with the columns they stand before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted
from whyclust.columns.plan import listed

# Gates of clusters that differ by less than this, over clusters and columns, have not learned.
_STILL = 0.1
# Numbers of a column this many times as spread as usual decide what is restored.
_TOO_LARGE = 100.0
# A number of columns to ask for, where the table has more than twice as many.
_FEW = 20


def of_columns(names: Sequence[str], alike: NDArray, spreads: NDArray) -> Iterator[str]:
    """Columns of one number, which is not zero, and columns of large numbers."""
    if 0 < len(alike) < len(names):  # of rows that are all alike more is said
        told = listed([repr(names[column]) for column in alike])
        yield (
            f"Every row has the same number in {counted(len(alike), 'column')} ({told}). That tells nothing "
            "of clusters, but gates may open for it: leave such columns out, or standardise, which makes "
            "them zero."
        )
    if (spreads > 0).any():
        usual, largest = np.median(spreads[spreads > 0]), int(spreads.argmax())
        if spreads[largest] > _TOO_LARGE * usual:
            yield (
                f"Columns have very different scales: numbers of {names[largest]!r} are spread by "
                f"{spreads[largest]:.3g}, those of half of the columns by {usual:.3g} at most. Large ones "
                "decide: standardise first (StandardScaler)."
            )


def of_number(asked: Any, n_open: float, n_columns: int, free: bool) -> Iterator[str]:
    """Another number of open gates than was asked for; `free` is a search that ended at the lowest price."""
    if asked != "auto" and not 0.5 <= n_open / asked <= 1.5:
        yield (
            f"n_features={asked} was asked for, but {n_open:.1f} gates of a row are open on average: train "
            "longer (pretrain_epochs), or in smaller batches (batch_size)."
        )
    if asked == "auto" and free:
        yield (
            f"n_features='auto' found no number: with {n_open:.0f} of {n_columns} gates open, rows keep less "
            "than nine tenths of what the autoencoder restores of whole rows. Ask for a number, as "
            f"n_features={max(1, min(_FEW, n_columns // 2))}, or train longer (pretrain_epochs)."
        )


def of_clusters(gates: NDArray, used: NDArray, sparsity: float) -> Iterator[str]:
    """Gates of clusters that are shut, or where they began; of one cluster there is nothing to tell apart."""
    if len(used) < 2:
        return
    own = gates[used]
    shut = [str(cluster) for cluster, row in zip(used, own, strict=True) if not row.any()]
    if shut:
        yield (
            f"The gates of {counted(len(shut), 'cluster')} are all shut ({listed(shut)}), so they name no "
            f"columns: lower global_sparsity (it was {sparsity:.3g})."
        )
    elif own.max() - own.min() < _STILL:
        yield (
            f"The gates of clusters have hardly moved: all lie between {own.min():.2f} and {own.max():.2f}, "
            "so they say nothing. Train longer (epochs), or in smaller batches (batch_size)."
        )
