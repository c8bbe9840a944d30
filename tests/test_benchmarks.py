"""The benchmarks run; what they measure is for their own pages, not for assertions."""

import json
import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def as_script(monkeypatch, tmp_path):
    """What Python does for a script: its folder comes first where modules are looked for."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("script", sorted(path.name for path in BENCHMARKS.glob("*.py")))
def test_quick_form_prints_json(script, tmp_path, as_script, monkeypatch, capfd):
    target = tmp_path / "result.json"
    path = str(BENCHMARKS / script)
    monkeypatch.setattr(sys, "argv", [path, "--quick", "--out", str(target)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(path, run_name="__main__")
    printed = json.loads(capfd.readouterr().out)
    assert printed == json.loads(target.read_text())
    assert printed["quick"] is True


@pytest.fixture
def scripts(monkeypatch):
    """The folder of the benchmarks on the path."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_a_script_runs_from_anywhere(tmp_path):
    target = tmp_path / "result.json"
    command = [sys.executable, str(BENCHMARKS / "pool_rules.py"), "--quick", "--out", str(target)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(target.read_text())


def test_runs_find_their_script_in_other_processes(tmp_path):
    """Functions that remember their results are looked up by name there."""
    target = tmp_path / "result.json"
    script = str(BENCHMARKS / "network_sizes.py")
    command = [sys.executable, script, "--quick", "--jobs", "2", "--out", str(target)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(target.read_text())["runs"]) == 2


def test_figure_3_shows_the_pixels_that_were_chosen(as_script, tmp_path):
    import idc_figure_3

    assert idc_figure_3._places(np.array([0.0, 0.2, -0.5, 0.0])) == [2, 1]
    run = {"data": "digits", "correlation": 0.5, "importance": [1.0, 0.5], "accuracy": [60.0, 40.0]}
    run["shown"] = [[20, 43]] * idc_figure_3.SHOWN
    runs = [{**run, "model": "IDC", "explanation": name} for name in ("gates", "neon")]
    path = tmp_path / "figure.png"
    idc_figure_3.draw(runs, path)
    assert 5_000 < path.stat().st_size < 200_000


def test_parts_of_peers_are_measured_alone(as_script, tmp_path, monkeypatch, capsys):
    """Another Python measures its part; what was measured before stays."""
    import peers

    calls = []

    def part(name, value):
        return lambda quick: calls.append(name) or value

    rows = [{"what": "rules", "seconds": 0.5}]
    limits = [{"n": 10, "d": 2, "k": 2, "beside_limit": 1.0, "two_by_one": 0.5}]
    monkeypatch.setattr(peers, "PARTS", {"limits": part("limits", limits), "describing": part("rules", rows)})
    target = tmp_path / "peers.json"

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["peers.py", "--out", str(target), *words])
        with warnings.catch_warnings():
            peers.main()
        return json.loads(capsys.readouterr().out), target.with_suffix(".md").read_text()

    found, page = run("--sets", "describing")
    assert "limits" not in found and "| rules | 0.50 |" in page and "The limit" not in page
    found, page = run()
    assert calls == ["rules", "limits"] and list(found)[-2:] == ["limits", "describing"]
    assert "| rules | 0.50 |" in page and "The limit" in page
    run("--sets", "describing", "--fresh")
    assert calls == ["rules", "limits", "rules"]
    with pytest.raises(SystemExit, match="there is no part 'other'"):
        run("--sets", "other")


def test_speed_compares_the_same_numbers(as_script):
    """The four layers written out give what the closed form gives."""
    import speed

    assert speed.kernel(quick=True)["largest_difference"] < 1e-12


@pytest.mark.parametrize(
    ("kind", "entry", "before", "after", "expected"),
    [
        ("closed form", "values", [1.0, 2.0], [1.0, 2.0], "identical"),
        ("closed form", "values", [1.0, 2.0], [1.0, 2.0 + 1e-12], "within"),
        ("closed form", "values", [1.0, 2.0], [1.0, 2.0 + 1e-11], "moved"),
        ("closed form", "values", [1.0, np.nan], [1.0, np.nan], "identical"),
        ("closed form", "values", [1.0, 2.0], [1.0, np.nan], "moved"),
        ("closed form", "values", [1.0, 2.0], [1.0], "moved"),
        ("closed form", "assigned", [1, 2], [1, 3], "moved"),
        ("closed form", "assigned", ["a", "b"], ["a", "c"], "moved"),
        ("deep relevance", "values", [1.0, 2.0], [1.0, 2.0 + 1e-5], "within"),
        ("deep relevance", "values", [1.0, 2.0], [1.0, 2.0 + 1e-4], "moved"),
        ("deep relevance", "assigned", [1, 2], [1, 3], "moved"),
        ("training", "weights/a", [1.0, 2.0], [1.0, 2.0 + 4e-16], "moved"),
        ("audit", "auc", [1.0, 2.0], [1.0, 2.0 + 4e-16], "moved"),
        ("text", "error", "ValueError: a", "ValueError: b", "moved"),
    ],
)
def test_recordings_are_told_apart_by_the_tolerance_of_their_kind(
    scripts, kind, entry, before, after, expected
):
    from recording_parts.cases import Recording
    from recording_parts.comparing import compare

    old, new = (Recording({"a": kind}, {"a": {entry: np.array(value)}}) for value in (before, after))
    (found,) = compare(old, new)
    assert found.verdict == expected


def test_recordings_are_compared_case_by_case_and_entry_by_entry(scripts):
    from recording_parts.cases import Recording
    from recording_parts.comparing import compare

    def verdict(before, after, name="a", kind="training"):
        old, new = (
            Recording({name: kind}, {name: {key: np.array(value) for key, value in found.items()}})
            for found in (before, after)
        )
        return compare(old, new)[0]

    assert verdict({"x": 1.0, "y": 2.0}, {"x": 1.0}).verdict == "moved"
    assert verdict({"x": 1.0}, {"x": 1.0, "y": 2.0}).verdict == "identical"
    assert verdict({"x": 1.0}, {"error": "ValueError: no"}).verdict == "moved"
    assert verdict({"error": "ValueError: no"}, {"x": 1.0}).verdict == "moved"
    # Weights may be called otherwise, if they are the same.
    assert verdict({"weights/a": [1.0, 2.0]}, {"weights/b": [1.0, 2.0]}).verdict == "identical"
    assert verdict({"weights/a": [1.0, 2.0]}, {"weights/b": [1.0, 2.5]}).verdict == "moved"
    # Rounding of a zero counts beside the values that it belongs to.
    before, after = {"values": 1e3, "base_values": 1e-14}, {"values": 1e3, "base_values": -1e-14}
    assert verdict(before, after, kind="closed form").verdict == "within"
    # A change that was asked for covers the entries that it names.
    listed = "deep: explain CNet"
    before = {"values": 1.0, "evidence": 1.0, "beta": 5.0}
    assert verdict(before, {**before, "beta": 0.5}, listed, "deep relevance").verdict == "asked to change"
    assert verdict(before, {**before, "evidence": 0.5}, listed, "deep relevance").verdict == "moved"
    assert compare(Recording({"a": "text"}, {"a": {}}), Recording({}, {}))[0].verdict == "moved"


def test_recordings_come_back_from_files(scripts, tmp_path):
    from recording_parts.cases import Case, read, record, write

    def fail():
        raise ValueError("not today")

    cases = [Case("one", "text", lambda: {"a/b": ["x", "y"], "n": 3}), Case("two", "audit", fail)]
    write(record(cases), tmp_path / "recording.npz")
    found = read(tmp_path / "recording.npz")
    assert found.kinds == {"one": "text", "two": "audit"}
    assert found.entries["one"]["a/b"].tolist() == ["x", "y"] and found.entries["one"]["n"] == 3
    assert str(found.entries["two"]["error"]) == "ValueError: not today"


def written_package(folder, **files):
    """A package of these modules, and what the counts say of it."""
    from structure_parts.trees import Package

    for name, text in {"__init__": "__all__ = ['Explanation']", **files}.items():
        path = folder / "whyclust" / f"{name.replace('__of__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Package.read(folder)


def test_declarations_are_counted_wherever_they_stand(scripts, tmp_path):
    from structure_parts.declarations import count_declarations

    base = """
class Shared(BaseEstimator):
    epochs: int = parameter(100, whole(0))
    device: Any = parameter(
        "auto",
    )
    labels_: Any
    _private: int = 3
    ASIDE: ClassVar[set] = set()
"""
    model = """
from whyclust.deep.base import Shared
RATE = Parameter("learning_rate", 1e-3)
class Old(Shared):
    def __init__(
        self, gamma=0.1
    ):
        self.gamma = gamma
class New(Shared):
    gamma: float = parameter(0.1, positive)
class Network(Module):
    centers: Tensor
"""
    found = count_declarations(written_package(tmp_path, deep__of__base=base, deep__of__models=model))
    assert found["by_kind"] == {"class bodies": 1 + 3 + 1, "constructors": 4, "lists": 1}
    assert found["lines"] == 10


def test_dispatch_is_told_from_guards_and_from_foreign_types(scripts, tmp_path):
    from structure_parts.dispatch import count_dispatch

    own = """
class Explanation:
    beta_: float
class Head:
    noise: float
"""
    asking = """
from pathlib import Path
from whyclust.own import Explanation, Head
BOTH = (Head, int)
def ask(x, y):
    if isinstance(x, Head):
        return 1
    if not isinstance(y, Head):
        raise TypeError
    if isinstance(y, Head):
        return y
    isinstance(x, BOTH), isinstance(x, Path), isinstance(x, Explanation)
    hasattr(x, "beta_"), getattr(x, "noise", None), getattr(x, "noise"), hasattr(x, "fit")
    return type(x) is Head or type(x).__module__ == "whyclust.own" or type(x).__name__ in BOTH
"""
    found = count_dispatch(written_package(tmp_path, own=own, asking=asking))
    kinds = {"isinstance": 3, "inputs": 1, "probes": 2, "names": 2, "guards": 2, "tables": 0}
    assert found["by_kind"] == kinds
    assert found["dispatch"] == 8


def test_the_circle_of_imports_counts_those_on_use(scripts, tmp_path):
    from structure_parts.cycle import find_cycle

    explanation = "class Explanation:\n    def plot(self):\n        from whyclust.plots import draw"
    modules = {
        "explanation": explanation,
        "plots": "from whyclust.words import say",
        "words": "from whyclust import explanation",
        "aside": "if TYPE_CHECKING:\n    from whyclust import explanation",
    }
    found = find_cycle(written_package(tmp_path / "round", **modules))
    assert found["modules"] == ["whyclust.explanation", "whyclust.plots", "whyclust.words"]
    modules["words"] = "import whyclust.aside"
    assert find_cycle(written_package(tmp_path / "open", **modules))["modules"] == []


def test_a_version_is_slower_only_if_every_way_to_look_at_it_says_so(scripts):
    from before_after import ratios

    steady = [{"before": [1.0, 1.0], "after": [1.2, 1.2]}] * 3
    assert ratios("steady", steady)["slower"]
    once = [*steady, {"before": [1.0, 1.0], "after": [1.0, 9.0]}]
    assert not ratios("reached once", once)["slower"]
    assert ratios("reached once", once)["best of a round"] == 1.2


def test_turns_begin_with_the_other_side_each_time(scripts):
    from before_after import by_turns

    order = []
    sides = {name: lambda name=name: float(not order.append(name)) for name in ("before", "after")}
    assert by_turns(sides, 0, 3) == {"before": [1.0] * 3, "after": [1.0] * 3}
    assert order == ["after", "before", "before", "after", "after", "before"]
