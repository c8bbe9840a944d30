"""Do the heat maps of clusters show the objects in an image? (NEON, section VI-C and Fig. 8)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


@dataclass(frozen=True, eq=False)
class HeatmapMatching:
    """Heat maps and the masks they stand for.

    Attributes
    ----------
    mean : float
        S, the mean cosine similarity of the matched pairs, from -1 to 1.
    pairs : ndarray of shape (n_pairs, 2)
        Position of the heat map and of its mask.
    similarities : ndarray of shape (n_pairs,)
        Cosine similarity of each pair.
    cosines : ndarray of shape (n_heatmaps, n_masks)
        Cosine similarity of all.
    labels : ndarray of shape (n_masks,)
        What each mask is called: its label in the label image, or its position.
    """

    mean: float
    pairs: NDArray
    similarities: NDArray
    cosines: NDArray
    labels: NDArray

    def __repr__(self) -> str:
        count, total = self.cosines.shape
        return (
            f"<HeatmapMatching: mean cosine {self.mean:.3f} of {len(self.pairs)} pairs, "
            f"{count} heat maps and {total} masks>"
        )


def match_heatmaps(heatmaps: Any, masks: Any, *, ignore_label: int | None = None) -> HeatmapMatching:
    """Match heat maps with segmentation masks by the greatest sum of cosine similarities.

    Each heat map takes part in one pair at most, and so does each mask: there are as many pairs as there
    are of the fewer, also where some similarity is negative. Their mean is the paper's score S for
    one image; over a data set, average it.

    Parameters
    ----------
    heatmaps : array of shape (n_heatmaps, height, width)
    masks : array of shape (n_masks, height, width), or of whole numbers of shape (height, width)
        One mask for each object, or an image of labels, of which each is an object, background among
        them.
    ignore_label : int, optional
        Pixels of this label in the label image belong to nothing (255 in PASCAL VOC): they are left out
        of masks and heat maps.

    Returns
    -------
    HeatmapMatching

    Examples
    --------
    >>> match_heatmaps([[[0.0, 2.0]], [[3.0, 0.0]]], [[0, 1]])
    <HeatmapMatching: mean cosine 1.000 of 2 pairs, 2 heat maps and 2 masks>
    """
    maps = _images(heatmaps, "heatmaps")
    objects, labels, counted = _read_masks(masks, ignore_label)
    if objects.shape[1:] != maps.shape[1:]:
        raise ValueError(
            f"heatmaps are of {maps.shape[1]} × {maps.shape[2]} pixels, masks of {objects.shape[1]} × "
            f"{objects.shape[2]}: expected the same size, resize one of them."
        )
    objects, maps = objects[:, counted], maps[:, counted]
    empty = np.flatnonzero(~objects.any(axis=1))
    if len(empty):
        raise ValueError(f"Mask {labels[empty[0]]} has no pixel, expected an object: leave it out.")
    cosines = _directions(maps) @ _directions(objects).T
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    similarities = cosines[rows, columns]
    return HeatmapMatching(
        mean=float(similarities.mean()),
        pairs=np.column_stack([rows, columns]),
        similarities=similarities,
        cosines=cosines,
        labels=labels,
    )


def _directions(images: NDArray) -> NDArray:
    """Rows of length one; of length zero where nothing is, so that nothing is similar to it."""
    # Divided by the largest first: squares of very large or small numbers would overflow or vanish.
    largest = np.abs(images).max(axis=1, keepdims=True)
    images = images / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(images, axis=1, keepdims=True)
    return images / np.where(length > 0, length, 1.0)


def _images(values: Any, called: str) -> NDArray:
    array = np.asarray(values)
    if array.ndim != 3 or 0 in array.shape:
        hint = f": use {called}[None] for a single one" if array.ndim == 2 else ""
        raise ValueError(f"{called} has the shape {array.shape}, expected (count, height, width){hint}.")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{called} holds {array.dtype}, expected real numbers.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{called} holds NaN or infinity, expected a finite number for every pixel.")
    return array


def _read_masks(masks: Any, ignore_label: int | None) -> tuple[NDArray, NDArray, NDArray]:
    """Masks as numbers, what they are called, and which pixels count."""
    array = np.asarray(masks)
    if array.ndim == 2:
        if array.dtype.kind not in "iu" or array.size == 0:
            raise ValueError(
                f"masks has two dimensions and holds {array.dtype}, expected an image of whole numbers: use "
                "masks[None] for a single mask."
            )
        counted = np.ones(array.shape, dtype=bool) if ignore_label is None else array != ignore_label
        labels = np.unique(array[counted])
        if len(labels) == 0:
            raise ValueError(f"All pixels have the label {ignore_label}, which is ignored: expected objects.")
        return (array == labels[:, None, None]).astype(np.float64), labels, counted
    if ignore_label is not None:
        raise ValueError(
            f"ignore_label={ignore_label!r} was given with masks, which have no labels: pass the label image."
        )
    found = _images(array, "masks")
    if found.min() < 0:
        raise ValueError(f"masks holds {found.min():g}, expected 0 outside of an object and 1 inside.")
    return found, np.arange(len(found)), np.ones(found.shape[1:], dtype=bool)
