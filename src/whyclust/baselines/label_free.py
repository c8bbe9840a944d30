"""What of a row its embedding is made of, whatever the clusters (Crabbé and van der Schaar, ICML 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust.baselines.asked import Asked, Attribution
from whyclust.baselines.gradients import mean_gradient
from whyclust.baselines.references import read_reference
from whyclust.baselines.registry import baseline
from whyclust.network.features import Features
from whyclust.network.gradient import at_columns


def embedded(features: Features, rows: NDArray) -> NDArray:
    """f(x): an encoder's output; without an encoder the coordinates in which clusters are compared."""
    points = features.points(rows, np.zeros(features.n_points), None)
    return features.embedding(np.asarray(points, dtype=np.float64))


def projected_gradient(features: Features, rows: NDArray, onto: NDArray) -> NDArray:
    """∇_x ⟨f(x), v⟩ of each row, v given for each."""
    return at_columns(features, rows, features.embedding.pull(onto))


@baseline(
    "label_free",
    title="label-free importance of the embedding",
    scores="integrated gradients of ⟨f(x), f(x₀)⟩ from x̃ to x₀, f the encoder or what clusters are compared "
    "in; knows no clusters",
    measures="importance for the embedding, which knows no clusters",
)
def label_free(asked: Asked, *, steps: int = 10, reference: Any = "mean") -> Attribution:
    """Integrated gradients of g(x) = ⟨f(x), f(x₀)⟩, from the reference x̃ to the row x₀, which is held fixed.

    An embedding has no component that matters more than others; the projection onto the row's own embedding
    needs none to be chosen (Def. 2.1). Values and the base g(x̃) sum to ‖f(x₀)‖², but for the error of few
    steps: it is no evidence for a cluster. An encoder that is all linear is part of the head: f is then the
    row itself.
    """
    steps = whole_number("steps", steps)
    features = asked.net.features
    origin = read_reference(asked, reference)
    moved = asked.points - origin
    own = embedded(features, asked.points)
    slopes = mean_gradient(lambda rows: projected_gradient(features, rows, own), origin, moved, steps)
    start = embedded(features, origin[None])
    return Attribution(moved * slopes, (own @ start.T)[:, 0])
