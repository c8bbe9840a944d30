"""The conventions of the package, kept by tests."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import whyclust

ROOT = Path(whyclust.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py"))
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(ROOT)], prefix="whyclust."))
HEAVY = ["torch", "matplotlib", "dask", "distributed", "shap", "polars", "anndata"]

# The picture of the package, from top to bottom: a module imports from its own layer or from above.
# What reaches down (to_html, the command line) does so on use, inside a function.
LAYERS = [
    ["_checks", "_frames", "_versions", "saving"],
    ["inputs"],
    ["columns", "datasets", "moments", "propagate", "tables"],
    ["cluster"],
    ["network"],
    ["perturbing"],
    ["deep"],
    ["labels"],
    ["explaining"],
    ["select", "telling"],
    ["answers"],
    ["blocks"],
    ["baselines"],
    ["metrics"],
    ["auditing", "plots"],
    ["report"],
    ["command"],
    ["__main__"],
]


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def layer(module):
    """Position of a module's layer, or None for the package itself and private small modules."""
    parts = module.split(".")
    if len(parts) < 2:
        return None
    return next((i for i, names in enumerate(LAYERS) if parts[1] in names), None)


def imports_at_import_time(path):
    """Modules imported outside of functions and of `if TYPE_CHECKING`."""
    found = []

    def visit(node):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.append(node.module)
            found.extend(f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def loaded_after(statement, names):
    code = f"import sys; {statement}; print([n for n in {names!r} if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ast.literal_eval(run.stdout)


def test_import_is_lazy():
    names = [*HEAVY, "pandas", "pyarrow", "sklearn", "jinja2", "typer", "rich"]
    assert loaded_after("import whyclust", names) == []


def test_explaining_needs_no_heavy_package():
    statement = (
        "import whyclust as wc; from sklearn.cluster import KMeans; import numpy as np; "
        "X = np.random.default_rng(0).normal(size=(30, 3)); "
        "wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X).values"
    )
    assert loaded_after(statement, HEAVY) == []


def test_explaining_labels_needs_no_reader_of_files():
    statement = (
        "import whyclust as wc, pandas as pd; "
        "X = pd.DataFrame({'a': [1.0, 2.0, 8.0, 9.0] * 9, 'b': ['x', 'y', 'z', 'z'] * 9}); "
        "wc.explain([0, 0, 1, 1] * 9, X).values"
    )
    assert loaded_after(statement, ["whyclust.tables", "whyclust.command", "whyclust.report"]) == []


def test_the_job_needs_no_report():
    assert loaded_after("import whyclust.command.run", ["whyclust.report", "jinja2", "typer"]) == []


def test_version_needs_no_science():
    statement = "from whyclust.command.cli import _exit_code; _exit_code(['--version']); print()"
    code = f"import sys; {statement}; print([n for n in ('sklearn', 'pandas') if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[0] == f"whyclust {whyclust.__version__}"
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_are_imported_on_use(path):
    names = {name.split(".")[0] for name in imports_at_import_time(path)}
    # Modules that only serve PyTorch are themselves imported on use.
    serves_torch = "torch" in path.stem or {"deep", "propagate"} & set(path.parts)
    allowed = {"torch"} if serves_torch else set()
    assert not names & (set(HEAVY) - allowed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path):
    own = layer(module_name(path))
    if own is None:
        return
    for name in imports_at_import_time(path):
        if name and name.startswith("whyclust."):
            other = layer(name)
            assert other is None or other <= own, f"{path.name} imports {name} from below"


def test_every_module_has_its_place_in_the_picture():
    known = {name for names in LAYERS for name in names}
    top = {name.split(".")[1] for name in MODULES}
    assert {name for name in top if not name.startswith("_")} <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_short_and_well_named(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    assert path.stem not in {"utils", "helpers", "util", "helper", "misc", "common"}


def test_most_modules_are_shorter():
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES)
    assert lengths[len(lengths) // 2] <= 200


@pytest.mark.parametrize("name", MODULES)
def test_public_things_have_docstrings(name):
    if name.endswith("__main__"):
        return
    module = importlib.import_module(name)
    assert module.__doc__
    for attribute, thing in vars(module).items():
        if attribute.startswith("_") or getattr(thing, "__module__", None) != name:
            continue
        if inspect.isfunction(thing) or inspect.isclass(thing):
            assert (thing.__doc__ or "").strip(), f"{name}.{attribute} has no docstring"
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    doc = inspect.getdoc(getattr(thing, method))
                    assert doc, f"{name}.{attribute}.{method} has no docstring"


def public_functions():
    for name in whyclust.__all__:
        thing = getattr(whyclust, name)
        if inspect.isfunction(thing):
            yield f"whyclust.{name}", thing
        elif inspect.ismodule(thing):
            for attribute in thing.__all__:
                inner = getattr(thing, attribute)
                if inspect.isfunction(inner):
                    yield f"{thing.__name__}.{attribute}", inner


def test_options_are_keyword_only():
    for name, function in public_functions():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                # neuralize(model, background): the second argument is data, not an option. Generators
                # take the number of rows first, as scikit-learn's do.
                is_data = parameter.name in {"background", "X", "n_samples"}
                assert parameter.default is parameter.empty or is_data, f"{name}({parameter.name})"


def test_everything_public_can_be_reached():
    for name in whyclust.__all__:
        assert getattr(whyclust, name) is not None
        assert name in dir(whyclust)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        whyclust.nonsense  # noqa: B018


def test_package_data_is_there():
    assert (ROOT / "py.typed").exists()
    assert (ROOT / "report" / "page.html.jinja").exists()
    assert (ROOT / "report" / "trust.html.jinja").exists()


def test_the_tour_of_the_code_names_files_that_hold_what_it_says():
    """`Name` (`folder/file.py`: the class is in that file."""
    text = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)`\s\(`([\w/]+\.py)`", text)
    assert {name for name, _ in named} >= {
        "Ascent",
        "Batch",
        "DeepClusterer",
        "DeepModel",
        "Keeper",
        "Space",
        "Update",
    }
    for name, file in named:
        defined = {node.name for node in ast.parse((ROOT / file).read_text()).body if hasattr(node, "name")}
        assert name in defined, f"{file} has no {name}"
