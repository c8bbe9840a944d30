"""Stage five: what was found, as the command line tells and writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from whyclust._versions import versions
from whyclust.columns import TablePlan
from whyclust.command import choosing_k
from whyclust.command.fitting import Fit
from whyclust.command.reading import RowNames, Rows, copy_notes, named_beside
from whyclust.tables import Reading
from whyclust.telling.lines import row_lines

if TYPE_CHECKING:
    from whyclust.auditing import Audit
    from whyclust.cluster import ChosenK
    from whyclust.cluster.elbow import Elbow
    from whyclust.explaining.explanation import Explanation
    from whyclust.network.network import Neuralized


@dataclass(frozen=True)
class Result:
    """Everything the job has found, nothing of it written yet.

    Attributes
    ----------
    explanation : Explanation
    network : Neuralized
        The network of the clustering, from the columns of the table to the evidence.
    clusters : pandas.DataFrame
        One line per row: id, cluster and its name, evidence, competitor (and what the
        surrogate of given labels says).
    choice : ChosenK, Elbow or None
        How k was chosen, if it was.
    notes : list of str
    headlines : list of str
        What a reader should know before anything else: how well the surrogate agrees with given
        labels, which k was chosen.
    computed : dict
        How it was computed: options, versions, sizes.
    audit : Audit or None
        Whether the explanations can be trusted, where that was asked.
    beside : pandas.DataFrame or None
        Text that names the rows and has no part in the clustering.
    """

    explanation: Explanation
    network: Neuralized
    clusters: pd.DataFrame
    choice: ChosenK | Elbow | None
    notes: list[str]
    headlines: list[str]
    computed: dict[str, Any]
    audit: Audit | None = None
    beside: pd.DataFrame | None = None


def gather(
    rows: Rows,
    plan: TablePlan,
    fit: Fit,
    explanation: Explanation,
    audit: Audit | None,
    warned: list[str],
) -> Result:
    """Put together what the stages handed over.

    Parameters
    ----------
    rows, plan, fit, explanation
        What the four stages before returned.
    audit : Audit or None
    warned : list of str
        Warnings on the way, which become notes.
    """
    notes = [*rows.notes, *copy_notes(rows, plan), *plan.notes]
    if rows.options.id_column is None and plan.identifiers:
        notes.append(identifier_note(plan.identifiers))
    notes += [*rows.names.notes, *warned]
    # New rows will be read as these were, and their clusters called the same.
    network = replace(
        fit.network,
        reading=Reading.of(plan, rows.spellings, rows.options.id_column),
        cluster_names=dict(explanation.cluster_names),
    )
    return Result(
        explanation,
        network,
        cluster_lines(explanation, rows.names),
        fit.choice,
        notes,
        fit.headlines,
        _computed(rows, plan, fit, explanation, audit, notes),
        audit,
        named_beside(rows, plan),
    )


def cluster_lines(
    explanation: Explanation, names: RowNames, called: Mapping[Any, str] | None = None
) -> pd.DataFrame:
    """One line per row that was explained: id, cluster, its name, evidence, competitor.

    With given labels also what the surrogate says. `called` has names of clusters, where the explanation is
    of a part of the rows and would propose others.
    """
    return row_lines(explanation, names.ids, names.called, called)


def _computed(
    rows: Rows, plan: TablePlan, fit: Fit, explanation: Explanation, audit: Audit | None, notes: list[str]
) -> dict[str, Any]:
    """How it was computed, for summary.json."""
    options, labelled = rows.options, fit.given is not None
    fidelity = fit.fidelity
    return {
        "method": "given labels" if labelled else options.method,
        "k": fit.k,
        "k_chosen_by": "labels" if labelled else choosing_k.TOLD[options.k_by] if fit.choice else "user",
        "seed": options.seed,
        "scale": options.scale,
        "n_rows": len(explanation),
        "columns": {"numeric": plan.numeric, "categorical": plan.categorical},
        "dropped": plan.dropped,
        "missing": plan.missing,
        "id_column": options.id_column,
        "labels": options.labels,
        "fidelity": None if fidelity is None else {**fidelity.to_json(), "noise": fidelity.noise},
        "disagreeing_rows": int(explanation.disagrees.sum()) if labelled else None,
        "beta": float(explanation.beta),
        "rule": explanation.rule,
        "notes": [*fit.headlines, *notes],
        "choice_of_k": fit.choice.to_json() if fit.choice else None,
        "audit": audit and {"trusted": audit.trusted, "verdict": audit.verdict},
        "versions": versions(),
    }


def identifier_note(names: list[str]) -> str:
    """Say that rows can be named by a column that was left out."""
    one = f"Column '{names[0]}'" if len(names) == 1 else f"A column such as '{names[0]}'"
    return (
        f"{one} can name the rows: --id-column '{names[0]}'. It is used as a feature only if it is "
        "named in --columns."
    )
