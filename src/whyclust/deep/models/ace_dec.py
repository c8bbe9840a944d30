"""ACe/DeC: a cluster space and a shared space around any centroid-based deep clustering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import torch
from numpy.typing import NDArray
from sklearn.base import clone
from torch import Tensor

from whyclust.deep.autoencoding import AutoencoderClusterer
from whyclust.deep.models.centroids import CentroidModel
from whyclust.deep.models.dcn import DCN
from whyclust.deep.models.two_spaces import TwoSpaces
from whyclust.deep.networks.autoencoders import PAPERS
from whyclust.deep.parameters import choice, setting, whole
from whyclust.deep.presets import ALIASES
from whyclust.deep.showing_spaces import ShowsSpaces
from whyclust.deep.training.keeping import Runs
from whyclust.deep.training.loop import Progress
from whyclust.deep.training.phases import DeepModel, numbers

# Widest embedding of a table where none is given; images have the paper's.
_WIDEST = 32
_OF_IMAGES = 10
_EXPECTED = "a centroid-based deep clustering: AutoencoderKMeans, DCN, DEC, DKM or IDEC"
# What stands for a base that is not given.
_USUAL: Any = DCN


class ACeDeC(ShowsSpaces, AutoencoderClusterer, around="base"):
    """A cluster space and a shared space around a centroid-based deep clustering (ACe/DeC).

    An autoencoder wants to keep all details, a clustering wants to forget them (Miklautz et al., 2021). Here
    the embedding is turned, and each of its dimensions gets a weight in the space where clusters are compared
    and the rest of it in a space for what all clusters share. Both are learned together with the clusters,
    without a trade-off to be tuned. How many rows, clusters, epochs and so on there are, and on which
    device, is said by the base: ``ACeDeC(DCN(10, epochs=50, random_state=0))``.

    Parameters
    ----------
    base : estimator
        The clustering: AutoencoderKMeans, DCN, DEC, DKM or IDEC, with all its settings. Its embedding is
        wider than usual where none is given, since dimensions are chosen from it: 10 for images, as many as
        columns for tables, up to 32. The weight of its clustering term (`lam` of DCN and DKM, `gamma` of
        IDEC) is the one exception: in the fit it is 2, 1 and 1, whatever its default is, since ACe/DeC has no
        trade-off. ``base__lam`` still shows what was given. A default that was written out cannot be told
        from one that was not, so it is replaced without a word; other values are refused.
    space_epochs : int
        In which the spaces learn alone, after pretraining and before everything is trained together.
    start : {"whitened", "random"}
        How the clusters begin. ``"whitened"``: by k-means on the embedding, after all its directions were
        given the same variance, which changes nothing for the autoencoder. ``"random"``, the paper's: by
        k-means in a random half of randomly turned dimensions; the best of some.
    starts : int
        Starts of that k-means.
    orthogonal : {"free", "penalty", "exact"}
        What keeps the matrix V a rotation: only the reconstruction, as in the paper; a penalty besides; or
        its parametrisation.
    centroids : {"mini-batch", "alternating"}
        How centroids move that are the means of their members: with every batch of embedded rows as it is;
        or by the base's own steps (DCN) or gradients (DKM). Those of DEC and IDEC have gradients.
    views : {"whole", "spaces"}
        Where the base augments rows: whether both are reconstructed from both spaces, or the original from
        the cluster space and the augmented row from the shared space, as the paper writes. The latter needs
        all of the row in either space, and weights end near ½: no dimension is left to the clusters alone.

    Attributes
    ----------
    cluster_weights_ : ndarray of shape (embedding,)
        β_cs, the weight of each dimension in the cluster space; 1 − β_cs is that in the shared space.
    cluster_dims_, shared_dims_ : ndarray of int
        Dimensions of each space: shared are those whose weight in the shared space exceeds 0.45.
    rotation_ : ndarray of shape (embedding, embedding)
        V; the rotated embedding is ``Vᵀz``.
    turned_mean_ : ndarray of shape (embedding,)
        Mean of the rotated embedding.
    turned_covariance_ : ndarray of shape (embedding, embedding)
        Its covariance.
    labels_, cluster_centers_, cluster_spreads_, empty_clusters_, history_, scores_, model_, device_
        See :class:`whyclust.deep.base.DeepClusterer`; centres are in the cluster space, β_cs ⊙ Vᵀμ.

    Examples
    --------
    >>> from whyclust.datasets import make_synth
    >>> from whyclust.deep import ACeDeC, DCN
    >>> X, y = make_synth(400, n_noise_dimensions=3, random_state=0)
    >>> base = DCN(4, hidden=(), epochs=5, pretrain_epochs=5, batch_size=32, random_state=0)
    >>> model = ACeDeC(base, space_epochs=5).fit(X)
    >>> model.reconstruct(X, space="cluster").shape
    (400, 5)
    """

    base: Any = setting(None, positional=True)
    space_epochs: int = setting(20, whole(0))
    start: str = setting("whitened", choice(["whitened", "random"]))
    starts: int = setting(10, whole(1))
    orthogonal: str = setting("free", choice(["free", "penalty", "exact"]))
    centroids: str = setting("mini-batch", choice(["mini-batch", "alternating"]))
    views: str = setting("whole", choice(["whole", "spaces"]))

    # Networks 500–500–2000 with ten dimensions, and linear ones as wide as the table for SYNTH-25 (section
    # 4); batches and epochs are those of the public re-implementation, the paper's are in a supplement.
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        name: {
            "base__n_clusters": n_clusters,
            "base__hidden": hidden,
            "base__embedding_dim": width,
            "base__batch_size": 128,
            "base__epochs": 150,
        }
        for name, n_clusters, hidden, width in (
            ("mnist", 10, PAPERS, 10),
            ("fmnist", 10, PAPERS, 10),
            ("usps", 10, PAPERS, 10),
            ("gtsrb10", 10, PAPERS, 10),
            ("objects", 3, PAPERS, 10),
            ("synth", 4, (), None),
        )
    }

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> Self:
        """Return an unfitted estimator with the paper's network for a data set.

        Parameters
        ----------
        name : str
            mnist, fmnist, usps, gtsrb10, objects or synth.
        **overrides
            Settings of your own, which come first; those of the base as ``base__epochs=20``, or in a ``base``
            of your own, where what differs from its defaults is kept.

        Returns
        -------
        estimator
        """
        data = ALIASES.get(name.lower(), name.lower()) if isinstance(name, str) else name
        if data not in cls.presets:
            raise ValueError(
                f"No preset of ACeDeC is called {name!r}, expected one of {', '.join(cls.presets)}."
            )
        base = overrides.pop("base", None)
        made: Any = cls
        if base is None:
            return made(_USUAL()).set_params(**cls.presets[data] | overrides)
        made(base)._check_base()
        given, usual = base.get_params(deep=False), type(base)().get_params(deep=False)
        own = {f"base__{name}": given[name] for name in given if given[name] != usual[name]}
        return made(clone(base)).set_params(**cls.presets[data] | own | overrides)

    # --- fit -----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        self._check_base()
        self.base._check_settings()

    def _check_base(self) -> None:
        if not isinstance(self.base, AutoencoderClusterer) or isinstance(self.base, ACeDeC):
            found = "None" if self.base is None else f"a {type(self.base).__name__}"
            found = f"the class {self.base.__name__}" if isinstance(self.base, type) else found
            raise TypeError(f"base is {found}, expected {_EXPECTED}, such as ACeDeC(DCN(10)).")

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        base = clone(self.base)
        base.set_params(**base.in_two_spaces())
        if base.embedding_dim is None and base.autoencoder is None:
            wide = min(n_features, _WIDEST) if base.image_shape is None else _OF_IMAGES
            base.set_params(embedding_dim=wide)
        model = base._model(n_features, generator)
        if not isinstance(model, CentroidModel):
            raise TypeError(f"base is a {type(base).__name__}, which has no centroids: expected {_EXPECTED}.")
        model.space = TwoSpaces(model.autoencoder.embedding_dim, self, generator)
        return model

    def _score(self, model: DeepModel, data: Tensor, progress: Progress) -> float:
        return self.base._score(model, data, progress)

    def _take(self, model: DeepModel, device: torch.device, table: NDArray, runs: Runs) -> None:
        super()._take(model, device, table, runs)
        self.__dict__.pop("n_changed_", None)  # of a model that was hardened before it was fitted again
        z = torch.from_numpy(self._over_rows(self.model_.encoder, table)).to(device)
        with torch.no_grad():
            mean, covariance = self._space.spread(z)
        self.turned_mean_, self.turned_covariance_ = numbers(mean), numbers(covariance)

    def _complaints(self) -> Iterator[str]:
        yield from super()._complaints()
        if self._n_found == 1 or len(self.empty_clusters_):
            return  # there is nothing to tell apart, or it has been told
        if self.collapsed_spaces is not None:
            yield (
                f"{self.collapsed_spaces} The clusters are those of soft weights. Try more space_epochs, or "
                "another embedding_dim of the base."
            )
