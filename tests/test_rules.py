"""Rules: conditions in the user's units, found by relevance, measured on rows that did not find them."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import whyclust as wc
from whyclust.answers._conditions import Bins, Condition, round_cuts, roundest, told
from whyclust.answers._rule_search import Column, RuleSearch, lower_end
from whyclust.answers.rules import _Split


@pytest.fixture(scope="module")
def wine():
    frame = load_wine(as_frame=True).data
    return wc.explain(make_pipeline(StandardScaler(), KMeans(3, n_init=5, random_state=0)).fit(frame), frame)


@pytest.fixture(scope="module")
def people():
    """Two groups that an income tells apart, but for the south, where an age does; with gaps."""
    generator = np.random.default_rng(0)
    n_rows = 600
    group = generator.integers(3, size=n_rows)
    frame = pd.DataFrame(
        {
            "income": np.round(30_000 + 40_000 * (group == 1) + generator.normal(size=n_rows) * 5_000, -1),
            "age": generator.integers(20, 70, size=n_rows),
            "region": np.where(group == 2, "south", generator.choice(["north", "east", "west"], n_rows)),
        }
    )
    frame.loc[generator.choice(n_rows, 40, replace=False), "income"] = np.nan
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["income"]),
        (make_pipeline(StandardScaler(), MinMaxScaler((0, 0.1))), ["age"]),
        (OneHotEncoder(), ["region"]),
    )
    return wc.explain(make_pipeline(encode, KMeans(3, n_init=5, random_state=0)).fit(frame), frame)


def literal_matches(rule, frame):
    """Every condition in plain words of pandas."""
    found = pd.Series(True, index=frame.index)
    for one in rule.conditions:
        values = frame[one.column]
        if one.categories is not None:
            here = ~values.isin(one.categories) if one.others else values.isin(one.categories)
        else:
            here = (values > one.low) & (values <= one.high)
        found &= here.where(values.notna(), one.missing)
    return found.to_numpy(dtype=bool)


@pytest.mark.parametrize("name", ["wine", "people"])
def test_what_is_told_is_counted_on_rows_held_out(name, request):
    ex = request.getfixturevalue(name)
    found = ex.rules()
    assert len(found) >= 3
    split = _Split.of(ex.labels, 0)
    held = split.held_out
    assert found.held_out == len(held) and found.found_on == len(split.finding)
    assert not set(held) & set(split.finding)
    for rule in found:
        matched = literal_matches(rule, ex.data)
        np.testing.assert_array_equal(rule.matches(ex.data), matched)
        inside = ex.labels[held] == rule.cluster
        weights = np.array(
            [(ex.labels == one).sum() / (ex.labels[held] == one).sum() for one in ex.labels[held]]
        )
        here = matched[held]
        assert rule.rows == here.sum()
        assert rule.precision == pytest.approx(weights[here & inside].sum() / weights[here].sum(), abs=1e-12)
        assert rule.coverage == pytest.approx((here & inside).sum() / inside.sum(), abs=1e-12)
        assert 1 <= len(rule.conditions) <= 3
        assert len({one.column for one in rule.conditions}) == len(rule.conditions)
    np.testing.assert_array_equal(found.matches(ex.data)[:, 0], found[0].matches(ex.data))


def test_rules_are_good_and_few(wine):
    found = wine.rules()
    frame = found.to_pandas()
    assert len(frame) == len(found) <= 9
    assert (frame.groupby("cluster").precision.max() > 0.85).all()
    together = [found.clusters[one].coverage for one in (0, 1, 2)]
    assert min(together) > 0.7


def test_a_further_rule_matches_what_others_do_not(wine):
    for cluster in (0, 1, 2):
        found = wine.rules(cluster, max_rules=5)
        split = _Split.of(wine.labels, 0).finding
        members = split[wine.labels[split] == cluster]
        covered = np.zeros(len(members), dtype=bool)
        for rule in found:
            matched = rule.matches(wine.data)[members]
            assert (matched & ~covered).mean() >= 0.1
            covered |= matched


def test_categories_and_gaps_are_told_in_the_original_columns(people):
    said = {str(rule) for rule in people.rules()}
    assert "region is south" in said
    assert any(rule.startswith("income > ") for rule in said)
    thresholds = [one.low for rule in people.rules() for one in rule.conditions if one.column == "income"]
    assert all(low % 1000 == 0 for low in thresholds if np.isfinite(low))


def test_the_same_seed_gives_the_same_rules(wine):
    first, second = wine.rules(random_state=3), wine.rules(random_state=3)
    assert first.describe() == second.describe()
    assert wine.rules(random_state=4).describe() != first.describe()


def test_slices_sentences_and_frames(wine):
    found = wine.rules()
    assert [rule.cluster for rule in found[:1]] == [found[0].cluster]
    assert found.of(1).to_pandas().cluster.unique().tolist() == [1]
    assert found.describe().splitlines()[-1] == "Measured on 60 rows that were not used to find the rules."
    assert found[0].describe().startswith(f"If {found[0]}, a row is in cluster 0: ")
    assert "% of its rows match." in found[0].describe()
    with pytest.raises(ValueError, match="expected one of 0, 1, 2"):
        found.of(7)


def test_a_single_row_has_no_rule():
    generator = np.random.default_rng(0)
    X = np.r_[generator.normal(size=(80, 2)), generator.normal(size=(80, 2)) + 9, [[200.0, 200.0]]]
    ex = wc.explain(KMeans(3, n_init=10, random_state=0).fit(X), X)
    alone = ex.labels[-1]
    found = ex.rules()
    assert not len(found.of(alone))
    assert found.of(alone).describe() == f"Cluster {alone} has 1 row, too few to find a rule and to check it."
    assert len(found) >= 2


def test_a_cluster_that_three_conditions_do_not_tell_says_so():
    """Eight columns decide together, none alone."""
    X = np.random.default_rng(0).normal(size=(600, 8))
    labels = (X.sum(axis=1) > 0).astype(int)
    ex = wc.explain(labels, X)
    few = ex.rules(1, target=0.95)
    told = "The rule that was found matches" if len(few) == 1 else "The rules that were found match"
    assert few.describe().startswith(f"{told} less than half of cluster 1. If ")
    assert few.clusters[1].coverage < 0.5
    found = ex.rules(1, target=0.999)
    assert found.describe().startswith(
        "No rule of up to 3 conditions was found that tells cluster 1 from other clusters surely enough; "
        "this is the best. If "
    )
    assert len(found) == 1 and not found[0].reaches


def test_more_conditions_are_never_worse(monkeypatch):
    """Three conditions on the first columns would do, and two on others are better: these are told."""
    finding = sys.modules["whyclust.answers.rules"]._OfCluster
    made, worth = finding._rule, []

    def recorded(self, grown, columns):
        worth.append(grown.worth)
        return made(self, grown, columns)

    monkeypatch.setattr(finding, "_rule", recorded)
    X = load_breast_cancer().data
    model = make_pipeline(StandardScaler(), KMeans(8, n_init=2, random_state=0)).fit(X)
    ex, by_conditions = wc.explain(model, X), []
    for most in (1, 2, 3):
        worth.clear()
        assert len(ex.rules(max_conditions=most, max_rules=1)) == 8
        by_conditions.append(worth.copy())
    assert (np.diff(by_conditions, axis=0) >= -1e-12).all()


def test_rules_of_a_cluster_of_most_rows_halve_what_is_missed():
    """Whatever matches some rows of a cluster of 95 % is right for nine in ten: this tells nothing."""
    X = np.random.default_rng(1).normal(size=(600, 8))
    labels = (X.sum(axis=1) > 4.6).astype(int)
    assert 0.9 < (labels == 0).mean() < 0.97
    ex = wc.explain(labels, X)
    rule = ex.rules(0, target=0.8, max_conditions=1)[0]
    share = (labels == 0).mean()
    matched = rule.matches(X)
    of_all = (labels[matched] == 0).mean()
    assert rule.reaches == (of_all >= (1 + share) / 2), (of_all, share)
    assert of_all >= 0.9


def test_words_sparse_rows_and_images():
    texts = ["the cat sat", "a cat and a kitten", "stocks and market fell", "market and stocks rose"] * 12
    vectorizer = TfidfVectorizer()
    model = make_pipeline(vectorizer, KMeans(2, n_init=5, random_state=0)).fit(texts)
    ex = wc.explain(model, texts)
    found = ex.rules(ex.labels[0])
    assert str(found[0]) == 'contains "cat"'
    assert found[0].describe().startswith('If it contains "cat", a row is in cluster')
    assert found[0].matches(vectorizer.transform(texts[:4])).tolist() == [True, True, False, False]
    with pytest.raises(ValueError, match=r"vectorizer\.transform"):
        found[0].matches(texts)

    X = sp.random(400, 3000, density=0.01, random_state=0, format="csr")
    X = (X + 9 * sp.csr_matrix((np.ones(400), (np.arange(400), np.arange(400) % 4)), shape=X.shape)).tocsr()
    sparse = wc.explain(KMeans(4, n_init=1, init=X[:4].toarray(), random_state=0).fit(X), X)
    for cluster in range(4):
        (rule,) = sparse.rules(cluster)
        assert (rule.precision, rule.coverage) == (1.0, 1.0)
        assert [one.column for one in rule.conditions] == [
            f"x{sparse.data[np.argmax(sparse.labels == cluster)].indices[0]}"
        ]

    images = np.random.default_rng(0).normal(size=(60, 4, 4))
    images[:30, 1:3, 1:3] += 5
    flat = KMeans(2, n_init=1, random_state=0).fit(images.reshape(60, -1))
    with pytest.raises(ValueError, match="these rows are images"):
        wc.explain(flat, images).rules()


def test_files_groups_and_other_questions(wine, tmp_path):
    expected = wine.rules().to_pandas()
    loaded = wc.load(wine.save(tmp_path / "wine.npz"))
    found = loaded.rules()  # without relevance for rows of other clusters
    assert len(found) and found[0].matches(wine.data).any()
    groups = {"colour": ["color_intensity", "hue"]}
    grouped = wc.explain(wine.origin.network, wine.data, groups=groups)
    pd.testing.assert_frame_equal(grouped.rules().to_pandas(), expected)
    pd.testing.assert_frame_equal(wine.ask(cluster=1).rules().to_pandas(), expected)


def test_bad_questions_are_told(wine):
    for options, message in [
        ({"cluster": 9}, "cluster=9 has no rows in this explanation, expected one of 0, 1, 2"),
        ({"target": 1.0}, "target=1.0, expected a share between 0 and 1"),
        ({"max_conditions": 0}, "max_conditions"),
        ({"max_rules": 0}, "max_rules"),
    ]:
        with pytest.raises(ValueError, match=message):
            wine.rules(**options)
    with pytest.raises(ValueError, match="columns"):
        wine.rules(0)[0].matches(np.zeros((3, 2)))


def test_relevant_columns_come_first(wine):
    """A rule is no tree: of columns that tell a cluster, those that it owes its relevance to are named."""
    for cluster in range(3):
        mean = wine.values[wine.labels == cluster].mean(axis=0)
        order = np.argsort(-mean)
        ranks = [int(np.flatnonzero(order == one.position)[0]) for one in wine.rules(cluster)[0].conditions]
        assert max(ranks) < 8


def test_a_column_without_relevance_is_never_used():
    """A copy of the labels that the clustering does not see would be the best condition of all."""
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(300, 2)), columns=["a", "b"])
    X.loc[:149, "a"] += 8
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"]), ("drop", ["copy"])),
        KMeans(2, n_init=1, random_state=0),
    )
    X["copy"] = np.repeat([0.0, 1.0, 2.0], 100)
    ex = wc.explain(model.fit(X), X)
    used = {one.column for rule in ex.rules() for one in rule.conditions}
    assert used == {"a"}


# --- parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_best_stretch_is_that_of_brute_force(seed):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=60)
    bins = Bins.of("x", 0, values, np.full(60, 1 / 60), np.ones(60), is_word=False)
    gains = bins.sums(generator.normal(size=60))[None]
    best = max(gains[0, i : j + 1].sum() for i in range(bins.n_bins - 1) for j in range(i, bins.n_bins - 1))
    for chosen in bins.best(gains):
        found = gains[0][chosen].sum()
        assert 0.9 * best - 1e-12 <= found <= best + 1e-12  # each open end may cost five per cent
        condition = bins.condition(chosen)
        np.testing.assert_array_equal(condition.matches(values), chosen[bins.codes])


def test_one_condition_is_that_of_brute_force():
    """Of one column and pure rows, the threshold is the one of most coverage."""
    generator = np.random.default_rng(0)
    values = generator.permutation(np.arange(100.0))
    inside = values > 62
    weights = np.where(inside, 0.5 / inside.sum(), 0.5 / (~inside).sum())
    bins = Bins.of("x", 0, values, weights, np.full(100, 1 / inside.sum()), is_word=False)
    members = inside.astype(float)
    search = RuleSearch([Column(bins, 1.0)], members, 1.0 - members, members, 0.9, 3)
    condition = bins.condition(search.best().chosen[0])
    assert (condition.low, condition.high) == (62.0, np.inf)


def test_round_numbers():
    assert roundest(0.29, 0.31) == 0.3
    assert roundest(-53.2, -47.1) == -50.0
    assert roundest(1986.0, 1987.0) == 1986.0
    assert roundest(1e-9, 3e-9) == 2e-9
    generator = np.random.default_rng(0)
    for _ in range(200):
        low, high = np.sort(generator.normal(size=2) * 10.0 ** generator.integers(-6, 7))
        assert low <= roundest(low, high) < high
    values = generator.lognormal(10, 1, size=5000)
    cuts = round_cuts(values, np.full(5000, 1 / 5000), np.full(5000, 1 / 5000))
    assert 30 < len(cuts) < 60
    assert max(len(f"{cut:g}".rstrip("0")) for cut in cuts if cut < 1e5) <= 3


def test_lower_end_is_wilsons():
    for share, n_rows, errors in [(0.9, 30, 0.5), (1.0, 5, 1.0), (0.5, 400, 1.5)]:
        low = lower_end(share, n_rows, errors)
        # The share from which the observed one is so many standard errors away.
        assert (share - low) ** 2 == pytest.approx(errors**2 * low * (1 - low) / n_rows, rel=1e-9)


def test_rules_by_conditions_are_those_of_searches_for_so_many():
    """Three columns must be low together; of two conditions some rows of other clusters remain."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    members = (X < 0.5).all(axis=1).astype(float)
    weights = 0.5 * members / members.sum() + 0.5 * (1 - members) / (1 - members).sum()
    columns = [
        Column(Bins.of(name, 0, values, weights, np.ones(300) / members.sum(), is_word=False), 0.3)
        for name, values in zip("abc", X.T, strict=True)
    ]

    def search(most):
        return RuleSearch(columns, members, 1.0 - members, members, 0.9, most)

    bests = search(5).by_conditions()
    assert len(bests) == 3  # there are no more columns
    assert [len(one.chosen) for one in bests] == [1, 2, 3]
    assert [one.worth for one in bests] == [search(most).best().worth for most in (1, 2, 3)]


def test_a_second_end_must_pay():
    """Of a stretch in the middle of a column each side may be left open; it is where few rows are beyond."""
    values = np.arange(100.0)
    bins = Bins.of("x", 0, values, np.full(100, 0.01), np.full(100, 0.02), is_word=False)
    middle = (np.arange(bins.n_bins) > 10) & (np.arange(bins.n_bins) < 20)
    assert [bins.ends(chosen) for chosen in (middle, *bins.opened(middle))] == [2, 1, 1]
    below, above = (bins.condition(chosen) for chosen in bins.opened(middle))
    whole = bins.condition(middle)
    assert (below.low, below.high, above.low, above.high) == (-np.inf, whole.high, whole.low, np.inf)
    assert bins.opened(bins.opened(middle)[0]) == []

    # Rows 40 to 99 are the cluster's, but for the last three: with one end it is right for 57 of 60.
    inside = (values >= 40) & (values < 97)
    members = inside.astype(float)
    search = RuleSearch([Column(bins, 1.0)], members, 1.0 - members, members, 0.9, 3)
    assert bins.ends(search.best().chosen[0]) == 1


def test_a_further_rule_needs_five_new_rows():
    generator = np.random.default_rng(0)
    inside = np.arange(200) < 40
    for few in (4, 5):
        # All but a few members are told by one column, those by another.
        first, second = generator.normal(size=(2, 200)) - 9.0
        first[: 40 - few] += 20.0
        second[40 - few : 40] += 20.0
        columns = []
        for name, values in (("a", first), ("b", second)):
            weights = np.where(inside, 0.5 / 40, 0.5 / 160)
            columns.append(
                Column(Bins.of(name, 0, values, weights, np.full(200, 1 / 40), is_word=False), 0.5)
            )
        members = inside.astype(float)
        left = np.where(np.arange(200) < 40 - few, 0.0, members)
        found = RuleSearch(columns, members, 1.0 - members, left, 0.5, 1).best()
        assert (found is not None) == (few == 5)


def test_thresholds_are_told_in_all_digits_that_are_compared():
    for number in (1000000000.005, 0.1, 33000.0, -12345.25, 5e-11, 3e300, 1987.0):
        assert float(told(number).replace(",", "")) == number
    assert told(1000000000.005) == "1,000,000,000.005"


def test_conditions_in_words():
    told = [
        Condition("age", 0, high=52.0),
        Condition("income", 0, low=33_000.0, missing=True),
        Condition("region", 0, categories=("north", "east"), others=True),
        Condition("member", 0, categories=(1.0,)),
    ]
    assert [one.describe() for one in told] == [
        "age ≤ 52",
        "income > 33,000 (or missing)",
        "region is not north or east",
        "member is 1",
    ]
    assert [one.n_comparisons for one in told] == [1, 1, 1, 1]


def test_of_few_rows_it_is_told_how_many(wine):
    """A share of four rows would be weighted by the sizes of clusters, and no share of four rows."""
    rule, counts = wine.rules(0)[0], []
    for seed in range(4):
        some = wine[np.random.default_rng(seed).choice(len(wine), 40, replace=False)]
        split = _Split.of(some.labels, seed)
        for one in some.rules(random_state=seed):
            held = split.held_out[one.matches(some.data)[split.held_out]]
            right = int((some.labels[held] == one.cluster).sum())
            assert one.rows == len(held)
            if 1 < one.rows < 10 and right > 1:
                counts.append(right)
                assert f": {right} of the {one.rows} rows that match are, and" in one.describe()
    assert len(counts) > 4
    few = {"named": "cluster 0", "members": 3, "coverage": 1 / 3}
    assert ": 1 of the 4 rows that match is, and 33% of" in replace(rule, rows=4, **few).describe()
    assert ": the only row that matches is, and" in replace(rule, rows=1, **few).describe()
    few["coverage"] = 0.0
    assert ": none of the 2 rows that match is, and 0% of" in replace(rule, rows=2, **few).describe()
    assert ": the only row that matches is not, and" in replace(rule, rows=1, **few).describe()
