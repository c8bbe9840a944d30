"""Reading tables of all kinds, and what becomes of their columns."""

import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

from whyclust.tables import plan_table, preparation, read_table
from whyclust.tables.delimited import decode, sniff_delimiter

FRAME = pd.DataFrame({"a": [1.5, 2.5, -3.0], "b": [1, 2, 3], "c": ["x", "y", "x"]})


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_every_kind_of_file_gives_the_same_table(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    FRAME.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    FRAME.to_parquet(tmp_path / "t.parquet")
    FRAME.to_feather(tmp_path / "t.feather")
    table = pa.Table.from_pandas(FRAME)
    with pa.ipc.new_stream(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    for path in sorted(tmp_path.iterdir()):
        read = read_table(path)
        pd.testing.assert_frame_equal(read.frame, FRAME, check_dtype=False)
        assert read.notes == []


def test_numpy_files(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "t.npy", X)
    assert read_table(tmp_path / "t.npy").frame.columns.tolist() == ["x0", "x1"]
    np.save(tmp_path / "one.npy", X[:, 0])
    assert read_table(tmp_path / "one.npy").frame.shape == (3, 1)
    structured = np.array([(1, 2.0), (3, 4.0)], dtype=[("n", int), ("v", float)])
    np.save(tmp_path / "s.npy", structured)
    assert read_table(tmp_path / "s.npy").frame.columns.tolist() == ["n", "v"]
    np.savez(tmp_path / "t.npz", X=X, y=np.array([0, 1, 1]), feature_names=np.array(["p", "q"]))
    read = read_table(tmp_path / "t.npz")
    assert read.frame.columns.tolist() == ["p", "q", "y"]
    assert read.aside == ["y"]
    assert plan_table(read.frame, aside=read.aside).numeric == ["p", "q"]
    np.savez_compressed(tmp_path / "columns.npz", u=X[:, 0], v=X[:, 1])
    assert read_table(tmp_path / "columns.npz").frame.columns.tolist() == ["u", "v"]


@pytest.mark.parametrize("array", [np.zeros((2, 2, 2)), np.array([[1j, 2]]), np.float64(3.0)])
def test_arrays_that_are_no_table(tmp_path, array):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(ValueError, match=r"found an array .* expected"):
        read_table(tmp_path / "t.npy")


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "t.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="can run code"):
        read_table(tmp_path / "t.npy")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(delimiter):
    text = "\n".join(
        delimiter.join(fields) for fields in [["name", "price"], [f'"a{delimiter}b"', "1.5"], ["plain", "2"]]
    )
    assert sniff_delimiter(text) == delimiter


def test_semicolons_with_decimal_commas(tmp_path):
    path = write(tmp_path / "t.csv", "name;größe;n\nx;1,5;1\ny;1.234,75;2\nz;;3\n")
    table = read_table(path)
    assert table.frame["größe"].tolist()[:2] == [1.5, 1234.75]
    assert table.frame["größe"].isna().tolist() == [False, False, True]
    assert table.notes == ["Commas were read as decimal marks ('1,5' as 1.5) in 'größe'."]


SHOWN, GUESSED = 1, 2

SIGNS = {
    # Comma and point have one meaning in the whole file, which any of its columns may show.
    "a comma after a zero": ("a\tb\n0,125\t1,250\n0,250\t2,500\n", [0.125, 1.25], SHOWN),
    "two digits after a comma": ('a,b\n"1,234","1,5"\n"12","2,75"\n', [1.234, 1.5], SHOWN),
    "millions": ("a\tb\n1,234,567\t1,250\n2\t3\n", [1234567, 1250], SHOWN),
    "millions between semicolons": ("a;b\n1,234,567;1,250\n2;3\n", [1234567, 1250], SHOWN),
    "comma and point in one number": ("a;b\n1,234.5;1,250\n2;3\n", [1234.5, 1250], SHOWN),
    "point and comma in one number": ("a\tb\n1.234,5\t1,250\n2\t3\n", [1234.5, 1.25], SHOWN),
    "decimal points elsewhere": ("a;b\n0.5;1,250\n2.25;3\n", [0.5, 1250], SHOWN),
    "points beside decimal commas": ("a;b\n0,5;1.250\n2,25;900\n", [0.5, 1250], SHOWN + 1),
    "millions with points": ("a;b\n0,5;1.250.000\n2,25;3\n", [0.5, 1250000], SHOWN + 1),
    "millions with points beside commas": ("a\tb\n1,250\t1.250.000\n2\t3\n", [1.25, 1250000], SHOWN + 1),
    "points after a zero": ("a;b\n0,5;0.250\n2,25;0.125\n", [0.5, 0.25], SHOWN),
    "points that are no thousands": ("a;b\n0,5;1.2505\n2,25;3\n", [0.5, 1.2505], SHOWN),
    "both kinds of decimal marks": ("a\tb\tc\n0,5\t0.5\t1,250\n2,25\t3.5\t2\n", [0.5, 0.5, 1.25], SHOWN),
    # Where none shows it, the delimiter decides.
    "nothing shown by tabs": ("a\tb\n1,250\tx\n2,500\ty\n", [1250, "x"], GUESSED),
    "nothing shown by semicolons": ("a;b\n1,234;x\n2,500;y\n", [1.234, "x"], GUESSED),
    "nothing shown by either sign": ("a;b\n1,234;1.234\n2,500;2.500\n", [1.234, 1234], GUESSED + 1),
    "no commas": ("a;b\n1.250;x\n2.500;y\n", [1.25, "x"], 0),
    "no commas, but hundreds": ("a;b\n1.250;x\n899;y\n", [1250, "x"], 2),
    "no commas, and fractions": ("a;b\n1.250;0.5\n899;0.7\n", [1.25, 0.5], 0),
    "a list of numbers is no number": ("a;b\n1,25,3;x\n2,500;y\n", ["1,25,3", "x"], 0),
}


@pytest.mark.parametrize(("text", "first", "n_notes"), SIGNS.values(), ids=SIGNS)
def test_one_meaning_of_comma_and_point_in_a_file(tmp_path, text, first, n_notes):
    table = read_table(write(tmp_path / "t.csv", text))
    assert table.frame.iloc[0].tolist() == first
    assert len(table.notes) == n_notes


def test_what_is_told_of_commas_and_points(tmp_path):
    text = "a;b;c\n0,5;1.250;1,25\n2,25;900;3\n"
    assert read_table(write(tmp_path / "t.csv", text)).notes == [
        "Commas were read as decimal marks ('0,5' as 0.5) in 'a', 'c'.",
        "Points were read as thousands separators ('1.250' as 1250) in 'b'.",
    ]
    assert read_table(write(tmp_path / "t.csv", "a\tb\n1,250\t2\n2,500\t3\n")).notes == [
        "Commas were read as thousands separators ('1,250' as 1250) in 'a'.",
        "Nothing else in the file shows what its commas mean, so that its delimiter (tabs) decided it: check "
        "'a'.",
    ]
    contradiction = "a\tb\tc\n0,5\t1,234,567\t1,250\n2,25\t3\t4\n"
    table = read_table(write(tmp_path / "t.csv", contradiction))
    assert table.frame.iloc[0].tolist() == [0.5, 1234567, 1250]
    assert table.notes == [
        "Commas were read as decimal marks ('0,5' as 0.5) in 'a'.",
        "Commas were read as thousands separators ('1,234,567' as 1234567) in 'b', 'c'.",
        "Commas have different meanings in this file, so that its delimiter (tabs) decided where both are "
        "possible: check 'c'.",
    ]


def test_a_first_line_of_numbers_with_commas_is_no_header(tmp_path):
    table = read_table(write(tmp_path / "t.csv", "1,5;2,5;7\n3,5;4;2,25\n8;9;1\n"))
    assert table.frame.to_numpy().tolist() == [[1.5, 2.5, 7.0], [3.5, 4.0, 2.25], [8.0, 9.0, 1.0]]


def test_long_fields_and_long_headers(tmp_path):
    essay = "word, " * 40_000
    table = read_table(write(tmp_path / "t.csv", f'name;essay\na;"{essay}"\nb;short\n'))
    assert table.frame["essay"].str.len().tolist() == [len(essay.strip()), 5]
    long_name = read_table(write(tmp_path / "t.csv", f'"{essay}",b\n1,2\n3,4\n'))
    assert long_name.frame.columns.tolist() == [essay.strip(), "b"]
    names = [f"{'gene' * 100} {column:06d}" for column in range(3000)]
    assert len(",".join(names)) > 1_000_000
    rows = [",".join(["0.5"] * len(names))] * 2
    wide = read_table(write(tmp_path / "t.csv", "\n".join([",".join(names), *rows])))
    assert wide.frame.columns.tolist() == names
    assert wide.frame.shape == (2, 3000)
    import csv

    assert csv.field_size_limit() == 131_072  # what others rely on


def test_the_row_at_which_the_sample_ends_may_be_cut(monkeypatch, tmp_path):
    """A quoted field may go on in the next line, and half of it says nothing of the delimiter."""
    text = 'a,x;b;c\n1,5;u;3\n2,5;"p\n;q";3\n'
    monkeypatch.setattr("whyclust.tables.delimited.SAMPLE_CHARACTERS", text.index(";q") - 1)
    assert sniff_delimiter(text) == ";"
    assert read_table(write(tmp_path / "t.csv", text)).frame["b"].tolist() == ["u", "p\n;q"]


MARKED = ["utf-8", "utf-8-sig", "utf-16", "utf-32"]
GUESSED_ENCODINGS = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "cp1252"]


@pytest.mark.parametrize("encoding", MARKED + GUESSED_ENCODINGS)
def test_encodings(tmp_path, encoding):
    path = write(tmp_path / "t.csv", "straße;ort\nä;1\nö;2\n".encode(encoding))
    table = read_table(path)
    assert table.frame.columns.tolist() == ["straße", "ort"]
    assert table.frame["straße"].tolist() == ["ä", "ö"]
    assert len(table.notes) == (encoding in GUESSED_ENCODINGS)


def test_utf_32_of_the_other_byte_order(tmp_path):
    text = "\ufeffstraße;ort\nä;1\nö;2\n"
    table = read_table(write(tmp_path / "t.csv", text.encode("utf-32-be")))
    assert table.frame.columns.tolist() == ["straße", "ort"]
    assert table.notes == []
    with pytest.raises(ValueError, match="broken UTF-32 text, perhaps a file cut short"):
        read_table(write(tmp_path / "t.csv", text.encode("utf-32-be")[:-2]))


def test_numbers_that_floats_cannot_tell_apart():
    close = np.array([2**64 - 1 - 3 * row for row in range(12)], dtype=np.uint64)
    frame = pd.DataFrame({"close": close, "other": np.resize([0.5, 1.5, 3.0], 12)})
    reason = plan_table(frame).dropped["close"]
    assert reason == "differs only beyond the 16 digits of its numbers (subtract a constant from it first)"
    assert plan_table(frame.assign(close=close - close.min())).numeric == ["close", "other"]
    same = pd.DataFrame({"same": np.full(12, 2**64 - 1, dtype=np.uint64), "other": frame["other"]})
    assert plan_table(same).dropped["same"] == "has the same value in every row"


@given(st.binary(max_size=60))
def test_decoding_never_fails_but_by_value_error(raw):
    try:
        text, _ = decode(raw)
    except ValueError as error:
        assert "expected" in str(error) or "save" in str(error)
    else:
        assert isinstance(text, str)


@given(st.text(alphabet='ab1,;|\t\n\r"é. -', max_size=60))
def test_any_text_is_read_or_refused_in_one_sentence(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        frame = read_table(path).frame
    except ValueError as error:
        assert str(path) in str(error)
        assert "\n" not in str(error)
    else:
        assert frame.columns.is_unique
        assert len(frame) > 0


def test_header_oddities(tmp_path):
    counted = read_table(write(tmp_path / "y.csv", "2019,2020,2021\n3,4,5\n"))
    assert counted.frame.columns.tolist() == ["2019", "2020", "2021"]
    numbers = read_table(write(tmp_path / "n.csv", "1,7\n3,4\n"))
    assert numbers.frame.columns.tolist() == ["column 1", "column 2"]
    assert len(numbers.frame) == 2
    row_names = read_table(write(tmp_path / "r.csv", "a,b\nr1,1,2\nr2,3,4\n"))
    assert row_names.frame.columns.tolist() == ["column 1", "a", "b"]
    trailing = read_table(write(tmp_path / "e.csv", "a,b\n1,2,\n3,4,\n"))
    assert trailing.frame[["a", "b"]].to_numpy().tolist() == [[1, 2], [3, 4]]
    two_lines = read_table(write(tmp_path / "q.csv", '"a\nb",c\n1,2\n3,4\n'))
    assert two_lines.frame.columns.tolist() == ["a\nb", "c"]
    hint = read_table(write(tmp_path / "s.csv", "sep=;\na;b\n1;2\n"))
    assert hint.frame.columns.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("first", "told"),
    [("1,2,3", "1, 2, 3"), ("5.1,,1.4", "5.1, 1.4"), ("5.1,?,1.4", "5.1, 1.4"), ("7,8,9", "7, 8, 9")],
)
def test_names_that_are_numbers_may_be_a_row_of_data(first, told, tmp_path):
    """A table without a header would lose its first row, and nobody would know."""
    table = read_table(write(tmp_path / "t.csv", f"{first}\n4.9,3,1.4\n4.7,2,1.3\n"))
    assert len(table.frame) == 2
    assert table.notes[0] == (
        f"The first line was taken for names, but all of them are numbers: {told}; if they are a row of "
        "data, put a line of names above it."
    )


def test_many_names_that_are_numbers_are_not_all_told(tmp_path):
    years = ",".join(map(str, range(1990, 2020)))
    table = read_table(write(tmp_path / "t.csv", f"{years}\n{years}\n{years}\n"))
    assert "1990, 1991, 1992, 1993, 1994, 1995, …; if" in table.notes[0]


def test_columns_without_a_name_are_reported(tmp_path):
    row_names = read_table(write(tmp_path / "r.csv", "a,b\nr1,1,2\nr2,3,4\n"))
    assert row_names.notes == ["Columns without a name are called by their position: 'column 1'."]


def test_names_that_occur_twice_are_numbered_and_reported(tmp_path):
    path = write(tmp_path / "t.csv", "a,a,a (2),\n1,2,3,4\n5,6,7,8\n")
    table = read_table(path)
    assert table.frame.columns.tolist() == ["a", "a (3)", "a (2)", "column 4"]
    assert table.notes == [
        "Columns without a name are called by their position: 'column 4'.",
        "Column names that occur more than once were numbered: 'a (3)'.",
    ]
    repeated = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(repeated, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame.columns.tolist() == ["a", "a (2)"]


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_rows_that_pandas_only_counted_have_no_names(tmp_path, kind):
    """Of rows that were drawn, or sorted, their numbers are kept beside the columns."""
    path = tmp_path / f"t.{kind}"
    table = pa.Table.from_pandas(FRAME.iloc[[2, 0, 1]])
    pq.write_table(table, path) if kind == "parquet" else feather.write_feather(table, path)
    assert "__index_level_0__" in table.column_names
    found = read_table(path).frame
    assert found.columns.tolist() == FRAME.columns.tolist()
    assert found["b"].tolist() == [3, 1, 2] and found.index.tolist() == [0, 1, 2]


def test_a_stored_index_becomes_a_column(tmp_path):
    FRAME.set_index(pd.Index(["r1", "r2", "r3"], name="who")).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame.columns.tolist() == ["who", "a", "b", "c"]


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_a_stored_index_called_as_a_column(suffix, tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1, 2, 3]}, index=pd.Index(["x", "y", "z"], name="a"))
    path = tmp_path / f"t.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else feather.write_feather(
        pa.Table.from_pandas(frame), path
    )
    table = read_table(path)
    assert table.frame.columns.tolist() == ["a (index)", "a", "b"]
    assert table.frame["a"].tolist() == [1.0, 2.0, 4.0]
    assert table.notes == ["The stored index is called 'a' as a column is: it became 'a (index)'."]


def test_stored_levels_called_alike(tmp_path):
    levels = pd.MultiIndex.from_product([["u", "v"], [1, 2]], names=["b", "b"])
    pd.DataFrame({"a": [1.0, 2.0, 4.0, 8.0], "level_0": 1, "index": 2}, index=levels).to_parquet(
        tmp_path / "t.parquet"
    )
    found = read_table(tmp_path / "t.parquet").frame
    assert sorted(found.columns) == ["a", "b", "b (2)", "index", "level_0"]
    assert found["b (2)"].tolist() == [1, 2, 1, 2]


def parquet_bytes():
    buffer = io.BytesIO()
    FRAME.to_parquet(buffer)
    return buffer.getvalue()


def spreadsheet_bytes():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>" * 100)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "t.csv",
            parquet_bytes(),
            "named as CSV but holds Parquet: rename it to end in",
        ),
        ("t.parquet", b"a,b\n1,2\n", "named as Parquet but holds CSV"),
        ("t.feather", b"a,b\n1,2\n", "named as Feather/Arrow but holds CSV"),
        ("t.npy", b"a,b\n1,2\n", "named as a NumPy array but holds CSV"),
        ("t.csv", spreadsheet_bytes(), "named as CSV but holds a spreadsheet: rename it to end in '.xlsx'"),
        ("t.csv", b"<!DOCTYPE html><html></html>", "a web page"),
        ("t.csv", b'{"a": 1}', "JSON"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"  \n \n", "is empty"),
        ("t.csv", b"a,b\n", "empty table"),
        ("t.csv", b"a,b\n1,2\n1,2,3,4\n", "line 3 has 4 fields separated by commas where 2"),
        ("t.csv", b"a,b\x00\x01\x02\n", "zero bytes"),
        ("t.parquet", parquet_bytes()[:60], "damaged"),
        ("t.arrow", b"ARROW1\x00\x00junk", "damaged"),
        ("t.npy", b"\x93NUMPY\x01\x00junk", "damaged"),
        ("t.xlsx", b"PK", "named as a spreadsheet but holds CSV"),
        ("t.xlsx", spreadsheet_bytes(), "the spreadsheet is damaged"),
        ("t.docx", b"PK", "not a kind of table known here"),
        ("t", b"a", "not a kind of table known here"),
    ],
)
def test_files_that_are_not_what_they_say(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message) as error:
        read_table(write(tmp_path / name, content))
    assert "\n" not in str(error.value)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        read_table(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read_table(tmp_path)


def many_kinds(n=40):
    generator = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": range(1000, 1000 + n),
            "row": range(n),
            "code": [f"code {i}" for i in range(n)],
            "number": generator.normal(size=n),
            "whole": generator.integers(0, 5, n),
            "gappy": np.where(np.arange(n) == 3, np.nan, generator.normal(size=n)),
            "flag": np.arange(n) % 2 == 0,
            "colour": np.resize(["red", "green", "blue"], n),
            "grade": pd.Categorical(np.resize(["low", "low", "high"], n)),
            "gappy text": np.resize(np.array(["a", "b", None, "a"], dtype=object), n),
            "gappy flag": np.resize(np.array([True, False, None], dtype=object), n),
            "same": 7.0,
            "rounding": 0.1 + np.resize([0, 1e-17], n),
            "empty": np.nan,
            "when": pd.date_range("2024-01-01", periods=n),
            "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d").to_numpy()[::-1],
            "essay": [f"text {i % 35}" for i in range(n)],
            "list": [[1, 2]] * n,
            "nullable": pd.array(np.arange(n) // 2 % 3, dtype="Int64"),
        }
    )


def test_what_becomes_of_every_column():
    plan = plan_table(many_kinds())
    assert plan.numeric == ["number", "whole", "gappy", "nullable"]
    assert plan.categorical == ["flag", "colour", "grade", "gappy text", "gappy flag"]
    assert plan.missing == {"gappy": 1, "gappy text": 10, "gappy flag": 13}
    reasons = {
        "id": "identifies the rows",
        "row": "numbers the rows",
        "code": "identifier",
        "same": "same value",
        "rounding": "same value",
        "empty": "no values",
        "when": "dates",
        "day": "dates",
        "essay": "35 different values",
        "list": "not numbers or text",
    }
    assert plan.dropped.keys() == reasons.keys()
    for name, reason in reasons.items():
        assert reason in plan.dropped[name]
        assert any(f"'{name}'" in note for note in plan.notes)


def test_runs_of_whole_numbers_are_identifiers():
    numbers = np.arange(1000.0, 1040)
    shuffled = np.random.default_rng(0).permutation(numbers)
    frame = pd.DataFrame({"Kunden-Nr": numbers, "shuffled": shuffled, "halves": numbers + 0.5})
    plan = plan_table(frame)
    assert plan.identifiers == ["Kunden-Nr"]
    assert plan.numeric == ["shuffled", "halves"]
    assert plan_table(frame, columns=["Kunden-Nr"]).numeric == ["Kunden-Nr"]


def test_columns_left_out_are_grouped_by_reason():
    frame = pd.DataFrame({f"same {j}": [1.0] * 12 for j in range(25)})
    frame["empty"], frame["number"] = np.nan, np.arange(12) % 5
    (note,) = plan_table(frame).notes
    assert note.count("the same value in every row") == 1
    assert "'same 19' and 5 more (have the same value in every row); 'empty' (has no values)." in note


def test_preparation_standardises_imputes_and_encodes():
    plan = plan_table(many_kinds())
    X = preparation(plan).transform(plan.apply(many_kinds()))
    assert X.shape == (40, 4 + 2 + 3 + 2 + 3 + 3)
    assert np.isfinite(X).all()
    np.testing.assert_allclose(X[:, :4].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X[:, [0, 1, 3]].std(axis=0), 1)
    # The imputed value is the mean, which standardises to zero.
    assert abs(X[3, 2]) < 1e-12
    assert set(np.unique(X[:, 4:])) == {0.0, 1.0}


def test_columns_asked_for_are_not_taken_for_identifiers():
    plan = plan_table(many_kinds(), columns=["id", "number"])
    assert plan.numeric == ["id", "number"]
    assert plan_table(many_kinds(), drop=["number"], aside=["whole"]).numeric == [
        "gappy",
        "nullable",
    ]


def test_numbers_with_blemishes():
    values = [str(i / 7) for i in range(100)]
    values[41] = "n.n."
    plan = plan_table(pd.DataFrame({"a": values}))
    assert plan.numeric == ["a"]
    assert plan.missing == {"a": 1}
    assert "'n.n.' (row 42)" in plan.notes[0]


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_names_column_and_row(bad):
    frame = pd.DataFrame({"ok": [1.0, 2.0, 3.0], "bad one": [1.0, bad, 2.0]})
    with pytest.raises(ValueError, match="column 'bad one' holds an infinite number in row 2"):
        plan_table(frame)
    assert plan_table(frame, drop=["bad one"]).numeric == ["ok"]


def test_plans_that_cannot_be_made():
    with pytest.raises(ValueError, match="larger than"):
        plan_table(pd.DataFrame({"a": [1.0, 1e200]}))
    with pytest.raises(ValueError, match=r"no column can be used .*'a' has the same value"):
        plan_table(pd.DataFrame({"a": [1.0, 1.0]}))
    with pytest.raises(ValueError, match="did you mean 'price'"):
        plan_table(pd.DataFrame({"price": [1.0, 2.0]}), columns=["pirce"])
    with pytest.raises(ValueError, match="the table has 'price'"):
        plan_table(pd.DataFrame({"price": [1.0, 2.0]}), drop=["zzz"])
    with pytest.raises(ValueError, match="no rows"):
        plan_table(pd.DataFrame({"a": []}))


def test_row_labels_that_repeat_do_no_harm():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]}, index=[5, 5, 5])
    assert plan_table(frame).apply(frame)["a"].tolist() == [1.0, 2.0, 4.0]


def test_a_semicolon_file_has_decimal_commas_whatever_the_number_of_digits(tmp_path):
    """1,234 between semicolons is one and a bit, although three digits follow."""
    path = write(tmp_path / "t.csv", "name;price\nnut;1,234\nbolt;5,678\n")
    assert read_table(path).frame["price"].tolist() == [1.234, 5.678]
    path = write(tmp_path / "t.csv", "name|price\nnut|1,234\nbolt|5,678\n")
    assert read_table(path).frame["price"].tolist() == [1234.0, 5678.0]


def test_a_row_that_is_cut_has_no_say_in_the_delimiter():
    """The sample of a large file ends within a row, which then has fewer fields than it has."""
    rows = [f"{row},{'x' * 6000};1;2" for row in range(180)]
    text = "\n".join(["name,of a kind;b;c", *rows])
    assert len(text) > 1_000_000
    assert sniff_delimiter(text) == ";"


def texts(n_distinct, n_rows=62):
    return [f"word {i % n_distinct}" for i in range(n_rows)]


def test_the_thresholds_of_text():
    frame = pd.DataFrame({"most": texts(30), "more": texts(31), "b": np.arange(62) % 5})
    plan = plan_table(frame)
    assert plan.categorical == ["most"]
    assert plan.dropped == {"more": "is text with 31 different values, few of which repeat"}
    # Two names may be two categories, three that never repeat tell rows apart.
    assert plan_table(pd.DataFrame({"a": ["x", "y"]})).categorical == ["a"]
    three = plan_table(pd.DataFrame({"a": ["x", "y", "z"], "b": [1.0, 2.0, 4.0]}))
    assert three.identifiers == ["a"]


def test_the_thresholds_of_numbers_that_are_text():
    few = pd.DataFrame({"a": [str(i % 30) for i in range(62)], "b": np.arange(62) % 5})
    many = pd.DataFrame({"a": [str(i % 31) for i in range(62)], "b": np.arange(62) % 5})
    assert plan_table(few).categorical == ["a"]
    assert plan_table(many).numeric == ["a", "b"]
    for blemishes, numeric in [(6, ["a", "b"]), (7, ["b"])]:
        values = [str(i / 7) for i in range(120 - blemishes)] + [f"n.n. {i}" for i in range(blemishes)]
        frame = pd.DataFrame({"a": values, "b": np.arange(120) % 5})
        assert plan_table(frame).numeric == numeric


def test_the_thresholds_of_numbers():
    for n_rows, numeric in [(9, ["count", "b"]), (10, ["b"])]:
        frame = pd.DataFrame({"count": np.arange(n_rows), "b": np.arange(n_rows) % 5})
        assert plan_table(frame).numeric == numeric
    eps = np.finfo(float).eps
    frame = pd.DataFrame({"rounding": [1.0, 1.0 + 4 * eps], "small": [1.0, 1.0 + 8 * eps]})
    assert plan_table(frame).numeric == ["small"]
    assert plan_table(pd.DataFrame({"a": [1.0, 1e150]})).numeric == ["a"]
    with pytest.raises(ValueError, match="larger than 1e\\+150"):
        plan_table(pd.DataFrame({"a": [1.0, np.nextafter(1e150, np.inf)]}))


@pytest.mark.parametrize(("count", "told"), [(20, "'same 19' (have"), (21, "'same 19' and 1 more (have")])
def test_the_thresholds_of_lists(count, told):
    frame = pd.DataFrame({f"same {j}": [1.0] * 12 for j in range(count)}).assign(b=np.arange(12) % 5)
    (note,) = plan_table(frame).notes
    assert told in note
