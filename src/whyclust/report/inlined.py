"""What stands in the page itself: its script and style, its values, and the policy that binds them."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup


@cache
def built(name: str) -> str:
    """A file of the page that was built from ``frontend/``.

    >>> built("page.js").isprintable() or "</script" not in built("page.js").lower()
    True
    """
    return (files("whyclust.report") / "built" / name).read_text(encoding="utf-8").strip()


def policy(script: str) -> str:
    """The page's Content-Security-Policy: this one script runs, and nothing is ever fetched or sent.

    Styles may be set by the page (widths of bars), and pictures are those that it holds or draws.

    >>> policy("x").split("; ")[0]
    "default-src 'none'"
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def as_json(values: Any) -> Markup:
    """Values as JSON for a script element: no text in them can end it, or begin another.

    >>> "<" in as_json({"name": "</script><!--"})
    False
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)
