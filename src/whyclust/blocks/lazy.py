"""Explanations of dask's arrays and frames: computed when asked for, and block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from whyclust._checks import counted
from whyclust._frames import is_frame
from whyclust.blocks.explaining import MEMBERS, type_of
from whyclust.blocks.parts import folder_of_parts
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

_NO_ROWS = "X has no rows, or no row fits the mask that chose them: choose others, expected one at least."

# What is told of rows as clusters, and not as numbers.
_CLUSTERS = ("clusters", "competitors")


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
        if self.asked.get("feature_names") is None and not self.asked.get("groups"):
            return list(self.network.feature_names)
        return list(self._example.feature_names)

    @property
    def n_blocks(self) -> int:
        """Blocks of rows."""
        return len(self._chunks())

    def __repr__(self) -> str:
        told = f"{counted(self.n_blocks, 'block')}, {counted(len(self.feature_names), 'column')}"
        return f"<LazyExplanation of {told}, not computed>"

    def __iter__(self) -> Iterator[Explanation]:
        found = (part.compute() for part in self._parts())
        return (part for part in found if part is not None)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(Explanation, name):
            raise AttributeError(
                f"'{name}' is of explanations in memory, and this one is not computed: use "
                f"compute().{name}, or that of one block, next(iter(explanation)).{name}."
            )
        raise AttributeError(f"LazyExplanation has no attribute '{name}'.")

    def __getitem__(self, rows: Any) -> LazyExplanation:
        """Some of the rows, as dask chooses them: a slice or a mask of an array, a mask of a frame.

        A mask may come from the explanation: ``explanation[explanation.evidence > 5]``.
        """
        lazy = hasattr(rows, "dask")
        # dask would take these for single rows, for columns, for numbers, or for a further dimension.
        others = rows is None or isinstance(rows, (int, np.integer, tuple)) or getattr(rows, "ndim", 1) > 1
        if others or (hasattr(self.data, "columns") and not lazy):
            raise TypeError(
                "Rows of an explanation that is not computed are chosen by a mask of dask with an entry for "
                "each row, or from an array by a slice: for others use compute() first, such as "
                "explanation.compute()[:5]."
            )
        if hasattr(self.data, "columns") and not hasattr(rows, "to_dask_array"):
            return replace(self, data=_masked(self.data, rows))
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

        kind = self.network.clusters.dtype if name in _CLUSTERS else self._type
        taken = delayed(_taken)
        parts = [
            da.from_delayed(taken(part, name, more, kind), (length, *more), dtype=kind)
            for part, length in zip(self._parts(), self._known_lengths(), strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)

    # --- answers ---------------------------------------------------------------------------------

    def compute(self) -> Explanation:
        """All rows in memory."""
        parts = list(self)
        if not parts:
            raise ValueError(_NO_ROWS)
        return Explanation.concat(parts)

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
            Made if it is not there. What was saved there before is replaced, all of it, and a folder with
            anything else in it is refused.
        """
        import dask
        from dask import delayed

        writing = delayed(_written)
        with folder_of_parts(Path(folder)) as made:
            paths = [made / f"part-{number:06d}.parquet" for number in range(self.n_blocks)]
            pairs = zip(self._parts(), paths, strict=True)
            if not any(dask.compute(*(writing(part, path) for part, path in pairs))):
                raise ValueError(_NO_ROWS)
        return Path(folder)

    # --- blocks ----------------------------------------------------------------------------------

    def _chunks(self) -> list[Any]:
        return chunks_of(self.data)

    def _parts(self) -> list[Any]:
        from dask import delayed

        explaining = delayed(_explained)
        return [
            explaining(self.network, chunk, self.asked, block) for chunk, block in _numbered(self._chunks())
        ]

    @property
    def _type(self) -> np.dtype:
        """That of the numbers, told by the columns alone."""
        width = len(self.network.feature_names)
        rows = getattr(self.data, "_meta", None)
        return type_of(self.network, rows if is_frame(rows) else np.empty((0, width), self.data.dtype))

    @property
    def _example(self) -> Explanation:
        """The first part that has a row: names and the question are the same in all."""
        # Rows that dask makes up may hold categories that the model refuses.
        found = next(iter(self), None)
        if found is None:
            raise ValueError(_NO_ROWS)
        return found[:1]

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
        return _total(dask.compute(*(found(part, first, *more) for part, first in parts)))


def chunks_of(data: Any) -> list[Any]:
    """Blocks of rows of a dask array or frame, each to be computed; columns of an array are not cut."""
    if hasattr(data, "rechunk"):
        return list(data.rechunk({1: -1}).to_delayed().ravel())
    return list(data.to_delayed())


def _masked(frame: Any, mask: Any) -> Any:
    """The rows of a frame that a mask keeps, by their places: a mask that is an array has no index."""
    import dask.dataframe as dd

    if mask.ndim != 1 or mask.dtype != bool or mask.npartitions != frame.npartitions:
        raise ValueError(
            f"found an array of {mask.dtype} in {counted(mask.npartitions, 'block')} to choose rows by, "
            f"expected a mask in {counted(frame.npartitions, 'block')}, as the rows are: take one of the "
            "explanation, such as explanation.evidence > 0, or of the frame."
        )
    kept = dd.from_dask_array(mask)
    return frame.map_partitions(
        _kept, kept, meta=frame, align_dataframes=False, enforce_metadata=False, clear_divisions=True
    )


def _kept(rows: Any, mask: Any) -> Any:
    if len(mask) != len(rows):
        raise ValueError(
            f"a block of the mask has {len(mask)} entries and {counted(len(rows), 'row')}, expected one for "
            "each row: take a mask of the explanation or of its frame."
        )
    return rows[np.asarray(mask)]


def _explained(network: Neuralized, rows: Any, asked: dict[str, Any], block: str) -> Explanation | None:
    """The explanation of a block; None where it has no rows."""
    if not len(rows):
        return None
    with _told_of(block):
        return replace(explain(network, rows, **asked), origin=None)


@contextmanager
def _told_of(block: str) -> Iterator[None]:
    """Say of errors in which block they are: rows are numbered in it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"In {block}, whose rows are numbered by themselves: {error}") from error


def _numbered(chunks: list[Any]) -> list[tuple[Any, str]]:
    """Blocks, and what they are called."""
    return [(chunk, f"block {number} of {len(chunks)}") for number, chunk in enumerate(chunks, start=1)]


def _taken(part: Explanation | None, name: str, more: tuple[int, ...], kind: Any) -> Any:
    return np.empty((0, *more), dtype=kind) if part is None else np.asarray(getattr(part, name))


def _moments(part: Explanation | None, first: int, members: int) -> ClusterMoments | None:
    return None if part is None else ClusterMoments.of(part, first, members)


def _typical(part: Explanation | None, first: int, members: int, known: ClusterMoments) -> TypicalRows | None:
    return None if part is None else TypicalRows.of(part, known, first, members)


def _written(part: Explanation | None, path: Path) -> bool:
    """Write a part; whether there was one."""
    if part is not None:
        values = np.asarray(part.values).astype(np.float32, order="F")
        save(replace(part, values=values).without_data(), path)
    return part is not None


def _evidence(network: Neuralized, rows: Any, block: str) -> EvidenceMoments | None:
    if not len(rows):
        return None
    with _told_of(block):
        table = without_unknown(read_input(rows), network.feature_names if network.named else None)
        return EvidenceMoments.of(network.evidence_rows(network.match(table)))


def _total(parts: Iterable[Any]) -> Any:
    """The sum of what the blocks have that have rows."""
    found = [part for part in parts if part is not None]
    if not found:
        raise ValueError(_NO_ROWS)
    return reduce(add, found)


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
    if X.ndim < 2:
        raise ValueError(
            f"X has {X.ndim} dimension(s), expected a table of rows and columns: use X.reshape(-1, 1) for "
            "one column of an array, or X.to_frame() for one of a frame."
        )
    known = column_names(model)
    network = network_for(model, None, background, threshold=threshold, beta=beta)
    kept = isinstance(model, Neuralized) or beta is not None or background is not None
    if not kept and network.pool.takes_beta and _kept_beta(model) is None:
        found = delayed(_evidence)
        moments = dask.compute(*(found(network, *chunk) for chunk in _numbered(chunks_of(X))))
        network = replace(network, beta=_total(moments).stiffness())
    if known is not None and hasattr(X, "columns"):
        X = X[[name for name in X.columns if name in set(known)]]
    return LazyExplanation(network, X, {name: asked[name] for name in _ASKED if name in asked})


def _kept_beta(model: Any) -> float | None:
    from whyclust.network.parts import network_parts

    return network_parts(model).beta
