"""Sufficient columns: planted truth, plain re-derivations, exhaustive search, calibration, odd cases."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.answers import sufficient
from whyclust.answers._flat_judge import FlatJudge
from whyclust.answers.similar_rows import SimilarColumns, effective_rows, fitted_widths, mutual_information
from whyclust.answers.sufficient import _Answering, _Known
from whyclust.answers.sufficient_search import FEWEST_ROWS, _Block
from whyclust.cluster import KernelKMeans, SoftKMeans
from whyclust.inputs.reading import read_input
from whyclust.network.apart import judges


def scaled_k_means(X, k):
    return make_pipeline(StandardScaler(), KMeans(k, n_init=5, random_state=0)).fit(X)


@pytest.fixture(scope="module")
def planted():
    """Four clusters, in the corners of a square: two of six columns decide, and neither does alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    X[:, [1, 4]] += 8.0 * rng.integers(2, size=(400, 2))
    model = KMeans(4, n_init=5, random_state=0).fit(X)
    return wc.explain(model, X, feature_names=list("abcdef"))


@pytest.fixture(scope="module")
def found(planted):
    return planted.sufficient()


def test_planted_columns_are_found(found):
    assert set(found.status) == {"suffices"}
    assert set(found.columns) == {("b", "e")}
    assert (found.probability > 0.98).all()
    assert (found.effective_rows >= FEWEST_ROWS).all()
    by_cluster = found.by_cluster()
    assert by_cluster["columns"].tolist() == ["b and e"] * 4
    assert (by_cluster["share"] == 1.0).all()
    assert found.describe().splitlines()[0] == "Cluster 0: b and e suffice for 100% of its rows."
    assert found.of_cluster(-1) == ""  # as reports ask of noise, of which no row was asked


def test_one_row_alone_is_that_row_among_all(planted, found):
    for row in (0, 7):
        alone = planted[row].sufficient()
        assert alone.columns[0] == found.columns[row]
        assert alone.probability[0] == pytest.approx(found.probability[row], abs=1e-6)
        assert alone.describe() == found[row].describe()


def test_answers_are_sliced_and_become_frames(found):
    part = found[found.clusters == 2]
    assert set(part.clusters) == {2} and {one.cluster for one in part.sets} == {2}
    frame = part.to_pandas()
    assert frame.columns.tolist() == [
        "cluster", "columns", "n_columns", "probability", "effective_rows", "status"
    ]  # fmt: skip
    assert (frame["columns"] == "b, e").all() and (frame["n_columns"] == 2).all()
    assert len(found[3]) == 1 and len(found[:5]) == 5
    with pytest.raises(IndexError, match="do not fit"):
        found["nobody"]


def plainly_told(ex, answer, row, half, *, leave_out=True):
    """Re-derived: the model's share of completions of the row by the rows of a half, by kernel weights."""
    X = np.asarray(ex.data)
    order = np.random.default_rng(0).permutation(len(X))[:1000]
    middle = len(order) // 2
    chosen = order[:middle] if half == "searched" else order[middle:]
    if leave_out:
        chosen = chosen[chosen != row]
    columns = [ex.feature_names.index(name) for name in answer.columns[row]]
    distance = (((X[chosen] - X[row])[:, columns] / X[order].std(axis=0)[columns]) ** 2).sum(axis=1)
    weights = np.exp(-0.5 * distance / answer.widths[len(columns) - 1] ** 2)
    points = X[chosen].copy()
    points[:, columns] = X[row, columns]
    hits = ex.origin.network.predict(points) == ex.clusters[row]
    similar = weights.sum() ** 2 / (weights**2).sum()
    everyone = np.mean(ex.origin.network.predict(X[order]) == ex.clusters[row])
    # Half a row more tells, which knows only how many rows the cluster has.
    more = 0.5 if half == "told" else 0.0
    return (similar * np.average(hits, weights=weights) + more * everyone) / (similar + more), similar


@pytest.fixture(scope="module")
def wine():
    X = load_wine().data
    ex = wc.explain(scaled_k_means(X, 3), X)
    return ex, ex.sufficient(target=0.9)


def test_told_is_the_models_probability_by_similar_rows_of_the_other_half(wine):
    """Told by the second half without the row itself; the first half, or the row itself, tell otherwise."""
    ex, answer = wine
    rows = [row for row in range(len(ex)) if 0 < len(answer.columns[row]) < ex.shape[1]][:60]
    told = np.array([plainly_told(ex, answer, row, "told") for row in rows])
    assert np.abs(told[:, 0] - answer.probability[rows]).max() < 1e-4
    assert np.abs(told[:, 1] / answer.effective_rows[rows] - 1).max() < 1e-4
    itself = np.array([plainly_told(ex, answer, row, "told", leave_out=False)[1] for row in rows])
    in_told = np.abs(itself / told[:, 1] - 1) > 1e-3
    assert 0.3 < in_told.mean() < 0.7  # half of the rows are in that half, and were left out
    searched = np.array([plainly_told(ex, answer, row, "searched")[0] for row in rows])
    assert np.median(np.abs(searched - answer.probability[rows])) > 1e-3
    assert (searched >= 0.9 - 1e-4).all()  # what was found reached the target there, too


def exhaustive(ex, n_rows, target=0.95):
    """The smallest sufficient set of each row, among all sets, by the same probabilities; its size."""
    known = _Known.of(ex, None, 1000, 0)
    ((judge, _),) = judges(known.net, ex.clusters, ex.assigned)
    answering = _Answering(known, ex, judge, target, 12)
    search, n_columns, sizes = answering.search, ex.shape[1], []
    for block, task in answering._tasks(np.arange(n_rows)):
        squares = _Block(search, task)
        best = np.full(len(block), n_columns)
        for size in range(1, n_columns):
            for columns in itertools.combinations(range(n_columns), size):
                rows = np.flatnonzero(best > size)
                chosen = np.zeros((len(rows), n_columns), dtype=bool)
                chosen[:, columns] = True
                reached, _ = search.judged(search.searched, squares.squares, task, rows, chosen)
                told, similar = search.judged(search.told, squares.squares_told, task, rows, chosen)
                best[rows[(np.minimum(reached, told) >= target) & (similar >= FEWEST_ROWS)]] = size
        sizes.append(best)
    return np.concatenate(sizes)


@pytest.mark.parametrize(("load", "k"), [(load_wine, 3), (load_breast_cancer, 4)])
def test_sets_are_as_small_as_those_of_exhaustive_search(load, k):
    X = load().data[:, :6]
    ex = wc.explain(scaled_k_means(X, k), X)
    answer = ex.sufficient(slice(0, 60))
    smallest = exhaustive(ex, 60)
    there = answer.status == "suffices"
    larger = answer.sizes[there] - smallest[there]
    assert there.sum() >= 40
    assert larger.min() >= 0
    assert (larger == 0).mean() >= 0.95 and larger.max() <= 1
    # Nothing that exhaustive search would have found is missed.
    assert (smallest[~there] == ex.shape[1]).mean() >= 0.9 or there.all()


def told_and_measured(load, k, seed):
    """Mean probability told from two thirds of the rows, and that measured on the third that was held out."""
    X = load().data
    X = X[np.random.default_rng(seed).permutation(len(X))]
    model = scaled_k_means(X, k)
    background, held_out = X[: len(X) * 2 // 3], X[len(X) * 2 // 3 :]
    ex = wc.explain(model, background)
    answer = ex.sufficient()
    told, measured = [], []
    scale = background.std(axis=0)
    for row in np.flatnonzero((answer.sizes > 0) & (answer.sizes < X.shape[1])):
        columns = [ex.feature_names.index(name) for name in answer.columns[row]]
        distance = (((held_out - background[row])[:, columns] / scale[columns]) ** 2).sum(axis=1)
        weights = np.exp(-0.5 * distance / answer.widths[len(columns) - 1] ** 2)
        if effective_rows(weights) < 10:
            continue
        points = held_out.copy()
        points[:, columns] = background[row, columns]
        told.append(answer.probability[row])
        measured.append(np.average(model.predict(points) == answer.clusters[row], weights=weights))
    assert len(told) > 20
    return np.mean(told), np.mean(measured)


@pytest.mark.parametrize(("load", "k", "splits"), [(load_breast_cancer, 3, 1), (load_wine, 3, 4)])
def test_told_probabilities_are_those_of_rows_held_out(load, k, splits):
    for seed in range(splits):
        told, measured = told_and_measured(load, k, seed)
        assert abs(told - measured) < 0.02


def test_told_probabilities_are_true_where_the_truth_is_known():
    """Rows of two Gaussians with one covariance: what is not known has a distribution in closed form."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(5, 5))
    covariance = mixing @ mixing.T / 5 + 0.3 * np.eye(5)
    means = np.array([[0.0] * 5, [2.0, 1.5, 1.0, 0.5, 0.0]])
    which = rng.integers(2, size=1500)
    X = means[which] + rng.multivariate_normal(np.zeros(5), covariance, size=1500)
    model = KMeans(2, n_init=5, random_state=0).fit(X)
    ex = wc.explain(model, X)
    answer = ex.sufficient(slice(0, 300), target=0.9, max_columns=4)
    truth, told = [], []
    for row in np.flatnonzero(answer.status == "suffices"):
        known = [ex.feature_names.index(name) for name in answer.columns[row]]
        rest = np.setdiff1d(np.arange(5), known)
        if not len(rest):
            continue
        inner = covariance[np.ix_(known, known)]
        slope = covariance[np.ix_(rest, known)] @ np.linalg.inv(inner)
        left = covariance[np.ix_(rest, rest)] - slope @ covariance[np.ix_(known, rest)]
        away = X[row, known] - means[:, known]
        density = np.exp(-0.5 * np.einsum("ki,ij,kj->k", away, np.linalg.inv(inner), away))
        from_which = rng.random(400) < density[1] / density.sum()
        points = np.repeat(X[[row]], 400, axis=0)
        center = (means[:, rest] + away @ slope.T)[from_which.astype(int)]
        points[:, rest] = center + rng.multivariate_normal(np.zeros(len(rest)), left, size=400)
        truth.append((model.predict(points) == answer.clusters[row]).mean())
        told.append(answer.probability[row])
    assert len(told) > 150
    assert abs(np.mean(told) - np.mean(truth)) < 0.02


def test_categories_are_the_same_or_another():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "kind": rng.choice(["x", "y", "z"], size=300),
            "size": rng.normal(size=300),
            "weight": rng.normal(size=300),
        }
    )
    encode = make_column_transformer(
        (OneHotEncoder(), ["kind"]), (StandardScaler(), ["size", "weight"]), verbose_feature_names_out=False
    )
    X = frame.assign(size=0.2 * frame["size"])
    model = make_pipeline(encode, KMeans(3, n_init=5, random_state=0))
    X["size"] += 50.0 * (X["kind"] == "z")
    model.fit(X)
    ex = wc.explain(model, X)
    answer = ex.sufficient()
    frame_of = answer.to_pandas()
    # 'z' can be told by its size, too; 'x' and 'y' lie apart in nothing but their name, or the weight.
    assert (frame_of.loc[X["kind"] == "z", "n_columns"] == 1).all()
    assert set(frame_of.loc[X["kind"] == "z", "columns"]) <= {"kind", "size"}
    assert (answer.status == "suffices").mean() > 0.8


def test_distances_of_numbers_categories_and_groups():
    frame = pd.DataFrame({"a": [0.0, 1.0, 3.0], "b": ["x", "y", "x"], "c": [5.0, 5.0, 5.0]})
    encoded = np.array([[0.0, 1, 0, 5], [1, 0, 1, 5], [3, 1, 0, 5]])
    columns = SimilarColumns.of(encoded, np.array([0, 1, 1, 2]), np.arange(3), read_input(frame))
    values = columns.values(encoded)
    own, every = np.array([-1, 1, -1]), np.tile(np.arange(3), (3, 1))
    squares = columns.squares(values, values.T.copy(), every, own)
    variance = encoded[:, 0].var()
    assert squares[0, 0] == pytest.approx([0, 1 / variance, 9 / variance])
    assert squares[0, 1].tolist() == [0, 4, 0]
    assert squares[0, 2].tolist() == [0, 0, 0]  # constant: tells no row from another
    assert (squares[1, :, 1] > 1e8).all() and (squares[1, :, 0] < 1e8).all()  # itself, never
    grouped = SimilarColumns.of(encoded, np.array([0, 1, 1, 2]), np.array([0, 0, 1]), read_input(frame))
    both = grouped.squares(values, values.T.copy(), np.zeros((3, 1), dtype=int), np.full(3, -1))
    assert both[0, 0] == pytest.approx(squares[0, 0] + squares[0, 1])
    assert grouped.encoded(0).tolist() == [0, 1, 2] and columns.encoded(1).tolist() == [1, 2]


def test_widths_grow_with_the_columns_and_fit_the_clusters():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 4))
    columns = SimilarColumns.of(points, np.arange(4), np.arange(4), read_input(points))
    sets = [[np.arange(size)] for size in (1, 2, 3)]
    fine = (np.floor(points[:, 0] * 4).astype(int) % 2).astype(int)
    coarse = (points[:, 0] > 0).astype(int)
    narrow = fitted_widths(columns, columns.values(points), fine, sets)
    wide = fitted_widths(columns, columns.values(points), coarse, sets)
    assert narrow[0] < wide[0]
    assert (np.diff(wide) >= 0).all()


def test_information_is_that_of_the_column_that_decides():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 3))
    told = mutual_information(points, (points[:, 1] > 0).astype(int))
    assert told.argmax() == 1 and told[1] > 0.6 and told[[0, 2]].max() < 0.1


def test_a_cluster_that_holds_most_rows_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:12] += 30.0
    ex = wc.explain(KMeans(2, n_init=5, random_state=0).fit(X), X)
    answer = ex.sufficient()
    large = answer[12]
    assert large.status[0] == "holds most rows" and large.columns[0] == ()
    assert large.probability[0] == pytest.approx(0.97)
    assert "holds 97% of all rows" in large.describe() and "holds 97% of all rows" in answer.describe()
    assert set(answer.status[:12]) == {"too few similar rows to tell"}  # there are no twenty like them
    assert "oo few rows are similar" in answer[0].describe()


def small_cluster(n_members):
    """Clusters of 220 rows, and one that a single column of forty tells perfectly."""
    rng = np.random.default_rng(0)
    labels = np.r_[np.repeat([0, 1, 2], 220), np.repeat(3, n_members)]
    X = rng.normal(size=(len(labels), 40))
    X[np.arange(len(labels)), labels] += 8
    return wc.explain(labels, pd.DataFrame(X).add_prefix("g"))


@pytest.mark.parametrize("n_members", [13, 20, 31])
def test_of_a_small_cluster_it_is_said_that_nobody_can_tell(n_members):
    """Half of the background has fewer than twenty rows of it: the one column cannot be judged."""
    ex = small_cluster(n_members)
    answer = ex.sufficient(ex.labels == 3)
    found = answer.status == "suffices"
    assert set(answer.status[~found]) == {"too few similar rows to tell"}
    assert set(answer.unjudged) == {1}
    few = f", as only {n_members} of {660 + n_members} are in it."
    row = answer[int(np.flatnonzero(~found)[0])].describe()
    assert row == f"Too few rows are similar to tell which columns suffice for cluster 3{few}"
    most = int(np.median(answer.sizes[found]))
    assert answer.describe() == (
        f"Cluster 3: the sets found for {found.mean():.0%} of its rows mostly have {most} columns; "
        f"for 100% too few rows are similar to tell whether fewer suffice{few}"
    )


def test_large_sets_are_not_said_to_be_needed_where_smaller_ones_cannot_be_judged():
    ex = small_cluster(45)
    answer = ex.sufficient(ex.labels == 3)
    large = int(np.flatnonzero(answer.sizes > 5)[0])
    assert answer.unjudged[large] == 1
    assert answer[large].describe().endswith(" Fewer might, but too few rows are similar to tell.")
    assert "need" not in answer.describe()
    assert answer.describe().endswith("for 100% too few rows are similar to tell whether fewer suffice.")


def test_what_is_found_for_a_cluster_of_sixty_rows():
    """One column, for those of its rows that twenty others are like."""
    ex = small_cluster(60)
    answer = ex.sufficient(ex.labels == 3)
    alone = np.array([columns == ("g3",) for columns in answer.columns])
    assert alone.mean() > 0.8
    assert set(answer.unjudged[alone]) == {0}
    assert answer.describe().startswith("Cluster 3: g3 suffices for ")
    assert "mostly have" not in answer.describe()


def test_what_rows_need_is_said_of_those_that_were_answered(found):
    """Answers put together here: half of the rows need six columns, and no set does for the others."""
    mine = found[found.clusters == 0]
    half = np.arange(len(mine)) % 2 == 0
    status = np.where(half, "suffices", "no set suffices").astype(object)
    columns = [tuple("abcdef") if one else () for one in half]
    told = replace(mine, status=status, columns=columns, sets=()).of_cluster(0)
    share = f"{(~half).mean():.0%}"
    assert told == (
        "Cluster 0: no few columns suffice for many of its rows; most of those answered need 6 columns of "
        f"their own; for {share} no set suffices."
    )


def test_no_set_suffices_where_all_columns_are_needed():
    """The sign of a sum of eight independent columns: no single one decides, whatever its value."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(900, 8))
    labels = (X.sum(axis=1) > 0).astype(int)
    centers = np.array([X[labels == 0].mean(axis=0), X[labels == 1].mean(axis=0)])
    model = KMeans(2, init=centers, n_init=1, max_iter=1).fit(X)
    ex = wc.explain(model, X)
    answer = ex.sufficient(slice(0, 50), max_columns=1)
    assert (answer.status == "no set suffices").mean() > 0.5
    row = answer[int(np.flatnonzero(answer.status == "no set suffices")[0])]
    assert row.columns == [()] and np.isnan(row.probability[0])
    assert row.describe().startswith("No set of up to 1 column suffices")
    assert "no set suffices" in answer.describe()


def test_all_columns_suffice_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    ex = wc.explain(KMeans(3, n_init=5, random_state=0).fit(X), X)
    answer = ex.sufficient()
    both = answer.sizes == 2
    assert both.any() and (answer.probability[both] == 1.0).all()


def test_a_row_that_is_not_in_the_cluster(planted):
    other = planted.ask(cluster=0)
    answer = other.sufficient(slice(0, 40))
    elsewhere = other.assigned[:40] != 0
    assert set(answer.status[elsewhere]) == {"not in this cluster"}
    assert set(answer.status[~elsewhere]) == {"suffices"}
    place = int(np.flatnonzero(elsewhere)[0])
    assert "is not in cluster 0" in answer[place].describe()


def test_alternatives_are_other_sets_of_the_row():
    """Two columns that say the same: either suffices, and the other is named as the next best."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:150, :2] += 9.0
    ex = wc.explain(KMeans(2, n_init=5, random_state=0).fit(X), X, feature_names=list("abcd"))
    answer = ex.sufficient(slice(0, 20))
    for columns, others in zip(answer.columns, answer.alternatives, strict=True):
        assert columns in {("a",), ("b",)}
        assert others[0][0] in {("a",), ("b",)} - {columns} and others[0][1] > 0.95
    assert "Next best: " in answer[0].describe()


def test_labels_and_noise():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 3)) * 0.3 + shift for shift in (0.0, 4.0)])
    X = np.concatenate([X, rng.uniform(-6, 10, size=(20, 3))])
    model = DBSCAN(eps=0.8).fit(X)
    ex = wc.explain(model, X)
    answer = ex.sufficient(slice(0, 200))
    assert (answer.status == "suffices").mean() > 0.9
    assert set(answer.sizes[answer.status == "suffices"]) == {1}


def test_groups_become_known_together(planted):
    ex = wc.explain(planted.origin.network, planted.data, groups={"both": [1, 4], "rest": [0, 2, 3, 5]})
    assert set(ex.sufficient(slice(0, 30)).columns) == {("both",)}


def test_absolute_decisions_are_asked_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:150, 1] += 9.0
    model = wc.cluster.SoftKMeans(2, random_state=0).fit(X)
    X[:5, 1] = 4.5  # in between, where no cluster is probable enough
    ex = wc.explain(model, X, threshold=0.999999)
    answer = ex.sufficient(slice(0, 30))
    there = ex.evidence[:30] > 0
    assert 0 < there.sum() < 30
    assert {answer.columns[row] for row in np.flatnonzero(there)} == {(ex.feature_names[1],)}
    assert set(answer.status[~there]) == {"not in this cluster"}


def test_an_encoder_is_asked_through_its_network():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4)).astype(np.float32)
    X[:120, 2] += 8.0
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    with torch.no_grad():
        embedded = encoder(torch.from_numpy(X)).numpy()
    ex = wc.explain((encoder, np.array([embedded[:120].mean(0), embedded[120:].mean(0)])), X)
    answer = ex.sufficient(slice(0, 20))
    decides = ex.feature_names[2]
    assert all(decides in columns for columns in answer.columns)
    assert sum(columns == (decides,) for columns in answer.columns) >= 15


def test_wide_tables_are_searched_among_some_columns():
    X = load_digits().data[:400]
    ex = wc.explain(KMeans(5, n_init=3, random_state=0).fit(X), X)
    answer = ex.sufficient(slice(0, 12), max_columns=4, target=0.8)
    assert (answer.sizes <= 4).all() and (answer.status == "suffices").any()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target": 1.5}, "expected a probability between 0 and 1"),
        ({"target": 0}, "above zero"),
        ({"max_columns": 0}, "max_columns=0"),
        ({"background_size": 10}, "background_size=10, expected a whole number, 80 or more"),
        ({"background": np.zeros((5, 6))}, "background has 5 rows, too few"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(planted, options, told):
    with pytest.raises(ValueError, match=told):
        planted.sufficient(**options)


def test_other_questions_are_refused(planted):
    with pytest.raises(ValueError, match="explain without against="):
        sufficient(planted.ask(cluster=0, against=1))
    with pytest.raises(ValueError, match="its network is not there to be asked"):
        wc.explaining.explanation.Explanation.concat([planted[:5], planted[5:]]).sufficient()


@pytest.mark.parametrize("name", ["k-means", "scaled", "tied", "soft"])
def test_affine_models_are_asked_without_making_rows(name):
    """The same as the network's own answers for every filled-in row, of columns far from zero."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 5)) * [1, 10, 0.1, 1000, 3] + [50, -3e3, 0, 1e5, 7]
    model = {
        "k-means": KMeans(4, n_init=1, random_state=0),
        "scaled": make_pipeline(StandardScaler(), KMeans(4, n_init=1, random_state=0)),
        "tied": GaussianMixture(4, covariance_type="tied", random_state=0),
        "soft": make_pipeline(StandardScaler(), SoftKMeans(4, random_state=0)),
    }[name].fit(X)
    net = wc.neuralize(model)
    half, points = X[:150], X[150:]
    judge = FlatJudge.of(net, half)
    known = generator.random(points.shape) < 0.4
    clusters = generator.choice(net.clusters, len(points))
    found = judge.inside(points, known, clusters)
    filled = np.where(known[:, None], points[:, None], half)
    literal = np.stack([net.predict(rows) == one for rows, one in zip(filled, clusters, strict=True)])
    scores = np.sort(np.stack([net.scores(rows) for rows in filled]), axis=2)
    clear = np.abs(scores[:, :, -1]) > 1e-4 * np.abs(scores).mean()  # single precision cannot tell borders
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(found[clear], literal[clear])
    assert (found == literal).mean() > 0.999


def test_bent_borders_and_thresholds_make_rows():
    X = np.random.default_rng(0).normal(size=(100, 3))
    for model in (GaussianMixture(3, random_state=0), KernelKMeans(3, random_state=0)):
        assert FlatJudge.of(wc.neuralize(model.fit(X)), X) is None


def test_all_columns_are_no_answer_for_a_cluster():
    """They suffice for every row of every cluster, so that this says nothing of one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    answer = wc.explain(KMeans(8, n_init=2, random_state=0).fit(X), X, feature_names=list("abc")).sufficient()
    assert 3 in answer.sizes
    assert "a, b and c" not in answer.by_cluster()["columns"].tolist()
    assert "a, b and c suffice" not in answer.describe(top=9)
    lines = answer.describe().splitlines()
    assert len(lines) == 8
    assert any("no few columns suffice for many of its rows; most need 3 columns" in line for line in lines)


@pytest.fixture(scope="module")
def some_of_wine(wine):
    return wine[0].sufficient(slice(0, None, 3), target=0.9)


def test_what_suffices_for_a_cluster_is_counted_as_it_is_told(wine, some_of_wine):
    """A set does for every row that a part of it does for; rows that nothing was found for do not count."""
    for answer in (wine[1], some_of_wine):
        assert len(answer.sets) > 5
        for one in answer.sets:
            own = answer.clusters == one.cluster
            held = np.array(
                [bool(columns) and set(columns) <= set(one.columns) for columns in answer.columns]
            )
            assert one.n_members == own.sum()
            assert held[own].mean() <= one.share + 1e-12 <= (answer.status[own] == "suffices").mean() + 2e-12
            assert 0.9 <= one.probability <= 1.0
            for other in answer.sets:
                if other.cluster == one.cluster and set(other.columns) < set(one.columns):
                    assert other.share < one.share


def test_sets_of_a_cluster_come_from_the_fewest_columns_on_and_each_adds_something(wine, some_of_wine):
    for answer in (wine[1], some_of_wine):
        for cluster in answer.shares:
            own = [one for one in answer.sets if one.cluster == cluster]
            assert [len(one.columns) for one in own] == sorted(len(one.columns) for one in own)
            for one, other in itertools.combinations(own, 2):
                more = len(other.columns) - len(one.columns)
                assert other.share > one.share + 0.1 * more - 1e-9 if more else other.share <= one.share


def test_sentences_tell_how_many_rows_were_asked(wine, some_of_wine):
    ex, everyone = wine
    assert "asked" not in everyone.describe(top=3)
    lines = some_of_wine.describe(top=3).splitlines()
    for line, cluster in zip(lines, some_of_wine.shares, strict=True):
        asked, whole = (some_of_wine.clusters == cluster).sum(), (ex.clusters == cluster).sum()
        assert line.startswith(f"Cluster {cluster}, asked of {asked} of its {whole} rows: ")
        assert line == some_of_wine.of_cluster(cluster, top=3)
        shares = [float(part.split("%")[0]) for part in line.split(" suffice for ")[1:]]
        assert shares == sorted(shares)
    # Asked for another cluster, rows that are not in it do not count.
    told = ex.ask(cluster=0).sufficient(slice(0, None, 3), target=0.9).describe()
    assert told.splitlines() == some_of_wine.describe().splitlines()[:1]


def test_words_that_are_not_there_are_not_told_where_they_are_not_shown():
    """All texts of one topic have a word; those of the other lack it, and have two that the first lacks."""
    generator = np.random.default_rng(0)
    other = np.arange(600) % 2 == 1
    X = (generator.random(size=(600, 8)) < 0.3).astype(float)
    X[:, 0] = ~other
    X[:, 1:3] = generator.random(size=(600, 2)) < np.where(other, 0.8, 0.02)[:, None]
    weights = np.where(np.arange(8) < 3, 3.0, 1.0)
    table = sp.csr_array(X * weights)
    ex = wc.explain(KMeans(2, n_init=5, random_state=0).fit(table), table)
    place = {name: position for position, name in enumerate(ex.feature_names)}
    told = {}
    for absent in (True, False):
        found = ex.showing(absent=absent)[:60].sufficient()
        told[absent] = [X[row, place[name]] for row, names in enumerate(found.columns) for name in names]
        assert (found.status == "suffices").sum() > 20
    assert min(told[True]) == 0
    assert min(told[False]) == 1
