"""Baselines: every method on every kind of model, and each against its formula written out."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import generators
import whyclust as wc
from whyclust.baselines import METHODS, options_of
from whyclust.cluster import KernelKMeans, SoftKMeans
from whyclust.perturbing.imputation import KernelDensity

EXACT = 1e-10
NAMES = ["height", "weight", "age", "pulse"]
# Those that explain any model.
EVERYWHERE = [name for name, one in METHODS.items() if one.only_for is None]
RANDOM = [name for name in METHODS if "random_state" in options_of(name)]
NEED_SHAP = [name for name, one in METHODS.items() if one.needs == "shap"]


def blobs(n_points=60, n_features=4, seed=6):
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=2.0, size=(4, n_features))
    return middles[generator.integers(4, size=n_points)] + 0.6 * generator.normal(size=(n_points, n_features))


X = blobs()
K_MEANS = KMeans(4, n_init=2, random_state=0).fit(X)
FRAME = pd.DataFrame(X * [10, 1, 5, 2] + [170, 70, 40, 80], columns=NAMES).assign(
    colour=np.where(X[:, 0] > 1, "red", np.where(X[:, 1] > 0, "green", "blue"))
)


def text_pipeline():
    encoder = make_column_transformer((StandardScaler(), NAMES), (OneHotEncoder(), ["colour"]))
    return make_pipeline(encoder, KMeans(3, n_init=2, random_state=0)).fit(FRAME)


def noisy_labels():
    """Names of four clusters, and rows far away in none of them."""
    generator = np.random.default_rng(0)
    far = 40.0 * generator.choice([-1, 1], size=(12, 4)) + generator.normal(size=(12, 4))
    names = np.array(["ants", "bees", "cats", "dogs", "-1"])
    return names[np.append(K_MEANS.labels_, np.full(12, 4))], np.vstack([X, far])


LABELS, LABELLED = noisy_labels()
CASES = {
    "k-means": (K_MEANS, X),
    "text": (text_pipeline(), FRAME),
    "kernel": (KernelKMeans(3, n_support=4, n_init=2, max_iter=20, random_state=0).fit(X), X),
    "tree": (BisectingKMeans(4, random_state=0).fit(X), X),
    "mixture": (GaussianMixture(3, random_state=0).fit(X), X),
    "labels": (K_MEANS.labels_, X),
    "names and noise": (LABELS, LABELLED),
}
WITHOUT_CENTROIDS = {"kernel", "tree", "mixture", "names and noise"}
SMALL = {"shap": {"n_background": 5, "n_evaluations": 30}, "forest": {"n_estimators": 5}}


@pytest.fixture(autouse=True, scope="module")
def fit_surrogates_once():
    """The same labels and rows give the same surrogate: keep it."""
    from importlib import import_module

    explaining = import_module("whyclust.explaining.explain")

    kept, fit = {}, explaining.surrogate_of

    def surrogate_of(model, table, check):
        key = id(model), id(table)
        if key not in kept:
            kept[key] = fit(model, table, check), model, table
        return kept[key][0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explaining, "surrogate_of", surrogate_of)
        yield


def largest(found, wanted=0.0):
    difference = np.asarray(found, dtype=float) - wanted
    return np.abs(difference).max() / max(1.0, np.abs(wanted).max())


def needs(method):
    if method in NEED_SHAP:
        pytest.importorskip("shap")


# --------------------------------------------------------------------------- all methods, all models


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", EVERYWHERE)
def test_every_method_on_every_model(method, case):
    needs(method)
    model, table = CASES[case]
    options = SMALL.get(method, {})
    if method == "nca" and case in WITHOUT_CENTROIDS:
        with pytest.raises(TypeError, match="method='nca' compares centroids"):
            wc.explain(model, table, method=method)
        return
    state = generators.states()
    ex = wc.explain(model, table, method=method, **options)
    assert generators.states() == state
    neon = wc.explain(model, table)
    assert ex.shape == neon.shape == table.shape
    assert ex.values.dtype == np.float64
    assert np.isfinite(ex.values).all()
    assert ex.values.any()
    assert np.array_equal(ex.values.sum(axis=1) + ex.base_values, ex.explained)
    assert largest(ex.evidence, neon.evidence) < EXACT
    for name in ("clusters", "assigned", "competitors"):
        assert np.array_equal(getattr(ex, name), getattr(neon, name))
    assert ex.rule == method
    assert ex.feature_names == neon.feature_names
    measures = ex.provenance.measures  # of scores that know no clusters
    assert (measures is not None) == (method in ("random", "squared", "label_free", "sufficient"))
    assert ex.provenance == replace(neon.provenance, method=method, measures=measures)
    assert neon.provenance.method == "neon"
    again = wc.explain(model, table, method=method, **options)
    assert np.array_equal(again.values, ex.values)


@pytest.mark.parametrize("method", EVERYWHERE)
def test_a_chosen_cluster(method):
    needs(method)
    ex = wc.explain(K_MEANS, X, method=method, cluster=2, **SMALL.get(method, {}))
    assert (ex.clusters == 2).all()
    assert largest(ex.evidence, wc.neuralize(K_MEANS, X).evidence(X, cluster=2)) < EXACT
    inside = ex.assigned == 2
    assert 0 < inside.sum() < len(X)
    own = wc.explain(K_MEANS, X, method=method, **SMALL.get(method, {}))
    if method not in ("random", "squared", "label_free"):  # which know no clusters
        assert not np.array_equal(own.values[~inside], ex.values[~inside])
    if method in ("squared", "sensitivity", "ig", "nca", "pda_zero", "forest"):
        assert largest(own.values[inside], ex.values[inside]) < EXACT


@pytest.mark.parametrize("method", [name for name in EVERYWHERE if name not in ("forest", "tree")])
def test_one_competitor(method):
    """Against one competitor the others count for nothing: as if there were no others."""
    needs(method)
    options = SMALL.get(method, {})
    if method.startswith("pda"):
        options = {"on": "indicator"}
    ex = wc.explain(K_MEANS, X, method=method, cluster=2, against=0, **options)
    assert (ex.competitors == 0).all()
    pair = KMeans(2, n_init=1, init=K_MEANS.cluster_centers_[[2, 0]], max_iter=1).fit(X)
    pair.cluster_centers_ = K_MEANS.cluster_centers_[[2, 0]]
    wanted = wc.explain(pair, X, method=method, cluster=0, against=1, **options)
    assert largest(ex.values, wanted.values) < EXACT
    assert largest(ex.base_values, wanted.base_values) < EXACT


@pytest.mark.parametrize("method", ["forest", "tree"])
def test_a_forest_knows_no_pairs(method):
    needs(method)
    with pytest.raises(ValueError, match=r"against= was given with method='(forest|tree)'"):
        wc.explain(K_MEANS, X, method=method, cluster=2, against=0)


@pytest.mark.parametrize("method", EVERYWHERE)
def test_groups_and_names(method):
    needs(method)
    options = {**SMALL.get(method, {}), "method": method}
    plain = wc.explain(K_MEANS, X, feature_names=NAMES, **options)
    grouped = wc.explain(K_MEANS, X, feature_names=NAMES, groups={"body": ["height", "age"]}, **options)
    assert plain.feature_names == NAMES
    assert grouped.feature_names == ["body", "weight", "pulse"]
    assert largest(grouped.values[:, 0], plain.values[:, 0] + plain.values[:, 2]) < EXACT
    assert np.array_equal(grouped.values[:, 1:], plain.values[:, [1, 3]])
    assert largest(grouped.explained, plain.explained) < EXACT


@pytest.mark.parametrize("method", RANDOM)
def test_random_states(method):
    needs(method)
    options = {**SMALL.get(method, {}), "method": method}
    options |= {"on": "evidence"} if method == "pda_kde" else {}
    options |= {"n_permutations": 2} if method == "data_aware" else {}  # with more of them it is exact
    zero = wc.explain(K_MEANS, X, **options).values
    assert np.array_equal(zero, wc.explain(K_MEANS, X, random_state=0, **options).values)
    if method != "tree":  # which breaks ties at random only
        assert not np.array_equal(zero, wc.explain(K_MEANS, X, random_state=1, **options).values)
    for made in (np.random.default_rng, np.random.RandomState):
        first = wc.explain(K_MEANS, X, random_state=made(5), **options).values
        assert np.array_equal(first, wc.explain(K_MEANS, X, random_state=made(5), **options).values)
    with pytest.raises(ValueError, match="random_state='seven', expected"):
        wc.explain(K_MEANS, X, random_state="seven", **options)


@pytest.mark.parametrize(
    "method", [name for name in EVERYWHERE if name not in ("random", "nca", "sensitivity")]
)
def test_the_background_is_used(method):
    """Rows explained with a background are those rows explained in the background."""
    needs(method)
    options = SMALL.get(method, {})
    net = wc.neuralize(K_MEANS, X)
    options = {**options, "method": method} | ({"on": "evidence"} if method.startswith("pda") else {})
    whole = wc.explain(net, X, **options)
    part = wc.explain(net, X[:20], background=X, **options)
    alone = wc.explain(net, X[:20], **options)
    if method not in ("shap", "gradient_shap"):  # draws there depend on the number of rows
        assert largest(part.values, whole.values[:20]) < EXACT
    assert not np.allclose(part.values, alone.values)


@pytest.mark.parametrize("method", EVERYWHERE)
def test_sparse_rows(method):
    needs(method)
    dense = np.where(np.abs(X) > 1, X, 0.0)
    model = KMeans(3, n_init=2, random_state=0).fit(dense)
    options = {**SMALL.get(method, {}), "method": method}
    found = wc.explain(model, sp.csr_array(dense), **options)
    assert isinstance(found.values, np.ndarray)
    assert largest(found.values, wc.explain(model, dense, **options).values) < EXACT


@pytest.mark.parametrize("method", EVERYWHERE)
def test_a_scaler_changes_nothing(method):
    """A pipeline with a scaler has the scores of its model on scaled columns."""
    needs(method)
    raw = X * [10, 1, 0.01, 2] + [170, 70, 40, 80]
    scaled = StandardScaler().fit_transform(raw)
    options = {**SMALL.get(method, {}), "method": method}
    if method == "pda_kde":
        options["on"] = "evidence"
    inner = wc.explain(KMeans(3, n_init=2, random_state=0).fit(scaled), scaled, **options)
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)).fit(raw)
    assert largest(wc.explain(model, raw, **options).values, inner.values) < 1e-8


@pytest.mark.parametrize("method", EVERYWHERE)
def test_one_row_and_one_column(method):
    needs(method)
    column = X[:, :1]
    model = KMeans(3, n_init=2, random_state=0).fit(column)
    options = {**SMALL.get(method, {}), "method": method}
    ex = wc.explain(model, column[:1], background=column, **options)
    assert ex.shape == (1, 1)
    assert np.isfinite(ex.values).all()


def test_a_column_that_the_model_does_not_read():
    encoder = make_column_transformer((StandardScaler(), ["height", "age"]))
    model = make_pipeline(encoder, KMeans(3, n_init=2, random_state=0)).fit(FRAME)
    for method in EVERYWHERE:
        if method in (*NEED_SHAP, "random"):  # chance does not know what is read
            continue
        ex = wc.explain(model, FRAME, method=method)
        # Columns that the encoder drops are no features.
        assert sorted(ex.feature_names) == ["age", "height"]
        assert ex.values.any(axis=0).all()


@pytest.mark.filterwarnings("ignore:The surrogate agrees with")
def test_one_cluster_and_noise():
    """There noise is the only competitor."""
    labels = np.where(LABELS == "-1", -1, 0)
    for method in EVERYWHERE:
        if method not in (*NEED_SHAP, "nca"):
            ex = wc.explain(labels, LABELLED, method=method)
            assert (ex.competitors[ex.clusters == 0] == -1).all()
            assert np.isfinite(ex.values).all()


def test_rows_of_clusters_leave_noise_aside():
    """They are compared with other clusters, as NEON compares them."""
    ex = wc.explain(LABELS, LABELLED, method="ig", steps=400)
    assert (ex.given == "-1").sum() == 12
    rows = ex.given != "-1"
    assert (ex.competitors[rows & (ex.assigned != "-1")] != "-1").all()
    # Complete: so the gradients were those of the evidence that is reported.
    gap = np.abs(ex.explained - ex.evidence) / np.abs(ex.evidence)
    assert np.median(gap) < 0.01


# --------------------------------------------------------------------------- each against its formula


def test_random_scores_are_uniform():
    values = wc.explain(K_MEANS, np.tile(X, (20, 1)), method="random").values
    assert values.min() >= 0
    assert values.max() < 1
    assert len(np.unique(values)) == values.size
    assert abs(values.mean() - 0.5) < 4 / np.sqrt(12 * values.size)  # four standard errors


def test_squared():
    found = wc.explain(K_MEANS, X, method="squared")
    assert largest(found.values, (X - X.mean(axis=0)) ** 2) < EXACT
    found = wc.explain(K_MEANS, X, method="squared", background=X[:10])
    assert largest(found.values, (X - X[:10].mean(axis=0)) ** 2) < EXACT
    found = wc.explain(K_MEANS, X, method="squared", reference="zero")
    assert largest(found.values, X**2) < EXACT
    found = wc.explain(K_MEANS, X, method="squared", reference=[1, 2, 3, 4])
    assert largest(found.values, (X - [1, 2, 3, 4]) ** 2) < EXACT
    assert not found.base_values.any()


def nca_literally(points, centres, labels):
    values = np.empty(points.shape)
    for row, x in enumerate(points):
        distances = [((x - centre) ** 2).sum() for centre in centres]
        others = [k for k in range(len(centres)) if k != labels[row]]
        k = min(others, key=lambda other: distances[other])
        for i in range(len(x)):
            values[row, i] = (x[i] - centres[k][i]) ** 2 - (x[i] - centres[labels[row]][i]) ** 2
    return values


def test_nearest_centroid_analysis():
    found = wc.explain(K_MEANS, X, method="nca")
    assert largest(found.values, nca_literally(X, K_MEANS.cluster_centers_, K_MEANS.labels_)) < EXACT
    assert largest(found.explained, found.evidence) < EXACT
    raw = X * [10, 1, 5, 2] + [170, 70, 40, 80]
    model = make_pipeline(StandardScaler(), KMeans(4, n_init=2, random_state=0)).fit(raw)
    scaled = model[0].transform(raw)
    wanted = nca_literally(scaled, model[1].cluster_centers_, model[1].labels_)
    assert largest(wc.explain(model, raw, method="nca").values, wanted) < EXACT


def test_nearest_centroid_of_soft_clusters():
    model = SoftKMeans(4, random_state=0).fit(X)
    found = wc.explain(model, X, method="nca")
    wanted = nca_literally(X, model.cluster_centers_, model.predict(X))
    ratio = found.values / wanted
    assert largest(ratio, ratio[0, 0]) < EXACT  # they have a scale of their own
    absolute = wc.explain(model, X, method="nca", threshold=0.8)
    assert largest(absolute.values, found.values) < EXACT


def in_cluster(model, point, cluster):
    return float(model.predict(point[None])[0] == cluster)


def evidence_of(model, point, cluster):
    distances = ((point - model.cluster_centers_) ** 2).sum(axis=1)
    return np.delete(distances, cluster).min() - distances[cluster]


SCORES = {"indicator": in_cluster, "evidence": evidence_of}


@pytest.mark.parametrize("on", SCORES)
def test_pda_of_a_reference(on):
    values = np.empty(X.shape)
    for row, x in enumerate(X):
        cluster = K_MEANS.labels_[row]
        for i in range(X.shape[1]):
            changed = x.copy()
            changed[i] = X[:, i].mean()
            values[row, i] = SCORES[on](K_MEANS, x, cluster) - SCORES[on](K_MEANS, changed, cluster)
    assert largest(wc.explain(K_MEANS, X, method="pda_zero", on=on).values, values) < EXACT
    assert values.any()


@pytest.mark.parametrize("on", SCORES)
def test_pda_of_a_kernel_density(on):
    """Eqs. (43) and (44), one point, column and draw at a time, with the same random numbers."""
    table, n_samples = X[:25], 7
    model = KMeans(3, n_init=2, random_state=0).fit(table)
    density = KernelDensity.fit(table)
    width = density.sigma * density.scale
    values = np.empty(table.shape)
    streams = np.random.default_rng(3).spawn(4)
    for i, stream in enumerate(streams):
        uniform, normal = stream.spawn(2)
        others = [column for column in range(4) if column != i]
        for row, x in enumerate(table):
            weights = np.array(
                [np.exp(-0.5 * sum(((x[j] - y[j]) / width[j]) ** 2 for j in others)) for y in table]
            )
            limits = np.cumsum(weights / weights.sum())
            drawn = []
            for u, z in zip(uniform.random(n_samples), normal.standard_normal(n_samples), strict=True):
                n = next(n for n, limit in enumerate(limits) if u < limit)
                changed = x.copy()
                changed[i] = table[n, i] + width[i] * z
                drawn.append(SCORES[on](model, changed, model.labels_[row]))
            values[row, i] = SCORES[on](model, x, model.labels_[row]) - sum(drawn) / n_samples
    found = wc.explain(model, table, method="pda_kde", on=on, n_samples=n_samples, random_state=3)
    assert largest(found.values, values) < 1e-12
    assert values.any()


def test_blocks_of_a_kernel_density_change_nothing(monkeypatch):
    whole = wc.explain(K_MEANS, X, method="pda_kde", on="evidence").values
    monkeypatch.setattr("whyclust.baselines.removal.BLOCK_NUMBERS", 500)
    assert largest(wc.explain(K_MEANS, X, method="pda_kde", on="evidence").values, whole) < EXACT


def test_encoded_columns_are_removed_together():
    model = text_pipeline()
    net = wc.neuralize(model, FRAME)
    encoded = np.asarray(net.features.encode(FRAME), dtype=float)
    inner = model[0].transform(FRAME)  # scaled numbers, then three columns of colours
    assert encoded.shape == inner.shape == (60, 7)
    changed = inner.copy()
    changed[:, 4:] = inner[:, 4:].mean(axis=0)

    def evidence(points):
        distances = ((points[:, None] - model[1].cluster_centers_) ** 2).sum(axis=2)
        rows = np.arange(60)
        own = distances[rows, model[1].labels_]
        distances[rows, model[1].labels_] = np.inf
        return distances.min(axis=1) - own

    found = wc.explain(model, FRAME, method="pda_zero", on="evidence")
    assert largest(found.values[:, 4], evidence(inner) - evidence(changed)) < EXACT


def test_pda_of_one_boundary_and_of_a_probability():
    found = wc.explain(K_MEANS, X, method="pda_zero", cluster=1, against=3)
    assert set(np.unique(found.values)) <= {-1.0, 0.0, 1.0}
    model = SoftKMeans(4, random_state=0).fit(X)
    found = wc.explain(model, X, method="pda_zero", threshold=0.9)
    changed = X.copy()
    changed[:, 2] = X[:, 2].mean()
    rows = np.arange(len(X))
    before, after = (model.predict_proba(points)[rows, model.predict(X)] > 0.9 for points in (X, changed))
    assert np.array_equal(found.values[:, 2], before.astype(float) - after)


def test_sensitivity():
    found = wc.explain(K_MEANS, X, method="sensitivity")
    centres = K_MEANS.cluster_centers_
    wanted = (2 * (centres[found.clusters] - centres[found.competitors])) ** 2
    assert largest(found.values, wanted) < EXACT


def test_integrated_gradients_literally():
    net = wc.neuralize(K_MEANS, X)
    origin, labels = X.mean(axis=0), K_MEANS.labels_
    values = np.zeros(X.shape)
    for row, x in enumerate(X):
        for step in range(10):
            point = origin + (step + 0.5) / 10 * (x - origin)
            values[row] += (x - origin) * net.gradient(point[None], cluster=labels[[row]])[0] / 10
    found = wc.explain(K_MEANS, X, method="ig")
    assert largest(found.values, values) < EXACT
    assert largest(found.base_values, [evidence_of(K_MEANS, origin, label) for label in labels]) < EXACT


@pytest.mark.parametrize("case", ["k-means", "kernel", "tree", "mixture", "normalised"])
@pytest.mark.parametrize("steps", [8, 32])  # captum rounds positions to single precision: these are exact
def test_integrated_gradients_are_those_of_captum(case, steps):
    torch = pytest.importorskip("torch")
    captum = pytest.importorskip("captum.attr")
    if case == "normalised":
        model = make_pipeline(Normalizer(), KMeans(3, n_init=2, random_state=0)).fit(X)
    else:
        model = CASES[case][0]
    net = wc.neuralize(model, X)
    positions = torch.tensor(np.searchsorted(net.clusters, net.predict(X)))
    wanted = captum.IntegratedGradients(net.to_torch()).attribute(
        torch.tensor(X),
        torch.tensor(np.tile(X.mean(axis=0), (len(X), 1))),
        target=positions,
        n_steps=steps,
        method="riemann_middle",
    )
    assert largest(wc.explain(model, X, method="ig", steps=steps).values, wanted.numpy()) < EXACT


def test_integrated_gradients_become_complete():
    gaps = []
    for steps in (10, 100, 1000):
        ex = wc.explain(K_MEANS, X, method="ig", steps=steps)
        gaps.append(np.abs(ex.explained - ex.evidence).max() / ex.evidence.max())
    assert gaps[2] < 0.002
    assert gaps[2] < gaps[0]


def test_two_clusters_are_linear():
    """There all complete methods agree: (x − reference) ⊙ ∇f_c."""
    model = KMeans(2, n_init=2, random_state=0).fit(X)
    centres = model.cluster_centers_
    slopes = 2 * (centres[model.labels_] - centres[1 - model.labels_])
    reference = np.array([0.5, -1.0, 2.0, 0.0])
    wanted = (X - reference) * slopes
    found = wc.explain(model, X, method="ig", steps=1, reference=reference)
    assert largest(found.values, wanted) < EXACT
    assert largest(found.explained, found.evidence) < EXACT
    found = wc.explain(model, X, method="gradient_shap", background=reference[None], n_samples=3)
    assert largest(found.values, wanted) < EXACT
    assert largest(found.explained, found.evidence) < EXACT
    found = wc.explain(model, X, method="pda_zero", on="evidence", reference=reference)
    assert largest(found.values, wanted) < EXACT


@pytest.mark.parametrize("explainer", ["permutation", "kernel"])
def test_shap_of_two_clusters(explainer):
    pytest.importorskip("shap")
    model = KMeans(2, n_init=2, random_state=0).fit(X)
    centres = model.cluster_centers_
    slopes = 2 * (centres[model.labels_] - centres[1 - model.labels_])
    found = wc.explain(model, X, method="shap", explainer=explainer, n_background=60, n_evaluations=20)
    assert largest(found.values, (X - X.mean(axis=0)) * slopes) < 1e-8
    assert largest(found.explained, found.evidence) < 1e-8


def test_gradient_shap_is_complete_on_average():
    mean_gap = []
    for n_samples in (20, 2000):
        ex = wc.explain(K_MEANS, X, method="gradient_shap", n_samples=n_samples)
        mean_gap.append(abs((ex.explained - ex.evidence).mean()))
    assert mean_gap[1] < 0.01 * ex.evidence.mean()
    # Two sets of draws of a random estimate differ; the mean over rows of both is the evidence.
    net = wc.neuralize(K_MEANS, X)
    labels = K_MEANS.labels_
    wanted = np.mean([net.evidence(np.tile(row, (60, 1)), cluster=labels) for row in X], axis=0)
    assert np.abs(ex.base_values - wanted).max() < 0.1 * np.abs(wanted).max()


def test_gradient_shap_of_one_reference_is_integrated_gradients():
    found = wc.explain(K_MEANS, X, method="gradient_shap", background=X[:1], n_samples=2000)
    wanted = wc.explain(K_MEANS, X, method="ig", background=X[:1], steps=2000)
    assert largest(found.values, wanted.values) < 2e-3
    assert largest(found.base_values, wanted.base_values) < EXACT


@pytest.mark.parametrize("case", ["k-means", "mixture", "kernel"])
def test_shap_is_shapley(case):
    """All sets of columns, enumerated: the permutation explainer there and back comes close."""
    pytest.importorskip("shap")
    model, table = CASES[case]
    net = wc.neuralize(model, table)
    background, rows = table[:8], table[20:30]
    clusters = net.predict(rows)

    def worth(row, known):
        points = background.copy()
        points[:, known] = rows[row, known]
        return net.evidence(points, cluster=clusters[row]).mean()

    values = np.zeros(rows.shape)
    for row in range(len(rows)):
        for column in range(4):
            others = [other for other in range(4) if other != column]
            for code in range(8):
                known = [other for bit, other in enumerate(others) if code >> bit & 1]
                weight = {0: 1 / 4, 1: 1 / 12, 2: 1 / 12, 3: 1 / 4}[len(known)]
                values[row, column] += weight * (worth(row, [*known, column]) - worth(row, known))
    options = {"method": "shap", "background": background, "n_background": 8}
    found = wc.explain(model, rows, explainer="kernel", n_evaluations=100, **options)
    assert largest(found.values, values) < 1e-8  # 14 sets: the kernel explainer tries them all
    found = wc.explain(model, rows, n_evaluations=9 * 200, **options)
    assert largest(found.values, values) < 0.05
    assert largest(found.explained, found.evidence) < 1e-8


def test_forest_and_tree_are_tree_shap():
    shap = pytest.importorskip("shap")
    labels, rows = K_MEANS.labels_, np.arange(len(X))
    seed = int(np.random.default_rng(4).integers(2**31))
    for method, made, options in [
        ("forest", RandomForestClassifier(7, random_state=seed), {"n_estimators": 7}),
        ("tree", DecisionTreeClassifier(max_leaf_nodes=5, random_state=seed), {"max_leaf_nodes": 5}),
    ]:
        made.fit(X, labels)
        explainer = shap.TreeExplainer(made)
        wanted = explainer.shap_values(X)[rows, :, labels]
        found = wc.explain(K_MEANS, X, method=method, random_state=4, **options)
        assert largest(found.values, wanted) < EXACT
        assert largest(found.base_values, explainer.expected_value[labels]) < EXACT
        assert largest(found.explained, made.predict_proba(X)[rows, labels]) < 1e-6


def test_a_forest_learns_from_the_background():
    pytest.importorskip("shap")
    seen = np.isin(K_MEANS.labels_, [0, 1])
    ex = wc.explain(K_MEANS, X, method="tree", background=X[seen])
    assert not ex.values[~seen].any()
    assert not ex.explained[~seen].any()  # a cluster it has not seen has probability zero
    assert largest(ex.explained[seen], 1.0) < 1e-6
    with pytest.raises(ValueError, match="background are in one cluster"):
        wc.explain(K_MEANS, X, method="forest", background=X[K_MEANS.labels_ == 0])


def test_sensitivity_and_squares_behind_a_rotation():
    """Lengths of columns are those of the whole map: a rotation keeps them."""
    raw = X * [10, 1, 5, 2]
    plain = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)).fit(raw)
    rotated = make_pipeline(StandardScaler(), PCA(4), KMeans(3, n_init=2, random_state=0)).fit(raw)
    rotated[-1].cluster_centers_ = rotated[1].transform(plain[-1].cluster_centers_)
    for method in ("squared", "sensitivity"):
        found = wc.explain(rotated, raw, method=method).values
        assert largest(found, wc.explain(plain, raw, method=method).values) < 1e-8


# --------------------------------------------------------------------------- references


def test_a_reference_for_a_table_with_text():
    row = FRAME.iloc[7]
    by_frame = wc.explain(text_pipeline(), FRAME, method="ig", reference=FRAME.iloc[[7]])
    by_list = wc.explain(text_pipeline(), FRAME, method="ig", reference=row.tolist())
    assert largest(by_frame.values, by_list.values) < EXACT
    assert largest(by_frame.values[7]) == 0.0
    assert largest(by_frame.explained[7], by_frame.evidence[7]) < EXACT


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("median", "reference='median' is unknown, expected one of mean, zero"),
        ([1.0, 2.0], "reference has 2 columns, but the model was fitted on 4"),
        (np.zeros((2, 4)), r"reference has shape \(2, 4\), expected one value per column"),
        ([1.0, np.nan, 0.0, 0.0], "NaN"),
        (0.0, r"reference has shape \(\), expected one value per column"),
    ],
)
def test_bad_references(reference, message):
    with pytest.raises(ValueError, match=message):
        wc.explain(K_MEANS, X, method="ig", reference=reference)


# --------------------------------------------------------------------------- errors


def test_unknown_names():
    with pytest.raises(
        ValueError, match=r"method='lime' is unknown, expected one of neon, random, .*tree, .*"
    ):
        wc.explain(K_MEANS, X, method="lime")
    with pytest.raises(
        TypeError, match="method='ig' has no option 'stpes': its options are steps, reference"
    ):
        wc.explain(K_MEANS, X, method="ig", stpes=5)
    with pytest.raises(TypeError, match="method='nca' has no option 'steps': it has none"):
        wc.explain(K_MEANS, X, method="nca", steps=5)
    with pytest.raises(TypeError, match="explain\\(\\) has no option 'clusters'"):
        wc.explain(K_MEANS, X, clusters=1)
    with pytest.raises(ValueError, match="rule='expected' was given with method='ig'"):
        wc.explain(K_MEANS, X, method="ig", rule="expected")
    with pytest.raises(ValueError, match=r"method=\['ig'\] is unknown"):
        wc.explain(K_MEANS, X, method=["ig"])


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("ig", {"steps": 0}, "steps=0, expected a whole number, 1 or more"),
        ("ig", {"steps": 2.5}, "steps=2.5, expected a whole number"),
        ("pda_zero", {"on": "logit"}, "on='logit' is unknown, expected one of indicator, evidence"),
        ("pda_kde", {"on": ["evidence"]}, "on=.* is unknown, expected one of"),
        ("pda_kde", {"n_samples": -1}, "n_samples=-1, expected"),
        ("pda_kde", {"background": X[:1]}, "two rows or more"),
        ("gradient_shap", {"n_samples": True}, "n_samples=True, expected"),
        ("shap", {"explainer": "tree"}, "explainer='tree' is unknown, expected one of permutation, kernel"),
        ("shap", {"n_background": 0}, "n_background=0, expected"),
        ("shap", {"n_evaluations": 8}, "n_evaluations=8, expected a whole number, 9 or more"),
        ("forest", {"n_estimators": 0}, "n_estimators=0, expected"),
        ("tree", {"max_leaf_nodes": 1}, "max_leaf_nodes=1, expected a whole number, 2 or more"),
        ("squared", {"background": X[:, :2]}, "background has 2 columns"),
    ],
)
def test_bad_options(method, options, message):
    needs(method)
    with pytest.raises(ValueError, match=message):
        wc.explain(K_MEANS, X, method=method, **options)


@pytest.mark.parametrize("method", NEED_SHAP)
def test_without_shap_the_extra_is_named(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=rf"method='{method}' needs shap.*\.\[shap\]"):
        wc.explain(K_MEANS, X, method=method)


def test_missing_values_are_refused():
    table = X.copy()
    table[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        wc.explain(K_MEANS, X, method="squared", background=table)


def test_baselines_are_imported_on_use():
    code = (
        "import sys, numpy as np, whyclust as wc; from sklearn.cluster import KMeans; "
        "X = np.random.default_rng(0).normal(size=(30, 3)); m = KMeans(3, n_init=1, random_state=0).fit(X); "
        "wc.explain(m, X); print('whyclust.baselines' in sys.modules); "
        "[wc.explain(m, X, method=n) for n in ('ig', 'pda_kde', 'nca', 'gradient_shap')]; "
        "print([n for n in ('torch', 'shap', 'captum') if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["False", "[]"]


def test_the_result_is_an_explanation_like_any_other(tmp_path):
    ex = wc.explain(K_MEANS, X, method="ig")
    assert "rule ig" in repr(ex[:3])
    ex.save(tmp_path / "ig.npz")
    again = wc.load(tmp_path / "ig.npz")
    assert again.provenance.method == "ig"
    assert np.array_equal(again.values, ex.values)


def test_chance_does_not_know_which_columns_the_model_reads():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(60, 4)), columns=list("abcd"))
    some = make_column_transformer((StandardScaler(), ["a", "b"]))
    reads = make_pipeline(some, KMeans(3, n_init=3, random_state=0))
    values = wc.explain(reads.fit(frame), frame, method="random").values
    assert (values > 0).all()


def test_prediction_differences_are_of_the_indicator_unless_asked_otherwise():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = KMeans(3, n_init=3, random_state=0).fit(X)
    for method in ("pda_zero", "pda_kde"):
        default = wc.explain(model, X, method=method).values
        assert set(np.unique(default * 10).round(6)) <= set(range(11))  # parts of ten draws
        assert np.unique(wc.explain(model, X, method=method, on="evidence").values).size > 60
