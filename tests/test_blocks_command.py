"""The command by block: what it writes, that it is what the whole table gives, kills, and folders in use."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans

import whyclust as wc
from block_tables import COLUMNS, clusters, largest, parquet, small_blocks
from whyclust.blocks.engines import Dask, Processes, ThisProcess
from whyclust.blocks.job import Job
from whyclust.command import by_block, by_block_planning
from whyclust.command.asking_blocks import how_by_block
from whyclust.command.by_block import Asked, explain_by_block
from whyclust.command.cli import _exit_code
from whyclust.command.new_rows import explain_new_rows
from whyclust.command.options import Options
from whyclust.command.result_files import write_result
from whyclust.command.run import explain_table
from whyclust.tables import Table, read_table

# Relevance is kept in single precision.
SINGLE = 1e-6


@pytest.fixture
def folder(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    return parquet(clusters(gaps=True), tmp_path / "in")


@pytest.fixture
def no_page(monkeypatch):
    """Where the report is not looked at: it takes seconds."""
    import whyclust.report

    monkeypatch.setattr(
        whyclust.report, "to_html", lambda explanation, path, **options: path.write_text("page")
    )


def relevance(out):
    return wc.Explanation.concat([wc.load(path) for path in sorted((out / "relevance").iterdir())])


def lines(out):
    parts = [pd.read_parquet(path) for path in sorted((out / "clusters").iterdir())]
    return pd.concat(parts, ignore_index=True)


def summary(out):
    return json.loads((out / "summary.json").read_text())


def same_summary(one, other):
    for mine, theirs in zip(one["clusters"], other["clusters"], strict=True):
        assert {key: mine[key] for key in ("cluster", "name", "size", "typical", "borderline")} == {
            key: theirs[key] for key in ("cluster", "name", "size", "typical", "borderline")
        }
        assert abs(mine["evidence"] - theirs["evidence"]) < SINGLE
        for column, expected in zip(mine["features"], theirs["features"], strict=True):
            assert column["feature"] == expected["feature"]
            assert abs(column["relevance"] - expected["relevance"]) < SINGLE
            assert column["direction"] == expected["direction"]
            for key in ("inside", "outside", "there"):
                if isinstance(expected[key], float):
                    assert abs(column[key] - expected[key]) < SINGLE
                else:
                    assert column[key] == expected[key]


@pytest.mark.parametrize("engine", [ThisProcess, lambda: Processes(2)], ids=["process", "processes"])
def test_the_same_model_gives_what_the_whole_table_gives(folder, tmp_path, engine, no_page):
    whole = explain_table(read_table(folder), k=3, drop=["group"])
    write_result(whole, tmp_path / "whole")
    network = wc.load(tmp_path / "whole" / "model.npz")
    run = engine()
    try:
        explain_by_block([folder], tmp_path / "out", run, Options(), network=network)
    finally:
        run.close()
    found = relevance(tmp_path / "out")
    assert found.values.dtype == np.float32
    scale = np.abs(whole.explanation.values).max()
    assert largest(found.values, whole.explanation.values) / scale < SINGLE
    for name in ("base_values", "explained", "evidence"):
        assert largest(getattr(found, name), getattr(whole.explanation, name)) / scale < SINGLE
    assert found.index.tolist() == list(range(1, 901))
    pd.testing.assert_frame_equal(lines(tmp_path / "out"), whole.clusters, atol=SINGLE, check_dtype=False)
    same_summary(summary(tmp_path / "out"), summary(tmp_path / "whole"))


def test_a_fit_by_block_is_as_good_as_that_of_the_whole_table(folder, tmp_path):
    whole = explain_table(read_table(folder), k=3, drop=["group"])
    found = explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(k=3, drop=("group",)))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "SHA256SUMS",
        "clusters",
        "manifest.json",
        "model.npz",
        "relevance",
        "report.html",
        "summary.json",
    ]
    # These clusters stand apart: the two fits find the same, under other numbers.
    one, other = lines(tmp_path / "out")["cluster"], whole.clusters["cluster"]
    assert (pd.crosstab(one, other) > 0).sum().sum() == 3
    assert abs(summary(tmp_path / "out")["computed"]["beta"] - whole.explanation.beta) < 1e-9
    page = (tmp_path / "out" / "report.html").read_text()
    assert "900 rows" in page
    assert "holds" in found.sentences[0]
    network = wc.load(tmp_path / "out" / "model.npz")
    frame = pd.read_parquet(folder)
    assert network.predict(frame.drop(columns="group")).tolist() == one.tolist()


def test_the_report_of_drawn_rows_tells_of_all(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(by_block_planning, "SAMPLE_ROWS", 90)
    found = explain_by_block(
        [folder], tmp_path / "out", ThisProcess(), Options(k=3, drop=("group",)), Asked({0: "first"})
    )
    told = summary(tmp_path / "out")
    assert told["computed"]["n_rows"] == 900 == sum(one["size"] for one in told["clusters"])
    assert told["computed"]["drawn_rows"] < 150
    assert any("drawn across the table" in note for note in found.notes)
    assert "of 900 rows" in found.sentences[0] and "'first'" in found.sentences[0]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "900 rows" in page and "drawn across the table" in page
    # Rows that are named are numbered as in the table.
    typical = told["clusters"][0]["typical"][0]
    assert f"Row {typical + 1} is typical" in found.sentences[0]


def test_a_page_without_rows_tells_of_all_but_very_few(tmp_path, monkeypatch):
    """Clusters of fewer than five rows of the table have no part in any mean; others are told exactly."""
    from whyclust import report

    pages, made = [], report.page.page_data

    def noticed(page, *given, **options):
        pages.append(page)
        return made(page, *given, **options)

    monkeypatch.setattr(report.page, "page_data", noticed)
    monkeypatch.setattr(by_block_planning, "SAMPLE_ROWS", 90)
    small_blocks(monkeypatch)
    frame = clusters(n_rows=600)[[*COLUMNS, "colour", "group"]]
    frame.loc[[5, 300], "group"] = 9
    frame.loc[[5, 300], COLUMNS] = 50.0
    folder = parquet(frame, tmp_path / "in")
    explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(labels="group"), Asked(rows=False))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "598 rows" in page and "Cluster 9, of fewer than 5 rows, is left out" in page
    told = pages[0].explanation.summary()
    left = frame[frame["group"] != 9]
    assert [one.size for one in told] == left["group"].value_counts().sort_index().tolist()
    for one in told:
        own = left["group"] == one.cluster
        lines = one.features.set_index("feature")
        for name in lines.index.intersection(COLUMNS):
            assert abs(lines.loc[name, "inside"] - left.loc[own, name].mean()) < 1e-9
            assert abs(lines.loc[name, "outside"] - left.loc[~own, name].mean()) < 1e-9
    assert [one["size"] for one in summary(tmp_path / "out")["clusters"]][-1] == 2


def test_labels_have_a_certificate_from_other_rows(tmp_path, monkeypatch, no_page):
    from whyclust.blocks import labelling

    monkeypatch.setattr(labelling, "SURROGATE_ROWS", 150)
    monkeypatch.setattr(labelling, "FEWEST_OF_A_LABEL", 8)
    small_blocks(monkeypatch)
    frame = clusters(n_rows=700)
    frame.loc[::50, "group"] = -1
    folder = parquet(frame, tmp_path / "in")
    found = explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(labels="group"))
    told = summary(tmp_path / "out")["computed"]
    drawn = told["fitted_rows"]
    assert 100 < drawn < 230
    assert f"was fitted to {drawn} rows" in found.headlines[0]
    assert f"labels of the other {700 - drawn} rows" in found.headlines[0]
    # The report tells how it was measured, and no note corrects it.
    said = relevance(tmp_path / "out").fidelity.sentences()[0]
    assert f"on rows it had not seen (all {700 - drawn} other rows)" in said
    assert not any("cross-validation" in note for note in [said, *found.notes])
    lined = lines(tmp_path / "out")
    assert told["disagreeing_rows"] == lined["disagrees"].sum()
    assert (lined["cluster"] == frame["group"]).all()
    # Literally: of the rows not drawn, the share that the network gives their label.
    network = wc.load(tmp_path / "out" / "model.npz")
    counts = frame["group"].value_counts().to_dict()
    assert sum(one["rows"] for one in told["fidelity"]["clusters"]) == 700
    shares = labelling.shares_of(counts)
    rule = labelling.LabelledRows((), "group", shares, 0)
    others = ~rule.drawn(np.arange(700), frame["group"].to_numpy())
    assert others.sum() == 700 - drawn
    assigned = network.predict(frame.drop(columns="group"))
    for one in told["fidelity"]["clusters"]:
        own = others & (frame["group"] == one["cluster"]).to_numpy()
        got = others & (assigned == one["cluster"])
        assert abs(one["held_out"] - (assigned[own] == one["cluster"]).mean()) < 1e-12
        expected = (frame["group"].to_numpy()[got] == one["cluster"]).mean() if got.any() else 1.0
        assert abs(one["precision"] - expected) < 1e-12


def test_a_label_whose_rows_were_all_drawn_keeps_its_cross_validation():
    from whyclust.blocks.labelling import certificate
    from whyclust.cluster.fidelity import Fidelity

    fitted = Fidelity(
        np.array([0, 1]), np.array([5, 3]), np.ones(2), np.array([0.8, 0.5]), np.array([0.9, 0.6])
    )
    others = np.array([[0, 40], [10, 30], [0, 30]])
    found = certificate(fitted, np.array([0, 1]), {0: 5, 1: 43}, others)
    assert found.held_out.tolist() == [0.8, 0.75]
    assert found.precision.tolist() == [0.0, 1.0]
    assert found.sizes.tolist() == [5, 43]
    assert found.unseen == "all 40 other rows, and cross-validation where a label has none"


def test_a_row_without_a_label_is_refused(tmp_path):
    frame = clusters(n_rows=60)
    frame["group"] = frame["group"].astype(float)
    frame.loc[41, "group"] = np.nan
    folder = parquet(frame, tmp_path / "in", n_files=1)
    with pytest.raises(ValueError, match="row 42 has no label in column 'group'"):
        explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(labels="group"))


@pytest.mark.parametrize("method", ["kernel", "soft", "minibatch"])
def test_other_methods(folder, tmp_path, method, monkeypatch, no_page):
    from whyclust.command import by_block_fitting

    monkeypatch.setattr(by_block_fitting, "MOST_FITTED", 300)
    found = explain_by_block(
        [folder], tmp_path / "out", ThisProcess(), Options(k=3, method=method, drop=("group", "colour"))
    )
    told = any(f"--method {method} was fitted to 300 rows, drawn" in note for note in found.notes)
    assert told == (method != "minibatch")
    frame = pd.read_parquet(folder)
    table = pd.crosstab(lines(tmp_path / "out")["cluster"], frame["group"])
    assert (table.max(axis=1).sum() / 900) > 0.95


def test_k_is_chosen_on_drawn_rows(folder, tmp_path, no_page):
    found = explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(drop=("group", "colour")))
    assert summary(tmp_path / "out")["computed"]["k"] == 3
    assert "chosen on 900 rows, drawn across the table" in found.headlines[0]


def test_ids_name_the_rows_and_relevance_can_be_left_out(tmp_path, monkeypatch, no_page):
    small_blocks(monkeypatch)
    frame = clusters(n_rows=300)
    frame.insert(0, "customer", [f"c{number}" for number in range(300)])
    frame.loc[7, "customer"] = None
    folder = parquet(frame, tmp_path / "in")
    options = Options(k=3, id_column="customer", drop=("group",))
    for keep in ("all", "nothing"):
        explain_by_block([folder], tmp_path / keep, ThisProcess(), options, Asked(keep=keep))
    assert not (tmp_path / "nothing" / "relevance").exists()
    with_rows = relevance(tmp_path / "all")
    assert largest(with_rows.data[COLUMNS], frame[COLUMNS]) < 1e-12
    pd.testing.assert_frame_equal(lines(tmp_path / "all"), lines(tmp_path / "nothing"))
    assert lines(tmp_path / "all")["customer"].tolist() == frame["customer"].fillna("row 8").tolist()
    same_summary(summary(tmp_path / "all"), summary(tmp_path / "nothing"))


def test_rows_of_another_part_are_refused(tmp_path, monkeypatch, no_page):
    """Their ids tell: the column that named the rows is known in each part."""
    small_blocks(monkeypatch)
    frame = clusters(n_rows=300)
    frame.insert(0, "customer", [f"c{number:03}" for number in range(300)])
    frame.loc[7, "customer"] = None
    folder = parquet(frame, tmp_path / "in")
    options = Options(k=3, id_column="customer", drop=("group",))
    explain_by_block([folder], tmp_path / "out", ThisProcess(), options)
    parts = [wc.load(path) for path in sorted((tmp_path / "out" / "relevance").iterdir())]
    first, second = parts[0], parts[2]
    rows = frame[: len(first)].reset_index(drop=True)
    assert len(second) == len(first)
    told = "column 'customer' of data has other rows than the explanation .*'c000', and 'c.*pass the rows"
    with pytest.raises(ValueError, match=told):
        second.with_data(rows)
    with pytest.raises(ValueError, match=told):
        second[::-1].with_data(rows)
    pd.testing.assert_frame_equal(first.with_data(rows).data[COLUMNS].reset_index(drop=True), rows[COLUMNS])
    named = wc.Explanation.concat(parts)[8:].with_data(frame[8:].sample(frac=1, random_state=0))
    assert largest(named.data[COLUMNS], frame[COLUMNS][8:]) == 0
    # Without ids there is nothing to compare.
    assert len(second.with_data(rows.drop(columns="customer"))) == len(second)


@pytest.mark.parametrize("kind", ["Int64", "float64", "datetime64[ms]"])
@pytest.mark.parametrize("by_model", [False, True])
def test_a_gap_among_ids_makes_all_of_them_text(tmp_path, monkeypatch, no_page, kind, by_model):
    small_blocks(monkeypatch)
    frame = clusters(n_rows=300)[[*COLUMNS]]
    ids = pd.Series(range(1000, 1300), dtype="Int64")
    ids[250] = None
    frame["customer"] = ids.astype(kind) if kind != "datetime64[ms]" else pd.to_datetime(ids, unit="D")
    folder = parquet(frame, tmp_path / "in")
    network = wc.neuralize(KMeans(3, n_init=1, random_state=0).fit(frame[COLUMNS])) if by_model else None
    options = Options(id_column="customer") if by_model else Options(k=3, id_column="customer")
    out = tmp_path / "out"
    explain_by_block([folder], out, ThisProcess(), options, network=network)
    told = [str(frame["customer"][place]).removesuffix(".0") for place in range(300)]
    told[250] = "row 251"
    assert lines(out)["customer"].tolist() == told
    assert relevance(out).index.tolist() == told
    assert pd.read_parquet(out / "clusters")["customer"].tolist() == told
    assert len(pd.read_parquet(out / "relevance")) == 300


@pytest.mark.parametrize("gap", [slice(0, 120), slice(120, 300)], ids=["first", "last"])
def test_a_text_that_some_parts_lack_is_read_with_the_rows(tmp_path, monkeypatch, no_page, gap):
    small_blocks(monkeypatch)
    frame = clusters(n_rows=300)[[*COLUMNS, "colour"]]
    frame.iloc[gap, -1] = None
    folder = parquet(frame, tmp_path / "in")
    out = tmp_path / "out"
    explain_by_block([folder], out, ThisProcess(), Options(k=3), Asked(keep="all"))
    found = pd.read_parquet(out / "relevance")["data.colour"]
    assert found.fillna("none").tolist() == frame["colour"].fillna("none").tolist()
    assert relevance(out).data["colour"].fillna("none").tolist() == found.fillna("none").tolist()


@pytest.mark.parametrize("keep", ["usual", "all", "nothing"])
def test_typical_rows_are_those_of_the_whole_table(tmp_path, monkeypatch, no_page, keep):
    """Rows of gaps are near the mean, and not typical; of copies one is named."""
    small_blocks(monkeypatch)
    frame = clusters(300).drop(columns=["group", "colour"])
    frame.loc[np.random.default_rng(0).random(300) < 0.5, COLUMNS[2:]] = np.nan
    folder = parquet(pd.concat([frame, frame[::-1]]), tmp_path / "in")
    whole = explain_table(read_table(folder), k=3)
    write_result(whole, tmp_path / "whole")
    network = wc.load(tmp_path / "whole" / "model.npz")
    out = tmp_path / "out"
    explain_by_block([folder], out, ThisProcess(), Options(), Asked(keep=keep), network=network)
    for one, other in zip(summary(out)["clusters"], summary(tmp_path / "whole")["clusters"], strict=True):
        assert (one["typical"], one["borderline"]) == (other["typical"], other["borderline"])


def test_files_of_parts_are_sealed(folder, tmp_path, no_page):
    explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(k=3, drop=("group",)))
    path = sorted((tmp_path / "out" / "relevance").iterdir())[0]
    assert pq.read_schema(path).field("relevance.a").type == "float"
    changed = bytearray(path.read_bytes())
    changed[len(changed) // 3] ^= 4
    path.write_bytes(changed)
    with pytest.raises(ValueError, match="damaged"):
        wc.load(path)


def test_the_index_of_pandas_is_no_feature(tmp_path, no_page):
    frame = clusters(n_rows=120)[COLUMNS]
    names = pd.Index(np.random.default_rng(0).permutation(120) + 7000, name="customer")
    (tmp_path / "in").mkdir()
    frame.set_axis(names).to_parquet(tmp_path / "in" / "rows.parquet")
    options = Options(k=3, id_column="customer")
    for out, asked in (("unnamed", Options(k=3)), ("named", options)):
        explain_by_block([tmp_path / "in"], tmp_path / out, ThisProcess(), asked)
        assert relevance(tmp_path / out).feature_names == COLUMNS
    assert lines(tmp_path / "named")["customer"].tolist() == names.tolist()


def test_results_among_the_files_are_refused(folder):
    for out in (folder, folder / "out"):
        before = sorted(folder.rglob("*"))
        with pytest.raises(ValueError, match="is in the folder that is read"):
            explain_by_block([folder], out, ThisProcess(), Options(k=3))
        assert sorted(folder.rglob("*")) == before


def test_files_that_change_meanwhile_are_refused(folder, tmp_path, no_page):
    def change(message):
        if message == "Explaining every row":
            parquet(clusters(seed=1, gaps=True), folder)

    with pytest.raises(ValueError, match=r"0\.parquet' was changed while it was read"):
        explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(k=3), progress=change)
    assert not (tmp_path / "out" / "report.html").exists()


def test_names_are_refused_before_the_work(folder, tmp_path, no_page):
    """At once where k or the model is known; else when it is chosen, and other names go on with the job."""
    wrong, out = Asked({"9": "young"}), tmp_path / "out"
    network = wc.neuralize(KMeans(3, n_init=1, random_state=0).fit(clusters()[COLUMNS]))
    for options, model in ((Options(k=3), None), (Options(), network)):
        with pytest.raises(ValueError, match="names has cluster '9', expected one of 0, 1, 2"):
            explain_by_block([folder], out, ThisProcess(), options, wrong, network=model)
        assert not out.exists()
    with pytest.raises(ValueError, match="names has cluster '9', expected one of 0, 1, 2"):
        explain_by_block([folder], out, ThisProcess(), Options(drop=("group",)), wrong)
    assert not (out / "unfinished" / "explained").exists()
    explain_by_block([folder], out, ThisProcess(), Options(drop=("group",)), Asked({"1": "old"}), resume=True)
    assert "old" in lines(out)["cluster_name"].tolist()


@pytest.mark.parametrize("stopped", ["_shown", "_move"])
def test_a_job_goes_on_under_other_names(folder, tmp_path, monkeypatch, no_page, stopped):
    """What they define is made again, and nothing else; finished results are those of their names."""
    from whyclust.command import by_block_files

    def interrupted(*_):
        raise KeyboardInterrupt

    job = [folder], tmp_path / "out", ThisProcess(), Options(k=3)
    with monkeypatch.context() as patched:
        patched.setattr(by_block if stopped == "_shown" else by_block_files, stopped, interrupted)
        with pytest.raises(KeyboardInterrupt):
            explain_by_block(*job, Asked({"0": "young"}, title="one"))
    before = parts_of(tmp_path / "out")
    after = {}
    finish = Job.finish
    monkeypatch.setattr(Job, "finish", lambda job: (after.update(parts_of(tmp_path / "out")), finish(job)))
    explain_by_block(*job, Asked({"0": "old"}, title="two", rows=False), resume=True)
    again = {path for path in before if after[path] != before[path]}
    assert again == {path for path in before if path.parent.name == "typical"}
    assert "old" in lines(tmp_path / "out")["cluster_name"].tolist()
    assert "young" not in lines(tmp_path / "out")["cluster_name"].tolist()
    explain_by_block(*job, Asked({"0": "old"}, title="two", rows=False), resume=True)
    with pytest.raises(ValueError, match=r"is of another job \(--names was 0=old, is 0=young\)"):
        explain_by_block(*job, Asked({"0": "young"}, title="two", rows=False), resume=True)


# ---- audits ----


def test_an_audit_is_of_drawn_rows_and_says_so(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(by_block_planning, "SAMPLE_ROWS", 90)
    out = tmp_path / "out"
    arguments = ["explain", str(folder), "-k", "3", "--drop", "group", "--engine", "process", "--audit"]
    assert _exit_code([*arguments, "--out", str(out)]) == 0
    told = summary(out)["computed"]
    sentence = f"This was audited on a sample, {told['drawn_rows']} of all 900 rows, drawn across the table"
    printed = capsys.readouterr().out
    assert "Can I trust this?" in printed and sentence in printed
    assert sentence in (out / "report.html").read_text()
    found = json.loads((out / "audit.json").read_text())
    assert found["settings"]["n_rows"] == told["drawn_rows"] < 150
    assert found["settings"]["n_table"] == 900
    assert found["trusted"] == told["audit"]["trusted"]
    assert found["stability_unknown"] is None and set(found["refits"]) == {"bootstrap", "reseed"}
    assert pd.read_csv(out / "audit.csv")["method"].tolist()[0] == found["best"]
    assert {"audit.csv", "audit.json"} <= set((out / "SHA256SUMS").read_text().split())
    assert _exit_code([*arguments, "--out", str(out), "--resume"]) == 0
    assert "nothing was computed" in capsys.readouterr().err
    arguments.remove("--audit")
    assert _exit_code([*arguments, "--out", str(out), "--resume"]) == 2
    assert "is of another job (--audit differs)" in capsys.readouterr().err


def test_an_audit_of_all_rows_is_that_of_the_whole_table(tmp_path, no_page):
    """The same network and rows have the same areas, whoever asks."""
    frame = clusters(n_rows=150)[COLUMNS]
    folder = parquet(frame, tmp_path / "in")
    out = tmp_path / "out"
    found = explain_by_block([folder], out, ThisProcess(), Options(k=3), Asked(audit=True))
    assert not any("audited on a sample" in sentence for sentence in found.verdict)
    whole = wc.audit(wc.load(out / "model.npz"), frame, n_refits=0)
    areas = json.loads((out / "audit.json").read_text())["methods"]
    for one, expected in zip(areas, whole.methods.to_dict("records"), strict=True):
        assert one["method"] == expected["method"]
        assert abs(one["auc"] - expected["auc"]) < 1e-6


def test_labels_are_audited(folder, tmp_path, monkeypatch, no_page):
    monkeypatch.setattr(by_block_planning, "SAMPLE_ROWS", 90)
    out = tmp_path / "out"
    found = explain_by_block([folder], out, ThisProcess(), Options(labels="group"), Asked(audit=True))
    assert "audited on a sample" in found.verdict[1]
    audit = json.loads((out / "audit.json").read_text())
    assert "labels cannot be fitted again" in audit["stability_unknown"]
    assert audit["fidelity"]["clusters"]


def test_what_cannot_be_audited_is_told(tmp_path, no_page):
    folder = parquet(clusters(n_rows=90)[["a"]], tmp_path / "in")
    out = tmp_path / "out"
    found = explain_by_block([folder], out, ThisProcess(), Options(k=3), Asked(audit=True))
    assert any(note.startswith("There is no audit: X has one column") for note in found.notes)
    assert found.verdict == [] and not (out / "audit.json").exists()
    assert summary(out)["computed"]["audit"] is None


def test_the_verdict_outlives_a_kill(tmp_path, monkeypatch, no_page):
    """Killed while files are moved, a job tells its verdict when it goes on, and audits no second time."""
    from whyclust.command import by_block_files

    def stopped(made, place):
        raise KeyboardInterrupt

    folder = parquet(clusters(n_rows=90)[COLUMNS], tmp_path / "in")
    job = [folder], tmp_path / "out", ThisProcess(), Options(k=3), Asked(audit=True)
    with monkeypatch.context() as patched:
        patched.setattr(by_block_files, "_move", stopped)
        with pytest.raises(KeyboardInterrupt):
            explain_by_block(*job)
    monkeypatch.setattr(by_block, "audit_shown", None)
    found = explain_by_block(*job, resume=True)
    assert found.verdict == json.loads((tmp_path / "out" / "audit.json").read_text())["verdict"]


@pytest.mark.parametrize("method", ["kmeans", "minibatch"])
def test_what_is_fitted_again_does_not_begin_with_what_was_found(method):
    """Else clusters would come back whatever the rows are."""
    from sklearn.base import clone

    from whyclust.command.by_block_fitting import refittable
    from whyclust.command.clusterers import made

    rows = clusters()[COLUMNS].to_numpy()
    centers = rows[:3]
    model = refittable(made(method, 3, 0), centers)
    assert np.array_equal(model.cluster_centers_, centers)
    nearest = ((rows[:, None] - centers) ** 2).sum(-1).argmin(1)
    assert np.array_equal(model.predict(rows), nearest)
    again, alone = clone(model).fit(rows), made(method, 3, 0).fit(rows)
    assert np.array_equal(again.cluster_centers_, alone.cluster_centers_)


# ---- the command line ----


def test_the_command_line(folder, tmp_path, capsys, no_page):
    out = tmp_path / "out"
    arguments = [
        "explain",
        str(folder),
        "-k",
        "3",
        "--drop",
        "group",
        "--engine",
        "process",
        "--out",
        str(out),
    ]
    assert _exit_code(arguments) == 0
    printed = capsys.readouterr()
    assert "holds" in printed.out and f"Report: {out / 'report.html'}" in printed.out
    before = (out / "report.html").stat().st_mtime_ns
    assert _exit_code([*arguments, "--resume"]) == 0
    assert "nothing was computed" in capsys.readouterr().err
    assert (out / "report.html").stat().st_mtime_ns == before
    assert _exit_code([*arguments, "--resume", "--seed", "1"]) == 2
    assert "is of another job (--seed was 0, is 1)" in capsys.readouterr().err
    new = tmp_path / "new"
    model = ["--model", str(out / "model.npz"), "--engine", "process", "--out", str(new)]
    assert _exit_code(["explain", str(folder), *model, "--quiet"]) == 0
    pd.testing.assert_frame_equal(lines(new), lines(out), check_dtype=False)


def test_results_that_have_changed_are_not_taken_for_finished(folder, tmp_path, no_page):
    out = tmp_path / "out"
    explain_by_block([folder], out, ThisProcess(), Options(k=3))
    told = {"manifest.json", "SHA256SUMS"}
    files = [path for path in sorted(out.rglob("*")) if path.is_file() and path.name not in told]
    assert len(files) > 10
    for path in (files[0], *(out / "relevance").glob("part-000001-0000.parquet"), out / "report.html"):
        kept = path.read_bytes()
        name = path.relative_to(out)
        path.write_bytes(kept[:20] + bytes([kept[20] ^ 1 if len(kept) > 20 else 0]) + kept[21:])
        with pytest.raises(ValueError, match=f"but '{name}' has changed since: run the command without"):
            explain_by_block([folder], out, ThisProcess(), Options(k=3), resume=True)
        path.unlink()
        with pytest.raises(ValueError, match=f"but '{name}' is missing"):
            explain_by_block([folder], out, ThisProcess(), Options(k=3), resume=True)
        path.write_bytes(kept)
    found = explain_by_block([folder], out, ThisProcess(), Options(k=3), resume=True)
    assert "nothing was computed" in found.notes[0]


def test_workers_without_a_block_are_told(folder, tmp_path, monkeypatch, no_page):
    from whyclust.blocks import source

    def notes(workers):
        engine = ThisProcess()
        engine.workers = workers
        out = tmp_path / f"out-{workers}"
        return " ".join(explain_by_block([folder], out, engine, Options(k=3)).notes)

    monkeypatch.setattr(source, "BLOCK_NUMBERS", 10**6)
    told = notes(2)
    assert "so 1 worker of 2 was used." in told and "A block is 1,000,000 numbers" in told
    assert "worker" not in notes(1)


def test_new_rows_by_block_print_no_warnings(folder, tmp_path, capsys, recwarn, no_page):
    """What is strange in the rows is a note; --no-relevance explains them twice."""
    frame = pd.read_parquet(folder)
    explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(k=3, drop=("group",)))
    strange = parquet(frame.assign(a=frame["a"].where(frame.index != 7), colour="violet"), tmp_path / "new")
    arguments = ["explain", str(strange), "--model", str(tmp_path / "out" / "model.npz"), "--quiet"]
    arguments += ["--engine", "process", "--no-relevance", "--out", str(tmp_path / "told")]
    assert _exit_code(arguments) == 0
    assert capsys.readouterr().err == "" and not recwarn.list
    assert any("violet" in note for note in summary(tmp_path / "told")["computed"]["notes"])


def test_new_rows_by_block_have_the_notes_of_the_whole_table(tmp_path, monkeypatch, no_page):
    """Gaps where the model's table had none, added up over the blocks, and columns that are left out."""
    small_blocks(monkeypatch)
    frame = clusters(n_rows=600)
    network = explain_table(Table(frame), k=3, drop=["group"]).network
    new = clusters(n_rows=600, seed=0).assign(more=1.0)
    new.loc[::3, "c"] = np.nan
    new.loc[5, "colour"] = "violet"
    whole = explain_new_rows(Table(new), network)
    folder = parquet(new, tmp_path / "in")
    found = explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(), network=network)
    assert "In 200 of 600 rows column 'c' holds no number as the model's table had them" in str(whole.notes)
    assert "Columns that the model does not use were left out: 'group', 'more'." in whole.notes
    assert set(whole.notes) == {note for note in found.notes if not note.startswith("The table was read")}
    assert wc.load(tmp_path / "out" / "model.npz").reading == network.reading
    pd.testing.assert_frame_equal(lines(tmp_path / "out"), whole.clusters, atol=SINGLE, check_dtype=False)


def test_so_many_clusters_are_compared_with_drawn_rows(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(by_block_planning, "SAMPLE_ROWS", 90)
    with pytest.raises(ValueError, match=r"but only \d+ distinct rows among those drawn from the table"):
        explain_by_block([folder], tmp_path / "out", ThisProcess(), Options(k=500))


def test_what_blocks_do_not_know_is_told_once(tmp_path, monkeypatch):
    """As the whole table tells it: the counts of the batches, added up."""
    small_blocks(monkeypatch)
    monkeypatch.setattr(by_block_planning, "SAMPLE_ROWS", 90)
    frame = clusters(n_rows=600)[[*COLUMNS, "colour"]]
    first = explain_table(read_table(parquet(frame, tmp_path / "in")), k=3)
    chance = np.random.default_rng(0).random((2, 600))
    strange = frame.assign(
        a=[("far" if chance[0, row] < 0.2 else str(value)) for row, value in enumerate(frame["a"])],
        colour=frame["colour"].where(chance[1] < 0.8, "violet"),
    )
    strange = parquet(strange, tmp_path / "new")
    out = tmp_path / "out"
    found = explain_by_block([strange], out, ThisProcess(), Options(), network=first.network)
    notes = [note for note in found.notes if note.startswith("In ")]
    whole = explain_new_rows(Table(pd.read_parquet(strange)), first.network)
    assert notes == [note for note in whole.notes if note.startswith("In ")]
    assert len(notes) == 2
    page = (out / "report.html").read_text()
    assert set(re.findall(r"In [\d,]+ of ([\d,]+) rows column", page)) == {"600"}


def test_only_parts_of_the_job_are_results(folder, tmp_path, monkeypatch, no_page):
    def interrupted(*_):
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(by_block, "_shown", interrupted)
        with pytest.raises(KeyboardInterrupt):
            explain_by_block([folder], out, ThisProcess(), Options(k=3))
    parts = out / "unfinished" / "relevance"
    for name in ("part-000999-0000.parquet", "part-000000-0009.parquet"):
        shutil.copy(parts / "part-000000-0000.parquet", parts / name)
    explain_by_block([folder], out, ThisProcess(), Options(k=3), resume=True)
    assert len(relevance(out)) == len(lines(out)) == 900
    told = {line.split("  ", 1)[1] for line in (out / "SHA256SUMS").read_text().splitlines()}
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert files == told | {"SHA256SUMS"}


def test_an_interrupted_job_tells_how_to_go_on(folder, tmp_path, capsys, monkeypatch, no_page):
    def interrupted(*_):
        raise KeyboardInterrupt

    out = tmp_path / "out"
    arguments = ["explain", str(folder), "-k", "3", "--engine", "process", "--out", str(out), "--quiet"]
    with monkeypatch.context() as patched:
        patched.setattr(by_block, "_shown", interrupted)
        assert _exit_code(arguments) == 130
    assert "what is finished is kept in" in capsys.readouterr().err
    assert _exit_code([*arguments, "--resume"]) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engine", "cluster"], "there is no --engine 'cluster'"),
        (["--workers", "2"], "--workers is for tables by block"),
        (["--resume"], "--resume goes on with a job by block"),
        (["--engine", "process", "--workers", "2"], "--workers has nothing to do"),
        (["--engine", "process", "--columns", "nothing"], "there is no column 'nothing'"),
    ],
)
def test_wrong_options_are_told(folder, tmp_path, capsys, arguments, told):
    assert _exit_code(["explain", str(folder), "-k", "3", "--out", str(tmp_path / "out"), *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["-k", "3", "--id-column", "nope"], "there is no column 'nope'"),
        (["-k", "3", "--columns", "nope"], "there is no column 'nope'"),
        (["--labels", "nope"], "there is no column 'nope'"),
        (["--labels", "b"], "has no label in column 'b'"),
        (["--engine", "processes", "--workers", "2", "--labels", "b"], "has no label in column 'b'"),
        (["-k", "1000"], "distinct rows"),
    ],
)
def test_a_command_that_was_refused_is_no_job(folder, tmp_path, capsys, no_page, wrong, told):
    out = tmp_path / "out"
    common = ["--engine", "process", "--drop", "group", "--quiet", "--out", str(out)]
    # Of an option that is given twice the last one counts.
    assert _exit_code(["explain", str(folder), *common, *wrong]) == 2
    assert told in capsys.readouterr().err
    assert _exit_code(["explain", str(folder), "-k", "3", *common]) == 0
    assert not (out / "unfinished").exists()


def test_results_outlive_a_command_that_was_refused(folder, tmp_path, capsys, no_page):
    out = tmp_path / "out"
    right = ["explain", str(folder), "-k", "3", "--engine", "process", "--out", str(out)]
    assert _exit_code(right) == 0
    assert _exit_code([*right, "--id-column", "nope"]) == 2
    assert _exit_code(["explain", str(folder / "nothing"), *right[2:]]) == 2
    capsys.readouterr()
    assert _exit_code([*right, "--resume"]) == 0
    assert "nothing was computed" in capsys.readouterr().err


def test_rows_of_csv_outlive_a_command_that_was_refused(tmp_path, capsys, no_page):
    """They take long, and are the same for the next command; other files have others."""
    clusters(90)[COLUMNS].to_csv(tmp_path / "rows.csv", index=False)
    staged = tmp_path / "out" / "unfinished" / "staged" / "rows-000000.parquet"
    seen = []
    for last in (["--columns", "nope"], ["--drop", "nope"]):
        command = ["explain", str(tmp_path / "rows.csv"), "-k", "3", "--engine", "process", *last]
        assert _exit_code([*command, "--out", str(tmp_path / "out")]) == 2
        assert "there is no column 'nope'" in capsys.readouterr().err
        seen.append(staged.stat().st_ino)
    assert seen[0] == seen[1]
    clusters(120)[COLUMNS].to_csv(tmp_path / "rows.csv", index=False)
    assert _exit_code([*command[:-2], "--quiet", "--out", str(tmp_path / "out")]) == 0
    assert len(lines(tmp_path / "out")) == 120


def test_results_without_blocks_are_not_mixed_with_others(folder, tmp_path, capsys, no_page):
    out = tmp_path / "out"
    assert _exit_code(["explain", str(folder), "-k", "3", "--out", str(out), "--quiet"]) == 0
    again = ["explain", str(folder), "-k", "3", "--out", str(out), "--engine", "process"]
    assert _exit_code(again) == 2
    assert "is of a run without blocks" in capsys.readouterr().err


def test_tables_that_do_not_fit_are_computed_by_block(folder, monkeypatch):
    from whyclust.blocks import source
    from whyclust.command import asking_blocks

    assert how_by_block([folder], None) is None
    monkeypatch.setattr(asking_blocks, "SMALL_BYTES", 0)
    monkeypatch.setattr(source, "memory_of_machine", lambda: 10**12)
    assert how_by_block([folder], None) is None
    monkeypatch.setattr(source, "memory_of_machine", lambda: 100_000)
    found = how_by_block([folder], None)
    assert found.engine == "process"
    assert "more than 50% of the memory" in found.note


# ---- kills ----

JOB = """
import sys
from pathlib import Path
import whyclust.report
from whyclust.blocks import source
from whyclust.blocks.engines import ThisProcess
from whyclust.command.by_block import explain_by_block
from whyclust.command.new_rows import explain_new_rows
from whyclust.command.options import Options

source.BLOCK_NUMBERS, source.BATCH_NUMBERS = 400, 400
whyclust.report.to_html = lambda explanation, path, **options: path.write_text("page")
folder, out = map(Path, sys.argv[1:])
explain_by_block([folder], out, ThisProcess(), Options(k=3, drop=("group",)))
"""


def job_in_a_process(folder, out):
    return subprocess.Popen(
        [sys.executable, "-c", JOB, str(folder), str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def parts_of(out):
    """Every file of a part, with what tells whether it was written anew."""
    stages = [one for one in (out / "unfinished").glob("*") if one.is_dir()]
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns)
        for one in stages
        for path in one.glob("[0-9]*.npz")
    }


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.005)


@pytest.mark.parametrize("stage", ["facts", "start-0", "explained", "typical"])
def test_the_client_is_killed_and_goes_on(folder, tmp_path, monkeypatch, stage, no_page):
    """No part that was finished is computed once more, and the results are those of an undisturbed run."""
    out = tmp_path / "out"
    process = job_in_a_process(folder, out)
    wait_for(lambda: len(list((out / "unfinished" / stage).glob("[0-9]*.npz"))) > 1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = parts_of(out)
    assert len(before) > 1
    from whyclust.blocks import source

    monkeypatch.setattr(source, "BLOCK_NUMBERS", 400)
    monkeypatch.setattr(source, "BATCH_NUMBERS", 400)
    after = {}
    finish = Job.finish

    def finished(job):
        after.update(parts_of(out))
        finish(job)

    monkeypatch.setattr(Job, "finish", finished)
    explain_by_block([folder], out, ThisProcess(), Options(k=3, drop=("group",)), resume=True)
    assert {path: after[path] for path in before} == before
    assert len(after) > len(before)
    explain_by_block([folder], tmp_path / "calm", ThisProcess(), Options(k=3, drop=("group",)))
    assert np.array_equal(relevance(out).values, relevance(tmp_path / "calm").values)
    assert summary(out)["clusters"] == summary(tmp_path / "calm")["clusters"]
    assert not (out / "unfinished").exists()


def test_two_processes_do_not_share_a_folder(folder, tmp_path, no_page):
    out = tmp_path / "out"
    first = job_in_a_process(folder, out)
    try:
        wait_for(lambda: (out / "unfinished" / "manifest.json").exists())
        first.send_signal(signal.SIGSTOP)
        with pytest.raises(ValueError, match=rf"is being worked in \(process {first.pid} on"):
            explain_by_block([folder], out, ThisProcess(), Options(k=3, drop=("group",)), resume=True)
        first.send_signal(signal.SIGCONT)
        _, errors = first.communicate(timeout=120)
        assert first.returncode == 0, errors
    finally:
        first.kill()
    assert len(relevance(out)) == 900


def slow_rows(block, state):
    """Say which process works, and take some time."""
    (state / f"{block.number}-{os.getpid()}").touch()
    time.sleep(0.05)
    return block.n_rows


def _workers(folder):
    return {int(path.name.split("-")[1]) for path in Path(folder).iterdir()}


def _killed_while_mapping(engine, blocks, folder):
    """Kill a worker once the first result is there; return all results."""
    results = engine.map(slow_rows, blocks, folder)
    found = [next(results)]
    for pid in list(_workers(folder))[:1]:
        os.kill(pid, signal.SIGKILL)
    return [*found, *results]


def test_a_process_that_is_killed_loses_nothing(folder, tmp_path):
    from whyclust.blocks import find_source

    blocks = find_source([folder]).blocks
    engine = Processes(2)
    try:
        for number in range(2):
            seen = tmp_path / f"seen-{number}"
            seen.mkdir()
            assert _killed_while_mapping(engine, blocks, seen) == [block.n_rows for block in blocks]
            assert len(_workers(seen)) > 1
    finally:
        engine.close()


def interrupt_is_ignored(block, state):
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("started", [Processes, lambda count: Dask(workers=count)], ids=["processes", "dask"])
def test_workers_are_not_interrupted_by_the_terminal(started):
    """The command itself tells how to go on; workers would only add tracebacks."""
    if started is not Processes:
        pytest.importorskip("distributed", reason="dask is not installed")
    engine = started(1)
    try:
        assert list(engine.map(interrupt_is_ignored, [0, 1], None)) == [True, True]
    finally:
        engine.close()


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    import logging

    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "10s"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as started,
        distributed.Client(started) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")
def test_dask_gives_the_same_though_a_worker_is_killed(cluster, folder, tmp_path, no_page):
    from whyclust.blocks import find_source

    options = Options(k=3, drop=("group",))
    explain_by_block([folder], tmp_path / "here", ThisProcess(), options)
    engine = Dask(client=cluster)
    explain_by_block([folder], tmp_path / "there", engine, options)
    assert np.array_equal(relevance(tmp_path / "here").values, relevance(tmp_path / "there").values)
    assert summary(tmp_path / "here")["clusters"] == summary(tmp_path / "there")["clusters"]
    blocks = find_source([folder]).blocks
    for number in range(2):
        seen = tmp_path / f"seen-{number}"
        seen.mkdir()
        assert _killed_while_mapping(engine, blocks, seen) == [block.n_rows for block in blocks]
        assert len(_workers(seen)) > 1
    engine.close()
    # A client that was handed in stays open.
    assert cluster.status == "running"


def test_dask_that_is_missed_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"--engine dask needs dask, which is not installed"):
        Dask()
