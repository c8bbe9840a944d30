"""Relevance that knows the data, against its formulas written out; and the order in which columns suffice."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.baselines import Asked
from whyclust.baselines.known_columns import KnownColumns, exact_values, sampled_values
from whyclust.cluster import KernelKMeans
from whyclust.inputs.reading import read_input
from whyclust.perturbing.subject import Prepared

EXACT = 1e-10


def rows_of(n_rows=60, n_columns=5, seed=0):
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=1.5, size=(3, n_columns))
    return middles[generator.integers(3, size=n_rows)] + generator.normal(size=(n_rows, n_columns))


def game_of(model, rows, background, cluster=None):
    """The game, as the baseline gets it."""
    net = wc.neuralize(model, background)
    prepared = Prepared.of(net, net.match(read_input(rows)), background)
    clusters = net.predict(rows) if cluster is None else np.full(len(rows), cluster)
    asked = Asked(prepared.rows.net, prepared, prepared.rows.points, clusters, clusters, None, None)
    return KnownColumns(asked)


def told_literally(model, row, known, background, cluster, sigma):
    """log P(c | z_I), the row itself left out, with one row more that knows only shares."""
    scale = background.std(axis=0)
    others = background[(background != row).any(axis=1)]
    distance = np.zeros(len(others))
    for column in known:
        distance += ((others[:, column] - row[column]) / (sigma * scale[column])) ** 2
    weights = np.exp(-0.5 * (distance - distance.min()))
    inside = model.predict(others) == cluster
    share = (inside.sum() + 1) / (len(others) + 2)
    return np.log((weights[inside].sum() + share) / (weights.sum() + 1))


def shapley_literally(worth, n_columns):
    """The mean over all orders of what a column adds when it becomes known."""
    found = np.zeros(n_columns)
    orders = list(permutations(range(n_columns)))
    for order in orders:
        for place, column in enumerate(order):
            found[column] += worth(order[: place + 1]) - worth(order[:place])
    return found / len(orders)


MODELS = {
    "k-means": lambda X: KMeans(3, n_init=2, random_state=0).fit(X),
    "kernel": lambda X: KernelKMeans(3, n_support=3, n_init=2, max_iter=20, random_state=0).fit(X),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("n_columns", [2, 4, 5])
def test_shapley_values_by_all_orders(kind, n_columns):
    X = rows_of(n_columns=n_columns)
    model = MODELS[kind](X)
    rows = np.vstack([X[:3], X[3:5] + 0.1])  # the last two are not among the background
    game = game_of(model, rows, X)
    sigma = game.asked.density.sigma
    found = exact_values(game)
    walked = np.zeros_like(found.values)
    orders = list(permutations(range(n_columns)))
    (known,) = game.blocks()
    for order in orders:
        walked += known.walk(np.tile(order, (len(rows), 1))) / len(orders)
    for place, row in enumerate(rows):
        cluster = game.asked.clusters[place]
        kept = {}

        def worth(columns, row=row, cluster=cluster, kept=kept):
            key = frozenset(columns)
            if key not in kept:
                kept[key] = told_literally(model, row, sorted(key), X, cluster, sigma)
            return kept[key]

        wanted = shapley_literally(worth, n_columns)
        assert np.abs(wanted).max() > 0.05
        assert np.abs(found.values[place] - wanted).max() < EXACT
        assert np.abs(walked[place] - wanted).max() < EXACT
        assert abs(found.base[place] - worth(())) < EXACT
        assert abs(found.base[place] + found.values[place].sum() - worth(range(n_columns))) < EXACT
    assert not found.errors.any()


def test_sampled_values_are_within_their_errors():
    X = rows_of(80, 6, seed=3)
    game = game_of(MODELS["k-means"](X), X[:30], X)
    exact = exact_values(game)
    sampled = sampled_values(game, 200, np.random.default_rng(0))
    assert np.abs(sampled.values.sum(axis=1) - exact.values.sum(axis=1)).max() < EXACT
    standing = (sampled.values - exact.values) / sampled.errors
    # As many standard errors away as chance has it: the mean of the squares is 1, of 180 the largest 3 to 4.
    assert 0.7 < (standing**2).mean() < 1.4
    assert np.abs(standing).max() < 4.5
    assert sampled.errors.max() < 0.05
    few = sampled_values(game, 6, np.random.default_rng(1))
    assert 0.5 < (few.errors**2).mean() / (200 / 6 * (sampled.errors**2).mean()) < 2.0


def parts_literally(model, X, row, cluster, n_columns):
    """Relevance, integrated gradients, and Shapley values of what is told, each with its base."""
    net = wc.neuralize(model, X)
    place = int(np.flatnonzero((row == X).all(axis=1))[0])
    relevance = net.relevance(X, cluster=np.full(len(X), cluster))
    mean = X.mean(axis=0)
    steps = [mean + (step + 0.5) / 10 * (row - mean) for step in range(10)]
    slope = np.mean([net.gradient(point[None], cluster=[cluster])[0] for point in steps], axis=0)
    sigma = game_of(model, X[:1], X).asked.density.sigma
    told = shapley_literally(lambda known: told_literally(model, row, known, X, cluster, sigma), n_columns)
    return [
        (2 / 5, relevance.values[place], relevance.base_values[place]),
        (1 / 5, (row - mean) * slope, net.evidence(mean[None], cluster=[cluster])[0]),
        (2 / 5, told, told_literally(model, row, (), X, cluster, sigma)),
    ]


@pytest.mark.parametrize("kind", MODELS)
def test_three_parts_of_the_same_size(kind):
    X = rows_of(50, 4, seed=1)
    model = MODELS[kind](X)
    ex = wc.explain(model, X, method="data_aware")
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < EXACT
    for row in range(4):
        parts = parts_literally(model, X, X[row], int(ex.clusters[row]), 4)
        unit = np.abs(parts[0][1]).sum()
        values = sum(share * unit / np.abs(part).sum() * part for share, part, _ in parts)
        base = sum(share * unit / np.abs(part).sum() * start for share, part, start in parts)
        assert np.abs(values - ex.values[row]).max() < EXACT * unit
        assert abs(base - ex.base_values[row]) < EXACT * unit


def test_errors_are_those_of_the_orders_and_stay_with_the_values(tmp_path):
    X = rows_of(80, 8, seed=2)
    model = MODELS["k-means"](X)
    ex = wc.explain(model, X, method="data_aware", n_permutations=4)
    many = [wc.explain(model, X, method="data_aware", n_permutations=4, random_state=s) for s in range(1, 25)]
    spread = np.std([one.values for one in many], axis=0, ddof=1)
    assert 0.8 < np.sqrt((ex.errors**2).mean() / (spread**2).mean()) < 1.25
    fewer = wc.explain(model, X, method="data_aware", n_permutations=20)
    assert not fewer.errors.any()  # all sets were looked at
    assert wc.explain(model, X).errors is None
    assert np.array_equal(ex[[3, 1]].errors, ex.errors[[3, 1]])
    assert np.array_equal(wc.Explanation.concat([ex[:5], ex[5:]]).errors, ex.errors)
    with pytest.raises(ValueError, match="Some explanations have standard errors"):
        wc.Explanation.concat([ex[:5], replace(ex[5:], errors=None)])
    for name in ("ex.parquet", "ex.npz", "ex.json"):
        assert np.array_equal(wc.load(ex.save(tmp_path / name)).errors, ex.errors)
    grouped = wc.explain(model, X, method="data_aware", n_permutations=4, groups={"two": ["x0", "x1"]})
    assert np.abs(grouped.errors[:, 0] - ex.errors[:, :2].sum(axis=1)).max() < EXACT


def test_a_row_is_left_out_of_what_is_told():
    """A row far from all others cannot be told by itself: nobody near it is in its cluster."""
    X = rows_of(60, 3, seed=4)
    X[0] = 30.0
    model = KMeans(3, n_init=2, random_state=0).fit(X)
    assert (model.labels_ == model.labels_[0]).sum() == 1
    (known,) = game_of(model, X[:1], X).blocks()
    known.path.reveal(np.array([0]))
    # With a weight of its own it would tell itself by more than one half.
    assert known.told()[0] < np.log(0.05)


def test_columns_without_weight_get_nothing_and_this_is_said():
    """A copy of a column tells as much as the column, but only one of them is in the network."""
    X = rows_of(90, 3, seed=5)
    frame = pd.DataFrame(X, columns=["age", "income", "tax"]).assign(copy=X[:, 0])
    model = KMeans(3, n_init=2, random_state=0).fit(frame)
    model.cluster_centers_[:, 3] = 0.0
    ex = wc.explain(model, frame, method="data_aware")
    assert not ex.values[:, 3].any()
    assert ex.notes == [
        "copy: no weight in the network, so no relevance, whatever is told by these columns in the data."
    ]
    named = wc.explain(model, frame, method="data_aware", feature_names=["a", "b", "c", "d"])
    assert named.notes[0].startswith("d: no weight")
    without = frame.drop(columns="copy")
    inner = KMeans(3, n_init=1, init=model.cluster_centers_[:, :3], max_iter=1).fit(without)
    inner.cluster_centers_ = model.cluster_centers_[:, :3]
    told = exact_values(game_of(inner, X, X))
    whole = game_of(model, frame.to_numpy(), frame.to_numpy())
    assert whole.players.tolist() == [0, 1, 2]
    # The density is wider by a column, so that the numbers are near, and not the same.
    assert np.corrcoef(exact_values(whole).values.ravel(), told.values.ravel())[0, 1] > 0.98
    assert not wc.explain(model, frame, method="sufficient").values[:, 3].any()


def test_categories_become_known_together():
    X = rows_of(80, 3, seed=6)
    colours = np.where(X[:, 0] > 1, "red", np.where(X[:, 1] > 0, "green", "blue"))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(colour=colours)
    encoder = make_column_transformer((StandardScaler(), ["a", "b", "c"]), (OneHotEncoder(), ["colour"]))
    model = make_pipeline(encoder, KMeans(3, n_init=2, random_state=0)).fit(frame)
    ex = wc.explain(model, frame, method="data_aware")
    assert ex.shape == (80, 4)
    assert ex.values.any(axis=0).all()
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < EXACT


def test_clusters_that_the_background_has_not():
    X = rows_of(60, 3)
    model = KMeans(3, n_init=2, random_state=0).fit(X)
    some = X[model.labels_ != 0]
    ex = wc.explain(model, X[model.labels_ == 0], background=some, method="data_aware")
    assert np.isfinite(ex.values).all()


def test_the_order_in_which_columns_suffice():
    X = rows_of(70, 5, seed=7)
    model = KMeans(3, n_init=2, random_state=0).fit(X)
    ex = wc.explain(model, X, method="sufficient")
    sigma = game_of(model, X[:1], X).asked.density.sigma
    for row in range(10):
        known = []
        for place in range(5):
            left = [column for column in range(5) if column not in known]
            told = [told_literally(model, X[row], [*known, one], X, ex.clusters[row], sigma) for one in left]
            known.append(left[int(np.argmax(told))])
            assert ex.values[row, known[-1]] == 5 - place


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_permutations": 1}, "n_permutations=1, expected"), ({"steps": 0}, "steps=0, expected")],
)
def test_bad_options(options, message):
    X = rows_of()
    with pytest.raises(ValueError, match=message):
        wc.explain(MODELS["k-means"](X), X, method="data_aware", **options)
