"""Algorithm 1 and the kernel density behind it, against literal loops and cases solved by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from scipy.integrate import trapezoid
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine, make_blobs
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.metrics import flipping_auc
from whyclust.metrics.flipping import _Scoring, some_steps
from whyclust.metrics.flipping_setting import setting_of
from whyclust.perturbing.encoded import EncodedRows
from whyclust.perturbing.imputation import KernelDensity, bandwidth, choose


def blobs(n=40, d=4, k=3, seed=0):
    X, _ = make_blobs(n, centers=k, n_features=d, cluster_std=3.0, random_state=seed)
    return X, KMeans(k, n_init=3, random_state=0).fit(X)


# --------------------------------------------------------------------------- kernel density


def leave_one_out(rows, sigma):
    """Eqs. (39) to (41), with loops."""
    n, d = rows.shape
    total = 0.0
    for i in range(n):
        density = 0.0
        for j in range(n):
            if j != i:
                square = ((rows[i] - rows[j]) ** 2).sum()
                density += np.exp(-square / (2 * sigma**2)) / (2 * np.pi * sigma**2) ** (d / 2)
        total -= np.log(density / (n - 1))
    return total


def test_bandwidth_minimises_the_leave_one_out_loss():
    rows = np.random.default_rng(0).normal(size=(25, 3))
    found = optimize.minimize_scalar(
        lambda s: leave_one_out(rows, s), bounds=(0.05, 3), method="bounded", options={"xatol": 1e-9}
    )
    assert abs(bandwidth(rows) - found.x) < 1e-6


def test_bandwidth_is_a_fixed_point_of_equation_42():
    rows = np.random.default_rng(1).normal(size=(20, 4))
    sigma = bandwidth(rows)
    total = 0.0
    for i in range(20):
        weights = [np.exp(-((rows[i] - rows[j]) ** 2).sum() / (2 * sigma**2)) for j in range(20) if j != i]
        squares = [((rows[i] - rows[j]) ** 2).sum() for j in range(20) if j != i]
        total += np.dot(weights, squares) / sum(weights)
    assert abs(sigma**2 - total / rows.size) < 1e-9


def test_bandwidth_of_copies():
    rows = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 2, axis=0)
    assert bandwidth(rows) == bandwidth(np.unique(rows, axis=0))
    assert bandwidth(np.zeros((5, 2))) == 1.0


def test_rows_are_chosen_as_in_equation_44():
    generator = np.random.default_rng(0)
    distances = generator.random((3, 5)) * 4
    n_draws = 40_000
    chosen = choose(distances, generator.random((n_draws, 3)))
    for point in range(3):
        weights = np.exp(-distances[point] / 2)
        share = np.bincount(chosen[:, point], minlength=5) / n_draws
        assert np.abs(share - weights / weights.sum()).max() < 4 * 0.5 / np.sqrt(n_draws)
    # The quantile function, literally.
    uniform = generator.random((50, 3))
    for draw, row in zip(uniform, choose(distances, uniform), strict=True):
        for point in range(3):
            weights = np.exp(-distances[point] / 2)
            assert row[point] == np.searchsorted(np.cumsum(weights) / weights.sum(), draw[point], "right")


def test_far_rows_are_never_chosen_and_nothing_overflows():
    distances = np.array([[1e6, 1e6 + 1, 1e9]])
    assert set(choose(distances, np.linspace(0, 0.999, 50)[:, None]).ravel()) == {0, 1}


def test_conditional_samples_have_the_conditional_moments():
    """E[x_F | x_P] = Σ α_n x_n and the variance of the mixture, Eq. (43)."""
    rows = np.random.default_rng(3).normal(size=(30, 3)) * [1.0, 5.0, 0.1]
    density = KernelDensity.fit(rows)
    assert np.allclose(density.scale, rows.std(axis=0))
    point = rows[:1] + 0.3 * density.scale
    path = density.path(point, np.arange(3))
    path.reveal(np.array([1]))
    drawn = path.sample(60_000, np.random.default_rng(0))[:, 0]
    unit = density.sigma * density.scale
    weights = np.exp(-(((rows[:, 1] - point[0, 1]) / unit[1]) ** 2) / 2)
    weights /= weights.sum()
    mean = weights @ rows
    variance = weights @ (rows - mean) ** 2 + unit**2
    assert (drawn[:, 1] == point[0, 1]).all()
    for column in (0, 2):
        error = np.sqrt(variance[column] / len(drawn))
        assert abs(drawn[:, column].mean() - mean[column]) < 5 * error
        assert abs(drawn[:, column].var() / variance[column] - 1) < 0.03


def test_a_density_takes_a_sample_of_many_rows():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    density = KernelDensity.fit(rows, max_rows=100)
    assert len(density.rows) == 100
    assert len(np.unique(density.rows, axis=0)) == 100
    with pytest.raises(ValueError, match="needs two rows or more, found 1"):
        KernelDensity.fit(rows[:1])


# --------------------------------------------------------------------------- Algorithm 1


def literal_curve(predict, point, relevance, cluster, fill):
    """Algorithm 1 for one point, with the empty point in front."""
    known = np.zeros(len(point), dtype=bool)
    curve = [predict(fill(point, known)) == cluster]
    for column in np.argsort(-relevance):
        known[column] = True
        curve.append(predict(fill(point, known)) == cluster)
    return np.array(curve, dtype=float)


@pytest.mark.parametrize("order", ["insert", "delete"])
@pytest.mark.parametrize("imputer", ["zero", "mean"])
def test_equals_algorithm_1_with_loops(order, imputer):
    X, model = blobs()
    ex = wc.explain(model, X)
    value = np.zeros(4) if imputer == "zero" else X.mean(axis=0)
    curves = []
    for row in range(len(X)):
        sign = 1 if order == "insert" else -1
        curve = literal_curve(
            lambda x: model.predict(x[None])[0],
            X[row],
            sign * ex.values[row],
            ex.clusters[row],
            lambda x, known: np.where(known, x, value),
        )
        curves.append(curve if order == "insert" else curve[::-1])
    areas = [100 * trapezoid(curve) / 4 for curve in curves]
    result = flipping_auc(model, X, ex, imputer=imputer, order=order, n_repeats=3)
    assert np.abs(result.per_point - areas).max() < 1e-4
    assert abs(result.auc - np.mean(areas)) < 1e-4
    assert np.abs(result.curve - np.mean(curves, axis=0)).max() < 1e-6
    assert abs(result.error - np.std(areas, ddof=1) / np.sqrt(len(X))) < 1e-4
    assert result.per_repeat.shape == (3,)
    assert 0 < result.auc < 100


def test_kernel_density_path_equals_sampling_afresh():
    """Distances that grow column by column are those to the known columns."""
    X, _ = blobs(30, 5)
    density = KernelDensity.fit(X)
    points = X[:7] + 0.1
    generator = np.random.default_rng(0)
    order = np.array([generator.permutation(5) for _ in range(7)])
    path = density.path(points, np.arange(5))
    for step in range(5):
        path.reveal(order[:, step])
        for i in range(7):
            unit = density.sigma * density.scale
            square = (((points[i] - X) / unit) ** 2)[:, order[i, : step + 1]].sum(axis=1)
            assert np.abs(path.distances[i] - square).max() < 1e-9
            assert set(np.flatnonzero(path.known[i])) == set(order[i, : step + 1])


def test_solved_by_hand():
    """Two clusters told apart by the first column alone; the second column is never looked at."""

    def predict(points):
        return (points[:, 0] > 0).astype(int)

    X = np.array([[2.0, 5.0], [3.0, -5.0], [-1.0, 1.0]])
    right = np.array([[1.0, 0.0]] * 3)
    # Imputed by zero: points of cluster 1 begin outside (0 is not > 0), the other one inside.
    result = flipping_auc(predict, X, right, imputer="zero")
    assert result.per_point.tolist() == [75.0, 75.0, 100.0]
    wrong = flipping_auc(predict, X, 1 - right, imputer="zero")
    assert wrong.per_point.tolist() == [25.0, 25.0, 100.0]
    assert result.curve.tolist() == pytest.approx([1 / 3, 1, 1])
    removed = flipping_auc(predict, X, right, imputer="zero", order="delete")
    assert removed.per_point.tolist() == [25.0, 25.0, 100.0]
    assert removed.to_pandas().columns.tolist() == ["columns removed", "share in cluster"]


def test_a_users_imputer_sees_only_what_is_known():
    X, model = blobs(12)
    seen = []

    def imputer(points, known, generator):
        assert np.isnan(points[~known]).all()
        assert (points[known] == X[known]).all()
        seen.append(known.sum(axis=1))
        return np.where(known, points, X.mean(axis=0))

    ex = wc.explain(model, X)
    own = flipping_auc(model, X, ex, imputer=imputer, n_repeats=2)
    assert own.auc == flipping_auc(model, X, ex, imputer="mean").auc
    assert own.imputer == "given"
    assert [int(counts[0]) for counts in seen] == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    with pytest.raises(ValueError, match=r"returned shape \(12, 3\), expected \(12, 4\)"):
        flipping_auc(model, X, ex, imputer=lambda points, known, generator: points[:, :3])
    with pytest.raises(ValueError, match="returned NaN or infinity"):
        flipping_auc(model, X, ex, imputer=lambda points, known, generator: points)


def test_ties_are_broken_at_random_and_not_by_the_order_of_columns():
    """Only the last column matters, and relevance does not tell it from the others but the first."""

    def predict(points):
        return (points[:, -1] > 0).astype(int)

    X = np.ones((4000, 5))
    relevance = np.zeros((4000, 5))
    relevance[:, 0] = 1.0
    curve = flipping_auc(predict, X, relevance, imputer="zero", n_repeats=1).curve
    assert np.abs(curve - [0, 0, 0.25, 0.5, 0.75, 1]).max() < 0.03


def test_the_same_seed_gives_the_same_draws_and_blocks_change_nothing_but_draws(monkeypatch):
    X, model = blobs(60)
    ex = wc.explain(model, X)
    first = flipping_auc(model, X, ex, random_state=1)
    assert first.auc == flipping_auc(model, X, ex, random_state=1).auc
    assert first.auc != flipping_auc(model, X, ex, random_state=2).auc
    whole = flipping_auc(model, X, ex, imputer="mean").per_point
    monkeypatch.setattr("whyclust.metrics.flipping._BLOCK_NUMBERS", 500)
    assert (flipping_auc(model, X, ex, imputer="mean").per_point == whole).all()
    assert abs(flipping_auc(model, X, ex, n_repeats=60).auc - first.auc) < 3


def test_relevance_is_better_than_chance_and_chance_than_its_reverse():
    X = StandardScaler().fit_transform(load_wine().data)
    model = KMeans(6, n_init=10, random_state=0).fit(X)
    ex = wc.explain(model, X)
    chance = np.random.default_rng(0).random(X.shape)
    scores = [flipping_auc(model, X, values).auc for values in (ex, chance, -ex.values)]
    assert scores[0] > scores[1] + 5 > scores[2] + 15


def test_columns_are_added_with_all_of_their_encoded_columns():
    generator = np.random.default_rng(0)
    colour = generator.choice(["red", "green", "blue"], 60)
    frame = pd.DataFrame({"unused": ["text"] * 60, "colour": colour, "size": generator.normal(size=60)})
    steps = make_column_transformer(
        (OneHotEncoder(), ["colour"]), (StandardScaler(), ["size"]), sparse_threshold=0
    )
    model = make_pipeline(steps, KMeans(3, n_init=5, random_state=0)).fit(frame)
    net = wc.neuralize(model, frame)
    rows = EncodedRows.of(net, net.read(frame))
    assert rows.sources.tolist() == [1, 1, 1, 2]
    assert np.array_equal(rows.net.predict(rows.points), model.predict(frame))
    ones = np.ones((60, 4))
    assert rows.collect(ones).tolist() == [[0.0, 3.0, 1.0]] * 60
    path = KernelDensity.fit(rows.points).path(rows.points, rows.sources)
    path.reveal(np.resize([0, 1, 2], 60))
    assert path.known[0].tolist() == [False] * 4
    assert path.known[1].tolist() == [True, True, True, False]
    assert path.known[2].tolist() == [False, False, False, True]
    ex = wc.explain(model, frame)
    result = flipping_auc(model, frame, ex)
    assert result.curve[-1] == 1
    assert result.auc > flipping_auc(model, frame[ex.feature_names], -ex.values).auc


def test_hidden_layers_are_scored_by_a_function():
    X, _ = blobs(30)
    hidden = np.maximum(X, 0)
    classes = KMeans(3, n_init=3, random_state=0).fit(hidden)
    result = flipping_auc(classes.predict, hidden, hidden**2, imputer="zero")
    assert result.curve[-1] == 1
    with pytest.raises(ValueError, match=r"returned shape \(\), expected|returned shape \(\) for"):
        flipping_auc(lambda points: 0, hidden, hidden**2, imputer="zero")


def test_a_chosen_cluster_is_what_is_scored():
    X, model = blobs(30)
    ex = wc.explain(model, X, cluster=1)
    inside = model.labels_ == 1
    result = flipping_auc(model, X, ex, imputer="mean")
    assert result.curve[-1] == pytest.approx(inside.mean())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, ex: (X[:-1], ex), "explanation has 40 rows, but X has 39"),
        (lambda X, ex: (X, ex.values[:, :3]), "explanation has 3 columns, but X has 4"),
        (lambda X, ex: (X + 1.0, ex), "rows with other values than X"),
        (lambda X, ex: (X[::-1], ex), "rows with other values than X"),
        (lambda X, ex: (X, np.ones_like(X)), "tells no column from another"),
        (lambda X, ex: (X, np.repeat(X[:, :1], 4, axis=1)), "the same relevance, so there is no order"),
        (lambda X, ex: (X, np.where(X > 0, np.nan, X)), "not finite"),
    ],
)
def test_nonsense_is_refused(change, message):
    X, model = blobs()
    table, explanation = change(X, wc.explain(model, X))
    with pytest.raises(ValueError, match=message):
        flipping_auc(model, table, explanation)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "sideways"}, "order='sideways' is unknown, expected one of insert, delete"),
        ({"n_repeats": 0}, "n_repeats=0, expected a whole number"),
        ({"imputer": "median"}, "imputer='median' is unknown, expected one of kde, zero, mean"),
        ({"background": np.zeros((5, 3))}, "3"),
    ],
)
def test_wrong_options_are_refused(options, message):
    X, model = blobs()
    with pytest.raises(ValueError, match=message):
        flipping_auc(model, X, wc.explain(model, X), **options)


def test_frames_in_another_order_of_columns():
    X, _ = blobs()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KMeans(3, n_init=3, random_state=0).fit(frame)
    ex = wc.explain(model, frame)
    mixed = frame[["c", "a", "d", "b"]]
    assert flipping_auc(model, mixed, ex).auc == flipping_auc(model, frame, ex).auc


def test_columns_that_are_constant_are_filled_in_with_their_constant():
    """Also where a scaler, fitted on other rows, would make much of the least noise."""
    generator = np.random.default_rng(0)
    X, _ = make_blobs(120, centers=3, n_features=3, random_state=0)
    X = np.column_stack([X, np.zeros(120)])
    X[100:, 3] = 0.05 * generator.random(20)
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)).fit(X)
    rows = X[:100]
    density = KernelDensity.fit(rows)
    assert density.scale[3] == 0
    drawn = density.path(rows, np.arange(4)).sample(5, generator)
    assert (drawn[..., 3] == 0).all()
    assert density.sigma == bandwidth(rows[:, :3] / rows[:, :3].std(axis=0))
    alone = flipping_auc(model, rows, wc.explain(model, rows))
    known = flipping_auc(model, rows, wc.explain(model, rows), background=X)
    assert abs(alone.auc - known.auc) < 3
    # A point that is elsewhere in such a column is as near to all rows as before.
    away = rows[:1] + np.array([0, 0, 0, 9.0])
    path = density.path(away, np.arange(4))
    path.reveal(np.array([3]))
    assert (path.distances == 0).all()
    removed = wc.explain(model, rows, method="pda_kde")
    assert np.isfinite(removed.values).all()
    assert (removed.values[:, 3] == 0).all()


def test_labels_are_scored_through_their_surrogate():
    X, model = blobs(60)
    ex = wc.explain(model.labels_, X)
    assert flipping_auc(model.labels_, X, ex).auc > flipping_auc(model.labels_, X, -ex.values).auc


def blobs_with_noise():
    X, labels = make_blobs(150, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=0.8, random_state=0)
    X[:12] = np.random.default_rng(0).uniform(-20, 20, (12, 2))
    labels[:12] = -1
    return np.column_stack([X, np.random.default_rng(1).normal(size=150)]), labels


def test_rows_are_judged_by_the_decision_that_was_explained():
    """Rows of clusters are explained with noise aside, so that noise does not compete for them here."""
    X, labels = blobs_with_noise()
    surrogate = wc.cluster.PrototypeSurrogate(random_state=0).fit(X, labels)
    ex = wc.explain(surrogate, X)
    away = np.array([40.0, 35.0, 0.0])  # far from all clusters: noise, as long as little is known
    result = flipping_auc(
        surrogate, X, ex, imputer=lambda points, known, generator: np.where(known, points, away)
    )
    net = wc.neuralize(surrogate)
    rows = np.flatnonzero((ex.clusters != -1) & (ex.assigned != -1))
    n_noise = 0
    for row in rows[:20]:
        known = np.zeros(3, dtype=bool)
        curve = []
        for column in [None, *np.argsort(-ex.values[row])]:
            if column is not None:
                known[column] = True
            logits = net.logits(np.where(known, X[row], away)[None])[0]  # the last one is noise
            n_noise += int(logits.argmax() == len(logits) - 1)
            curve.append(float(net.clusters[logits[:-1].argmax()] == ex.clusters[row]))
        assert result.per_point[row] == pytest.approx(100 * trapezoid(curve) / 3, abs=1e-4)
    assert n_noise > 20
    chance = flipping_auc(surrogate, X, wc.explain(surrogate, X, method="random"))
    assert flipping_auc(surrogate, X, ex).auc > chance.auc + 5


def test_a_threshold_is_the_question_where_one_was_asked():
    X, _ = blobs(60)
    model = wc.cluster.SoftKMeans(3, random_state=0).fit(X)
    ex = wc.explain(model, X, threshold=0.999)
    inside = (ex.evidence > 0).mean()
    assert 0 < inside < 1
    assert flipping_auc(model, X, ex).curve[-1] == pytest.approx(inside)


def test_explanations_of_another_question_or_model_are_refused():
    X, model = blobs(60)
    ex = wc.explain(model, X)
    soft = wc.cluster.SoftKMeans(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"exceeds 0.7, but the model is a function"):
        flipping_auc(soft.predict, X, wc.explain(soft, X, threshold=0.7))
    with pytest.raises(ValueError, match=r"whether a probability exceeds 0.7: explain this very model"):
        flipping_auc(wc.neuralize(soft, X, threshold=0.7), X, wc.explain(soft, X))
    with pytest.raises(ValueError, match="explain without against="):
        flipping_auc(model, X, wc.explain(model, X, cluster=0, against=1))
    other = KMeans(5, n_init=1, random_state=3).fit(X)
    with pytest.raises(ValueError, match=r"of another model, .* Explain this model"):
        flipping_auc(other, X, ex)
    for wrong in ({"n_repeats": True}, {"random_state": -1}, {"random_state": "a"}):
        with pytest.raises(ValueError, match="expected a whole number"):
            flipping_auc(model, X, ex, **wrong)
    with pytest.raises(ValueError, match="pass background="):
        flipping_auc(model, X[:1], ex[:1])
    with pytest.raises(ValueError, match="background holds NaN"):
        flipping_auc(model.predict, X, ex.values, background=X * np.nan)


def test_the_background_fills_in():
    """Not the rows themselves, which are in their cluster even while nothing of them is known."""
    X, model = blobs(60)
    rows, away = X[model.labels_ == 0], X[model.labels_ == 1]
    ex = wc.explain(model, rows, background=X)
    assert flipping_auc(model, rows, ex).curve[0] > 0.8
    assert flipping_auc(model, rows, ex, background=away).curve[0] < 0.2


def test_a_sample_of_the_background_is_drawn_at_random():
    density = KernelDensity.fit(np.arange(400.0)[:, None], max_rows=100, seed=1)
    assert 150 < density.rows.mean() < 250
    assert (np.diff(density.rows[:, 0]) > 0).all()


def test_columns_of_different_width_keep_their_own_distances():
    generator = np.random.default_rng(0)
    points, rows = generator.normal(size=(6, 4)), generator.normal(size=(20, 4))
    density = KernelDensity.fit(rows)
    path = density.path(points, np.array([0, 0, 0, 1]))
    columns = np.array([1, 0, 1, 0, 0, 1])
    path.reveal(columns)
    for point, column in enumerate(columns):
        known = [3] if column else [0, 1, 2]
        square = (((points[point] - rows) / density.unit) ** 2)[:, known].sum(axis=1)
        assert np.abs(path.distances[point] - square).max() < 1e-9


def test_relevance_follows_the_names_of_columns():
    """An array is in the order of X, a frame is read by name, whatever order the model has."""
    generator = np.random.default_rng(0)
    shifts = np.repeat([[0, 0, 0, 0], [6, 0, 1, 0], [0, 3, 0, 1]], 30, axis=0)
    frame = pd.DataFrame(generator.normal(size=(90, 4)) + shifts, columns=list("abcd"))
    model = KMeans(3, n_init=3, random_state=0).fit(frame)
    mixed = frame[list("dabc")]  # not its own inverse
    ex = wc.explain(model, frame)
    plain = flipping_auc(model, frame, ex).auc
    assert flipping_auc(model, mixed, ex).auc == plain
    values = pd.DataFrame(ex.values, columns=list("abcd"))
    assert flipping_auc(model, mixed, values[list("dabc")].to_numpy()).auc == plain
    assert flipping_auc(model, mixed, values[list("cdab")]).auc == plain
    assert flipping_auc(model, frame, values[list("cdab")]).auc == plain
    assert flipping_auc(model, mixed, values.to_numpy()).auc != plain  # taken for d, a, b, c
    with pytest.raises(ValueError, match="explanation has no column 'b'"):
        flipping_auc(model, frame, values.rename(columns={"b": "e"}))
    # X without names: those of the model; relevance without names: as it stands.
    assert flipping_auc(model, frame.to_numpy(), values[list("cdab")]).auc == plain
    for names in (range(4), [f"x{place}" for place in range(4)]):
        assert flipping_auc(model, frame, values.set_axis(names, axis=1)).auc == plain
    numbered = frame.set_axis(range(4), axis=1)
    again = KMeans(3, n_init=3, random_state=0).fit(numbered)
    of_numbers = pd.DataFrame(wc.explain(again, numbered).values)
    assert flipping_auc(again, numbered, of_numbers[[3, 1, 0, 2]]).auc == plain


def test_labels_and_columns_in_another_order():
    X, labels = blobs_with_noise()
    frame = pd.DataFrame(X[labels != -1], columns=list("abc"))
    ex = wc.explain(labels[labels != -1], frame)
    plain = flipping_auc(labels[labels != -1], frame, ex).auc
    assert flipping_auc(labels[labels != -1], frame[list("cab")], ex).auc == pytest.approx(plain, abs=1.5)


def test_missing_values_of_frames_are_the_same():
    frame = pd.DataFrame({"a": np.r_[np.zeros(20), np.full(20, 5.0)], "b": np.arange(40.0) % 3})
    frame["n"] = pd.array([1, None] * 20, dtype="Int64")
    model = make_pipeline(SimpleImputer(), KMeans(2, n_init=1, random_state=0)).fit(frame)
    ex = wc.explain(model, frame)
    assert flipping_auc(model, frame, ex).auc > 50
    other = frame.copy()
    other.loc[1, "n"] = 1
    with pytest.raises(ValueError, match="other values than X"):
        flipping_auc(model, other, ex)


def test_one_row_on_the_boundary_is_no_other_model():
    X, model = blobs(60)
    ex = wc.explain(model, X)
    one, three = ex.assigned.copy(), ex.assigned.copy()
    one[0] = (one[0] + 1) % 3
    three[:3] = (three[:3] + 1) % 3
    many = np.tile(X, (2, 1))
    twice = wc.explain(model, many)
    assert flipping_auc(model, many, replace(twice, assigned=np.concatenate([one, ex.assigned]))).auc > 0
    with pytest.raises(ValueError, match="of another model"):
        flipping_auc(model, X, replace(ex, assigned=three))


def with_and_without(X, model, ex, **options):
    return [flipping_auc(model, X, ex, leave_out=leave, **options) for leave in (True, False)]


def test_a_row_is_not_filled_in_from_itself():
    """The probabilities of all donors against a literal loop over the rows but the point's own."""
    X, _ = blobs(30, 5)
    density = KernelDensity.fit(X)
    path = density.path(X, np.arange(5))
    path.leave_out(density.at(np.arange(30)))
    generator = np.random.default_rng(0)
    order = np.array([generator.permutation(5) for _ in range(30)])
    uniform = generator.random((40, 30))
    for step in range(5):
        chosen = choose(path.distances, uniform)
        for i in range(30):
            weights = []
            for j in range(30):
                known = order[i, :step]
                square = sum(((X[i, c] - X[j, c]) / density.unit[c]) ** 2 for c in known)
                weights.append(0.0 if i == j else np.exp(-0.5 * square))
            edges = np.cumsum(weights) / np.sum(weights)
            literal = np.array([np.flatnonzero(edges > u)[0] for u in uniform[:, i]])
            assert (chosen[:, i] == literal).all()
            assert i not in chosen[:, i]
        path.reveal(order[:, step])


def test_leaving_a_row_out_is_a_density_without_it():
    """What is drawn for one point is what a density of the other rows gives, with the same numbers."""
    X, _ = blobs(12, 3)
    whole = KernelDensity.fit(X)
    for own in range(12):
        others = KernelDensity(np.delete(X, own, axis=0), whole.scale, whole.sigma)
        paths = [whole.path(X[[own]], np.arange(3)), others.path(X[[own]], np.arange(3))]
        paths[0].leave_out(np.array([own]))
        for path in paths:
            path.reveal(np.array([1]))
        left, literal = (path.sample(50, np.random.default_rng(own)) for path in paths)
        np.testing.assert_array_equal(left, literal)


def test_the_row_itself_flatters_every_order():
    """In many columns a row is nearest to itself, and in its cluster before any column that decides."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(120, 12))
    X[60:, 0] += 6.0
    model = KMeans(2, n_init=3, random_state=0).fit(X)
    ex = wc.explain(model, X)
    honest, flattered = with_and_without(X, model, -ex.values)
    assert flattered.auc > honest.auc + 5
    assert flipping_auc(model, X, -ex.values).auc == honest.auc
    # What draws on no rows has nothing to leave out.
    zero = with_and_without(X, model, ex, imputer="zero")
    assert zero[0].auc == zero[1].auc


def test_rows_are_known_by_position_or_by_their_values():
    X, model = blobs(60)
    ex = wc.explain(model, X)
    by_position = flipping_auc(model, X, ex)
    assert flipping_auc(model, X, ex, background=X.copy()).auc == by_position.auc
    assert flipping_auc(model.predict, X, ex.values).auc == by_position.auc
    assert flipping_auc(model.predict, X, ex.values, background=X.copy()).auc == by_position.auc
    away = [flipping_auc(model, X, ex, background=X + 1e-3, leave_out=leave).auc for leave in (True, False)]
    assert away[0] == away[1] != by_position.auc


def test_rows_of_a_sampled_density_are_found():
    rows = np.arange(40.0)[:, None] * [1.0, 2.0]
    rows[7], rows[5] = rows[6], [-0.0, 0.0]
    density = KernelDensity.fit(rows, max_rows=25, seed=3)
    assert len(density.positions) == 25
    found = density.at(np.array([*range(40), -1]))
    for position in range(40):
        taken = position in density.positions
        assert (found[position] >= 0) == taken
        if taken:
            assert (density.rows[found[position]] == rows[position]).all()
    assert found[-1] == -1
    equal = density.equal_to(np.vstack([rows, [[0.5, 0.5]]]))
    assert equal[-1] == -1
    for position in density.positions:
        assert (density.rows[equal[position]] == rows[position]).all()


def test_curves_of_many_columns_are_straight_between_the_steps_that_are_measured():
    X, y = np.random.default_rng(0).normal(size=(12, 90)), np.arange(12) % 3
    X[:, :3] += 40.0 * np.eye(3)[y]  # three of the columns decide, and come last
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    steps = some_steps(90)
    assert steps[:65].tolist() == list(range(65))
    assert 66 < len(steps) < 91
    scoring = _Scoring.of(setting_of(model, X, None, None), None, "mean", 1, "insert", True, 0)
    relevance = -wc.explain(model, X).values
    some, every = (one.score(relevance) for one in (replace(scoring, steps=steps), scoring))
    np.testing.assert_array_equal(some.curve[steps], every.curve[steps])
    np.testing.assert_allclose(some.curve, np.interp(np.arange(91), steps, every.curve[steps]), atol=1e-6)
    assert len(np.unique(some.curve[64:])) > 1
