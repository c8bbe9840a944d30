"""Explaining a block: its evidence, its relevance in files, what is typical, and single rows of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whyclust._frames import is_frame, refuse_repeated
from whyclust.blocks.source import Block
from whyclust.cluster.fidelity import Fidelity
from whyclust.columns import TablePlan
from whyclust.explaining.explanation import Explanation
from whyclust.explaining.rows import explain_rows
from whyclust.inputs.reading import InputTable, read_input
from whyclust.labels.given import label_values
from whyclust.moments.clusters import ClusterMoments, TypicalRows
from whyclust.network import Neuralized
from whyclust.network.beta import EvidenceMoments
from whyclust.saving.atomic import write_whole
from whyclust.saving.digest import seal, sum_of
from whyclust.saving.files import load, save
from whyclust.tables import unknown_column
from whyclust.tables.unread import Unread, UnreadWarning, summed
from whyclust.telling.lines import id_name, row_lines

RELEVANCE, CLUSTERS = "relevance", "clusters"
# Typical and borderline rows that a summary names.
MEMBERS = 3


@dataclass(frozen=True, eq=False)
class Explainer:
    """What the stages are told.

    Attributes
    ----------
    network : Neuralized
    plan : TablePlan or None
        What becomes of the columns; None where the network itself reads them.
    folder : pathlib.Path
        Where files go, in folders of their own.
    id_column, labels : str or None
        The columns that name and that label the rows.
    fidelity : Fidelity or None
        How well a surrogate reproduces the labels.
    keep : {"usual", "all", "nothing"}
        Whether relevance is kept, and with it the rows.
    unnamed : bool
        Whether some row of the table has no id: then all ids are text, as 'row 7' is.
    """

    network: Neuralized
    plan: TablePlan | None
    folder: Path
    id_column: str | None = None
    labels: str | None = None
    fidelity: Fidelity | None = None
    keep: str = "usual"
    unnamed: bool = False

    @property
    def columns(self) -> list[str]:
        """Columns of the table that are read."""
        if self.plan is None:
            names = list(self.network.feature_names)
        else:
            names = [column.name for column in self.plan.columns]
        beside = [name for name in (self.id_column, self.labels) if name is not None]
        return list(dict.fromkeys([*names, *beside]))

    def features(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What the network takes of rows of the table."""
        if self.plan is None:
            return frame[[name for name in self.network.feature_names if name in frame.columns]]
        return self.plan.apply(frame)

    def given(self, frame: pd.DataFrame) -> NDArray | None:
        """The labels of rows of the table, if they are given."""
        return None if self.labels is None else given_labels(frame, self.labels)

    def names(self, frame: pd.DataFrame) -> pd.Index:
        """What rows are called: by their column, or by their numbers from 1 on."""
        if self.id_column is None:
            return frame.index + 1
        ids = frame[self.id_column]
        if not self.unnamed:
            return pd.Index(ids)
        called = [
            f"row {number + 1}" if missing else _as_text(value)
            for number, missing, value in zip(frame.index, ids.isna(), ids, strict=True)
        ]
        return pd.Index(called, dtype=object, name=self.id_column)

    def _table(self, frame: pd.DataFrame) -> InputTable:
        return read_input(self.features(frame).set_axis(self.names(frame), axis=0), "the table")

    def explain(self, frame: pd.DataFrame) -> Explanation:
        """Explain rows of the table."""
        source = None if self.labels is None else f"column '{self.labels}'"
        return explain_rows(
            self.network,
            self._table(frame),
            given=self.given(frame),
            fidelity=self.fidelity,
            source=source,
        )

    def explain_again(self, frame: pd.DataFrame) -> Explanation:
        """The same, of rows whose warnings have become notes already."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = self.explain(frame)
        # What these rows hold that the network does not know has been told of all rows.
        unread = {str(one.message) for one in caught if isinstance(one.message, UnreadWarning)}
        return replace(found, notes=[note for note in found.notes if note not in unread])

    def explained_rows(self, frame: pd.DataFrame) -> Any:
        """Rows of the table as their explanation has them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return self.network.match(self._table(frame)).data


def _as_text(value: Any) -> str:
    """An id as text. Whole numbers beside a gap are read as floats, and are called as in other blocks."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def given_labels(frame: pd.DataFrame, name: str) -> NDArray:
    """The labels of rows of a table; a gap among them is refused."""
    missing = frame[name].isna().to_numpy()
    if missing.any():
        row = int(frame.index[int(missing.argmax())]) + 1
        raise ValueError(
            f"row {row} has no label in column '{name}': by block every row needs one, so leave such rows "
            "out first, or label them -1 for noise."
        )
    return label_values(frame[name], f"column '{name}'")


def block_evidence(block: Block, state: Explainer) -> EvidenceMoments:
    """The stage: the evidence of a block, as far as β needs it."""
    found: Any = None
    for _, frame in block.frames(state.columns):
        own = EvidenceMoments.of(state.network.evidence(state.features(frame)))
        found = own if found is None else found + own
    return found


def block_explained(block: Block, state: Explainer) -> dict[str, Any]:
    """The stage: relevance of a block, in files, and what a summary needs of it."""
    moments: Any = None
    files: dict[str, str] = {}
    told: list[str] = []
    unread: list[Unread] = []
    disagreeing = 0
    for number, (first, frame) in enumerate(block.frames(state.columns)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            part = state.explain(frame)
        counts = {}
        for one in (warning.message for warning in caught):
            if isinstance(one, UnreadWarning):
                counts[one.unread.column] = one.unread
            else:
                told.append(" ".join(str(one).split()))
        unread = summed([*unread, *counts.values()])
        own = ClusterMoments.of(part, first, MEMBERS)
        moments = own if moments is None else moments + own
        disagreeing += int(part.disagrees.sum())
        if state.keep != "nothing":
            name = f"{RELEVANCE}/{file_name(block, number)}"
            files[name] = _saved(part, state, name)
    return {
        "moments": moments,
        "files": files,
        "notes": list(dict.fromkeys(told)),
        "unread": unread,
        "disagreeing": disagreeing,
    }


def file_name(block: Block, number: int) -> str:
    """The file of a batch of a block; sorted by name, files are in the order of the rows."""
    return f"part-{block.number:06d}-{number:04d}.parquet"


def _saved(part: Explanation, state: Explainer, name: str) -> str:
    """Write relevance in single precision, seven digits are more than anybody reads; return its SHA-256."""
    path = state.folder / name
    path.parent.mkdir(exist_ok=True)
    part = replace(part, values=np.asarray(part.values).astype(np.float32, order="F"))
    save(part if state.keep == "all" else part.without_data(), path)
    return sum_of(path)


@dataclass(frozen=True, eq=False)
class Known:
    """What the second pass is told beside: what all blocks together have shown.

    Attributes
    ----------
    explainer : Explainer
    moments : ClusterMoments
    names : dict of cluster to str
    """

    explainer: Explainer
    moments: ClusterMoments
    names: dict[Any, str]


def block_typical(block: Block, state: Known) -> dict[str, Any]:
    """The stage: the rows nearest what is typical, and the lines of all rows, in files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    typical: Any = None
    files: dict[str, str] = {}
    folder = state.explainer.folder
    called = id_name(state.explainer.id_column)
    for number, (first, part) in enumerate(_explained_again(block, state.explainer)):
        own = TypicalRows.of(part, state.moments, first, MEMBERS)
        typical = own if typical is None else typical + own
        lines = row_lines(part, part.index, called, state.names)
        table = pa.Table.from_pandas(lines, preserve_index=False)

        def fill(stream: Any, table: Any = table) -> None:
            pq.write_table(table, stream, write_page_checksum=True)
            seal(stream)

        name = f"{CLUSTERS}/{file_name(block, number)}"
        files[name] = sum_of(write_whole(folder / name, fill))
    return {"typical": typical, "files": files}


def _explained_again(block: Block, state: Explainer) -> Iterator[tuple[int, Explanation]]:
    """The explanations of a block, from their files if there are any."""
    for number, (first, frame) in enumerate(block.frames(state.columns)):
        if state.keep == "nothing":
            yield first, state.explain_again(frame)
            continue
        part = load(state.folder / RELEVANCE / file_name(block, number))
        # Which values a row lacks, and of which it is a copy, is told by the row itself.
        yield first, part if state.keep == "all" else replace(part, data=state.explained_rows(frame))


def block_rows(block: Block, state: tuple[list[str], NDArray]) -> pd.DataFrame:
    """The stage: single rows of a block, by their numbers in the whole table."""
    columns, rows = state
    found = [frame[np.isin(frame.index, rows)] for _, frame in block.frames(columns)]
    return pd.concat(found)


def explain_frame(frame: pd.DataFrame, network: Neuralized, *, id_column: str | None = None) -> pd.DataFrame:
    """Explain the rows of a frame by a network, as a frame: what other engines map over their blocks.

    It is a pure function: a row has the same line in any block, because β belongs to the network, and so do
    the decimal marks of numbers that are written as text.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any rows, also none, with the columns of the network; others are left out.
    network : Neuralized
        ``wc.load("result/model.npz")``, or ``wc.neuralize(model, background)``.
    id_column : str, optional
        The column that names the rows, which becomes the first one of the lines. Most engines know no index,
        and keep no order of rows.

    Returns
    -------
    pandas.DataFrame
        One line a row, under the frame's index: ``cluster``, ``competitor``, ``evidence``, ``base_value``,
        and ``relevance.<column>`` of every column.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> network = wc.neuralize(KMeans(3, n_init=1, random_state=0).fit(X), X)
    >>> explain_frame(X[:2], network).columns.tolist()[:5]
    ['cluster', 'competitor', 'evidence', 'base_value', 'relevance.sepal length (cm)']
    """
    if not is_frame(frame):
        raise TypeError(
            f"frame is a {type(frame).__name__}, expected a frame of pandas: pandas.DataFrame(rows, "
            "columns=names) makes one."
        )
    refuse_repeated(list(frame.columns), "the frame")
    if id_column is None:
        return _lines_of(frame, network)
    if id_column not in frame.columns:
        raise ValueError(unknown_column(id_column, frame.columns))
    lines = _lines_of(frame if network.named else frame.drop(columns=id_column), network)
    if id_column in lines.columns:
        raise ValueError(
            f"id_column='{id_column}' is what a column of the result is called: give it another name."
        )
    lines.insert(0, id_column, frame[id_column])
    return lines


def _lines_of(frame: pd.DataFrame, network: Neuralized) -> pd.DataFrame:
    if len(frame) == 0:  # engines hand over blocks of which a filter has left nothing
        columns = [str(name) for name in (network.feature_names if network.named else frame.columns)]
        nobody, nothing = network.clusters[:0], np.empty(0, dtype=type_of(network, frame))
        parts = (nobody, nobody, nothing, nothing)
        values = np.empty((0, len(columns)), dtype=nothing.dtype)
    else:
        if network.reading is not None:
            network = replace(network, reading=network.reading.settled()[0])
        # Whoever maps it over blocks would be told once for each.
        known = set(network.feature_names) if network.named else set(frame.columns)
        found = explain_rows(network, read_input(frame[[name for name in frame.columns if name in known]]))
        columns = found.feature_names
        parts = (found.clusters, found.competitors, found.evidence, found.base_values)
        values = np.asarray(found.values)
    lines = dict(zip(("cluster", "competitor", "evidence", "base_value"), parts, strict=True))
    relevance = pd.DataFrame(values, frame.index, [f"relevance.{name}" for name in columns])
    return pd.concat([pd.DataFrame(lines, index=frame.index), relevance], axis=1)


def type_of(network: Neuralized, rows: Any) -> np.dtype:
    """The type of the numbers by which rows like these are explained, of which there may be none."""
    names = [str(name) for name in rows.columns] if is_frame(rows) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return network._dtype(network.match(InputTable(rows, names, None)))
