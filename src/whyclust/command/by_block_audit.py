"""The audit by block: of the rows that the report shows, and it says so."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from whyclust.blocks.explaining import Explainer
from whyclust.command.by_block_fitting import BlockFit
from whyclust.explaining.explanation import Explanation
from whyclust.inputs.reading import read_input

if TYPE_CHECKING:
    from whyclust.auditing import Audit


def audit_shown(
    shown: Explanation,
    explainer: Explainer,
    fit: BlockFit,
    *,
    n_rows: int,
    seed: int,
    progress: Callable[[str], None],
) -> tuple[Audit | None, list[str]]:
    """Audit the rows that were drawn, and those few that the report names.

    Parameters
    ----------
    shown : Explanation
        Of these rows.
    explainer : Explainer
        With the network of all rows.
    fit : BlockFit
        With what can be fitted again.
    n_rows : int
        Rows of the whole table.
    seed : int
    progress : callable

    Returns
    -------
    audit : Audit or None
        None where there is nothing to audit: a single column, or one cluster.
    notes : list of str
        Warnings on the way, beside the notes of the audit itself.
    """
    from whyclust.auditing.run import audit_subject
    from whyclust.auditing.subject import Subject, labels_alone

    given = shown.given
    subject = Subject(
        net=explainer.network,
        table=read_input(shown.data),
        model=fit.pipeline if given is None else None,
        fixed=None if given is None else labels_alone(None),
        given=given,
        as_given=given is not None,
        fidelity=explainer.fidelity,
        source=shown.provenance.labels,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = audit_subject(subject, random_state=seed, progress=progress)
        except ValueError as error:
            # All else is computed by now, and worth having.
            return None, [f"There is no audit: {error}"]
    notes = list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
    return _of_a_sample(found, len(shown), n_rows), notes


def _of_a_sample(audit: Audit, n_shown: int, n_rows: int) -> Audit:
    """The same audit, which says of how many rows it is."""
    settings = {**audit.settings, "n_table": n_rows}
    if n_shown == n_rows:
        return replace(audit, settings=settings)
    told = (
        f"This was audited on a sample, {n_shown:,} of all {n_rows:,} rows, drawn across the table: rows are "
        "counted, and clusters fitted again, in the sample only."
    )
    answer, *others = audit.verdict
    return replace(audit, verdict=[answer, told, *others], settings=settings)
