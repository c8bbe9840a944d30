"""What needs PyTorch is imported on use."""

from __future__ import annotations

import importlib
from typing import Any

from whyclust._extras import missing

# Seeds that are drawn are below this.
SEEDS = 2**31 - 1


def with_torch(module: str, selector: Any) -> Any:
    """A module of this room that needs PyTorch; or a sentence that says how to get it."""
    try:
        return importlib.import_module(f"whyclust.select.{module}")
    except ImportError as error:
        raise missing(type(selector).__name__, "torch") from error
