"""Who reads: files as they are written by us and by others, and what is generated from them."""

from __future__ import annotations

import gzip
import io
import json
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import whyclust as wc
from fuzz_parts.mutating import (
    VALUES,
    WORDS,
    archive_changed,
    as_json,
    bytes_changed,
    json_changed,
    npy_changed,
)


@dataclass(frozen=True)
class Reader:
    """One way in.

    Attributes
    ----------
    made : callable
        From a generator of random numbers to an input.
    read : callable
        Reads it, in an empty folder; what it may raise is for `fuzz.py` to say.
    inputs : int
        How many are generated.
    """

    made: Callable[[random.Random], Any]
    read: Callable[[Any, Path], Any]
    inputs: int


def _rows(n_rows: int = 24) -> pd.DataFrame:
    draw = np.random.default_rng(3)
    group = np.arange(n_rows) % 3
    return pd.DataFrame(
        {
            "age": 30.0 + 10 * group + draw.normal(size=n_rows).round(2),
            "income, €": 1000 * (group + 1) + draw.integers(90, size=n_rows),
            "town": np.array(["Ulm", "Köln", "Bonn"])[group],
            "since": pd.date_range("2020-01-01", periods=n_rows).astype(str),
            "member": group == 1,
        }
    )


@cache
def _things() -> tuple[Any, ...]:
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = _rows()[["age", "income, €"]]
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(X)
    frame = _rows().set_index(pd.period_range("2020-01", periods=len(X), freq="M"))
    labels = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = wc.explain(labels, frame[["age", "town"]])
    soft = wc.cluster.SoftKMeans(3, n_init=1, random_state=0).fit(X.to_numpy())
    return wc.explain(model, X), wc.neuralize(model, X), named, soft


@cache
def saved(suffix: str) -> tuple[bytes, ...]:
    """Files that wc.save writes."""
    import tempfile

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for thing in _things():
            try:
                found.append(wc.save(thing, Path(folder) / f"file{suffix}").read_bytes())
            except ValueError:  # Parquet is for explanations
                continue
    return tuple(found)


@cache
def tables(suffix: str) -> tuple[bytes, ...]:
    """Files of tables that others write."""
    frame, stream = _rows(), io.BytesIO()
    numbers = frame[["age", "income, €"]].to_numpy()
    if suffix == ".parquet":
        frame.to_parquet(stream)
        typed = frame.assign(since=pd.to_datetime(frame["since"]), town=frame["town"].astype("category"))
        other = io.BytesIO()
        typed.set_index("since").to_parquet(other, compression="gzip")
        return stream.getvalue(), other.getvalue()
    if suffix == ".arrow":
        import pyarrow as pa
        import pyarrow.feather

        pyarrow.feather.write_feather(frame, stream)
        table, flow = pa.Table.from_pandas(frame), io.BytesIO()
        with pa.ipc.new_stream(flow, table.schema) as writer:
            writer.write_table(table)
        return stream.getvalue(), flow.getvalue()
    if suffix == ".npy":
        np.save(stream, numbers)
        other = io.BytesIO()
        np.save(other, np.array([("a", 1.0), ("b", 2.5)], dtype=[("name", "U3"), ("size", "f8")]))
        return stream.getvalue(), other.getvalue()
    if suffix == ".npz":
        np.savez(stream, X=numbers, y=np.arange(len(frame)) % 3, feature_names=np.array(["age", "income"]))
        return (stream.getvalue(),)
    if suffix == ".xlsx":
        frame.to_excel(stream, index=False)
        return (stream.getvalue(),)
    if suffix == ".jsonl":
        return (frame.to_json(orient="records", lines=True).encode(),)
    if suffix == ".json":
        return frame.to_json(orient="records").encode(), json.dumps(frame.to_dict(orient="list")).encode()
    if suffix == ".h5ad":
        return (_annotated(numbers, frame),)
    text = frame.to_csv(index=False)
    german = frame.to_csv(index=False, sep=";", decimal=",")
    return text.encode(), german.encode("cp1252"), text.encode("utf-16"), frame.to_csv(sep="\t").encode()


def _cells(frame: pd.DataFrame) -> pd.DataFrame:
    named = [str(place) for place in range(len(frame))]
    return pd.DataFrame({"size": frame["age"].to_numpy()}, index=pd.Index(named, dtype=object))


def _annotated(numbers: Any, frame: pd.DataFrame) -> bytes:
    import tempfile

    import anndata

    genes = pd.DataFrame(index=pd.Index(["g1", "g2"], dtype=object))
    data = anndata.AnnData(numbers.astype(np.float32), obs=_cells(frame), var=genes)
    with tempfile.TemporaryDirectory() as folder, pd.option_context("future.infer_string", False):
        data.write_h5ad(Path(folder) / "cells.h5ad")
        return (Path(folder) / "cells.h5ad").read_bytes()


# --- what is generated -----------------------------------------------------------------------------------


def _archive(draw: random.Random) -> bytes:
    content = draw.choice(saved(".npz"))
    if draw.random() < 0.25:
        return bytes_changed(content, draw, draw.choice(saved(".parquet")))

    def member(name: str, held: bytes, draw: random.Random) -> bytes:
        if name != "whyclust.npy":
            return npy_changed(held, draw)
        header = json.loads(str(np.load(io.BytesIO(held))))
        stream = io.BytesIO()
        np.save(stream, np.array(as_json(json_changed(header, draw))))
        return stream.getvalue()

    return archive_changed(content, draw, member)


def _signed_json(draw: random.Random) -> bytes:
    from whyclust.saving.json_text import _digest, _text

    content = draw.choice(saved(".json"))
    if draw.random() < 0.3:
        return bytes_changed(content, draw)
    whole = json.loads(content)
    body = json_changed(whole["whyclust"], draw)
    try:
        signed = _digest(_text(body))
    except (TypeError, ValueError):
        signed = ""
    return as_json({"whyclust": body, "sha256": signed}).encode("utf-8", "replace")


def _rewritten_table(draw: random.Random) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = draw.choice(saved(".parquet"))
    if draw.random() < 0.4:
        return bytes_changed(content, draw, draw.choice(tables(".parquet")))
    table = pq.read_table(pa.BufferReader(content))
    header = json_changed(json.loads(table.schema.metadata[b"whyclust"]), draw)
    if draw.random() < 0.3 and table.num_columns > 1:
        place = draw.randrange(table.num_columns)
        other = draw.choice(
            (pa.nulls(len(table)), pa.array(["x"] * len(table)), pa.array([[1]] * len(table)))
        )
        table = table.set_column(place, table.column_names[place], other)
    stream = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata({b"whyclust": as_json(header).encode("utf-8", "replace")}), stream
    )
    return stream.getvalue()


def _checkpoint(draw: random.Random) -> bytes:
    stream = io.BytesIO()
    meta = {
        "fingerprint": "x",
        "plan": [],
        "progress": None,
        "best": {"scores": [], "empty": [], "history": {}},
    }
    text = as_json(json_changed(meta, draw) if draw.random() < 0.5 else meta).encode("utf-8", "replace")
    np.savez(stream, __meta__=np.frombuffer(text, np.uint8), a=np.eye(3, dtype=np.float32))
    if draw.random() < 0.3:
        return bytes_changed(stream.getvalue(), draw)
    return archive_changed(stream.getvalue(), draw, lambda name, held, draw: npy_changed(held, draw))


def _delimited(draw: random.Random) -> bytes:
    if draw.random() < 0.5:
        return bytes_changed(draw.choice(tables(".csv")), draw, draw.choice(tables(".csv")))
    mark = draw.choice((",", ",", ";", "\t", "|", " "))
    width, height = draw.choice((1, 2, 3, 6, 40)), draw.choice((0, 1, 2, 5, 30))
    plain = ("1", "2.5", "3", "Ulm", "Bonn", "10", "7,5")
    lines = []
    for _ in range(height + 1):
        wide = width if draw.random() < 0.95 else draw.randrange(width + 3)
        lines.append(mark.join(draw.choice(WORDS if draw.random() < 0.15 else plain) for _ in range(wide)))
    text = draw.choice(("\n", "\r\n", "\r")).join(lines) + draw.choice(("", "\n"))
    codec = draw.choice(("utf-8",) * 6 + ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "cp1250"))
    return text.encode(codec, "replace")


def _table(suffix: str) -> Callable[[random.Random], bytes]:
    def made(draw: random.Random) -> bytes:
        content = draw.choice(tables(suffix))
        if suffix == ".npy":
            return npy_changed(content, draw)
        if suffix in (".npz", ".xlsx") and draw.random() < 0.75:
            change = (lambda name, held, draw: npy_changed(held, draw)) if suffix == ".npz" else None
            return archive_changed(content, draw, change)
        if suffix == ".json" and draw.random() < 0.6:
            return as_json(json_changed(json.loads(content), draw)).encode("utf-8", "replace")
        if suffix == ".jsonl" and draw.random() < 0.6:
            lines = [json.loads(line) for line in content.splitlines()]
            return _lines(json_changed(lines, draw))
        return bytes_changed(content, draw, draw.choice(tables(suffix)))

    return made


def _lines(found: Any) -> bytes:
    rows = found if isinstance(found, list) else [found]
    return "\n".join(as_json(one) for one in rows).encode("utf-8", "replace")


def _compressed(draw: random.Random) -> bytes:
    if draw.random() < 0.5:
        return gzip.compress(_delimited(draw), mtime=0)
    return bytes_changed(gzip.compress(tables(".csv")[0], mtime=0), draw)


def _documents(draw: random.Random) -> bytes:
    rows = [{"text": f"word {i}", "label": "ab"[i % 2], "split": "train", "id": i} for i in range(6)]
    changed = json_changed(rows, draw) if draw.random() < 0.6 else rows
    content = gzip.compress(_lines(changed), mtime=0)
    return content if draw.random() < 0.6 else bytes_changed(content, draw)


def _labels(draw: random.Random) -> Any:
    length = draw.choice((0, 1, 2, 3, 8, 24))
    usual = draw.choice(
        ((0, 1, 2), ("a", "b"), (0.0, 1.0), (True, False), (-1, 0, 1), (1, "1"), VALUES, WORDS)
    )
    found = [draw.choice(VALUES if draw.random() < 0.05 else usual) for _ in range(length)]
    kind = draw.randrange(12)
    try:
        if kind < 4:
            return found
        if kind == 4:
            return np.array(found)
        if kind == 5:
            return np.array(found, dtype=object)
        if kind == 6:
            return pd.Series(found)
        if kind == 7:
            return pd.Series(found, dtype="category")
        if kind == 8:
            return pd.DataFrame({"label": found})
        if kind == 9:
            return np.ma.masked_array(np.array(found), mask=[draw.random() < 0.2 for _ in found])
        if kind == 10:
            return pd.Series(found, index=[draw.choice(WORDS) for _ in found])
        return draw.choice(
            (tuple(found), pd.Index(found), pd.array(found), found[0] if found else None, iter(found))
        )
    except Exception:  # what cannot be made is not given to anybody
        return found


# --- the command line ---

_OPTIONS = (
    *(
        "-k",
        "--out",
        "--method",
        "--columns",
        "--drop",
        "--id-column",
        "--labels",
        "--names",
        "--seed",
        "--k-by",
    ),
    *(
        "--scale",
        "--with-data",
        "--no-relevance",
        "--no-rows",
        "--model",
        "--quiet",
        "--nonsense",
        "--help",
        "-",
    ),
)
_GIVEN = (
    *(
        "2",
        "3",
        "auto",
        "0",
        "-1",
        "1e9",
        "999999999999",
        "kmeans",
        "soft",
        "kernel",
        "age",
        "town",
        "member",
        "x",
    ),
    *(
        "age,town",
        "0=a,1=b",
        "0=",
        "=",
        "apart",
        "elbow",
        "rank",
        "robust",
        "none",
        "model.npz",
        "table.csv",
        "result",
    ),
    *("no/such/file", "/", "", " ", "é", "\x1b[0m", "result/../..", "4294967296", "since", "income, €"),
)


def _called(draw: random.Random) -> tuple[list[str], str, bytes, bytes]:
    suffix = draw.choice((".csv", ".csv", ".csv", ".jsonl", ".parquet", ".npy", ".npz", ".xlsx", ".json"))
    made = _delimited if suffix == ".csv" else _table(suffix)
    content = draw.choice(tables(suffix)) if draw.random() < 0.3 else made(draw)
    words = [draw.choice(("explain",) * 12 + ("demo2", "", "Explain", "--version"))]
    words += [f"table{suffix}"] if draw.random() < 0.95 else []
    words += ["-k", draw.choice(("2", "3"))] if draw.random() < 0.6 else []
    for _ in range(draw.choice((0, 0, 1, 2, 3))):
        option = draw.choice(_OPTIONS)
        words += [option] if draw.random() < 0.2 else [option, draw.choice(_GIVEN)]
    model = draw.choice(saved(".npz")) if draw.random() < 0.5 else _archive(draw)
    return words, f"table{suffix}", content, model


def _run(called: tuple[list[str], str, bytes, bytes], folder: Path) -> None:
    """Run it as a command would be, and refuse what is neither success nor a sentence."""
    import contextlib
    import os

    from whyclust.command.cli import _exit_code

    words, name, content, model = called
    (folder / name).write_bytes(content)
    (folder / "model.npz").write_bytes(model)
    told, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
            code = _exit_code(words)
    finally:
        os.chdir(before)
    if code not in (0, 2) or "Traceback" in told.getvalue():
        raise RuntimeError(f"exit code {code}: {told.getvalue()[-300:]}")
    if code == 2:
        raise ValueError(told.getvalue().strip() or "nothing was told.")


# --- all of them ---


def _by_file(suffix: str, read: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    def from_bytes(content: bytes, folder: Path) -> Any:
        path = folder / f"input{suffix}"
        path.write_bytes(content)
        return read(path)

    return from_bytes


def _planned(path: Path) -> Any:
    from whyclust.tables import plan_table, read_table

    table = read_table(path)
    return plan_table(table.frame).apply(table.frame) if len(table.frame) > 1 else table


def _read_checkpoint(path: Path) -> Any:
    from whyclust.deep.training.checkpoints import read_checkpoint

    return read_checkpoint(path)


def _read_arrays(path: Path) -> Any:
    from whyclust.datasets.places import read_arrays

    return read_arrays(path)


def _read_labels(labels: Any, folder: Path) -> Any:
    from whyclust.labels.given import read_labels

    return read_labels(labels)


READERS: dict[str, Reader] = {
    "wc.load of .npz": Reader(_archive, _by_file(".npz", wc.load), 16_000),
    "wc.load of .json": Reader(_signed_json, _by_file(".json", wc.load), 10_000),
    "wc.load of .parquet": Reader(_rewritten_table, _by_file(".parquet", wc.load), 10_000),
    "checkpoints": Reader(_checkpoint, _by_file(".npz", _read_checkpoint), 5_000),
    "data sets, .npz": Reader(_table(".npz"), _by_file(".npz", _read_arrays), 3_000),
    "data sets, .jsonl.gz": Reader(_documents, _by_file(".jsonl.gz", _read_arrays), 3_000),
    "tables, .csv": Reader(_delimited, _by_file(".csv", _planned), 16_000),
    "tables, .csv.gz": Reader(_compressed, _by_file(".csv.gz", _planned), 3_000),
    "tables, .parquet": Reader(_table(".parquet"), _by_file(".parquet", _planned), 8_000),
    "tables, .arrow": Reader(_table(".arrow"), _by_file(".arrow", _planned), 6_000),
    "tables, .npy": Reader(_table(".npy"), _by_file(".npy", _planned), 4_000),
    "tables, .npz": Reader(_table(".npz"), _by_file(".npz", _planned), 4_000),
    "tables, .xlsx": Reader(_table(".xlsx"), _by_file(".xlsx", _planned), 3_000),
    "tables, .jsonl": Reader(_table(".jsonl"), _by_file(".jsonl", _planned), 4_000),
    "tables, .json": Reader(_table(".json"), _by_file(".json", _planned), 3_000),
    "tables, .h5ad": Reader(_table(".h5ad"), _by_file(".h5ad", _planned), 2_000),
    "labels": Reader(_labels, _read_labels, 12_000),
    "the command line": Reader(_called, _run, 1_000),
}
