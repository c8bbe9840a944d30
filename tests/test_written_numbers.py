"""Tables as people write them: units, currencies, dates, codes, many categories, numbers far outside."""

import gzip
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

import whyclust as wc
from whyclust.cluster.structure import few_rows
from whyclust.columns import column_facts, plan_columns, preparation
from whyclust.columns.dates import looks_like_date, read_dates
from whyclust.columns.facts import SAMPLE, Sample
from whyclust.columns.meaning import meaning_of
from whyclust.columns.scaling import FAR, LIMIT
from whyclust.moments.merging import merge
from whyclust.tables import plan_table, read_table
from whyclust.tables.repeats import repeats
from whyclust.tables.written import read_numbers

READ = {
    "currency and magnitude": (["$177 B", "$1.5 B", "$950 M"], [177e9, 1.5e9, 950e6]),
    "currency behind": (["1.234,50 €", "999,00 €", "12,00 €"], [1234.5, 999.0, 12.0]),
    "magnitude before currency": (["3 Mio €", "2,5 Mio €", "900 Tsd €"], [3e6, 2.5e6, 9e5]),
    "spellings of a currency": (["Rs. 500", "Rs.1,200", "Rs 30"], [500.0, 1200.0, 30.0]),
    "per cent": (["12%", "7.5 %", "0 %"], [12.0, 7.5, 0.0]),
    "out of": (["98/100", "77/100", "60/100"], [98.0, 77.0, 60.0]),
    "one and many": (["1 star", "4 stars", "5 stars"], [1.0, 4.0, 5.0]),
    "counts": (["950", "1.2K", "3M"], [950.0, 1200.0, 3e6]),
    "metres": (["10 m", "20 m", "30 m"], [10.0, 20.0, 30.0]),
    "kelvin": (["300K", "280K", "270K"], [300.0, 280.0, 270.0]),
    "accounting": (["$(1,200)", "($300)", "-$500"], [-1200.0, -300.0, -500.0]),
    "spaces between thousands": (["1 234", "12 345", "999"], [1234.0, 12345.0, 999.0]),
    "apostrophes": (["1'234.5", "12'345.0", "9.0"], [1234.5, 12345.0, 9.0]),
    "true minus": (["-5 °C", "3 °C", "−2 °C"], [-5.0, 3.0, -2.0]),
    "accounting without money": (["262", "(856)", "1,713", "105"], [262.0, -856.0, 1713.0, 105.0]),
    "minus behind": (["33", "50-", "58.5-", "14", "9"], [33.0, -50.0, -58.5, 14.0, 9.0]),
    "minus behind money": (["33 €", "50- €", "14 €"], [33.0, -50.0, 14.0]),
    "small k": (["28k", "1.5k", "3k"], [28000.0, 1500.0, 3000.0]),
    "small and large k": (["28K", "28k", "3K"], [28000.0, 28000.0, 3000.0]),
    "small k and none": (["950", "1.2k", "3k"], [950.0, 1200.0, 3000.0]),
    "weights": (["5 kg", "300 g", "2 kg"], [5.0, 0.3, 2.0]),
    "lengths": (["1 m", "2 m", "3 km"], [1.0, 2.0, 3000.0]),
    "times": (["90 min", "2 h", "30 min", "1 hour"], [90.0, 120.0, 30.0, 60.0]),
    "letters of a unit": (["5 kg", "3 KG", "2 kg"], [5.0, 3.0, 2.0]),
    "names of the euro": (["€ 361", "767 EUR", "5 Euro"], [361.0, 767.0, 5.0]),
    "names of the dollar": (["$887", "USD 4,571", "US$ 9"], [887.0, 4571.0, 9.0]),
    "names of the pound": (["£5", "6 GBP"], [5.0, 6.0]),
    "names of the yen": (["¥500", "600 JPY"], [500.0, 600.0]),
    "fractions among per cent": (["10%", "30.5%", "0.302", "12%"], [10.0, 30.5, 30.2, 12.0]),
    "numbers among per cent": (["10%", "30.5%", "29", "12%"], [10.0, 30.5, 29.0, 12.0]),
    "gaps in words": (["3", "unknown", "4", "-", "n.a."], [3.0, np.nan, 4.0, np.nan, np.nan]),
}
TEXT = {
    "fractions": ["1/2", "3/4", "1/3"],
    "dates": ["4/12/2016", "4/13/2016", "4/14/2016"],
    "ranges": ["25-34", "35-44", "45-54"],
    "quarters": ["Q1", "Q2", "Q3"],
    "ordinals": ["1st", "2nd", "3rd"],
    "sizes": ["10A", "10B", "11C"],
    "units of two kinds": ["5 kg", "300 cm", "2 kg"],
    "two currencies": ["5 €", "$5", "6 €"],
    "two dollars": ["$5", "C$6", "USD 7"],
    "yen and yuan": ["¥5", "6 CNY", "¥7"],
    "times": ["7:30 am", "8:00 pm", "9:15 am"],
    "addresses": ["12 Main St", "14 Oak Ave", "15 Elm"],
    "phones": ["555-1234", "555-9999", "555-0000"],
    "brackets that do not close": ["($5", "$6", "$7"],
    "digits in odd groups": ["1 23", "4 56", "7 89"],
    "words": ["red", "green", "5"],
    "two units and none": ["5 kg", "300 g", "2"],
    "house numbers": ["12a", "12b", "12k"],
    "numbers of which some have letters": ["4", "4a", "5", "5a"],
    "a unit of few": ["12 %", "0.5", "0.7"],
    "out of something or not": ["98/100", "98", "77/100"],
    "hours": ["5 pm", "6 pm", "7 pm"],
    "days": ["5 Jan", "6 Jan", "7 Jan"],
    "telephone numbers": ["030 123 456", "040 123 456", "050 123 456"],
    "with the country": ["+49 171 123", "+49 171 124", "+49 171 125"],
    "codes": ["001A", "002A", "003A"],
    "long groups": ["2020 001", "2020 002", "2021 003"],
    "brackets without money": ["(5)", "(6)", "7"],
    "brackets beside another minus": ["(5)", "-6", "7", "8"],
    "two kinds of minus": ["5-", "-6", "7", "8"],
    "mostly a minus behind": ["1-", "2-", "3"],
    "two minus signs": ["--5 €", "-6 €", "7 €"],
    "lists": [[1], [2], [3]],
}
INCOMPARABLE = {"two currencies", "two dollars", "yen and yuan", "units of two kinds", "two units and none"}


def in_column(values):
    return read_numbers(pd.DataFrame({0: values}), ["it"])


@pytest.mark.parametrize("name", READ)
def test_numbers_with_units_are_numbers(name):
    written, wanted = READ[name]
    numbers, _ = in_column(written)
    np.testing.assert_allclose(numbers[0].to_numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", TEXT)
def test_other_text_stays_text(name):
    numbers, notes = in_column(TEXT[name])
    assert numbers == {}
    # Amounts that cannot be compared are told of; all else is a text like others.
    assert [note for note in notes if "which cannot be compared" not in note] == []
    assert len(notes) == (name in INCOMPARABLE)


def test_blanks_before_a_text_take_no_time():
    """A pattern that tries every way to share them out would run for hours."""
    assert in_column([" " * 300 + word for word in ("red", "green", "blue")]) == ({}, [])


def test_numbers_and_text_in_one_column_of_a_spreadsheet():
    numbers, notes = read_numbers(pd.DataFrame({0: pd.Series([7.0, 1, "n/a", "3"], dtype=object)}), ["it"])
    assert numbers[0].tolist()[:2] == [7.0, 1.0]
    assert numbers[0].tolist()[3] == 3.0
    assert "'n/a' (1)" in notes[0]


def test_columns_that_name_or_label_rows_stay_as_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,kind,way\n1 km,1 m,5 km\n2 km,2 m,6 km\n3 km,3 m,7 km\n")
    frame = read_table(path, as_written=["id", "kind"]).frame
    assert frame.iloc[0].tolist() == ["1 km", "1 m", 5.0]


def test_rows_and_lines_that_are_no_data(tmp_path):
    path = tmp_path / "t.csv"
    lines = ["Report of May,,,", ",,,", "shop,region,visits,sales"]
    lines += [f"s{row},{'north' if row % 2 else 'south'},{row + 5},{row * 2}" for row in range(12)]
    path.write_text("\n".join([*lines, "TOTAL,,126,132"]) + "\n")
    table = read_table(path)
    assert table.frame.columns.tolist() == ["shop", "region", "visits", "sales"]
    assert len(table.frame) == 12
    assert table.notes == [
        "The lines above the names of the columns were left out ('Report of May').",
        "The last row is called 'TOTAL': it was left out.",
    ]
    rows = [line.split(",") for line in [*lines, "s12,north,5,5", "sum of it,north,5,5"]]
    pd.DataFrame(rows).to_excel(tmp_path / "t.xlsx", header=False, index=False)
    sheet = read_table(tmp_path / "t.xlsx")
    assert sheet.frame.columns.tolist() == ["shop", "region", "visits", "sales"]
    assert len(sheet.frame) == 14


@pytest.mark.parametrize(
    ("gap", "is_gap"), [(-999, True), (999, True), (-99, True), (99, False), (30, False)]
)
def test_numbers_that_stand_for_gaps(tmp_path, gap, is_gap):
    pd.DataFrame({"t": [*range(15, 31), gap, gap], "b": range(18)}).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert table.frame["t"].isna().sum() == 2 * is_gap
    assert any("these count as missing" in note for note in table.notes) == is_gap


def test_files_that_do_not_go_together(tmp_path):
    (tmp_path / "a.csv").write_text("way,b\n5 km,1\n6 km,2\n")
    (tmp_path / "b.csv").write_text("way,b\nfar,1\nnear,2\n")
    with pytest.raises(ValueError, match=r"'way' holds numbers in 'a.csv' and text in 'b.csv'"):
        read_table(tmp_path)


def test_indented_json(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps([{"a": 1, "b": [1]}, {"a": 2, "b": [2]}], indent=2))
    assert read_table(tmp_path / "t.json").frame["a"].tolist() == [1, 2]


def test_columns_may_be_called_anything(tmp_path):
    (tmp_path / "t.csv").write_text("self,a\n5 km,2020-01-02\n6 km,2020-01-03\n")
    assert read_table(tmp_path / "t.csv").frame["self"].tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-03-04", "13.04.2020"],
        ["13/4/2016", "4/13/2016"],
        ["1.2.10", "1.20.3"],
        ["20-40-10", "20-41-10"],
    ],
)
def test_what_may_be_no_dates_stays_text(texts):
    assert read_dates({0: pd.Series(texts)}, ["day"]) == ({}, [])
    frame = pd.DataFrame({"day": texts * 10, "a": np.arange(20) % 7})
    assert plan_table(frame).categorical == ["day"]


def test_dates_of_several_zones():
    texts = pd.Series(["2020-01-01T10:00:00+01:00", "2020-07-01T10:00:00+02:00"])
    dates, _ = read_dates({0: texts}, ["day"])
    assert dates[0].dt.hour.tolist() == [9, 8]
    aware = pd.DataFrame(
        {"day": pd.to_datetime(["2020-01-01T00:30:00+01:00"] * 2).tz_convert("Europe/Berlin")}
    )
    assert (column_facts(aware, ["day"])["day"].numbers.lowest < 2020) is True


def test_a_first_column_without_a_name_may_be_a_quantity(tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(f"{row % 13 * 5 + 5},{row % 7}.5" for row in range(40)))
    assert plan_table(read_table(tmp_path / "t.csv").frame).numeric == ["column 1", "column 2"]


def test_one_huge_number_does_not_flatten_its_column():
    values = np.random.default_rng(0).random(200)
    values[3] = 9_999_999_999
    _, X = prepared(pd.DataFrame({"a": values, "b": np.arange(200) % 7}), "auto")
    assert X[:, 0].std() > 0.5


def test_what_was_read_is_told():
    _, notes = in_column(["-", "$1.5 B", "$2 M"])
    assert notes == [
        "Numbers with '$' were read as such ('$1.5 B' as 1,500,000,000) in 'it'.",
        "Column 'it' holds numbers but for '-' (1); these count as missing.",
    ]


def test_commas_have_one_meaning_in_a_file_also_beside_units(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("price;way\n1,50 €;1,250 km\n2,25 €;3,5 km\n")
    assert read_table(path).frame.to_numpy().tolist() == [[1.5, 1.25], [2.25, 3.5]]


def test_a_few_other_entries_are_gaps_and_many_are_not():
    mostly = [f"{row} km" for row in range(95)]
    numbers, notes = in_column([*mostly, *["far away"] * 5])
    assert numbers[0].isna().sum() == 5
    assert "'far away' (5)" in notes[-1]
    # Many different words are another thing than many times the same one.
    assert in_column([*mostly[:94], *["far away"] * 6])[0][0].isna().sum() == 6
    assert in_column([*mostly[:90], *[f"far {word}" for word in "abcdef"]]) == ({}, [])
    # Ten different numbers may be categories.
    assert in_column([*mostly[:10], *["far away"] * 2]) == ({}, [])
    assert in_column([*mostly[:11], *["far away"] * 2])[0][0].isna().sum() == 2
    assert in_column([*mostly[:11], *["far away"] * 12]) == ({}, [])


@pytest.mark.parametrize(
    ("texts", "month_of_first"),
    [
        (["13/4/2016", "2/5/2016"], 4),
        (["4/13/2016", "2/5/2016"], 4),
        (["03.04.2020", "05.06.2020"], 4),
        (["2020-04-03 10:00", "2020-05-03 11:30"], 4),
        (["Apr 3, 2020", "May 4, 2020"], 4),
        (["3 April 2020", "4 May 2020"], 4),
    ],
)
def test_dates_are_read(texts, month_of_first):
    dates, notes = read_dates({0: pd.Series(texts)}, ["day"])
    assert dates[0].dt.month[0] == month_of_first
    assert notes == []


def test_dates_that_may_be_read_both_ways_are_told():
    dates, notes = read_dates({0: pd.Series(["3/4/2020", None, "5/6/2020"])}, ["day"])
    assert dates[0].dt.month.tolist()[::2] == [3.0, 5.0]
    assert dates[0].isna().tolist() == [False, True, False]
    assert notes == ["In dates such as 3/4/2020 the month was taken to come first: 'day'."]
    assert read_dates({0: pd.Series(["3/4/2020", "soon"])}, ["day"]) == ({}, [])
    assert read_dates({0: pd.Series(["99/99/2020", "3/4/2020"])}, ["day"]) == ({}, [])
    assert not looks_like_date("12345")


def test_dates_are_years_where_they_are_asked_for():
    frame = pd.DataFrame(
        {"day": pd.to_datetime(["2020-01-01 00:00", "2021-07-02 12:00", None]), "a": [1.0, 2.0, 4.0]}
    )
    assert plan_table(frame).dropped == {"day": "holds dates or times, which are not clustered"}
    plan = plan_table(frame, columns=["day", "a"])
    np.testing.assert_allclose(plan.apply(frame)["day"], [2020.0, 2021.5, np.nan])
    assert "count as years" in plan.notes[0]


ROWS = 40
CODED = {
    "user_id": (np.arange(ROWS) % 7 + 1000, "is an identifier: its numbers measure nothing"),
    "CustomerID": (np.arange(ROWS) % 7 + 1000, "is an identifier: its numbers measure nothing"),
    "Pin code": (np.arange(ROWS) % 9 + 560001, "holds codes: their numbers measure nothing"),
    "zip": (np.arange(ROWS) % 9 + 10001, "holds codes: their numbers measure nothing"),
    "Rank": (np.minimum(np.arange(ROWS) // 2 * 2 + 1, ROWS), "ranks the rows"),
    "year": (np.arange(ROWS) % 20 + 1990, "holds years, and dates are not clustered"),
}
QUANTITIES = {
    "Year_Birth": np.arange(ROWS) % 20 + 1960,
    "years of work": np.arange(ROWS) % 20,
    "rank of difficulty": np.arange(ROWS) % 5 + 1,
    "grid": np.arange(ROWS) % 20 + 1000,
    "id score": np.arange(ROWS) % 20 + 0.5,
    "bid": np.arange(ROWS) % 20 + 1000,
}


@pytest.mark.parametrize("name", CODED)
def test_numbers_that_measure_nothing_are_left_out_unless_asked_for(name):
    values, reason = CODED[name]
    frame = pd.DataFrame({name: values, "a": np.arange(ROWS) % 3 + 0.5})
    assert plan_table(frame).dropped == {name: reason}
    assert plan_table(frame, columns=[name, "a"]).numeric == [name, "a"]


def test_ranks_of_several_years_are_ranks():
    rows = np.arange(300)
    frame = pd.DataFrame({"hf_rank": rows % 30 + 1, "rank": rows % 29 + 1, "a": rows % 7 + 0.5})
    assert plan_table(frame).dropped == {"hf_rank": "ranks the rows"}  # of fewer than thirty, levels
    frame["ranking"] = rows * 37 % 101  # from 0 to 100: a score
    assert "ranking" not in plan_table(frame).dropped


@pytest.mark.parametrize("name", QUANTITIES)
def test_numbers_of_similar_names_are_quantities(name):
    frame = pd.DataFrame({name: QUANTITIES[name], "a": np.arange(ROWS) % 3 + 0.5})
    assert plan_table(frame).numeric == [name, "a"]


def test_words_in_names():
    assert meaning_of("") is None
    assert meaning_of("Unnamed: 0") == "identifier"
    assert meaning_of("iid") is None


def test_zero_and_one_are_no_and_yes():
    rare = np.zeros(200, dtype=int)
    rare[:2] = 1
    frame = pd.DataFrame({"rare": rare, "a": np.arange(200) % 7, "some": np.where(rare, np.nan, rare + 0.5)})
    plan = plan_table(frame, drop=["some"])
    assert plan.categorical == ["rare"]
    X = preparation(plan).transform(plan.apply(frame))
    # A rare yes is not farther away than any other category.
    assert set(np.unique(X[:, 1:])) == {0.0, 1.0}
    with pytest.raises(ValueError, match="holds something else than 0 and 1"):
        plan.apply(frame.assign(rare=2))


def test_of_many_categories_the_frequent_ones_count():
    many = [f"level {row % 31}" for row in range(310)] + [f"rare {row}" for row in range(40)]
    frame = pd.DataFrame({"many": many, "a": np.arange(350) % 7})
    plan = plan_table(frame)
    assert len(plan.columns[0].categories) == 30
    assert "the 30 most frequent count, which 86% of its rows have" in plan.notes[0]
    X = preparation(plan).transform(plan.apply(frame))
    assert X.shape == (350, 31)
    assert (X[-40:, 1:] == 0).all()
    asked = plan_table(frame, columns=["many"])
    assert len(asked.columns[0].categories) == 71
    free = pd.DataFrame({"free": [f"text {row % 150}" for row in range(350)], "a": np.arange(350) % 7})
    assert plan_table(free).dropped == {"free": "is text with 150 different values, few of which repeat"}
    assert plan_table(free, columns=["free", "a"]).categorical == ["free"]


def with_outlier(n=400):
    values = np.random.default_rng(0).normal(5.0, 2.0, n)
    values[7] = 1e5
    return pd.DataFrame({"amount": values, "a": np.random.default_rng(1).normal(size=n)})


def prepared(frame, scale):
    plan = plan_table(frame, scale=scale)
    return plan, preparation(plan).transform(plan.apply(frame))


def test_numbers_far_outside_are_limited_and_told():
    frame = with_outlier()
    plan, X = prepared(frame, "auto")
    assert [column.scaling.kind for column in plan.columns] == ["robust", "standard"]
    assert f"more than {FAR:g} standard deviations" in plan.notes[0]
    amount = X[:, [column.name for column in plan.columns].index("amount")]
    middle, low, high = np.quantile(frame["amount"], [0.5, 0.25, 0.75])
    wanted = np.clip((frame["amount"] - middle) / ((high - low) / 1.349), -LIMIT, LIMIT)
    np.testing.assert_allclose(amount, wanted, atol=1e-12)
    assert amount[7] == LIMIT
    _, plain = prepared(frame, "standard")
    assert plain[7, 0] > 15


@pytest.mark.parametrize("scale", ["auto", "standard", "robust", "rank", "none"])
def test_scales_are_explained_and_saved(scale, tmp_path):
    frame = with_outlier()
    plan, X = prepared(frame, scale)
    from sklearn.cluster import KMeans
    from sklearn.pipeline import Pipeline

    steps = [("prepare", preparation(plan)), ("cluster", KMeans(3, n_init=3, random_state=0).fit(X))]
    features = plan.apply(frame)
    network = wc.neuralize(Pipeline(steps), features)
    assert (network.predict(features) == steps[-1][1].labels_).all()
    ex = wc.explain(network, features)
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-9 * max(
        1, ex.evidence.max()
    )
    again = wc.load(wc.save(network, tmp_path / "net.npz"))
    assert (again.predict(features) == network.predict(features)).all()
    outliers = few_rows(np.bincount(steps[-1][1].labels_)).any()
    assert outliers == (scale in ("standard", "none"))


@pytest.mark.parametrize("scale", ["auto", "rank", "none"])
def test_fitted_again_on_some_rows_limits_and_categories_stay(scale):
    """As an audit does: limits that followed the outliers would make another clustering."""
    from sklearn.base import clone

    many = [f"level {row % 31}" for row in range(400)]
    plan = plan_table(with_outlier().assign(many=many, yes=np.arange(400) % 2), scale=scale)
    features = plan.apply(with_outlier().assign(many=many, yes=np.arange(400) % 2))
    once = preparation(plan)
    again = clone(once).fit(features[::2])
    assert again.get_feature_names_out().tolist() == once.get_feature_names_out().tolist()
    kept = [name for name in once.get_feature_names_out() if not name.startswith("standard")]
    places = [once.get_feature_names_out().tolist().index(name) for name in kept]
    assert len(places) == 33 + (1 if scale == "auto" else 2) - 1
    gap = again.transform(features)[:, places] - once.transform(features)[:, places]
    assert np.abs(gap).max() < 1e-12


def test_ranks_are_uniform():
    frame = with_outlier()
    _, X = prepared(frame, "rank")
    ranks = frame["amount"].rank().to_numpy() - 1
    np.testing.assert_allclose(X[:, 0], (ranks - ranks.mean()) / ranks.std(), atol=1e-9)


def test_ranks_of_numbers_that_are_mostly_the_same_weigh_no_more_than_others():
    values = np.zeros(400)
    values[:120] = np.random.default_rng(0).normal(5.0, 1.0, 120)
    _, X = prepared(pd.DataFrame({"mostly": values, "a": np.random.default_rng(1).normal(size=400)}), "rank")
    assert abs(X[:, 0].mean()) < 0.02
    assert abs(X[:, 0].std() - 1) < 0.02


def test_a_scale_that_there_is_not():
    with pytest.raises(ValueError, match=r"no scale 'robustt', expected auto, .*did you mean 'robust'"):
        plan_table(with_outlier(), scale="robustt")


def test_robust_scales_of_columns_that_are_mostly_the_same():
    mostly = np.zeros(1000)
    mostly[:60] = np.arange(60)
    nearly = np.zeros(1000)
    nearly[:3] = 500.0
    frame = pd.DataFrame({"mostly": mostly, "nearly": nearly})
    _, X = prepared(frame, "robust")
    assert np.isfinite(X).all()
    assert np.abs(X).max() <= LIMIT
    assert X.std(axis=0).min() > 0


def test_samples_of_parts_are_that_of_the_whole():
    values = np.random.default_rng(0).normal(size=5000)
    values[::7] = np.nan
    parts = Sample.of(values[:1234]) + Sample.of(values[1234:], 1234)
    whole = Sample.of(values)
    assert len(whole.numbers) == SAMPLE
    assert sorted(parts.numbers) == sorted(whole.numbers)
    frame = pd.DataFrame({"a": np.append(values, 1e6)})
    facts = merge(column_facts(frame[:2000], ["a"]), column_facts(frame[2000:], ["a"], first_row=2000))
    assert plan_columns(facts).columns[0].scaling == plan_table(frame).columns[0].scaling
    # Rows are drawn as if by lot: the median is near that of all.
    assert abs(np.median(whole.numbers) - np.nanmedian(values)) < 0.1


def test_columns_that_say_the_same_count_once():
    n = 60
    rooms = np.arange(n) // 2 % 4
    order = pd.DataFrame({"rooms": rooms, "tax": np.array([40, 10, 30, 20])[rooms], "a": np.arange(n) % 7})
    order["size"], order["half"] = np.array(["S", "M", "L", "XL"])[rooms], -rooms / 2
    # Numbers in another order say more, and numbers say more than words.
    assert plan_table(order).dropped == {
        "size": "says the same as 'rooms'",
        "half": "says the same as 'rooms'",
    }
    frame = pd.DataFrame(
        {
            "survived": np.arange(n) % 2,
            "alive": np.where(np.arange(n) % 2, "yes", "no"),
            "weight": np.arange(n) * 1.5 % 11,
            "again": np.arange(n) * 1.5 % 11,
            "other": np.random.default_rng(0).permutation(n),
        }
    )
    plan = plan_table(frame)
    assert plan.dropped == {"survived": "says the same as 'alive'", "again": "says the same as 'weight'"}
    assert "'survived' (as 'alive'), 'again' (as 'weight')" in plan.notes[-1]
    # Gaps repeat nothing: what is there hardly does, and differs.
    few = pd.DataFrame(index=range(60))
    few["week 36"], few["week 37"] = (
        few.index.map(lambda row: row * 7.0),
        few.index.map(lambda row: row * 6.0),
    )
    few["reason"] = few.index.map(lambda row: f"reason {row}")
    few.loc[6:] = np.nan
    assert repeats(few, few) == {}
    few["again"] = few["week 36"]
    assert repeats(few, few) == {"again": "week 36"}
    assert plan_table(frame, columns=["survived", "alive"]).categorical == ["survived", "alive"]
    assert plan_table(frame.assign(alive=frame["alive"].where(np.arange(n) > 3))).dropped.keys() == {"again"}


FRAME = pd.DataFrame({"name": ["nut", "bolt", "nut"], "price": [1.5, 2.25, 3.0], "pieces": [3, 4, 5]})


def write_kinds(folder):
    FRAME.to_csv(folder / "t.csv", index=False)
    FRAME.to_csv(folder / "t.tsv", index=False, sep="\t")
    FRAME.to_parquet(folder / "t.parquet")
    FRAME.to_excel(folder / "t.xlsx", index=False)
    FRAME.to_json(folder / "t.jsonl", orient="records", lines=True)
    FRAME.to_json(folder / "t.json", orient="records")
    (folder / "columns.json").write_text(json.dumps(FRAME.to_dict(orient="list")))
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))


def test_every_kind_of_file_gives_the_same_table(tmp_path):
    write_kinds(tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 10
    for path in files:
        found = read_table(path).frame
        assert found.columns.tolist() == FRAME.columns.tolist(), path.name
        assert found.astype({"price": float, "pieces": int}).to_numpy().tolist() == FRAME.to_numpy().tolist()


def test_units_and_dates_are_read_in_every_kind_of_file(tmp_path):
    frame = pd.DataFrame({"way": ["5 km", "7 km"], "day": ["2020-01-02", "2020-03-04"]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    for name in ("t.parquet", "t.xlsx"):
        found = read_table(tmp_path / name).frame
        assert found["way"].tolist() == [5.0, 7.0]
        assert found["day"].dt.month.tolist() == [1, 3]


def test_a_sheet_among_several(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame().to_excel(book, sheet_name="empty", index=False)
        FRAME.to_excel(book, sheet_name="prices", index=False)
    table = read_table(tmp_path / "t.xlsx")
    assert table.frame["price"].tolist() == [1.5, 2.25, 3.0]
    assert table.notes == ["The table is the sheet 'prices' of 2."]


def test_several_files_and_folders(tmp_path):
    for part in range(3):
        FRAME.iloc[[part]].to_csv(tmp_path / f"part-{part}.csv", index=False)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.csv").write_text("x\n1\n")
    whole = read_table(tmp_path)
    pd.testing.assert_frame_equal(whole.frame, FRAME, check_dtype=False)
    assert whole.notes == ["The rows of 3 files are one below the other, 'part-0.csv' first."]
    named = read_table([tmp_path / "part-2.csv", str(tmp_path / "part-0.csv")])
    assert named.frame["price"].tolist() == [3.0, 1.5]
    FRAME.drop(columns="pieces").to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(ValueError, match=r"part-0.csv' has a column 'pieces' that '.*other.csv' has not"):
        read_table([tmp_path / "part-0.csv", tmp_path / "other.csv"])
    FRAME.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="tables of different kinds"):
        read_table(tmp_path)
    with pytest.raises(ValueError, match="at least one"):
        read_table([])
    with pytest.raises(ValueError, match="standard input alone"):
        read_table(["-", tmp_path / "t.parquet"])


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.json", "t.jsonl", "t.xlsx"])
def test_standard_input(tmp_path, monkeypatch, name):
    write_kinds(tmp_path)
    raw = io.BytesIO((tmp_path / name).read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    assert read_table("-").frame["price"].tolist() == [1.5, 2.25, 3.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv.gz", b"a,b\n1,2\n", "gzip file is damaged"),
        ("t.gz", gzip.compress(b"a", mtime=0), "ends in '.gz', which is not a kind"),
        ("t.jsonl", b'{"a": 1}\n[1, 2]\n', "line 2 holds a list, expected an object"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', "line 2 is no JSON object"),
        ("t.json", b'{"a": [1, 2], "b": [1]}', "different numbers of rows"),
        ("t.json", b'{"a": 1, "b": 2', "no JSON"),
        ("t.h5ad", b"\x89HDF\r\n\x1a\nxxxxxxxxxxxx", "AnnData file is damaged"),
    ],
)
def test_files_that_cannot_be_read_say_so(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read_table(tmp_path / name)
    assert "\n" not in str(error.value)
    assert str(tmp_path / name) in str(error.value)


def test_an_empty_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(ValueError, match="standard input is empty"):
        read_table("-")


def test_cells_and_genes(tmp_path):
    anndata = pytest.importorskip("anndata")
    counts = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    obs = pd.DataFrame({"leiden": ["0", "1", "0", "1"]}, index=["c1", "c2", "c3", "c4"])
    data = anndata.AnnData(counts, obs=obs, var=pd.DataFrame(index=["g1", "g2", "g3"]))
    # Not every version of AnnData writes the strings of every version of pandas.
    for part in (data.obs, data.var):
        part.index = pd.Index(list(part.index), dtype=object)
    data.obs["leiden"] = pd.Categorical([0, 1, 0, 1])
    data.write_h5ad(tmp_path / "t.h5ad")
    table = read_table(tmp_path / "t.h5ad")
    assert table.frame.columns.tolist() == ["g1", "g2", "g3", "cell", "leiden"]
    assert table.aside == ["cell", "leiden"]


def test_explanations_without_their_rows(tmp_path):
    from sklearn.cluster import KMeans

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    path = ex.without_data().save(tmp_path / "t.parquet")
    assert [name for name in pd.read_parquet(path) if name.startswith("data.")] == []
    bare = wc.load(path)
    np.testing.assert_array_equal(bare.values, ex.values)
    np.testing.assert_array_equal(bare[3:5].values, ex[3:5].values)
    for ask in (lambda: bare.summary(), lambda: bare.column("a"), lambda: np.asarray(bare.data)):
        with pytest.raises(ValueError, match=r"saved without its rows: .*ex.with_data"):
            ask()
    # Names that the user gave need no rows.
    assert bare.with_names({0: "near", 1: "far"}).cluster_names == {0: "near", 1: "far"}
    whole = bare.with_data(X[["b", "a"]].assign(more=1))
    assert whole.describe() == ex.describe()
    with pytest.raises(ValueError, match="no column 'b'"):
        bare.with_data(X[["a"]])
    with pytest.raises(ValueError, match="data is 29 × 2, expected the 30 × 2"):
        bare.with_data(X.iloc[1:])
    named = X.set_axis([f"r{row}" for row in range(30)], axis=0)
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), named)
    again = ex.without_data().with_data(named.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(again.data, named)
    with pytest.raises(ValueError, match="other row labels than the explanation"):
        ex.without_data().with_data(named.add_prefix("s", axis=0))


def test_shares_are_no_flags():
    frame = pd.DataFrame({"share": np.linspace(0.0, 1.0, 40), "a": np.arange(40) % 7})
    assert plan_table(frame).numeric == ["share", "a"]


def test_frequent_values_have_five_rows_at_least():
    often = [f"level {row % 20}" for row in range(80)]  # four rows each
    once = [f"rare {row}" for row in range(40)]
    frame = pd.DataFrame({"text": [*often, *once], "a": np.arange(120) % 7})
    assert plan_table(frame).dropped == {"text": "is text with 60 different values, few of which repeat"}
    more = pd.DataFrame({"text": [*often, *often[:20], *once], "a": np.arange(140) % 7})
    assert len(plan_table(more).columns[0].categories) == 20


def test_what_stands_aside_in_one_file_does_in_several(tmp_path):
    for part in range(2):
        np.savez(tmp_path / f"{part}.npz", X=np.arange(6.0).reshape(3, 2) + part, y=np.arange(3))
    table = read_table(tmp_path)
    assert table.aside == ["y"]
    assert len(table.frame) == 6


def test_signs_of_money():
    assert in_column(["-$-5", "$6", "$7"]) == ({}, [])
    numbers, _ = in_column(["$-5", "-$6", "$7"])
    assert numbers[0].tolist() == [-5.0, -6.0, 7.0]


def test_amounts_in_several_currencies_are_told_and_not_added():
    numbers, notes = in_column(["$5", "€7", "$9.50", "€12"])
    assert numbers == {}
    assert "'it' holds amounts in several currencies ('$' and '€'), which cannot be compared" in notes[0]
    assert in_column(["$5", "$7"])[1] == ["Numbers with '$' were read as such ('$5' as 5) in 'it'."]


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (["5 km", "7 km"], ["5 miles", "7 miles"], "'km' in 'a.csv' and in 'mile' in 'b.csv'"),
        (["5 km", "7 km"], ["5", "7"], "'km' in 'a.csv' and in plain numbers in 'b.csv'"),
        (["$5", "$7"], ["€5", "€7"], "'$' in 'a.csv' and in '€' in 'b.csv'"),
        (["5K", "2M"], ["5K", "2K"], "thousands and millions in 'a.csv' and in 'K' in 'b.csv'"),
    ],
)
def test_files_in_other_units_are_not_put_together(tmp_path, one, other, told):
    for name, texts in (("a.csv", one), ("b.csv", other)):
        (tmp_path / name).write_text("\n".join(["it", *texts]) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="write it alike in all files") as refused:
        read_table([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert told in str(refused.value)
    assert len(read_table([tmp_path / "a.csv", tmp_path / "a.csv"]).frame) == 4


def test_words_of_a_scale_are_steps_in_their_order():
    words = ["often", "Never", "always", "sometimes", None] * 4
    frame = pd.DataFrame({"how often": words, "town": ["low", "red", "high", "blue"] * 5})
    plan = plan_table(frame)
    assert plan.numeric == ["how often"]
    assert plan.categorical == ["town"]
    assert plan.columns[0].categories == ("Never", "sometimes", "often", "always")
    found = plan.apply(frame)["how often"].to_numpy()
    np.testing.assert_array_equal(found[:5], [3, 1, 4, 2, np.nan])
    assert "'Never' counts as 1, and so on up to 'always' as 4" in plan.notes[0]
    # As any other numbers, they are scaled by their mean and deviation.
    numbers = found[~np.isnan(found)]
    scaling = plan.columns[0].scaling
    assert abs(scaling.center - numbers.mean()) < 1e-12
    expected = np.nan_to_num(found - numbers.mean()) / np.sqrt(((numbers - numbers.mean()) ** 2).sum() / 20)
    assert np.abs(preparation(plan).transform(plan.apply(frame))[:, 0] - expected).max() < 1e-12


@pytest.mark.parametrize(
    "words", [["low", "high"], ["low", "high", "red"], ["low", "Low", "LOW"], ["low", "often", "good"]]
)
def test_other_words_are_no_steps(words):
    plan = plan_table(pd.DataFrame({"it": words * 10}))
    assert plan.categorical == ["it"]


def test_plain_numbers_among_others_with_a_unit_are_told():
    percents = [f"{10 + row / 2}%" for row in range(40)]
    numbers, notes = in_column([*percents, "0.125", "0.3"])
    assert numbers[0].tolist()[-2:] == [12.5, 30.0]
    assert notes[-1] == (
        "2 of 42 numbers of column 'it' stand without '%' and are at most 1: they were read as fractions "
        "('0.125' as 12.5 %)."
    )
    numbers, notes = in_column([*percents, "12.5", "0.3"])
    assert numbers[0].tolist()[-2:] == [12.5, 0.3]
    assert notes[-1] == (
        "2 of 42 numbers of column 'it' stand without '%': they were read as if it were there ('12.5' as "
        "12.5). Check them."
    )
    # Below one per cent all over, 0.3 is one more of them.
    numbers, notes = in_column([f"{0.1 + row / 50:g}%" for row in range(40)] + ["0.3"])
    assert numbers[0].iloc[-1] == 0.3
    assert "as if it were there" in notes[-1]
    assert (
        "1 of 4 numbers of column 'it' stand without 'km'" in in_column(["5 km", "6 km", "7 km", "8"])[1][-1]
    )


def test_what_was_read_as_negative_or_as_the_same_is_told():
    assert in_column(["262", "(856)", "713"])[1] == [
        "Numbers in brackets were read as negative ('(856)' as -856) in 'it'."
    ]
    assert in_column(["33", "50-", "14"])[1] == [
        "Numbers with a minus behind them were read as negative ('50-' as -50) in 'it'."
    ]
    assert in_column(["€ 361", "767 EUR"])[1][-1] == (
        "In column 'it' 'EUR' and '€' were read as the same currency."
    )
    assert in_column(["170 cm", "1.81 m", "165 cm"])[1] == [
        "Numbers with 'cm' were read as such ('170 cm' as 170) in 'it'.",
        "Column 'it' holds numbers in several units ('cm' and 'm'): they were converted to one.",
    ]
    # A longer minus is a minus: nothing was guessed.
    numbers, notes = in_column(["33", "−50", "14"])
    assert (numbers[0].tolist(), notes) == ([33.0, -50.0, 14.0], [])
    assert "'cm' and 'kg'" in in_column(["170 cm", "60 kg", "165 cm"])[1][0]


def test_odd_words_among_numbers_are_gaps_and_no_categories(tmp_path):
    path = tmp_path / "t.csv"
    ages = [str(20 + row % 45) for row in range(90)]
    odd = ["forty"] * 16 + ["<5"] * 12 + ["unknown"] * 9 + [""] * 20
    path.write_text("age;b\n" + "\n".join(f"{age};{row % 7}" for row, age in enumerate([*ages, *odd])) + "\n")
    table = read_table(path)
    assert table.notes == [
        "Column 'age' holds numbers but for 'forty' (16), '<5' (12), 'unknown' (9); these count as missing."
    ]
    plan = plan_table(table.frame)
    assert plan.numeric == ["age", "b"]
    assert plan.missing == {"age": 57}
    # A frame that somebody else has read is decided on alike.
    frame = pd.DataFrame({"age": [*ages, *["forty"] * 16], "size": ["S", "3", "M", "5"] * 26 + ["7", "8"]})
    plan = plan_table(frame)
    assert (plan.numeric, plan.categorical) == (["age"], ["size"])
    # The row of totals is no odd word.
    path.write_text("shop;b\n" + "\n".join(f"{row + 100};{row % 7}" for row in range(30)) + "\nTotal;90\n")
    assert read_table(path).notes == ["The last row is called 'Total': it was left out."]


def test_files_with_one_currency_in_two_spellings_go_together(tmp_path):
    for name, texts in (("a.csv", ["€5", "€7"]), ("b.csv", ["8 EUR", "9 EUR"])):
        (tmp_path / name).write_text("\n".join(["it", *texts]) + "\n", encoding="utf-8")
    assert read_table(tmp_path).frame["it"].tolist() == [5.0, 7.0, 8.0, 9.0]


def test_what_mysql_writes_for_nothing_is_a_gap(tmp_path):
    path = tmp_path / "t.csv"
    rows = [[f"{row % 7}", "\\N" if row % 3 else f"kind {row % 2}"] for row in range(40)]
    path.write_text("\n".join(["n,kind", *[",".join(row) for row in rows]]) + "\n")
    table = read_table(path)
    assert table.frame["kind"].isna().sum() == sum(row[1] == "\\N" for row in rows)
    assert plan_table(table.frame).columns[1].categories == ("kind 0", "kind 1")
