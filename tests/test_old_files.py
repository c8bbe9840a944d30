"""Files that were written before are still read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import whyclust as wc

FOLDER = Path(__file__).parent / "files_of_0_1"
with np.load(FOLDER / "expected.npz") as archive:
    EXPECTED = dict(archive)
X = EXPECTED["X"]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"r{row}" for row in range(len(X))])
FRAME["colour"] = np.where(X[:, 0] > 3, "red", "blue")
EXPLANATIONS = ["explanation.parquet", "explanation.npz", "labels.parquet", "labels.npz", "sparse.npz"]
MODELS = sorted(
    path.name for path in FOLDER.glob("*.npz") if path.name not in {*EXPLANATIONS, "expected.npz"}
)


def test_all_of_them_are_read():
    assert len(MODELS) == 10
    assert {path.name for path in FOLDER.iterdir()} == {*EXPLANATIONS, *MODELS, "expected.npz", "README.md"}


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_explanations(name):
    ex = wc.load(FOLDER / name)
    np.testing.assert_array_equal(np.asarray(ex.values), EXPECTED[name.replace(".", "_")])
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-10
    assert 0 < ex.beta < np.inf
    if name.startswith("explanation"):
        assert list(ex.index) == list(FRAME.index) == list(ex.data.index)
        pd.testing.assert_frame_equal(ex.data, FRAME, check_dtype=False)
        assert ex[ex.index == "r3"].describe() == ex[3].describe()
    if name.startswith("labels"):
        assert list(ex.given) == list(EXPECTED["labels"])
        assert ex.given.dtype.kind == ex.clusters.dtype.kind == "U"
        assert ex.fidelity.overall_in_sample == 1.0
        np.testing.assert_array_equal(ex.data, X)
    assert ex[:5].describe()


@pytest.mark.parametrize("name", MODELS)
def test_models_and_networks(name):
    if name in {"deep.npz", "network-deep.npz", "em.npz"}:
        pytest.importorskip("torch")
    thing = wc.load(FOLDER / name)
    table = FRAME if "mixed" in name else X
    stem = name.replace(".", "_")
    np.testing.assert_array_equal(thing.predict(table), EXPECTED[stem])
    if f"{stem}_relevance" in EXPECTED:
        wanted = EXPECTED[f"{stem}_relevance"]
        assert np.abs(thing.relevance(table).values - wanted).max() < 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("name", [*EXPLANATIONS, *MODELS])
def test_written_again_they_say_the_same(name, tmp_path):
    if name in {"deep.npz", "network-deep.npz", "em.npz"}:
        pytest.importorskip("torch")
    thing = wc.load(FOLDER / name)
    again = wc.load(wc.save(thing, tmp_path / name))
    if isinstance(thing, wc.Explanation):
        np.testing.assert_array_equal(np.asarray(again.values), np.asarray(thing.values))
        assert again[3].describe() == thing[3].describe()
    else:
        table = FRAME if "mixed" in name else X
        np.testing.assert_array_equal(again.predict(table), thing.predict(table))


def test_files_of_before_there_were_labels(tmp_path):
    """Older still: an explanation had neither given labels nor a fidelity."""
    with np.load(FOLDER / "labels.npz") as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["whyclust"]))
    for name in ("given", "fidelity"):
        del header["content"]["state"][name]
    np.savez(tmp_path / "old.npz", **{**arrays, "whyclust": np.array(json.dumps(header))})
    table = pq.read_table(FOLDER / "labels.parquet")
    header = json.loads(table.schema.metadata[b"whyclust"])
    del header["fidelity"]
    table = table.drop_columns(["given"]).replace_schema_metadata({b"whyclust": json.dumps(header).encode()})
    pq.write_table(table, tmp_path / "old.parquet")
    for name in ("old.npz", "old.parquet"):
        old = wc.load(tmp_path / name)
        assert old.given is None
        assert old.fidelity is None
        np.testing.assert_array_equal(old.values, EXPECTED["labels_npz"])
