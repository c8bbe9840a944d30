"""AnnData, as scanpy keeps cells and genes: told by the name of its type, without importing anndata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from whyclust._checks import did_you_mean

# More keys than this are not listed in an error.
_LISTED = 12


def is_annotated(X: Any) -> bool:
    """Whether this is an AnnData."""
    return any(
        kind.__name__ == "AnnData" and kind.__module__.split(".")[0] == "anndata" for kind in type(X).__mro__
    )


def annotated_parts(
    adata: Any, called: str = "X", *, layer: str | None = None, obsm: str | None = None
) -> tuple[Any, list[str], NDArray]:
    """Values of cells, names of their columns, and names of the cells.

    Parameters
    ----------
    adata : AnnData
        A view is read as it is.
    called : str
        What it is called in errors.
    layer, obsm : str, optional
        A layer in place of ``adata.X``, or a part of ``adata.obsm``, whose columns are numbered from 1.

    Returns
    -------
    data : ndarray, CSR matrix or frame
        Sparse values stay sparse.
    names : list of str
    index : ndarray of str
    """
    if layer is not None and obsm is not None:
        raise ValueError(f"layer={layer!r} and obsm={obsm!r} were both given: choose one of them.")
    index = np.asarray(adata.obs_names)
    if obsm is not None:
        found = _entry(adata.obsm, obsm, f"{called}.obsm")
        if hasattr(found, "columns"):
            return np.asarray(found), [str(column) for column in found.columns], index
        return _plain(found), [f"{obsm} {place + 1}" for place in range(found.shape[1])], index
    names = [str(name) for name in adata.var_names]
    if len(set(names)) < len(names):
        repeated = next(iter(adata.var_names[adata.var_names.duplicated()]))
        raise ValueError(
            f"{called} has more than one gene called {repeated!r}: call adata.var_names_make_unique() first."
        )
    if layer is not None:
        return _plain(_entry(adata.layers, layer, f"{called}.layers")), names, index
    if adata.isbacked:
        raise ValueError(
            f"{called} is an AnnData whose values are in a file: pass {called}.to_memory(), and choose "
            "cells and genes after that."
        )
    if adata.X is None:
        raise ValueError(
            f"{called} is an AnnData without X: choose layer= ({_listed(adata.layers)}) or obsm= "
            f"({_listed(adata.obsm)})."
        )
    return _plain(adata.X), names, index


def labels_in(adata: Any, key: str, called: str = "X") -> Any:
    """A column of ``adata.obs``, the clusters of cells."""
    return _entry(adata.obs, key, f"{called}.obs")


def _entry(entries: Any, key: str, called: str) -> Any:
    known = [str(name) for name in entries]
    if key not in known:
        hint = did_you_mean(key, known)
        raise KeyError(f"{called} has no {key!r}; it has {_listed(known)}{hint}")
    return entries[key]


def _listed(names: Iterable[str]) -> str:
    known = [repr(str(name)) for name in names]
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return ", ".join(known[:_LISTED]) + more if known else "nothing"


def _plain(values: Any) -> Any:
    """Values of a view, or of any sparse form, as arrays and matrices that know no AnnData."""
    if not sp.issparse(values):
        return np.asarray(values)
    form: Any = sp.csr_matrix
    return form(values)
