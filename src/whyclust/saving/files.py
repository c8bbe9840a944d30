"""Save and load: arrays and JSON in one file, nothing that can run code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from whyclust.saving import archives, json_text
from whyclust.saving.atomic import write_whole
from whyclust.saving.limits import TooLargeError
from whyclust.saving.packing import pack, unpack
from whyclust.saving.registry import Saved, UnknownKindError, of_thing

# Files of format 1 are still read.
FORMAT = 2
# For everything; Parquet is for what has columns.
_WRITERS = {".npz": archives.write, ".json": json_text.write}

# Editors may put a mark and spaces before the text.
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"
_LONGEST_START = 4096


def _alone(thing: Any) -> Saved | None:
    """How a thing is saved that may be saved by itself; None for all others."""
    entry = of_thing(thing)
    return entry if entry is not None and entry.alone else None


def save(thing: Any, path: str | Path) -> Path:
    """Write one of our estimators, a network or an explanation to a file.

    Explanations go to .parquet, .npz or .json, everything else to .npz or .json.
    JSON is the largest, for tools that read nothing else. The file is complete or not there at all. A class
    of your own is saved, too, once it is registered with :func:`whyclust.saved`.

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
    entry = _alone(thing)
    if entry is None:
        raise TypeError(
            f"{type(thing).__name__} is not one of whyclust's own models, networks or explanations: "
            "save wc.neuralize(model, X), which predicts and explains."
        )
    if suffix == ".parquet" and entry.columns is not None:
        from whyclust.saving import parquet

        columns = entry.columns(thing)
        content, arrays = pack(thing)
        return _written(path, lambda stream: parquet.write(stream, FORMAT, content, arrays, columns))
    if suffix not in _WRITERS:
        expected = ".npz or .json" if entry.columns is None else ".parquet, .npz or .json"
        raise ValueError(f"{path.name} ends in {suffix!r}, expected {expected}: rename the file.")
    content, arrays = pack(thing)
    return _written(path, lambda stream: _WRITERS[suffix](stream, FORMAT, content, arrays))


def _written(path: Path, fill: Callable[[Any], Any]) -> Path:
    try:
        return write_whole(path, fill)
    except OSError as error:
        raise OSError(f"cannot write '{path}' ({error.strerror or error}).") from error


def load(path: str | Path) -> Any:
    """Read what :func:`save` wrote; files that hold anything else are refused.

    Only registered classes (whyclust's own and scikit-learn's encoders) are made, from arrays and numbers;
    nothing in a file is ever called, and a file whose bytes have changed is refused.
    """
    path = Path(path)
    if path.is_dir():
        inside = sorted(one.name for one in path.glob("*.parquet"))
        which = f"load one of them, for example '{path / inside[0]}'" if inside else "name a file"
        raise ValueError(f"'{path}' is a folder{' of parts' if inside else ''}: {which}.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}: check the name.")
    with path.open("rb") as stream:
        start = stream.read(_LONGEST_START)
    refused = ValueError(
        f"{path.name} is not a file that whyclust has written, or it is damaged: expected .npz, "
        ".parquet or .json from wc.save."
    )
    try:
        if start[:4] == b"PAR1":
            from whyclust.saving import parquet

            written, version, content, arrays = parquet.read(path)
        elif start[:2] == b"PK":
            written, version, content, arrays = archives.read(path)
        elif start.lstrip(_BEFORE_JSON)[:1] == b"{":
            written, version, content, arrays = json_text.read(path)
        else:
            raise refused
    except TooLargeError as error:
        raise ValueError(f"{path.name}: {error}") from None
    except Exception:  # whatever a damaged file raises, the user needs one sentence
        raise refused from None
    if written not in range(1, FORMAT + 1):
        raise ValueError(
            f"{path.name} has format {written!r:.20} (whyclust {version!s:.20}), expected {FORMAT} or less: "
            "use the version of whyclust that wrote it."
        )
    try:
        thing = unpack(content, arrays)
        if _alone(thing) is None:
            raise refused
    except UnknownKindError as error:
        raise ValueError(f"{path.name} {error}") from None
    except TooLargeError as error:
        raise ValueError(f"{path.name}: {error}") from None
    except ImportError:
        raise
    except Exception:
        raise refused from None
    return thing
