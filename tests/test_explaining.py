"""What an explanation knows besides relevance: its question, where it came from, and how to ask again."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.explaining import Provenance, Question
from whyclust.inputs import Images

X = load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def model():
    return make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)).fit(X)


@pytest.fixture(scope="module")
def ex(model):
    return wc.explain(model, X)


def test_questions_are_records(model, ex):
    assert ex.question == Question("assigned")
    assert str(ex.question) == "the assigned cluster against all others"
    duel = wc.explain(model, X, cluster=2, against=np.int64(1))
    assert duel.question == Question("chosen", 2, True, 1)
    assert str(duel.question) == "cluster 2 against cluster 1"
    each = wc.explain(model, X, cluster=model.predict(X))
    assert each.question == Question("chosen")
    assert str(each.question) == "cluster the one given for each row against all others"
    labels = wc.explain(model.predict(X), X)
    assert labels.question == Question("given")
    mixture = GaussianMixture(2, random_state=0).fit(X)
    absolute = wc.explain(mixture, X, threshold=0.75)
    assert absolute.question == Question("assigned", threshold=0.75)
    assert str(absolute.question) == "whether the probability of the assigned cluster exceeds 0.75"
    other = wc.explain(mixture, X, cluster=1, threshold=0.75)
    assert str(other.question) == "whether the probability of cluster 1 exceeds 0.75"


def test_provenance(ex):
    assert ex.provenance == Provenance(
        "neon", "KMeans", None, ex.provenance.head, ex.provenance.pool, n_clusters=3
    )


@pytest.mark.parametrize(
    "build",
    [
        lambda: KMeans(4, n_init=1, random_state=0),
        lambda: BisectingKMeans(4, random_state=0),
        lambda: wc.cluster.KernelKMeans(3, random_state=0),
        lambda: GaussianMixture(3, random_state=0),
    ],
)
def test_scores_are_the_evidence_of_every_cluster(build):
    table = StandardScaler().fit_transform(X)
    fitted = build().fit(table)
    found = wc.explain(fitted, table)
    scores = found.scores()
    net = found.origin.network
    for position, cluster in enumerate(net.clusters):
        np.testing.assert_array_equal(scores[:, position], net.evidence(table, cluster=cluster))
    assert ((scores > 0).sum(axis=1) <= 1).all()
    np.testing.assert_array_equal(net.clusters[scores.argmax(axis=1)], found.assigned)
    np.testing.assert_array_equal(found[[5, 3]].scores(), scores[[5, 3]])


@pytest.mark.parametrize(
    "question", [{"cluster": 1}, {"cluster": 2, "against": 0}, {"rule": "min_take_most"}, {}]
)
def test_a_second_question_needs_no_model(model, ex, question):
    wanted = wc.explain(model, X, **question)
    for found, rows in ((ex.ask(**question), slice(None)), (ex[10:20].ask(**question), slice(10, 20))):
        # Products of ten rows may be rounded otherwise than those of all, by the processor.
        np.testing.assert_allclose(found.values, wanted.values[rows], rtol=0, atol=1e-13)
        np.testing.assert_array_equal(found.index, wanted.index[rows])
        assert found.question == wanted.question
        assert found.beta == ex.beta


def test_a_second_question_keeps_what_was_said(model):
    groups = {"colour": ["color_intensity", "hue"]}
    grouped = wc.explain(model, X, groups=groups)
    assert grouped.ask(cluster=1).feature_names == grouped.feature_names
    labels = wc.explain(model.predict(X), X)
    part = labels[:50].ask()
    assert part.question.about == "given"
    np.testing.assert_array_equal(part.values, labels.values[:50])
    gradients = wc.explain(model, X, method="ig", steps=5)
    np.testing.assert_allclose(gradients[:5].ask().values, gradients.values[:5], rtol=1e-12)


def test_a_loaded_explanation_says_that_its_network_is_elsewhere(ex, tmp_path):
    again = wc.load(ex.save(tmp_path / "e.npz"))
    assert (again.question, again.provenance) == (ex.question, ex.provenance)
    with pytest.raises(ValueError, match=r"wc\.load of the network"):
        again.ask(cluster=1)
    with pytest.raises(ValueError, match="its network is not there"):
        again.scores()


def assert_same(one, other):
    np.testing.assert_allclose(np.asarray(one.values), np.asarray(other.values), rtol=1e-12, atol=1e-12)
    for name in ("base_values", "explained", "evidence"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12)
    for name in ("clusters", "assigned", "competitors", "index"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.feature_names == other.feature_names


def test_parts_are_joined(model, ex):
    net = wc.neuralize(model, X)
    parts = [wc.explain(net, X.iloc[rows]) for rows in (slice(0, 40), slice(40, 41), slice(41, 178))]
    joined = wc.Explanation.concat(parts)
    assert_same(joined, ex)
    pd.testing.assert_frame_equal(joined.data, X)
    assert wc.Explanation.concat([ex]) is ex
    labels = wc.explain(model.predict(X), X)
    again = wc.Explanation.concat([labels[:100], labels[100:]])
    assert_same(again, labels)
    np.testing.assert_array_equal(again.given, labels.given)


def test_parts_of_sparse_rows_stay_factored():
    rows = sp.random_array((40, 12), density=0.3, format="csr", rng=np.random.default_rng(0))
    whole = wc.explain(KMeans(3, n_init=1, random_state=0).fit(rows), rows)
    joined = wc.Explanation.concat([whole[:7], whole[7:]])
    assert joined.is_factored
    assert_same(joined, whole)
    assert (joined.data != rows).nnz == 0


def test_what_does_not_belong_together_is_not_joined(model, ex):
    other = wc.explain(model, X, cluster=1)
    with pytest.raises(ValueError, match="differ in question"):
        wc.Explanation.concat([ex, other])
    with pytest.raises(ValueError, match="differ in beta"):
        wc.Explanation.concat([ex, replace(ex, beta=1.0)])
    with pytest.raises(ValueError, match="different kinds"):
        wc.Explanation.concat([ex, replace(ex, kind=Images((13, 1)))])
    with pytest.raises(ValueError, match="expected at least one"):
        wc.Explanation.concat([])
    with pytest.raises(TypeError, match="expected explanations"):
        wc.Explanation.concat([ex, ex.values])
