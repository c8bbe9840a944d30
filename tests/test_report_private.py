"""Pages without rows: nothing of a row that could be told from others is in the file."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from test_report_data import read
from whyclust.report import render
from whyclust.report.page import format_value
from whyclust.report.private import FEWEST, RARE, without_few
from whyclust.telling.rounding import exact, number


def patients(few=3):
    """Two usual clusters, and a few rows far away whose every cell is told nowhere else."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[60:] += [6.0, 0.0, 6.0, 0.0]
    frame = pd.DataFrame(X * [3.0, 5.0, 0.2, 40.0] + [50.0, 20.0, 1.0, 900.0], columns=list("abcd"))
    far = pd.DataFrame(
        rng.uniform(0.1, 0.9, size=(few, 4)) * 1e-3 + np.array([731.0, 4417.0, 5293.0, 861_973.0]),
        columns=frame.columns,
    )
    whole = pd.concat([frame, far], ignore_index=True)
    whole["town"] = [*np.where(np.arange(120) % 3, "Ulm", "Bonn"), *(f"Hamlet {row}" for row in range(few))]
    return whole


def explained(frame):
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    return explain_table(Table(frame), k=3, scale="standard").explanation


def forms(value):
    """A cell as it could stand in a page: with all digits, and as sentences and the page round numbers."""
    if isinstance(value, str):
        return {value}
    digits = {f"{value:.{places}f}" for places in range(4)} | {f"{value:.{places}g}" for places in (4, 5, 6)}
    grouped = {f"{value:,.{places}f}" for places in range(3)}
    return {repr(float(value)), format_value(value), number(value), exact(value)} | digits | grouped


@pytest.fixture(scope="module")
def private():
    frame = patients()
    ex = explained(frame)
    small = [one.cluster for one in ex.summary() if one.size == 3]
    assert len(small) == 1 and (ex.labels[120:] == small[0]).all()
    return frame, ex, small[0], render(ex, rows=False)


def told(page):
    """All that depends on the data: not the script and the style."""
    text = page.split("</style>")[1]
    return text[: text.rindex("<script>")]


def test_no_cell_of_a_cluster_of_few_rows_is_in_the_file(private):
    frame, _, _, page = private
    words = told(page)
    numbers = set(re.findall(r"[\w.,+-]+", words)) | {
        one.rstrip(".,") for one in re.findall(r"[\w.,]+", words)
    }
    for cell in frame.iloc[120:].to_numpy().ravel():
        for form in forms(cell):
            assert form not in numbers if not isinstance(cell, str) else form not in words, form


def test_the_same_cells_are_found_where_rows_may_be_told(private):
    _, ex, _, _ = private
    words = told(render(ex))
    for secret in ("Hamlet 1", "731", "4417", "5293", "861,97"):
        assert secret in words


def test_nothing_at_all_is_told_of_it_but_that_it_is_left_out(private):
    _, _, small, page = private
    values, arrays = read(page)
    assert arrays == {}
    assert values["rows"] == 120
    assert str(small) not in [one["id"] for one in values["clusters"]]
    assert len(values["pairs"]["pairs"]) == 2
    for one in values["clusters"]:
        assert all(
            str(feature["against"]) != str(small) or feature["there"] is None for feature in one["features"]
        )
    left = f"Cluster {small}, of fewer than {FEWEST} rows, is left out"
    assert left in values["said"]
    assert left in page.split('<div class="words">')[1].split("<script")[0]


def test_numbers_of_large_clusters_are_those_of_their_rows(private):
    """Leaving rows out changes nothing of what is told of the others, but shares."""
    _, ex, _, page = private
    values, _ = read(page)
    whole, _ = read(render(ex))
    for one in values["clusters"]:
        other = next(two for two in whole["clusters"] if two["id"] == one["id"])
        assert one["size"] == other["size"]
        here = {feature["name"]: feature["relevance"] for feature in one["features"]}
        there = {feature["name"]: feature["relevance"] for feature in other["features"]}
        assert here == pytest.approx(there, rel=1e-12)


@pytest.mark.parametrize("size", [FEWEST - 1, FEWEST])
def test_the_stated_size_is_the_first_that_is_told(size):
    ex = explained(patients(size))
    kept, said = without_few(ex)
    assert len(kept) == (120 if size < FEWEST else 125)
    assert ("left out" in said) == (size < FEWEST)


def test_rare_categories_are_hidden_and_frequent_ones_are_not():
    frame = patients(0)
    frame.loc[:3, "town"] = "Hamlet"
    ex = explained(frame)
    kept, _ = without_few(ex)
    assert set(kept.data["town"]) == {"Ulm", "Bonn", RARE}
    assert set(ex.data["town"]) == {"Ulm", "Bonn", "Hamlet"}
    page = told(render(ex, rows=False))
    assert "Hamlet" not in page
    assert "Ulm" in page


@pytest.mark.parametrize("known", [1, FEWEST - 1, FEWEST])
def test_no_mean_of_few_known_cells_is_in_the_file(known):
    """A column with gaps: what one cluster has in a few rows only is told of no cluster, in words neither."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 50)
    frame = pd.DataFrame({"a": rng.normal(8 * truth, 1), "b": rng.normal(-7 * truth, 1)})
    frame["dose"] = rng.normal(50, 3, 150)
    frame["drug"] = np.where(rng.random(150) < 0.5, "A", "B")
    frame.loc[truth == 1, ["dose", "drug"]] = [np.nan, None]
    frame.loc[60 : 59 + known, "dose"] = 57.31729
    frame.loc[60 : 59 + known, "drug"] = "A"
    ex = explained(frame)
    assert len(np.unique(ex.labels[50:100])) == 1
    page = render(ex, rows=False)
    few = known < FEWEST
    assert bool(re.search(r"57\.3", told(page))) == (not few)
    values, _ = read(page)
    assert ("count as missing there" in values["said"]) == few
    own = str(ex.labels[50])
    place = [one["id"] for one in values["clusters"]].index(own)
    for column, one in values["distributions"].items():
        if ex.feature_names[int(column)] in ("dose", "drug"):
            assert sum(one["counts"][place]) == (0 if few else known)
    for one in values["clusters"]:
        for feature in one["features"]:
            if feature["name"] in ("dose", "drug") and one["id"] == own:
                assert (feature["inside"] in (None, "100% missing")) == few
            elif feature["name"] == "dose" and few:
                assert feature["against"] != own


def test_no_mean_of_few_cells_of_a_larger_table_is_in_the_file():
    """The page holds some rows and the summary of all: a cell that none of these rows has is in its means."""
    r = np.random.default_rng(0)
    g = np.repeat([0, 1, 2], 50)
    frame = pd.DataFrame({"a": r.normal(g * 8, 1), "b": r.normal(-g * 7, 1), "dose": r.normal(50, 3, 150)})
    frame.loc[g == 1, "dose"] = np.nan
    frame.loc[60, "dose"] = 57.31729
    whole = explained(frame)
    some = whole[np.flatnonzero(np.arange(150) != 60)]
    some._summaries[3] = whole.summary(members=3)
    place = {row: number for number, row in enumerate(np.flatnonzero(np.arange(150) != 60))}
    clusters = [
        replace(one, typical=[place.get(x, 0) for x in one.typical], borderline=[0])
        for one in whole.summary()
    ]
    some._summaries[3] = replace(whole.summary(members=3), clusters=clusters)
    kept, _ = without_few(some)
    told = [one.features for one in kept.summary(members=3)]
    assert all("a" in set(features["feature"]) for features in told)
    assert not any("dose" in set(features["feature"]) for features in told)
    assert "57.3" not in render(some, rows=False)


def test_rows_that_go_may_leave_another_cluster_too_few():
    """Labels that the surrogate does not give: a cluster goes with rows that are explained for it."""
    frame = patients(0).drop(columns="town")
    ex = make_pipeline(StandardScaler(), KMeans(30, n_init=1, random_state=0)).fit(frame)
    kept, _ = without_few(wc.explain(ex, frame))
    for ids in (kept.labels, kept.clusters):
        assert np.unique(ids, return_counts=True)[1].min() >= FEWEST


def test_a_page_of_small_clusters_only_is_refused():
    X = np.random.default_rng(0).normal(size=(8, 2))
    ex = wc.explain(KMeans(4, n_init=1, random_state=0).fit(X), X)
    assert np.unique(ex.labels, return_counts=True)[1].max() < FEWEST
    with pytest.raises(ValueError, match="No cluster has 5 rows or more"):
        render(ex, rows=False)


def test_distributions_have_round_ends_and_wide_bins(private):
    frame, _, _, page = private
    values, _ = read(page)
    numeric = [one for one in values["distributions"].values() if one["kind"] == "number"]
    assert numeric
    for one in numeric:
        assert len(one["counts"][0]) <= 8
        unit = 10 ** (np.floor(np.log10(one["high"] - one["low"])) - 1)
        for end in (one["low"], one["high"]):
            assert abs(end / unit - round(end / unit)) < 1e-6
    cells = {repr(float(cell)) for cell in frame.iloc[:, :4].to_numpy().ravel()}
    assert not cells & set(re.findall(r"-?\d+\.\d+", told(page)))
