"""Results for spreadsheets, and results that are the same again: in other processes, threads and forks."""

import hashlib
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

import whyclust as wc
from whyclust.command.cli import _exit_code
from whyclust.command.formulas import without_formulas

X = np.random.default_rng(0).normal(size=(600, 4)) + 4.0 * (np.arange(600) % 3)[:, None]


# --------------------------------------------------------------------------- formulas


def test_formulas_get_an_apostrophe_where_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(X[:30], columns=list("abcd"))
    rows.insert(0, "@who", ["=cmd|' /C calc'!A0", "+1", "-2", "-x", *(f"row {i}" for i in range(26))])
    rows.to_csv("t.csv", index=False)
    words = ["explain", "t.csv", "-k", "2", "--id-column", "@who"]
    assert _exit_code([*words, "--out", "plain"]) == 0
    assert "apostrophe" not in capsys.readouterr().err
    assert _exit_code([*words, "--out", "safe", "--safe-csv"]) == 0
    # Two entries and the name of the column; the numbers among the names are numbers.
    told = "Note: An apostrophe was put before 3 cells of the CSV files, which spreadsheets would take for"
    assert told in capsys.readouterr().err
    plain, safe = (pd.read_csv(f"{name}/clusters.csv", dtype=str) for name in ("plain", "safe"))
    assert plain["@who"].tolist()[:4] == ["=cmd|' /C calc'!A0", "+1", "-2", "-x"]
    assert safe["'@who"].tolist()[:4] == ["'=cmd|' /C calc'!A0", "+1", "-2", "'-x"]
    pd.testing.assert_frame_equal(safe.drop(columns="'@who"), plain.drop(columns="@who"))


@pytest.mark.parametrize("text", ["=1", "+a", "-a", "@a", "\t=1", "\r=1", "\n=1", "\t1", "＝1+1"])
def test_all_beginnings_of_formulas(text):
    lines, count = without_formulas(pd.DataFrame({"name": [text, "x"], "size": [-1.5, 2.0]}))
    assert lines["name"].tolist() == [f"'{text}", "x"]
    assert lines["size"].tolist() == [-1.5, 2.0]
    assert count == 1


# --------------------------------------------------------------------------- the same again


def run(folder, name, threads, *options):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    words = [
        sys.executable,
        "-m",
        "whyclust",
        "explain",
        "t.csv",
        "-k",
        "3",
        "--quiet",
        "--out",
        name,
        *options,
    ]
    subprocess.run(words, cwd=folder, env=environment, check=True, timeout=600)
    return {path.name: path.read_bytes() for path in sorted((folder / name).iterdir())}


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    """In another process, to the last byte of every file, whatever Python's hashes are."""
    pd.DataFrame(X[:150], columns=list("abcd")).assign(town=np.array(["x", "y"])[np.arange(150) % 2]).to_csv(
        tmp_path / "t.csv", index=False
    )
    first, again = run(tmp_path, "one", 1), run(tmp_path, "two", 1)
    assert sorted(first) == [
        "SHA256SUMS",
        "clusters.csv",
        "model.npz",
        "relevance.parquet",
        "report.html",
        "summary.json",
    ]
    assert [name for name in first if first[name] != again[name]] == []
    # scikit-learn's k-means adds up in the order of its threads: the last digits, and no cluster, differ.
    with_two = run(tmp_path, "three", 2)
    one, other = (pd.read_csv(tmp_path / name / "clusters.csv") for name in ("one", "three"))
    assert with_two.keys() == first.keys()
    assert one.drop(columns="evidence").equals(other.drop(columns="evidence"))
    assert np.abs(one["evidence"] - other["evidence"]).max() < 1e-9 * one["evidence"].abs().max()


def test_soft_k_means_gives_the_same_bytes_with_any_number_of_threads(tmp_path):
    pd.DataFrame(X[:90], columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    first, again = (run(tmp_path, str(threads), threads, "--method", "soft") for threads in (1, 2))
    assert [name for name in first if first[name] != again[name]] == []


def relevance_digest(seed):
    """What a process, or a thread, computes from the same seed."""
    model = KMeans(3, n_init=1, random_state=seed).fit(X)
    ex = wc.explain(model, X)
    return hashlib.sha256(ex.values.tobytes() + ex.clusters.tobytes() + ex.evidence.tobytes()).hexdigest()


def test_threads_of_one_process_agree():
    expected = [relevance_digest(seed) for seed in range(4)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(relevance_digest, [*range(4)] * 8)) == expected * 8


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_processes_agree_however_they_begin(start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"processes do not begin by {start} here")
    expected = [relevance_digest(seed) for seed in range(3)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(start)) as pool:
        assert list(pool.map(relevance_digest, range(3))) == expected
