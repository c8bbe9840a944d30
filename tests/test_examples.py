"""The notebook runs, cell by cell, and the messy table has the mess that it is for."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
if not EXAMPLES.exists():
    pytest.skip("the package is tested without its repository", allow_module_level=True)

NOTEBOOK = EXAMPLES / "first_ten_minutes.ipynb"


@pytest.fixture(scope="module")
def notebook():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def run(source, namespace):
    """Run a cell, and return what its last line is: a notebook would show it."""
    tree = ast.parse(source, "cell")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)


def test_the_notebook_is_plain(notebook):
    """Format 4, without outputs: those would be old one day, and make changes hard to read."""
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        wanted = {"id", "cell_type", "metadata", "source"}
        if cell["cell_type"] == "code":
            wanted |= {"outputs", "execution_count"}
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
        assert set(cell) == wanted
    assert NOTEBOOK.stat().st_size < 20_000


def test_every_cell_runs(notebook, tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    namespace, shown = {"__name__": "__main__"}, {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            shown[source.splitlines()[-1]] = run(source, namespace)
    told = capsys.readouterr().out
    assert namespace["choice"].k == 3
    assert "Cluster 0 '" in told
    assert "Row wine 4, which is in cluster" in told
    assert shown["abs(float(one.values.sum() + one.base_values[0] - one.explained[0])) < 1e-9"]
    assert shown["names"].shape == (3, 2)
    assert namespace["duel"].question.duel
    for name in ("ex", "one", "choice", "audit", "wc.load(path)"):
        assert "<table" in shown[name]._repr_html_()
    assert {path.name for path in tmp_path.iterdir()} == {"wines.parquet", "wines.html"}


# --- bookings.csv ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bookings():
    return pd.read_csv(EXAMPLES / "bookings.csv", dtype=str, keep_default_na=False)


def test_the_script_makes_the_file(tmp_path):
    script = tmp_path / "make_bookings.py"
    script.write_bytes((EXAMPLES / "make_bookings.py").read_bytes())
    subprocess.run([sys.executable, str(script)], check=True)
    made = (tmp_path / "bookings.csv").read_text(encoding="utf-8")
    assert made == (EXAMPLES / "bookings.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("column", "form"),
    [
        ("price", r"£[\d,]+\.\d\d"),
        ("discount", r"\d+\.\d%|n/a"),
        ("distance", r"\d+ km|-"),
        ("arrival", r"\d\d\.\d\d\.2024"),
        ("dog", "yes|no|-"),
        ("guests", r"\d+|n/a"),
        ("post_code", r"\d{5}"),
        ("currency", "GBP"),
    ],
)
def test_the_mess_is_there(bookings, column, form):
    assert all(re.fullmatch(form, text) for text in bookings[column])
    for spelt in ("n/a", "-"):
        assert (bookings[column] == spelt).sum() == (12 if spelt in form.split("|") else 0)


def test_the_mess_of_whole_columns(bookings):
    assert len(bookings) == 400
    assert (EXAMPLES / "bookings.csv").stat().st_size < 60_000
    assert bookings["booking"].nunique() < 400
    assert bookings["post_code"].str.startswith("0").any()  # a zero that a number would lose
    assert bookings["post_code"].nunique() < 400
    assert bookings["town"].nunique() == 40
    assert sorted(map(int, bookings["rank"])) == list(range(1, 401))
    prices = bookings["price"].str.replace("[£,]", "", regex=True).astype(float)
    assert prices.max() > 100 * prices.nlargest(2).iloc[1]  # the row that is wrong
    assert prices.iloc[prices.argsort()[:-1]].skew() > 1
    assert bookings["price"].str.contains(",").any()


def test_four_groups_are_found_where_the_mess_is_cleared(bookings):
    from sklearn.preprocessing import StandardScaler

    from whyclust.cluster import choose_k

    table = pd.DataFrame(
        {
            "price": bookings["price"].str.replace("[£,]", "", regex=True),
            "discount": bookings["discount"].str.rstrip("%"),
            "distance": bookings["distance"].str.removesuffix(" km"),
            **{name: bookings[name] for name in ("nights", "guests", "days_ahead", "stars")},
        }
    ).apply(pd.to_numeric, errors="coerce")
    right = table[table["price"] < 1e5].dropna()
    choice = choose_k(StandardScaler().fit_transform(right), k_max=8, random_state=0)
    assert (choice.k, choice.stands_out) == (4, True)
