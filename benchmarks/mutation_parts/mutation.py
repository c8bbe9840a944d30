"""A mutation: a text of the library that is replaced, and the tests that must notice."""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Mutation:
    """One small mistake.

    Parameters
    ----------
    name : str
        What is wrong then, in a few words.
    find : str
        A text on one line that stands once in all of the library, wherever that is: code moves between
        modules, and a mutation must not mind.
    put : str
        What is put in its place.
    tests : str
        Which tests must fail, as pytest is told: names of files in ``tests``, then perhaps ``-k words``.
    """

    name: str
    find: str
    put: str
    tests: str

    def place(self, sources: dict[Path, str]) -> Path:
        """The file in which the text stands."""
        places = [path for path, text in sources.items() for _ in range(text.count(self.find))]
        if len(places) != 1:
            where = ", ".join(sorted({path.name for path in places})) or "nowhere"
            raise ValueError(
                f"Mutation {self.name!r} no longer finds its text: {self.find!r} stands {len(places)} times "
                f"in the library ({where}), expected once: update it."
            )
        return places[0]

    @property
    def selection(self) -> list[str]:
        """Arguments of pytest."""
        files, words = self._split()
        return [f"tests/{name}" for name in files] + (["-k", words] if words else [])

    def check_tests(self) -> None:
        """Refuse tests that are not there."""
        files, words = self._split()
        missing = [name for name in files if not (TESTS / name).is_file()]
        if missing or not files:
            raise ValueError(f"Mutation {self.name!r} names tests/{missing or ''}, which is not there.")
        known = [test for name in files for test in tests_of(TESTS / name)]
        for word in re.findall(r"\w+", words):
            if word not in {"and", "or", "not"} and not any(word in test for test in known):
                raise ValueError(
                    f"Mutation {self.name!r} names tests with {word!r}, which {', '.join(files)} do not have."
                )

    def _split(self) -> tuple[list[str], str]:
        parts = shlex.split(self.tests)
        if "-k" not in parts:
            return parts, ""
        at = parts.index("-k")
        return parts[:at], " ".join(parts[at + 1 :])

    def to_json(self) -> dict[str, str]:
        """Plain values."""
        return asdict(self)


@cache
def tests_of(path: Path) -> tuple[str, ...]:
    """Names of the test functions in a file, found without running it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return tuple(function.name for function in functions if function.name.startswith("test"))


def read_sources(root: Path = SOURCE) -> dict[Path, str]:
    """All modules of the library, by their path below `root`."""
    paths = sorted((root / "whyclust").rglob("*.py"))
    return {path.relative_to(root): path.read_text(encoding="utf-8") for path in paths}
