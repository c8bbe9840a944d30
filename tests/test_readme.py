"""What README.md and docs/ show is run, every line of it."""

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from whyclust.command.cli import _exit_code

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

if not PAGES[0].exists():
    pytest.skip("the package is tested without its repository", allow_module_level=True)


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks(page, folder):
    sessions = [block for block in blocks(page, "python") if ">>>" in block]
    scripts = [block for block in blocks(page, "python") if ">>>" not in block]
    if page.name == "README.md":
        assert len(sessions) >= 5
    examples = doctest.DocTestParser().get_doctest(
        "\n".join(sessions), {"__name__": "readme"}, page.name, str(page), 0
    )
    report = []
    doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.append)
    assert not report, "".join(report)
    if scripts:
        # The page speaks of a result of the command line, and of new rows.
        shutil.copy(folder / "examples" / "customers.csv", folder / "new-customers.csv")
        assert _exit_code(["explain", "new-customers.csv", "-k", "3", "--quiet"]) == 0
    for script in scripts:
        exec(compile(script, str(page), "exec"), {})


COMMANDS = [line for block in blocks(PAGES[0], "sh") for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("command", COMMANDS)
def test_shell_commands(command, folder, capsys):
    program, *arguments = shlex.split(command)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
        assert set(arguments) <= set(targets)
        return
    assert program == "whyclust"
    assert _exit_code(arguments) == 0
    captured = capsys.readouterr()
    if "--quiet" in arguments:
        assert captured.out == captured.err == ""
    if "explain" in arguments:
        out = arguments[arguments.index("--out") + 1] if "--out" in arguments else "result"
        assert (folder / out / "report.html").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_option_is_documented():
    from whyclust.command.cli import explain

    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    for name in explain.__annotations__:
        if name not in {"return", "files"}:
            option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
            assert f"`{option}" in text
