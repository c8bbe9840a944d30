"""What was found, on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

import typer


def one_line(text: str) -> str:
    """Keep what a table says from moving the cursor or colouring the terminal.

    >>> one_line("a  b")
    'a b'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def tell(notes: Iterable[str], sentences: Iterable[str]) -> None:
    """Notes to those who watch, sentences to whoever reads on."""
    for note in notes:
        typer.echo(f"Note: {one_line(note)}", err=True)
    for sentence in sentences:
        typer.echo(one_line(sentence))


def tell_verdict(verdict: Iterable[str]) -> None:
    """Whether the explanations can be trusted, where that was asked."""
    for place, sentence in enumerate(verdict):
        if place == 0:
            typer.echo("\nCan I trust this?")
        typer.echo(one_line(sentence))
