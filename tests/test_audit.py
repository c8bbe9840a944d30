"""Can I trust this? The audit's numbers, its verdict, and what it refuses."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, MeanShift
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import generators
import whyclust as wc
from sparse_rows import random_rows
from whyclust.auditing.comparison import Comparison, paired, standing, usual
from whyclust.auditing.refits import Refits
from whyclust.auditing.standing import Standing
from whyclust.auditing.subject import stratified
from whyclust.auditing.verdict import judge
from whyclust.cluster import KernelKMeans, PrototypeSurrogate, SoftKMeans
from whyclust.cluster.fidelity import Fidelity
from whyclust.cluster.structure import Structure
from whyclust.metrics import FlippingResult, Stability, flipping_auc, stability

QUICK = {"n_repeats": 2, "n_refits": 2}
FEW = {**QUICK, "methods": ["squared"]}


def blobs(n_rows=120, **options):
    return make_blobs(n_rows, centers=3, n_features=5, cluster_std=1.5, random_state=1, **options)[0]


def k_means(X, k=3):
    return KMeans(k, n_init=3, random_state=0).fit(X)


@pytest.fixture(scope="module")
def wine():
    X = load_wine(as_frame=True).data
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)).fit(X)
    return model, X, wc.audit(model, X, n_repeats=3, n_refits=3, random_state=7)


def test_separated_clusters_are_trusted():
    X = blobs()
    found = wc.audit(k_means(X), X, n_repeats=3, n_refits=3)
    assert found.trusted == "yes"
    assert found.verdict[0].startswith("Yes: all 3 clusters stand apart")
    assert "all 3 clusters come back" in found.verdict[0]
    assert found.describe().splitlines() == found.verdict
    assert "the relevances are faithful" in found.verdict[0]
    assert [(one.question, one.answer) for one in found.answers] == [
        ("structure", "yes"),
        ("stability", "yes"),
        ("faithfulness", "yes"),
    ]
    assert (found.stability["reading"] == "highly stable").all()
    assert found.methods.set_index("method").loc["random", "neon_is"] == "ahead"


def test_noise_is_not_trusted():
    X = np.random.default_rng(0).normal(size=(150, 6))
    model = KMeans(6, n_init=1, random_state=0).fit(X)
    found = wc.audit(model, X, n_repeats=3, n_refits=5)
    assert found.trusted == "no"
    assert "do not come back when the clustering is fitted again" in found.verdict[0]
    assert (found.stability["jaccard"] < 0.6).any()


def test_rows_in_no_cluster_are_not_judged_as_one():
    """MeanShift's outliers are others whenever it is fitted again."""
    X = np.vstack([blobs(), blobs().mean(axis=0) + 40 * np.eye(5)[:4]])
    model = MeanShift(bandwidth=5, cluster_all=False, bin_seeding=True, min_bin_freq=3).fit(X)
    assert (model.labels_ == -1).any()
    found = wc.audit(model, X, methods=["squared"], n_repeats=2, n_refits=4)
    assert found.stability["cluster"].tolist() == sorted(set(model.labels_) - {-1})
    assert "-1" not in " ".join(found.verdict)
    assert found.trusted == "yes"
    assert "-1" not in str(found)
    assert "noise" not in found.refits.bootstrap.sentence()


def test_numbers_are_those_of_the_metrics(wine):
    model, X, found = wine
    asked = {
        "neon": {},
        "neon_paper": {"rule": "min_take_most"},
        "ig": {"method": "ig"},
        "pda_zero": {"method": "pda_zero", "on": "evidence"},
        "squared": {"method": "squared"},
        "sensitivity": {"method": "sensitivity"},
        "nca": {"method": "nca"},
        "random": {"method": "random", "random_state": 7},
    }
    assert set(asked) == set(found.methods["method"]) == set(usual())
    table = found.methods.set_index("method")
    direct = {}
    for name, options in asked.items():
        explanation = wc.explain(model, X, **options)
        direct[name] = flipping_auc(model, X, explanation, n_repeats=3, random_state=7)
        assert table.loc[name, "auc"] == direct[name].auc
        assert table.loc[name, "se"] == direct[name].error
    difference = direct["ig"].per_point.astype(float) - direct["neon"].per_point
    assert table.loc["ig", "difference"] == pytest.approx(difference.mean(), rel=1e-12)
    assert found.best == max(direct, key=lambda name: direct[name].auc)

    bootstrap = stability(model, X, n_repeats=3, random_state=7)
    reseed = stability(model, X, n_repeats=3, bootstrap=False, reseed=True, random_state=7)
    np.testing.assert_array_equal(found.stability["bootstrap"], bootstrap.to_pandas()["jaccard"])
    np.testing.assert_array_equal(found.stability["reseed"], reseed.to_pandas()["jaccard"])
    assert found.refits.relevance == min((bootstrap.pearson, reseed.pearson), key=lambda one: one.mean)
    assert f"{direct['neon'].auc:.1f} ± {direct['neon'].error:.1f}" in found.answers[2].sentences[0]
    assert bootstrap.sentence() in " ".join(found.verdict)


def test_the_paired_interval_by_hand():
    # Differences 1, 2, 3: mean 2, standard error 1/√3, and t with two degrees of freedom is 4.302653.
    mean, low, high = paired(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    assert mean == 2.0
    assert high - mean == pytest.approx(4.302652729911275 / np.sqrt(3), rel=1e-9)
    assert mean - low == pytest.approx(high - mean, rel=1e-12)
    assert standing(low, high) == "tied"


def test_the_same_seed_gives_the_same_audit(wine):
    model, X, found = wine
    with generators.untouched():
        again = wc.audit(model, X, n_repeats=3, n_refits=3, random_state=7)
    assert json.dumps(again.to_json()) == json.dumps(found.to_json())
    other = wc.audit(model, X, n_repeats=3, n_refits=3, random_state=8)
    assert other.to_json()["methods"] != found.to_json()["methods"]


def result_of(areas):
    areas = np.asarray(areas, dtype=float)
    error = areas.std(ddof=1) / np.sqrt(len(areas))
    return FlippingResult(float(areas.mean()), float(error), np.ones(2), areas, areas, "insert", "kde")


def comparison_of(**areas):
    return Comparison({name: result_of(values) for name, values in areas.items()}, {}, np.arange(4))


def refits_of(jaccards, sizes=(50, 50), pearson=0.9):
    repeats = np.ones(3)
    return Refits(
        Stability(
            clusters=np.arange(len(sizes)),
            sizes=np.array(sizes),
            ari_per_repeat=repeats,
            share_per_repeat=repeats,
            jaccard_per_repeat=np.tile(jaccards, (3, 1)),
            pearson_per_repeat=pearson * repeats,
            spearman_per_repeat=repeats,
            profile_per_repeat=np.ones((3, len(sizes))),
            sources=("bootstrap",),
        )
    )


FAITHFUL = {"neon": [90.0, 92, 91, 93], "random": [70.0, 71, 73, 72]}
WORSE = {"neon": [39.0, 40, 41, 40], "random": [43.0, 44, 45, 43]}
CHANCE = {"neon": [90.0, 92, 91, 93], "random": [91.0, 91, 92, 92]}
APART = Standing(Structure(k=2, apart=2.0, by_chance=0.1, error=0.05, n_rows=100), n_rows=100)


@pytest.mark.parametrize(
    ("areas", "refits", "answer", "reason"),
    [
        (FAITHFUL, refits_of([0.9, 0.8]), "yes", "both clusters come back"),
        (CHANCE, refits_of([0.9, 0.8]), "no", "no better than chance"),
        (WORSE, refits_of([0.9, 0.8]), "no", "order the columns worse than a random order does"),
        (FAITHFUL, refits_of([0.9, 0.74]), "with care", "below 0.75: 1 has 0.74"),
        (FAITHFUL, refits_of([0.9, 0.5], sizes=(50, 50)), "with care", "1 has 0.50"),
        (FAITHFUL, refits_of([0.9, 0.5], sizes=(49, 51)), "no", "51% of the rows do not come back"),
        (FAITHFUL, refits_of([0.9, 0.9], pearson=0.74), "with care", "relevances change"),
        (FAITHFUL, refits_of([0.9, 0.9], pearson=0.49), "no", "relevances change"),
        (FAITHFUL, Refits(unknown="it was loaded"), "with care", "not known: it was loaded"),
        ({**FAITHFUL, "ig": [93.0, 95, 94, 96.1]}, refits_of([0.9, 0.9]), "with care", "'ig'"),
        # Surely behind, but by less than a point.
        ({**FAITHFUL, "ig": [90.5, 92.5, 91.5, 93.6]}, refits_of([0.9, 0.9]), "yes", "faithful"),
    ],
)
def test_the_thresholds_of_the_verdict(areas, refits, answer, reason):
    verdict = judge(APART, refits, comparison_of(**areas))
    assert verdict.trusted == answer
    assert verdict.sentences[0].lower().startswith(f"{answer}: ")
    assert reason in verdict.sentences[0]


def counted(**found):
    return replace(APART, found=replace(APART.found, **found))


# Of three clusters more than 1.5 must stand apart beyond chance.
THREE = {"k": 3, "by_chance": 0.2, "error": 0.1}


@pytest.mark.parametrize(
    ("standing", "answer", "reason"),
    [
        (
            counted(**THREE, apart=1.71),
            "yes",
            "on average 1.7 of 3 clusters stand apart (of one lump cut in 3, 0.2)",
        ),
        (counted(**THREE, apart=1.69), "with care", "hardly better supported than one lump"),
        (
            counted(**THREE, apart=1.59),
            "no",
            "no better supported than one lump of all rows (on average 1.4 of 3",
        ),
        (
            counted(**THREE, apart=3.0, better=(5, 4.6)),
            "with care",
            "on average 4.6 of 5 clusters stand apart beyond",
        ),
        (counted(**THREE, apart=0.0, better=(2, 1.8)), "with care", "another number of clusters is better"),
        (counted(**THREE, apart=0.0, better=(3, 2.9)), "with care", "another clustering is better supported"),
        (replace(APART, outliers={7: 3}), "with care", "cluster 7 (3 rows) is far from all others"),
        (replace(APART, outliers={7: 3, 9: 1}), "with care", "clusters 7 (3 rows), 9 (1 row) are far"),
        (replace(counted(k=1), outliers={7: 3}), "no", "without which all rows are in one cluster"),
        (counted(unknown="its numbers are too large"), "not asked", "its numbers are too large"),
    ],
)
def test_the_thresholds_of_structure(standing, answer, reason):
    verdict = judge(standing, refits_of([0.9, 0.9]), comparison_of(**FAITHFUL))
    assert verdict.answers[0].answer == answer
    assert reason in verdict.answers[0].reason
    assert verdict.trusted == ("yes" if answer == "not asked" else answer)
    # Also where it decides nothing, a reader learns that it was not asked.
    assert reason in verdict.sentences[0]
    assert verdict.sentences[2].lower().startswith(f"structure? {answer}")


def test_the_worst_answer_decides_with_its_reason():
    nothing = counted(**THREE, apart=0.0)
    verdict = judge(nothing, refits_of([0.9, 0.74]), comparison_of(**FAITHFUL))
    assert [one.answer for one in verdict.answers] == ["no", "with care", "yes"]
    assert verdict.trusted == "no"
    assert "no better supported than one lump" in verdict.sentences[0]
    assert "1 has 0.74" not in verdict.sentences[0]
    assert any(told.startswith("Stable? With care: ") and "1 has 0.74" in told for told in verdict.sentences)
    verdict = judge(APART, refits_of([0.9, 0.9]), comparison_of(**CHANCE))
    assert [one.answer for one in verdict.answers] == ["yes", "yes", "no"]
    assert verdict.trusted == "no"


def test_given_labels_are_taken_with_care_where_nothing_stands_apart():
    unknown = Refits(unknown="labels were given, and labels cannot be fitted again")
    verdict = judge(counted(**THREE, apart=0.0), unknown, comparison_of(**FAITHFUL), as_given=True)
    assert [one.answer for one in verdict.answers] == ["with care", "not asked", "yes"]
    assert verdict.trusted == "with care"


def test_no_order_can_beat_chance_where_any_column_decides():
    """From one column on all rows are in their cluster: the area of both is all that there is to have."""

    def both(neon, chance):
        found = comparison_of(neon=neon, random=chance)
        curve = np.array([0.5, 1.0, 1.0])
        return replace(
            found, results={name: replace(one, curve=curve) for name, one in found.results.items()}
        )

    ceiling = [87.5] * 4
    assert both(ceiling, ceiling).ceiling == 87.5
    verdict = judge(APART, refits_of([0.9, 0.9]), both(ceiling, ceiling))
    assert verdict.trusted == "yes"
    assert "any column decides alone, and no order could have more than 87.5" in verdict.sentences[0]
    # The same tie below the ceiling is one with chance.
    lower = [86.0, 86.1, 86.2, 86.1]
    assert judge(APART, refits_of([0.9, 0.9]), both(lower, lower)).trusted == "no"


@pytest.mark.parametrize(
    ("held_out", "answer"),
    [([0.95, 0.95], "yes"), ([0.95, 0.6], "with care"), ([0.8, 0.8], "with care"), ([0.7, 0.95], "no")],
)
def test_fidelity_joins_the_verdict(held_out, answer):
    shares = np.array(held_out)
    fidelity = Fidelity(np.arange(2), np.array([60, 40]), np.ones(2), shares, np.ones(2))
    unknown = Refits(unknown="labels were given, and labels cannot be fitted again")
    verdict = judge(APART, unknown, comparison_of(**FAITHFUL), fidelity=fidelity, as_given=True)
    assert verdict.trusted == verdict.answers[2].answer == answer
    assert verdict.answers[1].answer == "not asked"
    assert fidelity.sentences()[0] in verdict.sentences
    assert any("Not asked: labels were given" in sentence for sentence in verdict.sentences)


def test_labels():
    X = load_iris(as_frame=True).data.iloc[::3]
    names = np.array(["a", "b", "c"])[AgglomerativeClustering(3).fit(X).labels_]
    found = wc.audit(names, X, **FEW)
    assert found.stability is None
    assert found.fidelity is not None
    assert found.fidelity.to_json()["held_out"] == found.to_json()["fidelity"]["held_out"]
    assert any("labels cannot be fitted again" in sentence for sentence in found.verdict)
    assert found.clusters.tolist() == ["a", "b", "c"]
    json.dumps(found.to_json(), allow_nan=False)


def test_labels_drawn_at_random_are_not_trusted():
    X = blobs(45)
    found = wc.audit(np.random.default_rng(0).integers(0, 3, len(X)), X, **FEW)
    assert found.trusted == "no"
    assert "the surrogate does not reproduce labels with 100% of the rows" in found.verdict[0]


def test_a_clustering_without_predict_is_known_by_its_labels():
    X = np.vstack([blobs(60), [[40.0] * 5, [-60.0] * 5]])
    found = wc.audit(DBSCAN(eps=4, min_samples=3).fit(X), X, **FEW)
    assert found.trusted in {"with care", "no"}
    assert "DBSCAN cannot assign rows" in " ".join(found.verdict)
    assert -1 in found.clusters


@pytest.mark.parametrize("given", ["network", "surrogate"])
def test_what_cannot_be_fitted_again(given, tmp_path):
    X = blobs()
    model = k_means(X)
    if given == "network":
        wc.save(wc.neuralize(model, X), tmp_path / "model.npz")
        subject = wc.load(tmp_path / "model.npz")
    else:
        subject = PrototypeSurrogate(random_state=0).fit(X, model.labels_)
    found = wc.audit(subject, X, **FEW)
    assert found.trusted == "with care"
    assert found.stability is None
    assert "cannot be fitted again" in found.verdict[0]
    assert found.refits.unknown in found.verdict[0]


@pytest.mark.parametrize(
    "model",
    [
        SoftKMeans(3, random_state=0),
        KernelKMeans(3, random_state=0),
        GaussianMixture(3, random_state=0),
        MeanShift(bandwidth=8.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models(model):
    X = blobs(90)
    found = wc.audit(model.fit(X), X, **QUICK)
    assert set(found.methods["method"]) | set(found.comparison.left_out) == set(usual())
    assert {"neon", "random", "ig", "squared"} <= set(found.methods["method"])
    assert ("reseed" in found.stability) == ("random_state" in model.get_params())
    assert found.trusted == "yes"


def test_text_columns_behind_a_pipeline():
    frame = pd.DataFrame(blobs(), columns=list("abcde"))
    frame["colour"] = np.where(frame["a"] > frame["a"].median(), "red", "blue")
    columns = make_column_transformer(
        (StandardScaler(), list("abcde")), (OneHotEncoder(sparse_output=False), ["colour"])
    )
    model = make_pipeline(columns, KMeans(3, n_init=3, random_state=0)).fit(frame)
    found = wc.audit(model, frame, **QUICK)
    assert found.settings["n_columns"] == 6
    assert found.stability is not None
    direct = flipping_auc(model, frame, wc.explain(model, frame), n_repeats=2, random_state=0)
    assert found.comparison.results["neon"].auc == direct.auc
    # Columns in another order are the same columns.
    turned = wc.audit(model, frame[frame.columns[::-1]], **QUICK)
    assert turned.to_json() == found.to_json()


def test_a_category_lost_in_a_refit_is_told():
    frame = pd.DataFrame(blobs(60), columns=list("abcde"))
    frame["colour"] = ["rare"] + ["blue"] * 29 + ["red"] * 30
    columns = make_column_transformer((StandardScaler(), list("abcde")), (OneHotEncoder(), ["colour"]))
    model = make_pipeline(columns, KMeans(3, n_init=3, random_state=0)).fit(frame)
    found = wc.audit(model, frame, n_repeats=2, n_refits=8, methods=["squared"])
    assert 2 <= found.refits.bootstrap.n_repeats < 8
    told = f"{8 - found.refits.bootstrap.n_repeats} of 8 refits failed and are left out: Found unknown"
    assert any(told in note for note in found.notes)


def test_sparse_rows():
    X = blobs() - blobs().min(axis=0)
    model = k_means(sp.csr_array(X))
    found = wc.audit(model, sp.csr_array(X), **FEW)
    dense = wc.audit(model, X, **FEW)
    assert found.trusted == dense.trusted
    np.testing.assert_allclose(found.methods["auc"], dense.methods["auc"], atol=0.5)


def test_too_many_columns_are_refused():
    X = random_rows((40, 20_000), 0.01, np.random.default_rng(0))
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="20000 columns, too many to be added one at a time"):
        wc.audit(model, X)


def test_fewer_rows_are_scored_of_wide_tables(monkeypatch):
    monkeypatch.setattr("whyclust.auditing.run.MOST_NUMBERS", 30 * 2 * 5 * 5)
    X = blobs(60)
    found = wc.audit(k_means(X), X, **FEW)
    assert found.settings["n_scored"] == 30


def test_large_tables_are_sampled_by_cluster():
    X = blobs(1000)
    model = k_means(X)
    found = wc.audit(model, X, max_rows=100, **FEW)
    rows = found.comparison.rows
    assert len(rows) == len(set(rows)) == found.settings["n_scored"] == 100
    assert found.settings["n_rows"] == 1000
    counts = np.bincount(model.predict(X)[rows])
    np.testing.assert_allclose(counts, 100 * np.bincount(model.labels_) / 1000, atol=1)
    assert found.verdict[-1].startswith("100 of 1,000 rows were scored")
    assert len(found.comparison.results["neon"].per_point) == 100
    assert found.stability["rows"].sum() == 1000


def test_every_cluster_is_sampled():
    clusters = np.repeat(["big", "small"], [5000, 2])
    rows = stratified(clusters, 20, np.random.default_rng(0))
    assert set(clusters[rows]) == {"big", "small"}
    assert stratified(clusters, 9999, np.random.default_rng(0)).tolist() == list(range(5002))


def test_methods_by_name():
    X = blobs(60)
    found = wc.audit(k_means(X), X, methods=["forest", "tree"], n_repeats=2, n_refits=0)
    assert set(found.methods["method"]) == {"neon", "forest", "tree", "random"}
    assert "refits were not asked for" in found.verdict[0]
    assert found.trusted == "with care"


def test_what_does_not_apply_is_left_out_unless_asked_for():
    X = blobs(60)
    model = GaussianMixture(3, random_state=0).fit(X)
    found = wc.audit(model, X, **QUICK)
    assert "nca" in found.comparison.left_out
    assert any(note.startswith("'nca' was left out: ") for note in found.notes)
    with pytest.raises(TypeError, match="nca"):
        wc.audit(model, X, methods=["nca"])


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"methods": ["igg"]}, ValueError, "'igg', which is unknown.*did you mean 'ig'"),
        ({"methods": "ig"}, TypeError, "expected a list of names"),
        ({"n_repeats": 0}, ValueError, "n_repeats=0, expected a whole number, 1 or more"),
        ({"n_repeats": 2.5}, ValueError, "n_repeats=2.5"),
        ({"n_refits": 1}, ValueError, "n_refits=1, expected 0 for none, or at least 2"),
        ({"n_refits": -1}, ValueError, "n_refits=-1"),
        ({"max_rows": 19}, ValueError, "max_rows=19, expected a whole number, 20 or more"),
        ({"random_state": None}, ValueError, "random_state=None"),
    ],
)
def test_bad_options(options, error, match):
    X = blobs(30)
    with pytest.raises(error, match=match):
        wc.audit(k_means(X), X, **options)


def test_bad_tables():
    X = blobs(60)
    model = k_means(X)
    with pytest.raises(ValueError, match="X has 4 columns, but the model was fitted on 5"):
        wc.audit(model, X[:, :4])
    with pytest.raises(ValueError, match="All rows of X are in one cluster"):
        wc.audit(model, X[model.labels_ == 0])
    with pytest.raises(ValueError, match="X has one column"):
        wc.audit(k_means(X[:, :1]), X[:, :1])
    with pytest.raises(ValueError, match="X has 2 row"):
        wc.audit(model, X[:2])
    with pytest.raises(ValueError, match="NaN"):
        wc.audit(model, np.where(X[3, 2] == X, np.nan, X))
    with pytest.raises(ValueError, match="background has 3 columns"):
        wc.audit(model, X, background=X[:, :3])
    frame = pd.DataFrame(X, columns=list("abcde"))
    with pytest.raises(ValueError, match="X lacks the column 'e'"):
        wc.audit(k_means(frame), frame[list("abcd")])


def test_what_it_says_of_itself(wine):
    found = wine[2]
    assert repr(found).startswith(f"<Audit: {found.trusted}; area ")
    assert "178 of 178 rows scored" in repr(found)
    page = found._repr_html_()
    assert "<strong>Yes: " in page
    assert page.count("<table") == 2
    assert json.loads(json.dumps(found.to_json(), allow_nan=False)) == found.to_json()


def test_names_are_escaped():
    X = blobs(60)
    labels = np.array(["<b>a</b>", "b", "c"])[k_means(X).labels_]
    page = wc.audit(labels, X, **FEW)._repr_html_()
    assert "<b>a" not in page


def test_progress_is_told():
    X = blobs(60)
    told = []
    wc.audit(k_means(X), X, progress=told.append, **FEW)
    assert told == [
        "Scoring explanations: NEON, as explain() gives it",
        "Scoring explanations: squared distance from the mean",
        "Scoring explanations: columns in random order",
        "Fitting 2 times again: bootstrap",
        "Fitting 2 times again: reseed",
        "Looking for structure: clusters that stand apart",
        "Looking for structure: tables without any",
        "Looking for structure: other numbers of clusters",
    ]


def test_the_drawing(wine, tmp_path):
    pytest.importorskip("matplotlib")
    found = wine[2]
    figure = found.plot(tmp_path / "audit.png")
    assert (tmp_path / "audit.png").stat().st_size > 5000
    methods, clusters = figure.axes
    assert [label.get_text() for label in methods.get_yticklabels()] == found.methods["method"].tolist()[::-1]
    assert [label.get_text() for label in clusters.get_yticklabels()] == ["2", "1", "0"]
    widths = [bar.get_width() for bar in clusters.patches[:3]]
    assert widths == found.stability["bootstrap"].tolist()[::-1]
    assert len(replace(found, refits=Refits(unknown="so")).plot().axes) == 1


def test_the_drawing_names_its_extra(wine, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"needs matplotlib.*\.\[plots\]"):
        wine[2].plot()


def test_refits_that_fail_on_samples_of_the_rows_are_a_doubt():
    """Categories that one row has each are not in any bootstrap sample, and the encoder refuses them."""
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(generator.normal(size=(120, 4)), columns=list("abcd"))
    frame["kind"] = [f"kind {row}" for row in range(120)]
    steps = make_column_transformer((StandardScaler(), list("abcd")), (OneHotEncoder(), ["kind"]))
    model = make_pipeline(steps, KMeans(4, n_init=20, random_state=0)).fit(frame)
    audit = wc.audit(model, frame, methods=["ig"], n_repeats=2)
    assert audit.refits.bootstrap is None
    assert audit.trusted != "yes"
    assert "could not be fitted again on samples" in " ".join(audit.verdict)


def test_another_method_is_ahead_only_where_the_whole_interval_says_so():
    """A difference of 5 on average, once 20 and otherwise 0, may be chance."""
    now_and_then = [110.0, 92, 91, 93]
    verdict = judge(APART, refits_of([0.9, 0.9]), comparison_of(**FAITHFUL, ig=now_and_then))
    assert verdict.trusted == "yes"
    hardly = [90.9, 92.9, 91.9, 93.9]  # surely ahead, but by less than matters
    verdict = judge(APART, refits_of([0.9, 0.9]), comparison_of(**FAITHFUL, ig=hardly))
    assert verdict.trusted == "yes"
    always = [95.0, 97, 96, 98]
    verdict = judge(APART, refits_of([0.9, 0.9]), comparison_of(**FAITHFUL, ig=always))
    assert verdict.trusted == "with care"
    assert "'ig'" in verdict.sentences[0]


def test_neon_has_one_spelling_in_a_sentence():
    worse, better = [80.0, 82, 81, 83], [95.0, 97, 96, 98]
    told = judge(APART, refits_of([0.9, 0.9]), comparison_of(**FAITHFUL, ig=worse)).sentences
    assert "Of the methods of explaining, best here is NEON; it is ahead of ig." in told
    told = judge(APART, refits_of([0.9, 0.9]), comparison_of(**FAITHFUL, ig=better)).sentences
    assert any(
        sentence.startswith("Of the methods of explaining, best here is ig; NEON is behind ig (by ")
        for sentence in told
    )


def test_a_cluster_is_as_stable_as_the_less_stable_refits_say():
    one, other = refits_of([0.9, 0.5]).bootstrap, refits_of([0.7, 0.8]).bootstrap
    frame = Refits(one, replace(other, sources=("reseed",))).to_pandas()
    assert frame["jaccard"].tolist() == pytest.approx([0.7, 0.5])
    assert frame["reading"].tolist() == ["comes back in part", "not to be trusted"]


def test_the_background_is_where_columns_are_drawn_from(monkeypatch):
    X = blobs()
    model = k_means(X)
    away = X[model.labels_ == 1]
    settings = {**FEW, "n_refits": 0, "background": away}
    found = wc.audit(model, X, **settings)
    assert found.settings["n_background"] == len(away)
    net = wc.neuralize(model, away)
    areas = found.methods.set_index("method")["auc"]
    squared = wc.explain(net, X, method="squared", background=away)
    again = flipping_auc(net, X, squared, n_repeats=2, background=away, random_state=0)
    assert areas["squared"] == pytest.approx(again.auc, abs=1e-6)
    assert (
        abs(wc.audit(model, X, **{**settings, "background": None}).methods["auc"].mean() - areas.mean()) > 0.5
    )
    monkeypatch.setattr("whyclust.auditing.run.MOST_BACKGROUND", 17)
    assert wc.audit(model, X, **settings).settings["n_background"] == 17
