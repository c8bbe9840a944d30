"""The report: complete, self-contained, and safe whatever the columns are called."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

import whyclust as wc
from sparse_rows import random_rows
from whyclust.cluster.elbow import find_elbow
from whyclust.cluster.fidelity import Fidelity
from whyclust.report import render, to_html
from whyclust.report.inlined import built
from whyclust.report.page import format_value

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "</title><svg onload=alert(1)>",
    "' style='position:fixed",
]
VOID = {"meta", "br", "img"}


class Checker(HTMLParser):
    """Collect tags, attributes and text, and see that tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def words(page):
    """The page without its scripts: one that runs, which the policy names, and data that cannot."""
    found = re.findall(r"<script([^>]*)>(.*?)</script>", page, flags=re.DOTALL)
    running = [text for kind, text in found if "type=" not in kind]
    assert running == [built("page.js")]
    digest = base64.b64encode(hashlib.sha256(running[0].encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;;" in page
    for kind, text in found:
        assert kind == "" or "src" not in kind
        if 'id="page-values"' in kind:
            json.loads(text)
    return re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)


def check(page):
    page = words(page)
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    # Nothing is fetched and nothing runs.
    assert not checker.tags & {"script", "link", "img", "iframe", "object", "embed", "form"}
    for name, value in checker.attributes:
        assert not name.startswith("on")
        assert name != "src"
        if name == "href":
            assert value.startswith("#")
    assert "url(" not in page
    assert "@import" not in page
    return checker


def explained(X, k=3):
    return wc.explain(KMeans(k, n_init=2, random_state=0).fit(X), X)


@pytest.fixture(scope="module")
def wine():
    return explained(load_wine(as_frame=True).data)


def test_the_page_is_complete(wine):
    elbow = find_elbow([1, 2, 3, 4], [100.0, 50.0, 20.0, 15.0])
    page = render(wine, title="Wines", notes=["A note."], choice=elbow, facts={"seed": 17})
    checker = check(page)
    page = words(page)
    text = " ".join(checker.text)
    assert page.startswith("<!doctype html>")
    assert "<title>Wines</title>" in page
    for name in wine.feature_names:
        assert name in text
    for cluster in wine.summary():
        assert f"Cluster {cluster.cluster}" in text
        assert str(cluster.size) in text
    for sentence in wine.describe().splitlines():
        assert sentence in text
    for heading in ("Typical rows", "Borderline rows", "How many clusters?", "Notes on the data"):
        assert heading in text
    assert "A note." in text
    assert wine.rule in text
    assert wc.__version__ in text
    assert "17" in text
    for anchor in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{anchor}"' in page


def test_cards_add_up(wine):
    from whyclust.cluster import KernelKMeans

    X = load_wine(as_frame=True).data
    X = (X - X.mean()) / X.std()
    codes = KMeans(3, n_init=2, random_state=0).fit_predict(X)
    model = KernelKMeans(3, algorithm="standard", init=codes, max_iter=0).fit(X)
    explanation = wc.explain(model, X)
    assert (np.abs(explanation.base_values) > 0.01 * explanation.evidence).any()
    page = render(explanation)
    check(page)
    cards = re.findall(r"<li>.*?evidence ([\d.]+),.*?<dl>(.*?)</dl>", page, flags=re.DOTALL)
    assert len(cards) == 18
    for evidence, card in cards:
        assert "no column" in card
        assert "all other columns" in card
        numbers = [float(one) for one in re.findall(r"<dd[^>]*>([^<]+)</dd>", card)]
        assert sum(numbers) == pytest.approx(float(evidence), rel=5e-3)
    share = (explanation.evidence - explanation.base_values).mean() / explanation.evidence.mean()
    assert f"({share:.0%}), and" in page
    # The evidence of k-means is all in the columns.
    assert "no column</dt>" not in render(wine)
    assert "On average a row" not in render(wine)


def test_one_format_for_numbers(wine):
    text = words(render(wine)).split("</style>")[1]
    assert " %" not in text
    assert "−" not in text


def surrogate_explained(wine, held_out=(0.99, 0.5, 0.97), noise=None):
    """An explanation that says it is of given labels, some of which the surrogate does not share."""
    given = wine.assigned.copy()
    given[:3] = (given[:3] + 1) % 3
    sizes = np.bincount(given)
    in_sample = np.array([(wine.assigned[given == c] == c).mean() for c in range(3)])
    fidelity = Fidelity(np.arange(3), sizes, in_sample, np.array(held_out), np.ones(3), noise)
    return replace(wine, given=given, clusters=given, fidelity=fidelity)


def test_the_certificate_comes_first(wine):
    explanation = surrogate_explained(wine)
    page = render(explanation)
    check(page)
    page = words(page)
    first = page.index("Can this be relied on?")
    weak = page.index("<li>Cluster 1: 50.0% of its rows not seen get its label.</li>")
    assert first < page.index("of them on rows it had not seen") < weak < page.index("Cluster 0 ")
    assert page.count("with care<") == 1
    assert "The surrogate assigns 3 of 178 rows elsewhere than to the label given" in page
    table = page[page.index('<table class="flagged">') :]
    assert table[: table.index("</table>")].count('<th scope="row"') == 3
    cluster = page[page.index("<h2>Cluster 1") :]
    assert "of its rows not seen, the surrogate assigns only 50.0% to it" in cluster[:400]
    assert page.count("the surrogate assigns only") == 2  # in its sentence and at its heading
    assert "with the same assignments" not in page
    assert "Can this be relied on?" not in render(wine)


def test_a_certificate_without_doubts(wine):
    page = render(replace(surrogate_explained(wine, (1.0, 1.0, 1.0)), given=None, clusters=wine.clusters))
    check(page)
    assert "Can this be relied on?" in page
    assert 'class="warning"' not in page
    assert '<table class="flagged">' not in page


def test_flagged_rows_do_not_fill_the_page(wine):
    explanation = surrogate_explained(wine)
    given = (wine.assigned + 1) % 3
    page = render(replace(explanation, given=given, clusters=given))
    check(page)
    assert "128 more rows are not shown" in page


def test_noise_is_called_noise(wine):
    page = render(surrogate_explained(wine, noise=2))
    check(page)
    assert "2 clusters and noise" in page
    assert "<h2>Noise" in page
    assert "Why rows are noise" in page
    assert "luster 2" not in page
    assert page.index("Cluster 1 ") < page.index("Noise holds")


def test_parts_without_content_are_left_out(wine):
    page = render(wine)
    assert "How many clusters?" not in page
    assert "Notes on the data" not in page
    assert "Why these clusters?" in page


@pytest.mark.parametrize("evil", EVIL)
def test_names_cannot_run(evil):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(40, 2)), columns=[evil, "b"])
    frame.index = [f"{evil}{i}" for i in range(40)]
    page = render(
        explained(frame),
        title=evil,
        notes=[evil],
        facts={evil: evil},
    )
    checker = check(page)
    assert sum(evil in text for text in checker.text) > 5
    assert "49" not in "".join(re.findall(r"<h1>(.*?)</h1>", page))


def test_many_columns_and_clusters_and_long_names():
    generator = np.random.default_rng(0)
    names = [f"{'a_long_name_' * 10}{j}" for j in range(50)]
    frame = pd.DataFrame(generator.normal(size=(300, 50)), columns=names)
    page = render(explained(frame, k=12))
    check(page)
    # So many paragraphs fill a screen: the table comes first.
    assert page.index('<table class="overview">') < page.index("Cluster 0 ")
    assert page.count("The other 42 columns") == 12


def test_numbers_are_not_broken_and_long_words_are():
    """On a narrow screen a table scrolls in its own box; half a number would be another number."""
    huge = np.repeat([1.234567e15, 9.87e15], 30)
    jobs = np.repeat(["a_long_category_" * 5, "another_category_" * 5], 30)
    page = render(wc.explain(huge > 5e15, pd.DataFrame({"income": huge, "job": jobs})))
    check(page)
    page = words(page)
    rule = next(line for line in page.splitlines() if line.startswith("td.number"))
    numbers, text = (part.split("}")[0] for part in rule.split("{")[1:])
    assert ("nowrap" in numbers, "anywhere" in numbers) == (True, False)
    assert ("nowrap" in text, "anywhere" in text) == (False, True)
    assert '<td class="number">1.235e+15</td>' in page
    assert '<td class="number worded">100% a_long_category_' in page
    assert 'income = <span class="figure">1.235e+15</span>' in page
    assert "job = a_long_category_" in page
    for table in re.findall(r"(\S+)<table", page):
        assert table == 'class="scroll">'


def test_thousands_of_columns_do_not_make_a_huge_page():
    X = np.random.default_rng(0).normal(size=(40, 3000))
    page = words(render(explained(X, k=2)))
    assert "<summary>The next 192 of 3000 columns</summary>" in page
    assert "The other" not in page
    assert "2800 columns with less relevance are not shown" in page
    assert len(page) < 1_000_000


def test_categories_and_gaps():
    frame = pd.DataFrame(
        {
            "colour": np.resize(["red", "blue"], 60),
            "size": np.where(np.arange(60) == 5, np.nan, np.arange(60.0) % 11),
        }
    )
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    page = render(explain_table(Table(frame), k=2).explanation)
    check(page)
    assert "colour = red" in page or "colour = blue" in page


def test_sparse_tables_and_cluster_names():
    generator = np.random.default_rng(0)
    X = random_rows((60, 8), 0.3, generator)
    page = render(explained(X, k=2))
    check(page)


def test_writing_a_file(wine, tmp_path):
    path = to_html(wine, tmp_path / "report.html", title="Wines")
    assert path == tmp_path / "report.html"
    check(path.read_text(encoding="utf-8"))
    assert wine.to_html(tmp_path / "again.html").read_text(encoding="utf-8")
    assert to_html(wine, tmp_path / "new folder" / "report.html").exists()
    with pytest.raises(OSError):
        to_html(wine, path / "report.html")
    assert {file.name for file in tmp_path.iterdir()} == {"report.html", "again.html", "new folder"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (np.float32(0.5), "0.5"),
        (-1234567, "-1,234,567"),
        (123456.789, "123,457"),
        (1115.7111, "1116"),
        (1100, "1100"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (None, "missing"),
        (True, "True"),
        ("1e5", "1e5"),
    ],
)
def test_values_for_people(value, text):
    assert format_value(value) == text


def test_no_relevance_is_neutral(wine):
    """A column that says nothing is coloured neither for the cluster nor against it, and has no sign."""
    values = np.zeros_like(wine.values)
    values[:, 0], values[:, 1], values[:, 2] = 2.0, -1.0, -0.0
    page = render(replace(wine, values=values, base_values=np.zeros(len(wine)), explained=values.sum(axis=1)))
    check(page)
    page = words(page)
    assert ">-0<" not in page
    assert "+0<" not in page
    cards = re.findall(r"<dd( class=.*?)?>(.*?)</dd>", page)
    assert set(cards) == {(' class="plus"', "+2"), (' class="minus"', "-1"), ("", "0")}


@pytest.fixture(scope="module")
def audited():
    X = load_wine(as_frame=True).data
    model = KMeans(3, n_init=2, random_state=0).fit(X)
    return wc.explain(model, X), wc.audit(model, X, n_repeats=2, n_refits=2, methods=["squared"])


def test_the_audit_comes_first(audited, tmp_path):
    explanation, audit = audited
    page = explanation.to_html(tmp_path / "report.html", audit=audit).read_text(encoding="utf-8")
    checker = check(page)
    page = words(page)
    text = " ".join("".join(checker.text).split())
    assert f"Can I trust this? {audit.trusted.capitalize()}" in text
    reason = audit.verdict[0].partition(": ")[2]
    assert reason[1:] in text
    assert page.index("Can I trust this?") < page.index("Cluster 0 ")
    for sentence in audit.verdict[1:]:
        assert sentence in text
    # The three questions in their order, each with its own answer.
    headings = re.findall(r"<h3>(.*?)</h3>", page)[:3]
    asked = ["Is there structure at all?", "Do the clusters come back when fitted again?"]
    assert [heading.split("? ")[0] + "?" for heading in headings] == [
        *asked,
        "Do the relevant columns decide?",
    ]
    assert [heading.split("? ")[1] for heading in headings] == [
        one.answer.capitalize() for one in audit.answers
    ]
    for row in audit.methods.to_dict("records"):
        assert f"{row['auc']:.1f} ± {row['se']:.1f}" in text
    for row in audit.stability.to_dict("records"):
        assert f"{row['bootstrap']:.2f} ± {row['bootstrap_se']:.2f}" in text
    # A whisker for each method, and two bars for each cluster.
    assert page.count("<circle") == len(audit.methods) == 3
    assert page.count('class="fill"') == 2 * 3


def test_whiskers_lie_in_the_order_of_the_areas(audited):
    from whyclust.report.trust import trust

    values = trust(*audited)
    lines = values["methods"]
    assert [line["x"] for line in lines] == sorted((line["x"] for line in lines), reverse=True)
    for line in lines:
        assert 0 < line["from"] <= line["x"] <= line["to"] < 160
    assert values["low"] <= min(line["auc"] for line in lines)


def test_an_audit_of_something_else_is_refused(audited):
    explanation, audit = audited
    other = explained(load_wine(as_frame=True).data, k=5)
    with pytest.raises(ValueError, match="The audit knows nothing of cluster 3"):
        render(other, audit=audit)
    with pytest.raises(TypeError, match=r"audit is a str, expected what whyclust\.audit returned"):
        render(explanation, audit="yes")


def test_an_audit_with_evil_labels_stays_text():
    X = load_wine(as_frame=True).data.iloc[::3, :4]
    labels = np.array(EVIL[:3])[KMeans(3, n_init=2, random_state=0).fit(X).labels_]
    audit = wc.audit(labels, X, n_repeats=1, n_refits=0, methods=[])
    page = render(wc.explain(labels, X), audit=audit)
    check(page)
    assert "Does the surrogate reproduce the labels?" in page


@pytest.mark.parametrize(("part", "told"), [(0.004, False), (0.006, True), (-0.004, False), (-0.006, True)])
def test_a_part_outside_of_the_columns_is_told_unless_it_rounds_to_nothing(wine, part, told):
    explanation = replace(wine, base_values=part * wine.evidence)
    assert ("On average a row" in render(explanation)) == told


def test_a_column_that_speaks_against_is_among_the_strongest(wine):
    values = np.tile(np.arange(1.0, 14.0), (len(wine), 1))
    values[:, 5] = -1000.0
    page = render(replace(wine, values=values))
    unfolded = re.sub(r"<details>.*?</details>", "", page.split('id="cluster-0"')[1], flags=re.DOTALL)
    bars = unfolded.split('class="features"')[1].split("</table>")[0]
    assert wine.feature_names[5] in bars
    # Seven more of the strongest; the weakest can be unfolded.
    named = [name for name in wine.feature_names if f">{name}<" in bars]
    assert named == [wine.feature_names[place] for place in (5, 6, 7, 8, 9, 10, 11, 12)]


def test_the_strongest_disagreement_comes_first(wine):
    given = wine.assigned.copy()
    given[[3, 50, 90]] = (given[[3, 50, 90]] + 1) % 3
    evidence = wine.evidence.copy()
    evidence[[3, 50, 90]] = [-2.0, -9.0, -5.0]
    explanation = replace(surrogate_explained(wine), given=given, clusters=given, evidence=evidence)
    table = render(explanation).split('class="flagged"')[1].split("</table>")[0]
    assert re.findall(r'<th scope="row"[^>]*>([^<]*)</th>', table) == ["50", "90", "3"]


def test_whiskers_reach_as_far_as_95_percent_intervals():
    from whyclust.report.trust import whisker

    # 148 of 160 units for a scale of 10, and 1.96 standard errors on either side.
    assert whisker(5.0, 1.0, 0.0, 10.0) == {"x": 80.0, "from": 51.0, "to": 109.0}
    assert whisker(5.0, 9.0, 0.0, 10.0) == {"x": 80.0, "from": 6.0, "to": 154.0}
