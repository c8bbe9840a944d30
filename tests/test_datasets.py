"""Data sets by name: where they are looked for, what is done to them, and what is refused."""

import gzip
import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from whyclust import datasets
from whyclust.datasets import available, load, load_news
from whyclust.datasets.catalogue import ENTRIES, TABLE_I
from whyclust.datasets.documents import draw_documents, mean_vectors, words_of
from whyclust.datasets.origins import ORIGINS
from whyclust.datasets.places import cache_folder
from whyclust.datasets.preparation import prepare_images, prepare_table

needs_data = pytest.mark.skipif(
    "WHYCLUST_DATA" not in os.environ, reason="WHYCLUST_DATA names no folder with the data sets"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("WHYCLUST_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WHYCLUST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


def write_documents(path, rows):
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


# --- preparation ---------------------------------------------------------------------------------


def test_supplement_h_by_hand():
    X = pd.DataFrame(
        {
            "sex": [0.0, 1.0, 1.0, np.nan],
            "constant": [7.0, 7.0, 7.0, 7.0],
            "age": [1.0, np.nan, 3.0, 5.0],
        },
        index=[4, 5, 6, 7],
    )
    prepared = prepare_table(X)
    # Mean 3; the imputed column is 1, 3, 3, 5 with variance (4 + 0 + 0 + 4)/4 = 2.
    assert prepared.columns.tolist() == ["age"]
    assert prepared.index.tolist() == [4, 5, 6, 7]
    np.testing.assert_allclose(prepared["age"], np.array([-2, 0, 0, 2]) / np.sqrt(2), atol=1e-15)


def test_binary_columns_may_be_kept_but_constant_ones_never():
    X = pd.DataFrame({"sex": [0, 1, 1, 0], "constant": [7, 7, 7, 7]})
    prepared = prepare_table(X, keep_binary=True)
    assert prepared.columns.tolist() == ["sex"]
    np.testing.assert_array_equal(prepared["sex"], [-1, 1, 1, -1])


def test_counts_are_logged_first():
    X = pd.DataFrame({"gene": np.expm1([0.0, 1.0, 2.0])})
    np.testing.assert_allclose(prepare_table(X, counts=True)["gene"], np.array([-1, 0, 1]) * np.sqrt(1.5))


def test_a_column_without_any_value_is_refused():
    with pytest.raises(ValueError, match="column 'b' has no value"):
        prepare_table(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [np.nan] * 3}))


def test_images_become_rows_from_0_to_1():
    bytes_ = np.array([[[0, 255], [51, 102]]], dtype=np.uint8)
    np.testing.assert_allclose(prepare_images(bytes_), [[0, 1, 0.2, 0.4]], rtol=1e-6)
    np.testing.assert_array_equal(prepare_images(np.array([[-1, 0, 1]], dtype=np.float32)), [[0, 0.5, 1]])


# --- documents -----------------------------------------------------------------------------------


def test_words_are_three_letters_or_more_and_no_stop_words():
    assert words_of("The X-15's ROCKET-powered flight; an oz of f16_fuel") == [
        "rocket", "powered", "flight", "fuel",
    ]  # fmt: skip


def test_mean_vectors_are_means_over_words_with_vectors():
    words = np.array(["moon", "orbit", "unused"])
    vectors = np.array([[1, 0], [0, 1], [9, 9]], dtype=np.float16)
    texts = ["moon moon orbit unknownword", "Orbit!"]
    X, counts, used, own = mean_vectors(texts, words, vectors)
    np.testing.assert_allclose(X, [[2 / 3, 1 / 3], [0, 1]])
    assert used.tolist() == ["moon", "orbit"]
    np.testing.assert_array_equal(counts, [[2, 1], [0, 1]])
    np.testing.assert_array_equal(own, [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="document 1 has no word with a vector"):
        mean_vectors(["moon", "nothing known"], words, vectors)


def test_the_draw_is_stratified_and_seeded():
    y = np.repeat(np.arange(4), [5, 6, 7, 50])
    rows = draw_documents(y, n_documents=18, random_state=0)
    assert len(set(rows.tolist())) == 18
    assert sorted(np.bincount(y[rows])) == [4, 4, 5, 5]
    np.testing.assert_array_equal(rows, np.sort(rows))
    np.testing.assert_array_equal(rows, draw_documents(y, n_documents=18, random_state=0))
    assert rows.tolist() != draw_documents(y, n_documents=18, random_state=1).tolist()
    with pytest.raises(ValueError, match="the smallest has 5"):
        draw_documents(y, n_documents=40, random_state=0)


# --- loading -------------------------------------------------------------------------------------


def test_a_table_of_the_data_folder(folder):
    X = np.array([[1, 0, 5], [2, 1, 5], [np.nan, 1, 8], [3, 0, 6]], dtype=np.float32)
    np.savez(
        folder / "hepac.npz",
        X=X,
        y=np.array([0, 1, 1, 0], dtype=np.int32),
        feature_names=np.array(["Age", "binary", "ALB"]),
        class_names=np.array(["donor", "ill"]),
        sex=np.array(["m", "f", "m", "f"]),
    )
    raw = load("hepac")
    np.testing.assert_array_equal(raw.X.to_numpy(), X)
    assert raw.feature_names == ["Age", "binary", "ALB"] == raw.X.columns.tolist()
    assert raw.y.dtype == np.int64
    assert raw.class_names == ["donor", "ill"]
    assert raw.n_clusters == 8
    assert raw.n_classes == 2
    assert raw.licence == "CC BY 4.0"
    assert raw.arrays["sex"].tolist() == ["m", "f", "m", "f"]
    assert repr(raw) == "<Dataset hepac: 4 x 3, 2 classes, K = 8>"
    with pytest.raises(TypeError):
        raw.arrays["sex"] = None

    prepared = load("hepac", preprocess=True)
    assert prepared.feature_names == ["Age", "ALB"] == prepared.X.columns.tolist()
    np.testing.assert_allclose(prepared.X["Age"], np.array([-1, 0, 0, 1]) * np.sqrt(2))


def test_census_keeps_its_binary_columns_and_has_an_alias(folder):
    np.savez(folder / "census1990_first1000.npz", X=np.array([[0, 1], [1, 5], [1, 9]], dtype=np.float32))
    assert load("census", preprocess=True).X.shape == (3, 2)
    assert load("C2000").name == "c2000"
    assert load("c2000").feature_names == ["x0", "x1"]
    assert "Half of the paper's rows" in load("census").notes[0]


def test_the_data_folder_comes_before_the_cache(folder):
    cache_folder().mkdir()
    np.savez(cache_folder() / "trpad.npz", X=np.zeros((2, 2)))
    assert load("trpad").X.shape == (2, 2)
    np.savez(folder / "trpad.npz", X=np.zeros((3, 2)))
    assert load("trpad").X.shape == (3, 2)


def test_images(folder):
    np.savez(folder / "mnist.npz", X=np.full((2, 3, 3), 255, np.uint8), y=np.array([7, 1], np.uint8))
    raw = load("mnist")
    assert raw.X.shape == (2, 3, 3)
    assert raw.feature_names is None
    assert raw.n_clusters is None
    np.testing.assert_array_equal(load("mnist", preprocess=True).X, np.ones((2, 9)))


def test_files_that_are_no_table(folder):
    np.savez(folder / "squeezenet1_0_imagenet.npz", **{"conv1.weight": np.ones((2, 3))})
    weights = load("squeezenet1_0_imagenet")
    assert weights.X is None
    assert weights.arrays["conv1.weight"].shape == (2, 3)
    assert repr(weights) == "<Dataset squeezenet1_0_imagenet: 1 arrays>"
    with pytest.raises(ValueError, match="preprocess=True was given for 'squeezenet1_0_imagenet'"):
        load("squeezenet1_0_imagenet", preprocess=True)


@pytest.fixture
def small_news(folder):
    groups = [f"group.{i:02}" for i in range(20)]
    rows = [
        {"split": split, "label": group, "id": f"{split}{i}{j}", "text": f"word{'abcdef'[j] * 3} planet {j}"}
        for split in ("train", "test")
        for i, group in enumerate(groups)
        for j in range(5)
    ]
    rows[0]["text"] = "nothing known"
    write_documents(folder / "news20.jsonl.gz", rows)
    words = np.array(["planet", "wordaaa", "wordbbb", "wordccc", "wordddd", "wordeee"])
    vectors = np.arange(12).reshape(6, 2).astype(np.float16)
    np.savez(folder / "glove100_news20.npz", words=words, vectors=vectors)
    return rows


def test_news(small_news):
    raw = load("news")
    assert raw.X is None
    assert raw.texts[0] == "nothing known"
    assert raw.arrays["split"].tolist() == [0] * 100 + [1] * 100
    assert repr(raw) == "<Dataset news: 200 texts, 20 classes, K = 20>"

    drawn = load_news(n_documents=50, random_state=3)
    again = load_news(n_documents=50, random_state=3)
    pd.testing.assert_frame_equal(drawn.X, again.X)
    assert sorted(np.bincount(drawn.y)) == [2] * 10 + [3] * 10
    assert "nothing known" not in drawn.texts
    assert all(name.startswith("train") for name in drawn.arrays["id"])
    counts, vectors = drawn.arrays["counts"], drawn.arrays["vectors"]
    np.testing.assert_allclose(drawn.X, counts @ vectors / counts.sum(axis=1, keepdims=True))
    # planet is (0, 1), worda (2, 3): their mean is (1, 2).
    first = next(i for i, text in enumerate(drawn.texts) if text.startswith("wordaaa"))
    np.testing.assert_allclose(drawn.X.iloc[first], [1, 2])

    scaled = load_news(n_documents=50, random_state=3, standardise=True).X
    np.testing.assert_allclose(scaled.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(ddof=0), 1)


def test_news_needs_vectors_before_it_downloads_anything(folder):
    with pytest.raises(FileNotFoundError, match=r"'glove100_news20' was not found .* glove100_news20\.npz"):
        load("news", preprocess=True)


def test_other_texts_become_tf_idf(folder):
    rows = [
        {"id": i, "split": "train", "label": "earn", "title": "t", "text": f"profit of company{i}"}
        for i in range(3)
    ]
    write_documents(folder / "reuters21578_top10.jsonl.gz", rows)
    prepared = load("reuters", preprocess=True)
    assert sp.issparse(prepared.X)
    assert prepared.feature_names == ["company0", "company1", "company2", "profit"]
    np.testing.assert_allclose(prepared.X.multiply(prepared.X).sum(axis=1), 1)


def test_wine_needs_no_file(folder):
    wine = load("winer", preprocess=True, download=False)
    assert wine.X.shape == (178, 13)
    assert wine.class_names == ["class_0", "class_1", "class_2"]


def test_unknown_names_are_answered_with_a_near_one(folder):
    with pytest.raises(ValueError, match="no data set named 'seed': did you mean 'seeds'"):
        load("seed")
    with pytest.raises(ValueError, match="expected one of winer, seeds"):
        load("qqqqqq")


def test_an_absent_set_tells_where_it_was_looked_for(folder, monkeypatch):
    with pytest.raises(FileNotFoundError) as caught:
        load("c2000")
    for part in (str(folder), str(cache_folder()), "census1990_first1000.npz", "WHYCLUST_DATA", "no public"):
        assert part in str(caught.value)
    monkeypatch.delenv("WHYCLUST_DATA")
    with pytest.raises(FileNotFoundError, match=r"WHYCLUST_DATA is not set.*download=False was given"):
        load("seeds", download=False)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 broken"])
def test_broken_files_are_told(folder, content):
    (folder / "seeds.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"seeds\.npz could not be read as a data set"):
        load("seeds")


def test_pickled_arrays_are_refused(folder):
    np.savez(folder / "seeds.npz", X=np.array([{"code": 1}], dtype=object))
    with pytest.raises(ValueError, match="could not be read"):
        load("seeds")


def test_available_tells_where_each_set_would_come_from(folder):
    np.savez(folder / "water.npz", X=np.zeros((1, 1)))
    table = available()
    assert table.loc["water", "origin"] == str(folder / "water.npz")
    assert table.loc["winer", "origin"] == "scikit-learn's load_wine"
    assert table.loc["seeds", "origin"].startswith("https://archive.ics.uci.edu/")
    assert table.loc["c2000", "origin"] == "put census1990_first1000.npz into the folder in WHYCLUST_DATA"
    assert table["n_clusters"].dropna().to_dict() == {entry.name: entry.n_clusters for entry in TABLE_I}


def test_the_catalogue_is_consistent():
    assert set(ORIGINS) <= set(ENTRIES)
    assert len({entry.file for entry in ENTRIES.values()}) == len(ENTRIES)
    for entry in ENTRIES.values():
        assert entry.kind in {"table", "images", "texts", "arrays"}
        assert entry.file.endswith(".jsonl.gz" if entry.kind == "texts" else ".npz")


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_cache_is_where_the_system_keeps_caches(platform, monkeypatch, tmp_path):
    monkeypatch.delenv("WHYCLUST_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    parts = {
        "linux": (".cache", "whyclust"),
        "darwin": ("Library", "Caches", "whyclust"),
        "win32": ("local", "whyclust", "cache"),
    }[platform]
    assert cache_folder() == tmp_path.joinpath(*parts)


def test_everything_exported_is_there():
    for name in datasets.__all__:
        assert getattr(datasets, name) is not None


# --- the data themselves -------------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("entry", TABLE_I, ids=lambda entry: entry.name)
def test_rows_and_columns_are_those_of_table_i(entry):
    prepared = load(entry.name, preprocess=True, download=False)
    shape = {"c2000": (1000, 68), "news": (250, 100)}.get(entry.name, entry.shape)  # as their notes tell
    assert prepared.X.shape == shape
    assert np.isfinite(prepared.X.to_numpy()).all()
    if entry.name != "news":
        assert np.abs(prepared.X.mean()).max() < 1e-10
        assert np.abs(prepared.X.std(ddof=0) - 1).max() < 1e-10


@needs_data
def test_the_census_has_18_binary_columns():
    raw = load("census")
    assert prepare_table(raw.X).shape[1] == 50
    assert prepare_table(raw.X, keep_binary=True).shape[1] == 68


@needs_data
def test_the_known_checksum_is_that_of_the_same_numbers(tmp_path):
    """The published file of whlsl, written anew from the data set's arrays, has the checksum kept here."""
    import hashlib

    raw = load("whlsl")
    frame = raw.X.astype(int)
    frame.insert(0, "Channel", raw.y + 1)
    frame.insert(1, "Region", raw.arrays["region"])
    path = tmp_path / ORIGINS["whlsl"].file
    path.write_bytes(frame.to_csv(index=False, lineterminator="\r\n").encode())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == ORIGINS["whlsl"].sha256
    arrays = ORIGINS["whlsl"].read(path)
    np.testing.assert_array_equal(arrays["X"], raw.X)
    np.testing.assert_array_equal(arrays["y"], raw.y)


@needs_data
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "usps", "pendigits"])
def test_openml_is_asked_for_the_same_classes(name):
    origin, raw = ORIGINS[name], load(name)
    assert tuple(np.bincount(raw.y).tolist()) == origin.class_sizes
    assert raw.X.shape[1:] == origin.pixels
    if origin.train is not None:
        np.testing.assert_array_equal(raw.arrays["split"], np.arange(len(raw.y)) >= origin.train)
    assert replace(raw, y=None).n_classes is None


def test_files_that_hold_something_else_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WHYCLUST_DATA", str(tmp_path))
    np.savez(tmp_path / "seeds.npz", Z=np.zeros(3))
    with pytest.raises(ValueError, match=r"seeds.npz has no X of rows and columns, but Z"):
        load("seeds")
    np.savez(tmp_path / "winer.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    with pytest.raises(ValueError, match=r"winer.npz has 2 classes for 3 rows"):
        load("winer")


def test_rows_are_normalised_before_columns_are_standardised():
    X = pd.DataFrame({"a": [0.0, 10.0, 5.0, 1.0], "b": [5.0, 30.0, 5.0, 1.5], "c": [10.0, 20.0, 5.0, 3.0]})
    by_rows = pd.DataFrame([[0, 0.5, 1], [0, 1, 0.5], [0, 0, 0], [0, 0.25, 1]], columns=list("abc"))
    found = prepare_table(X, normalise_rows=True, keep_binary=True)
    expected = prepare_table(by_rows, keep_binary=True)
    assert found.columns.tolist() == ["b", "c"] == expected.columns.tolist()
    np.testing.assert_allclose(found, expected)
