"""The page's own arithmetic against Python's: node runs what the page runs, on the same rows and questions."""

import base64
import json
import shutil
import subprocess
import warnings
from pathlib import Path

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
from whyclust.cluster import ClusteringModuleEM, KernelKMeans, SoftKMeans, SubKMeans
from whyclust.command.run import explain_table
from whyclust.report.engine import MOST_NUMBERS, engine_spec
from whyclust.tables import Table

FRONTEND = Path(__file__).parents[1] / "frontend"
ENGINE = FRONTEND / "tests" / "engine.mjs"
SETTINGS = 200
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="the page's engine runs in node")


# --- models and rows ------------------------------------------------------------------------------


def numbers(seed=0, n_rows=120, columns=4, k=3, spread=3.0):
    generator = np.random.default_rng(seed)
    centers = spread * generator.normal(size=(k, columns))
    return centers[np.arange(n_rows) % k] + generator.normal(size=(n_rows, columns))


def mixed(seed=0, n_rows=150):
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


def command(method="kmeans", scale="auto", labels=None):
    frame = mixed()
    if labels is not None:
        frame["label"] = labels
    asked = {"labels": "label"} if labels is not None else {"k": 3, "method": method}
    return explain_table(Table(frame), scale=scale, **asked).explanation


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


def bent():
    X = np.abs(numbers()) + 0.1
    steps = make_column_transformer(
        (FunctionTransformer(np.log1p), [0]),
        (make_pipeline(QuantileTransformer(n_quantiles=40), StandardScaler()), [1]),
        (MinMaxScaler(feature_range=(-2, 2), clip=True), [2]),
        (Binarizer(threshold=1.0), [3]),
        (make_pipeline(StandardScaler(), SimpleImputer(), FunctionTransformer(np.exp)), [0, 1]),
    )
    return wc.explain(make_pipeline(steps, k_means()).fit(X), X)


def constant_column():
    X = numbers()
    X[:, 1] = 7.0
    return wc.explain(make_pipeline(StandardScaler(), k_means()).fit(X), X)


def far_from_zero():
    X = numbers() + np.array([1e6, -1e5, 0.0, 50.0])
    return wc.explain(k_means().fit(X), X)


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
    "mean shift": lambda: model(MeanShift(bandwidth=4.0)),
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
    "ranks": lambda: command(scale="rank"),
    "not scaled": lambda: command(scale="none"),
    "soft command line": lambda: command("soft", "standard"),
    "drop": one_hot(drop="first"),
    "rare": one_hot(min_frequency=45, handle_unknown="infrequent_if_exist"),
    "rare or unknown": one_hot(max_categories=3, handle_unknown="ignore"),
    "bent": bent,
}
OTHERS = {
    "paper's rule": lambda: wc.explain(k_means().fit(numbers()), numbers(), rule="min_take_most"),
    "kernel": lambda: model(KernelKMeans(3, random_state=0)),
    "kernel in feature space": lambda: model(KernelKMeans(3, algorithm="standard", random_state=0)),
    "kernel command line": lambda: command("kernel"),
    "kernel behind PCA": lambda: model(make_pipeline(PCA(2), KernelKMeans(3, random_state=0))),
    "threshold": lambda: wc.explain(
        KernelKMeans(3, random_state=0).fit(numbers()), numbers(), threshold=0.9
    ),
    "labels": lambda: command(labels=np.arange(150) % 3),
    "labels with noise": with_noise,
    "labels with noise in a table": lambda: command(labels=noisy_labels(150)),
    "noise behind PCA": lambda: with_noise(make_pipeline(StandardScaler(), PCA(2), DBSCAN(0.8))),
    "orphans": lambda: with_noise(MeanShift(bandwidth=4.0, cluster_all=False)),
    "full": lambda: model(mixture("full")),
    "diagonal": lambda: model(mixture("diag")),
    "spherical": lambda: model(mixture("spherical")),
    "Bayesian": lambda: model(BayesianGaussianMixture(3, random_state=0)),
    "diagonal behind a scaler": lambda: model(make_pipeline(StandardScaler(), mixture("diag"))),
    "full behind PCA": lambda: model(make_pipeline(PCA(2), mixture("full"))),
}
MODELS = FLAT | OTHERS


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


def ask(jobs, engine=ENGINE):
    """What the engine answers: jobs are (spec, arrays, questions, changes)."""
    models = [
        {
            "spec": json.loads(json.dumps(spec, allow_nan=False)),
            "arrays": {name: base64.b64encode(array.tobytes()).decode() for name, array in arrays.items()},
            "questions": questions,
            "changes": changes,
        }
        for spec, arrays, questions, changes in jobs
    ]
    run = subprocess.run(
        ["node", FRONTEND / "tests" / "check_engine.mjs", engine],
        input=json.dumps({"models": models}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


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
def test_the_page_explains_as_python_does(explained, name):
    ex = explained(name)
    net = ex.origin.network
    spec, arrays = engine_spec(ex)
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
    ((found),) = ask([(spec, arrays, questions, [])])
    for place, (one, other) in enumerate(asked):
        part = found["explained"][place * len(rows) : (place + 1) * len(rows)]
        wanted, scores = answers_of_python(net, rows, one, other)
        if spec["rule"] == "min_take_most" and one is None:
            wanted = wc.explain(net, rows, rule="min_take_most")
        error = worst_error(wanted, part, scores, net.clusters.tolist())
        assert error < 1e-9
