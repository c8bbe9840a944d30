"""Spaces: where distances are taken and clusters are compared.

Centroid models see the embedding through a space, in one place. The embedding itself is the default; a
rotation, weights of its dimensions, or both can be put around any of them. Centroids are kept in the
embedding and seen through the space as rows are, so they stay among their members while the space learns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

if TYPE_CHECKING:
    from whyclust.deep.models.centroids import CentroidModel
    from whyclust.deep.training.phases import Phase


class Space(nn.Module):
    """The embedding itself. Other spaces are affine maps of it, whose parameters are theirs."""

    def points(self, z: Tensor) -> Tensor:
        """From the embedding to the space."""
        return z

    def back(self, points: Tensor) -> Tensor:
        """From the space to the embedding, as well as it can be."""
        return points

    def through(self, z: Tensor) -> Tensor:
        """What the decoder is given of the embedding."""
        return z

    def centers(self, found: Tensor, z: Tensor, labels: Tensor) -> Tensor:
        """Centroids in the embedding: k-means found these in the space, among points with these labels."""
        return found

    def begin_again(self, z: Tensor) -> None:
        """Forget what was remembered before encoder and centroids began anew; rows are now embedded so."""

    def around(self, model: CentroidModel, phases: list[Phase]) -> list[Phase]:
        """The phases of a model in this space: its own, unless the space has something to learn, too."""
        return phases

    def affine(self, embedding_dim: int) -> tuple[NDArray, NDArray]:
        """A and c of ``points(z) = A z + c``, by what becomes of zero and of the unit vectors."""
        # Parameters of a space are in single precision, and so is this: on the processor, as it is saved.
        device = next((tensor.device for tensor in self.parameters()), torch.device("cpu"))
        with torch.no_grad():
            origin = self.points(torch.zeros(1, embedding_dim, device=device))
            units = self.points(torch.eye(embedding_dim, device=device))
        offset = origin[0].cpu().numpy().astype(np.float64)
        return units.cpu().numpy().astype(np.float64).T - offset[:, None], offset
