"""Words and rows of tables that mean the same, or nothing: blanks, letters, answers, copies, identifiers."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

import whyclust as wc
from whyclust.command.cli import main
from whyclust.command.run import explain_table
from whyclust.moments.clusters import ClusterMoments, TypicalRows
from whyclust.moments.rows import LeastRows, row_keys
from whyclust.tables import Table, plan_table, read_table
from whyclust.tables.repeats import copies
from whyclust.tables.spelling import spellings_of
from whyclust.tables.wording import with_one_spelling, without_blanks
from whyclust.tables.written import read_numbers

ROWS = 60


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(one) for one in arguments])
    return stopped.value.code


def table_of(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return read_table(path)


def turns(*words):
    return [words[row % len(words)] for row in range(ROWS)]


def test_blanks_around_words_do_not_count(tmp_path):
    table = table_of(tmp_path / "t.csv", feedback=turns("Negative ", "Positive", " Negative"), a=range(ROWS))
    assert set(table.frame["feedback"]) == {"Negative", "Positive"}
    assert table.notes == []
    frame = without_blanks(pd.DataFrame({"a": ["x ", "  ", None, 3], "b": [1, 2, 3, 4]}))
    assert frame["a"].tolist()[0::3] == ["x", 3]
    assert frame["a"].isna().tolist() == [False, True, True, False]


def test_labels_have_no_blanks_either(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    far = [5.0 * (row % 2) + row / 100 for row in range(ROWS)]
    pd.DataFrame({"a": far, "kind": turns("Negative ", "Positive")}).to_csv("t.csv", index=False)
    assert run("explain", "t.csv", "--labels", "kind", "--quiet") == 0
    clusters = json.loads(Path("result/summary.json").read_text())["clusters"]
    assert [one["cluster"] for one in clusters] == ["Negative", "Positive"]


def test_small_and_capital_letters_make_no_categories(tmp_path):
    table = table_of(
        tmp_path / "t.csv",
        country=turns("UK", "uk", "UK", "France"),
        name=[f"{'a' if row % 2 else 'A'}{row // 2}" for row in range(ROWS)],
    )
    assert table.frame["country"].value_counts().to_dict() == {"UK": 45, "France": 15}
    assert table.notes == [
        "In column 'country' small and capital letters make no difference: 'uk' (15) counts as 'UK'."
    ]
    # Letters may tell rows apart, and what names or labels rows stays as it is written.
    assert table.frame["name"].nunique() == ROWS
    written = read_table(tmp_path / "t.csv", as_written=["country"])
    assert set(written.frame["country"]) == {"UK", "uk", "France"}
    assert written.notes == []


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["Yes", "yes", "Y", "No", "N", "no "], {"Yes", "No"}),
        (["yes", "no", "1", "0"], {"yes", "no"}),
        (["true", "f", "T", "false"], {"true", "false"}),
        (["ja", "Ja", "nein", "J"], {"ja", "nein"}),
        # These are no answers, or not of one kind.
        (["y", "n", "perhaps"], {"y", "n", "perhaps"}),
        (["T", "N", "F"], {"T", "N", "F"}),
        (["yes", "no"], {"yes", "no"}),
    ],
)
def test_answers_are_two_however_they_are_written(tmp_path, words, left):
    table = table_of(tmp_path / "t.csv", answer=turns(*words), a=range(ROWS))
    assert set(table.frame["answer"]) == left
    told = [note for note in table.notes if "several spellings of yes and no are the same" in note]
    assert len(told) == (len(left) == 2 < len(words))


def test_words_of_any_type_are_read():
    frame = pd.DataFrame({"a": [True, "yes", "no", None], "b": [[1], [2], [3], [4]]})
    found, notes = with_one_spelling(frame)
    assert found["a"].tolist()[:3] == ["True", "True", "no"] or found["a"].tolist()[:3] == [
        "yes",
        "yes",
        "no",
    ]
    assert len(notes) == 1
    strings = pd.DataFrame({"a": pd.Series(["x", "X", None, "x"], dtype="string")})
    assert with_one_spelling(strings)[0]["a"].dtype == strings["a"].dtype


def test_rows_of_nothing_are_left_out_and_the_others_keep_their_numbers(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{row % 7 + 0.5},{row % 5},{'x' if row % 2 else 'y'}" for row in range(30)]
    path.write_text("\n".join(["a,b,c", *rows[:10], ",,", *rows[10:20], " , ,", *rows[20:], ",,"]) + "\n")
    table = read_table(path)
    assert table.notes == ["3 rows that hold nothing were left out."]
    assert len(table.frame) == 30
    result = explain_table(table, k=2)
    assert result.clusters["row"].tolist() == [*range(1, 11), *range(12, 22), *range(23, 33)]
    assert not any("Missing" in note for note in result.notes)
    # Messages count rows as the file does.
    path.write_text(
        "\n".join(["a,b", "1,2", ",", *[f"{row},{row % 3}" for row in range(20)], "inf,1"]) + "\n"
    )
    with pytest.raises(ValueError, match="infinite number in row 23 "):
        plan_table(read_table(path).frame)
    path.write_text("\n".join(["a,b", "1,2", ",", *[f"{row % 9},{row % 3}" for row in range(90)], "1e6,1"]))
    assert "'a' is 1,000,000 in row 93" in plan_table(read_table(path).frame).notes[-1]


def test_a_total_below_an_empty_row(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{row + 100},{row % 5}" for row in range(30)]
    path.write_text("\n".join(["shop,b", *rows, ",", "Total,60", ","]) + "\n")
    table = read_table(path)
    assert len(table.frame) == 30
    assert [note.split()[-3:] for note in table.notes] == [["were", "left", "out."], ["was", "left", "out."]]


def test_remarks_below_a_table(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"shop {row},{row % 5},{row % 7}" for row in range(30)]
    below = ["Grand total,60,90", ",,", "Exported on 2024-01-01,,", "All numbers in EUR,,"]
    path.write_text("\n".join(["shop,b,c", *rows, *below]) + "\n")
    table = read_table(path)
    assert len(table.frame) == 30
    assert list(table.notes)[-2:] == [
        "2 lines below the table were left out ('Exported on 2024-01-01').",
        "The last row is called 'Grand total': it was left out.",
    ]
    # Names of rows that have nothing else are none: short, as others have them, or others are like them.
    for last in ("shop y,,", "shop 3 of ten,,", "31,,"):
        path.write_text("\n".join(["shop,b,c", *rows, "shop 3 of ten,1,2", last]) + "\n")
        assert len(read_table(path).frame) == 32
    path.write_text("\n".join(["shop,b,c", "all that is new,,", *rows, "all that is old,,"]) + "\n")
    assert len(read_table(path).frame) == 32
    # Nor where there is one other column, more than five lines, or few rows above.
    path.write_text("\n".join(["shop,b", *[row[:-2] for row in rows], "all that is old,"]) + "\n")
    assert len(read_table(path).frame) == 31
    path.write_text(
        "\n".join(["shop,b,c", *rows * 3, *[f"remark number {one},," for one in range(6)]]) + "\n"
    )
    assert len(read_table(path).frame) == 96
    path.write_text("\n".join(["shop,b,c", *rows[:8], "all that is old,,"]) + "\n")
    assert len(read_table(path).frame) == 9


def test_copies_are_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 60)).round(3)).add_prefix("x").assign(kind=["a", "b"] * 20)
    assert not any("cop" in note for note in explain_table(Table(frame), k=2).notes)
    twice = pd.concat([frame, frame.iloc[[3, 3, 5]]], ignore_index=True)
    assert copies(twice).nonzero()[0].tolist() == [40, 41, 42]
    told = [note for note in explain_table(Table(twice), k=2).notes if "cop" in note]
    assert told == ["3 of 43 rows are copies of others: each counts as a row of its own."]
    once = [note for note in explain_table(Table(twice.iloc[:41]), k=2).notes if "cop" in note]
    assert once == ["1 of 41 rows is a copy of another: each counts as a row of its own."]
    named = twice.assign(customer_id=np.arange(len(twice)) * 7 + 1000)
    told = [note for note in explain_table(Table(named), k=2).notes if "cop" in note]
    assert told == [
        "3 of 43 rows are copies of others (but for what identifies them): each counts as a row of its own."
    ]
    assert copies(pd.DataFrame({"a": [[1], [1], [2]]})).tolist() == [False, True, False]
    # Rows that differ only in the last of many columns are no copies.
    assert not copies(pd.concat([frame.iloc[:5], frame.iloc[:5].assign(kind="c")])).any()


@pytest.mark.parametrize("kind", ["array", "frame", "words"])
def test_rows_that_are_named_are_no_copies_of_each_other(kind):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(0, 1, (12, 3)), rng.normal(6, 1, (12, 3))]).round(2)
    X = np.repeat(X, 4, axis=0)
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    given = X if kind == "array" else pd.DataFrame(X, columns=["a", "b", "c"])
    if kind == "words":
        frame = given.assign(d=np.where(X[:, 0] > 3, "x", "y"))
        ex = explain_table(Table(frame), k=2).explanation
    else:
        ex = wc.explain(model, given if kind == "array" else X)
    for one in ex.summary():
        named = [*one.typical, *one.borderline]
        assert len(one.typical) == len(one.borderline) == 3
        for group in (one.typical, one.borderline, [one.typical[0], one.borderline[0]]):
            assert len(np.unique(X[group], axis=0)) == len(group)
        # Of equal rows the first one is named.
        assert all(row % 4 == 0 for row in named)


def test_a_cluster_of_copies_has_one_typical_row():
    X = np.array([[0.0, 0.0]] * 5 + [[4.0, 4.0]] * 5)
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    assert sorted((one.typical, one.borderline) for one in ex.summary()) == [([0], [0]), ([5], [5])]


def test_least_rows_of_parts_are_those_of_the_whole():
    rng = np.random.default_rng(2)
    values, data = rng.normal(size=50).round(1), rng.integers(0, 3, (50, 2)).astype(float)
    values = np.array([values[(data == row).all(axis=1).argmax()] for row in data])
    places = np.arange(50)
    whole = LeastRows.of(values, places, 4, lambda some: row_keys(data, some))
    parts = [
        LeastRows.of(values[a:b], places[a:b], 4, lambda some, a=a: row_keys(data, some + a))
        for a, b in [(0, 17), (17, 30), (30, 50)]
    ]
    assert (parts[0] + parts[1] + parts[2]).rows.tolist() == whole.rows.tolist()


def test_without_the_rows_those_of_the_same_relevance_are_copies():
    X = np.repeat(np.random.default_rng(3).normal(size=(20, 3)).round(2), 3, axis=0)
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    # By block, typical rows are found among files that hold relevance alone.
    typical = TypicalRows.of(ex.without_data(), ClusterMoments.of(ex))
    for one in typical.rows.values():
        assert len(np.unique(X[one.rows], axis=0)) == len(one.rows) == 3


IDENTIFYING = {
    "Customer No": 50000 + 13 * np.arange(ROWS) + np.arange(ROWS) % 5,
    "Kunden-Nr": 10000 + 7 * np.arange(ROWS),
    "Kundennummer": 10000 + 7 * np.arange(ROWS),
    "order_number": 10000 + 7 * np.arange(ROWS),
    "productCode": 10000 + 7 * np.arange(ROWS),
    "customer key": 10000 + 7 * np.arange(ROWS),
}


@pytest.mark.parametrize("name", IDENTIFYING)
@pytest.mark.parametrize("flaw", ["none", "copies", "gaps"])
def test_customer_numbers_are_no_quantities(name, flaw):
    numbers = IDENTIFYING[name].astype(float)
    if flaw == "copies":
        numbers[10:13] = numbers[:3]
    if flaw == "gaps":
        numbers[5:8] = np.nan
    frame = pd.DataFrame({name: numbers, "a": np.arange(ROWS) % 7})
    plan = plan_table(frame)
    told = "identifies the rows" if flaw == "none" else "identifies nearly all rows"
    assert plan.dropped == {name: told}
    assert plan.identifiers == [name]
    assert plan_table(frame, columns=[name, "a"]).numeric == [name, "a"]
    assert f"--id-column '{name}'" in " ".join(explain_table(Table(frame), k=2).notes)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("price index", 80 + np.arange(ROWS) % 30),
        ("price index", 80 + np.arange(ROWS) / 7),
        ("number of visits", 10 + 7 * np.arange(ROWS)),
        ("room no", 100 + np.arange(ROWS) % 20),
        ("amount", 10 + 7 * np.arange(ROWS)),
    ],
)
def test_other_numbers_are_quantities(name, numbers):
    frame = pd.DataFrame({name: numbers, "a": np.arange(ROWS) % 7})
    assert plan_table(frame).numeric == [name, "a"]


def test_times_and_durations_have_their_own_reason():
    times = [f"{row % 4}:{row % 60:02d}:{row % 50:02d}" for row in range(ROWS)]
    frame = pd.DataFrame({"lasted": times, "a": np.arange(ROWS) % 7})
    assert "holds times or durations, which are not clustered" in plan_table(frame).dropped["lasted"]
    # A few times are categories.
    few = frame.assign(lasted=turns("06:00", "14:00", "22:00"))
    assert plan_table(few).categorical == ["lasted"]


def test_sentences_are_no_categories_even_where_they_are_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = [f"a sentence about {row} and {row + 1}" for row in range(150)]
    pd.DataFrame({"t": texts, "a": np.arange(150) % 7}).to_csv("t.csv", index=False)
    assert run("explain", "t.csv", "--columns", "t") == 2
    assert "Texts are explained from Python" in capsys.readouterr().err
    some = pd.DataFrame({"t": texts[:100], "a": np.arange(100) % 7})
    assert plan_table(some, columns=["t"]).categorical == ["t"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        more = pd.DataFrame({"t": texts, "a": np.arange(150) % 7})
        plan = plan_table(more, columns=["t", "a"])
    assert plan.dropped == {"t": "is text with 150 different values, few of which repeat"}


@pytest.mark.parametrize("words", [["AA", "Aa", "aa"], ["A", "a", "B", "b"]])
def test_letters_that_are_all_that_differs_stay(words):
    frame, notes = with_one_spelling(pd.DataFrame({"gene": words * 10}))
    assert frame["gene"].tolist() == words * 10
    assert not notes


@pytest.mark.parametrize(("repeats", "left"), [(3, 3), (4, 2), (5, 2)])
def test_texts_repeat_four_times_before_letters_make_no_difference(repeats, left):
    frame, notes = with_one_spelling(pd.DataFrame({"town": ["Rome", "rome", "Oslo"] * repeats}))
    assert frame["town"].nunique() == left
    assert len(notes) == (left == 2)


def test_new_rows_are_read_in_the_units_of_the_fit_and_no_others():
    columns = {0: [f"1.{row + 50} m" for row in range(40)], 1: [f"{row + 50} kg" for row in range(40)]}
    fitted = pd.DataFrame(columns)
    numbers, _ = read_numbers(fitted, ["h", "w"])
    height, weight = spellings_of(fitted, numbers).values()
    values, unread = height.read_part(["1.75 M", "1.8 m", "180 cm", "5 T"])
    assert unread.tolist() == [True, False, False, True]
    assert values[1:3] == pytest.approx([1.8, 1.8])
    values, unread = weight.read_part(["$70", "150 pounds", "70", "5 lb"])
    assert unread.tolist() == [True, True, False, False]
    assert values[2:] == pytest.approx([70.0, 2.26796185])


@pytest.mark.parametrize(
    "words",
    [
        ["$5", "5 NZD", "6 NZD"],
        ["5 pounds", "6 kg", "7 kg"],
        ["1", "1-", "2", "2-", "3", "3-"],
        ["1-", "2-", "3", "2", "5"],
    ],
)
def test_two_kinds_of_amounts_and_grades_are_no_numbers(words):
    assert read_numbers(pd.DataFrame({0: words * 3}), ["c"])[0] == {}


def test_a_minus_behind_numbers_of_many_values_is_one():
    words = [f"{row}" for row in range(10, 30)] + ["50-", "12-"]
    (found,) = read_numbers(pd.DataFrame({0: words}), ["c"])[0].values()
    assert found.tolist()[-2:] == [-50.0, -12.0]
