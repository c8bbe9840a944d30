"""Tables in files of other programs: spreadsheets, JSON, and AnnData."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whyclust._checks import reason_of
from whyclust._extras import missing
from whyclust.saving.limits import TooLargeError, refuse_archive, refuse_unfolding
from whyclust.tables.foreign import clean
from whyclust.tables.tidying import title_note, title_rows

# A matrix of more numbers than this would not be a table that a person has.
MOST_NUMBERS = 2e8
# Lines that a sheet of a spreadsheet may have.
_MOST_LINES = 1 << 20
# Bytes that an empty cell takes, and how much larger cells are than the text that tells them.
_CELL, _OF_XML = 8, 4


def read_xlsx(path: Path) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The first sheet of a spreadsheet that holds a table, with notes."""
    try:
        import openpyxl
    except ImportError:
        raise missing("Reading .xlsx", "excel") from None
    size = path.stat().st_size
    try:
        with path.open("rb") as stream:
            refuse_archive(stream, times=_OF_XML)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheets = [(sheet.title, _filled_rows(sheet, size)) for sheet in book.worksheets]
        book.close()
    except TooLargeError:
        raise
    except Exception as error:  # whatever a damaged file raises
        raise ValueError(
            f"the spreadsheet is damaged ({reason_of(error)}): save it again, or as CSV."
        ) from error
    for title, filled in sheets:
        if len(filled) > 1:
            notes = [f"The table is the sheet '{title}' of {len(sheets)}."] if len(sheets) > 1 else []
            texts = [["" if cell is None else str(cell) for cell in row] for row in filled[:200]]
            above = title_rows(texts)
            if above:
                notes.append(title_note([cell for row in texts[:above] for cell in row]))
            return _of_cells(filled[above:], size), notes, []
    raise ValueError("the spreadsheet holds no table: expected a line of names and rows below it.")


def _filled_rows(sheet: Any, size: int) -> list[list[Any]]:
    """The rows that hold something. What the sheet says of its own size is not believed."""
    sheet.reset_dimensions()
    found, cells = [], 0
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        if number >= _MOST_LINES:
            raise ValueError(f"more than {_MOST_LINES:,} lines")
        if any(cell is not None for cell in row):
            cells += len(row)
            refuse_unfolding(_CELL * cells, size)
            found.append(list(row))
    return found


def _of_cells(rows: list[list[Any]], size: int) -> pd.DataFrame:
    header, *body = rows
    width = max(place + 1 for row in rows for place, cell in enumerate(row) if cell is not None)
    refuse_unfolding(_CELL * width * len(rows), size)
    names = ["" if cell is None else str(cell) for cell in [*header, *[None] * width][:width]]
    cells = [[*row, *[None] * width][:width] for row in body]
    frame = pd.DataFrame(cells, columns=range(width)).infer_objects()
    return frame.set_axis(pd.Index(names), axis=1)


def read_jsonl(path: Path) -> tuple[pd.DataFrame, list[str], list[str]]:
    """One object a line."""
    rows = []
    for number, line in enumerate(path.read_bytes().decode("utf-8-sig", errors="replace").splitlines(), 1):
        if line.strip():
            rows.append(_object(line, f"line {number}"))
    return _of_objects(rows), [], []


def read_json(path: Path) -> tuple[pd.DataFrame, list[str], list[str]]:
    """A list of objects, or an object of columns."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        # One object a line is often called .json, too.
        try:
            return read_jsonl(path)
        except ValueError:
            raise ValueError(
                f"the file is no JSON ({reason_of(error)}): save it again, or as CSV."
            ) from error
    if isinstance(content, dict) and content and all(isinstance(one, list) for one in content.values()):
        if len({len(one) for one in content.values()}) == 1:
            return pd.DataFrame(_cleaned(content)), [], []
        raise ValueError("the columns have different numbers of rows: expected one entry a row in each.")
    if isinstance(content, list) and all(isinstance(row, dict) for row in content):
        return _of_objects(content), [], []
    raise ValueError("the file holds no table: expected a list of objects, one a row.")


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"{place} is no JSON object: expected one a line.") from None
    if not isinstance(row, dict):
        raise ValueError(f"{place} holds a {type(row).__name__}, expected an object: one a line.")
    return row


def _of_objects(rows: list[dict[str, Any]]) -> pd.DataFrame:
    # Objects inside objects are columns 'outer.inner', as most programs have them.
    return pd.json_normalize(_cleaned(rows)) if rows else pd.DataFrame()


def _cleaned(content: Any) -> Any:
    r"""The same without halves of characters, which JSON can write ("\ud800")."""
    if isinstance(content, str):
        return clean(content)
    if isinstance(content, list):
        return [_cleaned(one) for one in content]
    if isinstance(content, dict):
        return {clean(key): _cleaned(one) for key, one in content.items()}
    return content


def read_h5ad(path: Path) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The matrix of an AnnData file, genes as columns; what is known of the cells stands aside."""
    try:
        import anndata
    except ImportError:
        raise missing("Reading .h5ad", "anndata") from None
    size = path.stat().st_size
    try:
        _refuse_hdf5(path, size)
        data = anndata.read_h5ad(path)
    except TooLargeError:
        raise
    except Exception as error:  # whatever a damaged file raises
        raise ValueError(f"the AnnData file is damaged ({reason_of(error)}): write it again.") from error
    if data.X is None:
        raise ValueError("the AnnData file has no matrix X: expected one row a cell, one column a gene.")
    if data.n_obs * data.n_vars > MOST_NUMBERS:
        raise ValueError(
            f"found {data.n_obs} cells and {data.n_vars} genes, too many numbers for one table: keep the "
            "most variable genes, or explain clusters from Python (wc.explain(labels, adata))."
        )
    refuse_unfolding(data.n_obs * data.n_vars * data.X.dtype.itemsize, size)
    matrix = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    frame = pd.DataFrame(matrix, columns=pd.Index([str(name) for name in data.var_names]))
    aside = pd.DataFrame({"cell": [str(name) for name in data.obs_names]})
    for name in data.obs.columns:
        aside[str(name)] = data.obs[name].to_numpy()
    aside = aside[[name for name in aside if name not in frame.columns]]
    notes = ["The table is the matrix X of the file; what it knows of cells can be used with --labels."]
    return pd.concat([frame, aside], axis=1), notes, list(aside.columns)


def _refuse_hdf5(path: Path, size: int) -> None:
    """Raise if a file would unfold to far more than it is, or takes what it says from other files."""
    import h5py

    seen: set[int] = set()
    total = 0
    with h5py.File(path, "r") as file:
        waiting = [file]
        while waiting:
            group = waiting.pop()
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise ValueError(f"{name!r:.60} is a link, expected what it leads to")
                one = group[name]
                address = h5py.h5o.get_info(one.id).addr
                if address in seen:
                    continue
                seen.add(address)
                if isinstance(one, h5py.Group):
                    waiting.append(one)
                elif isinstance(one, h5py.Dataset):
                    if one.is_virtual or one.external:
                        raise ValueError(f"{name!r:.60} is kept in another file")
                    total += one.nbytes
                    refuse_unfolding(total, size)
