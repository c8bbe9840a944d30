"""The command line: what it writes, what it refuses, and that it never leaves half a result."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

import whyclust as wc
from whyclust.command.cli import _exit_code, app, main
from whyclust.command.examples import EXAMPLES
from whyclust.command.reading import named_beside

CUSTOMERS = Path(__file__).parents[1] / "examples" / "customers.csv"
FILES = {"report.html", "relevance.parquet", "clusters.csv", "summary.json", "model.npz", "SHA256SUMS"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def iris(folder):
    frame = load_iris(as_frame=True).frame
    frame.columns = ["sepal length", "sepal width", "petal length", "petal width", "species"]
    frame.insert(0, "flower", [f"F{i:03d}" for i in range(len(frame))])
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[frame["species"]]
    frame["colour"] = np.resize(["blue", "violet", "blue"], len(frame))
    frame.loc[[4, 9], "sepal width"] = np.nan
    frame.to_csv(folder / "iris.csv", index=False)
    return frame


def run(*arguments):
    return _exit_code([str(argument) for argument in arguments])


def refused(capsys, *arguments):
    """Run, and return the one sentence on stderr."""
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("whyclust: ")
    assert "Traceback" not in captured.err
    return lines[0]


def test_main_job_writes_files_that_agree(iris, folder, capsys):
    arguments = ["iris.csv", "-k", 3, "--out", "out", "--drop", "species", "--id-column", "flower"]
    assert run("explain", *arguments) == 0
    captured = capsys.readouterr()
    assert "Report: out/report.html" in captured.out
    assert captured.out.startswith("Cluster 0 '")
    assert "(of 150) were replaced by the mean of their column: 'sepal width' (2)" in captured.err
    assert {path.name for path in (folder / "out").iterdir()} == FILES

    clusters = pd.read_csv(folder / "out" / "clusters.csv")
    assert clusters.columns.tolist() == ["flower", "cluster", "cluster_name", "evidence", "competitor"]
    assert clusters["flower"].tolist() == iris["flower"].tolist()
    assert (clusters["evidence"] >= 0).all()
    assert (clusters["cluster"] != clusters["competitor"]).all()

    explanation = wc.load(folder / "out" / "relevance.parquet")
    assert explanation.feature_names == [
        "sepal length",
        "sepal width",
        "petal length",
        "petal width",
        "colour",
    ]
    assert explanation.clusters.tolist() == clusters["cluster"].tolist()
    np.testing.assert_allclose(explanation.evidence, clusters["evidence"])
    # Relevance is written in single precision: each value is rounded by at most 2⁻²⁴ of itself.
    assert explanation.values.dtype == np.float32
    values = explanation.values.astype(np.float64)
    error = np.abs(values.sum(axis=1) + explanation.base_values - explanation.explained)
    assert (error <= 2.0**-24 * np.abs(values).sum(axis=1) + 1e-12).all()

    network = wc.load(folder / "out" / "model.npz")
    new = pd.read_csv(folder / "iris.csv")[explanation.feature_names]
    assert network.predict(new).tolist() == clusters["cluster"].tolist()
    assert network.predict(new.iloc[[7]]).tolist() == [clusters["cluster"][7]]

    summary = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    assert [cluster["cluster"] for cluster in summary["clusters"]] == [0, 1, 2]
    assert sum(cluster["size"] for cluster in summary["clusters"]) == 150
    computed = summary["computed"]
    assert computed["k"] == 3
    assert computed["k_chosen_by"] == "user"
    assert computed["seed"] == 0
    assert computed["n_rows"] == 150
    assert computed["missing"] == {"sepal width": 2}
    assert computed["columns"]["categorical"] == ["colour"]
    assert computed["beta"] == pytest.approx(network.beta)
    assert computed["versions"]["whyclust"] == wc.__version__
    assert computed["choice_of_k"] is None

    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "petal length" in page
    assert "How many clusters?" not in page


def test_auto_shows_the_curve(folder, capsys):
    load_wine(as_frame=True).data.to_parquet(folder / "wine.parquet")
    assert run("explain", "wine.parquet", "-k", "auto", "--out", "out") == 0
    computed = json.loads((folder / "out" / "summary.json").read_text())["computed"]
    assert computed["k"] == 3
    assert computed["k_chosen_by"] == "clusters that stand apart"
    choice = computed["choice_of_k"]
    assert choice["stands_out"] is True
    assert choice["n_clusters"] == list(range(1, 31))
    assert len(choice["support"]) == len(choice["apart"]) == 30
    assert f"{choice['sentence']} The curve is in the report." in capsys.readouterr().out
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "How many clusters?" in page
    words = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)  # which draw lines of their own
    assert words.count("<polyline") == 2
    assert choice["sentence"] in page


def test_the_elbow_can_be_asked_for(folder, capsys):
    load_wine(as_frame=True).data.to_parquet(folder / "wine.parquet")
    assert run("explain", "wine.parquet", "--k-by", "elbow", "--out", "out") == 0
    computed = json.loads((folder / "out" / "summary.json").read_text())["computed"]
    assert computed["k"] == 3
    assert computed["k_chosen_by"] == "elbow"
    assert "k = 3, at the elbow of the inertia. The curve is in the report." in capsys.readouterr().out
    assert computed["choice_of_k"]["n_clusters"] == list(range(1, 11))
    assert "farthest below the dashed line" in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_how_k_is_chosen_is_asked_for_by_a_known_name_and_only_where_it_is_chosen(iris, capsys):
    assert "did you mean 'elbow'?" in refused(capsys, "explain", "iris.csv", "--k-by", "elbo")
    assert "beside -k 3" in refused(capsys, "explain", "iris.csv", "-k", 3, "--k-by", "elbow")
    assert "beside --labels" in refused(
        capsys, "explain", "iris.csv", "--labels", "species", "--k-by", "elbow"
    )


def test_rows_without_clusters_are_told_so(folder, capsys):
    generator = np.random.default_rng(0)
    np.save(folder / "lump.npy", generator.normal(size=(300, 3)))
    assert run("explain", "lump.npy", "--out", "out") == 0
    assert "no k from 2 to 30 is better supported than one cluster" in capsys.readouterr().out
    computed = json.loads((folder / "out" / "summary.json").read_text())["computed"]
    assert computed["choice_of_k"]["stands_out"] is False
    assert computed["k"] >= 2


def test_the_seed_makes_results_repeatable(iris, folder):
    for out in ("a", "b"):
        arguments = ["--method", "kernel", "-k", 3, "--seed", 5, "--quiet", "--out", out]
        assert run("explain", "iris.csv", "--drop", "species,flower", *arguments) == 0
    for name in ("clusters.csv", "report.html", "summary.json"):
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


@pytest.mark.parametrize("method", ["kmeans", "kernel", "soft"])
def test_methods(iris, folder, method, capsys):
    arguments = ["-k", 3, "--method", method, "--quiet", "--out", "out", "--columns"]
    assert run("explain", "iris.csv", *arguments, "petal length,petal width") == 0
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    clusters = pd.read_csv(folder / "out" / "clusters.csv")
    assert clusters["cluster"].nunique() == 3
    # Petals tell setosa apart, whatever the method.
    assert clusters["cluster"][:50].nunique() == 1
    assert clusters["row"].tolist() == list(range(1, 151))


def test_labels_are_the_clusters(iris, folder, capsys):
    assert run("explain", "iris.csv", "--labels", "species", "--out", "out") == 0
    captured = capsys.readouterr()
    clusters = pd.read_csv(folder / "out" / "clusters.csv")
    names = ["row", "cluster", "cluster_name", "evidence", "competitor", "surrogate", "disagrees"]
    assert clusters.columns.tolist() == names
    assert clusters["cluster"].tolist() == load_iris().target_names[load_iris().target].tolist()
    agreement = (clusters["cluster"] == clusters["surrogate"]).mean()
    assert agreement > 0.9
    assert clusters["disagrees"].tolist() == (clusters["cluster"] != clusters["surrogate"]).tolist()
    assert ((clusters["evidence"] < 0) == clusters["disagrees"]).all()
    assert f"with {agreement:.1%} on the rows it was fitted to" in captured.out.splitlines()[0]
    assert "Cluster setosa holds 50 of 150 rows" in captured.out
    computed = json.loads((folder / "out" / "summary.json").read_text())["computed"]
    assert computed["fidelity"]["in_sample"] == pytest.approx(agreement)
    assert 0.8 < computed["fidelity"]["held_out"] <= 1
    assert [one["cluster"] for one in computed["fidelity"]["clusters"]] == sorted(set(clusters["cluster"]))
    assert computed["disagreeing_rows"] == clusters["disagrees"].sum()
    loaded = wc.load(folder / "out" / "relevance.parquet")
    assert "species" not in loaded.feature_names
    assert loaded.given.tolist() == clusters["cluster"].tolist()
    assert loaded.fidelity.overall_in_sample == pytest.approx(agreement)
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert page.index(f"with {agreement:.1%} on the rows it was fitted to") < page.index(
        "Cluster setosa holds"
    )
    assert "with the same assignments" not in page
    assert "Of the clustering only the labels were known." in page
    network = wc.load(folder / "out" / "model.npz")
    again = network.predict(pd.read_csv("iris.csv")[list(network.feature_names)])
    assert again.tolist() == clusters["surrogate"].tolist()


@pytest.mark.parametrize("mark", [-1, "-1", "noise"])
def test_noise_among_labels(folder, capsys, mark):
    """-1 is noise, as a number and among names; the word itself is a name like any other."""
    generator = np.random.default_rng(0)
    points = np.vstack([generator.normal(0, 0.2, (40, 2)), generator.normal(5, 0.2, (40, 2))])
    frame = pd.DataFrame(np.vstack([points, generator.uniform(-20, 25, (20, 2))]), columns=["a", "b"])
    names = [0, 1] if mark == -1 else ["left", "right"]
    frame["group"] = [names[0]] * 40 + [names[1]] * 40 + [mark] * 20
    frame.to_csv(folder / "t.csv", index=False)
    assert run("explain", "t.csv", "--labels", "group", "--out", "out") == 0
    captured = capsys.readouterr()
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    clusters = pd.read_csv(folder / "out" / "clusters.csv")
    assert clusters["cluster"].astype(str).tolist() == frame["group"].astype(str).tolist()
    computed = json.loads((folder / "out" / "summary.json").read_text())["computed"]
    if mark == "noise":
        assert "Cluster noise holds 20 of 100 rows" in captured.out
        assert computed["fidelity"]["noise"] is None
        return
    assert "Noise holds 20 of 100 rows" in captured.out
    assert "Cluster -1" not in captured.out + page
    assert "<h2>Noise" in page
    assert computed["fidelity"]["noise"] == mark
    # The network knows noise without the labels.
    rows = pd.DataFrame({"a": [5.0, 100.0], "b": [5.0, 100.0]})
    new = wc.explain(wc.load(folder / "out" / "model.npz"), rows)
    assert new.assigned.tolist() == [names[1], mark]
    assert new[1].describe().startswith("Row 1 is noise and not in cluster")


def test_labels_that_the_columns_do_not_tell_apart(iris, folder, capsys):
    iris.iloc[::6].assign(colour=np.resize(["blue", "violet"], 25)).to_csv(folder / "iris.csv", index=False)
    assert run("explain", "iris.csv", "--labels", "colour", "--out", "out") == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert "of them on rows it had not seen" in lines[0]  # what holds comes first
    assert lines[1].startswith("It reproduces none of the 2 labels on 90% of the rows not seen or more")
    assert {line.split(":")[0] for line in lines[2:4]} == {"Cluster blue", "Cluster violet"}
    assert "look at the rows that it assigns elsewhere" in lines[4]
    assert "With care: of " in captured.out
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert page.index(lines[1]) < page.index("Cluster blue holds")
    assert page.count("with care<") == 2


def test_rows_without_a_label_are_left_out(folder, capsys):
    frame = load_iris(as_frame=True).frame.iloc[::5].reset_index(drop=True)
    frame.loc[[0, 12], "target"] = np.nan
    frame.to_csv(folder / "t.csv", index=False)
    assert run("explain", "t.csv", "--labels", "target", "--out", "out") == 0
    assert "2 rows without a label were left out" in capsys.readouterr().err
    rows = pd.read_csv(folder / "out" / "clusters.csv")["row"].tolist()
    assert rows == [number for number in range(1, 31) if number not in (1, 13)]


def test_categories_alone_are_enough(folder):
    frame = pd.DataFrame({"a": ["x", "y", "x", "y", "z"] * 4, "b": ["u", "u", "v", "v", "v"] * 4})
    frame.to_csv(folder / "t.csv", index=False)
    assert run("explain", "t.csv", "-k", 2, "--out", "out", "--quiet") == 0
    assert wc.load(folder / "out" / "relevance.parquet").feature_names == ["a", "b"]


def test_numpy_and_strange_text_work(folder):
    X = load_iris().data
    np.save(folder / "t.npy", X)
    assert run("explain", "t.npy", "-k", 2, "--out", "npy", "--quiet") == 0
    text = "größe;größe;<script>alert(1)</script>\n"
    text += "".join(f"{a};{b};{c}\n".replace(".", ",") for a, b, c, _ in X)
    (folder / "t.csv").write_bytes(text.encode("cp1252"))
    assert run("explain", "t.csv", "-k", 2, "--out", "csv", "--quiet") == 0
    page = (folder / "csv" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "größe (2)" in page
    assert "Windows-1252" in page


TABLE = "a,b\n" + "".join(f"{i % 7},{i % 5}.5\n" for i in range(20))


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("a,b\n1,2\n3,inf\n5,6\n", [], "column 'b' holds an infinite number in row 2"),
        ("", [], "empty"),
        ("a,b\n", [], "empty table"),
        ("a,b\n1,2\n", [], "found 1 row"),
        ("a,b\n1,2\n1,2\n1,2\n", [], "no column can be used"),
        ("a,b\nx1,y1\nx2,y2\nx3,y3\n", [], "no column can be used"),
        ("a,b\n1,2\n1,2\n3,4\n3,4\n", ["-k", 2], "found 2 distinct rows, which are too few"),
        ("a,b\n1,2\n1,2\n3,4\n3,4\n", [], "at least 3 are needed"),
        (TABLE, ["-k", 50], "use a k below"),
        (TABLE, ["-k", 1], "at least 2"),
        (TABLE, ["-k", "many"], "'auto'"),
        (TABLE, ["-k", 2, "--columns", "a,zz"], "no column 'zz'"),
        (TABLE, ["-k", 2, "--drop", "a,b"], "no column can be used"),
        (TABLE, ["-k", 2, "--id-column", "aa"], "did you mean 'a'"),
        (TABLE, ["--labels", "c"], "no column 'c'"),
        (TABLE, ["--labels", "a", "-k", 3], "--labels takes the clusters from a column"),
        (TABLE, ["--labels", "a", "--method", "soft"], "--labels takes the clusters"),
        (TABLE, ["--labels", "a", "--columns", "a"], "as a feature and as the id or the labels"),
        ("a,b\n1,x\n2,x\n3,x\n", ["--labels", "b"], "one label only"),
        ("a,b\n1,x\n2,y\n3,z\n", ["--labels", "b"], "3 different values in 3 rows"),
        ("a,b\n1,2\n1,2,3,4\n", [], "line 3 has 4 fields"),
        ("PAR1 this is no table", [], "holds Parquet"),
        (TABLE, ["--method", "magic"], "there is no method 'magic': use one of kmeans, kernel, soft"),
        (TABLE, ["--seed", "-1"], "seed"),
        (TABLE, ["--nonsense"], "--nonsense"),
        (TABLE, ["--out", "table.csv"], "is a file, expected a folder"),
    ],
)
def test_bad_input_gets_one_sentence(folder, capsys, content, arguments, message):
    (folder / "table.csv").write_text(content)
    assert message in refused(capsys, "explain", "table.csv", *arguments)
    assert {path.name for path in folder.iterdir()} == {"table.csv"}


def test_files_that_are_not_there(folder, capsys):
    assert "does not exist" in refused(capsys, "explain", "nothing.csv")
    assert "is a folder" in refused(capsys, "explain", ".")
    assert "FILE" in refused(capsys, "explain").upper()
    assert "nonsense" in refused(capsys, "nonsense")


def test_folders_that_cannot_be_made(iris, folder, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise PermissionError(13, "Permission denied", "/somewhere/.whyclust-x")

    monkeypatch.setattr("whyclust.command.result_files.folder_beside", fail)
    sentence = refused(capsys, "explain", "iris.csv", "--out", "new")
    assert "cannot create folder 'new' (Permission denied)" in sentence
    assert "Errno" not in sentence


def test_system_errors_are_told_without_numbers(iris, folder, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise PermissionError(13, "Permission denied", "iris.csv")

    monkeypatch.setattr("whyclust.tables.read_table", fail)
    sentence = refused(capsys, "explain", "iris.csv")
    assert sentence == "whyclust: cannot read or write 'iris.csv': Permission denied."


def test_wide_tables_have_a_short_summary(folder):
    X = np.random.default_rng(0).normal(size=(40, 60))
    np.save(folder / "t.npy", X)
    assert run("explain", "t.npy", "-k", 2, "--quiet") == 0
    summary = json.loads((folder / "result" / "summary.json").read_text(encoding="utf-8"))
    explanation = wc.load(folder / "result" / "relevance.parquet")
    for cluster, found in zip(summary["clusters"], explanation.summary(), strict=True):
        assert cluster["features_shown"] == len(cluster["features"]) == 50
        assert cluster["n_features"] == 60
        strongest = found.features["relevance"].abs().nlargest(50).index.sort_values()
        assert [one["feature"] for one in cluster["features"]] == found.features["feature"][
            strongest
        ].tolist()


def test_identifiers_are_left_out_with_a_hint(folder, capsys):
    frame = load_iris(as_frame=True).data
    frame["Kunden-Nr"] = range(1000, 1150)
    frame.to_csv(folder / "t.csv", index=False)
    assert run("explain", "t.csv", "-k", 2) == 0
    assert "can name the rows: --id-column 'Kunden-Nr'" in capsys.readouterr().err
    assert run("explain", "t.csv", "-k", 2, "--id-column", "Kunden-Nr") == 0
    assert "--id-column" not in capsys.readouterr().err


def test_rows_are_not_named_by_the_same_words_twice():
    makes = ["Honda Accord", "Ford Escort"]
    frame = pd.DataFrame({"maker": ["Honda", "Ford"], "model": ["Accord", "Escort"], "make": makes})
    frame = frame.assign(again=makes, owner=["Ann", "Bob"], price=[1.0, 2.0])
    naming = ["maker", "model", "make", "again", "owner"]
    beside = named_beside(SimpleNamespace(frame=frame), SimpleNamespace(naming=naming))
    assert list(beside.columns) == ["make", "owner"]
    assert named_beside(SimpleNamespace(frame=frame), SimpleNamespace(naming=["gone"])) is None
    # A gap says nothing that another column does not say.
    frame = pd.DataFrame({"name": ["Ann", "Bob"], "short": ["An", None], "remark": ["late", None]})
    beside = named_beside(SimpleNamespace(frame=frame), SimpleNamespace(naming=list(frame.columns)))
    assert list(beside.columns) == ["name", "remark"]


def test_names_beside_remarks_with_gaps(folder):
    rows = np.arange(60)
    frame = pd.DataFrame({"age": rows * 7 % 50, "pay": rows * 13 % 41, "name": [f"Person {i}" for i in rows]})
    frame["remark"] = [f"called on day {i}" if i % 5 else "" for i in rows]
    frame.to_csv(folder / "t.csv", index=False)
    assert run("explain", "t.csv", "-k", 2) == 0


def test_people_are_told_of_names_before_numbers(folder, capsys):
    frame = load_iris(as_frame=True).data
    frame.insert(0, "number", range(1, 151))
    frame["flower"] = [f"flower {row:03d}" for row in range(150)]
    frame.to_csv(folder / "t.csv", index=False)
    assert run("explain", "t.csv", "-k", 2) == 0
    assert "A column such as 'flower' can name the rows" in capsys.readouterr().err


def test_a_first_column_of_names_without_a_name_names_the_rows(folder, capsys):
    """As R and pandas write the names of rows; numbers there, or names that repeat, are none."""
    frame = load_iris(as_frame=True).data
    frame.index = [f"flower {row:03d}" for row in range(150)]
    frame.to_csv(folder / "t.csv")
    assert run("explain", "t.csv", "-k", 2) == 0
    assert "'column 1', which has no name and another text in every row" in capsys.readouterr().err
    lines = (folder / "result" / "clusters.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("column 1,cluster")
    assert lines[1].startswith("flower 000,")
    assert list(wc.load(folder / "result" / "model.npz").feature_names) == list(frame.columns)
    # New rows are named by it, too.
    frame[:5].to_csv(folder / "new.csv")
    assert run("explain", "new.csv", "--model", "result", "--out", "new") == 0
    assert "flower 004," in (folder / "new" / "clusters.csv").read_text(encoding="utf-8")
    capsys.readouterr()
    for index, options in (
        (range(150), ()),
        (["a"] * 2 + list(frame.index[2:]), ()),
        (frame.index, ("--drop", "column 1")),
        (frame.index, ("--id-column", "petal width (cm)")),
    ):
        frame.set_axis(index, axis=0).to_csv(folder / "t.csv")
        assert run("explain", "t.csv", "-k", 2, *options) == 0
        assert "names the rows" not in capsys.readouterr().err


def test_nothing_is_written_half(iris, folder, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise OSError("the disk is full")

    monkeypatch.setattr("whyclust.command.result_files.save", fail)
    before = {path.name for path in folder.iterdir()}
    sentence = refused(capsys, "explain", "iris.csv", "-k", 3, "--out", "a/b")
    assert "the disk is full" in sentence
    assert {path.name for path in folder.iterdir()} - before <= {"a"}
    assert not list((folder / "a").iterdir())


def test_an_older_result_is_replaced_and_other_files_stay(iris, folder):
    out = folder / "out"
    out.mkdir()
    (out / "mine.txt").write_text("keep me")
    for k in (2, 3):
        assert run("explain", "iris.csv", "-k", k, "--out", "out", "--quiet") == 0
    assert {path.name for path in out.iterdir()} == FILES | {"mine.txt"}
    assert pd.read_csv(out / "clusters.csv")["cluster"].nunique() == 3
    assert {path.name for path in folder.iterdir()} == {"iris.csv", "out"}


def test_ids_that_repeat_or_are_missing(folder, capsys):
    frame = load_iris(as_frame=True).data
    frame["who"] = [None, "b", "b", *(f"w{i}" for i in range(147))]
    frame.to_csv(folder / "t.csv", index=False)
    assert run("explain", "t.csv", "-k", 2, "--id-column", "who", "--out", "out") == 0
    assert "1 ids repeat" in capsys.readouterr().err
    ids = pd.read_csv(folder / "out" / "clusters.csv")["who"].tolist()
    assert ids[:3] == ["row 1", "b", "b"]
    names = wc.load(folder / "out" / "relevance.parquet").index.tolist()
    assert names[:4] == ["row 1", "b (row 2)", "b (row 3)", "w0"]


def test_an_id_column_may_have_any_name(folder):
    frame = load_iris(as_frame=True).data
    frame["cluster"] = [f"w{i}" for i in range(150)]
    frame.to_csv(folder / "t.csv", index=False)
    assert run("explain", "t.csv", "-k", 2, "--id-column", "cluster", "--out", "o", "--quiet") == 0
    clusters = pd.read_csv(folder / "o" / "clusters.csv")
    assert clusters.columns.tolist() == ["id", "cluster", "cluster_name", "evidence", "competitor"]


def test_names_cannot_write_to_the_terminal(folder, capsys):
    frame = pd.DataFrame(load_iris().data[:, :2], columns=["\x1b[31mred\x1b[0m", "b\nc"])
    frame["\x1b[2Jempty"] = np.nan
    frame.to_parquet(folder / "t.parquet")
    assert run("explain", "t.parquet", "-k", 2) == 0
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert "?[31mred" in captured.out
    assert "\x1b" not in refused(capsys, "explain", "t.parquet", "--labels", "\x1b[2Jempt")


def test_demo_and_version_as_a_real_process(folder):
    command = [sys.executable, "-c", "from whyclust.command.cli import main; main()"]
    demo = subprocess.run([*command, "demo", "--out", "wine"], capture_output=True, text=True, check=True)
    assert "Report: wine/report.html" in demo.stdout
    # Not a terminal: no colours, and lines of progress only if it takes long.
    assert "\x1b" not in demo.stdout + demo.stderr
    assert all(re.fullmatch(r" *\d+% \w.*", line) for line in demo.stderr.splitlines())
    assert {path.name for path in (folder / "wine").iterdir()} == FILES
    bad = subprocess.run([*command, "explain", "x.csv"], capture_output=True, text=True)
    assert bad.returncode == 2
    assert re.fullmatch(r"whyclust: .*does not exist.*\n", bad.stderr)


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"whyclust {wc.__version__}\n"


def test_help_names_every_option(capsys):
    assert run("explain", "--help") == 0
    text = capsys.readouterr().out
    for option in ("-k", "--out", "--method", "--columns", "--drop", "--id-column", "--labels"):
        assert option in text


def test_progress_is_shown_on_a_terminal(iris, folder, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run("explain", "iris.csv", "-k", 3, "--out", "out") == 0
    assert "Writing the report" in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run("explain", "iris.csv", "-k", 3, "--out", "out", "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_an_audit_is_the_same_job_and_two_files_more(iris, folder, capsys):
    arguments = ["iris.csv", "-k", 3, "--drop", "species", "--id-column", "flower"]
    assert run("explain", *arguments, "--out", "plain") == 0
    capsys.readouterr()
    assert run("audit", *arguments, "--out", "out") == 0
    captured = capsys.readouterr()
    assert {path.name for path in (folder / "out").iterdir()} == FILES | {"audit.json", "audit.csv"}
    for name in ("clusters.csv", "relevance.parquet"):
        assert (folder / "out" / name).read_bytes() == (folder / "plain" / name).read_bytes()

    found = json.loads((folder / "out" / "audit.json").read_text(encoding="utf-8"))
    assert found["trusted"] in {"yes", "with care", "no"}
    told = captured.out.split("Can I trust this?\n")[1].split("\n\nReport")[0].splitlines()
    assert told == found["verdict"]
    methods = pd.read_csv(folder / "out" / "audit.csv")
    assert methods["method"].tolist() == [line["method"] for line in found["methods"]]
    np.testing.assert_allclose(methods["auc"], [line["auc"] for line in found["methods"]])
    assert [line["rows"] for line in found["stability"]] == [
        int(size)
        for size in pd.read_csv(folder / "out" / "clusters.csv")["cluster"].value_counts().sort_index()
    ]
    assert found["settings"]["n_rows"] == 150
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    heading = '<h2 id="trust">Can I trust this?'
    assert heading in page
    assert heading not in (folder / "plain" / "report.html").read_text(encoding="utf-8")
    summary = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["computed"]["audit"]["trusted"] == found["trusted"]

    assert run("explain", *arguments, "--audit", "--out", "flag", "--quiet") == 0
    assert capsys.readouterr().out == ""
    for name in ("audit.json", "audit.csv"):
        assert (folder / "flag" / name).read_bytes() == (folder / "out" / name).read_bytes()


def test_an_audit_of_labels(iris, folder, capsys):
    iris.iloc[::3].to_csv(folder / "iris.csv", index=False)
    assert run("audit", "iris.csv", "--labels", "species", "--id-column", "flower", "--out", "out") == 0
    captured = capsys.readouterr()
    assert "labels were given, and labels cannot be fitted again" in captured.out
    found = json.loads((folder / "out" / "audit.json").read_text(encoding="utf-8"))
    assert found["stability"] is None
    summary = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    assert found["fidelity"]["held_out"] == summary["computed"]["fidelity"]["held_out"]
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert page.index("Can I trust this?") < page.index("Does the surrogate reproduce the labels?")


def test_an_audit_refuses_what_explain_refuses(iris, folder, capsys):
    assert "--labels takes the clusters" in refused(
        capsys, "audit", "iris.csv", "--labels", "species", "-k", 3
    )
    pd.DataFrame({"a": [1.0, 1.1, 5.0, 5.2, 9.0, 9.3]}).to_csv("one.csv", index=False)
    assert "X has one column" in refused(capsys, "audit", "one.csv", "-k", 2, "--out", "out")
    assert not (folder / "out").exists()
    (folder / "out" / "audit.csv").mkdir(parents=True)
    assert "audit.csv' is a folder" in refused(capsys, "audit", "iris.csv", "-k", 3, "--out", "out")


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_permissions_are_those_of_any_new_folder(iris, folder):
    before = os.umask(0o027)
    try:
        assert run("explain", "iris.csv", "-k", 2, "--out", "out", "--quiet") == 0
    finally:
        os.umask(before)
    assert (folder / "out").stat().st_mode & 0o777 == 0o750
    assert {path.stat().st_mode & 0o777 for path in (folder / "out").iterdir()} == {0o640}


def test_the_report_goes_last_into_a_folder_that_is_there(iris, folder, monkeypatch):
    """Who finds a new report finds all other files new, too, wherever the run was stopped."""
    arguments = ["explain", "iris.csv", "-k", 2, "--out", "out", "--quiet"]
    assert run(*arguments) == 0
    moved, plain = [], Path.replace

    def noted(path, target):
        if Path(target).parent.name == "out":
            moved.append(Path(target).name)
        return plain(path, target)

    monkeypatch.setattr(Path, "replace", noted)
    assert run(*arguments) == 0
    assert set(moved) == FILES
    assert moved[-1] == "report.html"


# --------------------------------------------------------------------------- the examples of --help


def test_help_shows_three_examples_of_each_command(capsys):
    for command, examples in EXAMPLES.items():
        assert len(examples) == 3
        assert run(command, "--help") == 0
        page = capsys.readouterr().out
        for example, what in examples:
            assert len(example) <= 78  # a line of a terminal
            assert example.startswith(f"whyclust {command}")
            assert any(line.strip() == example for line in page.splitlines())
            assert what in page
    known = {one.name or one.callback.__name__ for one in app.registered_commands}
    assert set(EXAMPLES) == known - {"serve"}  # which does not end by itself


@pytest.mark.skipif(not CUSTOMERS.exists(), reason="the package is tested without its repository")
@pytest.mark.parametrize("example", [one for part in EXAMPLES.values() for one, _ in part])
def test_the_examples_run(example, folder, capsys):
    (folder / "examples").mkdir()
    shutil.copy(CUSTOMERS, folder / "examples")
    _, *arguments = shlex.split(example)
    assert run(*arguments) == 0
    (result,) = (path for path in folder.iterdir() if path.name != "examples")
    assert set(FILES) <= {path.name for path in result.iterdir()}
    assert ("audit.json" in {path.name for path in result.iterdir()}) == (arguments[0] == "audit")
    out = capsys.readouterr().out
    assert out == "" if "--quiet" in arguments else f"Report: {result.name}/report.html" in out


def test_a_file_without_a_command_is_told_the_command(iris, capsys):
    said = refused(capsys, "iris.csv")
    assert "No such command 'iris.csv': did you mean 'whyclust explain iris.csv'?" in said
    assert "did you mean 'whyclust" not in refused(capsys, "explian")


def test_a_column_that_is_wanted_and_dropped_is_named(iris, capsys):
    column = iris.columns[0]
    said = refused(capsys, "explain", "iris.csv", "--columns", column, "--drop", column)
    assert f"column '{column}' is in --columns and in --drop" in said
