"""Public sources of data sets, for those whose file is not at hand.

An origin tells in words where a set comes from, and gives its arrays, as a file of the data folder would.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from whyclust.datasets import formats
from whyclust.datasets.download import fetch, keep
from whyclust.datasets.places import documents


class Origin(Protocol):
    """Where a data set may be had."""

    @property
    def told(self) -> str:
        """In words."""
        ...

    @property
    def published(self) -> str | None:
        """Name in the cache of the file as it is published; None where that is not what is kept."""
        ...

    def arrays(self, cache: Path, download: bool) -> dict[str, Any]:
        """Its arrays; an OSError where it cannot be had."""
        ...


def _asked(download: bool) -> None:
    """Stop where the network must not be used."""
    if not download:
        raise FileNotFoundError("download=False was given")


@dataclass(frozen=True)
class WineOfScikitLearn:
    """A set that scikit-learn brings along."""

    told: str = "scikit-learn's load_wine"
    published: ClassVar[str | None] = None

    def arrays(self, cache: Path, download: bool) -> dict[str, Any]:
        """Read it; no network is needed."""
        from sklearn.datasets import load_wine

        wine = load_wine()
        return {
            "X": wine.data,
            "y": wine.target,
            "feature_names": np.array(wine.feature_names),
            "class_names": wine.target_names,
        }


@dataclass(frozen=True)
class WebFile:
    """A file of the UCI repository, kept in the cache as it is published.

    Attributes
    ----------
    url : str
        The file, or a zip archive that has it.
    file : str
        Its name.
    read : callable
        From the file to its arrays.
    shape : tuple of int
        Rows and columns it must have.
    sha256 : str or None
        Checksum of the file. None: trusted on first download; its checksum is stored beside it and compared
        later.
    """

    url: str
    file: str
    read: Callable[[Path], dict[str, Any]]
    shape: tuple[int, int]
    sha256: str | None = None

    @property
    def told(self) -> str:
        """The address."""
        return self.url

    @property
    def published(self) -> str:
        """The file itself."""
        return self.file

    def arrays(self, cache: Path, download: bool) -> dict[str, Any]:
        """Download it, if it is not in the cache, and read it."""
        path = cache / self.file
        if not path.is_file():
            _asked(download)
        fetch(self.url, path, sha256=self.sha256)
        try:
            arrays = self.read(path)
        except (ValueError, KeyError, IndexError) as error:
            raise ValueError(f"{path} is not as {self.url} used to be ({error}): delete it.") from error
        if arrays["X"].shape != self.shape:
            found, expected = (" x ".join(map(str, shape)) for shape in (arrays["X"].shape, self.shape))
            raise ValueError(f"{path} holds {found} numbers, expected {expected}: delete it.")
        return arrays


@dataclass(frozen=True)
class OpenML:
    """A set of OpenML, by scikit-learn, which compares its checksum; kept in the cache as .npz.

    Attributes
    ----------
    data_id : int
        Its number.
    file : str
        Name in the cache.
    class_sizes : tuple of int
        Rows of each class, in order: what came is compared with it.
    pixels : tuple of int
        Shape of a row.
    first_label : int
        Number of the first class there.
    train : int or None
        The first so many rows are the official training part.
    dtype : str
        Type of the numbers.
    class_names, feature_names : tuple of str or None
        Classes and columns by name.
    """

    data_id: int
    file: str
    class_sizes: tuple[int, ...]
    pixels: tuple[int, ...]
    first_label: int = 0
    train: int | None = None
    dtype: str = "uint8"
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    published: ClassVar[str | None] = None

    @property
    def told(self) -> str:
        """The number."""
        return f"OpenML data set {self.data_id}, by scikit-learn's fetch_openml"

    def arrays(self, cache: Path, download: bool) -> dict[str, Any]:
        """Download it, check it, keep it."""
        _asked(download)
        from sklearn.datasets import fetch_openml

        with tempfile.TemporaryDirectory() as folder:  # the set is kept as .npz, not twice
            X, target = fetch_openml(data_id=self.data_id, as_frame=False, return_X_y=True, data_home=folder)
        y = np.asarray(target).astype(np.int64) - self.first_label
        sizes = tuple(np.bincount(y, minlength=len(self.class_sizes)).tolist()) if y.min() >= 0 else ()
        if sizes != self.class_sizes or X.shape[1] != np.prod(self.pixels):
            raise ValueError(
                f"{self.told}, has {X.shape[1]} columns and classes of {sizes} rows, expected "
                f"{np.prod(self.pixels)} and {self.class_sizes}: put {self.file} into the folder named in "
                "WHYCLUST_DATA instead."
            )
        arrays: dict[str, Any] = {"X": X.reshape(-1, *self.pixels).astype(self.dtype), "y": y}
        if self.train is not None:
            arrays["split"] = (np.arange(len(y)) >= self.train).astype(np.uint8)
        for name in ("class_names", "feature_names"):
            if getattr(self, name) is not None:
                arrays[name] = np.array(getattr(self, name))
        content = io.BytesIO()
        np.savez_compressed(content, **arrays)
        keep(content.getvalue(), cache / self.file)
        return arrays


@dataclass(frozen=True)
class NewsgroupsOfScikitLearn:
    """20 Newsgroups by scikit-learn, which compares its checksum; kept in the cache as .jsonl.gz."""

    file: str
    remove: tuple[str, ...]
    told: str = "scikit-learn's fetch_20newsgroups"
    published: ClassVar[str | None] = None

    def arrays(self, cache: Path, download: bool) -> dict[str, Any]:
        """Download it and keep it."""
        _asked(download)
        from sklearn.datasets import fetch_20newsgroups

        rows = []
        with tempfile.TemporaryDirectory() as folder:
            for split in ("train", "test"):
                part = fetch_20newsgroups(subset=split, remove=self.remove, shuffle=False, data_home=folder)
                rows += [
                    {"split": split, "label": part.target_names[y], "id": Path(name).name, "text": text}
                    for text, y, name in zip(part.data, part.target, part.filenames, strict=True)
                ]
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        keep(gzip.compress(lines, mtime=0), cache / self.file)
        return documents(rows)


_UCI = "https://archive.ics.uci.edu/static/public"
_CLOTHES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
_DIGITS = (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958)
_ENVELOPES = (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821)
_PEN = (1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055)

ORIGINS: dict[str, Origin] = {
    "winer": WineOfScikitLearn(),
    "seeds": WebFile(f"{_UCI}/236/seeds.zip", "seeds_dataset.txt", formats.seeds, (210, 7)),
    "buddy": WebFile(
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00476/buddymove_holidayiq.csv",
        "buddymove_holidayiq.csv",
        formats.buddy,
        (249, 6),
    ),
    "hepac": WebFile(f"{_UCI}/571/hcv+data.zip", "hcvdat0.csv", formats.hepac, (615, 11)),
    "whlsl": WebFile(
        f"{_UCI}/292/wholesale+customers.zip",
        "Wholesale customers data.csv",
        formats.whlsl,
        (440, 6),
        "c3d018c643565b85cee733c4a2ac76dd76e080e857cb23f0ccfcc2e15a6c17ef",
    ),
    "trpad": WebFile(f"{_UCI}/484/travel+reviews.zip", "tripadvisor_review.csv", formats.trpad, (980, 10)),
    "sales": WebFile(
        f"{_UCI}/396/sales+transactions+dataset+weekly.zip",
        "Sales_Transactions_Dataset_Weekly.csv",
        formats.sales,
        (811, 52),
    ),
    "water": WebFile(
        f"{_UCI}/106/water+treatment+plant.zip", "water-treatment.data", formats.water, (527, 38)
    ),
    "news": NewsgroupsOfScikitLearn("news20.jsonl.gz", ("headers", "footers", "quotes")),
    "news20_raw": NewsgroupsOfScikitLearn("news20_raw.jsonl.gz", ()),
    "mnist": OpenML(554, "mnist.npz", _DIGITS, (28, 28), train=60_000, class_names=tuple("0123456789")),
    "fashion_mnist": OpenML(
        40996, "fashion_mnist.npz", (7000,) * 10, (28, 28), train=60_000, class_names=_CLOTHES
    ),
    "usps": OpenML(41082, "usps.npz", _ENVELOPES, (256,), first_label=1, train=7291, dtype="float32"),
    "pendigits": OpenML(
        32,
        "pendigits.npz",
        _PEN,
        (16,),
        feature_names=tuple(f"{axis}{i}" for i in range(1, 9) for axis in "xy"),
    ),
}
