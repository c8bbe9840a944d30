"""Features: how the user's table becomes the space in which a head compares clusters.

The table is first *encoded* (missing values filled, categories one-hot; each encoded column
comes from one of the user's columns), then mapped by affine steps, with at most one per-row
normalisation or one network between them. Affine steps are never applied to points: they are folded into
the head (closed form 3 of the design), so relevance is never divided by a feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from whyclust._frames import take_columns
from whyclust.inputs.reading import is_sparse
from whyclust.saving.registry import saved

Matrix = Any  # a dense or a CSR array


class Passage(Protocol):
    """Rows that have passed the layers of a trunk."""

    @property
    def activations(self) -> NDArray:
        """Outputs of the layers."""
        ...

    def relevance(self, at_outputs: NDArray) -> NDArray:
        """Relevance of the rows' columns, given that of the outputs."""
        ...


class Trunk(Protocol):
    """Layers that are not affine, as a network's features need them."""

    @property
    def told(self) -> str | None:
        """How relevance passes the layers, in words; None if it does not."""
        ...

    @property
    def module(self) -> Any:
        """The layers as a torch module."""
        ...

    @property
    def n_outputs(self) -> int:
        """Number of activations."""
        ...

    @property
    def embedding(self) -> AffineMap | None:
        """From activations to the encoder's output, where the head has swallowed what lies between."""
        ...

    def behind(self, matrix: NDArray, origin: NDArray, offset: NDArray) -> Trunk:
        """The same layers behind a linear one, a·(x − origin) + offset."""
        ...

    def then(self, other: Any) -> Trunk:
        """These layers, followed by others."""
        ...

    def silent(self) -> Trunk:
        """The same layers, through which no relevance passes."""
        ...

    def activations(self, rows: NDArray) -> NDArray:
        """Outputs of the layers."""
        ...

    def passage(self, rows: NDArray) -> Passage:
        """Lead rows up, once, and keep what relevance needs to come down."""
        ...

    def gradient(self, rows: NDArray, at_outputs: NDArray) -> NDArray:
        """Slopes along the rows' columns, given those along the outputs."""
        ...


@saved
@dataclass(frozen=True)
class AffineMap:
    """a = matrix · (x − origin) + offset.

    Parameters
    ----------
    matrix : array or sparse array of shape (n_outputs, n_inputs)
        Sparse exactly when every output reads at most one input (a scaler, a selector).
    origin : ndarray of shape (n_inputs,)
        Subtracted first, so that data far from zero keep their digits.
    offset : ndarray of shape (n_outputs,)
    mean : ndarray of shape (n_inputs,) or None
        The data mean, where a step has stored one.
    """

    matrix: Matrix
    origin: NDArray
    offset: NDArray
    mean: NDArray | None = None

    @classmethod
    def identity(cls, size: int) -> AffineMap:
        """The map that does nothing."""
        matrix = sp.csr_array(sp.eye_array(size, format="csr"))
        return cls(matrix, np.zeros(size), np.zeros(size))

    @property
    def columnwise(self) -> bool:
        """Whether every output reads at most one input."""
        return is_sparse(self.matrix)

    @cached_property
    def is_identity(self) -> bool:
        """Whether the map does nothing."""
        rows, columns = self.matrix.shape
        if not self.columnwise or rows != columns or self.origin.any() or self.offset.any():
            return False
        return (self.matrix != sp.eye_array(rows, format="csr")).nnz == 0

    @property
    def n_inputs(self) -> int:
        """Number of columns it reads."""
        return self.matrix.shape[1]

    @property
    def n_outputs(self) -> int:
        """Number of columns it writes."""
        return self.matrix.shape[0]

    def width_after(self, width: int) -> int:
        """Columns that there are after it, given these many; other numbers than it reads are refused."""
        if width != self.n_inputs:
            raise ValueError(
                f"an AffineMap of {self.n_inputs} columns, expected one of the {width} that there are."
            )
        return self.n_outputs

    def __call__(self, x: NDArray) -> NDArray:
        """Map rows of x."""
        return (self.matrix @ (x - self.origin).T).T + self.offset

    def transform(self, x: Any) -> Any:
        """Map rows of x, which may hold NaN: column-wise maps keep it in its column."""
        if not is_sparse(x):
            return self(np.asarray(x, dtype=np.float64))
        if self.origin.any() or self.offset.any() or not self.columnwise:
            return self(x.toarray().astype(np.float64, copy=False))
        # The step behind it was fitted on sparse rows, and may leave out what is not stored: entries stay
        # as they are stored, zeros too, which a product of sparse matrices would drop.
        found = x.tocsr()[:, self.matrix.indices].astype(np.float64)
        found.data *= self.matrix.data[found.indices]
        return found

    @property
    def reads(self) -> NDArray:
        """Positions of the columns that any output reads."""
        return np.unique(sp.csr_array(self.matrix).indices)

    def among(self, kept: NDArray) -> AffineMap:
        """The same for fewer columns: those at these positions, all that are read among them."""
        mean = None if self.mean is None else self.mean[kept]
        return AffineMap(self.matrix[:, kept], self.origin[kept], self.offset, mean)

    def then(self, other: AffineMap) -> AffineMap:
        """Return this map followed by another."""
        if self.is_identity:
            return other
        matrix = other.matrix @ self.matrix
        if is_sparse(matrix):
            matrix = sp.csr_array(matrix)
        mean = self.mean
        if mean is None and other.mean is not None:
            mean = self.preimage(other.mean[None])[0]
        return AffineMap(matrix, self.origin, other(self.offset[None])[0], mean)

    @cached_property
    def _inverse(self) -> Matrix:
        """The pseudo-inverse; columns of a column-wise map are orthogonal, so theirs is cheap."""
        if not self.columnwise:
            return np.linalg.pinv(self.matrix)
        if self.is_identity:
            return self.matrix
        transposed = sp.csr_array(self.matrix.T)
        stored = np.diff(transposed.indptr)
        columns = np.repeat(np.arange(self.n_inputs), stored)
        squares = np.bincount(columns, weights=transposed.data**2, minlength=self.n_inputs)
        inverse = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
        transposed.data = transposed.data * inverse[columns]
        return transposed

    def preimage(self, points: NDArray) -> NDArray:
        """Inputs nearest the data mean (or the origin) whose images are nearest the points."""
        around = self.origin if self.mean is None else self.mean
        return around + (self._inverse @ (points - self(around[None])).T).T

    def pull(self, vectors: NDArray) -> NDArray:
        """Rows of vectors · matrix: directions of the output, seen from the input."""
        return np.asarray(vectors @ self.matrix)


@saved
@dataclass(frozen=True)
class Features:
    """From the user's table to the space of the head.

    Parameters
    ----------
    inner : AffineMap
        From the encoded columns to what is normalised (or, without a norm, to the head).
    encoder : sequence of transformers
        Fitted objects with ``transform``; applied in order to the user's table.
    sources : ndarray of int
        For each encoded column, the user's column it came from.
    n_columns : int
        How many columns the user's table has.
    columns : ndarray of int or None
        The user's columns that are read at all; None for all. The others may hold anything.
    norm : {None, "l1", "l2", "max"}
        Per-row normalisation after `inner`.
    outer : AffineMap or None
        From the normalised rows, or from the activations, to the head.
    trunk : Trunk or None
        Layers of an encoder after `inner`: activations, and relevance and slopes back.
    """

    inner: AffineMap
    encoder: Sequence[Any] = ()
    sources: NDArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    n_columns: int = 0
    columns: NDArray | None = None
    norm: str | None = None
    outer: AffineMap | None = None
    trunk: Trunk | None = None

    def __post_init__(self) -> None:
        if not self.n_columns:
            object.__setattr__(self, "n_columns", self.inner.n_inputs)
            object.__setattr__(self, "sources", np.arange(self.inner.n_inputs))

    @classmethod
    def identity(cls, size: int) -> Features:
        """Points are compared as they are."""
        return cls(AffineMap.identity(size))

    @classmethod
    def behind_trunk(cls, size: int, trunk: Trunk) -> Features:
        """Points are the activations of an encoder's layers."""
        return cls(AffineMap.identity(size), trunk=trunk)

    @cached_property
    def shift(self) -> NDArray:
        """The encoded point that `inner` maps to zero; a row is scaled around it."""
        nothing = np.zeros(self.inner.n_inputs)
        if self.norm is None or not self.inner(nothing[None]).any():
            return nothing  # so that sparse rows stay sparse
        return self.inner.preimage(np.zeros((1, self.inner.n_outputs)))[0]

    @cached_property
    def folded(self) -> AffineMap:
        """The affine map from s·(x − shift) to the head, s the row's scale (1 without a norm).

        Behind an encoder it begins at the activations.
        """
        if self.trunk is not None:
            return AffineMap.identity(self.trunk.n_outputs) if self.outer is None else self.outer
        if self.norm is None:
            return self.inner
        zeros = np.zeros(self.inner.n_inputs)
        linear = AffineMap(self.inner.matrix, zeros, np.zeros(self.inner.n_outputs))
        return linear if self.outer is None else linear.then(self.outer)

    def encode(self, table: Any) -> Any:
        """Return the numeric columns in which relevance is computed."""
        if self.columns is not None:
            table = take_columns(table, self.columns)
        for transformer in self.encoder:
            table = transformer.transform(table)
        if self.encoder:
            table = table.toarray() if is_sparse(table) else np.asarray(table)
        return table

    def among(self, kept: NDArray) -> Features:
        """The same for tables of fewer columns: those at these positions, all that are read among them."""
        columns = kept if self.columns is None else self.columns
        return replace(
            self,
            sources=np.searchsorted(kept, self.sources),
            n_columns=len(kept),
            columns=np.searchsorted(kept, columns),
        )

    def scale(self, encoded: Any) -> NDArray | None:
        """Return 1/‖inner(x)‖ of each row, or None without a norm; zero rows keep 1."""
        if self.norm is None:
            return None
        if is_sparse(encoded):  # only maps that keep zeros at zero come here
            image = encoded @ self.inner.matrix.T
        else:
            image = self.inner(encoded)
        absolute = abs(image)
        if self.norm == "l1":
            norms = absolute.sum(axis=1)
        elif self.norm == "l2":
            norms = np.sqrt((absolute**2 if not is_sparse(image) else image.power(2)).sum(axis=1))
        else:
            norms = absolute.max(axis=1)
        norms = np.asarray(norms.todense() if is_sparse(norms) else norms, dtype=float).ravel()
        # scikit-learn takes rows this short for zero, unless they are sparse.
        smallest = 0.0 if is_sparse(encoded) else 10 * float(np.finfo(encoded.dtype).eps)
        return 1.0 / np.where((norms == 0) | (norms < smallest), 1.0, norms)

    @property
    def keeps_zeros(self) -> bool:
        """Whether sparse rows can stay sparse: no encoder and nothing to subtract."""
        return not self.encoder and not self.shift.any() and self.trunk is None

    def before_trunk(self, encoded: NDArray) -> NDArray:
        """What the layers of an encoder are given."""
        return encoded if self.inner.is_identity else self.inner(encoded)

    def passage(self, encoded: NDArray) -> Passage | None:
        """Lead rows up through the layers of an encoder, if there are any."""
        return None if self.trunk is None else self.trunk.passage(self.before_trunk(encoded))

    def points(
        self, encoded: Any, center: NDArray, out: NDArray | None, passage: Passage | None = None
    ) -> Any:
        """s·(x − shift) − center, the coordinates in which the folded head works.

        Dense points are written to `out` where they must change; sparse ones are not centred.
        """
        if passage is not None:
            return np.subtract(passage.activations, center, out=out, casting="same_kind")
        if self.trunk is not None:
            activations = self.trunk.activations(self.before_trunk(encoded))
            return np.subtract(activations, center, out=out, casting="same_kind")
        scale = self.scale(encoded)
        if is_sparse(encoded):
            return encoded if scale is None else sp.csr_array(sp.diags_array(scale) @ encoded)
        if scale is not None:
            encoded = (encoded - self.shift) * scale[:, None]
        if scale is None and encoded.dtype == center.dtype and not center.any():
            return encoded
        return np.subtract(encoded, center, out=out, casting="same_kind")

    @property
    def n_points(self) -> int:
        """Coordinates of a point."""
        return self.inner.n_inputs if self.trunk is None else self.trunk.n_outputs

    @property
    def embedding(self) -> AffineMap:
        """The affine map from points to the embedding: of an encoder, or what the head compares."""
        if self.trunk is None or self.outer is not None or self.trunk.embedding is None:
            return self.folded
        return self.trunk.embedding

    def relevance(self, passage: Passage | None, at_points: NDArray) -> NDArray:
        """Relevance of encoded columns, given that of the points' coordinates."""
        if passage is None:  # affine steps are in the head
            return at_points
        return self._unscaled(passage.relevance(at_points))

    def _unscaled(self, values: NDArray) -> NDArray:
        """From the outputs of `inner`, which read one column each, to its inputs."""
        if self.inner.is_identity:
            return values
        reads = sp.csr_array((self.inner.matrix != 0).astype(values.dtype))
        return np.asarray(values @ reads)
