"""New rows are read as the table of the model was, whatever they would look like by themselves."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import whyclust as wc
from whyclust.columns.facts import as_years
from whyclust.command.cli import main
from whyclust.command.new_rows import explain_new_rows
from whyclust.command.run import explain_table
from whyclust.tables import Reading, Table, plan_table, read_table
from whyclust.tables.matching import matched
from whyclust.tables.spelling import Spelling

EXAMPLES = Path(__file__).parent.parent / "examples"
N_ROWS = 60


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(one) for one in arguments])
    return stopped.value.code


def columns_of(kind):
    """Texts of a column, as one country, program or habit writes them."""
    numbers = np.random.default_rng(1).permutation(np.linspace(0.5, 2400, N_ROWS)).round(3)
    flags = np.arange(N_ROWS) % 3 == 0
    return {
        "commas": [f"{number:.3f}".replace(".", ",") for number in numbers],
        "German": [f"{number:,.1f}".translate(str.maketrans(",.", ".,")) for number in numbers],
        "thousands": [f"{1000 * number:,.0f}" for number in numbers],
        "euros": [f"{number:.2f} €".replace(".", ",") for number in numbers],
        "millions": [
            f"${number:.1f} M" if number < 1000 else f"${number / 1000:.4f} B" for number in numbers
        ],
        "K and M": [f"{number:.1f}K" if number < 1000 else f"{number / 1000:.4f}M" for number in numbers],
        "only K": [f"{number:.1f} K" for number in numbers],
        "accountant": [
            f"$({number:.0f})" if flag else f"${number:.0f}"
            for number, flag in zip(numbers, flags, strict=True)
        ],
        "accountant without money": [
            f"({number:.0f})" if flag else f"{number:.0f}"
            for number, flag in zip(numbers, flags, strict=True)
        ],
        "minus behind": [
            f"{number:.1f}-" if flag else f"{number:.1f}" for number, flag in zip(numbers, flags, strict=True)
        ],
        "small k": [f"{number:.1f}k" for number in numbers],
        "small and large k": [
            f"{number:.1f}{'k' if flag else 'K'}" for number, flag in zip(numbers, flags, strict=True)
        ],
        "names of a currency": [
            f"€{number:.1f}" if flag else f"{number:.1f} EUR"
            for number, flag in zip(numbers, flags, strict=True)
        ],
        "lengths": [
            f"{number / 100:.5f} m" if flag else f"{number:.3f} cm"
            for number, flag in zip(numbers, flags, strict=True)
        ],
        "fractions": [
            f"{number / 2400:.6f}" if flag else f"{number / 24:.4f} %"
            for number, flag in zip(numbers, flags, strict=True)
        ],
        "odd words": [
            ["soon", "<5"][place % 2] if flag else f"{number:.3f}".replace(".", ",")
            for place, (number, flag) in enumerate(zip(numbers, flags, strict=True))
        ],
        "gaps": ["n/a" if flag else f"{number:.1f}" for number, flag in zip(numbers, flags, strict=True)],
        "-999": [-999 if place % 20 == 3 else 20 + place % 7 for place in range(N_ROWS)],
        "answers": ["yes" if flag else "no" for flag in flags],
        "0 and 1": [int(flag) for flag in flags],
        "truth": [bool(flag) for flag in flags],
        "steps": [["Never", "sometimes", "ALWAYS", "often"][place % 4] for place in range(N_ROWS)],
        "numbers": numbers.tolist(),
        "whole": numbers.astype(int).tolist(),
    }[kind]


KINDS = (
    "commas",
    "German",
    "thousands",
    "euros",
    "millions",
    "K and M",
    "only K",
    "accountant",
    "gaps",
    "-999",
)
KINDS += ("accountant without money", "minus behind", "small k", "small and large k", "names of a currency")
KINDS += ("lengths", "fractions", "odd words")
KINDS += ("steps", "answers", "0 and 1", "truth", "numbers", "whole")


def written(path, rows, delimiter):
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows(rows)
    return path


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("kind", KINDS)
def test_any_rows_of_a_file_are_read_as_in_the_whole(tmp_path, kind, delimiter):
    """Each row alone, and pairs of rows: what they show by themselves does not count."""
    other = np.random.default_rng(2).integers(0, 90, N_ROWS).tolist()
    rows = list(zip(columns_of(kind), other, strict=True))
    table = read_table(written(tmp_path / "all.csv", [("it", "other"), *rows], delimiter))
    result = explain_table(table, k=2)
    assert "it" in result.explanation.feature_names
    network = wc.load(wc.save(result.network, tmp_path / "model.npz"))
    expected = result.explanation
    for chosen in [*([place] for place in range(0, N_ROWS, 7)), [3, 4], list(range(10, 20))]:
        path = written(
            tmp_path / "some.csv", [("it", "other"), *(rows[place] for place in chosen)], delimiter
        )
        new = read_table(path, reading=network.reading)
        assert np.abs(network.evidence(new.frame) - expected.evidence[chosen]).max() < 1e-9
        assert (network.predict(new.frame) == expected.clusters[chosen]).all()
        # Text in a frame that somebody else has read is read the same way.
        texts = pd.read_csv(path, sep=delimiter, dtype=str)
        assert np.abs(network.evidence(texts) - expected.evidence[chosen]).max() < 1e-9


@pytest.mark.parametrize("fitted", ["answers", "0 and 1", "truth", "1.0"])
@pytest.mark.parametrize(
    "given", ["answers", "0 and 1", "truth", "1.0", "'0' and '1'", "category", "gapless"]
)
def test_yes_and_no_are_the_same_whatever_their_type(fitted, given):
    flags = pd.Series(columns_of("truth"))
    forms = {
        "answers": flags.map({True: "yes", False: "no"}),
        "0 and 1": flags.astype(int),
        "truth": flags,
        "1.0": flags.astype(float),
        "'0' and '1'": flags.astype(int).astype(str),
        "category": flags.map({True: "Yes", False: "NO"}).astype("category"),
        "gapless": flags.astype("boolean"),
    }
    frame = pd.DataFrame({"flag": forms[fitted], "size": columns_of("numbers")})
    result = explain_table(Table(frame), k=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = result.network.evidence(frame.assign(flag=forms[given]))
    assert np.array_equal(found, result.explanation.evidence)


def test_what_the_model_does_not_know_is_counted_in_one_sentence():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 30, "size": columns_of("numbers")})
    network = explain_table(Table(frame), k=2).network
    new = frame.assign(
        colour=["green", "red", None] + ["Blue"] * 57, size=["12 km", "5", "7,5"] + ["8.5"] * 57
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network.predict(new)
    assert [str(one.message) for one in caught] == [
        "In 2 of 60 rows column 'colour' holds something that the model does not know ('green'): it counts "
        "as none of its values.",
        "In 2 of 60 rows column 'size' holds no number as the model's table had them ('12 km'): it counts as "
        "missing.",
    ]
    gap = frame.assign(colour=[None] + ["red"] * 59)
    with pytest.warns(UserWarning, match="In 1 of 60 rows column 'colour' .* does not know .a gap."):
        network.predict(gap)


def test_gaps_that_the_first_table_had_are_nothing_to_tell():
    colours = ["red", "blue", None] * 20
    frame = pd.DataFrame({"colour": colours, "size": columns_of("numbers")})
    result = explain_table(Table(frame), k=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = result.network.evidence(
            frame.assign(colour=[None if one is None else one for one in colours])
        )
        empty = result.network.evidence(frame.assign(colour=["" if one is None else one for one in colours]))
    assert np.array_equal(found, result.explanation.evidence)
    assert np.array_equal(empty, result.explanation.evidence)


@pytest.mark.parametrize(
    ("spelling", "texts", "numbers", "unread"),
    [
        (Spelling(comma=True), ["1,250", "1.250"], [1.25, 1250], [False, False]),
        (Spelling(comma=False), ["1,250", "1.250"], [1250, 1.25], [False, False]),
        # Where only the other mark is possible for all, it is that.
        (Spelling(comma=True), ["1.5", "12.125"], [1.5, 12.125], [False, False]),
        (Spelling(comma=False), ["1,5", "12,125"], [1.5, 12.125], [False, False]),
        (Spelling(comma=False), ["1,5", "2.5"], [np.nan, 2.5], [True, False]),
        (Spelling(), ["1,250", "0.5"], [1250, 0.5], [False, False]),
        (
            Spelling(unit="km"),
            ["5 km", "5", "5 m", "5 kg"],
            [5, 5, 0.005, np.nan],
            [False, False, False, True],
        ),
        (Spelling(unit="%", fractions=True), ["30 %", "0.3"], [30, 30], [False, False]),
        (Spelling(words=("forty",)), ["Forty ", "fifty"], [np.nan, np.nan], [False, True]),
        (Spelling(currency="$"), ["$5", "5 €", "(5)"], [5, np.nan, -5], [False, True, False]),
        (Spelling(currency="€"), ["5 EUR", "$5"], [5, np.nan], [False, True]),
        (Spelling(), ["$5", "5 %"], [5, np.nan], [False, True]),
        (Spelling(counts=True), ["900 K", "3"], [900_000, 3], [False, False]),
        (Spelling(magnitude="m"), ["900 K", "2 M", "3"], [0.9, 2, np.nan], [False, False, True]),
        (Spelling(gaps=(-999.0,)), ["-999", "5", "n/a", "", "?"], [np.nan, 5, *[np.nan] * 3], [False] * 5),
        (Spelling(), ["007", "1e3", "soon"], [7, 1000, np.nan], [False, False, True]),
    ],
)
def test_texts_are_read_by_how_the_first_table_was_written(spelling, texts, numbers, unread):
    found, not_read = spelling.read(texts)
    np.testing.assert_array_equal(found, np.array(numbers, dtype=float))
    assert not_read.tolist() == unread


def test_categories_are_matched_only_where_they_are_different_in_that_sense():
    def names(values, categories):
        return matched(pd.Series(values), categories)[0].tolist()

    assert names([1, 2.0, "01"], ["1", "2"]) == ["1", "2", "1"]
    assert names(["A", "a "], ["a", "b"]) == ["a", "a"]
    assert names(["A", "c"], ["a", "A"]) == ["A", "c"]
    assert names(["aA"], ["aa", "AA"]) == ["aA"]  # of two it could be neither is taken
    assert names([1], ["1.0", "1"]) == ["1"]
    assert names([1, "y"], ["yes", "no", "perhaps"]) == ["1", "y"]
    assert names([True, 0], ["yes", "no"]) == ["yes", "no"]
    assert names([-0.0, 1.0, "-0"], ["False", "True"]) == ["False", "True", "False"]
    assert matched(pd.Series(["c", None, "a"]), ["a", "b"])[1].tolist() == [True, False, False]


def test_dates_keep_the_order_of_day_and_month(tmp_path):
    dates = pd.to_datetime("2020-01-05") + pd.to_timedelta(np.arange(N_ROWS) * 6, unit="D")
    rows = [(f"{date:%d/%m/%Y}", place % 7) for place, date in enumerate(dates)]
    table = read_table(written(tmp_path / "all.csv", [("day", "other"), *rows], ","))
    result = explain_table(table, k=2, columns=["day", "other"])
    # By itself it would be the third of April, or a text.
    path = written(tmp_path / "new.csv", [("day", "other"), ("04/03/2020", 3), ("-", 3), ("soon", 3)], ",")
    new = read_table(path, reading=result.network.reading)
    expected = as_years(pd.Series(pd.to_datetime(["2020-03-04"])))[0]
    np.testing.assert_allclose(new.frame["day"], [expected, np.nan, np.nan], rtol=0, atol=1e-12)
    # The first table had no gaps, so this one is told as well.
    assert "In 2 of 3 rows column 'day' holds no date as the model's table had them ('soon')" in new.notes[0]
    # Dates are dates, and years are years.
    same = pd.DataFrame({"day": dates, "other": [place % 7 for place in range(N_ROWS)]})
    years = same.assign(day=as_years(same["day"]))
    assert np.array_equal(result.network.evidence(same), result.explanation.evidence)
    assert np.array_equal(result.network.evidence(years), result.explanation.evidence)


def test_arrays_and_older_files_are_taken_as_they_are():
    frame = pd.DataFrame({"a": columns_of("numbers"), "b": np.arange(N_ROWS) % 7})
    network = explain_table(Table(frame), k=2).network
    assert network.reading is not None
    assert np.array_equal(network.predict(frame.to_numpy()), network.predict(frame))


def reading_of(**spellings):
    numbers = np.random.default_rng(0).normal(size=(20, len(spellings)))
    frame = pd.DataFrame(numbers, columns=list(spellings))
    return Reading.of(plan_table(frame), spellings)


@pytest.mark.parametrize(
    ("kept", "age", "price", "expected", "told"),
    [
        (False, ["30,5", "41"], ["$1.250", "$900"], [1250, 900], ["commas", "points"]),
        (True, ["30.5", "41"], ["1,250", "900"], [1250, 900], ["points", "commas"]),
        # Nothing shows it, or the column's own mark is shown elsewhere: as in the first table.
        (False, ["30", "41"], ["$1.250", "$900"], [1.25, 900], None),
        (False, ["30.5", "41"], ["$1.250", "$900"], [1.25, 900], None),
    ],
)
def test_a_sign_has_one_meaning_in_all_new_columns(kept, age, price, expected, told):
    reading = reading_of(age=Spelling(comma=kept), price=Spelling(comma=kept, currency="$"))
    frame, notes = reading.apply(pd.DataFrame({"price": price, "age": age}))
    np.testing.assert_array_equal(frame["price"], expected)
    note = (
        f"Decimal {told[0]} were read in 'age', 'price', where the model's table has {told[1]}."
        if told
        else ""
    )
    assert notes == ([note] if told else [])


def test_columns_that_show_both_marks_keep_each_its_own():
    reading = reading_of(**dict.fromkeys(("age", "price", "tax"), Spelling(comma=False)))
    given = pd.DataFrame({"age": ["30,5"], "price": ["1.250"], "tax": ["0.5"]})
    frame, notes = reading.apply(given)
    assert frame.iloc[0].tolist() == [30.5, 1.25, 0.5] and notes == []


@pytest.mark.parametrize("gap", ["", None, np.nan, "n/a"])
def test_gaps_are_told_where_the_first_table_had_none(gap):
    reading = reading_of(age=Spelling())
    frame, notes = reading.apply(pd.DataFrame({"age": [gap, 3]}))
    assert np.isnan(frame["age"].iloc[0]) and frame["age"].iloc[1] == 3
    assert notes == [
        "In 1 of 2 rows column 'age' holds no number as the model's table had them (a gap): "
        "it counts as missing."
    ]


def test_a_column_without_any_number_is_told_whatever_the_first_table_had():
    plan = plan_table(pd.DataFrame({"age": [1.0, np.nan, 2.0, 3.0, 4.0, 5.0], "other": np.arange(6.0)}))
    reading = Reading.of(plan, {})
    given = pd.DataFrame({"age": [np.nan, np.nan], "other": [1.0, 2.0]})
    assert "In 2 of 2 rows column 'age'" in reading.apply(given)[1][0]
    # A row by itself may well lack it.
    assert reading.apply(given.iloc[:1])[1] == []


def test_dates_are_no_numbers():
    frame, notes = reading_of(age=Spelling()).apply(pd.DataFrame({"age": pd.to_datetime(["2020-01-01"] * 2)}))
    assert frame["age"].isna().all()
    assert "In 2 of 2 rows column 'age' holds no number" in notes[0] and "'2020-01-01" in notes[0]


def test_what_a_file_lacks_is_told_once(tmp_path):
    rows = [(place % 7 + 0.5, place % 5) for place in range(N_ROWS)]
    first = read_table(written(tmp_path / "all.csv", [("age", "other"), *rows], ","))
    network = explain_table(first, k=2).network
    path = written(tmp_path / "new.csv", [("age", "other"), ("soon", 3), ("", 4)], ",")
    result = explain_new_rows(read_table(path, reading=network.reading), network)
    assert [note for note in result.notes if "'age'" in note] == [
        "In 2 of 2 rows column 'age' holds no number as the model's table had them ('soon'): "
        "it counts as missing."
    ]


def test_a_reading_leaves_other_columns_alone():
    reading = Reading.of(plan_table(pd.DataFrame({"a": [1.0, 2.0, 4.0]})), {"a": Spelling(comma=True)})
    frame, notes = reading.apply(pd.DataFrame({"b": ["1,5"], "a": ["1,5"]}))
    assert frame.iloc[0].tolist() == ["1,5", 1.5]
    assert notes == []


# --- the command line ---------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("explain", EXAMPLES / "customers.csv", "-k", 3, "--id-column", "customer", "--quiet") == 0
    return tmp_path / "result"


def test_new_rows_are_assigned_and_explained_by_the_model(model, tmp_path, capsys):
    some = pd.read_csv(EXAMPLES / "customers.csv").iloc[[200, 3, 77]]
    some.to_csv("new.csv", index=False)
    assert (
        run("explain", "new.csv", "--model", model / "model.npz", "--id-column", "customer", "--out", "new")
        == 0
    )
    shown = capsys.readouterr()
    assert "3 new rows, assigned by the model in" in shown.out
    old = pd.read_csv(model / "clusters.csv").set_index("customer")
    new = pd.read_csv("new/clusters.csv").set_index("customer")
    assert new.index.tolist() == some["customer"].tolist()
    pd.testing.assert_frame_equal(new, old.loc[new.index], check_exact=False, rtol=1e-12)
    # All files are there, and they go together.
    explanation = wc.load("new/relevance.parquet")
    assert (
        np.abs(explanation.values.sum(axis=1) + explanation.base_values - explanation.explained).max() < 1e-4
    )
    summary = json.loads(Path("new/summary.json").read_text())
    assert summary["computed"]["k_chosen_by"] == "the model"
    assert {cluster["name"] for cluster in summary["clusters"]} <= set(old["cluster_name"])
    assert "model.npz" in Path("new/report.html").read_text()
    # The model that is written is the same one.
    assert wc.load("new/model.npz").predict(some.iloc[:, 1:]).tolist() == new["cluster"].tolist()


def test_the_folder_of_results_is_a_model_and_one_row_is_enough(model, capsys):
    pd.read_csv(EXAMPLES / "customers.csv").iloc[[9]].to_csv("one.csv", index=False)
    assert run("explain", "one.csv", "--model", model, "--out", "one", "--names", "0=mine,1=mine too") == 0
    shown = capsys.readouterr()
    assert "1 new row, assigned by the model in" in shown.out
    assert "left out" not in shown.err
    # The column that named the rows of the first run names these, too.
    named = pd.read_csv("one/clusters.csv")["customer"]
    assert named.tolist() == pd.read_csv(EXAMPLES / "customers.csv")["customer"].iloc[[9]].tolist()
    pd.read_csv("one.csv").drop(columns="customer").to_csv("nameless.csv", index=False)
    assert run("explain", "nameless.csv", "--model", model, "--out", "nameless", "--quiet") == 0
    assert pd.read_csv("nameless/clusters.csv")["row"].tolist() == [1]


def test_what_the_model_does_not_know_is_told_once(model, capsys):
    some = pd.read_csv(EXAMPLES / "customers.csv", dtype=str).iloc[:4]
    some.assign(region=["nowhere", *some["region"][1:]], income=[*some["income"][:3], "old"]).to_csv(
        "new.csv", index=False
    )
    assert run("explain", "new.csv", "--model", model, "--out", "new") == 0
    told = capsys.readouterr().err
    assert told.count("column 'region' holds") == told.count("column 'income' holds") == 1
    assert "('nowhere')" in told
    assert "('old')" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "3"], "--model assigns rows by a model that there is, so -k has nothing to do"),
        (["--scale", "rank"], "so --scale has nothing to do"),
        (["--labels", "region"], "so --labels has nothing to do"),
        (["--audit"], "so --audit has nothing to do"),
        (["--id-column", "costumer"], "did you mean 'customer'?"),
    ],
)
def test_what_does_not_go_with_a_model_is_refused(model, capsys, arguments, message):
    assert run("explain", EXAMPLES / "customers.csv", "--model", model / "model.npz", *arguments) == 2
    assert message in capsys.readouterr().err


def test_models_and_tables_that_are_none_are_told(model, capsys):
    table = EXAMPLES / "customers.csv"
    assert run("explain", table, "--model", "nowhere.npz") == 2
    assert "'nowhere.npz' does not exist: expected a model.npz" in capsys.readouterr().err
    assert run("explain", table, "--model", model / "relevance.parquet") == 2
    assert "holds a Explanation, expected a model" in capsys.readouterr().err
    assert run("explain", EXAMPLES / "bookings.csv", "--model", model) == 2
    assert "the table has none of the columns that the model knows" in capsys.readouterr().err
    pd.read_csv(table).drop(columns="income").to_csv("less.csv", index=False)
    assert run("explain", "less.csv", "--model", model) == 2
    assert "lacks the column 'income'" in capsys.readouterr().err


def test_new_rows_of_a_surrogate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = read_table(EXAMPLES / "customers.csv", as_written=["region"])
    first = explain_table(table, labels="region", drop=["customer"])
    new = explain_new_rows(table, first.network, id_column="customer")
    assert new.explanation.given is None
    labelled = table.frame["region"].notna().to_numpy()
    assert (new.explanation.clusters[labelled] == first.explanation.assigned).all()
