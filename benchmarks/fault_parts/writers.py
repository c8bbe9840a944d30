"""All ways in which whyclust writes, each with two versions of what is written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

import whyclust as wc

# Names of files and what is in them; one file has the name "".
Version = dict[str, bytes]


@dataclass(frozen=True)
class Writer:
    """One way to write.

    Attributes
    ----------
    name : str
        What the file, or folder, is called.
    write : callable
        Writes the version of a number, 0 or 1, to a path.
    """

    name: str
    write: Callable[[int, Path], Any]

    def versions(self, folder: Path) -> list[Version]:
        """Both versions, written without any fault."""
        found = []
        for number in (0, 1):
            path = folder / str(number) / self.name
            path.parent.mkdir()
            self.write(number, path)
            found.append(read_version(path))
        if found[0] == found[1]:
            raise RuntimeError(f"both versions of {self.name} are the same, so nothing could be told of them")
        return found


def read_version(path: Path) -> Version:
    """What is there: nothing, a file, or the files of a folder; unfinished ones do not count."""
    if path.is_dir():
        files = [one for one in sorted(path.iterdir()) if not one.name.startswith(".whyclust-")]
        return {one.name: one.read_bytes() for one in files}
    return {"": path.read_bytes()} if path.exists() else {}


@cache
def explanation(number: int) -> Any:
    draw = np.random.default_rng(number)
    X = pd.DataFrame(draw.normal(size=(2000, 6)) + 4.0 * (np.arange(2000) % 3)[:, None])
    X = X.set_axis([f"column {place}" for place in range(6)], axis=1)
    return wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X)


def _saved(number: int, path: Path) -> None:
    explanation(number).save(path)


@cache
def _rendered(number: int) -> str:
    from whyclust.report.page import render

    return render(explanation(number)[:60])


def _page(number: int, path: Path) -> None:
    # Kills are to hit the writing: the page itself is made once.
    page = _rendered(number)
    with patch("whyclust.report.page.render", lambda *_, **__: page):
        explanation(number)[:60].to_html(path)


def _picture(number: int, path: Path) -> None:
    from whyclust.saving.atomic import write_figure

    write_figure(_figure(number), path)


@cache
def _figure(number: int) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4))
    explanation(number).plot.bar(ax=figure.subplots())
    return figure


def _checkpoint(number: int, path: Path) -> None:
    import torch

    from whyclust.deep.training.checkpoints import write_checkpoint

    write_checkpoint(path, {"epoch": number}, {"weights": torch.full((300, 300), float(number))})


def _cached(number: int, path: Path) -> None:
    from whyclust.datasets.download import keep

    keep(np.random.default_rng(number).bytes(500_000), path)


@cache
def _result(number: int) -> Any:
    from whyclust.command.run import explain_table
    from whyclust.tables import Table

    draw = np.random.default_rng(number)
    rows = draw.normal(size=(300, 4)) + 4.0 * (np.arange(300) % 3)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return explain_table(Table(pd.DataFrame(rows, columns=list("abcd"))), k=3)


def _folder(number: int, path: Path) -> None:
    from whyclust.command.result_files import write_result

    result, page = _result(number), _rendered(number)
    with patch("whyclust.report.page.render", lambda *_, **__: page):
        write_result(result, path)


WRITERS: dict[str, Writer] = {
    "wc.save, .npz": Writer("ex.npz", _saved),
    "wc.save, .json": Writer("ex.json", _saved),
    "wc.save, .parquet": Writer("ex.parquet", _saved),
    "ex.to_html": Writer("page.html", _page),
    "pictures, .png": Writer("plot.png", _picture),
    "checkpoints of deep fits": Writer("fit.npz", _checkpoint),
    "the cache of data sets": Writer("set.npz", _cached),
    "folder of the command line": Writer("result", _folder),
}
