"""λ, the price of an open gate: as given, rising along a cosine, or found while gates learn."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

# Rows on which open gates are counted, at most.
_MOST_ROWS = 1024
# A gate that is open by less than this counts in part.
_AJAR = 0.1
# λ is changed by at most this factor an epoch, and by this power of how far gates are from what is asked.
_LARGEST_STEP, _GAIN = 1.5, 0.3
# Epochs for which the change of the last one is taken to go on, and the share of the phase that these may be:
# of thirty epochs ten ahead are too far, and λ goes up and down instead of rising.
_AHEAD, _SHARE_AHEAD = 10, 0.075
# Share of the phase after which the number of open gates asked for no longer falls.
_SETTLED = 0.4
# A search begins with this part of the price that is given: gates are shut sooner than opened again.
_SEARCH_FROM = 0.5
# Prices beyond these shut or open all there is.
_BOUNDS = 1e-4, 1e2
# What "auto" keeps of the reconstruction: the share of it that gated rows must reach.
_KEPT = 0.9


class Sparsity(nn.Module):
    """The weight λ(t) of the regulariser (Eq. 3) in the course of stage 1.

    With a number of features to reach, λ follows the gates: it rises while too many are open, and falls
    while too few are. The number asked for falls from all columns to the one wanted, so that nothing is
    shut before the autoencoder knows what it is worth. With ``"auto"`` λ rises as long as gated rows are
    reconstructed nearly as well as whole ones. Labels have no part in it.

    Parameters
    ----------
    settings : IDC
    n_columns : int
    """

    lam: Tensor
    before: Tensor

    def __init__(self, settings: Any, n_columns: int) -> None:
        super().__init__()
        self.settings, self.n_columns = settings, n_columns
        first = 1.0 if settings.n_features is None else _SEARCH_FROM
        self.register_buffer("before", torch.zeros(()))
        self.register_buffer("lam", torch.tensor(first * float(settings.sparsity)))

    @property
    def is_free(self) -> bool:
        """Whether the search has gone down to the lowest price, and would go on."""
        return self.settings.n_features is not None and float(self.lam) <= _BOUNDS[0] * (1 + 1e-6)

    def weight(self, done: float) -> Tensor:
        """λ after this share of the phase."""
        if self.settings.n_features is not None:
            return self.lam
        return self.lam * (0.5 * (1.0 - math.cos(math.pi * done)))

    def follow(self, model: Any, data: Tensor, epoch: int) -> None:
        """Before an epoch: move λ towards what reaches the number that is asked for."""
        wanted = self.settings.n_features
        if wanted is None:
            return
        rows = data[:: -(-len(data) // _MOST_ROWS)]
        done = epoch / max(1, model.n_gate_epochs)
        ahead = min(_AHEAD, _SHARE_AHEAD * model.n_gate_epochs)
        excess = (
            self._worth(model, rows) if wanted == "auto" else self._excess(model, rows, wanted, done, ahead)
        )
        limit = math.log(_LARGEST_STEP)
        self.lam *= math.exp(min(max(_GAIN * excess, -limit), limit))
        self.lam.clamp_(*_BOUNDS)

    def _excess(self, model: Any, rows: Tensor, wanted: int, done: float, ahead: float) -> float:
        """The logarithm of how many times too many gates are open."""
        # Gates that are about to shut count in part, so that λ is told before they have.
        opened = float((model.local_gates(rows) / _AJAR).clamp_max(1.0).sum(dim=1).mean())
        # Where gates are shutting, as many as will have shut by the time that λ is felt are taken off.
        before = float(self.before)
        self.before.fill_(opened)
        coming = opened * (opened / before) ** ahead if before > 0 else opened
        fallen = 0.5 * (1.0 - math.cos(math.pi * min(1.0, done / _SETTLED)))
        asked = self.n_columns ** (1.0 - fallen) * wanted**fallen
        return math.log(max(coming, 0.5) / asked)

    def _worth(self, model: Any, rows: Tensor) -> float:
        """How far gated rows are from the share of the reconstruction that has to be kept."""
        clean = model.error(rows, model.autoencoder(rows)[1])
        gated = model.error(rows, model.decode(model.embed(rows)))
        nothing = model.error(rows, rows.mean(dim=0, keepdim=True).expand_as(rows))
        learned = float(nothing - clean)
        if learned <= 0:  # the autoencoder has not begun to learn
            return 0.0
        return 10.0 * (float(nothing - gated) / learned - _KEPT)
