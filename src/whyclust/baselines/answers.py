"""From the name of a method and its options to values in the user's columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whyclust._frames import is_frame
from whyclust._progress import step, waiting
from whyclust.baselines.asked import Asked, Attribution
from whyclust.baselines.registry import NEON, find
from whyclust.network import Neuralized, Relevance
from whyclust.network.apart import Judges
from whyclust.network.question import read_question
from whyclust.network.records import Note
from whyclust.perturbing.encoded import EncodedRows
from whyclust.perturbing.subject import Prepared


def check_method(method: str, options: Mapping[str, Any], rule: str | None) -> None:
    """Refuse names of methods and options that are not known, before anything is computed."""
    known = find(method).options
    for name in options:
        if name not in known:
            takes = f"its options are {', '.join(known)}" if known else "it has none"
            raise TypeError(f"method={method!r} has no option {name!r}: {takes}.")
    if rule is not None:
        raise ValueError(
            f"rule={rule!r} was given with method={method!r}, but only method='neon' passes relevance by "
            "a rule: leave rule=None."
        )


def options_of(method: str) -> list[str]:
    """Names of a method's options.

    >>> options_of("ig")
    ['steps', 'reference']
    """
    return ["rule", "threshold"] if method == NEON else list(find(method).options)


def answer(
    method: str,
    options: Mapping[str, Any],
    parts: Judges,
    prepared: Prepared,
    found: Relevance,
    against: ArrayLike | None,
    groups: NDArray | None,
) -> Relevance:
    """What NEON found, with its values replaced by those of another method.

    Parameters
    ----------
    method : str
    options : mapping
        Keyword arguments of the method.
    parts : list of (Neuralized, ndarray of int)
        Networks, and the rows that each of them judges. They read the same columns.
    prepared : Prepared
        The rows to explain, and the data they come from.
    found : Relevance
        Which clusters are explained, and the evidence for them.
    against : cluster id, or one for each row, optional
    groups : ndarray of int of shape (n_columns,), optional
        Values are summed over columns that have the same number.
    """
    rows = prepared.rows
    n_rows = len(rows.points)
    against_ids = None if against is None else np.broadcast_to(np.asarray(against), n_rows)
    values, base_values = np.zeros((n_rows, rows.n_columns)), np.zeros(n_rows)
    errors: NDArray | None = None
    notes: dict[Note, None] = {}

    def encode(row: Any, name: str) -> NDArray:
        net = prepared.net
        return EncodedRows.of(net, net.read(_named_row(net, row), name)).points

    for net, chosen in parts:
        question = read_question(
            found.clusters[chosen],
            None if against_ids is None else against_ids[chosen],
            net.clusters,
            len(chosen),
        )
        competitors = read_question(found.competitors[chosen], None, net.clusters, len(chosen)).chosen
        asked = Asked(
            # Positions for names: cheaper to look up, point after point.
            replace(rows.net, head=net.head, clusters=np.arange(len(net.clusters))),
            prepared,
            rows.points[chosen],
            _positions(question.chosen),
            _positions(competitors),
            question.others,
            encode,
        )
        with waiting({"Explaining": 1.0}) as tell:
            tell(f"Explaining by {method}")
            step(0, 1)
            found_by = find(method).function(asked, **options)
        _refuse_no_attribution(method, found_by, len(chosen), (rows.n_columns, asked.points.shape[1]))
        values[chosen] = found_by.values if found_by.collected else rows.collect(found_by.values)
        base_values[chosen] = found_by.base_values
        if found_by.errors is not None:
            errors = np.zeros_like(values) if errors is None else errors
            # Errors of columns that are drawn together add up at most.
            errors[chosen] = found_by.errors if found_by.collected else rows.collect(found_by.errors)
        notes |= dict.fromkeys(found_by.notes)
    if groups is not None:
        summed = np.zeros((n_rows, int(groups.max()) + 1))
        np.add.at(summed.T, groups, values.T)
        values = summed
        if errors is not None:
            summed = np.zeros_like(values)
            np.add.at(summed.T, groups, errors.T)
            errors = summed
    if not (np.isfinite(values).all() and np.isfinite(base_values).all()):
        raise ValueError(
            f"method={method!r} gave values that are not finite: rescale the columns (StandardScaler in a "
            "Pipeline) and fit again."
        )
    explained = values.sum(axis=1) + base_values
    return replace(
        found,
        values=values,
        base_values=base_values,
        explained=explained,
        rule=method,
        errors=errors,
        notes=tuple(notes),
    )


def _refuse_no_attribution(method: str, found: Any, n_rows: int, widths: tuple[int, int]) -> None:
    """What a registered function returns has a number for each row and column, the user's or encoded."""
    if not isinstance(found, Attribution):
        raise TypeError(
            f"The function of method={method!r} returned a {type(found).__name__}, expected a "
            "whyclust.baselines.Attribution: Attribution.without_base(values), say."
        )
    collected, encoded = widths
    shape = (n_rows, collected if found.collected else encoded)
    if np.shape(found.values) != shape or np.shape(found.base_values) not in ((), shape[:1]):
        raise ValueError(
            f"The function of method={method!r} returned values of shape {np.shape(found.values)} and base "
            f"values of shape {np.shape(found.base_values)}, expected {shape} and {shape[:1]}."
        )


def _positions(chosen: NDArray | None) -> NDArray:
    return np.empty(0, dtype=np.intp) if chosen is None else np.asarray(chosen)


def _named_row(net: Neuralized, row: Any) -> Any:
    """One row as the network reads it: encoders of text ask for a frame with names."""
    if is_frame(row) or not net.features.encoder or row.shape[1] != net.features.n_columns:
        return row
    import pandas as pd

    return pd.DataFrame({name: [value] for name, value in zip(net.feature_names, row[0], strict=True)})
