"""Explanations in plain English."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyclust._checks import counted
from whyclust.explaining.explanation import Explanation
from whyclust.telling.summary import ClusterSummary

# A column with less of the relevance is no reason worth naming.
NAMED_FROM = 0.005


def number(value: Any) -> str:
    """Four significant digits, no needless zeros.

    >>> number(1115.7111), number(0.25), number(-0.0), number("80% red")
    ('1116', '0.25', '0', '80% red')
    """
    if isinstance(value, str):
        return value
    if not np.isfinite(value):
        return "unknown"
    value = value + 0.0  # which makes 0 of -0
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def percent(share: float) -> str:
    """A share in words a person says.

    >>> percent(0.4137), percent(0.002)
    ('41%', 'under 1%')
    """
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def _count(value: int) -> str:
    return f"{value:,}" if value >= 10_000 else str(value)


def join(parts: list[str]) -> str:
    """Join a list as in a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def describe_clusters(explanation: Explanation, top: int) -> str:
    """One paragraph per cluster, then what the surrogate of given labels sees otherwise."""
    return "\n".join([*cluster_paragraphs(explanation, top), *disagreement(explanation)])


def cluster_paragraphs(explanation: Explanation, top: int = 3) -> list[str]:
    """One paragraph per cluster."""
    summary = explanation.summary(members=1)
    return [describe_cluster(explanation, one, top) for one in summary]


def disagreement(explanation: Explanation) -> list[str]:
    """Say how many rows the surrogate assigns elsewhere than to the label given, if any."""
    count = int(explanation.disagrees.sum())
    if count == 0 or explanation.given is None:
        return []
    rows = f"{_count(count)} of {_count(len(explanation))} rows"
    sentence = f"The surrogate assigns {rows} elsewhere than to the label given"
    if (explanation.clusters == explanation.given).all():
        sentence += "; they are explained for the label given"
    return [f"{sentence}."]


def describe_cluster(explanation: Explanation, one: ClusterSummary, top: int) -> str:
    """What sets a cluster apart, and who is in it."""
    speaks = (one.features["relevance"] > 0) & (one.features["fraction"] >= NAMED_FROM)
    strong = one.features[speaks].head(top)
    rows = f"{_count(one.size)} of {_count(len(explanation))} rows ({percent(one.share)})"
    name = explanation.named(one.cluster)
    name = name[0].upper() + name[1:]
    sentence = f"{name} holds {rows}"
    if explanation.question.about == "chosen" and explanation.question.threshold is None:
        rival = explanation.named(explanation.competitors[0])
        against = f" against {rival}" if explanation.question.duel else ""
        sentence = f"{name} was explained{against} for {counted(one.size, 'row')}"
    if explanation.question.about == "ignored":
        parts = [_feature(row) for row in strong.to_dict("records")]
        told = f" lies mainly in {join(parts)}" if parts else " belongs to no column"
        return f"What the clustering ignores in {explanation.named(one.cluster)}, {rows},{told}."
    doubt = _doubt(explanation, one.cluster)
    measures = explanation.provenance.measures
    if len(strong) == 0:
        told = "no feature speaks for it" if measures is None else f"none is above zero by {measures}"
        return f"{sentence}; {told}.{doubt}"
    of_all = "of the relevance" if measures is None else "of the total"
    parts = [_feature(row, of_all) for row in strong.to_dict("records")]
    told = " and is set apart by" if measures is None else f". Largest by {measures}:"
    sentence += f"{told} {join(parts)}."
    if one.borderline:
        typical, edge = one.typical[0], one.borderline[0]
        if one.size == 1:
            return f"{sentence} Its only row is {explanation.index[edge]}.{doubt}"
        sentence += (
            f" Row {explanation.index[typical]} is typical of it; row {explanation.index[edge]} is closest "
            f"to leaving it, for {explanation.named(explanation.competitors[edge])}."
        )
    return sentence + doubt


def _doubt(explanation: Explanation, cluster: Any) -> str:
    """What a reader must know of a cluster that the surrogate does not reproduce."""
    doubt = None if explanation.fidelity is None else explanation.fidelity.doubt(cluster)
    return "" if doubt is None else f" {doubt}"


def _feature(row: dict[Any, Any], of_all: str = "of the relevance") -> str:
    share = f"{percent(row['fraction'])} {of_all}"
    if row["direction"] == "missing":
        return f"{row['feature']} missing in all its rows ({share})"
    if row["direction"] in ("high", "low", "middling", "unusual"):
        values = f"{number(row['inside'])} on average, {number(row['outside'])} elsewhere"
        return f"{row['direction']} {row['feature']} ({values}; {share})"
    values = f"{number(row['inside'])}, {number(row['outside'])} elsewhere"
    return f"{row['feature']} {row['direction']} ({values}; {share})"


def describe_row(explanation: Explanation, top: int) -> str:
    """Why this row is, or is not, in the cluster."""
    label, cluster = explanation.index[0], explanation.clusters[0]
    own, competitor = explanation.labels[0], explanation.competitors[0]
    name, rival = explanation.named(cluster), explanation.named(competitor)
    strength = f"evidence {number(float(explanation.evidence[0]))}"
    values = np.asarray(explanation.values)[0]
    disagrees = bool(explanation.disagrees[0])
    assigned = explanation.named(explanation.assigned[0])
    is_own = _in(explanation.named(own))
    if explanation.question.about == "ignored":
        ignored = number(float(explanation.evidence[0]))
        sentence = f"Row {label} is {is_own}; what the clustering ignores of it is {ignored}"
        name = "what is ignored"
    elif explanation.question.duel:
        nearer = cluster if explanation.evidence[0] > 0 else competitor
        nearer = explanation.short_name(nearer)
        sentence = (
            f"Row {label}, which is {is_own}: {name} against {rival} ({strength}, so {nearer} is nearer)"
        )
    elif explanation.question.threshold is not None:
        exceeds = "exceeds" if explanation.evidence[0] > 0 else "does not exceed"
        threshold = number(explanation.question.threshold)
        sentence = f"Row {label} is {is_own}: its probability of {name} {exceeds} {threshold} ({strength})"
    elif own != cluster:
        sentence = f"Row {label} is {is_own}, not {_in(name)} ({strength})"
    elif not disagrees:
        sentence = f"Row {label} is {is_own} and not {_in(rival)} ({strength})"
    else:
        disagrees = False  # told here
        sentence = (
            f"Row {label} is {is_own}, but the surrogate assigns it to {assigned} ({strength} for {name})"
        )
    sentences = [f"{sentence}."]
    if disagrees:
        sentences.append(f"The surrogate assigns it to {assigned}.")
    order = np.argsort(-values, kind="stable")
    speak_for = [position for position in order if values[position] > 0][:top]
    speak_against = [position for position in order[::-1] if values[position] < 0][:top]
    measures = explanation.provenance.measures
    words = (f"For {name}", f"Against {name}")
    if measures is not None:
        words = (f"Largest by {measures}", "Below zero")
    for word, positions in zip(words, (speak_for, speak_against), strict=True):
        if positions:
            listed = join([_value(explanation, position, values[position]) for position in positions])
            sentences.append(f"{word}: {listed}.")
    base = float(explanation.base_values[0])
    if abs(base) > 1e-6 * max(1.0, float(np.abs(values).sum())):
        sentences.append(f"{base:+.3g} belongs to no feature.")
    return " ".join(sentences)


def _in(name: str) -> str:
    return name if name == "noise" else f"in {name}"


def _value(explanation: Explanation, position: int, relevance: float) -> str:
    name = explanation.feature_names[position]
    value = explanation.column(name)[0]
    shown = number(float(value)) if np.issubdtype(type(value), np.number) else str(value)
    return f"{name} = {shown} ({relevance:+.3g})"
