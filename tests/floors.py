"""The lowest versions that pyproject.toml allows, as requirements for pip: `python tests/floors.py`.

`make test-floors` installs them into an environment of their own and runs the quick tests there.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?(?:>=([0-9][0-9.]*))?")
# Tools that look at the code and do not run it; and PyTorch, of which other versions than the pinned one
# bring gigabytes of accelerator libraries: its floor is declared, not tested, and deep tests are left out.
LEFT_OUT = {"captum", "mypy", "pandas-stubs", "ruff", "scipy-stubs", "torch", "whyclust"}


def declared(path=ROOT / "pyproject.toml"):
    """Every direct dependency, with its lowest version, or None where it has none."""
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    listed = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        listed += extra
    found = {}
    for requirement in listed:
        name, floor = REQUIREMENT.fullmatch(requirement).groups()
        found[name.lower()] = floor
    return found


def floors():
    """What to install: every dependency at its lowest version."""
    return [f"{name}=={floor}" for name, floor in declared().items() if name not in LEFT_OUT]


if __name__ == "__main__":
    sys.stdout.write("\n".join(floors()) + "\n")
