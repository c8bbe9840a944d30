"""Files without code: what can be saved says so itself, as parts; formats only write and read them."""

from whyclust.saving.files import load, save
from whyclust.saving.registry import saved

__all__ = ["load", "save", "saved"]
