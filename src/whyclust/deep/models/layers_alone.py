"""Layer by layer: each is an autoencoder of its own, with dropout, before all are trained together.

The recipe of Xie, Girshick and Farhadi (2016, section 4.2), with which DEC's and ACe/DeC's papers pretrain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from whyclust.deep.networks.autoencoders import Autoencoder
from whyclust.deep.training.phases import Adam, Batch, Phase, Terms, Update

# Of Xie et al.: this share of a layer's inputs, and of its outputs, is left out in each step.
DROPOUT = 0.2


def stages(network: nn.Module) -> list[nn.Sequential]:
    """A linear layer and what follows it, up to the next: h ↦ g(W h + b)."""
    result: list[list[nn.Module]] = []
    for layer in network.children() if isinstance(network, nn.Sequential) else ():
        if isinstance(layer, nn.Linear):
            result.append([])
        if not result:
            return []
        result[-1].append(layer)
    return [nn.Sequential(*layers) for layers in result]


def left_out(x: Tensor, generator: torch.Generator) -> Tensor:
    """Dropout by a generator, so that a fit that was killed draws the same again."""
    kept = torch.rand(x.shape, generator=generator) >= DROPOUT
    return x * kept.to(x) / (1.0 - DROPOUT)


class LayerAlone:
    """One layer of an encoder, and its mirror image in the decoder.

    Parameters
    ----------
    below : nn.Module
        The layers before it, which stand.
    there, back : nn.Module
        The layer and its mirror image.
    """

    def __init__(self, below: nn.Module, there: nn.Module, back: nn.Module) -> None:
        self.below, self.there, self.back = below, there, back

    @property
    def parameters(self) -> list[Tensor]:
        """What is moved."""
        return [*self.there.parameters(), *self.back.parameters()]

    def loss(self, batch: Batch) -> Terms:
        """‖h − g₂(W₂ drop(g₁(W₁ drop(h) + b₁)) + b₂)‖², mean over rows (Eqs. 7 to 10 of Xie et al.)."""
        with torch.no_grad():
            h = self.below(batch.x)
        inner = self.there(left_out(h, batch.generator))
        outer = self.back(left_out(inner, batch.generator))
        return {"reconstruction": (h - outer).square().sum() / len(h)}


def layer_phases(
    autoencoder: Autoencoder,
    epochs: int,
    settings: Any,
    adam: Adam,
    schedule: Callable[[float], float] | None,
) -> list[Phase]:
    """A phase for each layer of a dense autoencoder, the first one first."""
    there, back = stages(autoencoder.encoder), stages(autoencoder.decoder)[::-1]
    shapes = [[(stage[0].in_features, stage[0].out_features) for stage in way] for way in (there, back)]
    if not there or shapes[0] != [(inputs, outputs) for outputs, inputs in shapes[1]]:
        raise ValueError(
            "layer_epochs trains linear layers and their mirror images one after the other, but this "
            "autoencoder has others: leave layer_epochs=0, or use a dense one."
        )
    result = []
    for place, (layer, mirror) in enumerate(zip(there, back, strict=True)):
        alone = LayerAlone(nn.Sequential(*there[:place]), layer, mirror)
        name = f"layer {place + 1} of {len(there)}"
        update = Update(alone.loss, alone.parameters, adam, schedule)
        result.append(Phase(name, epochs, [update], settings.batch_size))
    return result
