"""The number of clusters: found where it was planted, not claimed where there is one lump."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

import generators
import whyclust as wc
from whyclust.cluster import choose_k
from whyclust.cluster._k_paths import _moved, _steps_of_k_means, families, k_means_path, merge_centers
from whyclust.cluster._one_lump import LUMPS, blurred, box, gaussian, kinds_of_columns, one_lump
from whyclust.cluster._standing_apart import BESIDE, BORDER, LEAST_SHARED, VALLEY, Tally
from whyclust.cluster.choose_k import _once, standing_apart


def planted(k, n_columns=4, n_rows=600, apart=9.0, seed=0):
    """Clusters at least so many standard deviations apart."""
    generator = np.random.default_rng(seed)
    centers = []
    while len(centers) < k:
        new = generator.uniform(-3, 3, size=n_columns) * apart * max(1.0, k / 8)
        if all(np.linalg.norm(new - old) > apart for old in centers):
            centers.append(new)
    labels = np.arange(n_rows) % k
    return np.array(centers)[labels] + generator.normal(size=(n_rows, n_columns)), labels


# --- what is found ----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5, 8, 15])
def test_planted_clusters_are_found(k):
    X, _ = planted(k, seed=k)
    choice = choose_k(X, k_max=20, random_state=0)
    assert (choice.k, choice.stands_out) == (k, True)
    assert choice.support[k] == max(choice.support.values()) > 0.7 * k
    assert all(value <= number for number, value in choice.support.items())


def test_more_than_thirty_are_found_where_there_are_more():
    X, _ = planted(34, n_columns=5, n_rows=1020)
    choice = choose_k(X, random_state=0)
    assert choice.k == 34
    assert sorted(choice.support) == list(range(1, 46))


def test_irrelevant_columns_do_not_hide_clusters():
    X, _ = planted(5)
    noise = np.random.default_rng(1).normal(size=(len(X), 12))
    assert choose_k(np.hstack([X, noise]), k_max=12, random_state=0).k == 5


def test_categories_do_not_hide_clusters():
    X, labels = planted(4)
    generator = np.random.default_rng(0)
    binary = (generator.random((len(X), 2)) < 0.5) * 2.0
    choice = choose_k(np.hstack([X, binary]), k_max=10, random_state=0)
    assert (choice.k, choice.stands_out) == (4, True)
    # A category is a cluster where columns depend on it.
    own = np.hstack([X[:, :2], np.eye(4)[labels] * 4.0])
    assert choose_k(own, k_max=10, random_state=0).k == 4


def test_combinations_of_categories_are_no_clusters():
    """Three clusters in three numbers, and two categories that lean on them: eighteen combinations."""
    generator = np.random.default_rng(3)
    labels = np.repeat(np.arange(3), 100)
    numbers = 6.0 * np.eye(3)[labels] + generator.normal(size=(300, 3))
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]])
    first = np.array([generator.choice(3, p=shares[label]) for label in labels])
    second = generator.random(300) < np.array([0.3, 0.6, 0.8])[labels]
    X = np.hstack([(numbers - numbers.mean(axis=0)) / numbers.std(axis=0), np.eye(3)[first], second[:, None]])
    choice = choose_k(X, random_state=0)
    assert (choice.k, choice.stands_out) == (3, True)


def test_values_are_blurred_by_half_a_step():
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.normal(size=5000), generator.choice([0.0, 3.0, 4.0], size=5000)])
    found = blurred(X, generator)
    np.testing.assert_array_equal(found[:, 0], X[:, 0])
    assert (found - X)[:, 1].std() == pytest.approx(0.5, rel=0.05)
    assert (found - X)[:, 1].mean() == pytest.approx(0.0, abs=0.03)


def test_rounding_is_undone_half_way_to_the_neighbours():
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.normal(63, 6, size=3000).round(), generator.normal(size=3000)])
    found = blurred(X, generator)
    np.testing.assert_array_equal(found[:, 1], X[:, 1])
    close = np.abs(X[:, 0] - 63) < 12  # where no whole number is missing
    moved = (found - X)[close, 0]
    assert np.abs(moved).max() <= 0.5
    assert moved.std() == pytest.approx(1 / np.sqrt(12), rel=0.05)
    # A wide gap between groups of values stays open.
    groups = np.repeat([10.0, 11, 12, 13, 14, 15, 50, 51, 52, 53, 54, 55], 20)[:, None]
    found = blurred(groups, generator)
    assert not ((found > 16) & (found < 49)).any()


INTEGERS = {
    "rounded": lambda generator, n: generator.normal(63, 6, (n, 1)).round(),
    "Poisson": lambda generator, n: generator.poisson(6, (n, 1)),
    "rounded, two columns": lambda generator, n: generator.normal(63, 6, (n, 2)).round(),
    "Poisson, two columns": lambda generator, n: generator.poisson(6, (n, 2)),
    "logarithms of counts": lambda generator, n: np.log1p(generator.poisson(20, (n, 1))),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_whole_numbers_of_one_lump_are_no_clusters(name):
    """Between whole numbers there is nothing: that is rounding, and no valley."""
    for seed in range(10):
        X = INTEGERS[name](np.random.default_rng(seed), [60, 150, 300, 500][seed % 4]).astype(float)
        choice = choose_k((X - X.mean(axis=0)) / X.std(axis=0), k_max=20, random_state=seed)
        assert not choice.stands_out, (seed, choice)


@pytest.mark.parametrize("n_rows", [60, 300])
@pytest.mark.parametrize("deviation", [1.0, 3.0])
def test_groups_of_whole_numbers_are_found(n_rows, deviation):
    for seed in range(3):
        generator = np.random.default_rng(seed)
        ages = np.repeat([22.0, 47.0, 75.0], n_rows // 3) + deviation * generator.normal(size=n_rows)
        choice = choose_k(ages.round()[:, None], k_max=20, random_state=seed)
        assert (choice.k, choice.stands_out) == (3, True)


def lumps():
    generator = np.random.default_rng(0)
    n_rows = 500
    yield "uniform", generator.uniform(size=(n_rows, 3))
    yield "elongated", generator.normal(size=(n_rows, 3)) * [6, 1, 1]
    yield "correlated", generator.normal(size=(n_rows, 1)) + 0.3 * generator.normal(size=(n_rows, 5))
    yield "log-normal", generator.lognormal(size=(n_rows, 3))
    yield "t3", generator.standard_t(3, size=(n_rows, 3))
    binary = (generator.random((n_rows, 2)) < 0.5) * 2.0
    yield "binary", np.hstack([generator.normal(size=(n_rows, 2)), binary])
    yield "only binary", binary
    category = np.eye(4)[generator.integers(4, size=n_rows)] * 2.0
    yield "category", np.hstack([generator.normal(size=(n_rows, 2)), category])


@pytest.mark.parametrize(
    ("name", "X"), list(lumps()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_one_lump_is_told(name, X):
    choice = choose_k(X, k_max=15, random_state=0)
    assert not choice.stands_out
    assert "better supported than one cluster" in choice.describe()
    # Someone who clusters all the same needs a k.
    assert 2 <= choice.k <= 15


def test_two_halves_that_agree_are_not_enough():
    """The first trap: k-means cuts one elongated lump at the same place again and again."""
    X = np.random.default_rng(3).normal(size=(600, 2)) * [8, 1]
    choice = choose_k(X, k_max=6, random_state=0)
    assert choice.agreement[2] > 0.85
    assert choice.support[2] < 1.0
    assert not choice.stands_out


@pytest.mark.parametrize("method", families())
def test_every_method_finds_clusters_and_finds_none_in_one_lump(method):
    X, _ = planted(4, n_columns=2, n_rows=400)
    choice = choose_k(X, method=method, k_max=8, random_state=0)
    assert (choice.k, choice.stands_out, choice.method) == (4, True, method)
    lump = np.random.default_rng(0).normal(size=(400, 2))
    assert not choose_k(lump, method=method, k_max=8, random_state=0).stands_out


def test_mixtures_count_long_clusters_that_k_means_cuts():
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(size=(200, 2)) * [6, 0.5] + [0, 5 * i] for i in range(3)])
    assert choose_k(X, method="mixture", k_max=8, random_state=0).k == 3


# --- the result -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def choice():
    return choose_k(planted(5)[0], k_max=9, random_state=0)


def test_seeds_repeat(choice):
    X, _ = planted(5)
    assert choose_k(X, k_max=9, random_state=0) == choice
    assert choose_k(X, k_max=9, random_state=np.random.RandomState(0)) == choice
    assert choose_k(X, k_max=9, random_state=1).apart != choice.apart
    with generators.untouched():
        choose_k(X, k_max=3, random_state=2)


def test_the_order_and_the_place_of_rows_do_not_matter(choice):
    X, _ = planted(5)
    moved = X[np.random.default_rng(0).permutation(len(X))] + 1e6
    again = choose_k(moved, k_max=9, random_state=0)
    assert (again.k, again.stands_out) == (choice.k, choice.stands_out)


def test_runners_up_come_with_their_support(choice):
    others = {k: value for k, value in choice.support.items() if k not in (1, 5) and value > 1}
    best = sorted(others, key=lambda k: -others[k])[:3]
    assert choice.alternatives == [(k, others[k]) for k in best]
    assert choice.describe().startswith(
        f"k = 5: {standing_apart(choice.support[5], 5)} beyond chance. Next: k = {best[0]} ("
    )


def test_the_result_is_plain_json(choice):
    read = json.loads(json.dumps(choice.to_json(), allow_nan=False))
    assert read["n_clusters"] == list(range(1, 10))
    assert read["support"] == [choice.support[k] for k in range(1, 10)]
    for k in range(2, 10):
        expected = max(choice.apart[k] - choice.by_chance[k], 0.0)
        assert choice.support[k] == pytest.approx(expected, abs=1e-12)
    assert choice.support[1] == 1.0


def test_the_plot_is_drawn_where_it_is_asked_for(choice):
    ax = Figure().subplots()
    assert choice.plot(ax=ax) is ax
    own, chance, chosen = ax.get_lines()
    assert own.get_xdata().tolist() == list(range(1, 10))
    assert own.get_ydata().tolist() == [choice.apart[k] for k in range(1, 10)]
    assert chance.get_ydata().tolist() == [choice.by_chance[k] for k in range(1, 10)]
    assert chosen.get_xdata().tolist() == [5]
    assert wc.plots.number_of_clusters(choice).get_title() == "k = 5"


# --- what is refused, and what is odd ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (csr_matrix(np.eye(30)), {}, "X is sparse, expected a dense table.*TruncatedSVD.50."),
        (np.full((30, 2), np.nan), {}, "missing or infinite"),
        ([["a", "b"]] * 30, {}, "more than numbers"),
        (np.zeros(30), {}, "expected rows and columns"),
        (np.zeros((0, 2)), {}, "expected rows and columns"),
        (np.zeros((30, 2)), {}, "found 1 distinct points, expected at least 3"),
        (np.eye(30) * 1e200, {}, "rescale the columns"),
        (np.eye(30), {"k_max": 1}, "k_max=1, expected a whole number, 2 or more"),
        (np.eye(30), {"k_max": 2.5}, "expected a whole number"),
        (np.eye(30), {"method": "dbscan"}, "method='dbscan' is unknown, expected one of kmeans"),
    ],
)
def test_bad_input(X, options, message):
    with pytest.raises(ValueError, match=message):
        choose_k(X, **options)


def test_constant_columns_change_nothing():
    X, _ = planted(4)
    wider = np.column_stack([np.full(len(X), 7.0), X, np.zeros(len(X))])
    choice = choose_k(wider, k_max=8, random_state=0)
    assert (choice.k, choice.stands_out) == (4, True)


@pytest.mark.parametrize("n_rows", [3, 7, 19])
def test_few_rows_tell_nothing(n_rows):
    choice = choose_k(np.random.default_rng(0).normal(size=(n_rows, 2)), k_max=50, random_state=0)
    assert (choice.k, choice.stands_out) == (2, False)
    assert choice.describe() == f"{n_rows} rows are too few to choose a k: k = 2 is taken."
    assert choice.to_json()["n_rows"] == n_rows
    # What was not counted is not told, nor drawn.
    assert choice.to_json()["n_clusters"] == [1]
    with pytest.raises(ValueError, match=r"too few to choose a k: k = 2 is taken, and there is no curve"):
        choice.plot()
    assert "k = 2 is taken" in choice._repr_html_()


def test_few_rows_far_apart_are_enough():
    X, _ = planted(3, n_rows=45)
    choice = choose_k(X, k_max=100, random_state=0)
    assert (choice.k, choice.stands_out) == (3, True)
    assert max(choice.support) == 9  # a fifth of the rows


def test_rows_that_occur_often():
    X, _ = planted(4, n_rows=24)
    choice = choose_k(np.repeat(X, 20, axis=0), k_max=30, random_state=0)
    assert max(choice.support) <= 23
    # 24 points, each twenty times, are 24 clusters of their own; four of them lie together.
    assert choice.k in (4, 23)
    three = np.repeat([[0.0, 0.0], [5.0, 5.0], [0.0, 9.0]], 20, axis=0)
    assert choose_k(three, random_state=0).k == 2


def test_large_tables_are_sampled(monkeypatch):
    monkeypatch.setattr("whyclust.cluster._standing_counts.tallies", lambda *_: {2: Tally(np.arange(2), 2)})
    choice = choose_k(np.random.default_rng(0).normal(size=(9000, 2)), k_max=2, random_state=0)
    assert choice.n_rows == 3000


# --- the parts --------------------------------------------------------------------------------------


def test_merging_is_wards_linkage():
    from scipy.cluster.hierarchy import fcluster, linkage

    X = np.random.default_rng(0).normal(size=(25, 3))
    tree = linkage(X, "ward")
    merged = merge_centers(X, np.ones(25), range(1, 26))
    for k, centers in merged.items():
        labels = fcluster(tree, k, "maxclust")
        expected = np.array([X[labels == one].mean(axis=0) for one in np.unique(labels)])
        np.testing.assert_allclose(np.sort(centers, axis=0), np.sort(expected, axis=0), atol=1e-12)


def test_one_tree_ends_in_good_optima():
    from sklearn.cluster import KMeans

    X, labels = planted(20, n_columns=5)
    for k, found in k_means_path(X, [5, 20, 25], 0):
        inertia = found.scores(X).min(axis=1).sum()
        restarts = KMeans(k, n_init=3, random_state=0).fit(X).inertia_
        assert inertia < 1.05 * restarts
        assert (found.scores(X).argmin(axis=1) == found.labels).mean() > 0.99
        own = found.labels == 0
        rise = (found.scores(X)[own] - found.scores(X)[own, :1]).mean(axis=0)
        np.testing.assert_allclose(found.depth[0], rise, rtol=0.05, atol=0.5)
    assert len(set(zip(labels, dict(k_means_path(X, [20], 0))[20].labels, strict=True))) == 20


def test_steps_without_checks_are_those_of_k_means_number_by_number(monkeypatch):
    """Also where a centre loses its rows, and where rows are stored column by column."""
    generator = np.random.default_rng(0)
    X, _ = planted(4, n_rows=80)
    tables = [X + 1e3, np.asfortranarray(X), generator.integers(3, size=(60, 2)) * 1.0, X.astype(np.float32)]
    ways = {"steps": _steps_of_k_means(), "fits": None}
    assert ways["steps"] is not None
    for table in tables:
        found = {}
        for way, steps in ways.items():
            monkeypatch.setattr("whyclust.cluster._k_paths._steps_of_k_means", lambda steps=steps: steps)
            found[way] = dict(k_means_path(table, range(2, 10), 0))
        assert list(found["steps"]) == list(found["fits"])
        for k, fit in found["fits"].items():
            np.testing.assert_array_equal(found["steps"][k].labels, fit.labels)
            np.testing.assert_array_equal(found["steps"][k].scores(table), fit.scores(table))
            np.testing.assert_array_equal(found["steps"][k].depth, fit.depth)


def test_steps_end_where_k_means_ends_them():
    """Where centres creep, not the labels end the fit but its tolerance, a share of the columns' variance."""
    from sklearn.cluster import KMeans

    generator = np.random.default_rng(0)
    X = generator.uniform(size=(3000, 2)) * [5.0, 0.5] + 7.0
    start = X[:4].copy()
    with threadpool_limits(1):  # of several, each adds up rows of its own, and sums are rounded otherwise
        fit = KMeans(4, init=start, n_init=1, max_iter=30).fit(X)
        settled = KMeans(4, init=start, n_init=1, max_iter=30, tol=0.0).fit(X)
    assert 3 < fit.n_iter_ < 30
    assert not np.array_equal(settled.cluster_centers_, fit.cluster_centers_)
    ((centers, labels),) = _moved(X, [start], 0)
    np.testing.assert_array_equal(centers, fit.cluster_centers_)
    np.testing.assert_array_equal(labels, fit.labels_)


def test_references_have_the_shape_of_the_table_and_no_clusters():
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(4000, 3)) @ generator.normal(size=(3, 3)) + [5, 0, -3]
    category = np.eye(3)[generator.integers(3, size=4000)]
    X = np.column_stack([numbers, category])
    assert kinds_of_columns(X) == ([0, 1, 2], [[3, 4, 5]])
    for lump in LUMPS:
        made = one_lump(X, lump, generator)
        assert (np.sort(made[:, 3:], axis=0) == np.sort(category, axis=0)).all()
        assert (made[:, 3:].sum(axis=1) == 1).all()
        assert (made[:, 3:] != category).any()
    axes = np.linalg.svd(numbers - numbers.mean(axis=0), full_matrices=False)[2]
    own = (numbers - numbers.mean(axis=0)) @ axes.T
    near = (one_lump(X, gaussian, generator)[:, :3] - numbers.mean(axis=0)) @ axes.T
    np.testing.assert_allclose(np.cov(near.T), np.cov(own.T), atol=0.15 * own.var())
    sides = (one_lump(X, box, generator)[:, :3] - numbers.mean(axis=0)) @ axes.T
    assert (sides.min(axis=0) >= own.min(axis=0) - 1e-9).all()
    assert (sides.max(axis=0) <= own.max(axis=0) + 1e-9).all()
    assert (sides.std(axis=0) > own.std(axis=0)).all()


def test_standing_apart_literally():
    """Two clusters on a line: counted by hand from positions between the centres."""
    from whyclust.cluster._distances import squared_distances
    from whyclust.cluster._k_paths import Partition

    x = np.concatenate(
        [np.linspace(-1.4, -0.32, 40), np.linspace(-0.27, 0.28, 14), np.linspace(0.32, 1.5, 40)]
    )
    centers = np.array([[-1.0], [1.0]])
    labels = (x > 0).astype(int)
    half = Partition(
        labels, lambda rows: squared_distances(rows, centers), np.array([[0.0, 4.0], [4.0, 0.0]])
    )
    tally = Tally(labels, 2)
    tally.add(half, x[:, None], np.arange(len(x)))
    position = np.abs(x) / 2  # the centres are two apart, and one is at ±1/2
    on_border = (position < BORDER).sum()
    beside = min(((position > BESIDE[0]) & (position < BESIDE[1]) & side).sum() for side in (x < 0, x > 0))
    ratio = (2 * on_border + 0.5) / (2 * beside + 0.5)
    expected = np.clip((VALLEY[1] - ratio) / (VALLEY[1] - VALLEY[0]), 0, 1)
    assert 0 < expected < 1
    np.testing.assert_allclose(tally.standing(), [expected, expected], rtol=1e-12)
    # Labels of all rows that differ from the half's for a quarter of the second cluster.
    other = labels.copy()
    other[-10:] = 0
    moved = Tally(other, 2)
    moved.add(half, x[:, None], np.arange(len(x)))
    first, second = np.bincount(labels)
    shared = np.array([first / (first + 10), (second - 10) / second])
    assert moved.agreement == pytest.approx(shared.mean(), abs=1e-12)
    back = np.clip((shared - LEAST_SHARED) / (1 - LEAST_SHARED), 0, 1)
    np.testing.assert_allclose(moved.standing(), expected * back, rtol=1e-12)


def test_a_choice_is_shown_in_a_sentence():
    choice = choose_k(np.random.default_rng(0).normal(size=(60, 2)), k_max=4, random_state=0)
    assert repr(choice) == f"<ChosenK: {choice.describe()}>"


def test_texts_are_told_what_to_do():
    with pytest.raises(ValueError, match="TfidfVectorizer, then TruncatedSVD"):
        choose_k(["a cat", "a dog", "a mouse"])


@pytest.mark.parametrize("times", [2, 4])
def test_a_table_written_out_several_times_is_that_table(times):
    generator = np.random.default_rng(0)
    once = generator.normal(size=(200, 4))
    once[7] = once[8]
    again = generator.permutation(np.repeat(once, times, axis=0))
    assert len(_once(again)) == 200
    assert sorted(map(tuple, _once(again))) == sorted(map(tuple, once))
    chosen = choose_k(again, k_max=40, random_state=0)
    assert (chosen.stands_out, chosen.n_rows) == (False, 200) and chosen.k < 20
    # One row more, and it is a table like any other.
    assert len(_once(again[1:])) == len(again) - 1
