"""Save and load: arrays and JSON in one file, nothing that can run code."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from whyclust import __version__, cluster
from whyclust._validation import is_frame, is_sparse
from whyclust.explanation import Explanation
from whyclust.network import (
    competition,
    features,
    heads,
    network,
    nodes,
    pipelines,
    pools,
    tournament,
    values,
)

FORMAT = 1
_HEADER = "whyclust"

# The only classes a file can bring back.
_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        features.AffineMap,
        features.Features,
        competition.Competition,
        nodes.Nodes,
        tournament.Tournament,
        heads.LinearHead,
        heads.PrototypeHead,
        heads.TreeHead,
        network.Neuralized,
        pipelines.ColumnEncoder,
        pipelines.InItsForm,
        pipelines.Sequential,
        pools.MinPool,
        pools.SoftMinPool,
        values.FactoredValues,
        Explanation,
    )
}
_ESTIMATORS: dict[str, type] = {name: getattr(cluster, name) for name in cluster.__all__}


def save(thing: Any, path: str | Path) -> Path:
    """Write one of our estimators, a network or an explanation to a file.

    Explanations go to .parquet or .npz, everything else to .npz. The file is complete or not
    there at all.

    Examples
    --------
    >>> import tempfile, whyclust as wc
    >>> from pathlib import Path
    >>> model = wc.cluster.SoftKMeans(2, n_init=1, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> wc.load(wc.save(model, path)).predict([[8.0]]) == model.predict([[8.0]])
    array([ True])
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if isinstance(thing, Explanation) and suffix == ".parquet":
        from whyclust.parquet import write_explanation

        return _write(path, lambda stream: write_explanation(thing, stream))
    if suffix != ".npz":
        expected = ".parquet or .npz" if isinstance(thing, Explanation) else ".npz"
        raise ValueError(f"{path.name} ends in {suffix!r}, expected {expected}: rename the file.")
    if type(thing).__name__ not in {*_CLASSES, *_ESTIMATORS}:
        raise TypeError(
            f"{type(thing).__name__} is not one of whyclust's own models, networks or explanations: "
            "save wc.neuralize(model), which predicts and explains, or use skops for the model itself."
        )
    arrays: dict[str, NDArray] = {}
    header = {"format": FORMAT, "version": __version__, "content": _pack(thing, arrays)}
    text = np.array(json.dumps(header))
    members: dict[str, Any] = {_HEADER: text, **arrays}
    return _write(path, lambda stream: np.savez_compressed(stream, **members))


def load(path: str | Path) -> Any:
    """Read what :func:`save` wrote; files that hold anything else are refused."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}: check the name.")
    with path.open("rb") as stream:
        start = stream.read(4)
    if start == b"PAR1":
        from whyclust.parquet import read_explanation

        return read_explanation(path)
    refused = ValueError(
        f"{path.name} is not a file that whyclust has written, or it is damaged: expected .npz or "
        ".parquet from wc.save."
    )
    if start[:2] != b"PK":
        raise refused
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop(_HEADER)))
    except (ValueError, KeyError, OSError, zipfile.BadZipFile):
        raise refused from None
    if header.get("format") != FORMAT:
        raise ValueError(
            f"{path.name} has format {header.get('format')} (whyclust {header.get('version')}), expected "
            f"{FORMAT}: use the version of whyclust that wrote it."
        )
    try:
        return _unpack(header["content"], arrays)
    except (KeyError, TypeError, AttributeError):
        raise refused from None


def _write(path: Path, fill: Callable[[Any], Any]) -> Path:
    """Write beside the target and move into place when complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            fill(stream)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _store(array: NDArray, arrays: dict[str, NDArray]) -> str:
    key = f"array{len(arrays)}"
    arrays[key] = array
    return key


def _pack(thing: Any, arrays: dict[str, NDArray]) -> Any:
    """Turn a thing into JSON that points to arrays."""
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return thing
    if isinstance(thing, np.generic):
        return thing.item()
    if isinstance(thing, np.ndarray):
        if thing.dtype == object:
            return {
                "objects": [_pack(value, arrays) for value in thing.ravel()],
                "shape": thing.shape,
            }
        return {"array": _store(thing, arrays)}
    if is_sparse(thing):
        parts = [_store(part, arrays) for part in (thing.data, thing.indices, thing.indptr)]
        return {"sparse": parts, "shape": list(thing.shape)}
    if is_frame(thing):
        stream = BytesIO()
        thing.to_parquet(stream)
        return {"frame": _store(np.frombuffer(stream.getvalue(), dtype=np.uint8), arrays)}
    if isinstance(thing, dict):
        return {"dict": {str(key): _pack(value, arrays) for key, value in thing.items()}}
    if isinstance(thing, (list, tuple)):
        kind = "tuple" if isinstance(thing, tuple) else "list"
        return {kind: [_pack(value, arrays) for value in thing]}
    name = type(thing).__name__
    if is_dataclass(thing) and name in _CLASSES:
        state = {part.name: _pack(getattr(thing, part.name), arrays) for part in fields(thing)}
        return {"class": name, "state": state}
    if name in _ESTIMATORS:
        return {"estimator": name, "state": {k: _pack(v, arrays) for k, v in vars(thing).items()}}
    if isinstance(thing, BaseEstimator):
        import skops.io

        dumped = np.frombuffer(skops.io.dumps(thing), dtype=np.uint8)
        return {"skops": _store(dumped, arrays)}
    raise TypeError(
        f"A {name} cannot be saved without pickle: replace it (a number as random_state, a kernel by "
        "its name) before saving."
    )


def _unpack(packed: Any, arrays: dict[str, NDArray]) -> Any:
    """Turn JSON that points to arrays back into the thing."""
    if not isinstance(packed, dict):
        return packed
    if "array" in packed:
        return arrays[packed["array"]]
    if "objects" in packed:
        items = np.empty(len(packed["objects"]), dtype=object)
        items[:] = [_unpack(value, arrays) for value in packed["objects"]]
        return items.reshape(packed["shape"])
    if "sparse" in packed:
        parts = tuple(arrays[key] for key in packed["sparse"])
        return sp.csr_array(parts, shape=tuple(packed["shape"]))
    if "frame" in packed:
        import pandas as pd

        return pd.read_parquet(BytesIO(arrays[packed["frame"]].tobytes()))
    if "dict" in packed:
        return {key: _unpack(value, arrays) for key, value in packed["dict"].items()}
    if "list" in packed:
        return [_unpack(value, arrays) for value in packed["list"]]
    if "tuple" in packed:
        return tuple(_unpack(value, arrays) for value in packed["tuple"])
    if "class" in packed:
        kind = _CLASSES[packed["class"]]
        return kind(**{key: _unpack(value, arrays) for key, value in packed["state"].items()})
    if "estimator" in packed:
        estimator = _ESTIMATORS[packed["estimator"]]()
        for key, value in packed["state"].items():
            setattr(estimator, key, _unpack(value, arrays))
        return estimator
    return _load_skops(arrays[packed["skops"]].tobytes())


def _load_skops(content: bytes) -> Any:
    """skops rebuilds scikit-learn's own types only; functions of the user's are refused."""
    import skops.io

    unknown = skops.io.get_untrusted_types(data=content)
    allowed = [name for name in unknown if name.startswith(("numpy.", "sklearn."))]
    if len(allowed) != len(unknown):
        foreign = next(name for name in unknown if name not in allowed)
        raise ValueError(
            f"The file holds an object of type {foreign}, which whyclust does not load because it could "
            "run code: neuralise the model again instead."
        )
    return skops.io.loads(content, trusted=allowed)
