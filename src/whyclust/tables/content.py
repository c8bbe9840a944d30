"""What a file holds, whatever its name says."""

from __future__ import annotations

import re

# Members that come first in the archives that spreadsheets are.
SPREADSHEET_MARKS = (b"[Content_Types].xml", b"xl/", b"docProps/", b"_rels/")


def content_of(head: bytes) -> str:
    """Tell the kind of a file from its first bytes; whatever has no signature is text."""
    if head.startswith(b"PAR1"):
        return "Parquet"
    if head.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return "Arrow"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        # Archives of NumPy hold members called *.npy; spreadsheets and documents are archives, too.
        if b".npy" in head[:256] or len(head) < 30:
            return "npz"
        return "xlsx" if any(mark in head for mark in SPREADSHEET_MARKS) else "a ZIP archive"
    signatures = {
        b"\x1f\x8b": "gzip-compressed data",
        b"\xd0\xcf\x11\xe0": "an old spreadsheet",
        b"%PDF": "a PDF document",
        b"\x89PNG": "a picture",
        b"SQLite format 3": "an SQLite database",
        b"\x80\x04": "a Python pickle",
        b"\x80\x05": "a Python pickle",
        b"\x89HDF": "HDF5",
    }
    for signature, name in signatures.items():
        if head.startswith(signature):
            return name
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<?xml")):
        return "a web page or XML"
    if re.match(rb"\{\s*\"|\[\s*[{\]]", start):
        return "JSON"
    return "CSV"
