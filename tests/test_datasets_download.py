"""Downloads, from a server on this machine: whole and checked, or nothing is left."""

import functools
import gzip
import hashlib
import http.server
import io
import json
import threading
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from whyclust.datasets import available, load
from whyclust.datasets import formats as readers
from whyclust.datasets.download import fetch
from whyclust.datasets.origins import ORIGINS, NewsgroupsOfScikitLearn, OpenML
from whyclust.datasets.places import cache_folder, read_arrays


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the bytes in `pages`; /short breaks off."""

    def __init__(self, pages, asked, *arguments):
        self.pages, self.asked = pages, asked
        super().__init__(*arguments)

    def do_GET(self):
        self.asked.append(self.path)
        if self.path not in self.pages:
            self.send_error(404)
            return
        content = self.pages[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + (100 if "short" in self.path else 0)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    pages, asked = {}, []
    handler = functools.partial(Handler, pages, asked)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield SimpleNamespace(url=f"http://127.0.0.1:{running.server_port}", pages=pages, asked=asked)
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("WHYCLUST_DATA", raising=False)
    monkeypatch.setenv("WHYCLUST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_txt", ".txt"), content)
    return stream.getvalue()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def left(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_the_first_download_is_trusted_and_later_ones_compared(server, tmp_path):
    server.pages["/a.csv"] = b"1,2\n"
    path = tmp_path / "a.csv"
    assert fetch(server.url + "/a.csv", path).read_bytes() == b"1,2\n"
    assert (tmp_path / "a.csv.sha256").read_text().strip() == sha256(b"1,2\n")
    fetch(server.url + "/a.csv", path)
    assert server.asked == ["/a.csv"]  # the second time from the disk

    path.unlink()
    server.pages["/a.csv"] = b"changed\n"
    with pytest.raises(ValueError, match=r"the source has changed: delete .*a\.csv\.sha256 to trust it anew"):
        fetch(server.url + "/a.csv", path)
    assert left(tmp_path) == ["a.csv.sha256"]


def test_a_file_that_changed_on_the_disk_is_refused(server, tmp_path):
    server.pages["/a.csv"] = b"1,2\n"
    path = fetch(server.url + "/a.csv", tmp_path / "a.csv")
    path.write_bytes(b"1,3\n")
    with pytest.raises(ValueError, match=r"a\.csv has the SHA-256 checksum .*: delete"):
        fetch(server.url + "/a.csv", path)


def test_a_wrong_checksum_leaves_nothing_behind(server, tmp_path):
    server.pages["/a.csv"] = b"1,2\n"
    with pytest.raises(ValueError, match=f"checksum {sha256(b'1,2' + bytes([10]))}, expected {'0' * 64}"):
        fetch(server.url + "/a.csv", tmp_path / "a.csv", sha256="0" * 64)
    assert left(tmp_path) == []
    fetch(server.url + "/a.csv", tmp_path / "a.csv", sha256=sha256(b"1,2\n"))
    assert left(tmp_path) == ["a.csv", "a.csv.sha256"]


def test_a_transfer_that_breaks_off_leaves_nothing_behind(server, tmp_path):
    server.pages["/short.csv"] = b"1,2\n"
    with pytest.raises(ConnectionError, match="ended after 4 of 104 bytes"):
        fetch(server.url + "/short.csv", tmp_path / "short.csv")
    assert left(tmp_path) == []


def test_members_of_archives(server, tmp_path):
    server.pages["/a.zip"] = zipped(folder__a_txt=b"inside", other_txt=b"not this")
    assert fetch(server.url + "/a.zip", tmp_path / "a.txt").read_bytes() == b"inside"
    with pytest.raises(ValueError, match=r"has no file b\.txt \(but folder/a\.txt, other\.txt\)"):
        fetch(server.url + "/a.zip", tmp_path / "b.txt")
    server.pages["/page.zip"] = b"<html>moved</html>"
    with pytest.raises(ValueError, match="no zip archive"):
        fetch(server.url + "/page.zip", tmp_path / "b.txt")
    assert left(tmp_path) == ["a.txt", "a.txt.sha256"]


def test_a_bar_is_shown_on_a_terminal_only(server, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    server.pages["/a.csv"] = b"1,2\n" * 100
    screen, pipe = Terminal(), io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    for stream, name in ((screen, "a.csv"), (pipe, "b.csv")):
        monkeypatch.setattr("sys.stderr", stream)
        assert fetch(server.url + "/a.csv", tmp_path / name).stat().st_size == 400
    assert "a.csv" in screen.getvalue()
    assert pipe.getvalue() == ""


def seeds_file(rows):
    generator = np.random.default_rng(0)
    lines = [
        "\t".join(f"{value:.3f}" for value in generator.random(7)) + f"\t{i % 3 + 1}" for i in range(rows)
    ]
    return "\n".join(lines).encode()


@pytest.fixture
def seeds_here(server, monkeypatch):
    monkeypatch.setitem(ORIGINS, "seeds", replace(ORIGINS["seeds"], url=server.url + "/seeds.zip"))
    return server


def test_load_downloads_once(seeds_here, cache):
    seeds_here.pages["/seeds.zip"] = zipped(seeds_dataset_txt=seeds_file(210))
    assert available().loc["seeds", "origin"] == seeds_here.url + "/seeds.zip"
    first = load("seeds")
    assert first.X.shape == (210, 7)
    assert first.X.columns[0] == "area"
    assert np.bincount(first.y).tolist() == [70, 70, 70]
    assert left(cache) == ["seeds_dataset.txt", "seeds_dataset.txt.sha256"]
    second = load("seeds", preprocess=True, download=False)
    assert second.X.shape == (210, 7)
    assert seeds_here.asked == ["/seeds.zip"]
    assert available().loc["seeds", "origin"] == str(cache / "seeds_dataset.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (seeds_file(3), "holds 3 x 7 numbers, expected 210 x 7"),
        (b"<html>", "not as .* used to be|holds 1 x 7"),
    ],
)
def test_other_contents_are_refused(seeds_here, cache, content, message):
    seeds_here.pages["/seeds.zip"] = zipped(seeds_dataset_txt=content)
    with pytest.raises(ValueError, match=message):
        load("seeds")


def test_offline_and_absent(seeds_here, cache):
    with pytest.raises(FileNotFoundError) as caught:
        load("seeds")
    for part in ("'seeds'", "WHYCLUST_DATA is not set", str(cache), seeds_here.url, "404", "seeds.npz"):
        assert part in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)
    assert left(cache) == []


def test_the_known_checksum_is_compared(server, cache, monkeypatch):
    monkeypatch.setitem(ORIGINS, "whlsl", replace(ORIGINS["whlsl"], url=server.url + "/data.csv"))
    server.pages["/data.csv"] = b"Channel,Region,Fresh\n"
    with pytest.raises(ValueError, match="expected c3d018c6"):
        load("whlsl")
    assert left(cache) == []


# --- formats of the repository -------------------------------------------------------------------


def read(reader, tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text)
    return reader(path)


def test_formats(tmp_path):
    buddy = read(
        readers.buddy,
        tmp_path,
        "User Id,Sports,Religious,Nature,Theatre,Shopping,Picnic\nUser 1,2,77,79,69,68,95\n",
    )
    np.testing.assert_array_equal(buddy["X"], [[2, 77, 79, 69, 68, 95]])

    hepac = read(
        readers.hepac,
        tmp_path,
        '"","Category","Age","Sex","ALB","ALP","ALT","AST","BIL","CHE","CHOL","CREA","GGT","PROT"\n'
        '"1","3=Cirrhosis",32,"m",1,NA,3,4,5,6,7,8,9,10\n"2","0=Blood Donor",33,"f",1,2,3,4,5,6,7,8,9,10\n',
    )
    np.testing.assert_array_equal(hepac["X"][0], [32, 1, np.nan, 3, 4, 5, 6, 7, 8, 9, 10])
    assert hepac["y"].tolist() == [1, 0]
    assert hepac["class_names"].tolist() == ["0=Blood Donor", "3=Cirrhosis"]
    assert hepac["sex"].tolist() == ["m", "f"]

    whlsl = read(
        readers.whlsl,
        tmp_path,
        "Channel,Region,Fresh,Milk,Grocery,Frozen,Detergents_Paper,Delicassen\r\n2,3,1,2,3,4,5,6\r\n",
    )
    assert (whlsl["y"].tolist(), whlsl["region"].tolist()) == ([1], [3])
    np.testing.assert_array_equal(whlsl["X"], [[1, 2, 3, 4, 5, 6]])

    header = "User ID," + ",".join(f"Category {i}" for i in range(1, 11))
    trpad = read(readers.trpad, tmp_path, f"{header}\nUser 1," + ",".join("0123456789") + "\n")
    np.testing.assert_array_equal(trpad["X"], [range(10)])
    assert trpad["feature_names"][0] == "art galleries"

    header = "Product_Code," + ",".join(f"W{i}" for i in range(52)) + ",MIN,MAX,Normalized 0"
    sales = read(readers.sales, tmp_path, f"{header}\nP1," + ",".join(map(str, range(52))) + ",3,21,0.44\n")
    np.testing.assert_array_equal(sales["X"], [range(52)])
    assert sales["product_code"].tolist() == ["P1"]

    water = read(readers.water, tmp_path, "D-1/3/90,?," + ",".join(map(str, range(37))) + "\n")
    np.testing.assert_array_equal(water["X"], [[np.nan, *range(37)]])
    assert water["date"].tolist() == ["D-1/3/90"]
    assert len(water["feature_names"]) == 38

    with pytest.raises(ValueError, match="no column 'Sports', but other"):
        read(readers.buddy, tmp_path, "other\n1\n")


# --- what scikit-learn fetches -------------------------------------------------------------------


def test_openml(cache, monkeypatch):
    asked = []

    def fetch_openml(**options):
        asked.append(options)
        return np.arange(12.0).reshape(3, 4), np.array(["1", "2", "1"], dtype=object)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    origin = OpenML(41082, "usps.npz", (2, 1), (2, 2), first_label=1, train=2, dtype="float32")
    monkeypatch.setitem(ORIGINS, "usps", origin)
    first = load("usps")
    assert asked[0]["data_id"] == 41082
    assert first.X.shape == (3, 2, 2)
    assert first.y.tolist() == [0, 1, 0]
    assert first.arrays["split"].tolist() == [0, 0, 1]
    second = load("usps", download=False)
    np.testing.assert_array_equal(second.X, first.X)
    assert second.X.dtype == np.float32
    assert len(asked) == 1

    (cache / "usps.npz").unlink()
    monkeypatch.setitem(ORIGINS, "usps", replace(origin, class_sizes=(1, 2)))
    with pytest.raises(ValueError, match=r"classes of \(2, 1\) rows, expected 4 and \(1, 2\)"):
        load("usps")
    assert left(cache) == ["usps.npz.sha256"]


def test_newsgroups(cache, monkeypatch):
    def fetch_20newsgroups(*, subset, remove, shuffle, data_home):
        assert remove == ("headers", "footers", "quotes")
        return SimpleNamespace(
            data=[f"{subset} text"],
            target=np.array([1]),
            target_names=["alt.a", "sci.b"],
            filenames=np.array([f"{data_home}/sci.b/123"]),
        )

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch_20newsgroups)
    news = load("news")
    assert news.texts == ("train text", "test text")
    assert news.class_names == ["sci.b"]
    assert news.arrays["split"].tolist() == [0, 1]
    kept = cache_folder() / "news20.jsonl.gz"
    assert json.loads(gzip.decompress(kept.read_bytes()).splitlines()[0])["id"] == "123"
    assert read_arrays(kept)["texts"] == news.texts
    assert isinstance(ORIGINS["news"], NewsgroupsOfScikitLearn)
