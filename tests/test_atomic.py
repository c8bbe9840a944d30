"""Files are complete or not there: killed processes, permissions, the order in which results appear."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

import whyclust as wc
from whyclust.command.cli import _exit_code
from whyclust.saving import atomic as _atomic
from whyclust.saving.atomic import clear_leftovers, folder_beside, own_name, write_whole

X = np.random.default_rng(0).normal(size=(40, 2)) + 5.0 * (np.arange(40) % 2)[:, None]
TABLE = "a,b\n" + "\n".join(f"{one:.3f},{two:.3f}" for one, two in X)
pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and signals of POSIX")
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a list of processes as in Linux")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def process(code, folder):
    """A process that does something half, says so, and waits; nothing of scikit-learn is needed for it."""
    lines = f"import sys, time\nfrom pathlib import Path\nfrom whyclust.saving.atomic import *\n{code}"
    started = subprocess.Popen(
        [sys.executable, "-c", lines, str(folder)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert started.stdout.readline() == "half\n"
    return started


HALF_A_FILE = """
def fill(stream):
    stream.write(b"half")
    stream.flush()
    print("half", flush=True)
    sys.stdin.readline()
write_whole(Path(sys.argv[1]) / "result.npz", fill)
"""
HALF_A_FOLDER = """
folder = folder_beside(Path(sys.argv[1]))
(folder / "report.html").write_text("half")
print("half", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("code", [HALF_A_FILE, HALF_A_FOLDER], ids=["file", "folder"])
@pytest.mark.parametrize("waited_for", [True, pytest.param(False, marks=LINUX)])
def test_what_a_killed_process_leaves_is_taken_away(code, waited_for, tmp_path):
    killed, alive = process(code, tmp_path), process(code, tmp_path)
    try:
        assert len(names(tmp_path)) == 2
        killed.send_signal(signal.SIGKILL)
        if waited_for:
            killed.wait()
        else:  # nobody asks for it, as in containers: it stays in the list of processes
            while not Path(f"/proc/{killed.pid}/stat").read_text().rpartition(")")[2].startswith(" Z"):
                time.sleep(0.01)
        before = names(tmp_path)
        assert len(before) == 2  # the kill left it there
        wc.save(wc.neuralize(KMeans(2, n_init=1, random_state=0).fit(X), X), tmp_path / "net.npz")
        left = [name for name in names(tmp_path) if name != "net.npz"]
        assert len(left) == 1
        assert f"-{alive.pid}-" in left[0]  # who still writes is not disturbed
    finally:
        alive.communicate("\n", timeout=60)
        killed.communicate()
    assert [name for name in names(tmp_path) if "-" in name and f"-{alive.pid}-" not in name] == []


def test_results_take_leftovers_away(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    killed = process(HALF_A_FOLDER, tmp_path)
    killed.kill()
    killed.communicate()
    assert len(names(tmp_path)) == 2
    assert _exit_code(["explain", "t.csv", "-k", "2", "--quiet"]) == 0
    assert names(tmp_path) == ["result", "t.csv"]
    killed = process(HALF_A_FOLDER, tmp_path / "result")
    killed.kill()
    killed.communicate()
    assert _exit_code(["explain", "t.csv", "-k", "2", "--quiet"]) == 0
    assert not [name for name in names(tmp_path / "result") if name.startswith(".")]


@LINUX
def test_only_our_own_names_are_taken_away(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mine, pid = own_name(), os.getpid()
    started = re.fullmatch(r".*-(\d+)-[0-9a-f]{8}", mine)[1]
    machine = mine.split("-")[1]
    kept = [
        mine,
        ".whyclust-notes",
        ".whyclust-1-2-3",
        f".whyclust-{machine}-{gone.pid}-{started}-0123456",
        f".whyclust-{machine}-{gone.pid}-{started}-01234567.txt",
        f"whyclust-{machine}-{gone.pid}-{started}-01234567",
        f".whyclust-0a0b0c0d-{gone.pid}-{started}-01234567",  # another machine's, just made
    ]
    taken = [
        f".whyclust-{machine}-{gone.pid}-{started}-01234567",
        f".whyclust-{machine}-{pid}-{int(started) - 1}-01234567",  # this id was another's before
        f".whyclust-0a0b0c0d-{gone.pid}-{started}-76543210",  # another machine's, of the day before yesterday
    ]
    for name in [*kept, *taken]:
        (tmp_path / name).write_text("")
    os.utime(tmp_path / taken[2], (time.time() - 200_000,) * 2)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / taken[0]).mkdir(parents=True)
    (elsewhere / taken[0] / "mine.txt").write_text("mine")
    clear_leftovers(tmp_path)
    assert names(tmp_path) == sorted([*kept, "elsewhere"])
    assert names(elsewhere) == [taken[0]]  # only in the same folder
    # A link is taken away, not what it leads to.
    (tmp_path / taken[0]).symlink_to(elsewhere)
    clear_leftovers(tmp_path)
    assert names(tmp_path) == sorted([*kept, "elsewhere"])
    assert names(elsewhere) == [taken[0]]


def test_a_folder_that_cannot_be_listed_can_be_written_to(tmp_path, monkeypatch):
    def fail(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(_atomic.os, "scandir", fail)
    assert write_whole(tmp_path / "a.txt", lambda stream: stream.write(b"a")).read_bytes() == b"a"


# --------------------------------------------------------------------------- permissions


@pytest.fixture(params=[0o022, 0o027, 0o077, 0o002])
def mask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o777


def test_new_files_have_the_permissions_of_any_other(mask, tmp_path):
    (tmp_path / "plain").write_text("")
    path = write_whole(tmp_path / "ours", lambda stream: stream.write(b""))
    assert mode(path) == mode(tmp_path / "plain") == 0o666 & ~mask


def test_permissions_of_a_file_stay(mask, tmp_path):
    """Who has closed a file to others does not find it open when it was written again."""
    path = tmp_path / "private"
    path.write_text("old")
    path.chmod(0o600)
    write_whole(path, lambda stream: stream.write(b"new"))
    assert (mode(path), path.read_text()) == (0o600, "new")


def test_results_have_the_permissions_of_any_other(mask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    assert _exit_code(["explain", "t.csv", "-k", "2", "--quiet", "--out", "new/result"]) == 0
    result = tmp_path / "new" / "result"
    assert mode(result) == mode(result.parent) == 0o777 & ~mask
    assert {mode(path) for path in result.iterdir()} == {0o666 & ~mask}
    (result / "clusters.csv").chmod(0o600)
    assert _exit_code(["explain", "t.csv", "-k", "2", "--quiet", "--out", "new/result"]) == 0
    assert mode(result / "clusters.csv") == 0o600
    assert {mode(path) for path in result.iterdir() if path.suffix != ".csv"} == {0o666 & ~mask}


# --------------------------------------------------------------------------- order


def test_the_report_appears_last(tmp_path, monkeypatch):
    """Who finds a new report finds the rest new, too; a kill in between leaves the old report."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    assert _exit_code(["explain", "t.csv", "-k", "2", "--quiet"]) == 0
    moved, replace = [], Path.replace

    def watched(self, target):
        if Path(target).parent.name == "result":
            moved.append(Path(target).name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    assert _exit_code(["explain", "t.csv", "-k", "2", "--quiet"]) == 0
    assert sorted(moved) == [
        "SHA256SUMS",
        "clusters.csv",
        "model.npz",
        "relevance.parquet",
        "report.html",
        "summary.json",
    ]
    assert moved[-1] == "report.html"


def test_a_stop_half_way_leaves_no_folder(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.txt", lambda stream: (_ for _ in ()).throw(KeyboardInterrupt))
    assert names(tmp_path) == []
    made = folder_beside(tmp_path)
    assert names(tmp_path) == [made.name]
    shutil.rmtree(made)
