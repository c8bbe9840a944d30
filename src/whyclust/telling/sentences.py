"""Explanations in plain English: short sentences, made from records, with at most two numbers each."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyclust._checks import counted
from whyclust.explaining.explanation import Explanation
from whyclust.telling.names import in_line
from whyclust.telling.rounding import compared, count, exact, number, percent
from whyclust.telling.standing import Standing
from whyclust.telling.summary import ClusterSummary


def join(parts: list[str]) -> str:
    """Join a list as in a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def describe_clusters(explanation: Explanation, top: int) -> str:
    """One paragraph per cluster, then what must be known of all of them."""
    doubt = explanation.provenance.doubt
    told = [*cluster_paragraphs(explanation, top), *disagreement(explanation)]
    return "\n".join(told if doubt is None else [*told, doubt])


def cluster_paragraphs(explanation: Explanation, top: int = 3, *, rows: bool = True) -> list[str]:
    """One paragraph per cluster; without `rows`, none of them is named."""
    return [" ".join(cluster_sentences(explanation, one, top, rows=rows)) for one in explanation.summary()]


def disagreement(explanation: Explanation) -> list[str]:
    """Say how many rows the surrogate assigns elsewhere than to the label given, if any."""
    elsewhere = int(explanation.disagrees.sum())
    if elsewhere == 0 or explanation.given is None:
        return []
    rows = f"{count(elsewhere)} of {count(len(explanation))} rows"
    sentence = f"The surrogate assigns {rows} elsewhere than to the label given"
    if (explanation.clusters == explanation.given).all():
        sentence += "; they are explained for the label given"
    return [f"{sentence}."]


def cluster_sentences(
    explanation: Explanation, one: ClusterSummary, top: int, *, rows: bool = True
) -> list[str]:
    """What sets a cluster apart, and who is in it; without `rows`, none of them is named."""
    named = one.named_features(top)
    measures = explanation.provenance.measures
    # Of all rows that the summary is of: an explanation may hold some of them.
    held = f"{count(one.size)} of {count(round(one.size / one.share))} rows"
    if explanation.question.about == "ignored":
        told = (
            f" lies mainly in {join([column for column, _ in named])}" if named else " belongs to no column"
        )
        return [f"What the clustering ignores in {one.title}, {held},{told}."]
    first = f"{_capital(one.title)} holds {held}"
    if explanation.question.about == "chosen" and explanation.question.threshold is None:
        rival = explanation.named(explanation.competitors[0])
        against = f" against {rival}" if explanation.question.duel else ""
        first = f"{_capital(one.title)} was explained{against} for {counted(one.size, 'row')}"
    if explanation.provenance.of_clusters:
        first = f"{_capital(one.title)} as a whole"
    if not named and top > 0:
        told = "no column speaks for it" if measures is None else f"none is above zero by {measures}"
        return [f"{first}; {told}.", *_doubt(explanation, one.cluster)]
    sentences = [f"{first}."]
    if named and measures is not None:
        sentences.append(f"Largest by {measures}: {join([column for column, _ in named])}.")
    elif named and one.is_noise:
        sentences.append(f"Its rows are unusual in {join([column for column, _ in named])}.")
    else:
        sentences += [standing_sentence(explanation, column, standing) for column, standing in named]
    some = _some_rows(explanation, one) if rows else []
    return [*sentences, *some, *_doubt(explanation, one.cluster)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _some_rows(explanation: Explanation, one: ClusterSummary) -> list[str]:
    """A typical row, and the one closest to leaving; rows that are elsewhere are neither."""
    if not one.borderline or explanation.labels[one.borderline[0]] != one.cluster:
        return []
    edge = one.borderline[0]
    if one.size == 1 or not one.typical or one.typical[0] == edge:
        asked = explanation.question.about == "chosen"  # of one row that was asked about, not of its cluster
        return [] if asked else [f"Its only row is {explanation.index[edge]}."]
    leaving = f"row {explanation.index[edge]} is closest to leaving it"
    towards = bare(explanation, explanation.competitors[edge])
    return [f"Row {explanation.index[one.typical[0]]} is typical of it; {leaving}, for {towards}."]


def bare(explanation: Explanation, cluster: Any, word: str = "cluster ") -> str:
    """A cluster where it has been introduced: its name would make the sentence long."""
    return "noise" if explanation.is_noise(cluster) else f"{word}{cluster}"


def _doubt(explanation: Explanation, cluster: Any) -> list[str]:
    """What a reader must know of a cluster that the surrogate does not reproduce."""
    doubt = None if explanation.fidelity is None else explanation.fidelity.doubt(cluster)
    return [] if doubt is None else [doubt]


def standing_sentence(explanation: Explanation, column: str, standing: Standing) -> str:
    """How one column of a cluster stands against the competitors that matter."""
    if standing.direction == "missing":
        return f"Its {column} is missing in all rows."
    if standing.category is not None:
        return _category_sentence(explanation, column, standing)
    mean = _mean(column, words=explanation.kind.has_words)
    if standing.against is None:
        known = np.isfinite(standing.inside)
        return f"{mean} is {number(standing.inside)}." if known else f"Its {column} counts."
    rival = bare(explanation, standing.against)
    here, there = compared(standing.inside, standing.there)
    if standing.direction == "similar":
        return f"Its {column} counts, though the mean is about that of {rival} ({here} against {there})."
    if standing.extreme:
        return f"{mean} is the {_end(standing)} ({here}, against {there} in {rival})."
    sides = ("above", "below") if standing.above else ("below", "above")
    but = "" if standing.other_side is None else f" and {sides[1]} {bare(explanation, standing.other_side)}"
    return f"{mean} is {sides[0]} {rival} ({here} against {there}){but}."


def _mean(column: str, *, words: bool) -> str:
    """The subject of a sentence on a column's mean.

    >>> _mean("age", words=False), _mean("mean area", words=False), _mean("cat", words=True)
    ('Its mean age', 'Its average mean area', 'Its mean weight of "cat"')
    """
    if words:
        return f'Its mean weight of "{column}"'
    return f"Its {'average' if column.lower().startswith('mean') else 'mean'} {column}"


def _end(standing: Standing) -> str:
    return "highest" if standing.above else "lowest"


def _category_sentence(explanation: Explanation, column: str, standing: Standing) -> str:
    share, category = percent(standing.inside), in_line(standing.category or "")
    if standing.against is None:
        return f"Its {column} is {category} in {share} of its rows."
    rival, there = bare(explanation, standing.against), percent(standing.there)
    if standing.direction == "similar":
        return f"Its {column} is {category} about as often as in {rival} ({share} against {there})."
    other = "less" if standing.above else "more"
    but = (
        ""
        if standing.other_side is None
        else f", {other} often than in {bare(explanation, standing.other_side)}"
    )
    told = f"{standing.direction} {category}"
    return f"Its {column} is {told} ({share}, against {there} in {rival}){but}."


def describe_row(explanation: Explanation, top: int) -> str:
    """Why this row is, or is not, in the cluster."""
    label, cluster = explanation.index[0], explanation.clusters[0]
    own, competitor = explanation.labels[0], explanation.competitors[0]
    name, rival = explanation.named(cluster), explanation.named(competitor)
    told = bare(explanation, cluster)
    found = f"evidence {number(float(explanation.evidence[0]))}"
    strength = f"{found}, 0 on the boundary"
    values = np.asarray(explanation.shown[:, :])[0]
    disagrees = bool(explanation.disagrees[0])
    assigned = explanation.named(explanation.assigned[0])
    is_own = _in(explanation.named(own))
    if explanation.question.about == "ignored":
        ignored = number(float(explanation.evidence[0]))
        sentence = f"Row {label} is {is_own}; what the clustering ignores of it is {ignored}"
        told = "what is ignored"
    elif explanation.provenance.of_clusters:
        sentence = f"{_capital(name)} as a whole, at the mean of its rows: {found} against {rival}"
    elif explanation.question.duel:
        nearer = cluster if explanation.evidence[0] > 0 else competitor
        nearer = explanation.short_name(nearer)
        sentence = f"Row {label}, which is {is_own}: {name} against {rival} ({found}, so {nearer} is nearer)"
    elif explanation.question.threshold is not None:
        exceeds = "exceeds" if explanation.evidence[0] > 0 else "does not exceed"
        threshold = f"{explanation.question.threshold:g}"
        sentence = f"Row {label} is {is_own}: its probability of {name} {exceeds} {threshold} ({strength})"
    elif own != cluster:
        sentence = f"Row {label} is {is_own}, not {_in(name)} ({strength})"
    elif not disagrees:
        sentence = f"Row {label} is {is_own} and not {_in(rival)} ({strength})"
    else:
        disagrees = False  # told here
        sentence = f"Row {label} is {is_own}, but the surrogate assigns it to {assigned} ({found} for {name})"
    sentences = [f"{sentence}."]
    if disagrees:
        sentences.append(f"The surrogate assigns it to {assigned}.")
    order = np.argsort(-values, kind="stable")
    speak_for = [position for position in order if values[position] > 0][:top]
    speak_against = [position for position in order[::-1] if values[position] < 0][:top]
    measures = explanation.provenance.measures
    words = (f"For {told}", f"Against {told}")
    if measures is not None:
        words = (f"Largest by {measures}", "Below zero")
    said = "relevance " if measures is None else ""
    for word, positions in zip(words, (speak_for, speak_against), strict=True):
        for place, position in enumerate(positions):
            lead = "Also " if place else f"{word}: "
            sentences.append(f"{lead}{_value(explanation, position, values[position], said)}.")
            said = ""  # what the number is, is said once
    base, least = float(explanation.base_values[0]), 1e-6 * max(1.0, float(np.abs(values).sum()))
    if not explanation.absent:
        hidden = float(np.asarray(explanation.values[:, :])[0].sum() - values.sum())
        if abs(hidden) > least:
            sentences.append(f"{hidden:+.3g} belongs to columns that are 0 here.")
    if abs(base) > least:
        sentences.append(f"{base:+.3g} belongs to no column.")
    if explanation.provenance.doubt is not None:
        sentences.append(explanation.provenance.doubt)
    return " ".join(sentences)


def _in(name: str) -> str:
    return name if name == "noise" else f"in {name}"


def _value(explanation: Explanation, position: int, relevance: float, said: str) -> str:
    name = explanation.feature_names[position]
    value = explanation.column(name)[0]
    shown = exact(float(value)) if np.issubdtype(type(value), np.number) else str(value)
    return f"{in_line(name)} = {in_line(shown)} ({said}{relevance:+.3g})"
