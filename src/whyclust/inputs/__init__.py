"""Kinds of input: how rows of a table, images and whatever else is registered are read, named and shown."""

from whyclust.inputs.images import Images
from whyclust.inputs.kind import InputKind, input_kind, kind_of

__all__ = ["Images", "InputKind", "input_kind", "kind_of"]
