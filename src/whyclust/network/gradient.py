"""The gradient of the evidence f_c, in closed form.

The pool says how f_c changes with each h_k (the strongest competitor alone, or a softmax), the folded
head how h_k changes with the point, and a row norm how the point changes with the row. Gradients are
with respect to the encoded columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whyclust.inputs.reading import InputTable, is_sparse
from whyclust.network.blocks import Blocks
from whyclust.network.features import Features
from whyclust.network.question import read_question

if TYPE_CHECKING:
    from whyclust.network.network import Neuralized


def gradient(
    net: Neuralized, table: InputTable, cluster: ArrayLike | None = None, against: ArrayLike | None = None
) -> NDArray:
    """∇f_c of each row that `net` has read, for its own cluster or a chosen one: (n_rows, n_encoded)."""
    question = read_question(cluster, against, net.clusters, table.shape[0], table.row_labels)
    result: NDArray | None = None
    for block in Blocks.of(net, table):
        folded, response = block.folded, block.response
        clusters = question.clusters(block.rows, folded.assign(response))
        h = folded.evidence(response, clusters)
        pool = question.restrict(block.rows, folded, clusters, h, net.pool)
        slopes = folded.gradient(block.points, response, clusters, pool.slopes(h, h.min(axis=0)))
        slopes = at_columns(net.features, block.encoded, slopes)
        if result is None:
            result = np.empty((table.shape[0], slopes.shape[1]), dtype=slopes.dtype)
        result[block.rows] = slopes
    if result is None:  # a table has at least one row
        raise ValueError("X is empty: expected at least one row.")
    return result


def at_columns(features: Features, encoded: Any, at_points: NDArray) -> NDArray:
    """From slopes along the coordinates of points to slopes along encoded columns."""
    if features.trunk is not None:
        given = features.before_trunk(encoded)
        return features.inner.pull(features.trunk.gradient(given, at_points))
    return at_points if features.norm is None else _before_norm(features, encoded, at_points)


def _before_norm(features: Features, encoded: Any, slopes: NDArray) -> NDArray:
    """From slopes at y = s·(x − shift) to slopes at x, where s = 1/‖inner(x)‖.

    ∇_x = s g + (g·(x − shift)) ∇s with ∇s = −s² ∇‖inner(x)‖; rows of length zero keep s = 1.
    """
    rows = encoded.toarray() if is_sparse(encoded) else encoded
    scale = features.scale(encoded)
    if scale is None:
        return slopes
    image = features.inner(rows)
    if features.norm == "l2":
        direction = image * scale[:, None]
    elif features.norm == "l1":
        direction = np.sign(image)
    else:
        largest = np.abs(image).argmax(axis=1)[:, None]
        direction = np.zeros_like(image)
        np.put_along_axis(direction, largest, np.sign(np.take_along_axis(image, largest, axis=1)), axis=1)
    along = np.einsum("ij,ij->i", slopes, rows - features.shift)
    # A row that scikit-learn takes for zero is not scaled, so its scale does not change.
    too_short = np.abs(image).max(axis=1) < 10 * np.finfo(rows.dtype).eps
    along[too_short] = 0.0
    moved = scale[:, None] * slopes - (along * scale**2)[:, None] * features.inner.pull(direction)
    return moved.astype(slopes.dtype, copy=False)
