"""Inputs that once ended in a crash or in an error that was no sentence, found by benchmarks/fuzz.py.

Each is kept in its smallest form. It is read, or refused by a ValueError that names the file.
"""

import gzip
import io
import json
import struct
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from whyclust.datasets.places import read_arrays
from whyclust.labels.given import read_labels
from whyclust.tables import plan_table, read_table


def npy(header, numbers=b"\0" * 32):
    text = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + numbers


def described(dtype, shape="(2, 2)", numbers=b"\0" * 32):
    return npy(f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}", numbers)


def archive(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return stream.getvalue()


def arrow(change):
    """A stream of Arrow in which bytes of a buffer were changed."""
    stream = io.BytesIO()
    table = pa.table({"town": ["Ulm", "Bonn", "Rom"] * 4, "size": list(range(12))})
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return change(stream.getvalue())


OFFSETS = struct.pack("<3i", 0, 3, 7)
TABLES = {
    # The process ended: offsets of text that lie outside of the file.
    "offset far behind.arrow": arrow(lambda raw: raw.replace(OFFSETS, struct.pack("<3i", 0, 3, 1 << 30))),
    "offset before.arrow": arrow(lambda raw: raw.replace(OFFSETS, struct.pack("<3i", 0, -9, 7))),
    # 'Wrapping failed': bytes that are no text.
    "no text.arrow": arrow(lambda raw: raw.replace(b"Bonn", b"B\xffnn")),
    # tokenize.TokenError: numpy reads the description of old arrays in a way of its own.
    "half a description.npy": npy("{'descr': '<f8', 'shape': (("),
    # MemoryError, and arrays that pandas cannot hold.
    "a thousand billions.npy": described("'<f8'", f"({10**12}, 2)"),
    "bytes in another order.npy": described("'>f8'", numbers=np.arange(4.0).astype(">f8").tobytes()),
    "half precision.npy": described("'<f2'"),
    "dates without a unit.npy": described("'<M8'", "(4,)"),
    "complex numbers.npy": described("'<c16'", "(2,)"),
    "columns of arrays.npy": described("[('a', '<f8', (2,))]", "(2,)"),
    "halves of characters.npy": described("'<U2'", "(2,)", struct.pack("<4I", 0xD800, 65, 66, 0xDFFF)),
    "characters that there are not.npy": described("'<U2'", "(2,)", struct.pack("<4I", 0x7FFFFFFF, 0, 66, 0)),
    "bytes as text.npy": described("'|S2'", "(2, 2)", b"\x85\xfe12ab\xff\xff"),
    "dates beside the table.npz": archive(X=described("'<f8'"), day=described("'<M8'", "(2,)")),
    "columns of dates.npz": archive(a=described("'<M8'", "(2,)"), b=described("'<f8'", "(2,)")),
    "half a description.npz": archive(X=npy("{'descr': '<f8', 'shape': ((")),
    # OverflowError: whole numbers that no type holds.
    "four hundred digits.csv": f"a,b\n{'9' * 400},1\n5,2\n7,3\n".encode(),
    "twenty-five digits.jsonl": b'{"a": %d, "b": 1}\n{"a": 5, "b": 2}\n' % 10**400,
    # 'Unable to parse string': digits of other scripts, and signs without digits, among numbers with commas.
    "digits of other scripts.csv": "a;b\n1,5;٣\n٣;２,5\n2,5;7\n".encode(),
    "signs alone.csv": b'a,b\n"1,250",1\n-,2\n+,3\n"2,000",4\n',
    "blanks.jsonl": b'{"a": "1,250", "b": 1}\n{"a": " ", "b": 2}\n{"a": "3,000", "b": 3}\n',
    # RecursionError, and halves of characters that JSON can write.
    "lists in lists.json": b'[{"a": ' + b"[" * 100_000,
    "lists in lists.jsonl": b'{"a": ' + b"[" * 100_000 + b"\n",
    "halves of characters.jsonl": b'{"a": "\\ud800", "b\\udc00": 1}\n{"a": "x", "b\\udc00": 2}\n',
    "halves of characters.json": b'{"a": ["\\ud800", "x"], "b": [1, 2]}',
    "damaged.csv.gz": gzip.compress(b"a,b\n1,2\n3,4\n" * 50, mtime=0)[:20] + b"\xff" * 30,
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(TABLES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            frame = read_table(path).frame
        except ValueError as error:
            assert type(error) is ValueError
            assert name in str(error)
            assert str(error).endswith(".")
            assert "\n" not in str(error)
        else:
            assert plan_or_sentence(frame)


def plan_or_sentence(frame):
    try:
        return plan_table(frame).apply(frame).shape[0] == len(frame)
    except ValueError as error:
        return type(error) is ValueError and str(error).endswith(".")


def test_what_could_be_read_is_read(tmp_path):
    found = {}
    for name in ("bytes in another order.npy", "digits of other scripts.csv", "halves of characters.json"):
        (tmp_path / name).write_bytes(TABLES[name])
        found[name] = read_table(tmp_path / name).frame
    np.testing.assert_array_equal(found["bytes in another order.npy"], [[0.0, 1.0], [2.0, 3.0]])
    assert found["digits of other scripts.csv"]["a"].tolist() == ["1,5", "٣", "2,5"]
    assert found["halves of characters.json"]["a"].tolist() == ["?", "x"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl.gz", gzip.compress(b'{"text": "a"}\n', mtime=0)[:15] + b"\xff" * 20),
        ("a.jsonl.gz", gzip.compress(b'"no object"\n', mtime=0)),
        ("a.jsonl.gz", gzip.compress(b"[" * 100_000, mtime=0)),
        ("a.jsonl.gz", gzip.compress(json.dumps({"text": 1, "label": [], "split": {}}).encode(), mtime=0)),
        ("a.npz", archive(X=described("'<i8'", f"({2**40},)"))),
        ("a.npz", archive(X=npy("{'descr': '<f8', 'shape': (("))),
    ],
)
def test_files_of_data_sets(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"could not be read as a data set") as caught:
        read_arrays(tmp_path / name)
    assert type(caught.value) is ValueError


def test_checkpoints_whose_parts_are_something_else(tmp_path):
    pytest.importorskip("torch")
    from whyclust.deep.training.checkpoints import read_checkpoint
    from whyclust.deep.training.keeping import Keeper

    path = tmp_path / "fit.npz"
    path.write_bytes(archive(__meta__=npy("{'descr': '<f8', 'shape': ((")))
    with pytest.raises(ValueError, match="is damaged or no checkpoint"):
        read_checkpoint(path)
    for meta in ({}, {"best": 3, "plan": [], "progress": None}, {"best": {}, "plan": [], "progress": None}):
        text = json.dumps({"fingerprint": "x", **meta}).encode()
        np.savez(path, __meta__=np.frombuffer(text, dtype=np.uint8))
        with pytest.raises(ValueError, match="is damaged or no checkpoint"):
            Keeper(path, 1, "x", [], 1)


def test_labels_of_halves_of_characters():
    with pytest.raises(ValueError, match=r"Found halves of characters in labels, expected text"):
        read_labels(["\ud800", "a", "a", "\ud800"])
