"""What readers of the report's page expect of it, in a browser: categories, held columns, table, Pairs."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from browser import click, complaints, go, needs_browser, opened, shown, until
from whyclust.telling.sentences import percent

pytestmark = needs_browser


@pytest.fixture(scope="module")
def guests():
    """A table in which a category, or yes or no, decides about many rows."""
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    generator = np.random.default_rng(0)
    kind = np.arange(300) % 2
    frame = pd.DataFrame(
        {
            "nights": generator.poisson(3 + 2 * kind),
            "price": 50 + 20 * kind + 15 * generator.normal(size=300),
            "member": generator.random(300) < 0.1 + 0.8 * kind,
            "breakfast": generator.random(300) < 0.2 + 0.6 * kind,
            "room": np.array(["single", "double", "suite"])[(kind + (generator.random(300) < 0.2)) % 3],
            **{f"wish {place}": generator.normal(size=300) + kind for place in range(12)},
        }
    )
    return explain_table(Table(frame), k=2).explanation


@pytest.fixture(scope="module")
def page(guests, tmp_path_factory):
    return guests.to_html(tmp_path_factory.mktemp("guests") / "report.html")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("browser")) as driver:
        yield driver
        assert complaints(driver) == []


def answers(driver, table):
    """Lines of a table of answers, none where there is no such table."""
    return driver.execute_script(
        """return [...document.querySelectorAll(arguments[0] + ' tbody tr')]
             .map((line) => [...line.cells].map((cell) => cell.innerText))""",
        f"#page {table}",
    )


def only_line(driver):
    """The cells of the one row that the table shows, as soon as it is one; lines of space are around it."""
    until(driver, "return document.querySelectorAll('#page .window tbody tr').length === 3")
    return answers(driver, ".window")[1]


def moved_by(guests, column):
    """Rows that this column alone moves, and how, as Python finds it."""
    fixed = [one for one in guests.feature_names if one != column]
    found = {}
    for row in np.argsort(guests.evidence)[:40].tolist():
        try:
            found[row] = guests.smallest_change(row, fixed=fixed)
        except ValueError:
            continue
    return found


@pytest.mark.parametrize("column", ["member", "room"])
def test_a_category_alone_moves_a_row(driver, guests, page, column):
    row, change = next(iter(moved_by(guests, column).items()))
    go(driver, page, f"#/?row={row}")
    click(driver, "What would move it?")
    shown(driver, "One column alone".upper())
    # The three nearest columns are shown: all others are held, so that this one is among them.
    driver.execute_script(
        """for (const one of document.querySelectorAll('#page .holds label'))
             if (one.textContent.trim() !== arguments[0]) one.querySelector('input').click();""",
        column,
    )
    line = until(
        driver,
        """return [...document.querySelectorAll('#page .alone tbody tr')]
             .map((line) => [...line.cells].map((cell) => cell.innerText))
             .find((line) => line[0] === arguments[0])""",
        column,
    )
    now, then = str(guests.data.iloc[row][column]), str(change.point[column].iloc[0])
    assert line[:4] == [column, now, then, f"cluster {change.to}"]
    assert float(line[4]) == pytest.approx(change.distance, rel=6e-3)
    click(driver, f"Try {column} {then}")
    shown(driver, f"instead of cluster {guests.assigned[row]}")
    value = "return [...document.querySelectorAll('#page .sliders select')].map((one) => one.value)"
    assert then in until(driver, value)


def test_columns_are_held_for_one_row_only(driver, guests, page):
    first, second = np.argsort(-guests.evidence)[:2].tolist()
    go(driver, page, f"#/?row={first}")
    click(driver, "What would move it?")
    until(driver, "return document.querySelector('#page .together button')")
    click(driver, "hold", within="#page .together")
    shown(driver, "Held as they are, for this row:")
    # It is said above the answers that it is about.
    assert driver.execute_script(
        """const text = document.getElementById('page').innerText;
           return text.indexOf('Held as they are') < text.indexOf('ONE COLUMN ALONE')"""
    )
    driver.execute_script("location.hash = arguments[0]", f"#/?row={second}")
    shown(driver, f"Row {guests.index[second]}")
    until(driver, "return !document.getElementById('page').innerText.includes('Held as they are')")


def test_several_numbers_are_nearer_than_one_of_them_or_say_that_none_are(driver, guests, page):
    """In whole steps, too: columns that would move by less than half of one stand."""
    told, compared = "No several numbers were found that are nearer than", 0
    for row in np.argsort(guests.evidence)[:12].tolist():
        go(driver, page, f"#/?row={row}")
        click(driver, "What would move it?")
        shown(driver, "ONE COLUMN ALONE")
        text = driver.execute_script("return document.querySelector('#page .panel').innerText")
        alone = [line for line in answers(driver, ".alone") if line[0] in {"nights", "price"}]
        together = re.search(r"How far: ([0-9.e-]+) before rounding", text)
        if together is None:
            assert told in text
        elif alone:
            assert float(together[1]) <= min(float(line[4]) for line in alone) * 1.01
            compared += 1
    assert compared > 1


def test_where_no_column_is_enough_two_are_shown(driver, guests, page):
    for row in np.argsort(-guests.evidence).tolist():
        go(driver, page, f"#/?row={row}")
        click(driver, "What would move it?")
        until(driver, "return document.querySelector('#page .together')")
        lines = answers(driver, ".two")
        if lines:
            break
    assert answers(driver, ".alone") == []
    changed = guests.data.iloc[[row]].copy()
    for name, now, then, _ in lines:
        assert float(now) == pytest.approx(changed[name].iloc[0], rel=1e-4)
        assert name != "nights" or float(then) == round(float(then))
        changed[name] = float(then)
    assert len(lines) <= 2
    assert guests.origin.network.predict(changed)[0] != guests.assigned[row]


def test_a_search_begins_at_the_top_and_names_of_rows_keep_their_heading(driver, page):
    go(driver, page, "#/table")
    shown(driver, "300 of 300 rows")
    until(
        driver,
        """const one = document.querySelector('#page .window');
           one.scrollTop = 3000; one.scrollLeft = 300; return one.scrollTop > 1000 && one.scrollLeft > 100""",
    )
    places = """const left = (one) => document.querySelector(one).getBoundingClientRect().left;
        return [left('#page thead th'), left('#page tbody th')]"""
    heading, name = driver.execute_script(places)
    assert abs(heading - name) < 1
    driver.execute_script(
        """const one = document.querySelector('#page input[type=search]');
        one.value = 'suite'; one.dispatchEvent(new Event('input', { bubbles: true }));"""
    )
    until(driver, "return document.querySelector('#page .window').scrollTop === 0")


def test_pairs_tell_shares_of_yes(driver, guests, page):
    first, second = (one.cluster for one in guests.summary())
    go(driver, page, "#/pairs/0/1")
    shown(driver, "of the difference")
    lines = driver.execute_script(
        "return [...document.querySelectorAll('#page .spreads small')].map((one) => one.innerText)"
    )
    told = next(one for one in lines if one.startswith("member"))
    shares = [percent(guests.data["member"][guests.clusters == one].mean()) for one in (first, second)]
    assert told.split("\n")[1] == f"True {shares[0]} against {shares[1]}"


def test_the_page_says_how_it_counts_rows(driver, guests, page, tmp_path):
    go(driver, page)
    shown(driver, "300 rows, counted from 1;")
    assert "300 rows, counted from 1; 17 columns" in page.read_text(encoding="utf-8")  # in words, too
    from sklearn.cluster import KMeans

    import whyclust as wc

    X = np.random.default_rng(0).normal(size=(30, 2))
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    go(driver, wc.explain(model, X).to_html(tmp_path / "numbers.html"))
    shown(driver, "30 rows, counted from 0;")
    named = pd.DataFrame(X, index=[f"guest {place}" for place in range(30)])
    go(driver, wc.explain(model, named).to_html(tmp_path / "names.html"))
    shown(driver, "30 rows; 2 columns")


def test_rows_are_known_by_the_names_beside_them(driver, guests, tmp_path):
    data = guests.data.copy()
    data.iloc[5, 5:] = np.nan
    names = pd.DataFrame({"guest": [f"Guest <b>{place}</b>" for place in range(len(guests))]})
    page = replace(guests, data=data).to_html(tmp_path / "report.html", beside=names)
    go(driver, page, "#/?row=5")
    shown(driver, "Row 6 Guest <b>5</b>")
    shown(driver, "12 of its 17 values are missing: its cluster rests on what was filled in.")
    go(driver, page, "#/table/doubtful")
    shown(driver, "1 of 300 rows has half of its values or fewer")
    click(driver, "Show them")
    assert "Guest <b>5</b>" in only_line(driver)
    go(driver, page)
    click(driver, "1 row with most values missing")
    assert "Guest <b>5</b>" in only_line(driver)
    go(driver, page, "#/table")
    search = driver.find_element("css selector", "#page input[type=search]")
    search.send_keys("b>123<")
    assert only_line(driver)[0] == "124"
