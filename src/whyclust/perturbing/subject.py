"""A network and rows to be changed, with all that must be known of them, each found once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust.inputs.reading import InputTable
from whyclust.network.network import Neuralized
from whyclust.perturbing.encoded import EncodedRows, as_rows
from whyclust.perturbing.imputation import KernelDensity


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows, and the data they come from, as baselines, Algorithm 1 and the audit share them.

    Attributes
    ----------
    net : Neuralized
        Through layers of an encoder it passes no relevance: who changes rows has no use for their rules.
    table : InputTable
        The rows, which the network has read.
    known : InputTable or None
        The data that rows come from, which the network has read; None for the rows themselves.
    positions : ndarray of int of shape (n_rows,) or None
        Where the rows are among `known`, −1 for those that are not, if the caller knows.
    """

    net: Neuralized
    table: InputTable
    known: InputTable | None = None
    positions: NDArray | None = None

    @classmethod
    def of(
        cls, net: Neuralized, table: InputTable, background: Any = None, positions: NDArray | None = None
    ) -> Prepared:
        """Prepare rows that the network has read, and a background as a user gives it."""
        known = None if background is None else net.read(background, "background")
        return cls(_silent(net), table, known, positions)

    @cached_property
    def rows(self) -> EncodedRows:
        """The rows in numbers."""
        return EncodedRows.of(self.net, self.table)

    @cached_property
    def background(self) -> NDArray:
        """The data that rows come from, in numbers."""
        return self.rows.points if self.known is None else EncodedRows.of(self.net, self.known).points

    @cached_property
    def density(self) -> KernelDensity:
        """The kernel density of the background."""
        return KernelDensity.fit(self.background)

    @cached_property
    def own(self) -> NDArray:
        """The row of the density that each row is itself, −1 where it is not among them."""
        if self.positions is not None:
            return self.density.at(self.positions)
        if self.known is None:
            return self.density.at(np.arange(len(self.rows.points)))
        return self.density.equal_to(self.rows.points)

    @cached_property
    def assigned(self) -> NDArray:
        """The cluster of each row."""
        return self.rows.net.predict_rows(as_rows(self.rows.points))


def _silent(net: Neuralized) -> Neuralized:
    trunk = net.features.trunk
    if trunk is None:
        return net
    return replace(net, features=replace(net.features, trunk=trunk.silent()))
