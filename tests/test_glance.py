"""What a notebook shows when a cell ends with a result: it is small, cheap, safe and true."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from sparse_rows import random_rows
from whyclust.telling import glance

WINE = load_wine(as_frame=True).data
VOID = {"img", "br"}


class Page(HTMLParser):
    """Tags in balance, their attributes, and the text between them."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)


@pytest.fixture(scope="module")
def model():
    return make_pipeline(StandardScaler(), KMeans(3, n_init=5, random_state=0)).fit(WINE)


@pytest.fixture(scope="module")
def wine(model):
    return wc.explain(model, WINE)


@pytest.fixture(scope="module")
def audit(model):
    return wc.audit(model, WINE, n_repeats=1, n_refits=2)


def test_clusters_with_their_strongest_columns(wine):
    page = Page(wine._repr_html_())
    assert "Explanation of 178 rows × 13 columns: the assigned cluster against all others." in page.text
    assert page.count("table") == 1
    assert page.count("tr") == 1 + 3
    for one in wine.summary():
        assert one.name in page.text
        first = one.features.iloc[0]
        assert f"{first['feature']} {first['direction']} ({first['relevance']:+.3g})" in page.text
        assert f"{one.size} ({one.share:.0%})" in page.text
    widths = [float(found) for found in re.findall(r"width:(\d+)%", wine._repr_html_())]
    assert len(widths) == 3 * 4
    assert widths[::4] == [100, 100, 100]  # the strongest of each cluster is a whole bar
    assert min(widths) > 0


def test_nothing_but_tags_with_styles(wine, audit):
    """Notebooks drop scripts and style sheets; colours of the text and of the page are theirs."""
    choice = wc.cluster.choose_k(StandardScaler().fit_transform(WINE), k_max=4, random_state=0)
    for shown in (wine, wine[0], wine.summary(), audit, choice):
        page = Page(shown._repr_html_())
        assert {tag for tag, _ in page.tags} <= {
            "p",
            "strong",
            "span",
            "table",
            "tr",
            "th",
            "td",
            "div",
            "code",
        }
        for _, attributes in page.tags:
            assert set(attributes) <= {"style", "title"}
            style = attributes.get("style", "")
            assert not re.search(r"(^|;)color:", style)
            assert not re.search(r"background:(white|black|#fff|#000)", style)


def test_questions_that_it_proposes_can_be_asked(wine, model):
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    for ex in (wine, wine[17]):
        page = ex._repr_html_()
        codes = [Page(f"<p>{code}</p>").text for code in re.findall("<code>(.*?)</code>", page)]
        assert len(codes) == (6 if len(ex) > 1 else 2)
        for code in codes:
            if "audit" in code or "to_html" in code:
                assert compile(code, "page", "eval")
            else:
                eval(code, {"ex": ex, "wc": wc, "model": model, "X": WINE})
    asked = wine[17].ask(cluster=wine.competitors[17].item())
    assert asked.clusters[0] == wine.competitors[17]


def test_a_file_cannot_be_asked(wine, tmp_path):
    loaded = wc.load(wine.save(tmp_path / "ex.npz"))
    assert "ex.ask" in wine._repr_html_()
    assert "ex.ask" not in loaded._repr_html_()
    assert Page(loaded._repr_html_()).text.startswith("Explanation of 178 rows")


def test_one_row_is_described(wine):
    page = Page(wine[3]._repr_html_())
    assert wine[3].describe() in page.text
    names, values = wine[3].top(6)
    for name, value in zip(names[0], values[0], strict=True):
        assert name in page.text
        assert f"{value:+.3g}" in page.text
    assert "7 more columns not shown" in page.text
    assert "rows ×" not in page.text


def test_no_rows(wine):
    assert Page(wine[:0]._repr_html_()).text.startswith("Explanation of 0 rows × 13 columns")


def test_names_are_escaped_and_cut_by_the_screen_only():
    nasty = "<script>alert('x')</script>" + 'a "long" name ' * 20
    table = pd.DataFrame({nasty: WINE["proline"], "a & b": WINE["hue"]})
    labels = np.array(["<b>one</b>", "two"])[(WINE["proline"] > 800).astype(int)]
    ex = wc.explain(KMeans(2, n_init=2, random_state=0).fit(table), table)
    for one in (ex, ex[0], ex.with_names({0: "<i>low</i>"}), ex.summary(), wc.explain(labels, table)):
        page = Page(one._repr_html_())
        assert not {tag for tag, _ in page.tags} & {"script", "b", "i"}
        assert nasty in page.text
    assert nasty in {attributes.get("title") for _, attributes in page.tags}


def test_what_a_surrogate_is_worth_comes_first():
    table = WINE[["proline", "hue"]]
    labels = (WINE["proline"] > 800).astype(int).to_numpy()
    ex = wc.explain(labels, table)
    page = Page(ex._repr_html_())
    assert page.text.index(ex.fidelity.sentences()[0]) < page.text.index("cluster")


# --- large, wide, sparse, and images ----------------------------------------------------------------


def test_a_large_table_is_read_in_part(wine, monkeypatch):
    """No summary of all rows; sizes are those of all, and no name that all rows might contradict."""
    fresh = wine[np.arange(178)]
    monkeypatch.setattr(glance, "_READ", 500)
    monkeypatch.setattr(type(fresh), "summary", lambda self, **options: pytest.fail("all rows were read"))
    page = Page(fresh._repr_html_())
    monkeypatch.undo()
    assert "Read from 60 of the 178 rows" in page.text
    for one in fresh.summary():
        assert f"{one.size} ({one.share:.0%})" in page.text
        assert one.name not in page.text
    named = wine.with_names({1: "bold reds"})
    monkeypatch.setattr(glance, "_READ", 500)
    assert "bold reds" in named._repr_html_()
    assert "Read from" not in fresh._repr_html_()  # its summary is there by now
    assert fresh.summary()[0].name in fresh._repr_html_()


def test_rows_that_are_read_are_of_every_cluster(wine, monkeypatch):
    monkeypatch.setattr(glance, "_READ", 0)
    rows = glance._some_rows(wine)
    assert np.unique(wine.clusters[rows], return_counts=True)[1].tolist() == [20, 20, 20]
    asked = wine.ask(cluster=0)
    assert set(wine.clusters[glance._some_rows(asked)]) == {0, 1, 2}
    summary, n_rows = glance._of_some_rows(asked)
    assert (len(summary), summary[0].size, n_rows) == (1, 178, 60)


def test_the_strongest_columns_of_the_rows_that_are_read(wine, monkeypatch):
    """Of many columns only these are compared; they are those that a summary of the same rows finds."""
    monkeypatch.setattr(glance, "_READ", 0)
    summary, _ = glance._of_some_rows(wine)
    exact = wine[glance._some_rows(wine)].summary()
    for one in summary:
        wanted = exact[one.cluster].features.head(4)
        found = one.features.head(4)
        assert found["feature"].tolist() == wanted["feature"].tolist()
        assert found["direction"].tolist() == wanted["direction"].tolist()
        np.testing.assert_allclose(found["relevance"], wanted["relevance"], rtol=1e-12)


def test_sparse_rows_stay_sparse():
    """50,000 columns of relevance are not laid out for all rows."""
    table = random_rows((400, 50_000), 0.001, np.random.default_rng(0))
    ex = wc.explain(KMeans(3, n_init=1, random_state=0, max_iter=3).fit(table), table)
    page = Page(ex._repr_html_())
    assert "400 rows × 50,000 columns" in page.text
    assert "of the 400 rows" in page.text
    assert ex[0].describe() in Page(ex[0]._repr_html_()).text
    few = random_rows((40, 6), 0.5, np.random.default_rng(0))
    page = Page(wc.explain(KMeans(2, n_init=1, random_state=0).fit(few), few)._repr_html_())
    assert "Read from" not in page.text


def test_images_are_drawn_where_they_are_small(monkeypatch):
    images = load_digits().images[:200]
    ex = wc.explain(KMeans(4, n_init=1, random_state=0).fit(images.reshape(200, -1)), images)
    page = Page(ex._repr_html_())
    assert "200 rows of shape 8 × 8" in page.text
    assert page.count("img") == 4 * 2
    assert "Bars" not in page.text
    assert ex.kind.legend in page.text
    assert Page(ex[0]._repr_html_()).count("img") == 2
    monkeypatch.setattr(glance, "_PIXELS", 63)
    large = Page(ex._repr_html_())
    assert large.count("img") == 0
    assert "200 rows of shape 8 × 8" in large.text


def test_many_clusters_do_not_fill_the_notebook():
    table = np.arange(60.0)[:, None] + np.zeros((60, 2))
    ex = wc.explain(KMeans(30, n_init=1, random_state=0).fit(table), table)
    page = Page(ex._repr_html_())
    assert page.count("tr") == 1 + 20
    assert "10 more clusters not shown" in page.text


# --- other results ----------------------------------------------------------------------------------


def test_a_choice_of_k_shows_the_support():
    choice = wc.cluster.choose_k(StandardScaler().fit_transform(WINE), k_max=10, random_state=0)
    page = Page(choice._repr_html_())
    assert choice.describe() in page.text
    assert [int(k) for k in re.findall("<strong>(.*?)</strong>", choice._repr_html_())] == [choice.k]
    assert page.count("tr") == 1 + 8
    assert "draws all k" in page.text


def test_an_audit_shows_areas_and_clusters(audit):
    page = Page(audit._repr_html_())
    assert page.count("tr") == 2 + len(audit.methods) + 3
    for line in audit.methods.itertuples():
        assert line.what in page.text
        assert f"{line.auc:.1f}" in page.text
    for line in audit.stability.itertuples():
        assert line.reading in page.text
