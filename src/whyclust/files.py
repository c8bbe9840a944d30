"""Save and load: arrays and JSON in one file, nothing that can run code."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from whyclust import __version__, cluster
from whyclust._atomic import write_whole
from whyclust._validation import is_frame, is_sparse
from whyclust.explanation import Explanation
from whyclust.fidelity import Fidelity
from whyclust.network import (
    competition,
    features,
    heads,
    network,
    nodes,
    pipelines,
    pools,
    quadratic,
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
        quadratic.QuadraticHead,
        values.FactoredValues,
        Explanation,
        Fidelity,
    )
}
_ESTIMATORS: dict[str, type] = {name: getattr(cluster, name) for name in cluster.__all__}
# Of whyclust.deep, but without a network; it is imported when a file holds one.
_MIXTURE = "ClusteringModuleEM"
# scikit-learn's steps that stay in a network because they bend columns; their state is plain.
_ENCODERS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Binarizer,
        FunctionTransformer,
        KBinsDiscretizer,
        MaxAbsScaler,
        MinMaxScaler,
        MissingIndicator,
        OneHotEncoder,
        OrdinalEncoder,
        PowerTransformer,
        QuantileTransformer,
        SimpleImputer,
        StandardScaler,
    )
}


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

        return write_whole(path, lambda stream: write_explanation(thing, stream))
    if suffix != ".npz":
        expected = ".parquet or .npz" if isinstance(thing, Explanation) else ".npz"
        raise ValueError(f"{path.name} ends in {suffix!r}, expected {expected}: rename the file.")
    if type(thing).__name__ not in {*_CLASSES, *_ESTIMATORS, _MIXTURE} and not _is_deep(thing):
        raise TypeError(
            f"{type(thing).__name__} is not one of whyclust's own models, networks or explanations: "
            "save wc.neuralize(model), which predicts and explains."
        )
    if isinstance(thing, Explanation):
        from whyclust.parquet import plain_labels

        thing = replace(thing, index=plain_labels(thing.index))
    arrays: dict[str, NDArray] = {}
    header = {"format": FORMAT, "version": __version__, "content": _pack(thing, arrays)}
    text = np.array(json.dumps(header))
    members: dict[str, Any] = {_HEADER: text, **arrays}
    return write_whole(path, lambda stream: np.savez_compressed(stream, **members))


def load(path: str | Path) -> Any:
    """Read what :func:`save` wrote; files that hold anything else are refused.

    Only whyclust's own classes and scikit-learn's encoders are made, from arrays and numbers; nothing
    in a file is ever called.
    """
    path = Path(path)
    if not path.is_file():
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
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop(_HEADER)))
        written, version = header["format"], header["version"]
    except Exception:  # whatever a damaged archive raises, the user needs one sentence
        raise refused from None
    if written != FORMAT:
        raise ValueError(
            f"{path.name} has format {written} (whyclust {version}), expected {FORMAT}: use the version of "
            "whyclust that wrote it."
        )
    try:
        thing = _unpack(header["content"], arrays)
    except Exception:
        raise refused from None
    if type(thing).__name__ not in {*_CLASSES, *_ESTIMATORS, _MIXTURE} and not _is_deep(thing):
        raise refused
    return thing


def _is_deep(thing: Any) -> bool:
    """Whether this is a fitted model of whyclust.deep, told without importing torch."""
    return type(thing).__module__.startswith("whyclust.deep.") and hasattr(thing, "model_")


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
    if isinstance(thing, np.dtype) or (isinstance(thing, type) and issubclass(thing, np.generic)):
        return {"dtype": np.dtype(thing).str, "type": isinstance(thing, type)}
    if isinstance(thing, np.ufunc):
        return {"ufunc": str(thing.__name__)}
    if is_frame(thing):
        stream = BytesIO()
        thing.reset_index(drop=True).to_parquet(stream)
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
    mixture = name == _MIXTURE and type(thing).__module__ == "whyclust.deep.mixture_em"
    if mixture or _ESTIMATORS.get(name, _ENCODERS.get(name)) is type(thing):
        return {"estimator": name, "state": {k: _pack(v, arrays) for k, v in vars(thing).items()}}
    if _is_deep(thing):
        from whyclust.deep.stored import to_arrays

        description, named = to_arrays(thing)
        places = {key: _store(array, arrays) for key, array in named.items()}
        return {"deep": _pack(description, arrays), "arrays": places}
    if type(thing).__module__ == "whyclust.deep.trunk":
        from whyclust.deep import stored_trunk

        description, named = stored_trunk.to_arrays(thing)
        places = {key: _store(array, arrays) for key, array in named.items()}
        return {"trunk": description, "arrays": places}
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
    if "deep" in packed:
        from whyclust.deep.stored import from_arrays

        named = {key: arrays[place] for key, place in packed["arrays"].items()}
        return from_arrays(_unpack(packed["deep"], arrays), named)
    if "trunk" in packed:
        from whyclust.deep import stored_trunk

        named = {key: arrays[place] for key, place in packed["arrays"].items()}
        return stored_trunk.from_arrays(packed["trunk"], named)
    if "dtype" in packed:
        dtype = np.dtype(packed["dtype"])
        return dtype.type if packed["type"] else dtype
    if "ufunc" in packed:
        function = getattr(np, packed["ufunc"])
        if not isinstance(function, np.ufunc):
            raise TypeError("Only element-wise functions of numpy are loaded.")
        return function
    if packed["estimator"] == _MIXTURE:
        from whyclust.deep import ClusteringModuleEM

        made: type = ClusteringModuleEM
    else:
        made = {**_ESTIMATORS, **_ENCODERS}[packed["estimator"]]
    estimator: Any = object.__new__(made)
    for key, value in packed["state"].items():
        setattr(estimator, key, _unpack(value, arrays))
    return estimator
