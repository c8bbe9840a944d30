"""The nearest plausible point of another cluster: against grids, and against a solver for every ball."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.compose import make_column_transformer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.cluster import KernelKMeans


def clouds(seed, columns=2, n_rows=80):
    generator = np.random.default_rng(seed)
    centers = 3.0 * generator.normal(size=(4, columns))
    return centers[np.arange(n_rows) % 4] + generator.normal(size=(n_rows, columns)), generator


def radius_of(rows):
    """95 % of rows have another one within it."""
    apart = cdist(rows, rows)
    np.fill_diagonal(apart, np.inf)
    return np.quantile(apart.min(axis=1), 0.95)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["k-means", "bisecting", "full", "kernel"])
def test_no_plausible_point_of_a_dense_grid_is_nearer(name, seed):
    X, generator = clouds(seed)
    model = {
        "k-means": KMeans(4, n_init=3, random_state=0),
        "bisecting": BisectingKMeans(4, random_state=0),
        "full": GaussianMixture(4, reg_covar=1e-2, random_state=0),
        "kernel": KernelKMeans(4, random_state=0),
    }[name].fit(X)
    ex = wc.explain(model, X)
    row = int(generator.integers(len(X)))
    own = ex.assigned[row]
    to = None if seed % 2 else generator.choice([one for one in np.unique(ex.assigned) if one != own])
    change = ex.smallest_change(row, to=to, near_data=True)
    point = np.asarray(change.point)[0]
    assert model.predict(change.point)[0] == change.to != own
    assert to is None or change.to == to
    assert change.exact == (name in ("k-means", "bisecting"))
    members = X[ex.assigned == change.to]
    assert np.linalg.norm(members - point, axis=1).min() <= radius_of(members) * (1 + 1e-9)
    assert change.distance == pytest.approx(np.linalg.norm(point - X[row]), rel=1e-9)
    # Both lie a step beyond the border, but where the ball ends before.
    assert change.distance >= ex.smallest_change(row, to=to).distance - 2 * change.step
    nearest = np.linalg.norm(members - point, axis=1).min()
    assert np.linalg.norm(X[change.near_row] - point) == pytest.approx(nearest, rel=1e-12)

    side = np.linspace(-1, 1, 401)
    reach = 1.05 * change.distance
    grid = X[row] + reach * np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    found = model.predict(grid)
    best = np.inf
    for cluster in np.unique(ex.assigned):
        if cluster == own or (to is not None and cluster != to):
            continue
        of_cluster = X[ex.assigned == cluster]
        there = grid[found == cluster]
        if len(there):
            near = cdist(there, of_cluster).min(axis=1) <= radius_of(of_cluster)
            best = min(best, np.linalg.norm(there[near] - X[row], axis=1).min(initial=np.inf))
    # The grid has points within half a diagonal of a cell of any other.
    assert best < np.inf
    assert change.distance <= best + 2 * change.step
    assert best <= change.distance + reach * 0.005 * np.sqrt(2)


@pytest.mark.parametrize("seed", range(8))
def test_flat_borders_are_solved_exactly_in_more_columns(seed):
    """SLSQP for every ball of every cluster, from its centre."""
    X, generator = clouds(seed, columns=4)
    model = make_pipeline(StandardScaler(), KMeans(4, n_init=3, random_state=0)).fit(X)
    ex = wc.explain(model, X)
    row = int(generator.integers(len(X)))
    options = [{}, {"bounds": "data"}, {"fixed": [1]}][seed % 3]
    Z = model[0].transform(X)
    centers, own = model[1].cluster_centers_, ex.assigned[row]
    low, high = (
        (Z.min(axis=0), Z.max(axis=0)) if "bounds" in options else (np.full(4, -99.0), np.full(4, 99.0))
    )
    if "fixed" in options:
        low[1] = high[1] = Z[row, 1]
    best = np.inf
    for target in [one for one in range(4) if one != own]:
        members = Z[ex.assigned == target]
        radius = radius_of(members)
        others = np.delete(centers, target, axis=0)
        normals = 2 * (centers[target] - others)
        levels = (centers[target] ** 2).sum() - (others**2).sum(axis=1)
        for member in members:
            if np.linalg.norm(member - Z[row]) - radius > best:
                continue
            found = minimize(
                lambda y: (y - Z[row]) @ (y - Z[row]),
                np.clip(member, low, high),
                jac=lambda y: 2 * (y - Z[row]),
                method="SLSQP",
                bounds=list(zip(low, high, strict=True)),
                constraints=[
                    {
                        "type": "ineq",
                        "fun": lambda y, n=normals, v=levels: n @ y - v,
                        "jac": lambda y, n=normals: n,
                    },
                    {
                        "type": "ineq",
                        "fun": lambda y, c=member, r=radius: r**2 - (y - c) @ (y - c),
                        "jac": lambda y, c=member: 2 * (c - y),
                    },
                ],
                options={"maxiter": 300, "ftol": 1e-14},
            )
            holds = (normals @ found.x - levels).min() > -1e-8
            holds &= np.linalg.norm(found.x - member) <= radius * (1 + 1e-7)
            if holds:
                best = min(best, np.linalg.norm(found.x - Z[row]))
    if not np.isfinite(best):
        with pytest.raises(ValueError, match="points near the data only"):
            ex.smallest_change(row, near_data=True, **options)
        return
    change = ex.smallest_change(row, near_data=True, **options)
    assert change.exact
    assert change.distance == pytest.approx(best, rel=1e-6)


def test_categories_use_up_the_radius():
    """What cannot move counts: with the category fixed, only rows of the same one are near."""
    generator = np.random.default_rng(0)
    n_rows = 120
    frame = pd.DataFrame(
        {
            "size": np.where(np.arange(n_rows) % 2, 8.0, 0.0) + generator.normal(size=n_rows),
            "colour": generator.choice(["red", "blue"], n_rows),
        }
    )
    # Red rows of the other cluster lie at its far end, behind blue ones.
    frame.loc[frame["size"] > 4, "colour"] = np.where(frame["size"][frame["size"] > 4] > 9, "red", "blue")
    frame.loc[0, "colour"] = "red"
    encode = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["colour"]))
    ex = wc.explain(make_pipeline(encode, KMeans(2, n_init=3, random_state=0)).fit(frame), frame)
    change = ex.smallest_change(0, near_data=True, fixed=["colour"])
    assert change.point["colour"].iloc[0] == frame["colour"].iloc[0]
    there = frame[(ex.assigned == change.to) & (frame["colour"] == frame["colour"].iloc[0])]
    assert there["size"].min() > 9
    assert (there["size"] - change.point["size"].iloc[0]).abs().min() < 1.0
    assert "nearest that is plausible (like row" in change.describe()


def test_what_cannot_be_is_told():
    X, _ = clouds(0)
    ex = wc.explain(KMeans(4, n_init=3, random_state=0).fit(X), X)
    with pytest.raises(ValueError, match="choose one of them"):
        ex.smallest_change(0, near_data=True, sparse=True)
    with pytest.raises(ValueError, match="with these bounds and points near the data only: free a column"):
        ex.smallest_change(
            0, near_data=True, bounds={0: (X[0, 0], X[0, 0] + 1e-3), 1: (X[0, 1], X[0, 1] + 1e-3)}
        )
