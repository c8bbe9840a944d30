"""Kinds of input: images, and one that comes from outside."""

from dataclasses import dataclass
from html import escape
from typing import ClassVar

import numpy as np
import pytest
from sklearn.cluster import KMeans

import whyclust as wc
from whyclust.inputs import Images, InputKind, input_kind
from whyclust.inputs.kind import TABLE, forgotten, kind_of
from whyclust.inputs.reading import InputTable


@dataclass(frozen=True)
class Strings(InputKind):
    """Words of one length: a column for each letter, its place in the alphabet."""

    length: int

    legend: ClassVar[str] = "Letters that speak for the cluster are bold."

    @classmethod
    def read(cls, X, called):
        if not isinstance(X, list) or not all(isinstance(word, str) for word in X):
            return None
        if len({len(word) for word in X}) != 1:
            raise ValueError(f"{called} has words of different lengths, expected one length.")
        return np.array([[float(ord(letter) - ord("a")) for letter in word] for word in X]), cls(len(X[0]))

    def names(self, count):
        return [f"letter {place + 1}" for place in range(count)]

    def refuse_other(self, found, called):
        if found != self:
            raise ValueError(f"{called} has other words than the model.")

    def show(self, data, values, rows, caption):
        if len(rows) > 1:  # words have no mean
            return None
        letters = [chr(int(code) + ord("a")) for code in data[rows[0]]]
        parts = [
            f"<b>{escape(letter)}</b>" if relevance > 0 else escape(letter)
            for letter, relevance in zip(letters, values[rows[0]], strict=True)
        ]
        return "".join(parts)


@pytest.fixture
def strings():
    input_kind(Strings)
    yield
    forgotten(Strings)()


WORDS = ["aab", "aac", "abb", "zyx", "zzx", "yzz"]


def test_a_kind_from_outside_goes_all_the_way(strings, tmp_path):
    rows, kind = kind_of(WORDS)
    assert kind == Strings(3)
    model = KMeans(2, n_init=1, random_state=0).fit(rows)
    ex = wc.explain(model, WORDS)
    assert ex.kind == Strings(3)
    assert ex.feature_names == ["letter 1", "letter 2", "letter 3"]
    np.testing.assert_array_equal(ex.values, wc.explain(model, rows).values)
    assert "letter 1 = 0" in ex[0].describe()
    page = ex.to_html(tmp_path / "words.html").read_text()
    shown = "".join(f"<b>{c}</b>" if r > 0 else c for c, r in zip("aab", ex.values[0], strict=True))
    assert f"<figure>{shown}<figcaption>" in page
    assert "<figcaption>mean of the cluster" not in page
    assert Strings.legend in page
    for suffix in (".npz", ".parquet"):
        again = wc.load(ex.save(tmp_path / f"words{suffix}"))
        assert again.kind == Strings(3)
        np.testing.assert_array_equal(again.values, ex.values)
    with pytest.raises(ValueError, match="words of different lengths"):
        wc.explain(model, ["a", "bb"])


def test_without_registration_strings_are_no_table():
    with pytest.raises(ValueError, match="one text for each row, expected a table"):
        wc.explain(KMeans(2, n_init=1, random_state=0).fit(np.eye(3)), WORDS)


def test_rows_of_a_table_have_the_plain_kind():
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(np.eye(4)), np.eye(4))
    assert ex.kind is TABLE
    assert ex.kind.show(ex.data, ex.values, np.array([0]), "row 0") is None
    with pytest.raises(ValueError, match="not images"):
        _ = ex.images


def test_images_are_a_kind(tmp_path):
    images = np.random.default_rng(0).normal(size=(30, 4, 5))
    model = KMeans(3, n_init=1, random_state=0).fit(images.reshape(30, -1))
    ex = wc.explain(model, images)
    assert ex.kind == Images((4, 5))
    assert ex[:3].kind == Images((4, 5))
    assert ex.images.shape == (30, 4, 5)
    np.testing.assert_array_equal(ex.images, ex.values.reshape(30, 4, 5))
    assert ex.kind == wc.load(ex.save(tmp_path / "i.npz")).kind
    # Lists of images are images; groups of pixels are none.
    assert wc.explain(model, images.tolist()).kind == Images((4, 5))
    assert wc.explain(model, images, groups={"first": [0, 1]}).kind is TABLE
    # A model that was made for images of another shape refuses them, one channel may go unsaid.
    made_for = Images((1, 4, 5))
    made_for.refuse_other(Images((4, 5)), "X")
    with pytest.raises(ValueError, match=r"X has images of shape \(5, 4\), but the model was made for"):
        made_for.refuse_other(Images((5, 4)), "X")


@dataclass(frozen=True)
class Titled(InputKind):
    """Rows with a title each."""

    titles: tuple = ()

    def take(self, rows):
        return Titled(tuple(self.titles[row] for row in rows))


def test_some_rows_have_what_is_kept_of_them():
    table = InputTable(np.eye(3), None, np.array([7, 8, 9]), Titled(("a", "b", "c")))
    some = table.take(np.array([2, 0]))
    assert some.kind.titles == ("c", "a")
    assert some.index.tolist() == [9, 7]
    np.testing.assert_array_equal(some.data, np.eye(3)[[2, 0]])
