"""Labels of a table in blocks: how many of each, rows drawn of each, and a certificate from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust.blocks.explaining import Explainer, given_labels
from whyclust.blocks.facts import drawn
from whyclust.blocks.source import Block
from whyclust.cluster.fidelity import Fidelity
from whyclust.moments.merging import merge

# Rows that a surrogate is fitted to, and rows of a rare label that are drawn at least.
SURROGATE_ROWS, FEWEST_OF_A_LABEL = 10_000, 200
# A column with more labels than this was named by mistake: nobody counts them to the end.
_MOST_COUNTED = 10_000
# Drawn apart from the rows of the report.
_SEED = 101


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """What the stages are told.

    Attributes
    ----------
    columns : tuple of str
        To read.
    labels : str
        The column of the labels.
    shares : dict of label to float
        Share of each label's rows that are drawn.
    seed : int
    """

    columns: tuple[str, ...]
    labels: str
    shares: dict[Any, float]
    seed: int

    def drawn(self, rows: NDArray, given: NDArray) -> NDArray:
        """Which rows are drawn."""
        shares = np.array([self.shares[label] for label in given.tolist()])
        return drawn(rows, shares, _SEED + self.seed)


def block_label_counts(block: Block, name: str) -> dict[Any, int]:
    """The stage: how many rows each label has."""
    counts: dict[Any, int] = {}
    for _, frame in block.frames([name]):
        found, often = np.unique(given_labels(frame, name), return_counts=True)
        counts = merge(counts, dict(zip(found.tolist(), often.tolist(), strict=True)))
        if len(counts) > _MOST_COUNTED:
            raise ValueError(
                f"column '{name}' holds more than {_MOST_COUNTED:,} different values, expected clusters: "
                "choose another column."
            )
    return counts


def shares_of(counts: Mapping[Any, int]) -> dict[Any, float]:
    """The share of each label's rows to draw: rare labels are drawn more often, so that none is missed.

    >>> shares_of({"a": 999_600, "b": 400})
    {'a': 0.01, 'b': 0.5}
    """
    usual = SURROGATE_ROWS / sum(counts.values())
    return {label: min(1.0, max(usual, FEWEST_OF_A_LABEL / count)) for label, count in counts.items()}


def block_labelled_rows(block: Block, state: LabelledRows) -> pd.DataFrame:
    """The stage: the drawn rows."""
    found = []
    for _, frame in block.frames(state.columns):
        found.append(frame[state.drawn(frame.index.to_numpy(), given_labels(frame, state.labels))])
    return pd.concat(found).reset_index(drop=True)


def block_agreement(block: Block, state: tuple[Explainer, LabelledRows]) -> NDArray:
    """The stage: of each label, rows that were not drawn, those that get it, and those of both kinds."""
    explainer, labelled = state
    places = {label: place for place, label in enumerate(explainer.network.clusters.tolist())}
    counts = np.zeros((3, len(places)), dtype=np.int64)
    for _, frame in block.frames(explainer.columns):
        given = given_labels(frame, labelled.labels)
        others = ~labelled.drawn(frame.index.to_numpy(), given)
        frame, given = frame[others], given[others]
        if not len(frame):
            continue
        assigned = explainer.network.predict(explainer.features(frame))
        for row, labels in enumerate((given, assigned, given[given == assigned])):
            codes = [places[label] for label in labels.tolist()]
            counts[row] += np.bincount(codes, minlength=len(places)).astype(np.int64)
    return counts


def certificate(fitted: Fidelity, clusters: NDArray, counts: Mapping[Any, int], others: NDArray) -> Fidelity:
    """How well a surrogate reproduces labels, from the rows that it was not fitted to.

    Parameters
    ----------
    fitted : Fidelity
        What cross-validation said of the drawn rows: it stands where a label has no other rows.
    clusters : ndarray
        The labels in the order of `others`.
    counts : mapping of labels to rows
    others : ndarray of shape (3, n_clusters)
        The sum of `block_agreement`.
    """
    known = clusters.tolist()
    order = [known.index(label) for label in fitted.clusters.tolist()]
    given, assigned, both = others[:, order].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        held_out = np.where(given > 0, both / given, fitted.held_out)
        precision = np.where(assigned > 0, both / assigned, np.where(given > 0, 1.0, fitted.precision))
    sizes = np.array([counts[label] for label in fitted.clusters.tolist()])
    unseen = f"all {others[0].sum():,} other rows"
    if not given.all():
        unseen += ", and cross-validation where a label has none"
    return Fidelity(fitted.clusters, sizes, fitted.in_sample, held_out, precision, fitted.noise, unseen)
