"""The benchmarks run; what they measure is for their own pages, not for assertions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("script", sorted(path.name for path in BENCHMARKS.glob("*.py")))
def test_quick_form_prints_json(script, tmp_path):
    target = tmp_path / "result.json"
    command = [sys.executable, str(BENCHMARKS / script), "--quick", "--out", str(target)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed == json.loads(target.read_text())
    assert printed["quick"] is True


def test_speed_compares_the_same_numbers(tmp_path):
    """The four layers written out give what the closed form gives."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import speed
    finally:
        sys.path.remove(str(BENCHMARKS))
    assert speed.kernel(quick=True)["largest_difference"] < 1e-12
