"""Saving and loading: complete or not at all, and nothing that can run code."""

import dataclasses
import json
import os
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import numpy.testing
import pandas as pd
import pytest
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

import whyclust as wc
from whyclust.cluster import KernelKMeans, SoftKMeans, SubKMeans
from whyclust.network import AffineMap, Features

X = np.abs(np.random.default_rng(4).normal(size=(70, 3)) + 3.0 * (np.arange(70) % 3)[:, None])


def k_means(k=3):
    return KMeans(k, n_init=2, random_state=0)


# --------------------------------------------------------------------------- round trips


ESTIMATORS = {
    "soft": SoftKMeans(3, random_state=0),
    "soft, absolute": SoftKMeans(3, decision="absolute", threshold=0.7, stiffness=0.5, random_state=0),
    "soft, own start": SoftKMeans(3, init=X[:3], n_init=1),
    "subspace": SubKMeans(3, n_components=1, random_state=0),
    "em": KernelKMeans(3, n_support=4, n_init=2, max_iter=10, random_state=0),
    "standard": KernelKMeans(3, algorithm="standard", random_state=0),
    "leave one out": KernelKMeans(3, algorithm="leave_one_out", gamma=0.3, random_state=0),
    "polynomial": KernelKMeans(3, algorithm="standard", kernel="polynomial", random_state=0),
    "laplacian": KernelKMeans(3, algorithm="leave_one_out", kernel="laplacian", random_state=0),
    "own labels": KernelKMeans(3, algorithm="standard", init=np.arange(70) % 3, max_iter=0),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("framed", [False, True])
def test_estimators(name, framed, tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "c"]) if framed else X
    model = ESTIMATORS[name].fit(table)
    again = wc.load(wc.save(model, tmp_path / "model.npz"))
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(again.predict(table), model.labels_)
    for method in ("predict_proba", "outlier_scores", "transform"):
        if hasattr(model, method) and getattr(model, "kernel", "rbf") == "rbf":
            np.testing.assert_array_equal(getattr(again, method)(table), getattr(model, method)(table))
    if getattr(model, "kernel", "rbf") == "rbf":
        assert np.array_equal(wc.explain(again, table).values, wc.explain(model, table).values)
        assert wc.explain(again, table).beta == wc.explain(model, table).beta
    if framed:
        assert list(again.feature_names_in_) == ["a", "b", "c"]
    again.fit(table)  # still an estimator


NETWORKS = {
    "k-means": k_means(),
    "tree": BisectingKMeans(4, random_state=0),
    "kernel": KernelKMeans(3, n_support=3, n_init=1, max_iter=5, random_state=0),
    "standard kernel": KernelKMeans(3, algorithm="standard", random_state=0),
    "absolute": SoftKMeans(3, decision="absolute", random_state=0),
    "subspace": SubKMeans(3, random_state=0),
    "scaler, pca": make_pipeline(StandardScaler(), PCA(2), k_means()),
    "normalizer": make_pipeline(PCA(2), Normalizer("l1"), StandardScaler(), k_means()),
    "imputer": make_pipeline(SimpleImputer(), k_means()),
    "indicator": make_pipeline(SimpleImputer(add_indicator=True), k_means()),
    "clip": make_pipeline(MinMaxScaler(clip=True), k_means()),
    "power": make_pipeline(PowerTransformer(), k_means()),
    "quantile": make_pipeline(QuantileTransformer(n_quantiles=10), k_means()),
    "ufunc": make_pipeline(FunctionTransformer(np.log1p), k_means()),
    "frames inside": make_pipeline(SimpleImputer(), MinMaxScaler(clip=True), k_means()).set_output(
        transform="pandas"
    ),
    "ordinal bins": make_pipeline(KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), k_means()),
    "clipped": make_pipeline(StandardScaler(), MinMaxScaler(clip=True), PCA(2), k_means()),
    "bins": make_pipeline(KBinsDiscretizer(3, strategy="uniform"), k_means()),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name, tmp_path):
    table = X.copy()
    if name in ("imputer", "indicator"):
        table[4, 1] = np.nan
    net = wc.neuralize(NETWORKS[name].fit(table), table)
    again = wc.load(wc.save(net, tmp_path / "net.npz"))
    assert repr(again) == repr(net)
    assert (again.beta, again.feature_names, again.named) == (net.beta, net.feature_names, net.named)
    for question in ({}, {"cluster": 1}, {"cluster": 2, "against": 0}):
        np.testing.assert_array_equal(
            again.relevance(table, **question).values, net.relevance(table, **question).values
        )
    np.testing.assert_array_equal(again.predict(table), net.predict(table))


def mixed_frame():
    frame = pd.DataFrame(X.copy(), columns=["a", "b", "c"])
    frame["colour"] = np.where(X[:, 0] > 3, "red", "blue")
    frame["size"] = pd.Categorical(np.where(X[:, 1] > 3, "s", "l"))
    frame.loc[3, "a"] = np.nan
    return frame


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OneHotEncoder(min_frequency=3), OrdinalEncoder()])
def test_networks_with_encoders(encoder, tmp_path):
    frame = mixed_frame()
    branches = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler(), PCA(2)), ["a", "b", "c"]),
        (encoder, ["colour", "size"]),
    )
    net = wc.neuralize(make_pipeline(branches, StandardScaler(with_mean=False), k_means()).fit(frame), frame)
    again = wc.load(wc.save(net, tmp_path / "net.npz"))
    np.testing.assert_array_equal(again.relevance(frame).values, net.relevance(frame).values)
    shuffled = frame[["size", "c", "b", "colour", "a"]]
    np.testing.assert_array_equal(again.relevance(shuffled).values, net.relevance(frame).values)


def test_encoders_that_know_missing_categories(tmp_path):
    column = np.array([["red"], ["blue"], [np.nan], ["red"], ["green"], [np.nan]] * 4, dtype=object)
    model = make_pipeline(OrdinalEncoder(encoded_missing_value=-1), k_means()).fit(column)
    again = wc.load(wc.save(wc.neuralize(model, column), tmp_path / "net.npz"))
    np.testing.assert_array_equal(again.predict(column), model.predict(column))


def test_a_new_process_reads_it(tmp_path):
    frame = mixed_frame()
    branches = make_column_transformer((SimpleImputer(), ["a", "b"]), (OneHotEncoder(), ["colour"]))
    net = wc.neuralize(make_pipeline(branches, k_means()).fit(frame), frame)
    wc.save(net, tmp_path / "net.npz")
    frame.to_parquet(tmp_path / "frame.parquet")
    np.save(tmp_path / "values.npy", net.relevance(frame).values)
    code = (
        "import numpy as np, pandas as pd, whyclust as wc, sys\n"
        "folder = sys.argv[1]\n"
        "net, frame = wc.load(folder + '/net.npz'), pd.read_parquet(folder + '/frame.parquet')\n"
        "found = net.relevance(frame).values - np.load(folder + '/values.npy')\n"
        "sys.exit(0 if np.abs(found).max() < 1e-12 else 1)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code, str(tmp_path)], check=True, timeout=120)


# --------------------------------------------------------------------------- complete or not at all


def folder_of(path):
    return sorted(entry.name for entry in path.iterdir())


@pytest.mark.parametrize(
    "model",
    [
        SoftKMeans(2, random_state=np.random.RandomState(0)),
        KernelKMeans(2, algorithm="standard", kernel=lambda x, y: float(x @ y), random_state=0),
    ],
    ids=["generator", "function"],
)
def test_what_cannot_be_saved_leaves_nothing_behind(model, tmp_path):
    model.fit(X)
    with pytest.raises(TypeError, match="cannot be saved without pickle: replace it"):
        wc.save(model, tmp_path / "model.npz")
    assert folder_of(tmp_path) == []


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_failing_disk_leaves_the_old_file(suffix, tmp_path, monkeypatch):
    ex = wc.explain(k_means().fit(X), X)
    path = ex.save(tmp_path / f"ex.{suffix}")
    before = path.read_bytes()

    def fails(stream, *args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fails)
    monkeypatch.setattr("pyarrow.parquet.write_table", lambda table, stream, **options: fails(stream))
    with pytest.raises(OSError, match="No space"):
        ex[:3].save(path)
    assert path.read_bytes() == before
    assert folder_of(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["model.pkl", "model", "model.parquet"])
def test_wrong_suffix(name, tmp_path):
    net = wc.neuralize(k_means().fit(X))
    with pytest.raises(ValueError, match=r"expected \.npz or \.json: rename the file"):
        wc.save(net, tmp_path / name)
    assert folder_of(tmp_path) == []


def test_wrong_suffix_of_an_explanation(tmp_path):
    ex = wc.explain(k_means().fit(X), X)
    with pytest.raises(ValueError, match=r"ends in '\.csv', expected \.parquet, \.npz or \.json"):
        ex.save(tmp_path / "ex.csv")
    assert folder_of(tmp_path) == []


@pytest.mark.parametrize("thing", [k_means().fit(X), {"a": 1}, X, None, make_pipeline(k_means())])
def test_only_our_own_things_are_saved(thing, tmp_path):
    with pytest.raises(TypeError, match=r"wc\.neuralize\(model, X\)"):
        wc.save(thing, tmp_path / "thing.npz")
    assert folder_of(tmp_path) == []


def test_folders_are_made(tmp_path):
    path = wc.save(wc.neuralize(k_means().fit(X)), tmp_path / "new" / "folder" / "net.npz")
    assert path.exists()


# --------------------------------------------------------------------------- foreign files


def refused(path, match="has written|is damaged"):
    """One sentence that names the file, and nothing else, not even a handle left open."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=match) as caught:
            wc.load(path)
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    assert message.count(". ") == 0


def crafted(tmp_path, header, **arrays):
    path = tmp_path / "crafted.npz"
    text = header if isinstance(header, str) else json.dumps(header)
    np.savez(path, whyclust=np.array(text), **arrays)
    return path


def content(packed):
    return {"format": 1, "version": "0", "content": packed}


BYTES = np.zeros(9, dtype=np.uint8)
HEADERS = {
    "unknown class": content({"class": "Popen", "state": {"args": "true"}}),
    "estimator of scikit-learn": content({"estimator": "KMeans", "state": {}}),
    "state is missing": content({"class": "Neuralized", "state": {}}),
    "no content": {"format": 1},
    "plain content": content(5),
    "a list": content({"list": [1, 2]}),
    "an array": content({"array": "bytes"}),
    "missing array": content({"array": "nothing"}),
    "unknown key": content({"code": "1 + 1"}),
    "skops of zeros": content({"skops": "bytes"}),
    "frame of zeros": content({"frame": "bytes"}),
    "sparse of zeros": content({"sparse": ["bytes", "bytes", "bytes"], "shape": [3, 3]}),
    "shape": content({"objects": [1, 2], "shape": [3]}),
    "header is a list": [1, 2],
    "header is a number": "3",
    "header is no JSON": "{",
}


@pytest.mark.parametrize("name", HEADERS)
def test_foreign_archives(name, tmp_path):
    refused(crafted(tmp_path, HEADERS[name], bytes=BYTES))


def test_a_newer_format_is_named(tmp_path):
    path = crafted(tmp_path, {"format": 99, "version": "7.0", "content": None})
    with pytest.raises(ValueError, match=r"format 99 \(whyclust 7\.0\), expected 2 or less"):
        wc.load(path)


class Explosive:
    """What a pickle could do to you."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


@pytest.mark.parametrize("name", ["whyclust", "array0"])
def test_pickles_are_refused(name, tmp_path):
    path = tmp_path / "pickled.npz"
    arrays = {"whyclust": np.array(json.dumps(content({"array": "array0"}))), "array0": BYTES}
    arrays[name] = np.array([Explosive()], dtype=object)
    np.savez(path, allow_pickle=True, **arrays)
    refused(path)


FUNCTIONS = {
    "numpy's exec": {"ufunc": "testing.measure"},
    "numpy's pickle": {"ufunc": "load"},
    "a module": {"ufunc": "testing"},
    "a way around": {"ufunc": "__loader__"},
    "a builtin": {"ufunc": "sum"},
    "bytes": {"skops": "array0"},
    "a name": {"function": "os.system"},
    "an estimator": {"estimator": "Pipeline", "state": {"steps": {"list": []}}},
    "a class": {"class": "Popen", "state": {}},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_file_cannot_bring_functions(name, tmp_path):
    """Functions of numpy are no safer than others: numpy.testing.measure executes a string."""
    net = make_pipeline(FunctionTransformer(np.log1p), k_means()).fit(X)
    path = wc.save(wc.neuralize(net, X), tmp_path / "net.npz")
    assert wc.load(path).predict(X).shape == (70,)  # an element-wise function is no danger
    with np.load(path) as archive:
        arrays = dict(archive)
    text = str(arrays.pop("whyclust"))
    assert '{"ufunc": "log1p"}' in text
    evil = tmp_path / "evil.npz"
    header = np.array(text.replace('{"ufunc": "log1p"}', json.dumps(FUNCTIONS[name])))
    np.savez(evil, whyclust=header, **arrays)
    refused(evil)


def test_functions_are_not_saved(tmp_path):
    net = wc.neuralize(k_means().fit(X), X)
    for function in (numpy.testing.measure, np.max, json.loads):
        features = Features(AffineMap.identity(3), [FunctionTransformer(function)], np.arange(3), 3)
        with pytest.raises(TypeError, match="cannot be saved"):
            wc.save(dataclasses.replace(net, features=features), tmp_path / "net.npz")
    assert folder_of(tmp_path) == []


def test_other_files(tmp_path):
    for name, made in {"text.npz": b"a,b\n1,2\n", "empty.npz": b"", "pickle.npz": b"\x80\x04K\x01."}.items():
        (tmp_path / name).write_bytes(made)
        refused(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("hello.txt", "hello")
    refused(tmp_path / "zip.npz")
    np.savez(tmp_path / "numpy.npz", a=X)
    refused(tmp_path / "numpy.npz")
    np.save(tmp_path / "numpy.npy", X)
    refused(tmp_path / "numpy.npy")
    pd.DataFrame(X).to_parquet(tmp_path / "table.parquet")
    refused(tmp_path / "table.parquet")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        wc.load(tmp_path / "nothing.npz")
    with pytest.raises((FileNotFoundError, ValueError), match=r"There is no file|folder"):
        wc.load(tmp_path)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_truncated_files(suffix, tmp_path):
    ex = wc.explain(k_means().fit(X), X)
    whole = ex.save(tmp_path / f"ex.{suffix}").read_bytes()
    path = tmp_path / f"cut.{suffix}"
    for length in [4, 20, len(whole) // 3, len(whole) // 2, len(whole) - 100, len(whole) - 1]:
        path.write_bytes(whole[:length])
        refused(path)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_damaged_files(suffix, tmp_path):
    """A flipped byte is refused or harmless, never some other error."""
    ex = wc.explain(k_means().fit(X), X)
    whole = ex.save(tmp_path / f"ex.{suffix}").read_bytes()
    path = tmp_path / f"damaged.{suffix}"
    wrong = {}
    for position in range(4, len(whole), max(1, len(whole) // 150)):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(bytes(damaged))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                wc.load(path)
        except ValueError as error:
            if path.name not in str(error):
                wrong[position] = error
        except Exception as error:
            wrong[position] = error
    assert not wrong, {type(error).__name__ for error in wrong.values()}


@pytest.fixture
def usual_umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_permissions_are_those_of_any_new_file(tmp_path, usual_umask):
    """Temporary files are private; what is moved into place is as open as the user's other files."""
    ex = wc.explain(k_means().fit(X), X)
    written = [
        ex.save(tmp_path / "ex.npz"),
        ex.save(tmp_path / "ex.parquet"),
        ex.to_html(tmp_path / "ex.html"),
    ]
    assert {path.stat().st_mode & 0o777 for path in written} == {0o640}
