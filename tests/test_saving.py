"""What is saved comes back as it was, or is refused; and a class is saved once it says how."""

import base64
import datetime
import hashlib
import json
import re
import subprocess
import sys
import uuid
import warnings
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

import whyclust as wc
from whyclust.saving import registry

X = np.abs(np.random.default_rng(4).normal(size=(60, 3)) + 3.0 * (np.arange(60) % 3)[:, None])
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
NAMES = np.array(["low", "mid", "high"])[np.arange(60) % 3]
SUFFIXES = pytest.mark.parametrize("suffix", ["npz", "parquet", "json"])


def k_means(k=3):
    return KMeans(k, n_init=2, random_state=0)


@pytest.fixture(scope="module")
def named():
    """Labels, certificate, categories, months: all that an explanation can have."""
    frame = FRAME.assign(kind=pd.Categorical(NAMES))
    return wc.explain(NAMES, frame.set_axis(pd.period_range("2020-01", periods=60, freq="M")))


def everything(ex):
    """All there is to an explanation, to be compared."""
    arrays = [np.asarray(ex.values), ex.base_values, ex.explained, ex.evidence]
    labels = [ex.clusters, ex.assigned, ex.competitors, ex.given, ex.index]
    told = [
        ex.feature_names,
        ex.beta,
        ex.rule,
        ex.question,
        ex.provenance,
        ex.kind,
        list(map(type, ex.index)),
    ]
    certificate = None if ex.fidelity is None else ex.fidelity.to_pandas().to_csv()
    data = ex.data.to_csv() if hasattr(ex.data, "to_csv") else ex.data.tolist()
    return [*(array.tobytes() for array in arrays), *map(repr, labels), repr(told), certificate, data]


# --------------------------------------------------------------------------- a bit that has changed


@SUFFIXES
def test_a_flipped_bit_is_refused_or_harmless(suffix, named, tmp_path):
    """Never other numbers, in no place: pages, dictionaries, names, types, metadata."""
    path = named.save(tmp_path / f"ex.{suffix}")
    whole, wanted = path.read_bytes(), everything(wc.load(path))
    generator = np.random.default_rng(0)
    places = generator.choice(len(whole), 300, replace=False).tolist()
    refused, changed, wrong = 0, [], {}
    for place in [*places, *range(len(whole) - 30, len(whole))]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(bytes(damaged))
        try:
            if everything(wc.load(path)) != wanted:
                changed.append(place)
        except ValueError as error:
            refused += 1
            if not (path.name in str(error) and "damaged" in str(error)):
                wrong[place] = error
        except Exception as error:
            wrong[place] = error
    assert not changed
    assert not wrong
    assert refused > 200


def rewritten(path, change):
    """Another program has read a Parquet file and written it again: there is no digest any more."""
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"whyclust"])
    text = change(header)
    metadata = text if isinstance(text, str) else json.dumps(header)
    pq.write_table(table.replace_schema_metadata({b"whyclust": metadata.encode()}), path)
    return path


def test_a_table_that_another_program_wrote_again_is_read(tmp_path):
    ex = wc.explain(k_means().fit(FRAME), FRAME)
    path = rewritten(ex.save(tmp_path / "ex.parquet"), lambda header: None)
    assert everything(wc.load(path)) == everything(ex)


def test_other_tools_read_the_table(named, tmp_path):
    """The digest is in nobody's way, and pages have the checksums that Parquet itself knows."""
    path = named.save(tmp_path / "ex.parquet")
    columns = [
        *("row", "cluster", "assigned", "competitor", "evidence", "explained", "base_value", "given"),
        *(f"relevance.{name}" for name in ("a", "b", "c", "kind")),
        *(f"data.{name}" for name in ("a", "b", "c", "kind")),
    ]
    for frame in (pd.read_parquet(path), pl.read_parquet(path).to_pandas()):
        assert list(frame.columns) == columns
        assert list(frame["row"][:2]) == ["2020-01", "2020-02"]
        np.testing.assert_array_equal(frame["relevance.b"], named.values[:, 1])
        np.testing.assert_array_equal(frame["given"], NAMES)
    whole = path.read_bytes()
    place = whole.find(named.values[0, 1].tobytes())
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with pytest.raises(OSError, match="CRC"), pq.ParquetFile(path, page_checksum_verification=True) as file:
        file.read()


# --------------------------------------------------------------------------- what makes no explanation

HEADERS = {
    "lists in lists": lambda header: "[" * 100_000,
    "objects in objects": lambda header: '{"a":' * 100_000,
    "deep content": lambda header: json.dumps(header).replace(
        '"rule": "expected"', f'"rule": {"[" * 900}{"]" * 900}'
    ),
    "no question": lambda header: header["content"]["parts"].update(question=None),
    "no provenance": lambda header: header["content"]["parts"].update(provenance={"list": []}),
    "no kind": lambda header: header["content"]["parts"].update(kind="images"),
    "no details": lambda header: header["content"]["parts"].update(details=None),
    "beta is missing": lambda header: header["content"]["parts"].pop("beta"),
    "beta is NaN": lambda header: header["content"]["parts"].update(beta=float("nan")),
    "beta is infinite": lambda header: header["content"]["parts"].update(beta=float("inf")),
    "beta is zero": lambda header: header["content"]["parts"].update(beta=0.0),
    "beta is text": lambda header: header["content"]["parts"].update(beta="0.5"),
    "beta is nothing": lambda header: header["content"]["parts"].update(beta=None),
    "rule": lambda header: header["content"]["parts"].update(rule=3),
    "fewer names": lambda header: header["content"]["parts"]["feature_names"]["list"].pop(),
    "other names": lambda header: header["content"]["parts"].update(feature_names={"list": [1, 2, 3]}),
    "fidelity": lambda header: header["content"]["parts"].update(fidelity={"list": [1]}),
    "given": lambda header: header["content"]["parts"].update(given={"array": "values"}),
    "another class": lambda header: header["content"].update(saved="Fidelity"),
    "no class": lambda header: header["content"].update(saved="Popen"),
    "a class that is a number": lambda header: header["content"].update(saved=3),
    "one part more": lambda header: header["content"]["parts"].update(code="1 + 1"),
    "rows that are columns": lambda header: header["content"]["parts"].update(evidence={"array": "values"}),
    "columns that are rows": lambda header: header["content"]["parts"].update(values={"array": "evidence"}),
    "no content": lambda header: header.pop("content"),
    "a list": lambda header: "[1, 2]",
}


def signed(path, change):
    """Somebody has changed a JSON file and made a digest that fits."""
    header = json.loads(path.read_text())["whyclust"]
    text = change(header)
    body = text if isinstance(text, str) else json.dumps(header)
    digest = hashlib.sha256(body.encode()).hexdigest()
    path.write_text(f'{{"whyclust": {body}, "sha256": "{digest}"}}')
    return path


@SUFFIXES
@pytest.mark.parametrize("name", HEADERS)
def test_descriptions_that_make_no_explanation(suffix, name, tmp_path):
    path = wc.explain(k_means().fit(FRAME), FRAME).save(tmp_path / f"ex.{suffix}")
    if suffix == "parquet":
        rewritten(path, HEADERS[name])
    elif suffix == "json":
        signed(path, HEADERS[name])
    else:
        with np.load(path) as archive:
            arrays = dict(archive)
        header = json.loads(str(arrays["whyclust"]))
        text = HEADERS[name](header)
        arrays["whyclust"] = np.array(text if isinstance(text, str) else json.dumps(header))
        np.savez(path, **arrays)
    with pytest.raises(ValueError, match=rf"{path.name} .*damaged.*\.$"):
        wc.load(path)


@pytest.mark.parametrize("beta", [float("nan"), 0.0, -1.0, float("inf"), "1.0", None])
def test_networks_have_a_beta(beta, tmp_path):
    path = wc.save(wc.neuralize(k_means().fit(X), X), tmp_path / "net.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["whyclust"]))
    header["content"]["parts"]["beta"] = beta
    np.savez(path, **{**arrays, "whyclust": np.array(json.dumps(header))})
    with pytest.raises(ValueError, match="is damaged"):
        wc.load(path)


@pytest.mark.parametrize("shape", [(60, 2), (59, 3), (60,)])
def test_explanations_have_the_data_that_they_explain(shape, tmp_path):
    path = wc.save(wc.explain(k_means().fit(X), X), tmp_path / "ex.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    assert arrays["data"].shape == (60, 3)
    np.savez(path, **{**arrays, "data": np.zeros(shape)})
    with pytest.raises(ValueError, match=r"ex\.npz is not .*damaged"):
        wc.load(path)


def in_head(**changes):
    return lambda parts: parts["head"]["parts"].update(changes)


NETWORKS = {
    "no clusters": lambda parts: parts.update(clusters=None),
    "clusters that are a list": lambda parts: parts.update(clusters={"list": [0, 1, 2]}),
    "clusters of one name": lambda parts: parts.update(clusters={"objects": ["a", "a", "b"], "shape": [3]}),
    "no pool": lambda parts: parts.update(pool=None),
    "a pool for a head": lambda parts: parts.update(head=parts["pool"]),
    "no kind": lambda parts: parts.update(kind=None),
    "no kind of input": lambda parts: parts.update(kind=parts["pool"]),
    "gamma is text": in_head(gamma="x"),
    "scale is text": in_head(scale="x"),
    "stiffness is text": in_head(probability_stiffness="x"),
    "stiffness is negative": in_head(probability_stiffness=-1.0),
    "noise is text": in_head(noise="x"),
    "no prototypes": in_head(prototypes=None),
    "too few names": lambda parts: parts["feature_names"]["tuple"].pop(),
    "names that are numbers": lambda parts: parts["feature_names"]["tuple"].__setitem__(0, 7),
    "no names": lambda parts: parts.update(feature_names=None),
    "a list of names": lambda parts: parts.update(feature_names={"list": ["a", "b", "c"]}),
    "named or not": lambda parts: parts.update(named="perhaps"),
    "no name of the model": lambda parts: parts.update(model=None),
    "a huge beta": lambda parts: parts.update(beta=10**400),
    "a threshold that is text": lambda parts: parts.update(
        pool={"saved": "SoftMinPool", "room": "whyclust.network", "parts": {"threshold": "x"}}
    ),
    "nothing": lambda parts: parts.clear(),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_descriptions_that_make_no_network(name, tmp_path):
    path = wc.save(wc.neuralize(k_means().fit(X), X), tmp_path / "net.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["whyclust"]))
    NETWORKS[name](header["content"]["parts"])
    np.savez(path, **{**arrays, "whyclust": np.array(json.dumps(header))})
    with pytest.raises(
        ValueError, match=r"net\.npz is not a file that whyclust has written, or it is damaged"
    ):
        wc.load(path)


def test_arrays_that_no_file_holds_are_refused(tmp_path):
    @wc.saved
    @dataclass
    class Held:
        array: np.ndarray

    for array, told in (
        (np.ma.masked_less(X, 1.0), "A masked array cannot be saved"),
        (np.zeros(3, dtype=[("a", float), ("b", int)]), "A structured array cannot be saved"),
    ):
        for suffix in ("npz", "json"):
            with pytest.raises(TypeError, match=told):
                wc.save(Held(array), tmp_path / f"held.{suffix}")


# --------------------------------------------------------------------------- row labels and columns

LABELS = {
    "positions": pd.RangeIndex(60),
    "text": pd.Index([f"r{row}" for row in range(60)], name="who"),
    "numbers": pd.Index(np.arange(60)[::-1] * 10, name="number"),
    "dates": pd.date_range("2020-01-01", periods=60),
    "dates with a zone": pd.date_range("2020-01-01", periods=60, tz="Europe/Berlin", name="day"),
    "months": pd.period_range("2020-01", periods=60, freq="M"),
    "several levels": pd.MultiIndex.from_product([range(6), list("abcdefghij")], names=["x", "y"]),
    "levels without names": pd.MultiIndex.from_product([range(6), list("abcdefghij")]),
    "levels of times": pd.MultiIndex.from_product(
        [pd.date_range("2020-01-01", periods=6, tz="UTC"), pd.period_range("2020-01", periods=10, freq="Q")]
    ),
    "a level called as a column": pd.MultiIndex.from_product([range(6), range(10)], names=["a", "a"]),
    "called as a column": pd.Index(np.arange(60), name="a"),
    "called as what we write": pd.Index(np.arange(60), name="row"),
    "mixed": pd.Index([1, "a", 2.5, True, None, "b"] * 10, dtype=object),
    "floats": pd.Index(np.linspace(0.0, 1.0, 60)),
    "intervals": pd.interval_range(0, 60),
    "categories": pd.CategoricalIndex(list("abc") * 20, categories=list("cab")),
    "days": pd.Index([datetime.date(2020, 1, 1) + datetime.timedelta(row) for row in range(60)]),
    "durations": pd.to_timedelta(np.arange(60), unit="h"),
}


@SUFFIXES
@pytest.mark.parametrize("name", LABELS)
def test_row_labels_come_back(suffix, name, tmp_path):
    frame = FRAME.set_axis(LABELS[name])
    ex = wc.explain(k_means().fit(frame), frame)
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    assert again.index.dtype == ex.index.dtype
    assert again.index.tolist() == ex.index.tolist()
    assert list(map(type, again.index)) == list(map(type, ex.index))
    pd.testing.assert_frame_equal(again.data, ex.data, check_freq=False, check_index_type="equiv")
    assert again.data.index.names == frame.index.names
    assert again[[7, 3]].describe() == ex[[7, 3]].describe()


@SUFFIXES
def test_labels_of_grouped_columns_come_back(suffix, tmp_path):
    frame = FRAME.set_axis([f"r{row}" for row in range(60)])
    ex = wc.explain(k_means().fit(frame), frame, groups={"both": ["a", "b"]})
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    assert list(again.index) == list(ex.index)
    np.testing.assert_array_equal(again.data.to_numpy(), ex.data.to_numpy())


def columns_of_all_kinds():
    return {
        "whole": np.arange(60, dtype=np.int8),
        "single": np.arange(60, dtype=np.float32),
        "missing": pd.array([1, None, 3] * 20, dtype="Int64"),
        "text": pd.Series(["x", None, "y"] * 20, dtype=object),
        "nan": pd.Series(["x", np.nan, "y"] * 20, dtype=object),
        "mixed": pd.Series([1, "a", 2.5, None, True, float("nan")] * 10, dtype=object),
        "numbers as objects": pd.Series([1, None, 2] * 20, dtype=object),
        "ordered": pd.Categorical(["s", "m", "l"] * 20, categories=["s", "m", "l"], ordered=True),
        "time": pd.date_range("2020-01-01", periods=60, tz="Asia/Tokyo"),
        "month": pd.period_range("2020-01", periods=60, freq="M"),
        "day": [datetime.date(2020, 1, 1)] * 60,
        "span": pd.interval_range(0, 60),
    }


@SUFFIXES
@pytest.mark.parametrize("name", columns_of_all_kinds())
def test_columns_of_any_kind_come_back(suffix, name, tmp_path):
    ex = wc.explain(k_means().fit(FRAME), FRAME)
    ex = replace(ex, data=FRAME.assign(b=columns_of_all_kinds()[name]).set_axis(["a", 5, ("c", 1)], axis=1))
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    pd.testing.assert_series_equal(again.data.iloc[:, 1], ex.data.iloc[:, 1])
    assert list(map(type, again.data.iloc[:, 1])) == list(map(type, ex.data.iloc[:, 1]))
    assert list(again.data.columns) == list(ex.data.columns)


@SUFFIXES
def test_arrays_of_objects_come_back(suffix, tmp_path):
    table = np.empty((60, 3), dtype=object)
    table[:, 0], table[:, 1], table[:, 2] = X[:, 0], ["x", None, np.nan] * 20, [1, "a", True] * 20
    ex = replace(wc.explain(k_means().fit(X), X), data=table)
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    assert isinstance(again.data, np.ndarray)
    assert again.data.dtype == object
    assert repr(again.data.tolist()) == repr(table.tolist())


@SUFFIXES
def test_what_cannot_come_back_is_told(suffix, tmp_path):
    values = [uuid.UUID(int=row) for row in range(30)] + [[row] for row in range(30)]
    ex = replace(wc.explain(k_means().fit(FRAME), FRAME), data=FRAME.assign(b=values))
    with pytest.warns(UserWarning, match="Column 'b' holds entries of type UUID, list.*saved as text"):
        path = ex.save(tmp_path / f"ex.{suffix}")
    assert wc.load(path).data["b"][31] == "[1]"


@SUFFIXES
def test_no_rows_can_be_saved(suffix, tmp_path):
    ex = wc.explain(k_means().fit(FRAME), FRAME.set_axis(LABELS["dates with a zone"]))[:0]
    again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
    assert again.shape == (0, 3)
    assert again.data.shape == (0, 3)
    assert len(again.index) == 0


def test_sparse_rows_whose_relevance_is_dense(tmp_path):
    """Steps that keep no zeros make relevance dense, but the table is still the user's."""
    table = sp.csr_array(np.where(X > 3, X, 0.0))
    ex = replace(wc.explain(k_means().fit(X), X), data=table)
    for suffix in ("npz", "parquet", "json"):
        again = wc.load(ex.save(tmp_path / f"ex.{suffix}"))
        assert abs(again.data - table).max() == 0
        np.testing.assert_array_equal(again.values, ex.values)


def test_names_of_arrays_tell_what_they_are(tmp_path):
    ex = wc.explain(k_means().fit(X), X)
    with np.load(ex.save(tmp_path / "ex.npz")) as archive:
        np.testing.assert_array_equal(archive["values"], ex.values)
        np.testing.assert_array_equal(archive["data"], X)
        np.testing.assert_array_equal(archive["clusters"], ex.clusters)


# --------------------------------------------------------------------------- JSON


def test_other_tools_read_the_json(named, tmp_path):
    """Strict JSON, and arrays that need no more than their type and shape."""
    path = named.save(tmp_path / "ex.json")

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    body = json.loads(path.read_text(encoding="ascii"), parse_constant=refuse)["whyclust"]
    entry = body["arrays"][body["content"]["parts"]["values"]["array"]]
    found = np.frombuffer(base64.b64decode(entry["base64"]), entry["dtype"]).reshape(entry["shape"])
    np.testing.assert_array_equal(found, named.values)
    assert path.read_bytes().endswith(b"\n")


def test_json_has_the_schema_of_npz(named, tmp_path):
    with np.load(named.save(tmp_path / "ex.npz")) as archive:
        header = json.loads(str(archive["whyclust"]))
        names = {name for name in archive.files if name != "whyclust"}
    body = json.loads(named.save(tmp_path / "ex.json").read_text())["whyclust"]
    assert body["content"] == header["content"]
    assert set(body["arrays"]) == names


def test_floats_of_json_come_back_bit_for_bit(tmp_path):
    odd = np.array([0.1, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308, 1 / 3] * 3)

    @wc.saved
    @dataclass
    class Toy:
        arrays: dict
        numbers: list

    arrays = {
        "plain": odd,
        "big endian": odd.astype(">f8"),
        "single": odd[:5].astype(np.float32),
        "by columns": np.asfortranarray(odd.reshape(4, 6)),
        "empty": odd[:0].reshape(0, 3),
        "one": np.array(0.1),
        "text": np.array(["ä", "", "long"]),
        "times": np.array(["2020-01-01", "NaT"], dtype="datetime64[ns]"),
    }
    for suffix in ("json", "npz"):
        again = wc.load(wc.save(Toy(arrays, odd.tolist()), tmp_path / f"toy.{suffix}"))
        for name, array in arrays.items():
            assert again.arrays[name].dtype == array.dtype
            assert again.arrays[name].shape == array.shape
            assert again.arrays[name].tobytes() == array.tobytes()
            assert again.arrays[name].flags.writeable
        assert np.array(again.numbers).tobytes() == odd.tobytes()


def test_networks_and_sparse_rows_are_saved_as_json(tmp_path):
    net = wc.neuralize(k_means().fit(X), X)
    again = wc.load(wc.save(net, tmp_path / "net.json"))
    np.testing.assert_array_equal(again.relevance(X).values, net.relevance(X).values)
    table = sp.csr_array(np.where(X > 3, X, 0.0))
    ex = wc.explain(k_means().fit(table), table)
    found = wc.load(ex.save(tmp_path / "ex.json"))
    np.testing.assert_array_equal(np.asarray(found.values), np.asarray(ex.values))


def test_json_may_be_laid_out_anew_and_not_changed(tmp_path):
    ex = wc.explain(k_means().fit(FRAME), FRAME)
    path = ex.save(tmp_path / "ex.json")
    document = json.loads(path.read_text())
    path.write_text("\n " + json.dumps(document, indent=2), encoding="utf-8")
    assert everything(wc.load(path)) == everything(ex)
    path.write_text(json.dumps(document), encoding="utf-8-sig")
    assert everything(wc.load(path)) == everything(ex)
    path.write_text(" " * 4 + "\n" * 9 + json.dumps(document), encoding="utf-8")
    assert everything(wc.load(path)) == everything(ex)
    text = document["whyclust"]["arrays"]["values"]["base64"]
    document["whyclust"]["arrays"]["values"]["base64"] = ("B" if text[0] == "A" else "A") + text[1:]
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"^ex\.json is not .*damaged: expected .*\.json from wc\.save\.$"):
        wc.load(path)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, '{"whyclust":' + "[" * 100_000, "{}", '{"whyclust": {}}', "[[[[", "{"],
    ids=lambda text: text[:14],
)
def test_texts_that_are_nothing_of_ours(text, tmp_path):
    (tmp_path / "ex.json").write_text(text)
    with pytest.raises(ValueError, match=r"ex\.json is not a file that whyclust has written"):
        wc.load(tmp_path / "ex.json")


def _array_of(entry):
    return lambda header: header["arrays"].update(values=entry)


@pytest.mark.parametrize(
    "change",
    [
        _array_of({"dtype": "O", "shape": [1], "base64": "AAAAAAAAAAA="}),
        _array_of({"dtype": "<f8", "shape": [60, 4], "base64": "AAAAAAAAAAA="}),
        _array_of({"dtype": "<f8", "shape": [1], "base64": "AAAAAAAAAA\n="}),
        _array_of({"dtype": "<f8", "shape": [1]}),
        _array_of([1.0]),
        lambda header: header["arrays"].clear(),
        lambda header: header.update(arrays=[]),
    ],
)
def test_arrays_of_json_that_are_none(change, tmp_path):
    path = signed(wc.explain(k_means().fit(FRAME), FRAME).save(tmp_path / "ex.json"), change)
    with pytest.raises(ValueError, match=r"ex\.json .*damaged"):
        wc.load(path)


# --------------------------------------------------------------------------- a class registers itself


@pytest.fixture(autouse=True)
def forgotten_afterwards():
    """Tests register classes, also some of whyclust's once more: others shall not see it."""
    known = dict(registry._BY_NAME)
    yield
    for name, entry in list(registry._BY_NAME.items()):
        if entry.kind.__module__ == __name__:
            del registry._BY_NAME[name]
    registry._BY_NAME.update(known)


def test_a_dataclass_is_saved_by_its_fields(tmp_path):
    @wc.saved
    @dataclass
    class Toy:
        name: str
        array: np.ndarray
        file: np.ndarray  # numpy has a use of its own for this name
        whyclust: np.ndarray
        frame: pd.DataFrame
        inside: dict

    inside = {"a/b": np.arange(3), "a": {"b": np.arange(4)}, "line\nbreak\0": np.arange(2), "": np.eye(2)}
    toy = Toy(
        "toy", X, X[:2], X[:3], FRAME.set_axis(LABELS["months"]), {"network": Toy("b", *[None] * 5), **inside}
    )
    again = wc.load(wc.save(toy, tmp_path / "toy.npz"))
    assert type(again) is Toy
    assert (again.name, again.inside["network"].name) == ("toy", "b")
    for name in ("array", "file", "whyclust"):
        np.testing.assert_array_equal(getattr(again, name), getattr(toy, name))
    pd.testing.assert_frame_equal(again.frame, toy.frame)
    for key, array in inside.items():
        assert repr(again.inside[key]) == repr(array)
    with pytest.raises(ValueError, match=r"toy\.parquet ends in '\.parquet', expected \.npz"):
        wc.save(toy, tmp_path / "toy.parquet")


def test_an_estimator_is_saved_by_its_attributes(tmp_path):
    @wc.saved
    class Nearest(BaseEstimator):
        def __init__(self, rows=2):
            self.rows = rows

        def fit(self, X, y=None):
            self.centers_ = X[: self.rows]
            return self

    again = wc.load(wc.save(Nearest(3).fit(X), tmp_path / "nearest.npz"))
    assert again.get_params() == {"rows": 3}
    np.testing.assert_array_equal(again.centers_, X[:3])


def test_a_class_with_functions_of_its_own_also_as_a_table(tmp_path):
    class Scores:
        def __init__(self, of_rows, title):
            self.of_rows, self.title = of_rows, title

    def put_together(parts):
        if parts["rows"].ndim != 1:
            raise ValueError("scores are a list")
        return Scores(parts["rows"], parts["title"])

    wc.saved(
        Scores,
        name="someone's scores",
        take_apart=lambda thing: {"rows": thing.of_rows, "title": thing.title, "beside": X[:2]},
        put_together=put_together,
        columns=lambda thing: {"rows": "score"},
    )
    for name in ("scores.npz", "scores.parquet"):
        again = wc.load(wc.save(Scores(X[:, 0], "first"), tmp_path / name))
        assert again.title == "first"
        np.testing.assert_array_equal(again.of_rows, X[:, 0])
    np.testing.assert_array_equal(pl.read_parquet(tmp_path / "scores.parquet")["score"], X[:, 0])
    with pytest.raises(ValueError, match="is damaged"):
        wc.load(wc.save(Scores(X, "a table"), tmp_path / "scores.npz"))


def test_columns_of_a_table_have_a_name_each(tmp_path):
    @dataclass
    class Scores:
        one: np.ndarray
        other: np.ndarray
        names: dict

    wc.saved(
        Scores,
        take_apart=lambda thing: {"one": thing.one, "other": thing.other},
        put_together=lambda parts: Scores(parts["one"], parts["other"], {}),
        columns=lambda thing: thing.names,
    )
    path = tmp_path / "scores.parquet"
    for names in ({"one": "a", "other": "b"}, {"one": ["a"], "other": ["b", "c", "d"]}):
        again = wc.load(wc.save(Scores(X[:, 0], X, names), path))
        np.testing.assert_array_equal(again.one, X[:, 0])
        np.testing.assert_array_equal(again.other, X)
    for names, told in (
        ({"one": "a", "other": ["b", "c", "a"]}, "two columns the name 'a'"),
        ({"other": ["b", "c", "b"]}, "two columns the name 'b'"),
        ({"other": ["b", "c"]}, r"2 names for the 3 column\(s\) of 'other'"),
    ):
        with pytest.raises(ValueError, match=told):
            wc.save(Scores(X[:, 0], X, names), path)
    with pytest.raises(ValueError, match="'other' has 2 rows and other columns have not"):
        wc.save(Scores(X[:, 0], X[:2], {"one": "a", "other": "b"}), path)


@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_keys_come_back_as_what_they_were(suffix, tmp_path):
    @wc.saved
    @dataclass
    class Keyed:
        inside: dict

    inside = {1: 2, "1": 3, (1, "a"): np.arange(2), None: {2.5: "x"}, 7: float("inf")}
    again = wc.load(wc.save(Keyed(inside), tmp_path / f"keyed.{suffix}")).inside
    assert repr(again) == repr(inside)
    assert sorted(map(str, map(type, again))) == sorted(map(str, [int, str, tuple, type(None), int]))


def test_a_registered_class_may_also_be_a_tuple_or_an_array(tmp_path):
    class Pair(NamedTuple):
        one: int
        other: np.ndarray

    class Words(dict):
        pass

    class Name(str):
        pass

    class Grid(np.ndarray):
        pass

    wc.saved(Pair, take_apart=Pair._asdict, put_together=lambda parts: Pair(**parts))
    wc.saved(Words, take_apart=dict, put_together=Words)
    wc.saved(Name, take_apart=lambda name: {"of": str(name)}, put_together=lambda parts: Name(parts["of"]))
    wc.saved(
        Grid,
        take_apart=lambda grid: {"of": np.asarray(grid)},
        put_together=lambda parts: parts["of"].view(Grid),
    )
    for thing in (Pair(1, X), Words(a=1), Name("n"), X.view(Grid), Pair(2, X.view(Grid))):
        again = wc.load(wc.save(thing, tmp_path / "thing.npz"))
        assert type(again) is type(thing)
        assert repr(again) == repr(thing)


def test_fields_that_the_constructor_makes_are_made_again(tmp_path):
    @wc.saved
    @dataclass
    class Doubled:
        once: int
        twice: int = field(init=False)

        def __post_init__(self):
            self.twice = 2 * self.once

    assert wc.load(wc.save(Doubled(3), tmp_path / "doubled.npz")).twice == 6


def test_a_class_without_parts_is_not_registered():
    with pytest.raises(TypeError, match="give take_apart= and put_together="):

        @wc.saved
        class Bare:
            pass


def test_names_are_taken_once():
    with pytest.raises(ValueError, match=r"'Neuralized' is already what files call whyclust\.network"):
        wc.saved(type("Neuralized", (BaseEstimator,), {}))
    wc.saved(wc.Neuralized)  # a module that is loaded again says the same once more


def test_a_subclass_is_not_its_parent(tmp_path):
    class Own(wc.cluster.SoftKMeans):
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    with pytest.raises(TypeError, match="Own is not one of"):
        wc.save(Own(2).fit(X), tmp_path / "own.npz")


def test_a_file_does_not_say_what_to_import(tmp_path):
    """A class is known when its module is imported, and no sooner; nothing of whyclust.deep is needed."""

    @wc.saved
    @dataclass
    class Toy:
        number: float

    wc.save(Toy(2.5), tmp_path / "toy.npz")
    wc.save(wc.neuralize(k_means().fit(X), X), tmp_path / "net.npz")
    code = (
        "import sys, whyclust as wc\n"
        "print(wc.load('net.npz'))\n"
        "try: wc.load('toy.npz')\n"
        "except ValueError as error: print(error)\n"
        "print('torch' in sys.modules, 'test_saving' in sys.modules)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[1:] == [
        "toy.npz holds a 'Toy', which nothing has registered, or is damaged: "
        f"import '{__name__}', which may, and load it again.",
        "False False",
    ], done.stderr


def test_what_is_only_a_part_of_others_is_not_saved_alone(tmp_path):
    kind = wc.explain(k_means().fit(X), X).kind
    with pytest.raises(TypeError, match="InputKind is not one of whyclust's own"):
        wc.save(kind, tmp_path / "kind.npz")
    content = {"saved": "InputKind", "room": "whyclust.inputs", "parts": {}}
    header = {"format": 2, "version": "0", "content": content}
    np.savez(tmp_path / "kind.npz", whyclust=np.array(json.dumps(header)))
    with pytest.raises(ValueError, match=r"kind\.npz is not .*damaged"):
        wc.load(tmp_path / "kind.npz")
    content.update(saved="x" * 1000, room="y" * 1000)
    np.savez(tmp_path / "kind.npz", whyclust=np.array(json.dumps(header)))
    with pytest.raises(ValueError, match=r"kind\.npz holds a 'x*, which .*import 'y*, which may") as caught:
        wc.load(tmp_path / "kind.npz")
    assert len(str(caught.value)) < 300


def test_deep_files_say_what_they_need(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from whyclust.deep import DEC

    small = {"hidden": (4,), "epochs": 1, "pretrain_epochs": 1, "random_state": 0}
    path = wc.save(DEC(3, **small).fit(X), tmp_path / "dec.npz")
    with pytest.raises(ValueError, match="not fitted yet"):
        wc.save(DEC(3), tmp_path / "other.npz")
    monkeypatch.delitem(registry._BY_NAME, "DEC")
    monkeypatch.setitem(sys.modules, "whyclust.deep", None)
    with pytest.raises(ImportError, match=r"whyclust\.deep"):
        wc.load(path)


def test_a_deep_model_of_others_is_saved_as_all_are(tmp_path):
    pytest.importorskip("torch")
    from whyclust.deep import AutoencoderKMeans

    class Own(AutoencoderKMeans):
        pass

    small = {"embedding_dim": 2, "hidden": (4,), "random_state": 0}
    model = Own(3, **small).fit(X)
    again = wc.load(wc.save(model, tmp_path / "own.npz"))
    assert type(again) is Own
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_nothing_is_warned_of_where_all_comes_back(named, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for suffix in ("npz", "parquet", "json"):
            assert everything(wc.load(named.save(tmp_path / f"ex.{suffix}"))) == everything(named)


@pytest.mark.parametrize("suffix", [".npz", ".json", ".parquet"])
def test_places_that_cannot_be_written_to_are_named(named, suffix, tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / f"ex{suffix}"
    with pytest.raises(OSError, match=rf"cannot write '{re.escape(str(path))}' \(.+\)\.$"):
        named.save(path)
