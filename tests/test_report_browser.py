"""The report as a reader uses it: opened from a file, in a browser, by clicks."""

import re
import warnings
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from browser import click, complaints, go, needs_browser, opened, requests, shown, until, violations
from test_report_data import read
from whyclust.cluster import SoftKMeans
from whyclust.report.data.typical import nearest_typical
from whyclust.report.engine import engine_spec
from whyclust.telling.doubtful import doubtful
from whyclust.telling.rounding import percent

pytestmark = needs_browser
PLACES = ("#/", "#/?row=3", "#/cluster/1", "#/pairs/0/1", "#/table?row=3", "#/words")


def customers(n_rows=240):
    """Three kinds of customers, with a category."""
    X, kind = make_blobs(n_rows, 4, centers=3, cluster_std=1.5, random_state=4)
    frame = pd.DataFrame(X, columns=["age", "income", "basket", "visits"])
    frame["region"] = np.array(["north", "south", "west"])[(kind + (np.arange(n_rows) % 5 == 0)) % 3]
    return frame


@pytest.fixture(scope="module")
def explained():
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    return explain_table(Table(customers()), k=3).explanation


@pytest.fixture(scope="module")
def page(explained, tmp_path_factory):
    return explained.to_html(tmp_path_factory.mktemp("page") / "report.html", title="Customers")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


@pytest.fixture
def driver(browser):
    browser.get_log("browser")
    browser.get_log("performance")
    yield browser
    assert complaints(browser) == []
    assert requests(browser) == []


def pick_a_point(driver):
    """Click the map where a row is."""
    until(driver, "return document.documentElement.dataset.drawn")
    driver.execute_script(
        """const canvas = document.querySelector('canvas'), box = canvas.getBoundingClientRect();
        for (let x = 40; x < box.width - 40; x += 6) for (let y = 40; y < box.height - 40; y += 6) {
          const place = { clientX: box.x + x, clientY: box.y + y, bubbles: true };
          canvas.dispatchEvent(new MouseEvent('click', place));
          if (location.hash.includes('row=')) return;
        }"""
    )
    until(driver, "return location.hash.includes('row=')")


def downloaded(driver, name):
    path = Path(driver.capabilities["chrome"]["userDataDir"]).parent / "downloads" / name
    for _ in range(100):
        if path.exists():
            break
        driver.execute_async_script("setTimeout(arguments[0], 100)")
    return path


def test_from_the_map_to_a_download(driver, page, explained):
    go(driver, page)
    pick_a_point(driver)
    shown(driver, "how far from the border, 0 is on it")
    click(driver, "What would move it?")
    shown(driver, "One column alone".upper())
    first = driver.execute_script("return document.querySelector('#page .together td').innerText")
    click(driver, "hold", within="#page .together")
    until(
        driver,
        """return [...document.querySelectorAll('#page table td:first-child')]
             .every((one) => one.innerText != arguments[0])""",
        first,
    )
    click(driver, "What if?")
    until(driver, "return document.querySelector('#page input[type=range]')")
    before = driver.execute_script("return document.querySelector('#page .total .figure').dataset.sum")
    driver.execute_script(
        """const one = document.querySelector('#page input[type=range]');
        one.value = one.max; one.dispatchEvent(new Event('input', { bubbles: true }));"""
    )
    until(driver, "return document.querySelector('#page .total .figure').dataset.sum != arguments[0]", before)
    click(driver, "Close this row")
    click(driver, "Pairs")
    shown(driver, "What separates A from B?")
    until(
        driver, "document.querySelector('#page td button').click(); return location.hash.includes('/pairs/')"
    )
    shown(driver, "of the difference")
    go(driver, page, "#/cluster/1")
    shown(driver, "What drives it".upper())
    shown(driver, "Closest to leaving".upper())
    click(driver, "Table")
    shown(driver, "240 of 240 rows")
    driver.execute_script(
        """const one = document.querySelector('#page input[type=search]');
        one.value = 'north'; one.dispatchEvent(new Event('input', { bubbles: true }));"""
    )
    north = int((explained.data["region"] == "north").sum())
    shown(driver, f"{north} of 240 rows")
    click(driver, "CSV")
    rows = pd.read_csv(downloaded(driver, "rows.csv"))
    assert len(rows) == north
    own = explained.data.loc[rows["row"].tolist()]
    np.testing.assert_allclose(rows["age"], own["age"], rtol=1e-6)
    assert rows["region"].tolist() == own["region"].tolist()


def lines_of(driver, table):
    """What stands in the lines of a table."""
    return until(
        driver,
        """const found = [...document.querySelectorAll(arguments[0] + ' tbody tr')];
           return found.length && found.map((line) => [...line.cells].map((cell) => cell.innerText))""",
        f"#page {table}",
    )


@pytest.fixture(scope="module")
def visits():
    """Customers with a column of whole numbers, four kinds of them."""
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    frame = customers()
    frame["calls"] = np.random.default_rng(0).poisson(2 + 3 * (frame["age"] > 0), size=240)
    return explain_table(Table(frame), k=4).explanation


@pytest.fixture(scope="module")
def visits_page(visits, tmp_path_factory):
    return visits.to_html(tmp_path_factory.mktemp("visits") / "report.html")


def test_what_is_shown_moves_the_row(driver, visits, visits_page):
    """One column alone as in Python, and the values as they are shown lead where it is said."""
    net = visits.origin.network
    moved = joint = 0
    for row in (3, 40, 77, 120):
        go(driver, visits_page, f"#/?row={row}")
        shown(driver, "Why here?")
        click(driver, "What would move it?")
        shown(driver, "Several numbers together".upper())
        told = {}
        for column in visits.feature_names:  # the region is tried value by value
            fixed = [one for one in visits.feature_names if one != column]
            try:
                told[column] = visits.smallest_change(
                    row, fixed=fixed, bounds="data", whole=[column] if column == "calls" else []
                )
            except ValueError:
                continue
        nearest = sorted(told, key=lambda one: told[one].distance)[:3]
        if nearest:
            lines = lines_of(driver, ".alone")
            assert [line[0] for line in lines] == nearest
            moved += len(lines)
        else:
            shown(driver, "No single column moves it, whatever value of the data it takes.")
            lines = []
        for name, _, then, leads, far, _ in lines:
            value = then if name == "region" else float(then)
            changed = visits.data.iloc[[row]].assign(**{name: value})
            assert leads == f"cluster {net.predict(changed)[0]}" == f"cluster {told[name].to}"
            assert float(far) == pytest.approx(told[name].distance, rel=6e-3)
            assert visits.data[name].min() <= value <= visits.data[name].max()
            assert name != "calls" or float(then) == told[name].point["calls"].iloc[0]
        together = visits.smallest_change(row, fixed=["region"], bounds="data")
        panel = driver.execute_script("return document.querySelector('#page .panel').innerText")
        none_nearer = re.search(r"No several numbers were found that are nearer than (\w+) alone", panel)
        joint += not none_nearer
        if none_nearer:  # calls move in whole steps, which may be as far as one column alone
            assert none_nearer[1] in [line[0] for line in lines]
            continue
        shown(driver, f"It would be in cluster {together.to} with these values.")
        changed = visits.data.iloc[[row]].astype({"calls": float})
        for name, now, then, _ in lines_of(driver, ".together"):
            assert now != then
            changed[name] = float(then)
        assert net.predict(changed)[0] == together.to
        click(driver, "Try these values")
        shown(driver, f"instead of cluster {visits.assigned[row]}")
        assert until(driver, "return document.querySelector('#page .outcome strong')?.innerText") == (
            f"Cluster {together.to}"
        )
    assert moved > 2
    assert joint > 1


def first_row(driver):
    return until(driver, "return document.querySelector('#page tbody th button')?.innerText")


def test_doubtful_rows_are_found_from_the_overview(driver, visits_page, visits):
    go(driver, visits_page)
    found = doubtful(visits)
    unsure = int(found.rows.sum())
    assert 0 < unsure < 24
    click(driver, f"{unsure} doubtful row{'' if unsure == 1 else 's'}")
    shown(driver, found.describe())
    shown(driver, f"{unsure} of {len(visits)} rows")
    assert not driver.execute_script("return document.querySelector('#page tr.cut')")
    order = np.argsort(visits.evidence)
    # Among all rows a line is drawn below the last of them.
    driver.execute_script("document.querySelector('#page .tools input[type=checkbox]').click()")
    shown(driver, f"{len(visits)} of {len(visits)} rows")
    shown(driver, f"{'It stands' if unsure == 1 else 'They stand'} above the line.")
    below = until(driver, "return document.querySelector('#page tr.cut th')?.innerText")
    assert below == str(visits.index[order[unsure]])
    assert first_row(driver) == str(visits.index[order[0]])
    click(driver, first_row(driver), within="#page tbody")
    shown(driver, "It is doubtful: below ")
    shown(driver, "No other row of its cluster lies nearer to the border.")
    driver.execute_script(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }))"
    )
    until(driver, "return location.hash.endsWith('row=' + arguments[0])", int(order[1]))
    driver.refresh()
    until(
        driver,
        "return document.querySelector('#page aside h2')?.innerText === arguments[0]",
        f"Row {visits.index[order[1]]}",
    )
    assert first_row(driver) == str(visits.index[order[0]])


def test_a_row_that_is_not_doubtful_is_not_called_so(driver, visits_page, visits):
    found = doubtful(visits)
    least = min(np.flatnonzero(~found.rows), key=lambda row: visits.evidence[row])
    go(driver, visits_page, f"#/?row={least}")
    shown(driver, "nearer to the border")
    assert "doubtful" not in driver.execute_script("return document.querySelector('#page .answer').innerText")


def test_a_table_is_filtered_by_a_category(driver, page, explained):
    go(driver, page, "#/table")
    shown(driver, "240 of 240 rows")
    for label, text in (("Column", "region"), ("Its value", "west")):
        driver.execute_script(
            """const one = [...document.querySelectorAll('#page select')].find((one) =>
                 (one.getAttribute('aria-label') ?? one.labels[0].innerText).startsWith(arguments[0]));
               one.value = [...one.options].find((option) => option.text === arguments[1]).value;
               one.dispatchEvent(new Event('change', { bubbles: true }));""",
            label,
            text,
        )
    shown(driver, f"{(explained.data['region'] == 'west').sum()} of 240 rows")


@pytest.mark.parametrize("width", [1400, 400])
def test_the_table_keeps_its_height_beside_a_row(driver, page, width):
    with seen_as(driver, False, width):
        go(driver, page, "#/table?row=3")
        until(driver, "return document.querySelector('#page aside h2')")
        until(driver, "return document.querySelector('#page tbody th button')")
        high, panel = driver.execute_script(
            """return [document.querySelector('#page .window').getBoundingClientRect().height,
                       document.querySelector('#page aside').getBoundingClientRect().top + window.scrollY]"""
        )
    assert 200 < high < 900  # that of a window
    assert panel < 900


def test_a_row_is_found_by_its_name(driver, page, explained):
    go(driver, page, "#/table")
    shown(driver, "240 of 240 rows")
    click(driver, "evidence", within="#page thead")
    for text in (f"row {explained.index[9]}", f"Row {explained.index[9]} ", str(explained.index[9])):
        driver.execute_script(
            """const one = document.querySelector('#page input[type=search]');
            one.value = arguments[0]; one.dispatchEvent(new Event('input', { bubbles: true }));""",
            text,
        )
        until(
            driver,
            "return document.querySelector('#page tbody th button')?.innerText === arguments[0]",
            str(explained.index[9]),
        )


def test_each_word_is_searched_in_any_column(driver, page, explained):
    go(driver, page, "#/table")
    shown(driver, "240 of 240 rows")
    name, region = str(explained.index[9]), explained.data["region"].iloc[9]
    driver.execute_script(
        """const one = document.querySelector('#page input[type=search]');
        one.value = arguments[0]; one.dispatchEvent(new Event('input', { bubbles: true }));""",
        f"{region} {name}".upper(),
    )
    found = sum(
        name.lower() in str(one).lower() and there == region
        for one, there in zip(explained.index, explained.data["region"], strict=True)
    )
    shown(driver, f"{found} of 240 rows")


def test_a_row_stays_open_through_the_words(driver, page):
    go(driver, page, "#/?row=5")
    shown(driver, "Why here?")
    click(driver, "In words")
    until(driver, "return document.documentElement.classList.contains('in-words')")
    driver.execute_script("location.hash = document.querySelector('.words section[id]').id")
    until(driver, "return !location.hash.startsWith('#/')")
    click(driver, "Table")
    until(driver, "return location.hash === '#/table?row=5'")
    until(driver, "return document.querySelector('#page aside h2')")


def test_what_if_asks_what_why_here_asks(driver, page):
    go(driver, page, "#/?row=5")
    figures = """return [...document.querySelectorAll('#page .waterfall .step')].slice(0, 3)
                   .map((one) => ['.name', '.figure'].map((part) => one.querySelector(part).innerText))"""
    shown(driver, "which comes next.")
    until(driver, "return document.querySelector('#page .waterfall .step')")
    before = driver.execute_script(figures)
    click(driver, "What if?")
    shown(driver, "which comes next:")
    assert driver.execute_script(figures) == before


def draw_a_lasso(driver, x, y):
    """Around a part of the map, and released at a point."""
    driver.execute_script(
        """const [x, y] = arguments, canvas = document.querySelector('canvas');
        const box = canvas.getBoundingClientRect();
        const at = (dx, dy) => ({ clientX: box.x + x + dx, clientY: box.y + y + dy, bubbles: true });
        const fire = (type, dx, dy) =>
          canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, buttons: 1, ...at(dx, dy) }));
        canvas.setPointerCapture = () => {};
        fire('pointerdown', -300, -300);
        const ways = [[300, -300], [300, 300], [-300, 300], [-200, 0], [0, 0]];
        for (const way of ways) fire('pointermove', ...way);
        fire('pointerup', 0, 0);
        canvas.dispatchEvent(new MouseEvent('click', at(0, 0)));""",
        x,
        y,
    )


def test_a_lasso_opens_no_row_and_leads_to_the_table(driver, page):
    go(driver, page)
    pick_a_point(driver)
    point = driver.execute_script(
        """const one = document.querySelector('circle.picked');
           return [Number(one.getAttribute('cx')), Number(one.getAttribute('cy'))]"""
    )
    click(driver, "Lasso")
    draw_a_lasso(driver, *point)
    # What is chosen is seen beside the row that is open.
    until(driver, "return document.querySelector('#page .selection h2') && location.hash.includes('row=')")
    click(driver, "Close this row")
    click(driver, "Lasso")
    draw_a_lasso(driver, *point)
    driver.execute_async_script("setTimeout(arguments[0], 200)")
    assert driver.execute_script("return location.hash") == "#/"
    chosen = until(driver, "return document.querySelector('#page .selection h2')?.innerText")
    found = int("".join(letter for letter in chosen if letter.isdigit()))
    assert 0 < found < 240
    click(driver, "See them in the table")
    shown(driver, f"{found} of 240 rows")
    click(driver, first_row(driver), within="#page tbody")
    until(driver, "return location.hash.includes('chosen?row=')")
    shown(driver, f"{found} of 240 rows")


def test_what_if_slides_within_the_data(driver, tmp_path):
    """Whole numbers by whole steps, from the lowest to the highest, and what is limited is said."""
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    frame = customers()
    generator = np.random.default_rng(1)
    frame["absent"] = np.r_[generator.poisson(1 + 2 * (frame["age"] > 0)), [75]][-240:]
    ex = explain_table(Table(frame), k=3).explanation
    go(driver, ex.to_html(tmp_path / "absent.html"), "#/?row=5")
    shown(driver, "Why here?")
    click(driver, "What if?")
    sliders = until(
        driver,
        """const found = [...document.querySelectorAll('#page input[type=range]')];
           return found.length &&
             found.map((one) => [one.labels[0].innerText, one.min, one.max, one.step])""",
    )
    assert {name: (float(low), float(high), step) for name, low, high, step in sliders} == {
        name: (frame[name].min(), frame[name].max(), "1" if name == "absent" else "any")
        for name in frame
        if name != "region"
    }
    own = ex.feature_names.index("absent")
    steps = next(one["steps"] for one in engine_spec(ex)[0]["encoded"] if one["source"] == own)
    scaled, limit = steps[-2:]
    highest = (limit["high"] - scaled["offset"]) / scaled["factor"] + scaled["origin"]
    shown(driver, f"from {highest:.3g} on nothing changes: the column is limited there")
    driver.execute_script(
        """const one = [...document.querySelectorAll('#page input[type=range]')]
             .find((one) => one.labels[0].innerText === 'absent');
           one.value = 20.6; one.dispatchEvent(new Event('input', { bubbles: true }));"""
    )
    exact = "return document.querySelector('#page input[aria-label=\"absent, exactly\"]')?.value"
    until(driver, f"{exact} === '21'")
    click(driver, "Why here?")
    click(driver, "What if?")
    until(driver, f"{exact} === '21'")
    # The outcome stays in sight.
    driver.execute_script("document.querySelector('#page .side').scrollTop = 1e6")
    top, bottom = until(
        driver,
        """const one = document.querySelector('#page .outcome').getBoundingClientRect();
           return [one.top, one.bottom]""",
    )
    assert 0 <= top < bottom <= 900
    click(driver, "Undo")
    until(driver, f"{exact} === arguments[0]", str(frame["absent"].iloc[5]))


def test_pairs_compare_the_same_category_on_both_sides(driver, visits, visits_page):
    ids = [one.cluster for one in visits.summary()]
    region, own = visits.data["region"], visits.clusters
    shares = {one: region[own == one].value_counts(normalize=True).to_dict() for one in ids}
    told = 0
    for there, rival in enumerate(ids[1:], start=1):
        go(driver, visits_page, f"#/pairs/0/{there}")
        shown(driver, "of the difference")
        lines = driver.execute_script(
            "return [...document.querySelectorAll('#page .spreads small')].map((one) => one.innerText)"
        )
        assert len(lines) == 6  # all of the main columns have a chart
        line = next((one for one in lines if one.startswith("region")), None)
        if line is None:
            continue
        told += 1
        apart = {
            name: abs(shares[ids[0]].get(name, 0) - shares[rival].get(name, 0)) for name in region.unique()
        }
        name = max(apart, key=apart.get)
        both = [percent(shares[one].get(name, 0.0)) for one in (ids[0], rival)]
        assert line.split("\n")[1] == f"{name} {both[0]} against {both[1]}"
    assert told


def test_the_pair_that_is_hardest_to_tell_apart_is_so_both_ways(driver, visits_page):
    go(driver, visits_page, "#/pairs")
    shown(driver, "These two are the hardest to tell apart.")
    cells = "return document.querySelectorAll('#page td.hardest').length"
    assert driver.execute_script(cells) == 2
    click(driver, "The other way round")
    until(driver, "return location.hash.startsWith('#/pairs/')")
    shown(driver, "These two are the hardest to tell apart.")


def test_words_are_a_table_and_print_whole(driver, visits_page, tmp_path):
    """Cells stand below their headings, and nothing is wider than the paper."""
    go(driver, visits_page, "#/words")
    lines = until(
        driver,
        """return [...document.querySelectorAll('table.features')].map((table) => {
             const heads = [...table.tHead.rows[0].cells].map((one) => one.getBoundingClientRect().right);
             return [...table.tBodies[0].rows].map((line) => [...line.cells].map((one, place) =>
               Math.abs(one.getBoundingClientRect().right - heads[place])));
           })""",
    )
    assert len(lines) >= 4
    assert max(far for table in lines for line in table for far in line) < 1
    with seen_as(driver, False, 700):  # the width of a sheet between its margins
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        driver.execute_async_script("setTimeout(arguments[0], 200)")
        wide = driver.execute_script(
            """return [...document.querySelectorAll('.words .scroll')].map((one) =>
                 [one.scrollWidth, one.clientWidth, getComputedStyle(one).overflowX])"""
        )
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert all(inner <= outer + 1 and flow == "visible" for inner, outer, flow in wide)


def test_where_there_is_no_structure_every_cluster_says_so(driver, tmp_path):
    X = np.random.default_rng(0).normal(size=(150, 3)) * [4, 1, 1]
    model = KMeans(3, n_init=3, random_state=0).fit(X)
    audit = wc.audit(model, X, n_repeats=2, n_refits=2, methods=["squared"])
    structure, *others = audit.answers
    assert (structure.question, structure.answer) == ("structure", "no")
    assert "no" not in [one.answer for one in others]
    path = wc.explain(model, X).to_html(tmp_path / "lump.html", audit=audit)
    go(driver, path)
    until(
        driver,
        """const cards = [...document.querySelectorAll('#page .card')];
           return cards.length === 3 &&
             cards.every((one) => one.innerText.includes('The audit finds no structure.'))""",
    )
    # They come back, and have their reasons: a mere 'no' would say that they are of no use.
    shown(driver, "Trust: not as groups")
    shown(
        driver,
        "Use the clusters to sort rows, and the reasons to see by what, but they are not separate groups.",
    )
    go(driver, path, "#/cluster/1")
    shown(driver, f"The audit finds no structure: {structure.reason}.")


def test_bars_are_saved_as_a_drawing(driver, page, explained):
    go(driver, page, "#/?row=5")
    name, cluster, rival = explained.index[5], explained.clusters[5], explained.competitors[5]
    shown(driver, f"and not cluster {rival}, which comes next")
    shown(driver, "Save as")
    click(driver, "SVG")
    file = f"Row-{name}-why-cluster-{cluster}-and-not-cluster-{rival}"
    path = downloaded(driver, f"{file}.svg")
    texts = [one.text for one in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == f"Row {name}: why cluster {cluster} and not cluster {rival}"
    assert all(any(text.startswith(f"{one} = ") for text in texts) for one in explained.feature_names)
    assert float(texts[-1]) == pytest.approx(explained.explained[5], rel=5e-3)
    click(driver, "PNG of these bars")
    assert downloaded(driver, f"{file}.png").read_bytes().startswith(b"\x89PNG")


def test_sums_are_those_of_the_explanation(driver, page, explained):
    for row in range(0, 240, 24):
        go(driver, page, f"#/?row={row}")
        found = until(driver, "return document.querySelector('#page .total .figure')?.dataset.sum")
        # Columns are held in single precision.
        assert float(found) == pytest.approx(explained.explained[row], rel=1e-6, abs=1e-6)


def test_another_question_is_answered_as_python_does(driver, page, explained):
    go(driver, page, "#/?row=5")
    shown(driver, "and not")
    own = explained.clusters[5]
    rival = next(one for one in (0, 1, 2) if one not in (own, explained.competitors[5]))
    code = [one.cluster for one in explained.summary()].index(rival)
    driver.execute_script(
        """const one = document.querySelector('#page select[aria-label="Competitor"]');
        one.value = [...one.options].find((option) => option.text === 'Cluster ' + arguments[0]).value;
        one.dispatchEvent(new Event('change', { bubbles: true }));""",
        str(rival),
    )
    duel = explained[5].ask(cluster=own, against=rival)
    assert code == rival
    until(
        driver,
        """const found = document.querySelector('#page .total .figure').dataset.sum;
           return Math.abs(found - arguments[0]) < 1e-6 * Math.abs(arguments[0])""",
        float(duel.explained[0]),
    )
    # The sentence names the question of the bars, and their total.
    told = "return document.querySelector('#page .answer').innerText"
    assert f"against cluster {rival} alone. The evidence is {duel.explained[0]:.3g}, above 0" in (
        driver.execute_script(told)
    )
    go(driver, page, "#/?row=5")
    # The first question is that of the nearest border, which the other tabs speak of, too.
    nearest = explained.competitors[5]
    shown(
        driver,
        f"Why cluster {own} and not cluster {nearest}, which comes next. Its evidence is "
        f"{explained.evidence[5]:.3g}: how",
    )
    found = driver.execute_script("return document.querySelector('#page .total .figure').dataset.sum")
    assert float(found) == pytest.approx(
        explained[5].ask(cluster=own, against=nearest).explained[0], rel=1e-6
    )


def test_evidence_that_is_pooled_softly_is_told_beside_what_the_bars_sum_to(driver, tmp_path):
    frame = customers().iloc[:, :4]
    model = make_pipeline(StandardScaler(), SoftKMeans(3, decision="absolute", random_state=0)).fit(frame)
    ex = wc.explain(model, frame)
    path = ex.to_html(tmp_path / "soft.html")
    row = int(np.argmax(np.abs(ex.explained - ex.evidence) * (ex.evidence > 0)))
    go(driver, path, f"#/?row={row}")
    text = until(driver, "return document.querySelector('#page .answer')?.innerText")
    assert f"Its evidence is {ex.explained[row]:.3g}" in text
    assert f"{ex.explained[row]:.3g}" != f"{ex.evidence[row]:.3g}"
    assert f"The model itself takes a soft minimum over them, {ex.evidence[row]:.3g}." in text


@contextmanager
def seen_as(driver, dark, width):
    """The browser as somebody else has it: in the dark, or on a phone."""
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
    )
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def reads_well(driver, path, place, width):
    go(driver, path, place)
    until(driver, "return document.readyState === 'complete'")
    driver.execute_async_script("setTimeout(arguments[0], 150)")
    assert violations(driver) == [], place
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width, place


@pytest.mark.parametrize("width", [800, 400])
def test_the_caption_of_the_map_ends_before_what_comes_next(driver, page, width):
    with seen_as(driver, False, width):
        go(driver, page)
        caption = until(driver, "return document.querySelector('p.axes')")
        # As long as captions become.
        driver.execute_script("arguments[0].append(' · rows far outside'.repeat(9))", caption)
        side = until(driver, "return document.querySelector('.side')")
        bottom = driver.execute_script("return arguments[0].getBoundingClientRect().bottom", caption)
        top = driver.execute_script("return arguments[0].getBoundingClientRect().top", side)
    assert bottom <= top


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_everybody_can_read_it(driver, page, dark, width):
    with seen_as(driver, dark, width):
        for place in PLACES:
            reads_well(driver, page, place, width)


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    """Texts of two kinds."""
    texts = [f"cats and dogs play, number {n}" for n in range(20)] + [
        f"ships at sea {n} days" for n in range(20)
    ]
    model = make_pipeline(TfidfVectorizer(), KMeans(2, n_init=1, random_state=0)).fit(texts)
    ex = wc.explain(model, texts)
    return ex, ex.to_html(tmp_path_factory.mktemp("news") / "report.html")


@pytest.fixture(scope="module")
def two_spaces(tmp_path_factory):
    """A table, and images, of a deep model with a decoder and two spaces."""
    deep = pytest.importorskip("whyclust.deep", reason="needs PyTorch")
    quick = {"hidden": (), "epochs": 20, "pretrain_epochs": 20, "batch_size": 32, "random_state": 0}
    folder, pages = tmp_path_factory.mktemp("deep"), {}
    images = (load_digits().images[:120] / 16).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X in (("table", customers(120).iloc[:, :4]), ("images", images)):
            rows = X if name == "table" else X.reshape(len(X), -1)
            model = deep.ACeDeC(deep.DCN(3, **quick, verbose=None)).fit(rows)
            assert len(model.cluster_dims_), "the spaces have collapsed, and show nothing"
            pages[name] = wc.explain(model, X).to_html(folder / f"{name}.html")
            if name == "table":
                rest = wc.explain(model, X, space="shared")
                pages["ignored"] = rest.to_html(folder / "ignored.html")
    return pages


@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    """A clustering whose borders are bent."""
    frame = customers().iloc[:, :4]
    model = make_pipeline(StandardScaler(), GaussianMixture(3, random_state=0)).fit(frame)
    ex = wc.explain(model, frame)
    places = np.column_stack([np.arange(240.0), np.arange(240.0) % 7])
    return ex, ex.to_html(tmp_path_factory.mktemp("mixture") / "report.html", embedding=places)


@pytest.mark.parametrize(("dark", "width"), [(False, 1400), (True, 400)], ids=["light", "dark"])
def test_everybody_can_read_what_models_show(driver, news, two_spaces, dark, width):
    """The overview and pairs have nothing that models add; colours and widths are tried together."""
    with seen_as(driver, dark, width):
        for path in (news[1], *two_spaces.values()):
            for place in ("#/cluster/0", "#/?row=3"):
                reads_well(driver, path, place, width)


def test_a_cluster_shows_what_its_model_makes_of_it(driver, two_spaces):
    go(driver, two_spaces["images"], "#/cluster/0")
    shown(driver, "WHAT THE MODEL MAKES OF IT")
    shown(driver, "Decoded centre")
    shown(driver, "WHAT IT USES, AND WHAT IT IGNORES")
    # Nothing is fetched: what is there was drawn by Python, and the policy lets it be seen.
    assert until(
        driver,
        """const found = [...document.querySelectorAll('#page .strip img')];
           return found.length >= 7 && found.every((one) => one.complete && one.naturalWidth === 8)""",
    )
    go(driver, two_spaces["table"], "#/cluster/0")
    shown(driver, "decoded centre")
    shown(driver, "Ignores most")


def test_what_a_cluster_uses_is_red_for_it_and_blue_against_it(driver, two_spaces):
    values, _ = read(two_spaces["table"].read_text())
    found = []
    for place, one in enumerate(values["clusters"]):
        go(driver, two_spaces["table"], f"#/cluster/{place}")
        shown(driver, "Uses most")
        classes = driver.execute_script(
            """const heads = [...document.querySelectorAll('#page h4')];
               const list = heads.find((one) => one.innerText === 'Uses most').parentElement;
               const bars = [...list.querySelectorAll('.track b')];
               return bars.map((bar) => bar.classList.contains('against'))"""
        )
        assert classes == [column["negative"] for column in one["model"]["spaces"]["uses"]]
        found += classes
    assert set(found) == {True, False}


def test_spaces_that_are_not_apart_are_told_on_the_page_of_a_cluster(driver, two_spaces):
    said = "of what is ignored lies in dimensions of the cluster space"
    for name in ("table", "ignored"):
        go(driver, two_spaces[name], "#/cluster/0")
        shown(driver, said)
    shown(driver, "grey: all other rows")
    go(driver, two_spaces["ignored"])
    shown(driver, said)


def test_the_badge_opens_and_closes(driver, page):
    go(driver, page)
    reasons = "return document.querySelector('#page .told')?.innerText ?? ''"
    for leave in (
        "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))",
        "location.hash = '#/pairs'",
    ):
        driver.execute_script("document.querySelector('#page .badge').click()")
        until(driver, f"{reasons.replace('return ', 'return (')}).includes('Not measured yet')")
        driver.execute_script(leave)
        until(driver, f"{reasons.replace('return ', 'return (')}) === ''")


def test_words_and_texts_are_shown(driver, news):
    ex, path = news
    go(driver, path, "#/cluster/0")
    shown(driver, "ITS WORDS")
    words = until(
        driver, "return [...document.querySelectorAll('#page .cloud span')].map((one) => one.innerText)"
    )
    first = next(iter(ex.summary())).features
    assert words[0] in first["feature"].head(8).tolist()
    go(driver, path, "#/?row=25")
    shown(driver, "ships at sea 5 days")
    assert until(driver, "return document.querySelector('#page .text mark')?.innerText")


def test_the_nearest_typical_row_is_linked(driver, page, explained):
    typical = {one.cluster: one.typical for one in explained.summary()}
    row = 17
    nearest = int(nearest_typical(explained, typical, np.array([row]))[0])
    go(driver, page, f"#/?row={row}")
    shown(driver, f"Nearest typical row: {explained.index[nearest]}")
    # Where they differ most is what compare says.
    both = explained.compare(row, nearest).to_pandas()
    differing = both[both.iloc[:, 0] != both.iloc[:, 1]]
    shown(driver, f"They differ most in {differing.index[0]} (")
    click(driver, str(explained.index[nearest]))
    until(driver, "return location.hash.endsWith('row=' + arguments[0])", nearest)


def test_changes_at_bent_borders_were_found_beforehand(driver, mixture):
    ex, path = mixture
    doubtful = ex.summary()[0].borderline[0]
    go(driver, path, f"#/?row={doubtful}")
    shown(driver, "Why here?")
    click(driver, "What would move it?")
    change = ex.smallest_change(doubtful)
    shown(driver, f"It would be in cluster {change.to} with these values. Nothing nearer was found.")
    lines = until(
        driver,
        """return [...document.querySelectorAll('#page tbody tr')].map((line) =>
             [...line.cells].map((cell) => cell.innerText))""",
    )
    assert [line[0] for line in lines] == change.changes["column"].tolist()
    then = [float(line[2].replace(",", "")) for line in lines]
    np.testing.assert_allclose(then, change.changes["to"], rtol=6e-4, atol=1e-4)
    other = next(row for row in range(240) if all(row not in one.borderline for one in ex.summary()))
    go(driver, path, f"#/?row={other}")
    shown(driver, "Why here?")
    click(driver, "What would move it?")
    shown(driver, "the answer was found for the rows nearest to a border")
    click(driver, str(ex.index[doubtful]))
    shown(driver, "Nothing nearer was found.")


def test_another_map_is_chosen(driver, mixture):
    _, path = mixture
    go(driver, path)
    shown(driver, "Map by places given")
    driver.execute_script(
        """const one = document.querySelector('#page select[aria-label="Map of the rows by"]');
        one.value = [...one.options].find((option) => option.text === 'principal components').value;
        one.dispatchEvent(new Event('change', { bubbles: true }));"""
    )
    shown(driver, "principal component 1 (")
    pick_a_point(driver)


HOSTILE = [
    "<script>window.evil = 1</script>",
    "</script><script>window.evil = 2</script>",
    '"><img src=x onerror="window.evil = 3">',
    "javascript:window.evil=4",
    "\u202eright to left\u202c",
    "{@html evil}",
    "x" * 10_000,
]


def test_whatever_things_are_called_stays_text(driver, tmp_path):
    X, kind = make_blobs(90, len(HOSTILE), centers=3, random_state=0)
    frame = pd.DataFrame(
        X, columns=HOSTILE, index=[f"{name}{row}" for row, name in enumerate(HOSTILE * 20)][:90]
    )
    names = np.array(HOSTILE[:3], dtype=object)[kind]
    path = wc.explain(names, frame).to_html(tmp_path / "hostile.html", title=HOSTILE[1])
    for place in PLACES:
        go(driver, path, place)
        driver.execute_async_script("setTimeout(arguments[0], 100)")
        assert driver.execute_script(
            "return window.evil === undefined && document.querySelector('#page img') === null"
        )
    go(driver, path, "#/table")
    shown(driver, HOSTILE[0][:16])  # long names lose their middle
    assert driver.title == " ".join(HOSTILE[1].split())


def test_a_row_whose_label_the_surrogate_does_not_give(driver, tmp_path):
    frame = customers().iloc[:, :4]
    labels = KMeans(3, n_init=1, random_state=0).fit_predict(frame)
    labels[7] = (labels[7] + 1) % 3
    explained = wc.explain(labels, frame)
    assert explained.evidence[7] < 0
    path = explained.to_html(tmp_path / "labels.html")
    go(driver, path, "#/?row=7")
    shown(driver, f"Its label is cluster {labels[7]}, but the surrogate")
    shown(driver, f"takes it for cluster {explained.competitors[7]}")


def test_a_page_without_rows_has_none(driver, tmp_path):
    frame = customers().set_axis([f"secret-{row}" for row in range(240)], axis=0)
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(frame.iloc[:, :4])
    path = wc.explain(model, frame.iloc[:, :4]).to_html(tmp_path / "private.html", rows=False)
    text = path.read_text(encoding="utf-8")
    assert "secret-" not in text
    assert "array-" not in text.split("<script>")[0].split("</style>")[1]
    go(driver, path)
    shown(driver, "made without single rows: it tells of clusters of 5 rows or more")
    assert violations(driver) == []
    go(driver, path, "#/cluster/1")
    shown(driver, "WHAT DRIVES IT")


def test_without_webgl_the_map_is_drawn_otherwise(page, tmp_path):
    with opened(tmp_path, webgl=False) as driver:
        go(driver, page)
        shown(driver, "drawn without WebGL")
        pick_a_point(driver)
        assert requests(driver) == []


def test_the_policy_forbids_what_it_says(driver, page):
    go(driver, page)
    tried = driver.execute_async_script(
        """const done = arguments[0];
        const script = document.createElement('script');
        script.textContent = 'window.evil = 1';
        document.body.append(script);
        setTimeout('window.evaluated = 1', 0);
        const told = (fetched) => setTimeout(
          () => done({ ran: window.evil === 1, evaluated: window.evaluated === 1, fetched }), 50);
        fetch('http://127.0.0.1:9/').then(() => told(true), () => told(false));"""
    )
    assert tried == {"ran": False, "evaluated": False, "fetched": False}
    # Refusals are told on the console, as they should be.
    assert sum("Content Security Policy" in one for one in complaints(driver)) >= 2
