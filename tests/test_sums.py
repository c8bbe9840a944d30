"""SHA256SUMS: every file of a folder of results is in it, and one changed bit is found."""

import hashlib
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from sklearn.datasets import load_iris

from block_tables import clusters, parquet, small_blocks
from whyclust.blocks.engines import ThisProcess
from whyclust.command.by_block import explain_by_block
from whyclust.command.options import Options
from whyclust.command.result_files import SUMS, write_result
from whyclust.command.run import explain_table
from whyclust.tables import Table


def in_memory(folder):
    result = explain_table(Table(load_iris(as_frame=True).data), k=3)
    audit = SimpleNamespace(to_json=lambda: {"trusted": "yes"}, methods=pd.DataFrame({"method": ["neon"]}))
    write_result(replace(result, audit=audit), folder)


def by_block(folder):
    table = parquet(clusters(n_rows=300), folder.parent / "in")
    explain_by_block([table], folder, ThisProcess(), Options(k=3, drop=("group",)))


@pytest.fixture
def no_page(monkeypatch):
    import whyclust.report

    monkeypatch.setattr(
        whyclust.report, "to_html", lambda explanation, path, **options: path.write_text("page")
    )


@pytest.fixture(params=[in_memory, by_block], ids=["in memory", "by block"])
def results(request, tmp_path, monkeypatch, no_page):
    small_blocks(monkeypatch)
    request.param(tmp_path / "out")
    return tmp_path / "out"


def files_of(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def lines_of(folder):
    return [line.split("  ") for line in (folder / SUMS).read_text(encoding="utf-8").splitlines()]


def test_every_file_is_listed_with_its_digest(results):
    lines = lines_of(results)
    assert [name for _, name in lines] == [name for name in files_of(results) if name != SUMS]
    assert len(lines) in (7, 4 + 2 * len(list(results.glob("clusters/*.parquet"))))
    for found, name in lines:
        assert found == hashlib.sha256((results / name).read_bytes()).hexdigest()


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
def test_one_changed_bit_of_any_file_is_found(results):
    def checked():
        words = ["sha256sum", "--check", "--quiet", "--strict", SUMS]
        return subprocess.run(words, cwd=results, capture_output=True, text=True)

    assert (checked().returncode, checked().stdout) == (0, "")
    names = [name for _, name in lines_of(results)]
    for name in names if len(names) < 10 else [names[0], names[-1], *names[2:-1:7]]:
        content = (results / name).read_bytes()
        place = len(content) // 2
        (results / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert checked().returncode == 1
        assert f"{name}: FAILED" in checked().stdout
        (results / name).write_bytes(content)


def test_files_of_others_are_not_listed(tmp_path, no_page):
    """What was there and is not of this run stays, and nothing is said of it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    in_memory(tmp_path / "out")
    assert {name for _, name in lines_of(tmp_path / "out")} == {*files_of(tmp_path / "out")} - {
        SUMS,
        "mine.txt",
    }


def test_a_job_that_was_killed_while_files_were_moved_lists_them_all(tmp_path, monkeypatch, no_page):
    from whyclust.command import by_block_files

    small_blocks(monkeypatch)
    moved = by_block_files._move

    def stopped(made, place):
        if made.name == "summary.json":
            raise KeyboardInterrupt
        moved(made, place)

    table = parquet(clusters(n_rows=300), tmp_path / "in")
    options = Options(k=3, drop=("group",))
    with monkeypatch.context() as patched:
        patched.setattr(by_block_files, "_move", stopped)
        with pytest.raises(KeyboardInterrupt):
            explain_by_block([table], tmp_path / "out", ThisProcess(), options)
    explain_by_block([table], tmp_path / "out", ThisProcess(), options, resume=True)
    test_every_file_is_listed_with_its_digest(tmp_path / "out")


@pytest.mark.parametrize("run", [in_memory, by_block])
def test_what_an_earlier_run_has_written_is_taken_away(tmp_path, no_page, run):
    """Its audit tells of other clusters. What is not in its sums is not its own."""
    folder = tmp_path / "out"
    run(folder)
    (folder / "old").mkdir()
    for name in ("old/part.parquet", "mine.txt"):
        (folder / name).write_text("earlier")
    with (folder / SUMS).open("a") as stream:
        stream.write(f"{'0' * 64}  old/part.parquet\n")
    shutil.rmtree(tmp_path / "in", ignore_errors=True)
    run(folder)
    assert not (folder / "old").exists()
    assert (folder / "mine.txt").read_text() == "earlier"
    assert (folder / "report.html").exists()
    subprocess.run(["sha256sum", "--check", "--quiet", SUMS], cwd=folder, check=True)


def test_an_audit_of_an_earlier_run_is_taken_away(tmp_path, no_page):
    folder = tmp_path / "out"
    in_memory(folder)
    assert (folder / "audit.json").exists()
    write_result(explain_table(Table(load_iris(as_frame=True).data), k=2), folder)
    assert not (folder / "audit.json").exists() and not (folder / "audit.csv").exists()


def test_sums_that_lead_elsewhere_take_nothing_away(tmp_path, no_page):
    folder = tmp_path / "out"
    in_memory(folder)
    (tmp_path / "outside.txt").write_text("keep")
    with (folder / SUMS).open("a") as stream:
        stream.write(f"{'0' * 64}  ../outside.txt\n{'0' * 64}  {tmp_path / 'outside.txt'}\n")
    in_memory(folder)
    assert (tmp_path / "outside.txt").read_text() == "keep"
