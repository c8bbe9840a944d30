"""What the two spaces of ACe/DeC show: which dimensions, rows rebuilt from one of them, ways through them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyclust._checks import one_of, positive, whole_number
from whyclust.deep.base import DeepClusterer
from whyclust.deep.models.two_spaces import SHARED, TwoSpaces
from whyclust.deep.training.phases import numbers
from whyclust.network import Features, MinPool, Neuralized, PrototypeHead
from whyclust.network.spaces import collapsed

SPACES = ("cluster", "shared", "both")


class ShowsSpaces(DeepClusterer):
    """A deep clustering whose model has a cluster space and a shared space."""

    turned_mean_: NDArray
    turned_covariance_: NDArray

    @property
    def _space(self) -> TwoSpaces:
        check_is_fitted(self)
        space: Any = self.model_.space
        return space

    @property
    def cluster_weights_(self) -> NDArray:
        """β_cs, the weight of each dimension in the cluster space."""
        return numbers(self._space.cluster_weights)

    @property
    def rotation_(self) -> NDArray:
        """V; the rotated embedding is Vᵀz."""
        return numbers(self._space.rotation)

    @property
    def cluster_dims_(self) -> NDArray:
        """Dimensions of the cluster space, the one with the largest weight first."""
        weights = self.cluster_weights_
        order = np.argsort(-weights, kind="stable")
        return order[1.0 - weights[order] <= SHARED]

    @property
    def shared_dims_(self) -> NDArray:
        """Dimensions of the shared space, the one with the largest weight in it first."""
        weights = self.cluster_weights_
        order = np.argsort(weights, kind="stable")
        return order[1.0 - weights[order] > SHARED]

    @property
    def collapsed_spaces(self) -> str | None:
        """A sentence that says so where one of the spaces has no dimension; else None."""
        return collapsed(len(self.cluster_dims_), len(self.shared_dims_))

    def hardened(self, X: ArrayLike) -> Self:
        """Return a copy in which each dimension belongs to one space alone.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows to be assigned anew.

        Returns
        -------
        ACeDeC
            Its ``labels_`` and ``empty_clusters_`` are of X, and ``n_changed_`` tells how many labels differ
            from those of before.
        """
        before = self.predict(X)
        if not len(self.cluster_dims_):
            raise ValueError(
                "No dimension is left in the cluster space after hardening, so nothing could be assigned: "
                "keep the soft weights."
            )
        result = copy.deepcopy(self)
        result._space.hard.fill_(True)
        result.labels_ = before
        known = result._collapse()  # few rows leave clusters empty without hardening
        result.labels_ = result.predict(X)
        result.n_changed_ = int((result.labels_ != before).sum())
        result._describe_clusters(result._checked(X, reset=False))
        left = result._collapse()
        if left and left != known and self._n_found > 1:
            told = f"The clusters have collapsed in hardening: {left}. Keep the soft weights."
            warnings.warn(told, UserWarning, stacklevel=2)
        return result

    def reconstruct(self, X: ArrayLike, space: str = "both") -> NDArray:
        """Return rows as the decoder makes them of one space alone, or of both.

        What is left out stands at the mean: ``dec(V [β_cs ⊙ Vᵀz + β_ss ⊙ Vᵀμ])`` for the cluster space.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        space : {"cluster", "shared", "both"}

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        one_of("space", space, list(SPACES))
        two = self._space
        ways: dict[str, Callable[[Tensor], Tensor]] = {
            "cluster": lambda z: two.back(two.points(z)),
            "shared": two.shared_back,
            "both": two.through,
        }
        model: Any = self.model_
        return self._over_rows(
            lambda x: model.autoencoder.decoder(ways[space](model.encoder(x))), self._checked(X, reset=False)
        )

    def turned(self, X: ArrayLike) -> NDArray:
        """Return the rotated embedding Vᵀz, in which :attr:`cluster_dims_` and :attr:`shared_dims_` count.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, embedding)
        """
        two = self._space
        model: Any = self.model_
        return self._over_rows(lambda x: model.encoder(x) @ two.rotation, self._checked(X, reset=False))

    def shared_share(self, X: ArrayLike) -> float:
        """Return the share of the relevance for clusters that is in dimensions of the shared space.

        Weights are soft, so shared dimensions have a say in the clustering, too; after :meth:`hardened` they
        have none, and the share is 0. Relevance is that of the rotated coordinates: the share is
        Σ_{i shared} |R_i| / Σ_i |R_i| over all rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        float
        """
        return shared_share(self.turned(X), self.cluster_weights_, self.cluster_centers_)

    def directions(self, space: str) -> tuple[NDArray, NDArray]:
        """Return the directions of a space in the rotated embedding, and the spread along each.

        Those of the cluster space are its dimensions, by their weight; those of the shared space are
        principal components of its dimensions, by their variance.

        Parameters
        ----------
        space : {"cluster", "shared"}

        Returns
        -------
        directions : ndarray of shape (n_directions, embedding)
        spreads : ndarray of shape (n_directions,)
            Standard deviations.
        """
        one_of("space", space, ["cluster", "shared"])
        dims = self.cluster_dims_ if space == "cluster" else self.shared_dims_
        units = np.eye(len(self.cluster_weights_))[dims]
        if space == "shared" and len(dims):
            part = self.turned_covariance_[np.ix_(dims, dims)]
            units = np.linalg.eigh(part)[1].T[::-1] @ units
        variances = np.einsum("nd,de,ne->n", units, self.turned_covariance_, units)
        return units, np.sqrt(np.maximum(variances, 0.0))

    def traverse(
        self,
        space: str = "shared",
        component: int = 0,
        *,
        steps: int = 7,
        cluster: int | None = None,
        extent: float = 2.0,
    ) -> NDArray:
        """Return rows along a direction of one space, all else standing.

        Parameters
        ----------
        space : {"shared", "cluster"}
        component : int
            Which of :meth:`directions`, 0 for the first.
        steps : int
            Rows.
        cluster : int, optional
            Begin at the centroid of this cluster instead of the mean; in the shared space the mean stands.
        extent : float
            How far to go, either way, in standard deviations along the direction.

        Returns
        -------
        ndarray of shape (steps, n_features)
        """
        return self._decoded_turned(self.way(space, component, steps=steps, cluster=cluster, extent=extent))

    def way(
        self,
        space: str = "shared",
        component: int = 0,
        *,
        steps: int = 7,
        cluster: int | None = None,
        extent: float = 2.0,
    ) -> NDArray:
        """Return the points of the rotated embedding that :meth:`traverse` decodes.

        Parameters
        ----------
        space, component, steps, cluster, extent
            As for :meth:`traverse`.

        Returns
        -------
        ndarray of shape (steps, embedding)
        """
        units, spreads = self.directions(space)
        whole_number("steps", steps, 2)
        positive("extent", extent)
        if not len(units):
            raise ValueError(
                f"{self.collapsed_spaces} There is no direction of the {space} space to go along."
            )
        number = isinstance(component, (int, np.integer)) and not isinstance(component, bool)
        if not number or not 0 <= component < len(units):
            raise ValueError(
                f"component={component!r} is unknown, expected one of the {len(units)} directions of the "
                f"{space} space, counted from 0."
            )
        start = self.turned_mean_.copy()
        if cluster is not None:
            two = self._space
            model: Any = self.model_
            center = numbers(model.centers[self._known(cluster)] @ two.rotation)
            weights = self.cluster_weights_
            start = weights * center + (1.0 - weights) * start
        way = np.linspace(-extent, extent, steps)[:, None] * spreads[component] * units[component]
        return start + way

    def _decoded_turned(self, turned: NDArray) -> NDArray:
        """Rows of points of the rotated embedding."""
        model: Any = self.model_
        two = self._space
        with np.errstate(over="ignore"):
            points = turned.astype(np.float32)
        if not np.isfinite(points).all():
            raise ValueError(
                f"The way leads to points as large as {np.abs(turned).max():.3g}, too large for single "
                "precision: choose a smaller extent."
            )
        return self._over_rows(lambda r: model.autoencoder.decoder(r @ two.rotation.T), points)


def shared_share(turned: NDArray, weights: NDArray, centers: NDArray, beta: float | None = None) -> float:
    """Return Σ_{i shared} |R_i| / Σ_i |R_i| of points of the rotated embedding.

    Parameters
    ----------
    turned : ndarray of shape (n, embedding)
        Vᵀz.
    weights : ndarray of shape (embedding,)
        β_cs.
    centers : ndarray of shape (n_clusters, embedding)
        β_cs ⊙ Vᵀμ.
    beta : float, optional
        Stiffness of the pooling over competitors; by default 1/E[f_c] over the points.

    Returns
    -------
    float
    """
    # Nearest centroids in β_cs ⊙ Vᵀz are k-means there; a weight gives a coordinate what it had before.
    points = turned.astype(np.float64) * weights
    net = Neuralized(
        Features.identity(len(weights)),
        PrototypeHead.one_each(centers.astype(np.float64)),
        MinPool(),
        beta=1.0 if beta is None else beta,
        clusters=np.arange(len(centers)),
        feature_names=tuple(f"dimension {place}" for place in range(len(weights))),
    )
    net = net.with_beta(points) if beta is None else net
    sizes = np.abs(net.relevance(points).values).sum(axis=0)
    return float(sizes[1.0 - weights > SHARED].sum() / (sizes.sum() or 1.0))
