"""Files that were changed, or made to do harm: refused in a sentence, before they take memory."""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans

import whyclust as wc
from whyclust.datasets.download import keep
from whyclust.datasets.places import read_arrays
from whyclust.saving import archives, limits, registry
from whyclust.tables import read_table

X = np.random.default_rng(4).normal(size=(30, 2)) + 4.0 * (np.arange(30) % 2)[:, None]
FRAME = pd.DataFrame(X, columns=["größe", "b"])


def explanation():
    return wc.explain(KMeans(2, n_init=1, random_state=0).fit(FRAME), FRAME)


# --------------------------------------------------------------------------- one bit


def flipped(path, places):
    """The file with one bit changed, at every place in turn."""
    whole = path.read_bytes()
    for number, place in enumerate(places(len(whole))):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (number % 8)
        path.write_bytes(bytes(damaged))
        yield place
    path.write_bytes(whole)


def every(step):
    """Some places in the middle, and all at the end, where formats have what leads to the rest."""
    return lambda size: [*range(0, size - 150, step), *range(size - 150, size)]


def not_refused(read, path, places=range):
    """Places at which a flipped bit goes unnoticed."""
    found = []
    for place in flipped(path, places):
        try:
            read(path)
        except ValueError:
            continue
        found.append(place)
    read(path)  # as it was, it is read
    return found


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_one_flipped_bit_anywhere_is_refused(suffix, tmp_path):
    path = explanation().save(tmp_path / f"ex.{suffix}")
    assert not_refused(wc.load, path, every(3 if suffix == "npz" else 7)) == []


def test_one_flipped_bit_of_json_is_refused_unless_the_text_says_the_same(tmp_path):
    path = explanation().save(tmp_path / "ex.json")
    said = json.loads(path.read_text())

    def read(path):
        wc.load(path)
        if json.loads(path.read_text()) == said:  # '\\u00E4' and '1E5' are '\\u00e4' and '1e5'
            raise ValueError

    found = []
    for place in flipped(path, every(5)):
        try:
            read(path)
        except ValueError:
            continue
        found.append(place)
    assert found == []


def test_one_flipped_bit_in_a_folder_of_results_is_refused(tmp_path, monkeypatch):
    from whyclust.command.cli import _exit_code
    from whyclust.command.new_rows import load_model

    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("t.csv", index=False)
    assert _exit_code(["explain", "t.csv", "-k", "2", "--quiet"]) == 0
    assert not_refused(load_model, Path("result/model.npz"), every(11)) == []
    assert not_refused(wc.load, Path("result/relevance.parquet"), every(29)) == []


def test_one_flipped_bit_of_a_checkpoint_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    from whyclust.deep.training.checkpoints import read_checkpoint, write_checkpoint

    path = tmp_path / "fit.npz"
    write_checkpoint(path, {"epoch": 3}, {"weights": torch.eye(3)})
    assert not_refused(read_checkpoint, path) == []


@pytest.mark.parametrize("name", ["set.npz", "set.jsonl.gz"])
def test_one_flipped_bit_of_the_cache_is_refused(name, tmp_path):
    content = io.BytesIO()
    np.savez_compressed(content, X=X)
    row = {"text": "word", "label": "a", "split": "test", "id": 1}
    held = content.getvalue() if name == "set.npz" else gzip.compress(json.dumps(row).encode())
    path = keep(held, tmp_path / name)
    assert not_refused(read_arrays, path) == []


@pytest.mark.parametrize("suffix", ["npz", "parquet", "json"])
def test_every_cut_is_refused(suffix, tmp_path):
    path = explanation().save(tmp_path / f"ex.{suffix}")
    whole = path.read_bytes()
    for length in [*range(0, len(whole) - 1, 97), *range(len(whole) - 120, len(whole) - 1)]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=rf"ex\.{suffix} is not"):
            wc.load(path)


def test_archives_of_before_there_was_a_digest_are_read(tmp_path):
    path = explanation().save(tmp_path / "ex.npz")
    with np.load(path) as archive:
        np.savez_compressed(path, **dict(archive))
    assert wc.load(path).feature_names == ["größe", "b"]


# --------------------------------------------------------------------------- archives that are none


@pytest.mark.parametrize("name", ["/tmp/x.npy", "../x.npy", "a/../../x.npy", "C:\\x.npy", "..\\x.npy"])
def test_members_with_ways_out_are_refused(name, tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=X)
    read_table(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"x")
    with pytest.raises(ValueError, match=r"a\.npz.*leads out of its folder"):
        read_table(path)
    with pytest.raises(ValueError, match=r"a\.npz could not be read.*leads out of its folder"):
        read_arrays(path)
    with pytest.raises(ValueError, match=r"a\.npz is not a file that whyclust has written"):
        wc.load(path)


def test_names_twice_and_odd_packing_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    content = io.BytesIO()
    np.save(content, X)
    for kind, told in ((zipfile.ZIP_BZIP2, "packed in an unusual way"), (None, "the same name")):
        with zipfile.ZipFile(path, "w", kind or zipfile.ZIP_STORED) as archive:
            archive.writestr("X.npy", content.getvalue())
            if kind is None:
                with pytest.warns(UserWarning, match="Duplicate name"):
                    archive.writestr("X.npy", content.getvalue())
        with pytest.raises(ValueError, match=told):
            read_table(path)


@pytest.fixture
def forgotten():
    known = dict(registry._BY_NAME)
    yield
    registry._BY_NAME.clear()
    registry._BY_NAME.update(known)


def test_keys_that_look_like_ways_out_are_written_otherwise(tmp_path, forgotten):
    @wc.saved
    @dataclass
    class Keyed:
        inside: dict

    inside = {"..": np.arange(2), "../a": np.arange(3), "..\\b": np.arange(4)}
    again = wc.load(wc.save(Keyed(inside), tmp_path / "keyed.npz")).inside
    assert {key: value.tolist() for key, value in again.items()} == {
        key: value.tolist() for key, value in inside.items()
    }


def test_what_we_write_is_never_taken_for_a_bomb(tmp_path, monkeypatch, forgotten):
    """Zeros alone compress by a thousand: they are written as they are, and read again."""

    @wc.saved
    @dataclass
    class Empty:
        zeros: np.ndarray

    monkeypatch.setattr(archives, "SMALL", 1 << 20)
    monkeypatch.setattr(limits, "SMALL", 1 << 20)
    path = wc.save(Empty(np.zeros(1 << 19)), tmp_path / "empty.npz")
    assert path.stat().st_size > 1 << 22
    assert wc.load(path).zeros.shape == (1 << 19,)


def test_cells_from_elsewhere_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("anndata")
    (tmp_path / "secret.bin").write_bytes(np.arange(4.0).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = X
    path = tmp_path / "cells.h5ad"
    for number in range(3):
        with h5py.File(path, "w") as file:
            if number == 0:
                file["X"] = h5py.ExternalLink("other.h5", "X")
            elif number == 1:
                held = [(str(tmp_path / "secret.bin"), 0, 32)]
                file.create_dataset("X", (4, 1), "f8", external=held)
            else:
                layout = h5py.VirtualLayout((30, 2), "f8")
                layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "X", (30, 2))
                file.create_virtual_dataset("X", layout)
        with pytest.raises(ValueError, match=r"cells\.h5ad.*'X' is (a link|kept in another file)"):
            read_table(path)


# --------------------------------------------------------------------------- bombs

_MEGABYTE = b"\0" * (1 << 20)


def zeros_in_archive(path, member, header=b"", megabytes=300):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(member, "w") as stream:
        stream.write(header)
        for _ in range(megabytes):
            stream.write(_MEGABYTE)


def npy_header(shape, dtype="<f8"):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def bomb_npz(path):
    zeros_in_archive(path, "X.npy", npy_header((300 << 17, 1)))


def bomb_npy(path):
    path.write_bytes(npy_header((1 << 30, 4)) + b"\0" * 64)


def bomb_gzip(path):
    with gzip.open(path, "wb") as stream:
        stream.write(b"a,b\n1,2\n")
        for _ in range(300):
            stream.write(b"0,0\n" * (1 << 18))


def bomb_parquet_rows(path):
    table = pa.table({"a": np.zeros(1 << 20), "b": np.zeros(1 << 20)})
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(40):
            writer.write_table(table)


def bomb_parquet_text(path):
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), ["x" * 300_000])
    pq.write_table(pa.table({"a": words}), path, dictionary_pagesize_limit=1 << 24, store_schema=False)


def bomb_arrow(path):
    table = pa.table({"a": np.zeros(1 << 23), "b": np.zeros(1 << 23)})
    pyarrow.feather.write_feather(table, path, compression="zstd", chunksize=1 << 23)


def bomb_arrow_stream(path):
    table = pa.table({"a": pa.nulls(1 << 28)})
    with path.open("wb") as stream, pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)


def spreadsheet(path, sheet):
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_excel(path, index=False)
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, held in members.items():
            archive.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else held)


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    '<dimension ref="A1:XFD1048576"/><sheetData>{}</sheetData></worksheet>'
)


def bomb_xlsx_far_line(path):
    cell = '<row r="{0}"><c r="A{0}"><v>1</v></c></row>'
    spreadsheet(path, SHEET.format(cell.format(1) + cell.format(99_999_999_999)))


def bomb_xlsx_far_columns(path):
    lines = "".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 3000))
    spreadsheet(path, SHEET.format(lines))


def bomb_xlsx_one_wide_line(path):
    lines = '<row r="1"><c r="XFD1"><v>1</v></c></row>'
    lines += "".join(f'<row r="{i}"><c r="A{i}"><v>{i}</v></c></row>' for i in range(2, 9000))
    spreadsheet(path, SHEET.format(lines))


def bomb_xlsx_blanks(path):
    spreadsheet(path, SHEET.format(" " * (60 << 20)))


def bomb_h5ad(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (100_000, 20_000), "f4", chunks=(1000, 1000), compression="gzip")


def bomb_text_type(path):
    """A type of text of any length, in the description of a table."""
    pq.write_table(pq.read_table(explanation().save(path)), path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"whyclust"])
    header["layout"]["clusters"]["dtype"] = "<U9999999"
    pq.write_table(table.replace_schema_metadata({b"whyclust": json.dumps(header).encode()}), path)


BOMBS = {
    "npz": (bomb_npz, "a.npz", "table"),
    "npy": (bomb_npy, "a.npy", "table"),
    "gzip": (bomb_gzip, "a.csv.gz", "table"),
    "rows of Parquet": (bomb_parquet_rows, "a.parquet", "table"),
    "text of Parquet": (bomb_parquet_text, "a.parquet", "table"),
    "Arrow": (bomb_arrow, "a.arrow", "table"),
    "stream of Arrow": (bomb_arrow_stream, "a.arrow", "table"),
    "a line far below": (bomb_xlsx_far_line, "a.xlsx", "table"),
    "columns far to the right": (bomb_xlsx_far_columns, "a.xlsx", "table"),
    "one wide line": (bomb_xlsx_one_wide_line, "a.xlsx", "table"),
    "blanks": (bomb_xlsx_blanks, "a.xlsx", "table"),
    "h5ad": (bomb_h5ad, "a.h5ad", "table"),
    "npz to load": (bomb_npz, "a.npz", "load"),
    "Parquet to load": (bomb_parquet_rows, "a.parquet", "load"),
    "a type of text": (bomb_text_type, "a.parquet", "load"),
    "npz of a data set": (bomb_npz, "a.npz", "arrays"),
}
NEEDS = {".xlsx": "openpyxl", ".h5ad": "anndata"}

# One process that has imported all it needs; each file is read by a copy of it, which tells how much it grew.
READ = """
import json, os, resource, signal, sys
import numpy, pandas, pyarrow.parquet, pyarrow.feather
import whyclust as wc
from whyclust.datasets.places import read_arrays
from whyclust.tables import read_table
for package in ("openpyxl", "anndata", "h5py"):
    try:
        __import__(package)
    except ImportError:
        pass
readers = {"table": read_table, "load": wc.load, "arrays": read_arrays}
for name, path, how in json.loads(sys.stdin.read()):
    process = os.fork()
    if process == 0:
        signal.alarm(60)  # what should have been refused is read, and threads are lost in a fork
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            readers[how](wc.tables.files.Path(path))
            told = "was read"
        except ValueError as error:
            told = str(error)
        except BaseException as error:
            told = repr(error)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(json.dumps([name, told, grown / 1024]), flush=True)
        os._exit(0)
    if os.waitpid(process, 0)[1]:
        sys.exit(f"reading {name} did not end")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process as Linux tells it")
def test_bombs_are_refused_before_they_take_memory(tmp_path):
    asked, made = [], {}
    for number, (name, (make, called, how)) in enumerate(BOMBS.items()):
        suffix = Path(called).suffix
        if suffix in NEEDS:
            pytest.importorskip(NEEDS[suffix])
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / called
        if make in made:
            shutil.copy(made[make], path)
        else:
            make(path)
            made[make] = path
        assert path.stat().st_size < 3e6, name
        asked.append([name, str(path), how])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one[0] for one in found] == list(BOMBS), done.stderr
    for name, told, grown in found:
        refused = ("would unfold to", "is damaged", "is not a file that whyclust has written")
        assert any(words in told for words in refused), (name, told)
        assert grown < 50, (name, told, grown)


def test_packed_texts_of_arrow_count_as_long_as_they_are(tmp_path):
    """One row of a long text: by its numbers alone it would take eight bytes."""
    import pyarrow as pa
    import pyarrow.feather

    from whyclust.tables.arrow_sizes import _batches, _unfolded

    path = tmp_path / "t.feather"
    table = pa.table({"text": ["a" * 100_000]})
    pyarrow.feather.write_feather(table, path, compression="zstd")
    assert path.stat().st_size < 10_000
    with path.open("rb") as stream:
        (start,) = _batches(stream, path.stat().st_size)
        assert 100_000 <= _unfolded(stream, start) < 110_000
