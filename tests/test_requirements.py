"""Floors, pins and what the Makefile installs belong together."""

import re
from pathlib import Path

import pytest

from floors import LEFT_OUT, ROOT, declared, floors

if not (ROOT / "pyproject.toml").exists():
    pytest.skip("the package is tested without its repository", allow_module_level=True)

PINS = dict(
    line.lower().split("==")
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)


def version(text):
    return tuple(int(part) for part in text.split("."))


@pytest.mark.parametrize("name", [name for name in declared() if name != "whyclust"])
def test_every_dependency_has_a_floor_and_a_pin_above_it(name):
    floor = declared()[name]
    assert floor is not None, f"{name} has no lowest version in pyproject.toml"
    assert name in PINS, f"{name} has no version in constraints.txt"
    assert version(PINS[name]) >= version(floor)


def test_every_pin_is_a_dependency():
    build = re.findall(r'requires = \["([\w-]+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(PINS) == {*declared(), *build} - {"whyclust"}
    assert PINS["torch"] == "2.13.0"


def test_floors_are_exact_versions(tmp_path):
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9.]*", line) for line in floors())
    assert {line.split("==")[0] for line in floors()} == set(declared()) - LEFT_OUT
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[project]\ndependencies = ["One>=1.2", "two"]\n'
        '[project.optional-dependencies]\nmore = ["whyclust[a,b]", "three-four>=2"]\n'
    )
    assert declared(path) == {"one": "1.2", "two": None, "whyclust": None, "three-four": "2"}


def test_the_tests_that_run_on_floors_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    names = re.search(r"^FLOOR_TESTS := .*\(addsuffix .py,(.*)\)\)$", makefile, flags=re.MULTILINE)[1].split()
    assert len(names) > 10
    assert [name for name in names if not (ROOT / "tests" / f"test_{name}.py").exists()] == []


def test_what_to_install_is_said_in_one_way():
    """Errors take it from one function; pages are written by hand, and say the same."""
    import whyclust
    from whyclust._extras import _CALLED, _SOURCE

    package = Path(whyclust.__file__).parent
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    code = [path for path in package.rglob("*.py") if path.name != "_extras.py"]
    extras = {"test", *_extras()}
    assert set(_CALLED) < extras
    told = 0
    for path in [*pages, *code]:
        for source, names in re.findall(
            r"pip install '?([\w.]*)\[([\w,]+)\]", path.read_text(encoding="utf-8")
        ):
            assert path in pages, f"{path.name} has a text of its own: raise _extras.missing(...)"
            assert source == _SOURCE, f"{path.name} installs from {source!r}"
            assert set(names.split(",")) <= extras, f"{path.name} names an extra that there is not"
            told += 1
    assert told >= 5


def _extras():
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
