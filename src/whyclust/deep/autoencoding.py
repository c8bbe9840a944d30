"""Deep clusterings with an autoencoder: its settings, and how it is built from them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from torch import nn

from whyclust.deep.base import DeepClusterer
from whyclust.deep.networks.autoencoders import (
    ACTIVATIONS,
    Autoencoder,
    check_image_shape,
    convolutional_autoencoder,
    dense_autoencoder,
    given_autoencoder,
    initialise,
    usual_sizes,
)
from whyclust.deep.networks.residual import residual_autoencoder
from whyclust.deep.parameters import choice, number, optional, setting, sizes, whole, yes_or_no
from whyclust.deep.training.augmenting import augmentation


class AutoencoderClusterer(DeepClusterer):
    """A deep clustering of the embedding of an autoencoder.

    Parameters
    ----------
    embedding_dim : int or None
        Size of the embedding; None takes `n_clusters`.
    hidden : sequence of int or None
        Sizes of the encoder's hidden layers; the decoder mirrors them. With `image_shape`, channels of
        convolutions. None takes two of 16 times the root of the number of columns, between 64 and 512,
        and (32, 64, 128) for images; presets have the papers' (500, 500, 2000).
    activation : {"leaky_relu", "relu", "gelu", "tanh"}
        Between layers.
    image_shape : (channels, height, width) or None
        Take the columns of X for the pixels of images and use convolutions.
    batch_norm : bool
        Normalise what comes out of each hidden layer, over the rows of a step. Images then pass residual
        blocks, as in a ResNet, instead of plain convolutions.
    autoencoder : None, (encoder, decoder) or fitted deep clustering
        Modules to begin with, which are copied; a fitted model's autoencoder is taken as it is. Modules get
        rows of X, or images of `image_shape` if they take those.
    """

    embedding_dim: int | None = setting(None, optional(whole(1)))
    hidden: Any = setting(None, sizes)
    activation: str = setting("leaky_relu", choice(ACTIVATIONS))
    image_shape: tuple[int, int, int] | None = setting(None)
    batch_norm: bool = setting(False, yes_or_no)
    autoencoder: Any = setting(None)
    augment = None  # models whose rows may be changed at random declare it

    @property
    def pretrained(self) -> bool:
        """Whether the autoencoder is another fitted model's, and no pair of modules."""
        return not isinstance(self.autoencoder, (tuple, list, type(None)))

    def in_two_spaces(self) -> dict[str, Any]:
        """Settings that ACe/DeC changes where it puts its spaces around this model."""
        return {}

    def _without_trade_off(self, name: str, value: float) -> dict[str, Any]:
        """The value of a trade-off in two spaces; refuses another one that somebody has chosen."""
        if getattr(self, name) not in (self.declared[name].default, value):
            raise ValueError(
                f"{name}={getattr(self, name)!r} of the base is a trade-off that ACe/DeC does without: leave "
                "it out."
            )
        return {name: value}

    def _embedding_width(self, n_features: int) -> int:
        """Size of the embedding where none is given."""
        return self.n_clusters

    def _layers(self, n_features: int) -> list[int]:
        """Sizes of the hidden layers."""
        usual = usual_sizes(n_features, images=self.image_shape is not None)
        return [int(size) for size in (usual if self.hidden is None else self.hidden)]

    def _autoencoder(self, n_features: int, generator: torch.Generator) -> Autoencoder:
        """The autoencoder: another model's, the user's modules, or a new one."""
        if self.autoencoder is not None:
            pair = _modules(self.autoencoder)
            return given_autoencoder(*pair, n_features, self.embedding_dim, self.image_shape)
        width = int(self._embedding_width(n_features) if self.embedding_dim is None else self.embedding_dim)
        hidden = self._layers(n_features)
        if self.image_shape is None:
            normalise = bool(self.batch_norm)
            result = dense_autoencoder(n_features, width, hidden, self.activation, batch_norm=normalise)
        else:
            shape = check_image_shape(self.image_shape, n_features)
            build = residual_autoencoder if self.batch_norm else convolutional_autoencoder
            result = build(shape, width, hidden, self.activation)
        initialise(result, generator)
        return result

    def _prepare(self, table: NDArray) -> None:
        """Refuse steps of one row where batch normalisation needs two."""
        n_steps = -(-len(table) // self._rows_of_step(table))
        if len(table) // n_steps < 2 and self._normalises_batches():
            raise ValueError(
                f"batch_size={self.batch_size} leaves steps of a single one of {len(table)} rows, which "
                "batch normalisation cannot take: use larger batches."
            )

    def _rows_of_step(self, table: NDArray) -> int:
        """Rows of a step, at most."""
        return len(table) if self.batch_size is None else self.batch_size

    def _normalises_batches(self) -> bool:
        """Whether a layer of the model is batch normalisation."""
        if self.autoencoder is None:
            return bool(self.batch_norm)
        return any(
            isinstance(layer, nn.modules.batchnorm._BatchNorm)
            for module in _modules(self.autoencoder)
            for layer in module.modules()
        )

    def __sklearn_clone__(self) -> AutoencoderClusterer:
        # A fitted model given as autoencoder is a value here, as arrays are: its clone would be unfitted.
        settings = self.get_params(deep=False)
        copies = {
            name: value if name == "autoencoder" else clone(value, safe=False)
            for name, value in settings.items()
        }
        result = type(self)(**copies)
        for name in ("_sklearn_output_config", "_metadata_request"):
            if name in vars(self):
                setattr(result, name, vars(self)[name].copy())
        return result


class PretrainedClusterer(AutoencoderClusterer):
    """A deep clustering whose autoencoder may be trained alone at first.

    Parameters
    ----------
    pretrain_epochs : int
        Of the autoencoder alone; 0 begins at random.
    """

    pretrain_epochs: int = setting(100, whole(0))


class AugmentedClusterer(AutoencoderClusterer):
    """A deep clustering that may be shown rows changed at random, besides those of the table.

    Parameters
    ----------
    augment : callable or None
        Changes a batch of rows at random in ways that should not change their cluster: ``f(x)`` or
        ``f(x, generator)`` of a tensor, :class:`whyclust.deep.TurnAndShift` for images or
        :class:`whyclust.deep.MaskAndJitter` for tables. The autoencoder learns to reconstruct changed rows,
        too, and where clusters are learned they are pulled to the centroid of the original.
    """

    augment: Any = setting(None, augmentation)


class CentroidClusterer(AugmentedClusterer, PretrainedClusterer):
    """A deep clustering by centroids of the embedding.

    Parameters
    ----------
    reset_every : int or None
        Mix new weights into the encoder's after so many epochs, and place the centroids anew by k-means
        (soft resets, Miklautz et al., 2025; published: 20).
    reset_share : float
        Share of the new weights in a reset.
    """

    reset_every: int | None = setting(None, optional(whole(1)))
    reset_share: float = setting(0.2, number(below=1.0))


@singledispatch
def _modules(given: Any) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder: a fitted model's, or a pair."""
    pair = given if isinstance(given, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(module, nn.Module) for module in pair):
        raise TypeError(
            f"autoencoder is a {type(given).__name__}, expected None, a pair (encoder, decoder) of torch "
            "modules, or a fitted deep clustering."
        )
    return pair[0], pair[1]


@_modules.register
def _(given: DeepClusterer) -> tuple[nn.Module, nn.Module]:
    check_is_fitted(given, msg="autoencoder is a %(name)s that is not fitted yet: call its fit first.")
    network: Any = dict(given.model_.named_children()).get("autoencoder")
    if network is None:
        raise ValueError(f"autoencoder is a {type(given).__name__}, which has no autoencoder to share.")
    return network.encoder, network.decoder
