"""Noise as one more competitor: a constant outlier score, without prototypes.

Scores leave out ‖a‖², which all prototypes share, so the constant becomes a quadratic score,
``z(x) = τ‖A x‖² − τ·noise``. A last node without slope and position carries its level; what is
quadratic is added here. The evidence of a cluster against noise is ``τ(noise − o_c)``, minus a
mean of squared distances under the shares P_j of its prototypes, so with each prototype as
reference closed form 4 is

    R = −τ Σ_j P_j (x − p_j) ⊙ AᵀA (x − p_j),

for a column-wise map −τ Σ_j P_j (a − u_j)². Noise against a cluster has the opposite sign.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from whyclust.network.features import AffineMap
from whyclust.network.nodes import Nodes


@dataclass(frozen=True)
class Noise:
    """The quadratic part of the score of noise, which is the last cluster and the last node.

    `root` is √τ·A, or its diagonal in the space of the points where the map is column-wise.
    """

    root: NDArray

    @classmethod
    def fold(cls, linear: AffineMap, scale: float, dtype: np.dtype) -> Noise:
        """The quadratic part of the score, at the input of an affine map."""
        if linear.columnwise:
            squares = np.asarray(linear.matrix.multiply(linear.matrix).sum(axis=0)).ravel()
            return cls(np.sqrt(scale * squares).astype(dtype))
        return cls((np.sqrt(scale) * linear.matrix).astype(dtype))

    @staticmethod
    def append(nodes: Nodes, level: float) -> Nodes:
        """The nodes and, last, the constant part of the score of noise."""
        nothing = np.zeros((1, nodes.slopes.shape[1]), dtype=nodes.dtype)
        constant = np.array([level]).astype(nodes.dtype)
        return replace(
            nodes,
            slopes=np.concatenate([nodes.slopes, nothing]),
            constants=np.concatenate([nodes.constants, constant]),
            positions=np.concatenate([nodes.positions, nothing]),
            bases=np.concatenate([nodes.bases, -constant]),
        )

    def _image(self, points: NDArray) -> NDArray:
        return points * self.root if self.root.ndim == 1 else points @ self.root.T

    def squared_length(self, points: NDArray) -> NDArray:
        """τ‖A x‖² of each point."""
        image = self._image(points)
        return np.einsum("ij,ij->i", image, image)

    def gradient(self, points: NDArray) -> NDArray:
        """2τAᵀA x of each point."""
        image = self._image(points)
        image *= image.dtype.type(2)
        return image * self.root if self.root.ndim == 1 else image @ self.root

    def spread(
        self, points: NDArray, signed: NDArray, pairs: NDArray | None, nodes: Nodes, out: NDArray
    ) -> None:
        """Add what is quadratic to what the nodes have written.

        `signed` is the weight of the last node. Where the map mixes columns, `pairs` has the weights of all
        nodes (nodes × points) in their pairs with noise: there x ⊙ s_j becomes ½ x ⊙ s_j + p_j ⊙ τAᵀA x.
        """
        image = self._image(points)
        if pairs is None:  # column by column, or all positions are zero
            image = image * image if self.root.ndim == 1 else points * (image @ self.root)
            image *= signed[:, None]
            out += image
            return
        quadratic = pairs.T @ nodes.positions
        quadratic += signed[:, None] * points
        quadratic *= image @ self.root
        out += quadratic
        linear = pairs.T @ nodes.slopes
        linear *= points
        linear *= linear.dtype.type(0.5)
        out -= linear
