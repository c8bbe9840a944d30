"""The sections of the page, in order: each is a function of what the page is made from.

A new one is registered from anywhere::

    @section(order=350)
    def weather(page):
        return Markup("<section><h2>Weather</h2>…</section>")

What is not `Markup` is escaped; None leaves the section out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from whyclust._checks import same_origin
from whyclust._versions import versions
from whyclust.auditing.meaning import SORTING, only_sort
from whyclust.report.certificate import certificate
from whyclust.report.clusters import cluster_values, explained_parts
from whyclust.report.curve import curve_drawing
from whyclust.report.spaces import spaces
from whyclust.report.trust import no_structure, ticks, trust

if TYPE_CHECKING:
    from whyclust.auditing import Audit
    from whyclust.explaining.explanation import Explanation

# More paragraphs than this fill a screen; then the table of clusters comes first.
MOST_PARAGRAPHS = 6


@dataclass(frozen=True, eq=False)
class Page:
    """What sections are made from.

    Attributes
    ----------
    explanation : Explanation
    notes : list of str
    choice : ChosenK, Elbow, mapping or None
    facts : mapping
        Further lines of 'How this was computed'.
    audit : Audit or None
    fill : callable
        ``fill(template, **values)`` fills in one of the report's templates.
    rows : bool
        Whether single rows may be told.
    said : str
        What is said of rows and clusters that may not.
    """

    explanation: Explanation
    notes: list[str]
    choice: Any
    facts: Mapping[str, object]
    audit: Audit | None
    fill: Callable[..., Markup]
    rows: bool = True
    said: str = ""

    @cached_property
    def clusters(self) -> list[dict[str, Any]]:
        """The clusters as plain values."""
        return [cluster_values(self.explanation, one, rows=self.rows) for one in self.explanation.summary()]

    @cached_property
    def certificate(self) -> dict[str, Any] | None:
        """How far a surrogate can be relied on."""
        return certificate(self.explanation, rows=self.rows)

    @cached_property
    def headlines(self) -> list[dict[str, Any]]:
        """What to know before anything else, as the command line tells it first, and what is weak."""
        told = []
        if self.choice is not None:
            # An elbow is in every curve, and has no sentence of its own in a mapping.
            chosen = self.choice if isinstance(self.choice, Mapping) else self.choice.to_json()
            sentence = chosen.get("sentence") or (
                "" if isinstance(self.choice, Mapping) else self.choice.describe()
            )
            care = chosen.get("stands_out") is False
            told += [{"about": "k", "text": sentence, "care": care}] if sentence else []
        lump = None if told else no_structure(self.audit)
        if lump:
            told.append({"about": "audit", "text": f"The audit finds no structure: {lump}.", "care": True})
        if self.audit is not None and only_sort(self.audit.answers):
            told.append({"about": "use", "text": f"{SORTING[0].upper()}{SORTING[1:]}.", "care": True})
        if self.explanation.fidelity is not None:
            first, *weak = self.explanation.fidelity.sentences()
            told.append({"about": "labels", "text": first, "care": bool(weak)})
        if self.explanation.provenance.doubt is not None:
            told.append({"about": "spaces", "text": self.explanation.provenance.doubt, "care": True})
        return told

    @property
    def first_words(self) -> list[dict[str, Any]]:
        """Those of the headlines that no section begins with."""
        first = "labels" if self.audit is None else "audit"
        return [one for one in self.headlines if one["about"] != first]

    @cached_property
    def spaces(self) -> dict[str, Any] | None:
        """What clusters of ACe/DeC use, and what they ignore."""
        return spaces(self.explanation)

    @property
    def certificate_heading(self) -> str:
        """Two headings that ask the same would not tell which answer is which."""
        audited = self.audit is not None
        return "Does the surrogate reproduce the labels?" if audited else "Can this be relied on?"


Section = Callable[[Page], Any]
_SECTIONS: list[tuple[float, Section]] = []


def section(*, order: float) -> Callable[[Section], Section]:
    """Register a section; those of lower order come first."""

    def register(function: Section) -> Section:
        # The same one, defined again, takes the place of the earlier; nobody asks for a section by name.
        _SECTIONS[:] = [entry for entry in _SECTIONS if not same_origin(entry[1], function)]
        _SECTIONS.append((order, function))
        _SECTIONS.sort(key=lambda entry: entry[0])
        return function

    return register


def sections(page: Page) -> list[Any]:
    """All sections of a page that have something to say."""
    made = [function(page) for _, function in _SECTIONS]
    return [one for one in made if one is not None]


@section(order=100)
def _trust(page: Page) -> Markup | None:
    found = trust(page.explanation, page.audit)
    return None if found is None else page.fill("trust", trust=found, ticks=ticks(0.6, 0.75))


@section(order=200)
def _certificate(page: Page) -> Markup | None:
    if page.certificate is None:
        return None
    return page.fill("certificate", certificate=page.certificate, heading=page.certificate_heading)


@section(order=300)
def _in_short(page: Page) -> Markup:
    from whyclust.telling.doubtful import doubtful
    from whyclust.telling.sentences import cluster_paragraphs

    explanation = page.explanation
    alone = len(explanation) == 1
    found = None if alone or not page.rows else doubtful(explanation)
    return page.fill(
        "short",
        sentences=[explanation.describe()] if alone else cluster_paragraphs(explanation, rows=page.rows),
        doubtful=None if found is None else found.describe(),
        clusters=page.clusters,
        table_first=len(page.clusters) > MOST_PARAGRAPHS,
    )


@section(order=400)
def _clusters(page: Page) -> Markup:
    return page.fill("clusters", clusters=page.clusters, legend=page.explanation.kind.legend)


@section(order=450)
def _spaces(page: Page) -> Markup | None:
    return None if page.spaces is None else page.fill("spaces", spaces=page.spaces)


@section(order=500)
def _curve(page: Page) -> Markup | None:
    if page.choice is None:
        return None
    choice = page.choice if isinstance(page.choice, Mapping) else page.choice.to_json()
    return page.fill("curve", curve=curve_drawing(choice)) if len(choice["n_clusters"]) > 1 else None


@section(order=600)
def _notes(page: Page) -> Markup | None:
    return page.fill("notes", notes=page.notes) if page.notes else None


@section(order=700)
def _how(page: Page) -> Markup:
    return page.fill(
        "how",
        certificate=page.certificate,
        heading=page.certificate_heading,
        ignored=page.explanation.question.about == "ignored",
        measures=page.explanation.provenance.measures,
        parts=explained_parts(page.explanation),
        facts={**_facts(page.explanation), **page.facts},
        versions=versions(),
    )


def _facts(explanation: Explanation) -> dict[str, object]:
    made = explanation.provenance
    ignored = explanation.question.about == "ignored"  # a question without competitors
    facts = {
        "method": made.method,
        "model": made.model,
        "labels from": made.labels,
        "scores of the clusters from": made.head,
        "competitors pooled by": None if ignored else made.pool,
        "number of clusters": made.n_clusters,
        "question answered": str(explanation.question),
        "threshold": explanation.question.threshold,
        "from the encoder's layers to the columns by": made.propagation,
        **explanation.kind.facts(),
        "rows": len(explanation.clusters),
        "columns": len(explanation.feature_names),
        "β (sharpness of the pooling over competitors)": None if ignored else explanation.beta,
        "rule that shares relevance among competitors": None if ignored else explanation.rule,
    }
    return {name: value for name, value in facts.items() if value is not None}
