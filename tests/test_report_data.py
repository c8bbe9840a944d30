"""What the page holds: the numbers of the explanation, as many rows as were asked for, and what was built."""

import base64
import gzip
import http.client
import json
import re
import shutil
import subprocess
import threading
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import whyclust as wc
from whyclust.command.result_files import write_result
from whyclust.command.run import explain_table
from whyclust.command.serving import server_of
from whyclust.report import render, show
from whyclust.report.data import rows as held_rows
from whyclust.report.data.arrays import Arrays
from whyclust.report.inlined import as_json, built
from whyclust.tables import Table
from whyclust.telling.doubtful import doubtful

FRONTEND = Path(__file__).parents[1] / "frontend"


def read(page):
    """Values and arrays of a page, as a browser reads them."""
    values = json.loads(re.search(r'id="page-values">(.*?)</script>', page, flags=re.DOTALL)[1])
    found = re.findall(r'id="array-([^"]+)" data-type="([^"]+)">(.*?)</script>', page)
    arrays = {
        name: np.frombuffer(gzip.decompress(base64.b64decode(text)), dtype=np.dtype(kind).newbyteorder("<"))
        for name, kind, text in found
    }
    return values, arrays


@pytest.fixture(scope="module")
def explained():
    X, _ = make_blobs(120, 5, centers=4, random_state=1)
    frame = pd.DataFrame(X, columns=list("abcde"), index=[f"row {row}" for row in range(120)])
    frame["kind"] = np.where(X[:, 0] > 0, "high", "low")
    frame.loc["row 3", "a"] = np.nan
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    return explain_table(Table(frame.reset_index(names="name")), k=4, id_column="name").explanation


@pytest.fixture(scope="module")
def page(explained):
    return render(explained)


def test_the_page_holds_the_numbers_of_the_explanation(page, explained):
    values, arrays = read(page)
    n_rows, n_columns = explained.shape
    assert values["rows"] == values["held"]["count"] == n_rows
    relevance = arrays["relevance"].reshape(n_rows, n_columns)
    np.testing.assert_allclose(relevance, explained.values, rtol=1e-6, atol=1e-9)
    for name, own in (("evidence", "evidence"), ("base", "base_values"), ("explained", "explained")):
        np.testing.assert_array_equal(arrays[name], getattr(explained, own))
    order = [one.cluster for one in explained.summary()]
    assert [order[code] for code in arrays["cluster"]] == explained.labels.tolist()
    assert [order[code] for code in arrays["competitor"]] == explained.competitors.tolist()
    assert values["held"]["names"]["names"] == explained.index.tolist()
    for column in values["held"]["columns"]:
        own = explained.data.iloc[:, column["column"]]
        held = arrays[f"column-{column['column']}"]
        if column["kind"] == "number":
            np.testing.assert_array_equal(held, own.to_numpy(dtype=float))
        else:
            assert [column["categories"][code] for code in held] == own.tolist()


def test_pairs_are_the_duels_of_python(page, explained):
    values, _ = read(page)
    order = [one.cluster for one in explained.summary()]
    assert len(values["pairs"]["pairs"]) == len(order) * (len(order) - 1)
    for pair in values["pairs"]["pairs"]:
        own, rival = order[pair["from"]], order[pair["to"]]
        members = explained[explained.clusters == own]
        duel = members.ask(cluster=own, against=rival)
        mean = duel.values.mean(axis=0)
        np.testing.assert_allclose(pair["relevance"], mean[pair["columns"]], rtol=1e-9)
        assert pair["evidence"] == pytest.approx(duel.evidence.mean())
        assert sum(pair["relevance"]) + pair["rest"] + pair["base"] == pytest.approx(duel.explained.mean())


def test_distributions_count_every_row_once(page, explained):
    values, _ = read(page)
    order = [one.cluster for one in explained.summary()]
    sizes = [int((explained.labels == one).sum()) for one in order]
    assert values["distributions"]
    for told in values["distributions"].values():
        assert [
            sum(counts) + gap for counts, gap in zip(told["counts"], told["missing"], strict=True)
        ] == sizes


def test_what_speaks_against_a_cluster_has_its_distribution():
    """The page of a cluster lists columns by their absolute relevance: all of the first have a histogram."""
    own = np.arange(120)[:, None] % 2
    rows = own + np.random.default_rng(0).normal(size=(120, 20))
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(rows), rows)
    values, _ = read(render(ex[np.argsort(ex.evidence)[:3]]))  # for rows near the border much speaks against
    listed = [feature for one in values["clusters"] for feature in one["features"][:8]]
    assert min(feature["relevance"] for feature in listed) < 0
    assert {str(feature["column"]) for feature in listed} <= set(values["distributions"])


def test_what_is_drawn_of_a_pair_has_its_distributions(monkeypatch):
    """The page draws six columns of a pair, also those that are not among the strongest of a cluster."""
    from whyclust.report.data import clusters as of_clusters

    monkeypatch.setattr(of_clusters, "DRAWN", 1)
    way = 6.0 * 0.9 ** np.arange(9)
    rows = np.repeat([[0.0], [1.0]], 12, axis=0) * way + np.random.default_rng(0).normal(size=(24, 9)) * 0.01
    values, _ = read(render(wc.explain(KMeans(2, n_init=1, random_state=0).fit(rows), rows)))
    pairs = values["pairs"]["pairs"]
    assert all(len(pair["columns"]) > 6 for pair in pairs)
    assert {int(column) for column in values["distributions"]} == {
        column for pair in pairs for column in pair["columns"][:6]
    }


def test_the_same_rows_give_the_same_page(page, explained):
    assert render(explained) == page


def test_large_tables_are_sampled_and_keep_the_rows_that_are_named(explained, monkeypatch):
    monkeypatch.setattr(held_rows, "MOST_ROWS", 40)
    values, arrays = read(render(explained))
    assert values["rows"] == 120
    assert values["held"]["count"] == len(arrays["positions"]) == len(arrays["x"]) == 40
    named = {row for one in values["clusters"] for row in (*one["typical"], *one["borderline"])}
    assert named <= set(arrays["positions"].tolist())
    relevance = arrays["relevance"].reshape(40, -1)
    np.testing.assert_allclose(relevance, explained.values[arrays["positions"]], rtol=1e-6, atol=1e-9)


def test_wide_tables_keep_the_strongest_columns_of_each_row():
    X = np.random.default_rng(0).normal(size=(50, 300)) + np.repeat([0, 4], 25)[:, None]
    explained = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    values, arrays = read(render(explained))
    width = values["held"]["relevance"]["width"]
    columns, numbers = (arrays[name].reshape(50, width) for name in ("top-columns", "top-values"))
    for row in range(50):
        strongest = np.argsort(-np.abs(explained.values[row]))[:width]
        assert set(columns[row]) == set(strongest)
        np.testing.assert_allclose(numbers[row], explained.values[row, columns[row]], rtol=1e-6)
        np.testing.assert_allclose(
            arrays["top-data"].reshape(50, width)[row], X[row, columns[row]], rtol=1e-6
        )
    assert "why_not" not in values["engine"] or values["engine"]["why_not"]


def test_images_are_held_as_pixels():
    from sklearn.datasets import load_digits

    images = load_digits().images[:60]
    model = KMeans(3, n_init=1, random_state=0).fit(images.reshape(60, -1))
    explained = wc.explain(model, images)
    values, arrays = read(render(explained))
    assert values["held"]["pictures"] == {"height": 8, "width": 8}
    np.testing.assert_array_equal(arrays["pixels"].reshape(images.shape), np.round(images * 255 / 16))
    heat = arrays["heat"].reshape(60, 64) / 127
    largest = np.abs(explained.values).max(axis=1, keepdims=True)
    np.testing.assert_allclose(heat, explained.values / largest, atol=0.5 / 127 + 1e-9)


def test_doubtful_rows_have_little_evidence_beside_all_others(explained):
    """The page counts those that Python counts, whatever their cluster, and the words say the same."""
    found = doubtful(explained)
    assert found.below == 0.1 * np.median(explained.evidence)
    np.testing.assert_array_equal(found.rows, explained.evidence < found.below)
    page = render(explained)
    values, arrays = read(page)
    told = values["doubtful"]
    assert told["count"] == int((arrays["evidence"] < told["below"]).sum()) == int(found.rows.sum())
    assert sum(one["doubtful"] for one in values["clusters"]) == told["count"]
    assert told["sentence"] == found.describe()
    assert f"<p>{found.describe()}</p>" in page
    private = render(explained, rows=False)
    assert "doubtful" not in read(private)[0]
    assert found.describe() not in private
    assert doubtful(explained.ask(cluster=explained.clusters[0])) is None


def test_noise_is_not_doubtful():
    X, labels = make_blobs(90, 2, centers=3, random_state=0)
    labels[::9] = -1
    X[::9] *= 9.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a surrogate that is not sure
        ex = wc.explain(labels, X)
    found = doubtful(ex)
    assert found.asked == 80
    assert not found.rows[labels == -1].any()
    assert found.below == 0.1 * np.median(ex.evidence[labels != -1])
    # Noise with as little evidence as there is.
    least = replace(ex, evidence=np.where(labels == -1, 0.0, ex.evidence))
    assert not doubtful(least).rows[labels == -1].any()


def test_rows_on_a_border_are_doubtful_though_most_rows_are():
    Z = pd.DataFrame({"stars": [1.0] * 20 + [5.0] * 20 + [3.0] * 60})
    model = KMeans(2, init=np.array([[1.0], [5.0]]), n_init=1, max_iter=1).fit(Z[:40])
    found = doubtful(wc.explain(model, Z))
    assert found.rows.sum() == 60
    assert found.describe() == "60 of 100 rows lie on a border: their evidence is 0 or less."


def test_an_embedding_of_ones_own_places_the_rows(explained):
    places = np.column_stack([np.arange(120.0), np.arange(120.0)[::-1]])
    _, arrays = read(render(explained, embedding=places))
    np.testing.assert_array_equal(arrays["x"], np.round(np.arange(120) / 119 * 65535))
    np.testing.assert_array_equal(arrays["y"], arrays["x"][::-1])
    for wrong, message in ((places[:5], "expected 120"), ("tsne", "expected 'pca', 'umap'")):
        with pytest.raises(ValueError, match=message):
            render(explained, embedding=wrong)


def test_private_pages_hold_no_row_and_no_rare_value(explained):
    data = explained.data.copy()
    data["kind"] = data["kind"].astype(object)
    data.iloc[0, data.columns.get_loc("kind")] = "the only one"
    from dataclasses import replace

    page = render(replace(explained, data=data), rows=False, notes=["Farthest outside: row 3."])
    values, arrays = read(page)
    assert arrays == {}
    assert values["held"] is None
    words = page.split("</style>")[1].split("<script>")[0]
    for secret in ("row 3", "row 17", "the only one", "Farthest"):
        assert secret not in words
    assert all(not one["typical"] and not one["borderline"] for one in values["clusters"])


@pytest.mark.parametrize("rows", ["no", 0, None])
def test_whether_rows_are_private_is_true_or_false(explained, rows):
    with pytest.raises(ValueError, match="expected True or False"):
        render(explained, rows=rows)


def test_pages_need_a_row_and_places_that_can_be_drawn(explained):
    with pytest.raises(ValueError, match="has no rows, expected one at least"):
        render(explained[:0])
    places = np.zeros((len(explained), 2))
    for wrong in (np.nan, np.inf):
        places[5, 1] = wrong
        with pytest.raises(ValueError, match="embedding holds NaN or infinity"):
            render(explained, embedding=places)


def test_no_text_can_end_the_element_it_stands_in():
    evil = {"</script><script>alert(1)</script>": "<!-- \u2028 &amp; ]]>"}
    text = as_json(evil)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == evil


def test_arrays_are_of_types_that_browsers_have():
    arrays = Arrays()
    arrays.add("a", [1, 2], "uint8")
    with pytest.raises(ValueError, match="called a already"):
        arrays.add("a", [3], "uint8")
    with pytest.raises(TypeError, match="no type that the page has"):
        arrays.add("b", [1j], "complex128")


def test_notebooks_show_the_page_in_a_frame(explained, monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "ipykernel", object())
    shown = explained.show(height=500)
    html = shown._repr_html_()
    assert html.startswith('<iframe srcdoc="') and "height:500px" in html
    assert "<script" not in html  # all of it is within the attribute
    monkeypatch.delitem(sys.modules, "ipykernel")
    seen = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    show(explained)
    assert len(seen) == 1 and seen[0].startswith("file://")
    with pytest.raises(ValueError, match="height"):
        explained.show(height=3)


@pytest.fixture
def served(page, tmp_path):
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    (tmp_path / "clusters.csv").write_text("row,cluster\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("no", encoding="utf-8")
    server = server_of(tmp_path, 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def asked(port, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.getheaders())
    connection.close()
    return found


def test_a_folder_is_served_to_this_machine_only(served, page):
    status, text, headers = asked(served, "/")
    assert (status, text) == (200, page)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert asked(served, "/clusters.csv", host=f"localhost:{served}")[0] == 200
    assert asked(served, "/", method="HEAD")[:2] == (200, "")
    for path in ("/secret.txt", "/../secret.txt", "/%2e%2e/report.html", "/audit.json", "//etc/passwd"):
        assert asked(served, path)[0] == 404
    for host in ("evil.example", f"evil.example:{served}", "127.0.0.1", ""):
        assert asked(served, "/", host=host or " ")[0] == 403
    assert asked(served, "/", method="POST")[0] == 501
    # Whoever names nobody is not this machine's browser.
    connection = http.client.HTTPConnection("127.0.0.1", served, timeout=10)
    connection.putrequest("GET", "/", skip_host=True)
    connection.endheaders()
    assert connection.getresponse().status == 403
    connection.close()


def test_what_cannot_be_served_says_so(tmp_path, served):
    with pytest.raises(ValueError, match=r"no report\.html"):
        server_of(tmp_path / "nothing", 0)
    with pytest.raises(ValueError, match="name another with --port"):
        server_of(tmp_path, served)


@pytest.mark.skipif(not (FRONTEND / "node_modules").exists(), reason="frontend/node_modules is not installed")
def test_the_page_is_built_from_its_sources(tmp_path):
    node = shutil.which("npx")
    subprocess.run(
        [node, "vite", "build", "--outDir", str(tmp_path)], cwd=FRONTEND, check=True, capture_output=True
    )
    for name in ("page.js", "page.css"):
        assert (tmp_path / name).read_text(encoding="utf-8").strip() == built(name)


@pytest.mark.parametrize("stands_out", [True, False])
def test_the_first_sentence_is_that_of_the_command_line(stands_out):
    """How well k is supported comes right below the title, on the map's page and in words."""
    spread = 0.4 if stands_out else 40.0
    X, _ = make_blobs(120, centers=3, n_features=3, cluster_std=spread, random_state=3)
    choice = wc.cluster.choose_k(X, k_max=4, random_state=0)
    assert choice.stands_out == stands_out
    ex = wc.explain(KMeans(choice.k, n_init=2, random_state=0).fit(X), X)
    made = render(ex, choice=choice)
    told = [{"about": "k", "text": choice.describe(), "care": not stands_out}]
    assert read(made)[0]["headlines"] == told
    words = made[made.index('<div class="words">') :]
    assert words.index(choice.describe()) < words.index("Cluster 0")
    assert read(render(ex))[0]["headlines"] == []


def test_the_first_sentence_about_labels_is_the_certificates():
    X, labels = make_blobs(120, centers=3, n_features=3, cluster_std=6.0, random_state=3)
    with pytest.warns(UserWarning, match="surrogate agrees"):
        ex = wc.explain(labels, X)
    first, *weak = ex.fidelity.sentences()
    made = render(ex)
    assert read(made)[0]["headlines"] == [{"about": "labels", "text": first, "care": bool(weak)}]
    words = made[made.index('<div class="words">') : made.index('id="page-values"')]
    assert words.count(first.split("'")[0]) == 1
    assert words.index(first.split("'")[0]) < words.index("Cluster 0")


@pytest.fixture(scope="module")
def cars():
    """A table whose rows people know by a column that is not clustered, two of them nearly empty."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "model": [f"car {place // 2} of </script>" for place in range(80)],
            "owner": [f"person {place}" for place in range(80)],
            "sold": pd.date_range("2024-03-01", periods=80).strftime("%Y-%m-%d"),
            **{name: generator.normal(size=80) for name in ("weight", "power", "price")},
        }
    )
    frame.loc[[3, 50], ["weight", "power"]] = np.nan
    frame.loc[7, "weight"] = np.nan
    return frame


def test_names_that_are_not_clustered_stand_beside_the_rows(cars, tmp_path):
    found = explain_table(Table(cars), k=2, drop=["owner"])
    assert set(found.explanation.feature_names) == {"weight", "power", "price"}
    page = write_result(found, tmp_path / "shown").read_text()
    assert read(page)[0]["held"]["beside"] == [
        {"name": name, "values": cars[name].tolist()} for name in ("model", "sold")
    ]
    # What was to be left out is left out, and a page without rows names none.
    assert "person 7" not in page
    assert "car 7 of" not in write_result(found, tmp_path / "hidden", rows=False).read_text()


def test_texts_beside_rows_are_those_of_the_rows_that_the_page_holds(explained, monkeypatch):
    beside = pd.DataFrame({"name": [f"n{place}" + "x" * 500 for place in range(len(explained))]})
    beside.loc[0, "name"] = None
    monkeypatch.setattr("whyclust.report.data.rows.MOST_ROWS", 40)
    values, arrays = read(render(explained, beside=beside))
    told = values["held"]["beside"][0]["values"]
    assert len(told) == 40 and max(map(len, told)) == 200
    assert [one.split("x")[0] for one in told] == [
        "" if place == 0 else f"n{place}" for place in arrays["positions"]
    ]


@pytest.mark.parametrize("beside", [["a", "b"], pd.DataFrame({"name": ["a"]})])
def test_what_stands_beside_rows_has_a_line_for_each(explained, beside):
    with pytest.raises(ValueError, match=r"expected a data frame of .* rows: a line for each row"):
        render(explained, beside=beside)


def test_rows_with_half_of_their_values_or_fewer_are_told(cars):
    found = explain_table(Table(cars), k=2).explanation
    values, _ = read(render(found))
    # Of three values one is left in two rows, and two in another.
    assert values["gaps"] == {
        "rows": [3, 50],
        "sentence": "2 of 80 rows have half of their values or fewer: their clusters rest on what was filled "
        "in.",
    }
    assert read(render(found[10:20]))[0]["gaps"] is None
