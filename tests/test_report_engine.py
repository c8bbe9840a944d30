"""The page's own arithmetic against Python's: node runs what the page runs, on the same rows."""

import base64
import json
import shutil
import subprocess
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, Birch, BisectingKMeans, KMeans, MeanShift, MiniBatchKMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)

import whyclust as wc
from whyclust.answers._changeable import Asked, Changeable
from whyclust.answers._projection import nearest
from whyclust.answers._regions import Piece
from whyclust.cluster import ClusteringModuleEM, KernelKMeans, SoftKMeans, SubKMeans
from whyclust.command.run import explain_table
from whyclust.report.engine import MOST_NUMBERS, engine_spec
from whyclust.tables import Table

FRONTEND = Path(__file__).parents[1] / "frontend"
ENGINE = FRONTEND / "tests" / "engine.mjs"
VITE = FRONTEND / "node_modules" / ".bin" / "vite"
SETTINGS = 200
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="the page's engine runs in node")


# --- models and rows ------------------------------------------------------------------------------


def numbers(seed=0, n_rows=120, columns=4, k=3, spread=3.0):
    generator = np.random.default_rng(seed)
    centers = spread * generator.normal(size=(k, columns))
    return centers[np.arange(n_rows) % k] + generator.normal(size=(n_rows, columns))


def mixed(seed=0, n_rows=90):
    """A table as the command line takes it: numbers with gaps and outliers, categories, yes and no."""
    generator = np.random.default_rng(seed)
    group = np.arange(n_rows) % 3
    frame = pd.DataFrame(
        {
            "age": 30 + 15 * group + 4 * generator.normal(size=n_rows),
            "income": np.exp(7 + group + generator.normal(size=n_rows)),
            "visits": generator.poisson(2 + 4 * group).astype(float),
            "town": np.array(["Ulm", "Bonn", "Kiel", "<b>"])[(group + (generator.random(n_rows) < 0.3)) % 4],
            "plan": np.array(["a", "b"])[(generator.random(n_rows) < 0.3 + 0.2 * group).astype(int)],
            "member": generator.random(n_rows) < 0.2 + 0.3 * group,
        }
    )
    frame.loc[generator.random(n_rows) < 0.1, "age"] = np.nan
    frame.loc[generator.random(n_rows) < 0.1, "town"] = np.nan
    frame.loc[0, "income"] = 1e7
    return frame


def command(method="kmeans", scale="auto", labels=None, drop=()):
    frame = mixed()
    if labels is not None:
        frame["label"] = labels
    asked = {"labels": "label"} if labels is not None else {"k": 3, "method": method}
    return explain_table(Table(frame), scale=scale, drop=drop, **asked).explanation


def model(clustering, **rows):
    X = numbers(**rows)
    return wc.explain(clustering.fit(X), X)


def k_means(k=3):
    return KMeans(k, n_init=1, random_state=0)


def encoded(transformer, frame=None):
    """k-means behind steps that encode columns."""
    frame = mixed() if frame is None else frame
    return wc.explain(make_pipeline(transformer, k_means()).fit(frame), frame)


def noisy_labels(rows):
    """Clusters, and rows far from all of them."""
    labels = np.arange(rows) % 3
    labels[::11] = -1
    return labels


def with_noise(pipeline=None):
    X = numbers(spread=6.0)
    X[::11] += 12 * np.random.default_rng(1).normal(size=X[::11].shape)
    if pipeline is None:
        return wc.explain(noisy_labels(len(X)), X)
    return wc.explain(pipeline.fit(X), X)


def one_hot(**settings):
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(**settings), ["town", "plan", "member"]),
    )
    return lambda: encoded(steps)


def bent(twice=False):
    X = np.abs(numbers()) + 0.1
    steps = make_column_transformer(
        (FunctionTransformer(np.log1p), [0]),
        (make_pipeline(QuantileTransformer(n_quantiles=40), StandardScaler()), [1]),
        (MinMaxScaler(feature_range=(-2, 2), clip=True), [2]),
        (Binarizer(threshold=1.0), [3]),
    )
    if twice:
        others = make_pipeline(StandardScaler(), SimpleImputer(), FunctionTransformer(np.exp))
        steps.transformers.append(("again", others, [0, 1]))
    return wc.explain(make_pipeline(steps, k_means()).fit(X), X)


def constant_column():
    X = numbers()
    X[:, 1] = 7.0
    return wc.explain(make_pipeline(StandardScaler(), k_means()).fit(X), X)


def far_from_zero():
    X = numbers() + np.array([1e6, -1e5, 0.0, 50.0])
    return wc.explain(k_means().fit(X), X)


def flags():
    """False and True, which k-means reads as they are."""
    frame = mixed()[["visits", "member"]].assign(often=lambda rows: rows["visits"] > 7)
    return wc.explain(k_means().fit(frame), frame)


def only_categories():
    frame = mixed()[["town", "plan", "member"]].fillna({"town": "none"})
    return encoded(make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()), frame)


def mixture(kind):
    return GaussianMixture(3, covariance_type=kind, reg_covar=1e-2, random_state=0)


FLAT = {
    "k-means": lambda: model(k_means()),
    "two clusters": lambda: model(k_means(2), k=2),
    "thirty clusters": lambda: model(k_means(30), k=30, n_rows=300, columns=5),
    "one column": lambda: model(k_means(), columns=1),
    "constant column": constant_column,
    "far from zero": far_from_zero,
    "mini-batch": lambda: model(MiniBatchKMeans(3, n_init=1, random_state=0)),
    "mean shift": lambda: model(MeanShift(bandwidth=4.0, bin_seeding=True)),
    "Birch": lambda: model(Birch(n_clusters=3, threshold=1.5)),
    "EM": lambda: model(ClusteringModuleEM(3, random_state=0)),
    "scaled": lambda: model(make_pipeline(StandardScaler(), k_means())),
    "PCA": lambda: model(make_pipeline(StandardScaler(), PCA(2), k_means())),
    "whitened": lambda: model(make_pipeline(PCA(3, whiten=True), StandardScaler(), k_means())),
    "SVD": lambda: model(make_pipeline(TruncatedSVD(2), k_means())),
    "subspace": lambda: model(SubKMeans(3, random_state=0)),
    "soft": lambda: model(SoftKMeans(3, random_state=0)),
    "absolute": lambda: model(SoftKMeans(3, decision="absolute", threshold=0.8, random_state=0)),
    "tied": lambda: model(mixture("tied")),
    "command line": command,
    "robust": lambda: command(scale="robust"),
    "ranks": lambda: command(scale="rank", drop=["visits"]),
    "not scaled": lambda: command(scale="none"),
    "soft command line": lambda: command("soft", "standard"),
    "drop": one_hot(drop="first"),
    "rare": one_hot(min_frequency=15, handle_unknown="infrequent_if_exist"),
    "rare or unknown": one_hot(max_categories=3, handle_unknown="ignore"),
    "bent": bent,
    "counts": lambda: counts(),
    "flags": lambda: flags(),
}
OTHERS = {
    "ranks with ties": lambda: command(scale="rank"),
    "columns used twice": lambda: bent(twice=True),
    "paper's rule": lambda: wc.explain(k_means().fit(numbers()), numbers(), rule="min_take_most"),
    "kernel": lambda: model(KernelKMeans(3, random_state=0)),
    "kernel in feature space": lambda: model(KernelKMeans(3, algorithm="standard", random_state=0)),
    "kernel command line": lambda: command("kernel"),
    "kernel behind PCA": lambda: model(make_pipeline(PCA(2), KernelKMeans(3, random_state=0))),
    "threshold": lambda: wc.explain(KernelKMeans(3, random_state=0).fit(numbers()), numbers(), threshold=0.9),
    "labels": lambda: command(labels=np.arange(90) % 3),
    "labels with noise": with_noise,
    "labels with noise in a table": lambda: command(labels=noisy_labels(90)),
    "noise behind PCA": lambda: with_noise(make_pipeline(StandardScaler(), PCA(2), DBSCAN(0.8))),
    "orphans": lambda: with_noise(MeanShift(bandwidth=4.0, bin_seeding=True, cluster_all=False)),
    "full": lambda: model(mixture("full")),
    "diagonal": lambda: model(mixture("diag")),
    "spherical": lambda: model(mixture("spherical")),
    "Bayesian": lambda: model(BayesianGaussianMixture(n_components=3, random_state=0)),
    "diagonal behind a scaler": lambda: model(make_pipeline(StandardScaler(), mixture("diag"))),
    "full behind PCA": lambda: model(make_pipeline(PCA(2), mixture("full"))),
}
MODELS = FLAT | OTHERS | {"categories": lambda: only_categories()}


@pytest.fixture(scope="module")
def explained():
    """Explanations by name, each made once."""
    made = {}

    def get(name):
        if name not in made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of surrogates that are not sure, and the like
                made[name] = MODELS[name]()
        return made[name]

    return get


def cell(value):
    """A value as the page has it."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is None or value != value else value


def cells(rows):
    table = rows.astype(object) if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows, object))
    return [[cell(value) for value in row] for row in table.itertuples(index=False, name=None)]


def open_columns(spec):
    """Columns in which the model takes gaps, and whatever else was never seen."""
    refused = {one["source"] for one in spec["encoded"] if not _takes_gaps(one.get("steps", []))}
    return set(range(spec["columns"])) - refused


def _takes_gaps(steps):
    known = any("known" in step for step in steps)
    return not known and any({"fill", "one_of", "none_of", "missing"} & set(step) for step in steps)


def settings(ex, spec, generator, count=SETTINGS):
    """Rows that a reader could make: values of other rows, others near and far, gaps, unseen categories."""
    gaps = open_columns(spec)
    frame = ex.data if isinstance(ex.data, pd.DataFrame) else pd.DataFrame(ex.data)
    columns = {}
    for position, name in enumerate(frame.columns):
        known = frame[name].to_numpy()
        values = known[generator.integers(0, len(frame), count)]
        lot = generator.random(count)
        if known.dtype.kind == "f":
            spread = np.nanstd(known) + 0.1
            steps = spread * generator.normal(size=count) * np.where(lot < 0.05, 30.0, 1.0)
            values = np.where(lot < 0.4, values + steps, values)
            values = np.abs(values) if np.nanmin(known) >= 0 else values
            if position in gaps:
                values[lot > 0.93] = np.nan
        elif known.dtype.kind == "O" and position in gaps:
            values[lot < 0.1] = "Mars"
            values[lot > 0.93] = np.nan
        columns[name] = pd.Series(values, dtype=frame[name].dtype)
    found = pd.DataFrame(columns)
    return found if isinstance(ex.data, pd.DataFrame) else found.to_numpy()


@pytest.fixture(scope="module")
def ask():
    """A function that asks the engine, in one process for all tests."""
    script = FRONTEND / "tests" / "check_engine.mjs"
    node = subprocess.Popen(["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def sent(job):
        node.stdin.write(json.dumps(job, allow_nan=False) + "\n")
        node.stdin.flush()
        answer = node.stdout.readline()
        assert answer, "the engine broke down: see what node wrote to the error output"
        return json.loads(answer)

    def asked(ex=None, questions=(), changes=(), alone=(), pairs=(), wholly=(), polyhedra=None, order=()):
        if polyhedra is not None:
            return sent({"polyhedra": polyhedra})
        spec, arrays = engine_spec(ex, order)
        job = {
            "spec": spec,
            "arrays": {name: base64.b64encode(array.tobytes()).decode() for name, array in arrays.items()},
            "questions": list(questions),
            "changes": list(changes),
            "alone": list(alone),
            "pairs": list(pairs),
            "wholly": list(wholly),
        }
        return sent(job)

    yield asked
    node.stdin.close()
    node.stdout.close()
    node.wait()


def answers_of_python(net, rows, cluster, against):
    """`explain`, and the evidence of every cluster."""
    ids = net.clusters
    asked = {} if cluster is None else {"cluster": ids[cluster]}
    asked |= {} if against is None else {"against": ids[against]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # categories that were never seen
        found = wc.explain(net, rows, **asked)
        return found, net.scores(rows)


def worst_error(ex, answers, scores, ids):
    """The largest difference of any number, by the size of the row's evidence; clusters must be the same."""
    assert [one.get("error") for one in answers] == [None] * len(answers)
    for name, wanted in (("assigned", ex.assigned), ("cluster", ex.clusters), ("competitor", ex.competitors)):
        assert [ids[one[name]] for one in answers] == wanted.tolist()
    size = np.maximum(np.abs(ex.evidence), np.abs(ex.explained)) + 1e-12
    worst = 0.0
    pairs = {
        "values": ex.values,
        "base": ex.base_values[:, None],
        "evidence": ex.evidence[:, None],
        "explained": ex.explained[:, None],
        "scores": scores,
    }
    for name, wanted in pairs.items():
        given = np.array([one[name] for one in answers], dtype=float).reshape(wanted.shape)
        # A single column may count more than all of them together.
        largest = np.maximum(size, np.abs(wanted).max(axis=1))
        worst = max(worst, float((np.abs(given - wanted) / largest[:, None]).max()))
    return worst


# --- parity ---------------------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("name", MODELS)
def test_the_page_explains_as_python_does(explained, ask, name):
    ex = explained(name)
    net = ex.origin.network
    spec, _ = engine_spec(ex)
    assert "why_not" not in spec
    generator = np.random.default_rng(list(MODELS).index(name))
    rows = settings(ex, spec, generator)
    clusters = generator.integers(0, len(net.clusters), len(rows))
    others = (clusters + generator.integers(1, len(net.clusters), len(rows))) % len(net.clusters)
    asked = [(None, None), (clusters, None), (clusters, others)]
    questions = [
        [row, None if one is None else int(one[place]), None if other is None else int(other[place])]
        for one, other in asked
        for place, row in enumerate(cells(rows))
    ]
    found = ask(ex, questions)
    for place, (one, other) in enumerate(asked):
        part = found["explained"][place * len(rows) : (place + 1) * len(rows)]
        wanted, scores = answers_of_python(net, rows, one, other)
        chosen = np.ones(len(rows), dtype=bool)
        if spec["rule"] == "min_take_most" and other is None:
            # The page explains a row's own cluster by the explanation's rule, however it was asked for.
            if one is None:
                wanted = wc.explain(net, rows, rule="min_take_most")
            else:
                chosen = wanted.assigned != wanted.clusters
        part = [answer for answer, taken in zip(part, chosen, strict=True) if taken]
        assert worst_error(wanted[chosen], part, scores[chosen], net.clusters.tolist()) < 1e-9


@needs_node
def test_a_row_of_the_table_is_explained_as_it_was(explained, ask):
    ex = explained("command line")
    found = ask(ex, [[row, None, None] for row in cells(ex.data)])
    assert worst_error(ex, found["explained"], ex.scores(), ex.origin.network.clusters.tolist()) < 1e-9


@needs_node
def test_clusters_are_counted_as_the_page_counts_them(explained, ask):
    ex = explained("labels with noise")
    net, rows = ex.origin.network, cells(ex.data)[:40]
    order = ["a label that nobody knows", *net.clusters.tolist()[:0:-1]]  # one is left out: it comes last
    ids = [*order, net.clusters[0].item()]
    assert engine_spec(ex, order)[0]["clusters"] == ids
    questions = [[row, 2, 1 + 3 * (place % 2)] for place, row in enumerate(rows)]
    found = ask(ex, [*questions, [rows[0], 0, None]], order=order)["explained"]
    against = np.array([ids[other] for _, _, other in questions])
    wanted = wc.explain(net, np.asarray(ex.data)[:40], cluster=ids[2], against=against)
    scores = net.scores(np.asarray(ex.data)[:40])[:, [net.clusters.tolist().index(one) for one in ids[1:]]]
    for one in found[:40]:
        assert one["scores"].pop(0) is None
    assert worst_error(wanted, found[:40], scores, ids) < 1e-9
    assert found[40]["error"] == "The model does not know this cluster."
    flat = explained("k-means")
    ids = flat.origin.network.clusters.tolist()[::-1]
    row = next(place for place in range(len(flat)) if flat.assigned[place] == ids[0])
    (change,) = ask(flat, changes=[[cells(flat.data)[row], [], 2]], order=ids)["changed"]
    assert abs(change["distance"] - flat.smallest_change(row, to=ids[2]).distance) < 1e-8
    assert change["to"] == 2


@needs_node
def test_categories_may_be_written_as_texts(explained, ask):
    """A page holds yes, no and numbers that are categories as Python writes them."""
    ex = explained("command line")
    texts = ex.data.assign(member=ex.data["member"].map(str))
    found = ask(ex, [[row, None, None] for row in cells(texts)])
    assert worst_error(ex, found["explained"], ex.scores(), ex.origin.network.clusters.tolist()) < 1e-9
    frame = pd.DataFrame(
        {"size": np.arange(60) % 4 * 1.5, "flag": np.arange(60) % 3 == 0, "x": numbers(n_rows=60)[:, 0]}
    )
    steps = make_column_transformer((OneHotEncoder(), ["size"]), remainder="passthrough")
    ex = encoded(steps, frame)
    texts = frame.assign(size=frame["size"].map(str), flag=frame["flag"].map(str))
    found = ask(ex, [[row, None, None] for row in cells(texts)])
    assert worst_error(ex, found["explained"], ex.scores(), ex.origin.network.clusters.tolist()) < 1e-9


@needs_node
@pytest.mark.parametrize("name", ["k-means", "PCA", "soft", "full", "labels with noise", "kernel"])
def test_rows_far_outside(explained, ask, name):
    ex = explained(name)
    net = ex.origin.network
    rows = np.asarray(ex.data)[:20] * np.logspace(2, 8, 20)[:, None]
    found = ask(ex, [[row, None, None] for row in cells(rows)])
    wanted, scores = answers_of_python(net, rows, None, None)
    assert worst_error(wanted, found["explained"], scores, net.clusters.tolist()) < 1e-6


@needs_node
def test_rows_on_a_border_belong_to_the_first_cluster(ask):
    """Whole numbers, so that both sides are equal to the last bit: at a corner of four, and at edges."""
    X = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 4.0]])
    ex = wc.explain(KMeans(4, init=X, n_init=1).fit(X), X)
    net, rows = ex.origin.network, np.array([[2.0, 2.0], [2.0, 0.0], [2.0, 5.0], [4.0, 2.0], [1.0, 2.0]])
    for cluster in (None, *range(4)):
        found = ask(ex, [[row, cluster, None] for row in cells(rows)])
        given = None if cluster is None else np.full(len(rows), cluster)
        wanted, scores = answers_of_python(net, rows, given, None)
        assert worst_error(wanted, found["explained"], scores, net.clusters.tolist()) < 1e-9
    assert found["explained"][0]["evidence"] == 0


@needs_node
def test_what_cannot_be_computed_is_told(explained, ask):
    ex = explained("drop")
    row = cells(ex.data)[1]
    changed = [{0: None}, {1: "many"}, {3: "Mars"}]
    rows = [[change.get(place, value) for place, value in enumerate(row)] for change in changed]
    found = ask(ex, [[one, None, None] for one in rows])
    told = [(one.get("error"), one.get("column")) for one in found["explained"]]
    assert told == [
        (None, None),  # a gap of this column is filled
        ("The model needs a number here.", 1),
        ("The model does not know this category.", 3),
    ]
    rows = [[None, 0.0, 0.0, 0.0], [1e308, 1e308, 1e308, 0.0]]
    ex = explained("k-means")
    questions = [[rows[0], None, None], [rows[1], None, None], [cells(ex.data)[0], 1, 1]]
    found = ask(ex, questions)
    assert found["explained"] == [
        {"error": "The model needs a value here.", "column": 0},
        {"error": "These numbers are too large for the model.", "column": None},
        {"error": "A cluster does not compete with itself.", "column": None},
    ]


# --- the smallest change --------------------------------------------------------------------------


def held_fixed(ex):
    """Columns that Python would try value by value, which the page does not change with others."""
    net = ex.origin.network
    row = Changeable(net, net.match(ex.origin.table), 0, Asked())
    return [column for column, kind in row.kinds.items() if kind == "choice" or column in row.flags]


@needs_node
@pytest.mark.parametrize("name", FLAT)
def test_the_page_changes_rows_as_python_does(explained, ask, name):
    ex = explained(name)
    spec, _ = engine_spec(ex)
    net, generator = ex.origin.network, np.random.default_rng(1)
    choices, asked = held_fixed(ex), []
    # Python looks for values of bent columns step by step, which takes long.
    count = 2 if spec["change"]["bent"] else 4 if isinstance(ex.data, pd.DataFrame) else 10
    for row in generator.choice(len(ex), count, replace=False):
        others = [one for one in range(len(net.clusters)) if net.clusters[one] != ex.assigned[row]]
        for to in (None, int(generator.choice(others))):
            free = [column for column in range(spec["columns"]) if column not in choices]
            fixed = [column for column in free if generator.random() < 0.2]
            asked.append((int(row), [] if generator.random() < 0.5 else fixed, to))
    rows = cells(ex.data)
    found = ask(ex, changes=[[rows[row], fixed, to] for row, fixed, to in asked])
    answered = 0
    for (row, fixed, to), answer in zip(asked, found["changed"], strict=True):
        goal = None if to is None else net.clusters[to]
        try:
            wanted = ex.smallest_change(row, to=goal, fixed=[*choices, *fixed])
        except ValueError:
            assert "why" in answer, (row, fixed, to)
            continue
        assert "distance" in answer, (row, fixed, to, answer)
        answered += 1
        assert net.clusters[answer["to"]] == wanted.to
        assert abs(answer["distance"] - wanted.distance) <= 1e-6 * wanted.distance + 1e-9
        names = [ex.feature_names[one["column"]] for one in answer["changes"]]
        assert set(names) == set(wanted.changes["column"])
        point = cells(wanted.point)[0]
        for before, now, one in zip(rows[row], answer["point"], point, strict=True):
            if isinstance(one, float):
                assert abs(now - one) <= 1e-6 * max(abs(one), abs(before or 0.0), 1.0)
            else:
                assert now == one
    assert answered >= count


def counts():
    """Whole numbers, some of them limited, and others."""
    generator = np.random.default_rng(3)
    group = np.arange(120) % 3
    frame = pd.DataFrame(
        {
            "visits": generator.poisson(2 + 5 * group),
            "absent": np.r_[generator.poisson(3 + 2 * group[:-1]), 75],
            "steps": (1000 * np.exp(generator.normal(size=120) + 0.5 * group)).astype(int),
            "height": 1.5 + 0.1 * group + 0.1 * generator.normal(size=120),
        }
    )
    steps = make_column_transformer(
        (MinMaxScaler(feature_range=(-2, 2), clip=True), ["absent"]),
        (make_pipeline(FunctionTransformer(np.log1p), StandardScaler()), ["steps"]),
        (StandardScaler(), ["visits", "height"]),
    )
    return wc.explain(make_pipeline(steps, k_means()).fit(frame), frame)


WITHIN = [
    "k-means", "thirty clusters", "far from zero", "Birch", "PCA", "whitened", "soft", "tied", "command line",
    "robust", "ranks", "bent", "counts", "not scaled", "drop", "rare", "rare or unknown", "flags",
]  # fmt: skip


def wanted_of_python(ex, row, **asked):
    try:
        return ex.smallest_change(row, bounds="data", **asked)
    except ValueError:
        return None


def changed_as_python_does(ex, answer, wanted):
    """The page's answer is Python's, and its rounded numbers lead to the same cluster, within the data."""
    assert ("distance" in answer) == (wanted is not None)
    if wanted is None:
        return False
    assert ex.origin.network.clusters[answer["to"]] == wanted.to
    assert abs(answer["distance"] - wanted.distance) <= 1e-9 * max(1.0, wanted.distance)
    for now, one in zip(answer["point"], cells(wanted.point)[0], strict=True):
        assert now == one or abs(now - one) <= 1e-9 * max(abs(one), 1.0)
    told, (spec, _) = answer["rounded"], engine_spec(ex)
    assert told["landed"] == told["to"] == answer["to"]
    for one in told["changes"]:
        assert one["to"] != one["from"]
        if str(one["column"]) in spec["change"]["choices"]:
            assert one["to"] in spec["change"]["choices"][str(one["column"])]
        else:
            low, high = spec["ranges"][str(one["column"])]
            assert low <= one["to"] <= high
    return True


@needs_node
@pytest.mark.parametrize("name", WITHIN)
def test_changes_within_the_data_and_of_one_column_are_pythons(explained, ask, name):
    ex = explained(name)
    spec, _ = engine_spec(ex)
    net, generator = ex.origin.network, np.random.default_rng(2)
    choices, rows = held_fixed(ex), cells(ex.data)
    assert sorted(choices) == sorted(int(column) for column in spec["change"]["choices"])
    columns = sorted({int(column) for column in spec["ranges"]} | set(choices))
    together, alone = [], []
    for row in generator.choice(len(ex), 2 if spec["change"]["bent"] else 5, replace=False).tolist():
        others = [one for one in range(len(net.clusters)) if net.clusters[one] != ex.assigned[row]]
        for to in (None, int(generator.choice(others))):
            together.append((row, to))
            alone += [(row, column, to) for column in columns]
    found = ask(
        ex,
        changes=[[rows[row], [], to, True] for row, to in together],
        alone=[[rows[row], column, to] for row, column, to in alone],
    )
    goal = lambda to: None if to is None else net.clusters[to]  # noqa: E731
    told = [
        changed_as_python_does(ex, answer, wanted_of_python(ex, row, to=goal(to), fixed=choices))
        for (row, to), answer in zip(together, found["changed"], strict=True)
    ]
    assert any(told)
    for (row, column, to), answer in zip(alone, found["alone"], strict=True):
        fixed = [one for one in range(spec["columns"]) if one != column]
        whole = [column] if column in spec["whole"] else []
        wanted = wanted_of_python(ex, row, to=goal(to), fixed=fixed, whole=whole)
        if changed_as_python_does(ex, answer, wanted) and whole:
            assert answer["point"][column] == round(answer["point"][column])


@needs_node
def test_every_category_and_flag_is_tried_of_every_row(explained, ask):
    """As texts, which the page holds; somewhere a category alone leads elsewhere, and yes or no."""
    for name, wanted in (
        ("command line", {"town"}),
        ("flags", {"often"}),
        ("categories", {"town", "member"}),
    ):
        ex = explained(name)
        choices = held_fixed(ex)
        texts = ex.data.astype({ex.feature_names[column]: object for column in choices})
        texts = texts.map(lambda one: str(one) if isinstance(one, (bool, np.bool_)) else one)
        asked = [(row, column) for row in range(len(ex)) for column in choices]
        rows, led = cells(texts), set()
        found = ask(ex, alone=[[rows[row], column, None] for row, column in asked])["alone"]
        for (row, column), answer in zip(asked, found, strict=True):
            fixed = [one for one in range(ex.shape[1]) if one != column]
            change = wanted_of_python(ex, row, fixed=fixed)
            assert ("distance" in answer) == (change is not None)
            if change is not None:
                assert abs(answer["distance"] - change.distance) < 1e-9
                assert answer["changes"][0]["to"] == change.changes["to"][0]
                assert ex.origin.network.clusters[answer["to"]] == change.to
                led.add(ex.feature_names[column])
        assert led >= wanted
    (none,) = ask(ex, changes=[[rows[0], [], None]])["changed"]
    assert none["why"] == "The model reads no column of numbers that could change."


@needs_node
def test_several_numbers_move_in_whole_steps_where_columns_are_whole(explained, ask):
    """What is shown leads where it says, most often in whole numbers."""
    ex = explained("command line")
    spec, _ = engine_spec(ex)
    rows = cells(ex.data)[::7]
    found = [one for one in ask(ex, wholly=[[row, None] for row in rows])["wholly"] if "to" in one]
    assert len(found) > 10
    assert all(one["landed"] == one["to"] == one["wanted"] for one in found)
    moved = [[step for step in one["changes"] if step["column"] in spec["whole"]] for one in found]
    whole = [all(float(step["to"]).is_integer() for step in steps) for steps in moved]
    assert any(moved) and np.mean(whole) > 0.8


@needs_node
@pytest.mark.parametrize("name", ["k-means", "PCA", "counts", "command line"])
def test_the_nearest_two_columns_are_pythons(explained, ask, name):
    """Of all pairs, each asked of Python; whole numbers lead to the same cluster."""
    ex = explained(name)
    spec, _ = engine_spec(ex)
    free = sorted({*spec["change"]["numbers"], *map(int, spec["change"]["bent"])})
    asked = [(row, held) for row in range(0, len(ex), 23) for held in ([], free[:1])]
    rows = cells(ex.data)
    found = ask(ex, pairs=[[rows[row], held, None] for row, held in asked])["pairs"]
    for (row, held), answer in zip(asked, found, strict=True):
        told = {
            pair: wanted_of_python(ex, row, fixed=[one for one in range(ex.shape[1]) if one not in pair])
            for pair in combinations([one for one in free if one not in held], 2)
        }
        distances = [one.distance for one in told.values() if one is not None]
        assert ("distance" in answer) == bool(distances)
        if not distances:
            continue
        assert abs(answer["distance"] - min(distances)) < 1e-9
        whole = answer["whole"]
        assert whole["landed"] == whole["to"] == answer["to"]
        assert len(whole["changes"]) <= 2
        assert not {one["column"] for one in whole["changes"]} & set(held)
    assert any("distance" in answer for answer in found)


def test_ranges_and_whole_columns_are_those_of_all_rows(explained):
    ex = explained("counts")
    spec, _ = engine_spec(ex)
    names = {str(place): name for place, name in enumerate(ex.feature_names)}
    assert {names[column]: ends for column, ends in spec["ranges"].items()} == {
        name: [ex.data[name].min(), ex.data[name].max()] for name in ex.data
    }
    assert [ex.feature_names[column] for column in spec["whole"]] == ["visits", "absent", "steps"]


@needs_node
def test_the_page_leaves_no_column_below_zero(ask):
    generator = np.random.default_rng(0)
    X = generator.poisson(1.0, size=(90, 4)) + 3.0 * (generator.random(size=(90, 1)) < 0.5)
    X = np.where(generator.random(size=X.shape) < 0.3, 0.0, X)
    X[:, 3] -= 1.0
    ex = wc.explain(KMeans(3, n_init=3, random_state=0).fit(X), X)
    assert engine_spec(ex)[0]["change"]["never_negative"] == [0, 1, 2]
    found = ask(ex, changes=[[row, [], None] for row in cells(X)])
    together = ex.smallest_changes()
    held = (X[:, :3] == 0) & (together.points[:, :3] == 0)  # some would have gone below
    assert held.sum() > 5
    for answer, point, distance in zip(found["changed"], together.points, together.distances, strict=True):
        assert abs(answer["distance"] - distance) < 1e-6
        assert np.abs(np.array(answer["point"]) - point).max() < 1e-6


@needs_node
def test_the_shortest_way_into_polyhedra_is_pythons(ask):
    """Random sides and boxes, some of them empty, some of whose sides must be let go again on the way."""
    generator = np.random.default_rng(0)
    asked, pieces = [], []
    for _ in range(400):
        width, sides = generator.integers(1, 7), generator.integers(1, 14)
        normals, levels = generator.normal(size=(sides, width)), generator.normal(0.3, 1.0, size=sides)
        low = np.where(generator.random(width) < 0.5, -np.inf, generator.normal(-0.5, 0.5, size=width))
        high = np.where(
            generator.random(width) < 0.5, np.inf, low.clip(-1) + generator.exponential(size=width)
        )
        pieces.append((Piece(normals, levels), (low, high)))
        ends = [[float(end) if np.isfinite(end) else None for end in side] for side in (low, high)]
        asked.append([normals.tolist(), levels.tolist(), *ends])
    empty = 0
    for answer, (piece, box) in zip(ask(polyhedra=asked), pieces, strict=True):
        wanted = nearest(piece, box)
        empty += wanted is None
        assert (answer is None) == (wanted is None)
        if wanted is not None:
            assert np.abs(np.array(answer) - wanted).max() < 1e-8 * max(1.0, np.abs(wanted).max())
    assert 50 < empty < 350


@needs_node
def test_changes_that_there_are_not(explained, ask):
    ex = explained("k-means")
    row = cells(ex.data)[0]
    own = ex.origin.network.clusters.tolist().index(ex.assigned[0])
    other = (own + 1) % 3
    found = ask(ex, changes=[[row, [], own], [row, [0, 1, 2, 3], other]])
    assert [one["why"] for one in found["changed"]] == [
        "The row is in this cluster already.",
        "All columns of numbers that could change are held fixed.",
    ]


def test_bent_borders_have_no_smallest_change(explained):
    for name in ("kernel", "full", "labels with noise"):
        spec, _ = engine_spec(explained(name))
        assert "change" not in spec
        assert spec["why_no_change"].startswith("Borders between its clusters are bent")


# --- what the page cannot compute -----------------------------------------------------------------


def wide():
    X = np.random.default_rng(0).normal(size=(60, MOST_NUMBERS // 4))
    return wc.explain(KMeans(5, n_init=1, max_iter=2, random_state=0).fit(X), X)


def binned():
    X = numbers()
    bins = KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")
    return wc.explain(make_pipeline(bins, k_means()).fit(X), X)


def loaded(folder):
    path = folder / "explanation.npz"
    wc.save(model(k_means()), path)
    return wc.load(path)


WHY_NOT = {
    "tree": lambda: model(BisectingKMeans(3, random_state=0)),
    "divided by its length": lambda: model(make_pipeline(Normalizer(), k_means())),
    "sparse": lambda: wc.explain(
        k_means().fit(sp.csr_array(np.abs(numbers()))), sp.csr_array(np.abs(numbers()))
    ),
    "numbers, and a page": wide,
    "KBinsDiscretizer": binned,
    "another question": lambda: wc.explain(k_means().fit(numbers()), numbers(), cluster=1),
    "groups": lambda: wc.explain(k_means().fit(numbers()), numbers(), groups={"both": [0, 1]}),
    "the method 'sensitivity'": lambda: wc.explain(k_means().fit(numbers()), numbers(), method="sensitivity"),
    "texts, images or the like": lambda: wc.explain(k_means().fit(numbers()), numbers().reshape(-1, 2, 2)),
    "normal distribution": lambda: model(
        make_pipeline(QuantileTransformer(n_quantiles=9, output_distribution="normal"), k_means())
    ),
}


@pytest.mark.parametrize("part", WHY_NOT)
def test_the_page_says_why_it_cannot_compute(part):
    spec, arrays = engine_spec(WHY_NOT[part]())
    assert list(spec) == ["why_not"]
    assert arrays == {}
    assert part in spec["why_not"]
    assert spec["why_not"][0].isupper()
    assert spec["why_not"].endswith(".")


def test_a_deep_network_stays_in_python():
    ex = model(k_means())
    net = ex.origin.network
    features = replace(net.features, trunk=SimpleNamespace(n_outputs=4))
    deep = replace(ex, origin=replace(ex.origin, network=replace(net, features=features)))
    assert "deep network" in engine_spec(deep)[0]["why_not"]


def test_a_loaded_explanation_has_no_model(tmp_path):
    spec, _ = engine_spec(loaded(tmp_path))
    assert "loaded from a file" in spec["why_not"]


# --- the built engine -----------------------------------------------------------------------------


@needs_node
@pytest.mark.skipif(not VITE.exists(), reason="the page's tools are not installed: npm ci in frontend/")
def test_the_engine_in_the_repository_is_built_from_its_source(tmp_path):
    options = ["--config", "vite.engine.config.ts", "--outDir", tmp_path, "--logLevel", "error"]
    subprocess.run([VITE, "build", *options], cwd=FRONTEND, check=True)
    assert (tmp_path / "engine.mjs").read_text() == ENGINE.read_text(), (
        "run `npm run engine` in frontend/ and commit tests/engine.mjs"
    )
