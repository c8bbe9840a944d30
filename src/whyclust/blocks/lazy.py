"""Explanations of dask's arrays and frames: computed when asked for, and block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from whyclust.blocks.explaining import MEMBERS
from whyclust.explaining.explain import explain
from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import read_input, without_unknown
from whyclust.moments.clusters import ClusterMoments, TypicalRows
from whyclust.network import Neuralized
from whyclust.network.beta import EvidenceMoments
from whyclust.network.models import column_names, last_step
from whyclust.network.neuralizing import network_for
from whyclust.network.parts import has_network
from whyclust.saving.files import save
from whyclust.telling.summary import Summary, summary_of

# What is the same for all rows, and so for all blocks.
_ASKED = ("cluster", "against", "rule", "groups", "feature_names", "names", "absent")


@dataclass(frozen=True, repr=False, eq=False)
class LazyExplanation:
    """Why each row of a dask array or frame is in its cluster, block by block.

    Iterating gives an :class:`Explanation` of one block after the other, computed then.

    Attributes
    ----------
    network : Neuralized
        With its β: a row has the same explanation in any block.
    data : dask array or frame
        The rows.
    asked : dict
        The question, as :func:`whyclust.explain` takes it.
    """

    network: Neuralized
    data: Any
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns."""
        return list(self._example.feature_names)

    @property
    def n_blocks(self) -> int:
        """Blocks of rows."""
        return len(self._chunks())

    def __repr__(self) -> str:
        return f"<LazyExplanation of {self.n_blocks} blocks, {len(self.feature_names)} columns, not computed>"

    def __iter__(self) -> Iterator[Explanation]:
        return (part.compute() for part in self._parts())

    def __getitem__(self, rows: Any) -> LazyExplanation:
        """Some of the rows, as dask chooses them: a slice or a mask of an array, a mask of a frame."""
        return replace(self, data=self.data[rows])

    # --- arrays of dask --------------------------------------------------------------------------

    @property
    def values(self) -> Any:
        """Relevance, a dask array of shape (n_rows, n_columns)."""
        return self._array("values", (len(self.feature_names),))

    @property
    def base_values(self) -> Any:
        """The part of the evidence that belongs to no column, a dask array."""
        return self._array("base_values")

    @property
    def explained(self) -> Any:
        """The evidence that is explained, a dask array."""
        return self._array("explained")

    @property
    def evidence(self) -> Any:
        """How far each row is inside its cluster, a dask array."""
        return self._array("evidence")

    @property
    def clusters(self) -> Any:
        """The cluster explained, a dask array."""
        return self._array("clusters")

    @property
    def competitors(self) -> Any:
        """The strongest competitor, a dask array."""
        return self._array("competitors")

    def _array(self, name: str, more: tuple[int, ...] = ()) -> Any:
        import dask.array as da
        from dask import delayed

        kind = getattr(self._example, name).dtype
        taken = delayed(_taken)
        parts = [
            da.from_delayed(taken(part, name), (length, *more), dtype=kind)
            for part, length in zip(self._parts(), self._known_lengths(), strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)

    # --- answers ---------------------------------------------------------------------------------

    def compute(self) -> Explanation:
        """All rows in memory."""
        return Explanation.concat(list(self))

    def summary(self) -> Summary:
        """What sets each cluster apart, from two passes over the blocks; rows are not kept."""
        firsts = self._firsts()
        known = self._reduced(_moments, firsts, MEMBERS)
        typical = self._reduced(_typical, firsts, MEMBERS, known)
        return summary_of(known, typical, self._example)

    def save(self, folder: str | Path) -> Path:
        """Write a Parquet file for every block, in single precision; :func:`whyclust.load` reads each.

        Parameters
        ----------
        folder : str or pathlib.Path
            Made if it is not there; files of the same names are replaced.
        """
        import dask
        from dask import delayed

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        writing = delayed(_written)
        paths = [folder / f"part-{number:06d}.parquet" for number in range(self.n_blocks)]
        dask.compute(*(writing(part, path) for part, path in zip(self._parts(), paths, strict=True)))
        return folder

    # --- blocks ----------------------------------------------------------------------------------

    def _chunks(self) -> list[Any]:
        return chunks_of(self.data)

    def _parts(self) -> list[Any]:
        from dask import delayed

        explaining = delayed(_explained)
        return [explaining(self.network, chunk, self.asked) for chunk in self._chunks()]

    @property
    def _example(self) -> Explanation:
        """A row of a part that has one: names and types are the same in all."""
        shape = (1, self.network.features.n_columns)
        frame = getattr(self.data, "_meta_nonempty", None)
        rows = np.zeros(shape, dtype=self.data.dtype) if frame is None else frame[:1]
        return _explained(self.network, rows, self.asked)

    def _known_lengths(self) -> list[float]:
        chunks = getattr(self.data, "chunks", None)
        return [np.nan] * self.n_blocks if chunks is None else list(chunks[0])

    def _firsts(self) -> list[int]:
        """Rows before each block."""
        import dask
        from dask import delayed

        lengths: Any = self._known_lengths()
        if np.isnan(lengths).any():
            lengths = dask.compute(*(delayed(len)(chunk) for chunk in self._chunks()))
        return [0, *np.cumsum(lengths)[:-1].astype(int).tolist()]

    def _reduced(self, function: Callable[..., Any], firsts: list[int], *more: Any) -> Any:
        import dask
        from dask import delayed

        found = delayed(function)
        parts = zip(self._parts(), firsts, strict=True)
        return reduce(add, dask.compute(*(found(part, first, *more) for part, first in parts)))


def chunks_of(data: Any) -> list[Any]:
    """Blocks of rows of a dask array or frame, each to be computed; columns of an array are not cut."""
    if hasattr(data, "rechunk"):
        return list(data.rechunk({1: -1}).to_delayed().ravel())
    return list(data.to_delayed())


def _explained(network: Neuralized, rows: Any, asked: dict[str, Any]) -> Explanation:
    return replace(explain(network, rows, **asked), origin=None)


def _taken(part: Explanation, name: str) -> Any:
    return np.asarray(getattr(part, name))


def _moments(part: Explanation, first: int, members: int) -> ClusterMoments:
    return ClusterMoments.of(part, first, members)


def _typical(part: Explanation, first: int, members: int, known: ClusterMoments) -> TypicalRows:
    return TypicalRows.of(part, known, first, members)


def _written(part: Explanation, path: Path) -> str:
    values = np.asarray(part.values).astype(np.float32, order="F")
    return str(save(replace(part, values=values).without_data(), path))


def _evidence(network: Neuralized, rows: Any) -> EvidenceMoments:
    table = without_unknown(read_input(rows), network.feature_names if network.named else None)
    return EvidenceMoments.of(network.evidence_rows(network.match(table)))


def explain_lazily(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    beta: float | None = None,
    threshold: float | None = None,
    **asked: Any,
) -> LazyExplanation:
    """Explain a dask array or frame; arguments are those of :func:`whyclust.explain`.

    β is the one given, that of the background, or what the model kept from its fit. Where there is none, one
    pass over the blocks finds it, now.
    """
    import dask
    from dask import delayed

    others = [name for name, value in asked.items() if value is not None and name not in _ASKED]
    if others:
        raise ValueError(
            f"{others[0]}= was given, but X is of dask and explained block by block, which {others[0]}= is "
            "not: compute X first, X.compute()."
        )
    for name in ("cluster", "against"):
        given: Any = asked.get(name)
        if np.ndim(given) > 0:
            raise ValueError(
                f"{name}= has an entry for each row, expected one cluster where X is of dask: compute X "
                "first, X.compute()."
            )
    if not isinstance(model, Neuralized) and not has_network(last_step(model)):
        raise TypeError(
            f"X is of dask, and {type(model).__name__} is known by its labels only, for which all rows are "
            "needed: fit whyclust.cluster.PrototypeSurrogate to some rows, and explain that."
        )
    known = column_names(model)
    network = network_for(model, None, background, threshold=threshold, beta=beta)
    kept = isinstance(model, Neuralized) or beta is not None or background is not None
    if not kept and network.pool.takes_beta and _kept_beta(model) is None:
        found = delayed(_evidence)
        moments = dask.compute(*(found(network, chunk) for chunk in chunks_of(X)))
        network = replace(network, beta=reduce(add, moments).stiffness())
    if known is not None and hasattr(X, "columns"):
        X = X[[name for name in X.columns if name in set(known)]]
    return LazyExplanation(network, X, {name: asked[name] for name in _ASKED if name in asked})


def _kept_beta(model: Any) -> float | None:
    from whyclust.network.parts import network_parts

    return network_parts(model).beta
