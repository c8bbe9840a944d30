"""What the page tells beyond relevance of columns: what a deep model shows, words, typical rows, changes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import whyclust as wc
from test_report_data import read
from whyclust.report import render
from whyclust.report.data.changes import MOST_BENT, MOST_FLAT, TOLD
from whyclust.report.data.model import GATED, STEPS
from whyclust.report.data.typical import nearest_typical

QUICK = {"hidden": (8,), "epochs": 2, "pretrain_epochs": 2, "batch_size": 32, "random_state": 0}


def fitted(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def table(n_rows=90):
    X, _ = make_blobs(n_rows, 4, centers=3, random_state=2)
    return pd.DataFrame(X * [1.0, 30.0, 500.0, 0.1] + [5.0, 90.0, 0.0, 1.0], columns=list("abcd"))


# --- deep models -------------------------------------------------------------------------------------


def test_decoded_centres_and_ways_are_those_of_the_model_in_the_users_units():
    deep = pytest.importorskip("whyclust.deep", reason="needs PyTorch")
    frame = table()
    model = fitted(make_pipeline(StandardScaler(), deep.DEC(3, **QUICK)), frame)
    ex = wc.explain(model, frame)
    values, _ = read(render(ex))
    scaler, dec = model
    centers = scaler.inverse_transform(dec.decoded_centers())
    order = [one.cluster for one in ex.summary()]
    assert len(order) > 1
    for cluster, one in zip(order, values["clusters"], strict=True):
        members = np.asarray(ex.labels == cluster)
        for line in one["model"]["decoded"]["columns"]:
            column = frame.columns.get_loc(line["name"])
            assert line["decoded"] == pytest.approx(centers[cluster, column], rel=1e-6)
            assert line["mean"] == pytest.approx(frame.iloc[members, column].mean())
        rivals, counts = np.unique(ex.competitors[members], return_counts=True)
        (way,) = one["model"]["ways"]
        rival = next(rival for rival in rivals[np.argsort(-counts, kind="stable")] if rival in order)
        assert way["told"].endswith(f"to that of {ex.named(rival)}")
        rows = scaler.inverse_transform(dec.interpolate(cluster, int(rival), steps=STEPS))
        for line in way["columns"]:
            np.testing.assert_allclose(
                line["values"], rows[:, frame.columns.get_loc(line["name"])], rtol=1e-5
            )


def test_a_model_behind_a_step_that_cannot_be_undone_shows_no_rows():
    deep = pytest.importorskip("whyclust.deep", reason="needs PyTorch")
    frame = table()
    model = fitted(make_pipeline(StandardScaler(), deep.DEC(3, **QUICK)), frame)
    model.steps.insert(1, ("unit", _OneWay()))
    ex = wc.explain(model[-1], StandardScaler().fit_transform(frame))
    assert "model" in read(render(ex))[0]["clusters"][0]
    origin = ex.origin
    object.__setattr__(origin, "options", {**origin.options, "model": model})
    assert all("model" not in one for one in read(render(ex))[0]["clusters"])


class _OneWay(Normalizer):
    """A step that loses lengths."""


def test_the_spaces_of_acedec_are_told_per_cluster():
    deep = pytest.importorskip("whyclust.deep", reason="needs PyTorch")
    from whyclust.report.spaces import spaces

    images = (load_digits().images[:150] / 16).astype(np.float32)
    model = fitted(deep.ACeDeC(deep.DCN(3, **QUICK), space_epochs=2), images.reshape(150, -1))
    scores = model.model_.space.scores  # as a long fit might have them, with dimensions in both spaces
    scores.data = scores.data.new_tensor(np.linspace(0.0, 3.0, len(scores)))
    ex = wc.explain(model, images)
    values, _ = read(render(ex))
    told = {one["id"]: one for one in spaces(ex)["clusters"]}
    for cluster, one in zip([one.cluster for one in ex.summary()], values["clusters"], strict=True):
        shown = one["model"]
        for picture in ("picture", "used_picture"):
            assert shown["spaces"][picture] == str(told[one["id"]][picture]["shown"])
        assert [line["name"] for line in shown["spaces"]["ignores"]] == [
            line["name"] for line in told[one["id"]]["ignores"]
        ]
        pictures = [shown["decoded"]["picture"], *(one for way in shown["ways"] for one in way["pictures"])]
        assert all(one.startswith('<img src="data:image/png;base64,') for one in pictures)
        low, high = float(images.min()), float(images.max())
        made = ex.kind.picture(
            model.decoded_centers()[cluster], low, high, f"decoded centre of {ex.named(cluster)}"
        )
        assert shown["decoded"]["picture"] == made
        assert all(len(way["pictures"]) == STEPS for way in shown["ways"])


def test_gates_are_the_means_over_the_rows_of_a_cluster():
    deep = pytest.importorskip("whyclust.deep", reason="needs PyTorch")
    X = wc.datasets.make_idc_synthetic(120, n_nuisance=3, random_state=0)[0].astype(np.float32)
    model = fitted(deep.IDC(3, **QUICK), X)
    ex = wc.explain(model, X)
    values, _ = read(render(ex))
    gates = model.local_gates(X)
    assert len(X) <= GATED
    for one, summary in zip(values["clusters"], ex.summary(), strict=True):
        own = gates[np.asarray(ex.labels == summary.cluster)]
        shown = one["model"]["gates"]
        assert shown["open"] == pytest.approx((own > 0).sum(axis=1).mean())
        for line in shown["columns"]:
            column = ex.feature_names.index(line["name"])
            assert line["gate"] == pytest.approx(own[:, column].mean(), abs=1e-6)


def test_models_without_a_decoder_show_nothing_more():
    values, _ = read(render(wc.explain(KMeans(3, n_init=1, random_state=0).fit(table()), table())))
    assert all("model" not in one for one in values["clusters"])


# --- texts -------------------------------------------------------------------------------------------


def test_texts_are_held_and_words_are_told():
    texts = [f"cats and dogs number {n}" for n in range(20)] + [f"ships at sea {n}" for n in range(20)]
    texts[3] = "cats " * 2000
    model = make_pipeline(TfidfVectorizer(), KMeans(2, n_init=1, random_state=0)).fit(texts)
    ex = wc.explain(model, texts)
    values, _ = read(render(ex))
    assert values["words"] is True
    held = values["held"]["texts"]
    assert held[0] == texts[0] and held[25] == texts[25]
    assert len(held[3]) <= 1200 and held[3].endswith(" …")
    assert "cats and dogs" not in render(ex, rows=False).split("</style>")[1]


# --- typical rows ------------------------------------------------------------------------------------


def test_the_nearest_typical_row_is_that_of_the_largest_cosine():
    frame = table()
    ex = wc.explain(make_pipeline(StandardScaler(), KMeans(4, n_init=1, random_state=0)).fit(frame), frame)
    values, arrays = read(render(ex))
    typical = {one.cluster: one.typical for one in ex.summary()}
    for row, found in enumerate(arrays["nearest-typical"]):
        others = [one for one in typical[ex.clusters[row]] if one != row]
        cosines = [
            ex.values[row]
            @ ex.values[one]
            / (np.linalg.norm(ex.values[row]) * np.linalg.norm(ex.values[one]))
            for one in others
        ]
        assert found == others[int(np.argmax(cosines))]
        # The same order as that of all rows, which the library tells.
        ranked = [one for one in ex.similar(row, len(frame)).positions.tolist() if one in others]
        assert ranked[0] == found
    assert values["held"]["count"] == len(frame)


def test_rows_that_are_held_know_positions_of_the_whole_table():
    frame = table()
    ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(frame), frame)
    typical = {one.cluster: one.typical for one in ex.summary()}
    whole = nearest_typical(ex, typical, np.arange(len(frame)))
    some = np.array([3, 50, 71, 7])
    np.testing.assert_array_equal(nearest_typical(ex, typical, some), whole[some])


# --- changes found beforehand ------------------------------------------------------------------------


def as_python(ex, told, row, **options):
    change = ex.smallest_change(int(row), **options)
    order = [one.cluster for one in ex.summary()]
    assert order[told["to"]] == change.to
    assert told["distance"] == pytest.approx(change.distance, rel=1e-9)
    assert told["exact"] == change.exact
    lines = change.changes.head(TOLD)
    assert [line[0] for line in told["changes"]] == lines["column"].tolist()
    np.testing.assert_allclose([line[2] for line in told["changes"]], lines["to"].astype(float), rtol=1e-9)
    assert told["left"] == len(change.changes) - len(lines)
    assert ex.origin.network.predict(change.point)[0] == change.to


def test_bent_borders_are_searched_for_the_most_doubtful_rows():
    X = load_wine(as_frame=True).data.iloc[:, :4]
    ex = wc.explain(make_pipeline(StandardScaler(), GaussianMixture(2, random_state=0)).fit(X), X)
    values, _ = read(render(ex))
    assert "bent" in values["engine"]["why_no_change"]
    found = values["changes"]
    assert not found["few"] and 0 < len(found["rows"]) <= MOST_BENT
    assert {str(one.borderline[0]) for one in ex.summary()} <= set(found["rows"])
    for row in list(found["rows"])[:2]:
        as_python(ex, found["rows"][row], row)


def test_of_wide_tables_few_columns_change():
    X = np.random.default_rng(0).normal(size=(60, 80))
    X[30:, :6] += 3.0
    frame = pd.DataFrame(X).add_prefix("gene ")
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(frame), frame)
    values, _ = read(render(ex))
    found = values["changes"]
    named = {row for one in values["clusters"] for row in (*one["borderline"], *one["typical"])}
    assert found["few"] and {int(row) for row in found["rows"]} == named and len(named) <= MOST_FLAT
    for row, told in found["rows"].items():
        assert len(told["changes"]) < 20
        as_python(ex, told, row, sparse=True)


def test_of_wide_tables_columns_that_do_not_move_freely_are_held():
    """Values of many such columns, tried one by one, have combinations without end."""
    generator = np.random.default_rng(0)
    X = np.exp(generator.normal(size=(60, 64)))
    X[:, :40] = generator.integers(0, 2, size=(60, 40))  # two values: tried one by one behind a logarithm
    X[30:, 40:50] *= 30.0
    frame = pd.DataFrame(X).add_prefix("gene ")
    parts = [(FunctionTransformer(np.log1p), [name]) for name in frame]
    model = make_pipeline(make_column_transformer(*parts), KMeans(2, n_init=1, random_state=0)).fit(frame)
    ex = wc.explain(model, frame)
    found = read(render(ex))[0]["changes"]
    assert found["rows"]
    for told in found["rows"].values():
        assert all(int(line[0].removeprefix("gene ")) >= 40 for line in told["changes"])
    row, told = next(iter(found["rows"].items()))
    as_python(ex, told, row, sparse=True, fixed=list(range(40)))


def test_where_the_page_finds_changes_itself_none_are_written():
    frame = table()
    ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(frame), frame)
    values, _ = read(render(ex))
    assert values["changes"] is None and "change" in values["engine"]


def test_categories_are_held_as_the_page_does():
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    frame = table().assign(kind=lambda one: np.where(one["a"] > one["a"].median(), "x", "y"))
    ex = explain_table(Table(frame), k=2, method="kernel").explanation
    found = read(render(ex))[0]["changes"]
    assert found["rows"]
    for row in found["rows"].values():
        assert "kind" not in [line[0] for line in row["changes"]]


# --- maps --------------------------------------------------------------------------------------------


def test_a_map_of_ones_own_stands_before_that_of_principal_components():
    frame = table()
    ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(frame), frame)
    usual, one = read(render(ex))
    assert [a_map["name"] for a_map in usual["held"]["maps"]] == ["principal components"]
    assert "x-1" not in one
    places = np.random.default_rng(0).normal(size=(len(frame), 2))
    values, two = read(render(ex, embedding=places))
    assert [a_map["name"] for a_map in values["held"]["maps"]] == ["places given", "principal components"]
    np.testing.assert_array_equal(two["x-1"], one["x"])
    np.testing.assert_array_equal(two["y-1"], one["y"])
    assert values["held"]["maps"][1] == usual["held"]["maps"][0]


def test_rows_far_outside_do_not_shrink_the_map_of_all_others():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[7] = [900.0, 0.0]
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    values, arrays = read(render(ex))
    assert values["held"]["maps"][0]["beyond"] == 1
    across = np.delete(arrays["x"], 7).astype(float)
    assert arrays["x"][7] in (0, 65535)
    assert np.ptp(across) > 0.4 * 65535
    values, given = read(render(ex, embedding=X))
    assert values["held"]["maps"][0]["beyond"] == 0
    assert np.ptp(np.delete(given["x"], 7).astype(float)) < 0.02 * 65535


def test_umap_is_asked_for_by_name():
    frame = table()
    ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(frame), frame)
    pytest.importorskip("umap", reason="umap-learn is not installed")
    values, _ = read(render(ex, embedding="umap"))
    assert [one["name"] for one in values["held"]["maps"]] == ["UMAP", "principal components"]
