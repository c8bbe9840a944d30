"""Changes to bytes, to text, to JSON and to archives, each drawn from a generator of its own number."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from typing import Any

# Bytes and words at which readers stumble.
_EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x20, 0x0A, 0x0D, 0x22, 0x2C, 0x3B)
WORDS = (
    *("", " ", "nan", "NaN", "inf", "-inf", "1e400", "-1e400"),
    *("1e-400", "5e-324", "1,5", "1.234,5", "1,234.5"),
    *("1 234", "12%", "€ 5", "5 km", "5 miles", "$1,000.00"),
    *("(12)", "−3", "+7", "0x1f", "1_000", "٣", "１２", "½"),
    *("9" * 400, "9" * 25, "-0", "00012", "1e5", "true", "False"),
    *("yes", "no", "null", "None", "NA", "?", "-", "—"),
    *("2020-01-01", "31.12.2020", "12/31/99", "2020-02-30"),
    *("0000-00-00", "9999-12-31", "1677-01-01", "24:00"),
    *("2020-01-01T00:00:00+99:00", "Jan 5", "Q3 2020", "1900", "low", "medium", "high", "always", "never"),
    *('"', '""', "'", '"a', 'a"b', "a\nb", "a\rb", "a\tb", "a;b"),
    *("a,b", "a|b", "=1+1", "@x", "\ufeff", "\u200b"),
    *("\x00", "\x1b[31m", "\u202e", "\U0001f600", "é", "ß", "中"),
    *("x" * 3000, "\ud800".encode("utf-8", "replace").decode()),
    *("total", "Total", "sum", "id", "cluster", "{", "}", "[", "]"),
    *("<b>", "&amp;", "../../x", "/etc/passwd", "sep=;"),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.0, -0.0, 1.5, 1e308, 5e-324),
    *("", "x", "\ud800", "array", "list", "saved", "<f8", ">i4", "O", "V1"),
    *("U9999999", "M8[ns]", "float64", "nan"),
    *([], [0], [1, 2, 3], {}, {"list": []}, {"array": "values"}),
    *({"float": "nan"}, {"dict": {}}, {"tuple": [1]}),
    *([-1], [2**40], [2**40, 2**40], [0, 0]),
    *({"saved": "Explanation", "room": "", "parts": {}}, {"ufunc": "exp"}),
)  # fmt: skip


_SHAPES = (
    *("()", "(0,)", "(1,)", "(3,)", "(-1,)", "(2, 3)", "(3, 2, 1)", f"({2**40},)", f"({2**62}, 8)", "(0, 5)"),
    *("(1.5,)", "[3]", "3", "None", "(True,)", f"({10**9}, {10**9})", "(3,) * 9", "(" * 60 + ")" * 60),
)
_TYPES = (
    *("<f8", ">f8", "<f4", "<i8", "|u1", "|b1", "|O", "<U4", "|S3", "|V7", "<M8[ns]", "<m8[D]", "<c16"),
    *("<f2", "<U99999999", "<f16", "f", "", "|O8", "[('a', '<f8')]", "|S0", "<U0", "<M8", "<i3"),
)


def bytes_changed(content: bytes, draw: random.Random, other: bytes = b"") -> bytes:
    """One to a few changes of bytes, wherever."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = draw.randrange(len(found) + 1)
        upto = min(len(found), at + draw.choice((1, 2, 4, 8, 30, 200)))
        kind = draw.randrange(9)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << draw.randrange(8)
        elif kind == 1 and at < len(found):
            found[at] = draw.choice(_EDGES)
        elif kind == 2:
            del found[at:upto]
        elif kind == 3:
            found[at:at] = found[at:upto] * draw.choice((1, 1, 3, 50))
        elif kind == 4:
            found[at:at] = draw.randbytes(draw.choice((1, 2, 8, 40)))
        elif kind == 5:
            found[at:upto] = draw.randbytes(upto - at)
        elif kind == 6:
            del found[at:]
        elif kind == 7 and other:
            start = draw.randrange(len(other))
            found[at:upto] = other[start : start + draw.choice((4, 30, 300))]
        else:
            found[at:upto] = draw.choice(WORDS).encode("utf-8")
    return bytes(found)


def json_changed(tree: Any, draw: random.Random) -> Any:
    """A document in which a few places hold something else, or nothing, or what another place holds."""
    tree = copy.deepcopy(tree)
    for _ in range(draw.choice((1, 1, 2, 4))):
        places = list(_places(tree))
        if not places:
            return draw.choice(VALUES)
        inside, key = draw.choice(places)
        kind = draw.randrange(5)
        if kind == 0:
            del inside[key]
        elif kind == 1:
            other, there = draw.choice(places)
            inside[key] = copy.deepcopy(other[there])
        elif kind == 2 and isinstance(inside, dict):
            inside[draw.choice(("", "x", "array", "parts", "saved", str(key) + "2"))] = inside.pop(key)
        elif kind == 3 and isinstance(inside[key], str):
            inside[key] = draw.choice(WORDS)
        else:
            inside[key] = copy.deepcopy(draw.choice(VALUES))
    return tree


def _places(tree: Any) -> Any:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield tree, key
            yield from _places(value)
    elif isinstance(tree, list):
        for place, value in enumerate(tree[:40]):
            yield tree, place
            yield from _places(value)


def archive_changed(content: bytes, draw: random.Random, text: Any = None) -> bytes:
    """An archive with another member, but checksums that fit: so readers come past them.

    `text` changes members of its own, by name and content, and returns None for the others.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(one.filename, archive.read(one)) for one in archive.infolist()]
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.randrange(len(members))
        name, held = members[at]
        kind = draw.randrange(12)
        if kind == 0:
            del members[at]
        elif kind == 1:
            members.append((draw.choice((name, "../" + name, "/tmp/" + name, "x.npy", "é.npy", "a/b")), held))
        elif kind == 2:
            members[at] = (draw.choice(("", "x", "../../x.npy", name.upper(), name + ".npy")) or "y", held)
        elif kind == 3:
            members[at] = (name, members[draw.randrange(len(members))][1])
        else:
            changed = None if text is None else text(name, held, draw)
            members[at] = (name, bytes_changed(held, draw) if changed is None else changed)
        if not members:
            break
    stream = io.BytesIO()
    kinds = (zipfile.ZIP_DEFLATED,) * 8 + (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    with zipfile.ZipFile(stream, "w", draw.choice(kinds)) as archive:
        for name, held in members:
            archive.writestr(zipfile.ZipInfo(name) if draw.random() < 0.1 else name, held)
    return stream.getvalue()


def npy_changed(content: bytes, draw: random.Random) -> bytes:
    """An array whose description says something else, and sometimes its numbers."""
    if not content.startswith(b"\x93NUMPY") or draw.random() < 0.3:
        return bytes_changed(content, draw)
    length = int.from_bytes(content[8:10], "little")
    header, numbers = content[10 : 10 + length].decode("latin-1"), content[10 + length :]
    shapes = (
        "()",
        "(0,)",
        "(1,)",
        "(3,)",
        "(-1,)",
        "(2, 3)",
        "(3, 2, 1)",
        f"({2**40},)",
        f"({2**62}, 8)",
        "(0, 5)",
    )
    shapes += (
        "(1.5,)",
        "[3]",
        "3",
        "None",
        "(True,)",
        f"({10**9}, {10**9})",
        "(3,) * 9",
        "(" * 60 + ")" * 60,
    )
    types = (
        "<f8",
        ">f8",
        "<f4",
        "<i8",
        "|u1",
        "|b1",
        "|O",
        "<U4",
        "|S3",
        "|V7",
        "<M8[ns]",
        "<m8[D]",
        "<c16",
        "<f2",
    )
    types += ("<U99999999", "<f16", "f", "", "|O8", "[('a', '<f8')]", "|S0", "<U0", "<M8", "<i3")
    shape, kind = header.find("(" if "(" in header else "'shape'"), draw.randrange(4)
    if kind == 0 and shape >= 0:
        header = header[:shape] + draw.choice(_SHAPES) + ", }"
    elif kind == 1:
        begin = header.find("'descr': '") + len("'descr': '")
        header = header[:begin] + draw.choice(_TYPES) + header[header.find("'", begin) :]
    elif kind == 2:
        header = header.replace("False", draw.choice(("True", "None", "1", "__import__('os')")))
    else:
        header = bytes_changed(header.encode("latin-1"), draw).decode("latin-1")
    packed = header.rstrip("\n").encode("latin-1") + b"\n"
    return content[:8] + min(len(packed), 65535).to_bytes(2, "little") + packed + numbers


def as_json(tree: Any) -> str:
    """Text of a document, whatever is in it."""
    return json.dumps(tree, default=str)
