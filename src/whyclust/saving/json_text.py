"""A description and named arrays as JSON, for tools that read nothing else.

Arrays are base64 of their bytes, with type and shape, so that every number comes back bit for bit. A digest
stands beside the rest. It is of what the text says and not of its bytes, so spaces may be changed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust import __version__
from whyclust.saving.packing import HEADER, Arrays, as_ndarray, order_of

_DIGEST = "sha256"


def write(stream: Any, written: int, content: Any, arrays: Arrays) -> None:
    """Write one object: the description and its arrays, and their digest."""
    packed = {key: _as_text(as_ndarray(array)) for key, array in arrays.items()}
    body = _text({"format": written, "version": __version__, "content": content, "arrays": packed})
    stream.write(f'{{"{HEADER}": {body}, "{_DIGEST}": "{_digest(body)}"}}\n'.encode())


def read(path: Path) -> tuple[Any, Any, Any, Arrays]:
    """Format, version, description and arrays; raises if any of it has changed."""
    whole = json.loads(path.read_text(encoding="utf-8-sig"))  # some editors begin with a mark
    body = whole[HEADER]
    if _digest(_text(body)) != whole[_DIGEST]:
        raise ValueError("The text is not what was written.")
    arrays = {key: _array(entry) for key, entry in body["arrays"].items()}
    return body["format"], body["version"], body["content"], arrays


def _text(body: Any) -> str:
    # NaN is Python's word and not JSON's: other tools would refuse the whole file.
    return json.dumps(body, allow_nan=False)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _as_text(array: NDArray) -> dict[str, Any]:
    order = order_of(array)
    encoded = base64.b64encode(array.tobytes(order)).decode()
    return {"dtype": array.dtype.str, "shape": array.shape, "order": order, "base64": encoded}


def _array(entry: dict[str, Any]) -> NDArray:
    content = base64.b64decode(entry["base64"], validate=True)
    # numpy refuses to make objects of bytes. The copy can be written to, as arrays of other files can.
    flat = np.frombuffer(content, dtype=entry["dtype"])
    return flat.reshape(entry["shape"], order=entry.get("order", "C")).copy("K")  # older files know one order
