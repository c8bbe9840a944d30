"""New rows for a model that there is: assigned and explained by it, nothing is fitted."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyclust import load
from whyclust._versions import versions
from whyclust.columns.plan import listed
from whyclust.command.reading import row_names
from whyclust.command.result import Result, cluster_lines
from whyclust.explaining.rows import explain_rows
from whyclust.inputs.reading import read_input
from whyclust.network import Neuralized
from whyclust.tables import unknown_column

if TYPE_CHECKING:
    from whyclust.tables import Table


def load_model(path: Path) -> Neuralized:
    """The network in a file that `whyclust explain` has written, or a sentence."""
    # Whoever names the folder of results means the model in it.
    path = path / "model.npz" if path.is_dir() else path
    if not path.exists():
        raise ValueError(
            f"'{path}' does not exist: expected a model.npz that 'whyclust explain' has written, such as "
            "--model result/model.npz."
        )
    found = load(path)
    if not isinstance(found, Neuralized):
        raise ValueError(
            f"'{path}' holds a {type(found).__name__}, expected a model: name the model.npz of a folder of "
            "results."
        )
    return found


def named_by(network: Neuralized, columns: Collection[str] | None = None) -> str | None:
    """The column that named the rows of the model's table, where the new ones have it, too."""
    name = getattr(network.reading, "id_column", "")
    return name if name and (columns is None or name in columns) else None


def _column_told(note: str) -> str:
    """A note on what the model does not know in a column, without what it has for an example."""
    return re.sub(r"^(In [\d,]+ of [\d,]+ rows column '.*' holds) .*$", r"\1", note)


def unused_note(names: Sequence[str]) -> str:
    """Say which columns of new rows have no part in the model, by names in quotes."""
    return f"Columns that the model does not use were left out: {listed(list(names))}."


def explain_new_rows(
    table: Table,
    network: Neuralized,
    *,
    called: str = "model.npz",
    id_column: str | None = None,
    names: Mapping[Any, str] | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> Result:
    """Assign and explain rows by a network that was fitted to others.

    Parameters
    ----------
    table : Table
        What `whyclust.tables.read_table` returned, with the network's `reading`.
    network : Neuralized
    called : str
        Where the network is from, for the report.
    id_column : str, optional
        The column that names the rows; by default the one that did so in the model's table.
    names : mapping of clusters to names, optional
        What to call clusters; the others keep the names that they had.
    progress : callable
        Called with a short text at every step.

    Returns
    -------
    Result

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from whyclust.command.run import explain_table
    >>> from whyclust.tables import Table
    >>> rows = load_iris(as_frame=True).data
    >>> first = explain_table(Table(rows), k=3)
    >>> new = explain_new_rows(Table(rows.iloc[::10]), first.network)
    >>> bool((new.clusters["cluster"] == first.clusters["cluster"].iloc[::10].to_numpy()).all())
    True
    """
    frame = table.frame
    id_column = id_column or named_by(network, frame.columns)
    if id_column is not None and id_column not in frame.columns:
        raise ValueError(unknown_column(id_column, frame.columns))
    if network.named and not set(network.feature_names) & set(frame.columns):
        raise ValueError(
            "the table has none of the columns that the model knows "
            f"({listed(list(network.feature_names)[:3])} and so on): expected a table with the same columns."
        )
    rows = row_names(frame, id_column)
    known = set(network.feature_names)
    unused = [f"'{name}'" for name in frame.columns if name not in known and name != id_column]
    # Where columns are missing, whoever matches them says which.
    features = frame[[name for name in frame.columns if name in known]] if network.named else frame
    progress("Explaining every row")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read = read_input(features.set_axis(rows.distinct, axis=0), "the table")
        # Rows are read once: a second reading would tell the same again, and of what it has read as a gap.
        read = network.reading.of_rows(read) if network.reading is not None and network.named else read
        explanation = explain_rows(replace(network, reading=None), read).with_names(names or {})
    told = [" ".join(str(warning.message).split()) for warning in caught]
    # What the file's reader has told, with the text that it found, is a gap for the model.
    known_of = {_column_told(note) for note in table.notes}
    told = [note for note in told if _column_told(note) not in known_of]
    if unused and network.named:
        told.append(unused_note(unused))
    notes = list(dict.fromkeys([*table.notes, *rows.notes, *told]))
    computed = {
        "method": f"the model in {called}",
        "k": int(network.head.n_clusters),
        "k_chosen_by": "the model",
        "seed": None,
        "model": called,
        "n_rows": len(explanation),
        "columns": list(explanation.feature_names),
        "id_column": id_column,
        "beta": float(explanation.beta),
        "rule": explanation.rule,
        "notes": notes,
        "versions": versions(),
    }
    rows_told = "1 new row" if len(explanation) == 1 else f"{len(explanation):,} new rows"
    headline = f"{rows_told}, assigned by the model in {called}; nothing was fitted."
    lines = cluster_lines(explanation, rows)
    return Result(explanation, network, lines, None, notes, [headline], computed)
