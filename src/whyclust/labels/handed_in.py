"""A model and its rows as users hand them in: AnnData and texts become tables of columns, once."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from whyclust._frames import is_frame
from whyclust.inputs.annotated import is_annotated, labels_in
from whyclust.inputs.reading import read_input
from whyclust.network.vectorizers import behind_vectorizer


def handed_in(
    model: Any, X: Any, background: Any = None, *, layer: str | None = None, obsm: str | None = None
) -> tuple[Any, Any, Any]:
    """A model, its rows and a background, in columns.

    Parameters
    ----------
    model : whatever `explain` takes
        The name of a column of ``adata.obs`` stands for the labels in it. Of a pipeline that begins with a
        vectorizer the rest is returned.
    X, background : table, AnnData, or texts where the model begins with a vectorizer
    layer, obsm : str, optional
        What is read of an AnnData.

    Returns
    -------
    model, X, background
        Tables that no other room must know of are returned as they came.
    """
    if is_annotated(model):
        raise TypeError(
            "The first argument is an AnnData, expected labels or a model: wc.explain('leiden', adata), "
            "where 'leiden' is a column of adata.obs, or wc.explain(model, adata)."
        )
    if isinstance(model, str) and not is_annotated(X):
        raise TypeError(_told_name(model, X))
    note = ""
    if is_annotated(X):
        if isinstance(model, str):
            model, X, note = _labelled(labels_in(X, model), X, model)
        X = read_input(X, layer=layer, obsm=obsm)
        X = replace(X, notes=(*X.notes, note)) if note else X
    elif layer is not None or obsm is not None:
        option = f"layer={layer!r}" if layer is not None else f"obsm={obsm!r}"
        raise TypeError(f"{option} chooses from an AnnData, but X is a {type(X).__name__}: leave it out.")
    if is_annotated(background):
        background = read_input(background, "background", layer=layer, obsm=obsm)
    behind = behind_vectorizer(model)
    if behind is None:
        return model, X, background
    rest, reader = behind
    if background is not None:
        background = reader.read(background, "background")
    return rest, reader.read(X), background


def _told_name(name: str, X: Any) -> str:
    """What to do about the name of a column, which stands for labels only where X is an AnnData."""
    told = f"The first argument is the text {name!r}, expected a fitted model or a label for each row"
    if is_frame(X) and name in list(X.columns):
        return f"{told}: pass the column and leave it out of X, X[{name!r}] and X.drop(columns={name!r})."
    return f"{told}: pass the model itself, or the labels."


def _labelled(labels: Any, adata: Any, key: str) -> tuple[Any, Any, str]:
    """The cells that have a label, and a sentence on the others."""
    missing = labels.isna().to_numpy()
    # Without any label at all, whoever reads labels says so.
    if not missing.any() or missing.all():
        return labels, adata, ""
    note = f"{int(missing.sum())} of {len(labels)} cells have no label in obs[{key!r}] and were left out."
    warnings.warn(note, UserWarning, stacklevel=4)
    return labels[~missing], adata[~missing], note
