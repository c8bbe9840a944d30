"""A table in parts gives what the whole table gives: plans, β, explanations, summaries, files."""

import math
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.columns import ColumnFacts, column_facts, plan_columns, preparation
from whyclust.command.fitting import fit_clusters
from whyclust.command.options import Options
from whyclust.command.reading import RowNames
from whyclust.command.result import cluster_lines
from whyclust.command.result_files import whole_folder, write_lines
from whyclust.command.run import explain_part, explain_table
from whyclust.moments.categories import CategoryCounts
from whyclust.moments.clusters import ClusterMoments
from whyclust.moments.columns import ColumnMoments, Columns
from whyclust.moments.merging import merge
from whyclust.moments.numbers import Mean, NumberMoments
from whyclust.moments.rows import LeastRows, known_share
from whyclust.network.beta import EvidenceMoments
from whyclust.tables import Table, plan_table
from whyclust.telling.summary import summarise_parts

BOUND = 1e-12
# Seven unequal parts, one of a single row.
CUTS = [0, 1, 20, 23, 110, 111, 160, 211]
PARTS = [slice(start, stop) for start, stop in pairwise(CUTS)]


def largest(difference):
    return float(np.abs(np.asarray(difference, dtype=float)).max(initial=0.0))


def mixed(n_rows=211):
    """Numbers, gaps, texts, flags, numbers written as text, identifiers; some rows twice."""
    generator = np.random.default_rng(3)
    group = np.sort(generator.integers(0, 3, n_rows))  # so that clusters are not in every part
    colour = np.array(["red", "green", "blue"], dtype=object)[(group + (generator.random(n_rows) < 0.2)) % 3]
    colour[generator.random(n_rows) < 0.1] = None
    colour[[0, 110]] = None  # all of a part
    price = 1000 + 10 * group + generator.normal(size=n_rows)
    price[generator.random(n_rows) < 0.1] = np.nan
    written = np.array([f"{value:.4f}" for value in generator.normal(size=n_rows) - 2 * group], dtype=object)
    written[[3, 150]] = "n.n."
    frame = pd.DataFrame(
        {
            "number": np.arange(1, n_rows + 1),
            "price": price,
            "size": generator.normal(size=n_rows) + 3 * (group == 1),
            "colour": colour,
            "flag": generator.random(n_rows) < 0.5,
            "written": written,
            "same": "cm",
            "essay": [f"text {row % 40}" for row in range(n_rows)],
            "day": pd.date_range("2024-01-01", periods=n_rows),
            "empty": np.nan,
            "order-id": generator.permutation(n_rows) + 500,
        }
    )
    features = ["price", "size", "colour", "flag", "written"]
    frame.loc[[30, 120, 200], features] = frame.loc[[31, 22, 5], features].to_numpy()
    return frame


def planned_in_parts(frame, asked=()):
    facts = [column_facts(frame.iloc[part], frame.columns, part.start) for part in PARTS]
    return plan_columns(reduce(merge, facts), asked=asked)


def same_json(one, other, path=""):
    """The same structure and texts, numbers to rounding of the larger ones."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for key in one:
            same_json(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), path
        for position, (ours, theirs) in enumerate(zip(one, other, strict=True)):
            same_json(ours, theirs, f"{path}[{position}]")
    elif isinstance(one, float):
        assert abs(one - other) <= BOUND * max(1.0, abs(one)), (path, one, other)
    else:
        assert one == other, path


def same_summary(one, other):
    """The same clusters and rows; means and relevance to rounding of the largest relevance."""
    assert len(one) == len(other) > 0
    for ours, theirs in zip(one, other, strict=True):
        for name in ("cluster", "name", "size", "share", "is_noise", "typical", "borderline"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert abs(ours.evidence - theirs.evidence) <= BOUND * abs(theirs.evidence)
        first, second = (found.features.set_index("feature") for found in (ours, theirs))
        second = second.loc[first.index]
        bound = BOUND * largest(second["relevance"])
        assert largest(first["relevance"] - second["relevance"]) <= bound
        assert largest(first["fraction"] - second["fraction"]) <= BOUND
        for name in ("direction", "against", "other_side"):
            assert first[name].tolist() == second[name].tolist()
        for name in ("inside", "outside"):
            for here, there in zip(first[name], second[name], strict=True):
                assert here == there or abs(here - there) <= BOUND * abs(there)


def same_rows(parts, whole):
    for name in ("values", "base_values", "explained", "evidence"):
        expected = np.asarray(getattr(whole, name))
        found = np.concatenate([np.asarray(getattr(part, name)) for part in parts])
        assert largest(found - expected) <= BOUND * largest(whole.explained), name
    for name in ("clusters", "assigned", "competitors", "index"):
        found = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(found, getattr(whole, name))


# --------------------------------------------------------------------------- the main job in seven parts


def test_a_mixed_table_in_seven_parts_equals_the_whole():
    frame = mixed()
    whole = explain_table(Table(frame), k=3, seed=1)
    plan = planned_in_parts(frame)
    same_json(plan.to_json(), plan_table(frame).to_json())
    parts = [plan.apply(frame.iloc[part]) for part in PARTS]
    features = pd.concat(parts)
    pd.testing.assert_frame_equal(features, plan_table(frame).apply(frame))
    fit = fit_clusters(plan, features, Options(k=3, seed=1), lambda message: None)
    beta = reduce(add, (EvidenceMoments.of(fit.network.evidence(part)) for part in parts)).stiffness()
    assert abs(beta - whole.network.beta) <= BOUND * beta
    explained = [explain_part(fit, part.set_axis(part.index + 1)) for part in parts]
    assert (whole.explanation.index == features.index + 1).all()
    same_rows(explained, whole.explanation)
    same_summary(summarise_parts(explained), whole.explanation.summary())
    same_summary(summarise_parts(explained, members=9), whole.explanation.summary(members=9))


def test_lines_of_parts_are_the_file_of_the_whole(tmp_path):
    whole = explain_table(Table(mixed()), k=3)
    whole.clusters.to_csv(tmp_path / "whole.csv", index=False, encoding="utf-8")
    numbers, called = np.arange(1, 212).tolist(), whole.explanation.cluster_names
    pieces = (
        cluster_lines(whole.explanation[part], RowNames(numbers[part], numbers[part], "row", []), called)
        for part in PARTS
    )
    with whole_folder(tmp_path / "out") as beside:
        write_lines(pieces, beside / "clusters.csv")
        assert not (tmp_path / "out").exists()
    written = (tmp_path / "out" / "clusters.csv").read_bytes()
    assert written == (tmp_path / "whole.csv").read_bytes()


def test_nothing_is_left_of_lines_that_break_off(tmp_path):
    def pieces():
        yield pd.DataFrame({"row": [1], "cluster": [0]})
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"), whole_folder(tmp_path / "out") as beside:
        write_lines(pieces(), beside / "clusters.csv")
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------- explanations in parts


def test_a_sparse_table_in_seven_parts_equals_the_whole():
    generator = np.random.default_rng(0)
    counts = generator.poisson(0.2 + 2.0 * (np.arange(211)[:, None] // 71 == np.arange(40) // 14))
    X = sp.csr_array(counts.astype(float))
    net = wc.neuralize(KMeans(3, n_init=2, random_state=0).fit(X), X)
    whole = wc.explain(net, X)
    assert whole.is_factored
    parts = [wc.explain(net, X[part]) for part in PARTS]
    moments = (EvidenceMoments.of(net.evidence(X[part])) for part in PARTS)
    assert abs(reduce(add, moments).stiffness() - net.beta) <= BOUND * net.beta
    np.testing.assert_array_equal(np.concatenate([part.clusters for part in parts]), whole.clusters)
    found = np.concatenate([np.asarray(part.values) for part in parts])
    assert largest(found - np.asarray(whole.values)) <= BOUND * largest(whole.explained)
    same_summary(summarise_parts(parts), whole.summary())
    # Columns of a sparse table are those of the dense one, zeros included.
    dense = wc.explain(net, X.toarray()).summary()
    for ours, theirs in zip(whole.summary(), dense, strict=True):
        inside, expected = (found.features.set_index("feature")["inside"] for found in (ours, theirs))
        assert largest(inside - expected[inside.index]) < BOUND


@pytest.mark.parametrize("asked", [None, 1], ids=["its own cluster", "a chosen cluster"])
def test_labels_in_seven_parts_equal_the_whole(asked):
    """With noise, rows that the surrogate puts elsewhere, and a cluster that no row of a part is in."""
    generator = np.random.default_rng(5)
    labels = np.repeat([0, 1, 2], [70, 71, 70])
    X = generator.normal(size=(211, 4)) + 2.5 * np.eye(4)[labels]
    labels[generator.random(211) < 0.1] = -1
    labels[:5] = 2
    with pytest.warns(UserWarning, match="The surrogate agrees with"):
        whole = wc.explain(labels, X, cluster=asked)
    assert whole.disagrees.any()
    parts = [whole[part] for part in PARTS]
    assert any(1 not in part.labels for part in parts)
    same_summary(summarise_parts(parts), whole.summary())
    # More than there are: rows that say why not stay out, also in parts that have no other.
    same_summary(summarise_parts(parts, members=150), whole.summary(members=150))


def test_a_cluster_without_rows_of_its_own_is_told_by_the_others():
    X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0.0], [4.0], [8.0]], 20, axis=0)
    net = wc.neuralize(make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)).fit(X), X)
    absent = net.predict(X[:1])[0]
    others = X[net.predict(X) != absent]
    whole = wc.explain(net, others, cluster=absent)
    (alone,) = whole.summary()
    (merged,) = summarise_parts([whole[:7], whole[7:30], whole[30:]])
    assert (merged.size, merged.typical, merged.borderline) == (40, alone.typical, alone.borderline)
    mean = np.asarray(whole.values).mean(axis=0)
    expected = np.argsort(((np.asarray(whole.values) - mean) ** 2).sum(axis=1), kind="stable")[:3]
    assert alone.typical == expected.tolist()
    assert alone.features["inside"].isna().all()


def test_of_two_rows_equally_near_the_mean_the_first_is_typical():
    """Which of the two is nearer is rounding, and other rounding in parts."""
    generator = np.random.default_rng(0)
    centers = 30.0 * generator.normal(size=(40, 3))
    X = np.concatenate([centers, centers + generator.normal(size=(40, 3))])
    net = wc.neuralize(KMeans(40, init=centers, n_init=1).fit(X), X)
    whole = wc.explain(net, X)
    assert np.bincount(whole.clusters).tolist() == [2] * 40
    merged = summarise_parts([wc.explain(net, X[:40]), wc.explain(net, X[40:])])
    for one, other in zip(whole.summary(), merged, strict=True):
        assert one.typical == other.typical == sorted(one.typical)


def test_parts_are_gone_through_twice():
    X = np.random.default_rng(0).normal(size=(20, 2))
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    with pytest.raises(TypeError, match=r"expected twice: pass list\(parts\)"):
        summarise_parts(part for part in (ex[:9], ex[9:]))


def test_a_column_of_two_kinds_is_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), pd.DataFrame(X))
    texts = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    object.__setattr__(texts, "data", pd.DataFrame(X).astype(str))
    with pytest.raises(ValueError, match="holds numbers in one part of the table and text in another"):
        summarise_parts([ex, texts])


# --------------------------------------------------------------------------- moments


def split(values, cuts):
    return np.split(values, sorted({min(cut, len(values)) for cut in cuts}))


@given(st.lists(st.integers(0, 400), max_size=8), st.integers(0, 2**32 - 1))
def test_moments_of_any_parts_are_those_of_the_whole(cuts, seed):
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(300, 3)) + np.array([0.0, 1e9, -5.0])
    table[generator.random(table.shape) < 0.2] = np.nan
    found = reduce(add, (NumberMoments.of(part) for part in split(table, cuts)))
    for column in range(3):
        values = table[~np.isnan(table[:, column]), column].tolist()
        mean = math.fsum(values) / len(values)
        squares = math.fsum((value - mean) ** 2 for value in values)
        assert found.count[column] == len(values)
        assert abs(found.mean[column] - mean) <= 1e-15 * abs(mean) + 1e-14
        # A mean of 1e9 is known to 1e-7, and so are deviations from it; sums of squares would lose all.
        rounding = np.finfo(float).eps * abs(mean) * math.fsum(abs(value - mean) for value in values)
        assert abs(found.squares[column] - squares) <= rounding + 1e-13 * squares
    evidence = generator.normal(size=300) - 0.5
    means = reduce(add, (Mean.of(part) for part in split(evidence, cuts)))
    assert abs(float(means.value) - evidence.mean()) < 1e-14


def test_sparse_moments_are_stable():
    matrix = 1e8 + np.random.default_rng(0).normal(size=(50, 2))
    matrix[::3, 1] = 0.0
    matrix = sp.csr_array(matrix)
    found = NumberMoments.of_sparse(matrix[:20]) + NumberMoments.of_sparse(matrix[20:])
    expected = NumberMoments.of(matrix.toarray())
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-15)
    np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-7)


def test_moments_are_those_of_scikit_learn_to_the_bit():
    """So that a table prepared at once has the very numbers that a StandardScaler gives it."""
    columns = np.random.default_rng(0).gamma(2.0, size=(5000, 8)) * 10.0 ** np.arange(-3, 5)
    columns[:, ::2] += 1e9
    scaler = StandardScaler().fit(np.asfortranarray(columns))
    found = NumberMoments.of(columns)
    np.testing.assert_array_equal(found.mean, scaler.mean_)
    np.testing.assert_array_equal(found.variance, scaler.var_)


def test_gaps_are_a_category_in_every_part():
    frame = pd.DataFrame(
        {"a": pd.Series([None, None, "x", None], dtype=object), "b": [1.0, np.nan, 3.0, 4.0]}
    )
    whole = ColumnMoments.of(Columns.of(frame))
    for merged in (
        reduce(add, (ColumnMoments.of(Columns.of(frame[row : row + 1])) for row in range(4))),
        ColumnMoments.of(Columns.of(frame[2:])) + ColumnMoments.of(Columns.of(frame[:2])),
    ):
        assert merged.categories[0].counts == whole.categories[0].counts == {"missing": 3, "x": 1}
        np.testing.assert_array_equal(merged.numbers.count, whole.numbers.count)
        assert merged.means[1] == pytest.approx(8 / 3, rel=1e-15)
        assert np.isnan(merged.means[0])


def test_nothing_adds_nothing():
    some = NumberMoments.of(np.array([[1e200, 2.0], [3.0, 4.0]]))
    for merged in (some + NumberMoments.nothing(2), NumberMoments.nothing(2) + some):
        np.testing.assert_array_equal(merged.mean, some.mean)
        np.testing.assert_array_equal(merged.squares, some.squares)


@pytest.mark.parametrize("evidence", [[-3.0, 1.0, 0.5, -2.0], [-1.0, -2.0, 0.0, 0.0]])
def test_the_fallback_of_beta_merges(evidence):
    evidence = np.array(evidence)
    parts = EvidenceMoments.of(evidence[:1]) + EvidenceMoments.of(evidence[1:])
    with pytest.warns(UserWarning, match="mean evidence of the background is not positive"):
        found = parts.stiffness()
    positive = evidence[evidence > 0]
    assert found == pytest.approx(1.0 / positive.mean() if len(positive) else 1.0, rel=1e-15)


def test_beta_of_single_precision_is_that_of_its_parts():
    evidence = np.random.default_rng(0).random(10_000).astype(np.float32)
    parts = [EvidenceMoments.of(part) for part in np.array_split(evidence, 7)]
    whole = EvidenceMoments.of(evidence).stiffness()
    assert abs(reduce(add, parts).stiffness() - whole) < BOUND * whole


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.lists(st.integers(0, 30), max_size=5))
def test_least_rows_of_any_parts_in_any_order(values, cuts):
    values = np.array(values, dtype=float)
    rows = np.arange(len(values))
    pieces = zip(split(values, cuts), split(rows, cuts), strict=True)
    found = reduce(add, [LeastRows.of(part, where, 4) for part, where in pieces][::-1])
    assert found.rows.tolist() == np.argsort(values, kind="stable")[:4].tolist()


@given(
    st.lists(st.sampled_from(["a", "b", "c", None]), max_size=30), st.lists(st.integers(0, 30), max_size=5)
)
def test_counts_of_any_parts(texts, cuts):
    texts = np.array(texts, dtype=object)
    starts = [0, *sorted({min(cut, len(texts)) for cut in cuts})]
    pieces = zip(split(texts, cuts), starts, strict=True)
    found = reduce(add, (CategoryCounts.of(part, start) for part, start in pieces))
    present = [text for text in texts if text is not None]
    assert found.counts == {text: present.count(text) for text in dict.fromkeys(present)}
    assert found.first == {text: texts.tolist().index(text) for text in dict.fromkeys(present)}


def test_evidence_is_kept_only_where_a_median_is_needed():
    X = np.random.default_rng(0).normal(size=(30, 2))
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    assert all(group.levels == () for group in ClusterMoments.of(ex).own.values())


# --------------------------------------------------------------------------- plans


def test_a_plan_needs_no_rows_to_be_a_fitted_transformer():
    """Means, scales and categories are those that scikit-learn finds in the rows."""
    frame = mixed()
    plan = plan_table(frame)
    features = plan.apply(frame)
    ours = preparation(plan)
    theirs = preparation(plan).fit(features)
    assert largest(ours.transform(features) - theirs.transform(features)) < BOUND
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_a_plan_hands_its_own_means_to_the_transformer():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(70, 40))).add_prefix("x")
    plan = plan_table(frame.assign(text=np.resize(list("abcdefg"), 70)))
    numbers = preparation(plan).named_transformers_["standard"]
    means = [column.scaling.center for column in plan.columns[:40]]
    assert numbers["scale"].mean_.tolist() == numbers["impute"].statistics_.tolist() == means
    assert numbers["scale"].n_samples_seen_ == 70


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pd.Series(np.arange(211), name="a"), "numbers the rows"),
        (pd.Series(np.arange(211) + 1000.0, name="a"), "goes up by one"),
        (pd.Series([str(row + 1) for row in range(211)], name="a"), "numbers the rows"),
        (pd.Series(np.random.default_rng(0).permutation(211), name="row id"), "identifies the rows"),
        (pd.Series([f"code {row}" for row in range(211)], name="a"), "different in every row"),
        (pd.Series(["2024-01-02", "2024-01-03", None] * 70 + ["2025-01-01"], name="a"), "dates"),
        (pd.Series([True] * 211, name="a"), "same value"),
        (pd.Series([7] * 210 + [None], name="a"), "same value"),
        (pd.Series([1.0] * 100 + ["x"] * 111, name="a", dtype=object), "not numbers or text"),
    ],
)
def test_reasons_are_found_in_parts(column, reason):
    frame = pd.DataFrame({column.name: column, "other": np.random.default_rng(1).normal(size=211)})
    plan = planned_in_parts(frame)
    assert reason in plan.dropped[column.name]
    assert reason in plan_table(frame).dropped[column.name]


def test_runs_that_break_between_parts_are_no_identifiers():
    numbers = np.arange(211.0)
    numbers[23:] += 1
    frame = pd.DataFrame({"a": numbers, "row id": np.r_[np.arange(210), 3], "b": numbers % 7})
    assert planned_in_parts(frame).numeric == plan_table(frame).numeric == ["a", "b"]
    # One that repeats tells no rows apart, but measures nothing either.
    assert planned_in_parts(frame).identifiers == plan_table(frame).identifiers == []
    assert planned_in_parts(frame).dropped == {"row id": "is an identifier: its numbers measure nothing"}


@pytest.mark.parametrize("late", [0.5, 2.0])
def test_a_column_that_changes_late_is_used(late):
    frame = pd.DataFrame({"a": np.r_[np.ones(190), np.full(21, late)], "b": np.arange(211) % 5})
    assert planned_in_parts(frame).numeric == ["a", "b"]


@pytest.mark.parametrize("place", [5, 205])
def test_halves_identify_nothing(place):
    numbers = np.random.default_rng(0).permutation(211).astype(float)
    numbers[place] += 0.5
    assert planned_in_parts(pd.DataFrame({"row id": numbers})).numeric == ["row id"]


def test_numbers_that_may_be_rounding_are_not_blown_up():
    frame = pd.DataFrame({"a": 1e9 + np.resize([0.0, 1e-5], 211), "b": np.arange(211) % 5})
    plan = plan_table(frame)
    theirs = preparation(plan).fit(plan.apply(frame)).named_transformers_["standard"]["scale"]
    assert plan.columns[0].scaling.scale == theirs.scale_[0] == 1.0


def test_rows_in_errors_and_notes_are_those_of_the_table():
    frame = pd.DataFrame({"a": np.r_[np.zeros(150), np.inf, np.ones(60)], "b": np.arange(211) % 5})
    with pytest.raises(ValueError, match="infinite number in row 151"):
        planned_in_parts(frame)
    texts = [str(row / 7) for row in range(211)]
    texts[170] = "inf"
    with pytest.raises(ValueError, match="infinite number in row 171"):
        planned_in_parts(pd.DataFrame({"a": texts}))
    texts[170] = "?"
    assert "'?' (row 171)" in planned_in_parts(pd.DataFrame({"a": texts})).notes[0]


def test_parts_that_do_not_fit_the_plan():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [True, False, True]})
    plan = plan_table(frame)
    with pytest.raises(ValueError, match="lacks the column 'a'"):
        plan.apply(frame[["b"]])
    with pytest.raises(ValueError, match="column 'b' has a gap"):
        plan.apply(pd.DataFrame({"a": [1.0], "b": [None]}))
    with pytest.raises(ValueError, match="column 'a' holds something else than numbers"):
        plan.apply(pd.DataFrame({"a": ["x"], "b": [True]}))
    unseen = plan_table(pd.DataFrame({"c": ["x", "y", "x"]}))
    X = preparation(unseen).transform(unseen.apply(pd.DataFrame({"c": ["z", None]})))
    assert X.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_part_of_gaps_tells_no_kind():
    gaps = ColumnFacts.of(pd.Series([None, None], dtype=object))
    numbers = ColumnFacts.of(pd.Series([1.0, 2.0]))
    for merged in (gaps + numbers, numbers + gaps):
        assert (merged.kind, merged.n_rows, merged.n_missing) == ("numbers", 4, 2)


def test_parts_explained_by_a_network_need_no_planner():
    """A row alone, in a part and in the whole has one explanation."""
    X = mixed()[["size"]].assign(other=np.arange(211) % 17)
    net = wc.neuralize(KMeans(3, n_init=2, random_state=0).fit(X), X)
    same_rows([wc.explain(net, X.iloc[part]) for part in PARTS], wc.explain(net, X))


def test_a_block_may_have_no_row_of_a_cluster_but_its_borderline_one():
    rows = np.r_[np.random.default_rng(0).normal(size=(8, 2)), [[9.0, 9.0], [9.5, 9.0], [9.0, 9.9]]]
    model = KMeans(2, n_init=1, random_state=0).fit(rows)
    whole = wc.explain(model, rows)
    edge = whole.summary()[whole.assigned[-1]].borderline[0]
    order = [edge, *[place for place in range(11) if place != edge]]
    net = wc.neuralize(model)
    parts = [wc.explain(net, rows[order[:1]]), wc.explain(net, rows[order[1:]])]
    merged = summarise_parts(parts)
    assert merged[whole.assigned[-1]].borderline[0] == 0
    assert len(known_share(rows, np.zeros(0, dtype=int))) == 0
