"""Is there structure at all? Clusters against pieces of one lump, in the audit and alone."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

import whyclust as wc
from whyclust.auditing.standing import compared, in_their_span, stand
from whyclust.auditing.subject import subject_of
from whyclust.cluster import choose_k
from whyclust.cluster._k_paths import family
from whyclust.cluster._standing_apart import tally_of
from whyclust.cluster.structure import few_rows, outlier_clusters, structure
from whyclust.inputs.reading import read_input

FEW = {"n_repeats": 2, "n_refits": 2, "methods": ["squared"]}
LUMPS = {
    "uniform box": lambda generator: generator.uniform(size=(300, 4)) * [3, 2, 1, 1],
    "elongated Gaussian": lambda generator: generator.normal(size=(300, 4)) * [8, 1, 1, 1],
    "noise": lambda generator: generator.normal(size=(300, 4)),
}


def k_means(X, k):
    return KMeans(k, n_init=5, random_state=0).fit(X)


def answers(found):
    return {one.question: one.answer for one in found.answers}


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("lump", LUMPS)
def test_pieces_of_one_lump_are_not_trusted(lump, k):
    X = LUMPS[lump](np.random.default_rng(k))
    found = wc.audit(k_means(X, k), X, **FEW)
    assert answers(found)["structure"] == "no"
    assert found.trusted == "no"
    assert "no better supported than one lump of all rows" in found.verdict[0]


def test_noise_in_many_columns_is_one_lump():
    """There centres tell their own rows only, which must not pass for a question that cannot be asked."""
    X = np.random.default_rng(0).normal(size=(200, 60))
    found = structure(X, k_means(X, 4).labels_, others=False)
    assert found.unknown is None
    assert found.apart == 0
    assert not found.stands_out


@pytest.mark.parametrize("away", [8, 5])
def test_two_clusters_that_any_column_tells_are_trusted(away):
    X, _ = make_blobs(200, centers=[[0, 0], [away, away]], random_state=0)
    found = wc.audit(k_means(X, 2), X)
    assert answers(found) == {"structure": "yes", "stability": "yes", "faithfulness": "yes"}
    assert "chance" not in found.verdict[0]


def test_too_few_clusters_are_named():
    X, _ = make_blobs(800, centers=8, n_features=5, random_state=0)
    found = wc.audit(k_means(X, 5), X, **FEW)
    assert answers(found) == {"structure": "with care", "stability": "yes", "faithfulness": "yes"}
    assert found.standing.found.better[0] == 8
    assert "all 8 clusters stand apart" in found.verdict[0]
    assert found.to_json()["structure"]["better"]["k"] == 8
    assert answers(wc.audit(k_means(X, 8), X, **FEW))["structure"] == "yes"


def test_clusters_of_a_chosen_k_count_as_they_did_there(monkeypatch):
    X, _ = make_blobs(300, centers=4, n_features=3, random_state=0)
    chosen = choose_k(X)
    labels = k_means(X, chosen.k).labels_
    monkeypatch.setattr("whyclust.cluster.structure.count_clusters", None)  # it is not counted anew
    found = structure(X, labels, chosen=chosen)
    assert found.better is None
    assert found.support >= chosen.support[chosen.k]
    # Of other clusters of as many rows the count tells nothing.
    mixed = np.random.default_rng(0).permutation(labels)
    assert structure(X, mixed, chosen=chosen).support < 1 < chosen.support[chosen.k]


def test_iris_and_wine():
    X = load_iris().data
    assert answers(wc.audit(k_means(X, 2), X, **FEW))["structure"] == "yes"
    # Two of the three overlap.
    assert answers(wc.audit(k_means(X, 3), X, **FEW))["structure"] == "with care"
    X = load_wine().data
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=5, random_state=0)).fit(X)
    assert answers(wc.audit(model, X, **FEW))["structure"] == "yes"


def with_outliers(n_rows=300):
    X, _ = make_blobs(n_rows, centers=2, n_features=4, random_state=3)
    X[:3] = [[90, 90, -80, 70], [92, 91, -81, 72], [91, 88, -79, 71]]
    return X


def test_outliers_are_named_as_such():
    X = with_outliers()
    model = k_means(X, 3)
    found = wc.audit(model, X, **FEW)
    outlier = int(model.labels_[0])
    assert found.standing.outliers == {outlier: 3}
    assert found.trusted == "with care"
    assert f"cluster {outlier} (3 rows) is far from all others, outliers and no finding" in found.verdict[0]
    assert "leave these rows out and cluster again" in found.verdict[0]
    # Which helps, and other units do not.
    assert wc.audit(k_means(X[3:], 2), X[3:], **FEW).trusted == "yes"
    scaled = make_pipeline(RobustScaler(), KMeans(3, n_init=5, random_state=0)).fit(X)
    assert wc.audit(scaled, X, **FEW).standing.outliers
    # The two clusters beside them are judged as if they were not there.
    assert found.standing.found.k == 2
    assert found.standing.found.stands_out
    assert found.to_json()["structure"]["outliers"] == [{"cluster": outlier, "rows": 3}]


def test_one_cluster_and_outliers_are_no_structure():
    X = with_outliers()
    found = wc.audit(k_means(X, 2), X, **FEW)
    assert answers(found)["structure"] == found.trusted == "no"
    assert "without which all rows are in one cluster" in found.verdict[0]


def test_outliers_of_a_large_table_are_not_lost_in_its_sample(monkeypatch):
    monkeypatch.setattr("whyclust.auditing.standing.MOST_ROWS", 100)
    X = with_outliers(2000)
    model = k_means(X, 3)
    told = []
    standing = stand(subject_of(model, X), model.labels_, random_state=0, progress=told.append)
    assert standing.outliers == {int(model.labels_[0]): 3}
    assert standing.found.n_rows == 100
    assert standing.n_rows == 1997


def test_few_rows_nearby_are_no_outliers():
    X, labels = make_blobs([80, 80, 4], centers=[[0, 0], [6, 0], [3, 2]], random_state=0)
    few = few_rows(np.bincount(labels))
    assert few.tolist() == [False, False, True]
    assert outlier_clusters(X, labels, few) == []
    X[labels == 2] += 40
    assert outlier_clusters(X, labels, few) == [2]
    # Without other clusters there is nothing to be far from.
    assert outlier_clusters(X, labels, np.ones(3, dtype=bool)) == []


def test_the_given_labels_are_counted_not_those_of_k_means():
    """Cut across their valley, two blobs are no clusters, however k-means would have cut them."""
    X, blobs = make_blobs(300, centers=[[0, 0], [9, 0]], random_state=0)
    across = (X[:, 1] > np.median(X[:, 1])).astype(int)
    assert structure(X, blobs).stands_out
    found = structure(X, across)
    assert not found.stands_out
    assert found.better[0] == 2
    assert found.better[1] > 1.5


def test_borders_are_judged_on_rows_that_did_not_draw_them():
    """The count of one split against a literal loop over its halves."""
    X, labels = make_blobs(60, centers=[[0, 0], [3, 0]], random_state=1)
    found = tally_of(X, labels, 2, family("kmeans"), 1, np.random.default_rng(5))
    order = np.random.default_rng(5).permutation(60)
    halves = [np.sort(order[:30]), np.sort(order[30:])]
    border, beside = np.zeros((2, 2)), np.zeros((2, 2))
    for fitted, held in (halves, halves[::-1]):
        means = [X[fitted][labels[fitted] == c].mean(axis=0) for c in (0, 1)]
        between = ((means[0] - means[1]) ** 2).sum()
        for row in X[held]:
            squares = [((row - mean) ** 2).sum() for mean in means]
            own = int(np.argmin(squares))
            position = (squares[1 - own] - squares[own]) / (2 * between)
            border[own, 1 - own] += position < 0.15
            border[1 - own, own] += position < 0.15
            beside[own, 1 - own] += 0.35 < position < 0.65
    np.testing.assert_array_equal(found.border - np.diag(np.diag(found.border)), border)
    np.testing.assert_array_equal(found.beside, beside)


def test_long_clusters_are_told_by_gaussians():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 2)) * [8, 0.5] + np.repeat([[0, 0], [0, 5]], 200, axis=0)
    assert structure(X, np.repeat([0, 1], 200), others=False).stands_out
    assert not structure(X, k_means(X, 2).labels_, others=False).stands_out


def test_borders_around_which_anything_stands_apart_prove_nothing():
    """A ring and what is inside it are told by a kernel, which cuts one lump as well."""
    X, labels = make_circles(300, noise=0.05, factor=0.4, random_state=0)
    assert structure(X, labels).unknown == "cut by such borders, pieces of one lump stand apart as well"


@pytest.mark.parametrize("case", ["moons", "few rows", "too wide", "huge"])
def test_where_it_cannot_be_asked_the_others_decide(case, monkeypatch):
    import scipy.sparse as sp

    X, _ = make_blobs(120, centers=3, n_features=5, random_state=1)
    if case == "moons":
        X, _ = make_moons(600, noise=0.05, random_state=0)
        subject, reason = DBSCAN(eps=0.2).fit(X), "neither centres nor Gaussians nor a kernel tell"
    elif case == "few rows":
        X = X[:16]
        subject, reason = k_means(X, 3), "16 rows are too few for 3 clusters"
    elif case == "too wide":
        X = sp.csr_array(X)
        subject, reason = k_means(X, 3), "the table has too many columns"
        monkeypatch.setattr("whyclust.auditing.standing.MOST_DENSE", 500)
    else:
        X = 1e105 * X
        subject, reason = k_means(X, 3), "its numbers are too large"
    table = subject_of(subject, X)
    standing = stand(table, table.clusters, random_state=0, progress=lambda message: None)
    assert reason in standing.found.unknown
    assert standing.to_json()["apart"] is None
    if case == "too wide":
        found = wc.audit(subject, X, **FEW)
        assert found.trusted == "yes"
        assert "Not asked: structure (the table has too many columns)." in found.verdict[0]


def test_sparse_tables_are_asked_as_dense_ones_are():
    """Narrow ones get the same answer; of wide ones the span of the rows is asked, which keeps distances."""
    import scipy.sparse as sp

    X, _ = make_blobs(120, centers=3, n_features=5, random_state=1)
    generator = np.random.default_rng(0)
    wide = np.zeros((120, 400))
    wide[:, generator.choice(400, 5, replace=False)] = X
    found = {}
    for name, table in {"dense": X, "sparse": sp.csr_array(X), "wide": sp.csr_array(wide)}.items():
        subject = subject_of(k_means(table, 3), table)
        found[name] = stand(subject, subject.clusters, random_state=0, progress=lambda message: None).found
    assert found["sparse"] == found["dense"]
    assert all(one.unknown is None and one.apart > 2 for one in found.values())
    rows = generator.normal(size=(20, 50))
    turned = in_their_span(rows)
    assert turned.shape == (20, 19)
    apart = [np.linalg.norm(part[:, None] - part[None], axis=2) for part in (rows, turned)]
    assert np.abs(apart[0] - apart[1]).max() < 1e-10


def test_rows_are_compared_as_the_model_scales_them():
    X = load_wine().data
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)).fit(X)
    found = compared(wc.neuralize(model, X), read_input(X))
    np.testing.assert_allclose(found, model[0].transform(X), atol=1e-12)


def test_large_tables_are_sampled_with_the_error_stated(monkeypatch):
    monkeypatch.setattr("whyclust.auditing.refits.MOST_REFITTED", 400)
    monkeypatch.setattr("whyclust.auditing.standing.MOST_ROWS", 300)
    X, _ = make_blobs([900, 80, 20], centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=1)
    model = k_means(X, 3)
    fitted = []
    fit = KMeans.fit
    monkeypatch.setattr(KMeans, "fit", lambda self, X, *args: fitted.append(len(X)) or fit(self, X, *args))
    found = wc.audit(model, X, **{**FEW, "max_rows": 100})
    assert max(fitted) == 400
    assert (found.settings["n_scored"], found.settings["n_refitted"]) == (100, 400)
    assert found.settings["n_counted"] == 300
    # Clusters keep the rows that they have.
    assert sorted(found.stability["rows"]) == [20, 80, 900]
    told = " ".join(found.verdict)
    # 0.98 / √400 and 0.98 / √8: the widest 95% intervals of a share.
    assert "a sample of 400 of 1,000 rows" in told
    assert "known to ±4.9% (95%), of those of the smallest cluster to ±35%" in told
    assert "Counted on a sample of 300 of 1,000 rows" in told


def test_the_error_is_that_of_other_samples():
    """Of many samples of the same kind, the standard deviation is near to what one of them states."""
    counts, errors = [], []
    for seed in range(12):
        X, _ = make_blobs(150, centers=[[0, 0], [2.6, 0]], random_state=seed)
        found = structure(X, k_means(X, 2).labels_, others=False, random_state=seed)
        counts.append(found.apart)
        errors.append(found.error)
    assert 0.4 < np.mean(errors) / np.std(counts, ddof=1) < 2.5
