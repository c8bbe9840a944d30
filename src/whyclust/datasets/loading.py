"""load(): from a name to a data set, wherever its file is."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from whyclust.datasets.catalogue import ENTRIES, Entry, entry_of
from whyclust.datasets.dataset import Dataset
from whyclust.datasets.documents import draw_documents, mean_vectors, tf_idf, words_of
from whyclust.datasets.origins import ORIGINS
from whyclust.datasets.places import cache_folder, data_folder, find_file, read_arrays
from whyclust.datasets.preparation import prepare_images, prepare_table

# Arrays with a place of their own in a Dataset.
_KNOWN = ("X", "y", "feature_names", "class_names", "texts")


def load(name: str, *, preprocess: bool = False, download: bool = True) -> Dataset:
    """Load a data set of the papers by its name.

    It is looked for in the folder named by the environment variable ``WHYCLUST_DATA``, then in the
    cache (``WHYCLUST_CACHE``, or ``whyclust`` in the system's place for caches), then where scikit-learn
    ships it, and is downloaded last, where a public source is known (see :func:`available`).

    Parameters
    ----------
    name : str
        A name or alias of :func:`available`.
    preprocess : bool
        False: as published. True: as the papers cluster it.

        * Tables, by supplement H of NEON: binary attributes are dropped (but kept in ``c2000``, of which
          the paper has all 68, and in gene expression), missing values replaced by the column's mean,
          every column scaled to mean 0 and standard deviation 1. Of gene counts log(1 + x) is taken first.
        * Images: one row of brightness from 0 to 1 each.
        * ``news``: what :func:`load_news` gives by default. Other texts: TF-IDF of 2000 words.
    download : bool
        Whether the network may be used.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        For an unknown name, a file that cannot be read, a download with a wrong checksum, or a set that has
        nothing to preprocess.
    FileNotFoundError
        If the set is in none of these places; the message tells where it was looked for.

    Examples
    --------
    >>> from whyclust.datasets import load
    >>> load("winer", preprocess=True)
    <Dataset winer: 178 x 13, 3 classes, K = 6>
    """
    entry = entry_of(name)
    if preprocess and entry.kind == "arrays":
        raise ValueError(
            f"preprocess=True was given for {entry.name!r}, which is no table to cluster: load it with "
            "preprocess=False and take its arrays."
        )
    if preprocess and entry.name == "news":
        return load_news(download=download)
    raw = _as_published(entry, _arrays_of(entry, download=download))
    return _prepared(entry, raw) if preprocess else raw


def load_news(
    *, n_documents: int = 250, random_state: Any = 0, standardise: bool = False, download: bool = True
) -> Dataset:
    """Messages of 20 Newsgroups as means of word vectors (NEON, section VI-A).

    A word is a sequence of at least three letters that is no stop word; words without a vector are left
    out. The paper has 250 messages without telling which: here they are drawn from the training part,
    with nearly equal numbers of every group (12 or 13 of each for 250), among the messages in which at
    least one word has a vector. The paper standardises the tables of the UCI repository and speaks of plain
    means of word vectors here, so these are not standardised unless asked for.

    Parameters
    ----------
    n_documents : int
        How many messages to draw.
    random_state : int, RandomState or None
        Which.
    standardise : bool
        Scale every dimension to mean 0 and standard deviation 1.
    download : bool
        Whether the network may be used for the messages; the word vectors must be in a folder.

    Returns
    -------
    Dataset
        With the messages in ``texts``, and in ``arrays`` what makes the means: ``words``, their ``vectors``
        and ``counts``, so that X = counts @ vectors / counts.sum(1) before it is standardised.
    """
    # The vectors first: without them the messages, which may have to be downloaded, are of no use.
    glove = _arrays_of(entry_of("glove100_news20"), download=download)
    published = _arrays_of(entry_of("news"), download=download)
    raw = _as_published(entry_of("news"), published)
    texts, y = published["texts"], published["y"]
    known = set(glove["words"].tolist())
    training = np.flatnonzero(published["split"] == 0)
    usable = np.array([i for i in training if not known.isdisjoint(words_of(texts[i]))], dtype=np.intp)
    if len(usable) == 0:
        raise ValueError("no message of the training part has a word with a vector: get both files again.")
    rows = usable[draw_documents(y[usable], n_documents=n_documents, random_state=random_state)]
    chosen = tuple(texts[i] for i in rows)
    X, counts, words, vectors = mean_vectors(chosen, glove["words"], glove["vectors"])
    frame = pd.DataFrame(X, columns=[f"dimension_{j}" for j in range(X.shape[1])])
    return replace(
        raw,
        X=prepare_table(frame, keep_binary=True) if standardise else frame,
        y=y[rows],
        feature_names=frame.columns.tolist(),
        texts=chosen,
        arrays=MappingProxyType(
            {"id": raw.arrays["id"][rows], "words": words, "vectors": vectors, "counts": counts}
        ),
    )


def available() -> pd.DataFrame:
    """List the data sets by name: what each is, and where it would come from now.

    ``origin`` is the file if it is at hand, else the public source, else what has to be done.

    Examples
    --------
    >>> from whyclust.datasets import available
    >>> available().columns.tolist()
    ['kind', 'n_clusters', 'origin', 'licence', 'description']
    """
    table = [
        {
            "name": entry.name,
            "kind": entry.kind,
            "n_clusters": entry.n_clusters,
            "origin": _origin(entry),
            "licence": entry.licence,
            "description": entry.description,
        }
        for entry in ENTRIES.values()
    ]
    return pd.DataFrame(table).set_index("name").astype({"n_clusters": "Int64"})


def _origin(entry: Entry) -> str:
    """Where it would come from now, in words."""
    path = find_file(entry.file)
    if path is not None:
        return str(path)
    origin = ORIGINS.get(entry.name)
    if origin is None:
        return f"put {entry.file} into the folder in WHYCLUST_DATA"
    kept = None if origin.published is None else cache_folder() / origin.published
    return origin.told if kept is None or not kept.is_file() else str(kept)


def _arrays_of(entry: Entry, *, download: bool) -> dict[str, Any]:
    """The arrays of a set, from the first place that has them."""
    path = find_file(entry.file)
    if path is not None:
        return read_arrays(path)
    origin = ORIGINS.get(entry.name)
    reason = "no public source of it is known here"
    cause = None
    if origin is not None:
        try:
            return origin.arrays(cache_folder(), download)
        except OSError as error:
            reason, cause = f"it could not be had from {origin.told} ({error})", error
    folder = data_folder()
    looked = f"the folder {folder} nor in the cache" if folder else "the cache (WHYCLUST_DATA is not set)"
    raise FileNotFoundError(
        f"The data set {entry.name!r} was not found in {looked} {cache_folder()}, and "
        f"{reason}: put {entry.file} into a folder and name it in the environment variable WHYCLUST_DATA."
    ) from cause


def _as_published(entry: Entry, arrays: dict[str, Any]) -> Dataset:
    """A Dataset of the arrays of a file, with names where the file has none."""
    X = arrays.get("X")
    names = None
    _refuse_other_arrays(entry, arrays)
    if entry.kind == "table":
        columns = arrays.get("feature_names")
        X = np.asarray(X)
        names = [f"x{j}" for j in range(X.shape[1])] if columns is None else list(map(str, columns))
        X = pd.DataFrame(X, columns=names)
    classes, y = arrays.get("class_names"), arrays.get("y")
    return Dataset(
        name=entry.name,
        X=X,
        y=None if y is None else np.asarray(y).astype(np.int64),
        feature_names=names,
        class_names=None if classes is None else list(map(str, classes)),
        n_clusters=entry.n_clusters,
        description=entry.description,
        source=entry.source,
        licence=entry.licence,
        notes=entry.notes,
        texts=arrays.get("texts"),
        arrays=MappingProxyType({name: value for name, value in arrays.items() if name not in _KNOWN}),
    )


def _refuse_other_arrays(entry: Entry, arrays: dict[str, Any]) -> None:
    """A file of this name may hold something else."""
    if entry.kind not in ("table", "images", "texts"):
        return
    needed = "texts" if entry.kind == "texts" else "X"
    if needed not in arrays or (entry.kind == "table" and np.ndim(arrays["X"]) != 2):
        raise ValueError(
            f"{entry.file} has no {needed} of rows and columns, but {', '.join(arrays) or 'nothing'}: it is "
            f"not the data set {entry.name!r}. Get the file again, or delete it so that it is looked for "
            "elsewhere."
        )
    y = arrays.get("y")
    if y is not None and len(y) != len(arrays[needed]):
        raise ValueError(
            f"{entry.file} has {len(y)} classes for {len(arrays[needed])} rows: get the file again, or "
            "delete it so that it is looked for elsewhere."
        )


def _prepared(entry: Entry, raw: Dataset) -> Dataset:
    """The set as the papers cluster it."""
    if entry.kind == "images":
        return replace(raw, X=prepare_images(raw.X))
    if entry.kind == "texts":
        X, words = tf_idf(raw.texts or ())
        return replace(raw, X=X, feature_names=words)
    X = prepare_table(
        raw.X, keep_binary=entry.keep_binary, counts=entry.counts, normalise_rows=entry.normalise_rows
    )
    return replace(raw, X=X, feature_names=X.columns.tolist())
