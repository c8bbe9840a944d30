"""The nearest point of another cluster: against grids, and against solvers that know nothing of ours."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from sklearn.cluster import Birch, BisectingKMeans, KMeans, MeanShift
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

import whyclust as wc
from whyclust.answers._bent import BentBorder
from whyclust.answers._changeable import Asked, Changeable
from whyclust.answers._projection import _linear_program, nearest, sparsest
from whyclust.answers._regions import Piece
from whyclust.answers._whole import Encoded
from whyclust.answers.smallest_change import _one
from whyclust.cluster import ClusteringModuleEM, KernelKMeans, PrototypeSurrogate, SoftKMeans

FLAT = {
    "k-means": lambda k: KMeans(k, n_init=1, random_state=0),
    "scaled": lambda k: make_pipeline(StandardScaler(), KMeans(k, n_init=1, random_state=0)),
    "PCA": lambda k: make_pipeline(StandardScaler(), PCA(2), KMeans(k, n_init=1, random_state=0)),
    "bisecting": lambda k: BisectingKMeans(k, random_state=0),
    "Birch": lambda k: Birch(n_clusters=k, threshold=1.5),
    "soft": lambda k: SoftKMeans(k, random_state=0),
    "tied": lambda k: GaussianMixture(k, covariance_type="tied", random_state=0),
    "EM": lambda k: ClusteringModuleEM(k, random_state=0),
}
BENT = {
    "kernel": lambda k: KernelKMeans(k, random_state=0),
    "full": lambda k: GaussianMixture(k, reg_covar=1e-2, random_state=0),
    "orphans": lambda k: MeanShift(bandwidth=3.0, cluster_all=False),
    "norm": lambda k: make_pipeline(Normalizer(), KMeans(k, n_init=1, random_state=0)),
}


def rows_of(seed, columns=None, n_rows=90):
    generator = np.random.default_rng(seed)
    columns = columns or int(generator.integers(2, 6))
    k = int(generator.integers(3, 6))
    centers = 2.0 * generator.normal(size=(k, columns))
    X = generator.normal(size=(n_rows, columns)) * generator.uniform(0.5, 2, size=columns)
    return X + centers[np.arange(n_rows) % k], k, generator


def scale_of(ex):
    """The stated distance, from the network's own numbers."""
    features = ex.origin.network.features
    if features.norm is None and features.folded.columnwise:
        return np.linalg.norm(features.folded.matrix.toarray(), axis=0)
    return 1 / np.asarray(ex.data).std(axis=0)


def best_known(ex, row, to, starts, scale, free, bounds):
    """The shortest way by SLSQP, which sees nothing but the evidence."""
    net, x = ex.origin.network, np.asarray(ex.data)[row]
    own, best = ex.assigned[row], np.inf
    for target in [to] if to is not None else [one for one in net.clusters.tolist() if one != own]:
        others = [own] if to is None else [one for one in net.clusters.tolist() if one != target]
        asked = {"cluster": [target] * len(others), "against": others}

        def rows(y, asked=asked):
            moved = x.copy()
            moved[free] += y / scale[free]
            return np.repeat(moved[None], len(asked["against"]), axis=0)

        def gap(y, rows=rows, asked=asked):
            return net.evidence(rows(y), **asked)

        def slopes(y, rows=rows, asked=asked):
            return net.gradient(rows(y), **asked)[:, free] / scale[free]

        border = {"type": "ineq", "fun": gap, "jac": slopes}
        for start in starts:
            found = minimize(
                lambda y: y @ y,
                ((start - x) * scale)[free],
                jac=lambda y: 2 * y,
                bounds=bounds,
                constraints=border,
                method="SLSQP",
                options={"maxiter": 200, "ftol": 1e-13},
            ).x
            if np.isfinite(found).all() and gap(found).min() > -1e-8:
                best = min(best, float(np.linalg.norm(found)))
    return best


def checked(make, seed, **limits):
    """A random case: our distance, and the best that SLSQP finds."""
    X, k, generator = rows_of(seed)
    model = make(k).fit(X)
    ex = wc.explain(model, X)
    row = int(generator.integers(len(X)))
    others = np.unique(ex.assigned[ex.assigned != ex.assigned[row]])
    to = None if seed % 2 else generator.choice(others)
    free = np.array([column not in limits.get("fixed", ()) for column in range(X.shape[1])])
    scale = scale_of(ex)
    sides = (X.min(axis=0) - X[row]) * scale, (X.max(axis=0) - X[row]) * scale
    bounds = list(zip(sides[0][free], sides[1][free], strict=True)) if "bounds" in limits else None
    starts = X[generator.choice(np.flatnonzero(np.isin(ex.assigned, others if to is None else to)), 3)]
    best = best_known(ex, row, to, starts, scale, free, bounds)
    try:
        change = ex.smallest_change(row, to=to, **limits)
    except ValueError as error:
        assert "No point of" in str(error)
        assert not np.isfinite(best)
        return None
    point = change.point[0]
    assert ex.origin.network.predict(change.point)[0] == change.to != ex.assigned[row]
    assert to is None or change.to == to
    assert np.linalg.norm((point - X[row]) * scale) == pytest.approx(change.distance, rel=1e-9, abs=1e-12)
    assert (point[~free] == X[row][~free]).all()
    if "bounds" in limits:
        assert (point >= X.min(axis=0) - 1e-9).all() and (point <= X.max(axis=0) + 1e-9).all()
    if model.__class__ is not MeanShift:  # whose predict knows no orphans
        assert model.predict(change.point)[0] == change.to
    return change, best


@pytest.mark.parametrize("limits", [{}, {"fixed": [0]}, {"bounds": "data"}], ids=["free", "fixed", "bounds"])
@pytest.mark.parametrize("name", FLAT)
def test_no_point_is_nearer_where_borders_are_flat(name, limits):
    for seed in range(4):
        found = checked(FLAT[name], seed, **limits)
        if found is None:
            continue
        change, best = found
        assert change.exact and change.step == 1e-9
        # SLSQP ends a little before the border, we a little beyond it.
        assert change.distance <= best * (1 + 1e-6) + 1e-7


@pytest.mark.parametrize("limits", [{}, {"bounds": "data"}], ids=["free", "bounds"])
@pytest.mark.parametrize("name", BENT)
def test_bent_borders_are_within_one_percent(name, limits):
    for seed in range(2):
        found = checked(BENT[name], seed, **limits)
        if found is not None:
            assert not found[0].exact
            assert found[0].distance <= 1.01 * found[1]


def test_the_nearest_of_several_nearest_points_is_found():
    """This border has five of them, and the rows nearest to the row lead to the wrong ones."""
    generator = np.random.default_rng(52)
    columns, k = int(generator.integers(2, 6)), int(generator.integers(3, 6))
    centers = 2.0 * generator.normal(size=(k, columns))
    X = generator.normal(size=(150, columns)) * generator.uniform(0.5, 3, size=columns)
    X += centers[np.arange(150) % k]
    model = make_pipeline(StandardScaler(), KernelKMeans(k, random_state=0)).fit(X)
    ex = wc.explain(model, X)
    row = int(generator.integers(150))
    to = generator.choice(np.unique(ex.assigned[ex.assigned != ex.assigned[row]]))
    fixed = int(generator.integers(columns))
    free = np.arange(columns) != fixed
    starts = X[ex.assigned == to][::3]
    best = best_known(ex, row, to, starts, scale_of(ex), free, None)
    assert ex.smallest_change(row, to=to, fixed=[fixed]).distance <= 1.001 * best


def test_starts_that_get_stuck_are_no_reason_to_stop(monkeypatch):
    X, k, _ = rows_of(3, columns=3)
    ex = wc.explain(KernelKMeans(k, random_state=0).fit(X), X)
    solved, calls = BentBorder._solved, []

    def stuck(self, change, target, box):
        calls.append(target)
        return np.zeros_like(change) if len(calls) <= 12 else solved(self, change, target, box)

    monkeypatch.setattr(BentBorder, "_solved", stuck)
    own = ex.origin.network.clusters.tolist().index(ex.assigned[0])
    row = Changeable(ex.origin.network, ex.origin.table, 0, Asked())
    border = BentBorder.around(row, X[0], own, None, False, 1e-6)
    found = border._sought((np.full(3, -np.inf), np.full(3, np.inf)))
    assert found and len(calls) > 12
    assert border.reached(np.concatenate(found)).all()


@pytest.mark.parametrize("name", ["k-means", "scaled", "tied", "kernel"])
def test_columns_that_are_nowhere_below_zero_stay_so(name):
    generator = np.random.default_rng(0)
    X = generator.poisson(1.0, size=(120, 4)) + 3.0 * (generator.random(size=(120, 1)) < 0.5)
    X = np.where(generator.random(size=X.shape) < 0.3, 0.0, X)
    X[:, 3] -= 1.0  # has values below zero, and no limit
    make = (FLAT | BENT)[name]
    ex = wc.explain(make(3).fit(X), X)
    scale, free = scale_of(ex), np.ones(4, dtype=bool)
    open_ended = dict.fromkeys(range(4), (None, None))
    held = 0
    for row in range(0, 120, 36 if name == "kernel" else 12):  # a bent border is sought for a second
        for to in [None, *np.unique(ex.assigned[ex.assigned != ex.assigned[row]])]:
            change = ex.smallest_change(row, to=to)
            assert (change.point[0, :3] >= 0).all()
            sides = np.where(np.arange(4) < 3, -X[row] * scale, -np.inf)
            starts = X[ex.assigned != ex.assigned[row] if to is None else ex.assigned == to][:3]
            best = best_known(ex, row, to, starts, scale, free, [(side, np.inf) for side in sides])
            assert change.distance <= (1.01 if name == "kernel" else 1 + 1e-6) * best + 1e-7
            free_to_go = ex.smallest_change(row, to=to, bounds=open_ended)
            held += (free_to_go.point[0, :3] < 0).any()
            assert free_to_go.distance <= change.distance * 1.01
    assert held > 3 or name == "kernel"
    if name == "kernel":
        return
    together = ex.smallest_changes()
    assert (together.points[:, :3] >= 0).all()
    for row in range(0, 120, 6):
        alone = ex.smallest_change(row)
        assert together.distances[row] == pytest.approx(alone.distance, abs=1e-9)
        np.testing.assert_allclose(together.points[row], alone.point[0], atol=1e-7)


def test_what_cannot_go_below_zero_says_so():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = KMeans(2, n_init=1, init=np.array([[-5.0], [2.0]])).fit(np.array([[-5.0], [1.0], [3.0]]))
    ex = wc.explain(model, X)
    with pytest.raises(ValueError, match="with columns that are nowhere below zero kept so"):
        ex.smallest_change(3, to=0)
    assert ex.smallest_change(3, to=0, bounds={0: (None, None)}).point[0, 0] == pytest.approx(-1.5)


@pytest.mark.parametrize("name", [*FLAT, *BENT])
def test_no_point_of_a_dense_grid_is_nearer(name):
    X, k, generator = rows_of(11, columns=2)
    model = (FLAT | BENT)[name](k).fit(X)
    ex = wc.explain(model, X)
    scale = scale_of(ex)
    sides = [np.linspace(X[:, column].min() - 1, X[:, column].max() + 1, 200) for column in (0, 1)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    clusters = ex.origin.network.predict(grid)
    for row in generator.choice(len(X), 2, replace=False):
        ways = np.linalg.norm((grid - X[row]) * scale, axis=1)
        change = ex.smallest_change(int(row))
        assert change.distance <= ways[clusters != ex.assigned[row]].min() + 1e-9
        for to in np.unique(clusters[clusters != ex.assigned[row]]):
            change = ex.smallest_change(int(row), to=to)
            assert change.distance <= ways[clusters == to].min() + 1e-9


def test_one_half_space_and_a_box_is_a_projection():
    generator = np.random.default_rng(0)
    for _ in range(60):
        width = int(generator.integers(1, 6))
        normal, level = generator.normal(size=width), float(generator.normal())
        low = generator.normal(size=width) - 0.5
        high = low + generator.uniform(0, 3, size=width)
        low[generator.random(width) < 0.3], high[generator.random(width) < 0.3] = -np.inf, np.inf
        reach = np.where(normal > 0, high, low) @ normal
        found = nearest(Piece(normal[None], np.array([level])), (low, high))
        if reach < level:
            assert found is None
            continue
        assert (found >= low).all() and (found <= high).all() and found @ normal >= level - 1e-12
        best = minimize(
            lambda y: y @ y,
            np.clip(np.zeros(width), low, high),
            jac=lambda y: 2 * y,
            bounds=list(zip(low, high, strict=True)),
            constraints={"type": "ineq", "fun": lambda y, n=normal, b=level: n @ y - b},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert found @ found <= best.fun * (1 + 1e-10) + 1e-8


def test_polyhedra_and_sums_of_absolutes_are_solved_to_the_last_digits():
    """The conditions of an optimum, which need no other solver."""
    generator = np.random.default_rng(1)
    for _ in range(60):
        width, count = int(generator.integers(2, 6)), int(generator.integers(2, 7))
        normals = generator.normal(size=(count, width))
        inner = 3 * generator.normal(size=width)
        levels = normals @ inner - generator.uniform(0, 1, size=count)
        box = (np.minimum(-1.0, inner), np.maximum(1.0, inner))
        found = nearest(Piece(normals, levels), box)
        sides = np.concatenate([normals, np.eye(width), -np.eye(width)])
        slack = sides @ found - np.concatenate([levels, box[0], -box[1]])
        assert slack.min() > -1e-8
        # The way back to the row is held by sides that are touched, each pushing inwards.
        touched = slack < 1e-8
        if touched.any():
            pushed = linprog(np.zeros(touched.sum()), A_eq=sides[touched].T, b_eq=found).status == 0
            assert pushed
        else:
            assert np.abs(found).max() < 1e-12
        few = sparsest(Piece(normals, levels), box)
        assert (normals @ few - levels).min() > -1e-6
        assert np.abs(few).sum() <= np.abs(found).sum() + 1e-6
        alone = sparsest(Piece(normals[:1], levels[:1]), box)
        double = np.concatenate([normals[:1], normals[:1]]), np.concatenate([levels[:1], levels[:1]])
        assert np.abs(alone).sum() == pytest.approx(np.abs(sparsest(Piece(*double), box)).sum(), abs=1e-7)


def test_pieces_that_are_empty_have_no_point():
    far = (np.full(2, -np.inf), np.full(2, np.inf))
    against = Piece(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0]))
    assert nearest(against, far) is None and sparsest(against, far) is None
    assert nearest(Piece(np.zeros((2, 2)), np.ones(2)), far) is None


@pytest.fixture(scope="module")
def people():
    generator = np.random.default_rng(0)
    count = 200
    frame = pd.DataFrame(
        {
            "age": generator.integers(18, 80, count),
            "income": np.exp(generator.normal(10, 1, count)),
            "city": generator.choice(["Bern", "Oslo", "Rome"], count),
            "member": generator.random(count) < 0.5,
            "height": generator.normal(170, 10, count),
        }
    )
    frame.loc[3, "height"] = np.nan
    log = FunctionTransformer(np.log, feature_names_out="one-to-one")
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "height"]),
        (make_pipeline(log, StandardScaler()), ["income"]),
        (OneHotEncoder(), ["city", "member"]),
    )
    model = make_pipeline(encoder, KMeans(4, n_init=3, random_state=0)).fit(frame)
    return model, frame, wc.explain(model, frame)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_rounding_puts_beyond_a_bent_column_is_at_its_end(sign):
    """Bounds are the encoded ends of the data; a search adds and subtracts, and may miss them by a bit."""
    X = np.arange(12.0).reshape(6, 2) ** 2
    limit = MinMaxScaler(feature_range=(-1.0, 2.0), clip=True)
    steps = make_pipeline(FunctionTransformer(np.negative if sign < 0 else np.positive), limit)
    ex = wc.explain(make_pipeline(steps, KMeans(2, n_init=1, random_state=0)).fit(X), X)
    net = ex.origin.network
    row = Changeable(net, net.match(ex.origin.table), 0, Asked())
    assert row.kinds == {0: "bent", 1: "bent"}
    for end, value in ((2.0, sign * X[:, 0]), (-1.0, -sign * X[:, 0])):
        for wanted in (np.nextafter(end, -9.0), end, np.nextafter(end, 9.0)):
            assert row._unbent({0: float(wanted)})[0] == pytest.approx(X[value.argmax(), 0], abs=1e-9)


@pytest.mark.parametrize("row", [0, 3, 5])
@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"sparse": True},
        {"whole": ["age"]},
        {"fixed": ["age", "income", "height"]},
        {"bounds": {"income": (1000, 20_000)}},
        {"fixed": ["age", "height"], "whole": ["income"]},
    ],
    ids=str,
)
def test_tables_of_all_kinds_of_columns(people, row, limits):
    model, frame, ex = people
    try:
        change = ex.smallest_change(row, **limits)
    except ValueError as error:
        assert "fixed" in limits and "No point of any other cluster exists" in str(error)
        return
    assert model.predict(change.point)[0] == change.to != ex.assigned[row]
    assert list(change.point.columns) == list(frame.columns)
    same = [name for name in frame if name not in set(change.changes["column"])]
    pd.testing.assert_frame_equal(change.point[same], frame.iloc[[row]][same])
    for name in limits.get("fixed", ()):
        assert name in same
    if "age" in limits.get("whole", ()):
        assert change.point["age"].dtype == frame["age"].dtype
    if "bounds" in limits:
        assert 1000 - 1e-6 <= change.point["income"].iloc[0] <= 20_000 + 1e-6


def test_categories_are_tried_and_the_cheapest_combination_wins():
    """One-hot columns far apart: by hand, all combinations; x is nowhere below zero, and stays so."""
    frame = pd.DataFrame({"x": np.tile([0.0, 1.0, 2.0], 20), "kind": ["a"] * 20 + ["b"] * 20 + ["c"] * 20})
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(encoder, KMeans(3, n_init=5, random_state=0)).fit(frame)
    ex = wc.explain(model, frame)
    for row in (0, 25, 59):
        for to in np.unique(ex.assigned[ex.assigned != ex.assigned[row]]):
            change = ex.smallest_change(row, to=to)
            assert model.predict(change.point)[0] == to
            best = np.inf
            for kind in "abc":
                tried = pd.DataFrame({"x": np.linspace(0, 8, 4001), "kind": kind})
                there = model.predict(tried) == to
                ways = np.hypot(tried["x"] - frame["x"][row], 0 if kind == frame["kind"][row] else np.sqrt(2))
                best = min(best, ways.to_numpy()[there].min(initial=np.inf))
            assert change.distance <= best + 1e-9
            assert change.distance >= best - 14 / 4000


def test_whole_numbers_are_the_best_whole_numbers():
    X, k, generator = rows_of(5, columns=2)
    X = np.round(2 * X)
    ex = wc.explain(KMeans(k, n_init=1, random_state=0).fit(X), X)
    span = np.arange(-40.0, 41.0)
    grid = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
    clusters = ex.origin.network.predict(grid)
    for row in generator.choice(len(X), 6, replace=False):
        for to in (None, clusters[np.argmax(clusters != ex.assigned[row])]):
            fits = clusters != ex.assigned[row] if to is None else clusters == to
            for sparse in (False, True):
                change = ex.smallest_change(int(row), to=to, whole=[0, "x1"], sparse=sparse, bounds={})
                ways = grid[fits] - X[row]
                best = (np.abs(ways).sum(axis=1) if sparse else np.linalg.norm(ways, axis=1)).min()
                assert change.exact and (change.point == np.round(change.point)).all()
                assert change.distance == pytest.approx(best, abs=1e-9)


def test_one_hot_groups_keep_a_single_one():
    generator = np.random.default_rng(2)
    hot = np.eye(3)[generator.integers(3, size=80)]
    X = np.column_stack([generator.normal(size=80), 3 * hot / 3])
    ex = wc.explain(KMeans(3, n_init=3, random_state=0).fit(X), X, feature_names=["x", "a", "b", "c"])
    for row in range(6):
        change = ex.smallest_change(row, whole=[["a", "b", "c"]])
        assert sorted(change.point[0, 1:]) == [0, 0, 1]
        held = ex.smallest_change(row, whole=[["a", "b", "c"]], fixed=["a"])
        assert held.point[0, 1] == X[row, 1] and sorted(held.point[0, 1:]) == [0, 0, 1]
        assert held.distance >= change.distance - 1e-9


def test_few_columns_change_where_asked():
    X, k, _ = rows_of(3, columns=5)
    model = make_pipeline(StandardScaler(), KMeans(k, n_init=1, random_state=0)).fit(X)
    ex = wc.explain(model, X)
    for row in range(8):
        few, near = ex.smallest_change(row, sparse=True), ex.smallest_change(row)
        assert len(few.changes) < len(near.changes) == 5
        scaled = np.abs((few.point - X[row]) / X.std(axis=0)).sum()
        assert few.distance == pytest.approx(scaled, rel=1e-9)
        assert scaled <= np.abs((near.point - X[row]) / X.std(axis=0)).sum() + 1e-6
        assert (few.point >= X.min(axis=0) - 1e-9).all() and (few.point <= X.max(axis=0) + 1e-9).all()


@pytest.mark.parametrize("name", BENT)
def test_no_point_of_a_dense_grid_has_a_smaller_sum_of_changes(name):
    X, k, generator = rows_of(11, columns=2)
    ex = wc.explain(BENT[name](k).fit(X), X)
    scale = scale_of(ex)
    sides = [np.linspace(X[:, column].min(), X[:, column].max(), 200) for column in (0, 1)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    clusters = ex.origin.network.predict(grid)
    for row in generator.choice(len(X), 3, replace=False):
        ways = np.abs((grid - X[row]) * scale).sum(axis=1)
        change = ex.smallest_change(int(row), sparse=True)
        assert change.distance <= 1.01 * ways[clusters != ex.assigned[row]].min()


def test_few_columns_change_where_a_bent_border_cannot_be_followed():
    X = StandardScaler().fit_transform(load_breast_cancer().data)
    ex = wc.explain(GaussianMixture(3, random_state=0).fit(X), X)
    change = ex.smallest_change(0, sparse=True)
    # 30 columns and a sum of 3.4 on the straight way to another row.
    assert len(change.changes) <= 8
    assert change.distance <= 2.5


def test_all_rows_at_once_are_each_row_alone(people):
    X, k, _ = rows_of(7)
    for name in ("scaled", "bisecting", "tied", "Birch"):
        model = FLAT[name](k).fit(X)
        ex = wc.explain(model, X)
        together = ex.smallest_changes()
        assert (model.predict(together.points) == together.to).all()
        assert (together.to != together.own).all()
        for row in range(0, len(X), 9):
            alone = ex.smallest_change(row)
            assert together.distances[row] == pytest.approx(alone.distance, abs=1e-9)
            np.testing.assert_allclose(together.points[row], alone.point[0], atol=1e-7)
    model, _, ex = people
    together = ex[:4].smallest_changes()
    assert (model.predict(together.points) == together.to).all()
    assert together.to_pandas().columns.tolist() == ["own", "to", "distance"]
    assert together.describe().startswith("Half of 4 rows are within")


def test_frames_keep_their_columns_and_single_precision_is_crossed():
    X, k, _ = rows_of(1)
    small = X.astype(np.float32) + np.float32(1000)
    model = KMeans(k, n_init=1, random_state=0).fit(small)
    ex = wc.explain(model, small)
    together = ex.smallest_changes()
    assert together.points.dtype == np.float32
    assert (ex.origin.network.predict(together.points) != ex.assigned).all()
    assert together.steps.max() > 1e-9
    one = ex.smallest_change(2)
    assert one.point.dtype == np.float32 and ex.origin.network.predict(one.point)[0] == one.to
    frame = pd.DataFrame(X).rename(columns=str).assign(note="any")
    pipeline = make_pipeline(
        make_column_transformer((StandardScaler(), frame.columns[:-1])), KMeans(k, n_init=1, random_state=0)
    ).fit(frame)
    change = wc.explain(pipeline, frame).smallest_change(4)
    # What the encoder drops is no feature, and no part of the answer.
    assert list(change.point.columns) == list(frame.columns[:-1])
    assert change.point.index.tolist() == [4]
    assert pipeline.predict(change.point)[0] == change.to
    sparse = wc.explain(model, sp.csr_array(X)).smallest_change(0)
    assert sparse.point.shape == (1, X.shape[1])


def test_labels_and_encoders_are_answered_too():
    X, k, _ = rows_of(2)
    groups = np.arange(len(X)) % k
    surrogate = PrototypeSurrogate(n_support=3, gamma=1.0, shrinkage=0.0, random_state=0).fit(X, groups)
    ex = wc.explain(surrogate, X)
    change = ex.smallest_change(0)
    assert ex.origin.network.predict(change.point)[0] == change.to != ex.assigned[0]
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))
    centers = layers(torch.tensor(X[:3], dtype=torch.float32)).detach()
    ex = wc.explain((layers, centers), X)
    row = int(np.flatnonzero(ex.assigned == ex.assigned[0])[0])
    change = ex.smallest_change(row)
    assert ex.origin.network.predict(change.point)[0] == change.to != ex.assigned[row]
    assert "standard deviations" in change.metric and not change.exact
    nearest_row = np.linalg.norm((X[ex.assigned != ex.assigned[row]] - X[row]) / X.std(axis=0), axis=1).min()
    assert change.distance <= nearest_row


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"to": 9}, "to=9 is no cluster, expected one of 0, 1"),
        ({"to": [0, 1]}, "is no cluster"),
        ({"fixed": ["agee"]}, "fixed names 'agee', which is no column: did you mean 'age'?"),
        ({"fixed": [7]}, "fixed names column 7, expected 0 to 1"),
        ({"bounds": {"age": (3, 1)}}, "expected the lowest first"),
        ({"bounds": {"age": 3}}, r"expected \(lowest, highest\)"),
        ({"bounds": "rows"}, "expected 'data' or a mapping"),
        ({"bounds": [1, 2]}, "expected a mapping"),
        ({"fixed": ["age", "income"]}, "No point of any other cluster exists for row 0, which is in cluster"),
        ({"bounds": {"age": (None, 1.5)}}, "with these bounds: free a column or widen the bounds"),
    ],
    ids=str,
)
def test_bad_questions_get_one_sentence(limits, told):
    X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X, feature_names=["age", "income"])
    with pytest.raises(ValueError, match=told) as error:
        ex.smallest_change(0, **limits)
    assert "\n" not in str(error.value)


def test_own_cluster_several_rows_and_single_rows_are_refused():
    X, k, _ = rows_of(0)
    ex = wc.explain(KMeans(k, n_init=1, random_state=0).fit(X), X)
    with pytest.raises(ValueError, match="already: choose another one for to="):
        ex.smallest_change(0, to=ex.assigned[0])
    with pytest.raises(ValueError, match="stands for 2 rows, expected a single one"):
        ex.smallest_change([0, 1])
    mixed = wc.explain(FLAT["PCA"](k).fit(X), X)[0]
    with pytest.raises(ValueError, match="standard deviations of columns, found a single row"):
        mixed.smallest_change(0)


def test_sentences_name_the_largest_changes(people):
    X, k, _ = rows_of(0, columns=5)
    ex = wc.explain(KMeans(k, n_init=1, random_state=0).fit(X), X, feature_names=list("abcde"))
    change = ex.smallest_change(0)
    told = change.describe()
    assert told.startswith(f"Row 0, which is in cluster {change.own}, would be in cluster {change.to} if ")
    assert "and 1 further column changed. This point is the nearest, at a distance of" in told
    assert told.count("instead of") == 4
    sizes = np.abs(change.changes["to"] - change.changes["from"]).to_numpy()
    assert (np.diff(sizes) <= 0).all()
    missing = people[2].smallest_change(3, fixed=["age", "income", "city", "member"])
    assert "instead of missing" in missing.describe()
    assert repr(missing).startswith("<SmallestChange of row 3 to cluster")


def test_what_rounding_leaves_of_a_zero_is_zero():
    assert _one("age", 0.0809, 1.39e-17) == "age were 0 instead of 0.0809"
    assert _one("age", 0.0809, 1.39e-5) != "age were 0 instead of 0.0809"


def test_one_row_below_zero_of_many_lifts_the_limit():
    """Zero is a limit of columns that are nowhere below it, in all rows and not in a sample of them."""
    generator = np.random.default_rng(0)
    X = np.concatenate(
        [generator.normal(1.0, 0.1, size=(3000, 2)), generator.normal(9.0, 0.1, size=(3000, 2))]
    )
    X[:, 1] = generator.uniform(0.1, 0.2, size=6000)
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    row = Changeable(ex.origin.network, ex.origin.table, 0, Asked())
    assert row.never_negative == {0, 1}
    outside = np.setdiff1d(np.arange(6000), row.sampled)[0]
    X[outside, 1] = -0.1
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    assert Changeable(ex.origin.network, ex.origin.table, 0, Asked()).never_negative == {0}


def test_a_gap_that_is_filled_in_below_zero_need_not_move():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=60), "b": generator.uniform(1, 2, size=60)})
    frame["a"] += np.repeat([0.0, 6.0], 30)
    frame.loc[0, "b"] = np.nan
    filled = make_column_transformer(
        (SimpleImputer(strategy="constant", fill_value=-1.0), ["b"]), remainder="passthrough"
    )
    model = make_pipeline(filled, KMeans(2, n_init=1, random_state=0)).fit(frame)
    ex = wc.explain(model, frame)
    subject = ex.origin.network, ex.origin.network.match(ex.origin.table)
    assert 1 in Changeable(*subject, 1, Asked()).never_negative
    assert 1 not in Changeable(*subject, 0, Asked()).never_negative
    start = np.array([frame["a"][0], -1.0])
    centers = model[-1].cluster_centers_[:, ::-1]
    own = np.argmin(np.linalg.norm(centers - start, axis=1))
    way = centers[1 - own] - centers[own]
    far = abs((start - centers.mean(axis=0)) @ way) / np.linalg.norm(way)
    assert abs(ex.smallest_change(0).distance - far) < 1e-5


@pytest.mark.parametrize("kind", ["bool", "boolean"])
def test_a_flag_is_false_or_true_and_nothing_between(kind):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=80), "flag": generator.random(80) < 0.5})
    frame["a"] += 3 * frame["flag"]
    frame["flag"] = frame["flag"].astype(kind)
    model = KMeans(3, n_init=1, random_state=0).fit(frame)
    ex = wc.explain(model, frame)
    every = ex.smallest_changes()
    grid = np.linspace(-6, 10, 4001)
    tried = pd.DataFrame({"a": np.tile(grid, 2), "flag": np.repeat([False, True], len(grid))})
    landed = model.predict(tried)
    for row in range(0, 80, 8):
        change = ex.smallest_change(row)
        assert change.point["flag"].dtype == kind
        assert model.predict(change.point)[0] == change.to != model.labels_[row]
        assert every.distances[row] == pytest.approx(change.distance, abs=1e-12)
        own = frame.iloc[[row]].astype(float).to_numpy()
        far = np.linalg.norm(tried.astype(float).to_numpy() - own, axis=1)[landed != model.labels_[row]].min()
        assert far - 0.005 < change.distance < far + 1e-6
    assert set(every.points["flag"].unique()) <= {False, True}


def test_a_sentence_tells_how_many_columns_change_and_not_how_much():
    X = np.concatenate([np.zeros((5, 9)), np.full((5, 9), 50.0)]) + np.eye(10, 9)
    told = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X).smallest_change(9).describe()
    assert "and 5 further columns changed." in told


@pytest.mark.parametrize("ask", ["smallest_change", "similar"])
def test_a_row_that_is_not_there_gets_a_sentence(ask):
    X = np.random.default_rng(0).normal(size=(20, 2))
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    with pytest.raises(
        IndexError, match=r"rows=9999 do not fit an explanation of 20 rows, expected a position"
    ):
        getattr(ex, ask)(9999)


def test_a_corner_where_three_clusters_meet_is_left_towards_the_goal():
    """Rounding gives the corner itself to the row's own cluster, and straight on is a third one's."""
    generator = np.random.default_rng(1372)
    columns, k = int(generator.integers(2, 6)), int(generator.integers(3, 6))
    centers = 2.0 * generator.normal(size=(k, columns))
    groups = np.arange(150) % k
    X = generator.normal(size=(150, columns)) * generator.uniform(0.5, 3, size=columns) + centers[groups]
    model = make_pipeline(StandardScaler(), KernelKMeans(k, random_state=0)).fit(X)
    ex = wc.explain(model, X)
    change = ex.smallest_change(118, to=0, fixed=[4], bounds=dict.fromkeys(range(columns), (None, None)))
    assert model.predict(change.point)[0] == 0
    assert change.distance == pytest.approx(1.0701120285791896, rel=1e-4)


@pytest.mark.parametrize("far", [5001, 3])
def test_whole_numbers_of_a_range_that_is_too_wide_are_tried_across_it(far):
    """Seen in the sample or not, an outlier does not ask for all whole numbers up to it."""
    rng = np.random.default_rng(0)
    income = np.concatenate([rng.integers(100, 2000, 4000), rng.integers(20_000, 60_000, 4000)])
    X = pd.DataFrame({"income": income.astype(float), "age": rng.integers(18, 90, 8000).astype(float)})
    X.loc[far, "income"] = 3e10
    logarithm = FunctionTransformer(np.log1p, feature_names_out="one-to-one")
    model = make_pipeline(logarithm, StandardScaler(), KMeans(2, n_init=1, random_state=0)).fit(X)
    change = wc.explain(model, X).smallest_change(7, whole=["income"])
    assert float(change.point["income"].iloc[0]).is_integer()
    assert model.predict(change.point)[0] == change.to


def logged(columns=6, rows=80):
    """Columns that the model sees as logarithms, in a frame: each is bent by itself."""
    X = np.exp(np.random.default_rng(0).normal(size=(rows, columns)))
    X[: rows // 2, 0] *= 20
    frame = pd.DataFrame(X, columns=[f"c{place}" for place in range(columns)])
    parts = [(FunctionTransformer(np.log), [name]) for name in frame]
    return make_pipeline(make_column_transformer(*parts), KMeans(2, n_init=1, random_state=0)).fit(
        frame
    ), frame


@pytest.mark.parametrize("columns", [6, 18])
def test_bent_columns_are_encoded_together(monkeypatch, columns):
    """Encoding takes as long for one column as for all: how often must not depend on how many there are."""
    model, frame = logged(columns)
    ex = wc.explain(model, frame)
    calls = []
    encode = Changeable.encode
    monkeypatch.setattr(Changeable, "encode", lambda *args: calls.append(1) or encode(*args))
    row = Changeable(ex.origin.network, ex.origin.table, 0, Asked())
    assert set(row.kinds.values()) == {"bent"}
    assert np.allclose(row.box, np.log([frame.min(), frame.max()]))
    assert len(calls) == 2


def test_an_encoder_that_refuses_some_columns_leaves_the_others_bent():
    _, frame = logged(3)
    parts = [(OrdinalEncoder() if name == "c1" else FunctionTransformer(np.log), [name]) for name in frame]
    model = make_pipeline(make_column_transformer(*parts), KMeans(2, n_init=1, random_state=0)).fit(frame)
    ex = wc.explain(model, frame)
    row = Changeable(ex.origin.network, ex.origin.table, 0, Asked())
    assert row.kinds == {0: "bent", 1: "choice", 2: "bent"}


def test_the_next_row_of_a_table_is_answered_as_if_it_were_the_first():
    model, frame = logged()
    ex = wc.explain(model, frame)
    net, table, asked = ex.origin.network, ex.origin.table, Asked(within_data=True)
    first = Changeable(net, table, 0, asked)
    assert first.box[0].shape == (6,)
    again, anew = first.at(5), Changeable(net, table, 5, asked)
    assert again.kinds is first.kinds
    assert again.data is first.data
    assert (again.start == anew.start).all()
    assert not (again.start == first.start).all()
    assert np.array_equal(again.box, anew.box)
    changes = ex.smallest_changes()
    for place in (0, 41, 79):
        alone = ex.smallest_change(place)
        assert alone.distance == changes.distances[place]
        assert alone.to == changes.to[place]


def test_the_steepest_columns_move_as_a_linear_program_says():
    generator = np.random.default_rng(3)
    for _ in range(200):
        width = generator.integers(1, 8)
        normal = generator.normal(size=width) * (generator.random(width) < 0.8)
        box = -2 * generator.random(width), 2 * generator.random(width)
        piece = Piece(normal[None], 2 * generator.normal(size=1))
        found, expected = sparsest(piece, box), _linear_program(piece, box)
        assert (found is None) == (expected is None)
        if found is not None:
            assert abs(np.abs(found).sum() - np.abs(expected).sum()) < 1e-12
            assert normal @ found >= piece.levels[0] - 1e-12


def test_of_whole_numbers_with_one_code_the_nearest_to_the_rows_own_is_meant():
    """Beyond the limit of a column many numbers have one code."""
    codes = np.minimum(np.arange(6.0), 2.0)
    assert [Encoded(np.arange(6.0), codes, own).value(2.0) for own in (0.0, 3.0, 9.0)] == [2.0, 3.0, 5.0]
    assert Encoded(np.arange(6.0), codes, np.nan).value(2.0) == 2.0
    # Rounding makes no other code of it, but another number does.
    assert Encoded(np.arange(6.0), codes, 5.0).value(2.0 + 1e-13) == 5.0
    assert Encoded(np.arange(6.0), codes, 5.0).value(1.2) == 1.0


def test_within_the_data_a_gap_may_keep_what_it_was_filled_with():
    """No row has this number, but the row begins there: it need not move into the range of the others."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(size=60), "b": generator.uniform(1, 2, size=60)})
    frame["a"] += np.repeat([0.0, 6.0], 30)
    frame.loc[0, "b"] = np.nan
    filled = make_column_transformer(
        (SimpleImputer(strategy="constant", fill_value=4.0), ["b"]), remainder="passthrough"
    )
    ex = wc.explain(make_pipeline(filled, KMeans(2, n_init=1, random_state=0)).fit(frame), frame)
    subject = ex.origin.network, ex.origin.network.match(ex.origin.table)
    row = Changeable(*subject, 0, Asked(within_data=True))
    low, high = (dict(zip(row.net.features.sources[row.movable], end, strict=True)) for end in row.box)
    assert high[1] == 4.0
    assert low[1] == frame["b"].min()
    assert high[0] == frame["a"].max()
