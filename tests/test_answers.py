"""Two rows compared, rows with the same reason, and groups of reasons."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.answers import subpatterns
from whyclust.cluster import KernelKMeans


@pytest.fixture(scope="module")
def wine():
    frame = load_wine(as_frame=True).data
    frame.index = [f"wine {number}" for number in range(len(frame))]
    return frame


MODELS = {
    "k-means": make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)),
    "kernel": make_pipeline(StandardScaler(), KernelKMeans(3, random_state=0)),
    "mixture": make_pipeline(StandardScaler(), GaussianMixture(3, covariance_type="diag", random_state=0)),
}


@pytest.fixture(scope="module", params=MODELS)
def explained(request, wine):
    return wc.explain(MODELS[request.param].fit(wine), wine)


def test_differences_sum_to_the_difference_of_evidence(explained):
    net, clusters = explained.origin.network, explained.assigned
    first = 5
    together, apart = (
        int(np.flatnonzero(clusters == clusters[first])[9]),
        int(np.argmax(clusters != clusters[first])),
    )
    found = explained.compare(first, together)
    assert found.together and found.cluster == clusters[first] and found.against is None
    evidence = net.evidence(explained.data.iloc[[first, together]])
    assert found.evidence == pytest.approx(tuple(evidence))
    assert found.values.sum() + found.base_value == pytest.approx(evidence[0] - evidence[1], abs=1e-10)
    own = explained.values[first] - explained.values[together]
    np.testing.assert_allclose(found.values, own, atol=1e-12)

    found = explained.compare(f"wine {first}", f"wine {apart}")
    assert not found.together and found.rows == (f"wine {first}", f"wine {apart}")
    assert found.clusters == (found.cluster, found.against) == (clusters[first], clusters[apart])
    evidence = net.evidence(
        explained.data.iloc[[first, apart]], cluster=clusters[first], against=clusters[apart]
    )
    assert evidence[0] > 0 > evidence[1]
    assert found.values.sum() + found.base_value == pytest.approx(evidence[0] - evidence[1], abs=1e-10)
    frame = found.to_pandas()
    assert frame["difference"].sum() == pytest.approx(found.values.sum())
    assert frame.loc["proline", f"wine {apart}"] == explained.data["proline"].iloc[apart]
    assert found.describe(top=1).count("and") >= 2


def test_the_base_of_k_means_is_nothing(wine):
    ex = wc.explain(MODELS["k-means"].fit(wine), wine)
    other = int(np.argmax(ex.assigned != ex.assigned[0]))
    for pair in [(0, 1), (0, other)]:
        found = ex.compare(*pair)
        assert abs(found.base_value) < 1e-10 * np.abs(found.values).sum()
    # The order of the rows turns the sign, where they are together.
    np.testing.assert_allclose(ex.compare(0, 1).values, -ex.compare(1, 0).values)


def test_questions_about_other_clusters_do_not_matter_to_comparisons(wine):
    model = MODELS["k-means"].fit(wine)
    plain = wc.explain(model, wine)
    duel = wc.explain(model, wine, cluster=0, against=1)
    np.testing.assert_allclose(plain.compare(0, 1).values, duel.compare(0, 1).values, atol=1e-12)


def test_one_row_is_not_compared_with_itself(explained):
    with pytest.raises(ValueError, match="are one row, expected two"):
        explained.compare(3, "wine 3")


def test_similar_rows_have_the_same_reason_however_strong():
    """Rows on a ray from the mid-point have one direction of relevance."""
    X = np.array([[-4.0, 0.0], [-2.0, 0.0], [-4.0, 3.0], [-4.0, -3.0], [4.0, 0.0], [2.0, 0.0], [6.0, 0.0]])
    centers = np.array([[-4.0, 1.0], [4.0, -1.0]])
    model = KMeans(2, n_init=1, init=centers, max_iter=1, random_state=0).fit(X)
    ex = wc.explain(model, X)
    found = ex.similar(0, count=10)
    assert set(found.positions) == set(np.flatnonzero(ex.clusters == ex.clusters[0])) - {0}
    values = np.asarray(ex.values)
    lengths = np.linalg.norm(values, axis=1)
    cosines = values @ values[0] / (lengths * lengths[0])
    np.testing.assert_allclose(found.similarity, cosines[found.positions])
    assert (np.diff(found.similarity) <= 0).all()


def test_similar_rows_are_named(explained):
    found = explained.similar("wine 5", count=3)
    assert len(found.positions) == 3 and 5 not in found.positions
    assert found.labels.tolist() == [f"wine {place}" for place in found.positions]
    assert (explained.clusters[found.positions] == explained.clusters[5]).all()
    told = found.describe()
    assert told.startswith(f"Rows {found.labels[0]}, {found.labels[1]} and {found.labels[2]} are in cluster")
    assert found.to_pandas()["similarity"].is_monotonic_decreasing
    with pytest.raises(ValueError, match="count=0, expected a whole number, 1 or more"):
        explained.similar(0, count=0)
    assert "the only one" in explained[:1].similar(0).describe()


def two_reasons(seed=0):
    """Rows are in one cluster because of the first column, or because of the second."""
    generator = np.random.default_rng(seed)
    first = np.repeat([[9.0, 0.0], [0.0, 9.0]], 60, axis=0)
    X = np.concatenate([first, np.full((120, 2), -9.0)]) + generator.normal(size=(240, 2))
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    return wc.explain(model, pd.DataFrame(X, columns=["age", "income"])), model.labels_[0]


def test_planted_reasons_are_found():
    ex, cluster = two_reasons()
    found = ex.subpatterns(cluster)
    assert len(found) == 2 and found.chosen.stands_out
    groups = sorted(sorted(group.members.tolist()) for group in found)
    assert groups == [list(range(60)), list(range(60, 120))]
    by_age = next(group for group in found if 0 in group.members)
    assert by_age.columns[0] == "age" and "are there more for age" in by_age.sentence
    values = ex.values[:60]
    np.testing.assert_allclose(by_age.shares, (values / np.abs(values).sum(axis=1)[:, None]).mean(axis=0))
    assert found.describe().startswith(
        f"Cluster {cluster} has 2 groups of members with reasons of their own."
    )


def test_one_reason_is_said():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 4)) + np.repeat([[0.0] * 4, [12.0] * 4], 100, axis=0)
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    found = ex.subpatterns(0)
    assert len(found) == 1 and len(found[0]) == 100
    assert "has one reason: no groups stand out among its members' relevances." in found.describe()
    assert found[0].sentence.startswith(
        "On average over all 100 members of cluster 0, the largest parts of relevance are "
    )
    few = ex[np.r_[0:5, 100:105]].subpatterns(0)
    assert len(few) == 1 and few.chosen is None and "too few members" in few.describe()
    with pytest.raises(ValueError, match="cluster=7 has no rows in this explanation, expected one of 0, 1"):
        ex.subpatterns(7)


def test_reasons_of_some_members_are_not_said_of_all():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 4)) + np.repeat([[0.0] * 4, [12.0] * 4], 100, axis=0)
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    found = subpatterns(ex[np.r_[0:40, 100:140]], 0, size=100)
    assert "among the relevances of the 40 of its 100 members that were looked at." in found.describe()
    assert found[0].sentence.startswith(
        "On average over the 40 members of cluster 0 that were looked at, the largest parts of relevance are "
    )
    ex, cluster = two_reasons()
    for group in subpatterns(ex, cluster, size=905):
        assert group.sentence.startswith(
            f"60 of the 120 members of cluster {cluster} that were looked at are there"
        )


def test_sentences_may_use_the_answers():
    X = load_wine(as_frame=True).data
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)).fit(X)
    ex = wc.explain(model, X)
    row = ex[5].describe(answers=True).splitlines()
    assert row == [ex[5].describe(), ex[5].sufficient().describe(), ex[5].smallest_change(0).describe()]
    told = ex.describe(answers=True).splitlines()
    rules = [ex.rules(cluster)[0].describe() for cluster in (0, 1, 2)]
    assert told[:6] == [*ex.describe().splitlines(), *rules]
    assert all(one.startswith(f"Cluster {place}") for place, one in enumerate(told[6:]))
    # Answers that a clustering has not are left out, not refused.
    loaded = wc.load(ex.save(Path(tempfile.mkdtemp()) / "ex.npz"))
    assert loaded[5].describe(answers=True) == loaded[5].describe()


def test_the_cosine_of_rows_for_one_reason_is_no_bound():
    rows = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(rows), rows)
    assert ex.similar(0).describe().endswith("(cosine 1.00).")
