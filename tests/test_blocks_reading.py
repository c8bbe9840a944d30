"""What by block is read of a table: the same as in memory, feature by feature."""

import errno
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whyclust as wc
from block_tables import parquet, small_blocks
from whyclust.blocks import explain_frame, facts, reading
from whyclust.blocks.engines import ThisProcess
from whyclust.blocks.source import find_source
from whyclust.command import by_block_planning
from whyclust.command.by_block import explain_by_block
from whyclust.command.by_block_planning import plan_blocks
from whyclust.command.new_rows import explain_new_rows
from whyclust.command.options import Options
from whyclust.command.run import explain_table
from whyclust.moments.distinct import MOST_FOLLOWED, Distinct
from whyclust.tables import Table, read_table
from whyclust.tables.spelling import Spelling

SINGLE = 1e-6


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    """The report is looked at elsewhere: it takes seconds."""
    import whyclust.report

    small_blocks(monkeypatch, block=250, batch=200)
    monkeypatch.setattr(
        whyclust.report, "to_html", lambda explanation, path, **options: path.write_text("page")
    )


class NoJob:
    """Stages that are computed and not kept."""

    def run(self, stage, function, blocks, state, engine):
        return engine.map(function, blocks, state)


def rows(n_rows=120):
    """Two clusters far apart, so that k-means finds the same ones from any start."""
    generator = np.random.default_rng(3)
    group = np.arange(n_rows) % 2
    return pd.DataFrame(
        {
            "a": 8.0 * group + generator.normal(size=n_rows),
            "b": -6.0 * group + generator.normal(size=n_rows),
            "size": (170 + 10 * group + generator.normal(0, 3, n_rows)).round(1),
        }
    )


def with_units(frame):
    size = frame.pop("size")
    frame["height"] = [f"{one} cm" for one in size]
    frame["price"] = [f"${1000 * one:,.0f}" for one in frame["a"].abs() + 1]
    frame["share"] = [f"{one:.1f} %" for one in size / 4]
    frame.loc[[5, 17, 100], "price"] = ["-", "-", "soon"]
    return frame


def with_repeated_ids(frame):
    frame["user_id"] = np.arange(len(frame)) // 3 + 1000
    frame["order_id"] = np.random.default_rng(0).permutation(len(frame)) + 5000
    return frame


def with_total(frame):
    frame["shop"] = [f"shop {number % 4}" for number in range(len(frame))]
    last = {"a": frame["a"].sum(), "b": frame["b"].sum(), "size": frame["size"].sum(), "shop": "Total"}
    return pd.concat([frame, pd.DataFrame([last])], ignore_index=True)


def with_gap_numbers(frame):
    frame.loc[[3, 4, 100], "size"] = -999.0
    return with_units(frame)


FEATURES = {
    "units": with_units,
    "repeated ids": with_repeated_ids,
    "a total": with_total,
    "numbers for gaps": with_gap_numbers,
}


@pytest.mark.parametrize(("feature", "kind"), [*((one, "parquet") for one in FEATURES), ("units", "csv")])
def test_the_table_is_read_as_in_memory(tmp_path, feature, kind):
    frame = FEATURES[feature](rows())
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=30)
    whole = explain_table(read_table(path), k=2)
    found = explain_by_block([path], tmp_path / "out", ThisProcess(), Options(k=2))
    computed = json.loads((tmp_path / "out" / "summary.json").read_text())["computed"]
    for key in ("columns", "dropped", "missing", "n_rows"):
        assert computed[key] == whole.computed[key], key
    # By block it is not told which row holds the number that is farthest outside.
    assert [note for note in whole.notes if note not in found.notes and "Farthest" not in note] == []
    parts = [wc.load(one) for one in sorted((tmp_path / "out" / "relevance").iterdir())]
    together = wc.Explanation.concat(parts)
    assert together.feature_names == whole.explanation.feature_names
    assert np.abs(together.values - whole.explanation.values).max() < SINGLE
    model = wc.load(tmp_path / "out" / "model.npz")
    assert {one.name: one.spelling.measure for one in model.reading.columns} == {
        one.name: one.spelling.measure for one in whole.network.reading.columns
    }


def test_folders_in_the_way_of_hive(tmp_path):
    frame = rows()
    frame["region"] = np.where(frame["a"] > 4, "north", "south")
    for region, part in frame.groupby("region"):
        parquet(part.drop(columns="region"), tmp_path / "in" / f"region={region}", n_files=2, group_rows=20)
    with pytest.raises(ValueError, match=r"keeps columns in the names of its folders.*add --engine process"):
        read_table(tmp_path / "in")
    ordered = frame.sort_values("region", kind="stable", ignore_index=True)
    whole = explain_table(Table(ordered), k=2)
    explain_by_block([tmp_path / "in"], tmp_path / "out", ThisProcess(), Options(k=2))
    parts = [wc.load(one) for one in sorted((tmp_path / "out" / "relevance").iterdir())]
    together = wc.Explanation.concat(parts)
    assert together.feature_names == whole.explanation.feature_names
    assert "region" in together.feature_names
    assert np.abs(together.values - whole.explanation.values).max() < SINGLE


def planned(tmp_path, frame, options=None, n_files=1):
    source = find_source([parquet(frame, tmp_path / "in", n_files=n_files, group_rows=20)])
    return plan_blocks(NoJob(), source, options or Options(), ThisProcess())


def test_ids_that_repeat_are_told(tmp_path):
    frame = rows()
    frame["who"] = [f"u{number // 2}" for number in range(len(frame))]
    told = "Column 'who' does not tell all rows apart: 60 ids repeat."
    assert told in planned(tmp_path, frame, Options(id_column="who")).notes
    assert told in explain_table(Table(frame), k=2, id_column="who").notes


def test_of_many_ids_some_are_followed():
    """Each is counted from the first block to the last, whatever the blocks are."""
    values = np.arange(30_000) % 10_000
    whole = Distinct.of(values)
    parts = sum((Distinct.of(part.astype(float)) for part in np.array_split(values, 7)), Distinct.of([]))
    assert len(whole.keys) == MOST_FOLLOWED
    assert (whole.keys == parts.keys).all()
    assert (parts.counts == 3).all()
    assert parts.n_repeated == 20_000
    assert not Distinct.of(values[:10_000]).repeats
    assert Distinct.of(["5", "6"]).exact


def test_text_that_is_different_in_every_row_is_an_identifier(tmp_path, monkeypatch):
    monkeypatch.setattr(facts, "MOST_TEXTS", 20)
    frame = rows()
    frame["key"] = [f"k{number * 7}" for number in range(len(frame))]
    frame["words"] = [f"w{number // 2}" for number in range(len(frame))]
    dropped = planned(tmp_path, frame).plan.dropped
    assert dropped == {"key": "is different in every row (an identifier)", "words": facts.VARIED}


def test_many_plain_numbers_in_text_are_numbers(tmp_path, monkeypatch):
    """Of more texts than are counted, too."""
    monkeypatch.setattr(facts, "MOST_TEXTS", 20)
    frame = rows()
    frame["size"] = [str(one) for one in frame["size"]]
    frame.loc[7, "size"] = "tall"
    found = planned(tmp_path, frame)
    assert found.plan.numeric == ["a", "b", "size"]
    assert "Column 'size' holds numbers but for 'tall' (1); these count as missing." in found.notes
    assert found.plan.missing == {"size": 1}


def few_drawn(monkeypatch, n_rows=40):
    monkeypatch.setattr(by_block_planning, "SAMPLE_ROWS", n_rows)


def undrawn(source, share):
    return int(np.flatnonzero(~facts.drawn(np.arange(source), share))[0])


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("6.1 kg", "in several units ('cm' and 'kg'), which cannot be compared: it is not read as numbers."),
        ("6.1 hands", "that are not written alike ('6.1 hands' beside others): it is not read as numbers."),
    ],
)
def test_a_unit_that_no_drawn_row_has_is_found(tmp_path, monkeypatch, entry, told):
    few_drawn(monkeypatch)
    frame = with_units(rows())
    frame.loc[undrawn(len(frame), 40 / len(frame)), "height"] = entry
    found = planned(tmp_path, frame)
    assert "height" not in found.plan.numeric
    assert "price" in found.plan.numeric
    (note,) = [note for note in found.notes if "'height'" in note]
    assert note.startswith(f"Column 'height' holds numbers {told}")


def test_a_unit_of_the_same_kind_that_no_drawn_row_has_is_converted(tmp_path, monkeypatch):
    few_drawn(monkeypatch)
    frame = with_units(rows())
    row = undrawn(len(frame), 40 / len(frame))
    frame.loc[row, "height"] = "6.1 ft"
    found = planned(tmp_path, frame)
    assert "height" in found.plan.numeric
    # The note is that of the whole table in memory.
    told = "Column 'height' holds numbers in several units ('cm' and 'ft'): they were converted to one."
    assert told in found.notes
    assert told in explain_table(read_table(tmp_path / "in" / "0.parquet"), k=2).notes
    heights = pd.concat(part for block in found.source.blocks for _, part in block.frames(["height"]))
    assert heights["height"].iloc[row] == pytest.approx(6.1 * 30.48, rel=1e-12)
    others = np.arange(len(frame)) != row
    expected = frame["height"][others].str.removesuffix(" cm").astype(float)
    assert (heights["height"].to_numpy()[others] == expected.to_numpy()).all()


def test_a_currency_that_no_drawn_row_has_is_told(tmp_path, monkeypatch):
    few_drawn(monkeypatch)
    frame = with_units(rows())
    frame.loc[undrawn(len(frame), 40 / len(frame)), "price"] = "US$1,500"
    found = planned(tmp_path, frame)
    assert "price" in found.plan.numeric
    assert "In column 'price' '$' and 'US$' were read as the same currency." in found.notes


def test_points_against_commas_are_told(tmp_path, monkeypatch):
    """Beside feet, too: these alone would be converted."""
    few_drawn(monkeypatch)
    frame = with_units(rows())
    frame["height"] = [f"{number} cm" for number in frame["height"].str.split(".").str[0]]
    away = np.flatnonzero(~facts.drawn(np.arange(len(frame)), 40 / len(frame)))
    frame.loc[away[:2], "height"] = ["6.1 ft", "175,5 cm"]
    found = planned(tmp_path, frame)
    told = "Column 'height' holds decimal points ('6.1 ft') and decimal commas ('175,5 cm'): it is not read"
    for notes in (found.notes, explain_table(read_table(tmp_path / "in" / "0.parquet"), k=2).notes):
        (note,) = [note for note in notes if "'height' holds" in note]
        assert note.startswith(told)


def test_a_decimal_comma_that_no_drawn_row_has_is_found(tmp_path, monkeypatch):
    """'1,200 kg' alone is above a thousand; beside '1,25 kg' in another block it is not."""
    few_drawn(monkeypatch)
    frame = rows()
    frame["weight"] = [f"1,{number + 100} kg" for number in range(len(frame))]
    frame.loc[undrawn(len(frame), 40 / len(frame)), "weight"] = "1,25 kg"
    found = planned(tmp_path, frame)
    weights = pd.concat(part for block in found.source.blocks for _, part in block.frames(["weight"]))
    expected = [float(text.removesuffix(" kg").replace(",", ".")) for text in frame["weight"]]
    assert weights["weight"].tolist() == expected
    assert found.plan.numeric == ["a", "b", "size", "weight"]


def test_a_word_for_a_gap_that_no_drawn_row_has_is_one(tmp_path, monkeypatch):
    few_drawn(monkeypatch)
    frame = rows()
    frame["level"] = [str(number % 7) for number in range(len(frame))]
    frame.loc[undrawn(len(frame), 40 / len(frame)), "level"] = "n/a"
    found = planned(tmp_path, frame)
    assert found.plan.numeric == ["a", "b", "size", "level"]
    path = tmp_path / "in" / "0.parquet"
    assert set(found.notes) <= set(explain_table(read_table(path), k=2).notes)


def test_texts_that_are_mostly_words_elsewhere_stay_words(tmp_path, monkeypatch):
    few_drawn(monkeypatch)
    frame = rows()
    share = 40 / len(frame)
    drawn = facts.drawn(np.arange(len(frame)), share)
    frame["mixed"] = np.where(drawn, "5 kg", "heavy")
    frame.loc[np.flatnonzero(drawn)[:3], "mixed"] = "6 kg"
    found = planned(tmp_path, frame)
    assert found.plan.categorical == ["mixed"]
    assert not any("'kg'" in note or "'mixed'" in note for note in found.notes)


def test_a_word_for_totals_that_other_rows_have_is_none(tmp_path):
    frame = rows()
    frame["kind"] = ["total" if number % 3 else "part" for number in range(len(frame))]
    frame.loc[len(frame) - 1, "kind"] = "total"
    found = planned(tmp_path, frame)
    assert found.source.n_rows == len(frame)
    assert not any("last row" in note for note in found.notes)


def test_every_file_may_have_a_total(tmp_path):
    frame = pd.concat([with_total(rows(60)), with_total(rows(60))], ignore_index=True)
    found = planned(tmp_path, frame, n_files=2)
    assert found.source.n_rows == 120
    assert [block.first_row for block in found.source.blocks] == np.cumsum(
        [0, *(block.n_rows for block in found.source.blocks[:-1])]
    ).tolist()
    whole = pd.concat(part for block in found.source.blocks for _, part in block.frames())
    assert "Total" not in set(whole["shop"])
    assert whole.index.tolist() == list(range(120))
    assert found.notes.count("The last row is called 'Total': it was left out.") == 1


def test_new_rows_have_no_total(tmp_path):
    frame = with_total(rows())
    first = explain_table(Table(frame.iloc[:-1]), k=2)
    folder = parquet(frame, tmp_path / "in", n_files=1)
    found = explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(), network=first.network)
    assert "The last row is called 'Total': it was left out." in found.notes
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["computed"]["n_rows"] == 120


def test_odd_entries_are_kept_to_a_number(tmp_path, monkeypatch):
    """Numbers in other units first: they are what decides."""
    monkeypatch.setattr(reading, "MOST_ODD", 3)
    block_facts = reading.BlockFacts({}, (), pd.DataFrame())
    parts = [
        reading.ReadFacts(block_facts, {"x": {f"word {letter}": 1 for letter in "abcd"}}, {"x": 4}),
        reading.ReadFacts(block_facts, {"x": {"5 ft": 2, "word a": 1}}, {"x": 3}),
    ]
    found = reading.total_read(parts)
    assert found.odd["x"] == {"word a": 2, "word b": 1, "5 ft": 2}
    assert found.n_odd["x"] == 7


def test_commas_of_a_file_mean_the_same_in_texts(tmp_path):
    """A decimal comma in a column of numbers shows what it is in '1,250 kg'."""
    lines = ["a;weight", *(f"{number},5;1,{number + 100} kg" for number in range(40))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    source = find_source([tmp_path / "rows.csv"], staged=tmp_path / "staged")
    found = plan_blocks(NoJob(), source, Options(), ThisProcess())
    whole = read_table(tmp_path / "rows.csv")
    read = pd.concat(part for block in found.source.blocks for _, part in block.frames())
    pd.testing.assert_frame_equal(read, whole.frame, check_index_type=False)
    assert "Commas were read as decimal marks in 'a'." in found.notes


POINTS = {
    "beside decimal commas": ("456;{},5", "Commas were read as decimal marks in 'area'."),
    "of which all are above a thousand": ("1.{};{},25", "Commas were read as decimal marks in 'area'."),
    "in all numbers": (
        "456;{}",
        "Nothing in the file shows what its points mean, but that it has semicolons",
    ),
    "in groups": ("1.110.{};{},5", "Commas were read as decimal marks in 'area'."),
}


@pytest.mark.parametrize("case", POINTS)
def test_points_between_semicolons_separate_thousands(tmp_path, case):
    """As in memory, with the same note; without them, a price would be a thousandth of what it is."""
    first, told = POINTS[case]
    lines = ["price;area", *(first.format(number, number) for number in range(110, 240))]
    lines += [f"1.{number};{number},5" for number in range(110, 140)]
    text = "\n".join(lines) + "\n"
    (tmp_path / "rows.csv").write_text(text if "," in first else text.replace(",5", ""), encoding="utf-8")
    source = find_source([tmp_path / "rows.csv"], staged=tmp_path / "staged")
    found = plan_blocks(NoJob(), source, Options(), ThisProcess())
    whole = read_table(tmp_path / "rows.csv")
    read = pd.concat(part for block in found.source.blocks for _, part in block.frames())
    pd.testing.assert_frame_equal(read, whole.frame, check_index_type=False, check_dtype=False)
    assert read["price"].min() >= 456
    (note,) = [note for note in whole.notes if note.startswith("Points were read as thousands separators")]
    assert note in found.notes
    assert any(note.startswith(told) for note in found.notes)


def test_points_between_semicolons_may_be_decimal_marks(tmp_path):
    """The first lines do not show it, and a later one does."""
    lines = [
        "price;size;rate",
        *(f"1.{number};{number};{number % 3}" for number in range(110, 310)),
        "1.5;7;.5",
    ]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    source = find_source([tmp_path / "rows.csv"], staged=tmp_path / "staged")
    found = plan_blocks(NoJob(), source, Options(), ThisProcess())
    assert found.plan.numeric == ["price", "size", "rate"]
    price = found.plan.columns[0]
    assert price.scaling.center == pytest.approx(read_table(tmp_path / "rows.csv").frame["price"].mean())
    assert not any("Points" in note for note in found.notes)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "utf-8-sig"])
def test_csv_that_is_not_utf_8_is_read_as_in_memory(tmp_path, encoding):
    """In names and in values, with the same note; the letter may stand behind much that is plain."""
    odd = "\x81" if encoding == "latin-1" else "Œ"
    lines = ["größe;land", *(f"{number},5;{'rot' if number % 2 else 'blau'}" for number in range(1200))]
    text = "\n".join([*lines, f"7,5;Köln{odd}"]) + "\n"
    (tmp_path / "rows.csv").write_bytes(text.encode(encoding))
    source = find_source([tmp_path / "rows.csv"], staged=tmp_path / "staged")
    whole = read_table(tmp_path / "rows.csv")
    read = pd.concat(part for block in source.blocks for _, part in block.frames())
    pd.testing.assert_frame_equal(read, whole.frame, check_index_type=False)
    hive = tmp_path / "hive" / "year=2024"
    hive.mkdir(parents=True)
    (hive / "rows.csv").write_bytes((tmp_path / "rows.csv").read_bytes())
    assert find_source([hive.parent], staged=tmp_path / "staged-2").columns == ("größe", "land", "year")
    assert [note for note in source.notes if "file" in note] == [
        note for note in whole.notes if "The file" in note
    ]


def test_a_full_disk_is_not_blamed_on_the_table(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    real = pq.ParquetWriter.write_batch

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", full)
    with pytest.raises(
        OSError, match=r"^cannot write '.*rows-000000\.parquet' \(No space left on device\)\.$"
    ):
        find_source([tmp_path / "rows.csv"], staged=tmp_path / "staged")
    monkeypatch.setattr(pq.ParquetWriter, "write_batch", real)
    assert find_source([tmp_path / "rows.csv"], staged=tmp_path / "staged").n_rows == 2


def test_a_column_may_be_empty_in_the_first_file(tmp_path):
    """Nothing tells the type of it there."""
    (tmp_path / "in").mkdir()
    for number in range(2):
        lines = [f"{row}.25,{f'{row % 7}.5' if number else ''}" for row in range(40)]
        (tmp_path / "in" / f"{number}.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    source = find_source([tmp_path / "in"], staged=tmp_path / "staged")
    found = plan_blocks(NoJob(), source, Options(), ThisProcess())
    assert found.plan.numeric == ["a", "b"]
    assert found.plan.missing == {"b": 40}
    assert found.plan.columns[1].scaling.center == np.mean([row % 7 + 0.5 for row in range(40)])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_names_and_words_are_those_of_memory(tmp_path, kind):
    """Blanks around them count nowhere, so that a model of memory is one of blocks."""
    frame = rows()[["a", "b", "size"]].set_axis([" a ", "a\n", ""], axis=1)
    frame["colour "] = [(" red ", "red", "blue", "blue ", " ")[number % 5] for number in range(120)]
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / f"rows.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame["kind"] = frame["colour "].astype("category")
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=30)
    memory = read_table(path)
    source = find_source([path], staged=tmp_path / "staged")
    assert source.columns == tuple(memory.frame.columns)
    assert source.columns[:4] == ("a", "a (2)", "column 3", "colour")
    assert set(source.notes) <= set(memory.notes)
    assert any("'column 3'" in note for note in source.notes)
    found = pd.concat(part for block in source.blocks for _, part in block.frames())
    assert found["colour"].dropna().tolist() == memory.frame["colour"].dropna().tolist()
    whole = explain_table(memory, k=2)
    explain_by_block([path], tmp_path / "out", ThisProcess(), Options(), network=whole.network)
    parts = [wc.load(one) for one in sorted((tmp_path / "out" / "relevance").iterdir())]
    assert np.abs(wc.Explanation.concat(parts).values - whole.explanation.values).max() < SINGLE
    planned = plan_blocks(NoJob(), source, Options(), ThisProcess()).plan
    assert {one.name: one.categories for one in planned.columns} == {
        one.name: one.categories for one in whole.network.reading.columns
    }


def test_a_total_below_a_table_may_have_blanks_around_it(tmp_path):
    frame = with_total(rows())
    frame.loc[len(frame) - 1, "shop"] = " Total "
    assert planned(tmp_path, frame, n_files=1).source.n_rows == 120


def test_files_may_differ_in_whether_there_are_gaps(tmp_path):
    for number, nullable in enumerate((True, False)):
        schema = pa.schema([pa.field("a", pa.float64(), nullable=nullable), pa.field("b", pa.string())])
        pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}, schema), tmp_path / f"{number}.parquet")
    source = find_source([tmp_path])
    found = pd.concat(part for block in source.blocks for _, part in block.frames())
    assert found["a"].tolist() == [1.0, 2.0, 1.0, 2.0]


def test_what_programs_write_beside_tables_is_no_table(tmp_path):
    parquet(rows(), tmp_path / "in", n_files=2)
    for name in ("_metadata.parquet", ".hidden.parquet"):
        (tmp_path / "in" / name).write_bytes(b"no table")
    assert find_source([tmp_path / "in"]).n_rows == 120


def test_numbers_for_gaps_in_texts_are_no_odd_words():
    """A gap is told with its number, also where it is not written as most are."""
    texts = pa.array(["5 cm", "-999  cm", "soon", None])
    numbers, odd = reading._read(texts, Spelling(comma=False, unit="cm", gaps=(-999.0,)))
    np.testing.assert_array_equal(numbers, [5, np.nan, np.nan, np.nan])
    assert odd == {"soon": 1}


@pytest.mark.parametrize(
    "spelling",
    [
        Spelling(comma=False, currency="$"),
        Spelling(comma=True, currency="€"),
        Spelling(comma=False, unit="cm"),
        Spelling(comma=None, unit="%"),
        Spelling(comma=True, unit="of 100"),
        Spelling(comma=False),
        Spelling(comma=False, currency="$", counts=True),
        Spelling(comma=False, magnitude="m"),
        Spelling(comma=False, unit="%", fractions=True),
    ],
    ids=lambda one: f"{one.currency}{one.unit}{one.magnitude}{one.comma}{one.fractions}",
)
def test_texts_at_once_are_texts_one_by_one(spelling):
    """What Arrow reads is what is read word by word, to the last digit."""
    numbers = ["5", "-5", "0", "0.5", "1,200", "1.200", "1,25", "1.234.567,5", "1,234,567.25", "007", "1,2,3"]
    numbers += ["12345678.125", "0,1", "1e5", "(5)", ".5", "1 200", "0.1", "3.3", "1,0000", "", "-0.25"]
    around = [
        "{}",
        "${}",
        "$ {}",
        "{} €",
        "{}€",
        "€{}€",
        "$ {} $",
        "{} cm",
        "{}cm",
        "{}  cm",
        "{} %",
        "{}%",
        "{}/100",
        "{}M",
        "$-{}",
    ]
    words = [one.format(number) for one in around for number in numbers] + [
        "-",
        "n/a",
        "soon",
        "5 ft",
        "5 cm cm",
    ]
    expected, _ = spelling.read_part(words)
    found = reading._written(pa.array(words), spelling)
    np.testing.assert_array_equal(found, expected)
    assert np.isfinite(found).any()


def in_text(frame, with_comma):
    """Ways in kilometres, and sizes of which nothing shows what their sign is."""
    frame["way"] = [f"{abs(one) + 1:.1f} km" for one in frame["a"]]
    frame["weight"] = [f"{1 + number % 3}.{number % 800 + 100} kg" for number in range(len(frame))]
    for name in ("way", "weight"):
        frame.loc[with_comma, name] = frame.loc[with_comma, name].str.replace(".", ",", regex=False)
    return frame


def with_points(tmp_path):
    """A model whose table has decimal points."""
    folder = parquet(in_text(rows(), np.zeros(120, dtype=bool)), tmp_path / "first", n_files=1)
    network = explain_table(read_table(folder), k=2).network
    assert {"way", "weight"} <= set(network.feature_names)
    return network


@pytest.mark.parametrize(("start", "told"), [(0, True), (60, False)])
def test_marks_of_new_rows_are_those_of_the_whole_table(tmp_path, start, told):
    """Blocks that show another mark than the model's do not decide it for themselves."""
    network = with_points(tmp_path)
    new = in_text(rows(), np.arange(120) >= start)
    folder = parquet(new, tmp_path / "in", n_files=1, group_rows=20)
    whole = explain_new_rows(read_table(folder, reading=network.reading), network)
    found = explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(), network=network)
    parts = [wc.load(one) for one in sorted((tmp_path / "out" / "relevance").iterdir())]
    together = wc.Explanation.concat(parts)
    assert len(parts) > 2
    assert np.abs(together.values - whole.explanation.values).max() < SINGLE
    note = "Decimal commas were read in 'way', 'weight', where the model's table has points."
    assert found.notes.count(note) == told
    # The next table may have points again.
    assert wc.load(tmp_path / "out" / "model.npz").reading == network.reading


def test_a_frame_has_the_same_lines_in_any_part(tmp_path):
    network = with_points(tmp_path)
    new = in_text(rows(), np.arange(120) < 60)
    with pytest.warns(UserWarning, match="holds no number as the model's table had them"):
        whole = explain_frame(new, network)
        parts = [explain_frame(new[:60], network), explain_frame(new[60:], network)]
    pd.testing.assert_frame_equal(pd.concat(parts), whole)


def test_customer_numbers_are_followed_as_ids_are():
    frame = pd.DataFrame({"Customer No": np.arange(50) * 7 + 1000, "visits": np.arange(50) * 3 + 1000})
    found = facts.facts_of(frame, list(frame), 0)
    assert list(found.distinct) == ["Customer No"]
    assert len(facts.told_apart(found)["Customer No"].numbers.different) == 50
    assert facts.told_apart(found)["visits"].numbers.different is None
