"""Kinds of input: how rows of a table, images, texts and others are read, named and shown."""

from whyclust.inputs.images import Images
from whyclust.inputs.kind import InputKind, input_kind, kind_of
from whyclust.inputs.texts import Texts

__all__ = ["Images", "InputKind", "Texts", "input_kind", "kind_of"]
