"""Columns that a ColumnTransformer drops: they are no features of an explanation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.compose import ColumnTransformer

from whyclust._frames import take_columns
from whyclust.inputs.reading import InputTable, named_columns, read_input
from whyclust.network.models import first_step
from whyclust.network.network import Neuralized


def without_unread(
    model: Any, net: Neuralized, table: InputTable, background: Any = None
) -> tuple[Neuralized, InputTable, Any]:
    """The network of a model, its rows and a background, without columns that a ColumnTransformer drops.

    What a selector leaves out was looked at, and stays, without relevance. Columns of an array are known by
    their places, so that they all stay, too.
    """
    columns = net.features.columns
    if (
        not isinstance(first_step(model), ColumnTransformer)
        or not net.named
        or table.names is None
        or columns is None
        or len(columns) == len(net.feature_names)
    ):
        return net, table, background
    table = _read(net, table, "X")
    if background is not None:
        background = _read(net, read_input(background, "background"), "background")
    return net.among(table), table, background


def _read(net: Neuralized, table: InputTable, called: str) -> InputTable:
    columns: Any = net.features.columns
    names = [net.feature_names[column] for column in columns]
    if table.names is None or not set(names) <= set(table.names):
        table = net.match(table, called)  # which says what is missing
    if table.names is None:
        return replace(table, data=take_columns(table.data, columns), names=names)
    return named_columns(table, names)
