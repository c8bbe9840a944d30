"""audit(): from a clustering and its rows to a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import whole_number
from whyclust._progress import waiting
from whyclust.auditing.comparison import compare, read_methods
from whyclust.auditing.refits import refit
from whyclust.auditing.result import Audit
from whyclust.auditing.standing import stand
from whyclust.auditing.subject import Subject, rows_of, stratified, subject_of
from whyclust.auditing.verdict import judge
from whyclust.inputs.reading import InputTable, in_columns_of, read_input
from whyclust.labels.handed_in import handed_in
from whyclust.perturbing.subject import Prepared

FEWEST_ROWS = 20
# Rows from which imputed columns and means are taken; more say little more.
MOST_BACKGROUND = 10_000
# Numbers that Algorithm 1 fills in for one method, rows × draws × columns × columns added: half a minute.
MOST_NUMBERS = 1 << 29
# Stages, with the share of the time that they usually take.
STAGES = {"Fitting a surrogate": 60.0, "Scoring": 60.0, "Fitting": 60.0}
STAGES |= {"Looking for structure": 20.0, "Looking for structure: other numbers": 20.0}


def audit(
    model: Any,
    X: Any,
    *,
    methods: Sequence[str] | None = None,
    n_repeats: int = 10,
    n_refits: int = 10,
    max_rows: int = 500,
    background: Any = None,
    layer: str | None = None,
    obsm: str | None = None,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Measure whether the explanations of a clustering can be trusted, on the user's own rows.

    Three questions are asked: is there structure at all, do the clusters stand apart more than pieces of
    one lump (as in :func:`whyclust.cluster.choose_k`); do clusters and relevances come back when the
    clustering is fitted again (:func:`whyclust.metrics.stability`, on bootstrap samples and with other
    seeds); and is the explanation faithful, do the relevances order the columns better than other methods
    and than chance (Algorithm 1, :func:`whyclust.metrics.flipping_auc`) and, for labels, does the
    surrogate reproduce them. The worst of the three answers is the audit's.

    Parameters
    ----------
    model : fitted clustering, Pipeline that ends in one, Neuralized, or labels
        Whatever :func:`whyclust.explain` takes.
    X : table
        The rows that were clustered.
    methods : sequence of str, optional
        Other methods to compare NEON with. By default NEON by the paper's rule (``"neon_paper"``) and the
        baselines that are registered as usual (``"ig"``, ``"pda_zero"`` on the evidence, ``"squared"``,
        ``"sensitivity"``, ``"nca"``), those of them that apply; by name any other of
        ``whyclust.baselines.METHODS``. ``"neon"`` and ``"random"`` are always scored.
    n_repeats : int
        Draws of Algorithm 1 for each row and number of columns.
    n_refits : int
        How often the clustering is fitted again, on other rows and then with other seeds; 0 for never.
    max_rows : int
        At most this many rows are scored by Algorithm 1, drawn from every cluster in proportion to its
        size; of tables with hundreds of columns fewer. Refits take up to 10,000 rows, and clusters that
        stand apart are counted on up to 3,000.
    background : table, optional
        As in :func:`whyclust.explain`; also the rows from which imputed columns are drawn. By default X.
    layer, obsm : str, optional
        What is read of an AnnData, as in :func:`whyclust.explain`.
    random_state : int
        Seed of everything random: the same seed, the same audit.
    progress : callable, optional
        Called with a short text at every step; by default a bar is shown on a terminal, after two seconds.

    Returns
    -------
    Audit
        With ``trusted``, ``verdict``, ``answers``, ``methods`` and ``stability``.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=3, n_features=4, random_state=1)
    >>> found = wc.audit(KMeans(3, n_init=3, random_state=0).fit(X), X, n_refits=3)
    >>> found.trusted
    'yes'
    """
    # Before a surrogate is fitted, which takes long.
    check_options(methods, n_repeats, n_refits, max_rows, random_state)
    model, X, background = handed_in(model, X, background, layer=layer, obsm=obsm)
    if background is not None:
        background = in_columns_of(background, read_input(X))
    with waiting(STAGES, progress) as tell:
        return audit_subject(
            subject_of(model, X, background),
            methods=methods,
            n_repeats=n_repeats,
            n_refits=n_refits,
            max_rows=max_rows,
            background=background,
            random_state=random_state,
            progress=tell,
        )


def check_options(
    methods: Sequence[str] | None, n_repeats: int, n_refits: int, max_rows: int, random_state: int
) -> None:
    """Refuse options that cannot be meant."""
    read_methods(methods)
    whole_number("n_repeats", n_repeats, 1)
    whole_number("random_state", random_state, 0)
    whole_number("n_refits", n_refits, 0)
    if n_refits == 1:
        raise ValueError("n_refits=1, expected 0 for none, or at least 2 for a standard error.")
    whole_number("max_rows", max_rows, FEWEST_ROWS)


def audit_subject(
    subject: Subject,
    *,
    methods: Sequence[str] | None = None,
    n_repeats: int = 10,
    n_refits: int = 10,
    max_rows: int = 500,
    background: Any = None,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Audit what has been read already; the options are those of `audit`."""
    check_options(methods, n_repeats, n_refits, max_rows, random_state)
    tell = progress or (lambda message: None)
    clusters = subject.clusters
    _refuse_trivial(subject, clusters)
    generator = np.random.default_rng(random_state)
    n_wanted = min(max_rows, _affordable(subject, n_repeats), len(clusters))
    rows = stratified(clusters, n_wanted, generator)
    known = subject.table if background is None else subject.net.read(background, "background")
    known, kept = _background(known, generator)
    # Rows are left out of the density that fills them in, wherever they are in it.
    own = _positions(rows, kept) if background is None else None
    comparison = compare(
        subject,
        rows,
        Prepared.of(subject.net, rows_of(subject.table, rows), known, own),
        methods=methods,
        n_repeats=n_repeats,
        random_state=random_state,
        progress=tell,
    )
    refits = refit(subject, clusters, n_refits=n_refits, random_state=random_state, progress=tell)
    standing = stand(subject, clusters, random_state=random_state, progress=tell)
    found = judge(standing, refits, comparison, fidelity=subject.fidelity, as_given=subject.as_given)
    verdict = list(found.sentences)
    settings = {
        "n_rows": len(clusters),
        "n_scored": len(rows),
        "n_background": known.shape[0],
        "n_columns": int(subject.net.features.n_columns),
        "n_repeats": int(n_repeats),
        "n_refits": int(n_refits),
        "n_refitted": refits.n_rows or 0,
        "n_counted": standing.found.n_rows,
        "random_state": int(random_state),
    }
    if len(rows) < len(clusters):
        verdict.append(
            f"{len(rows):,} of {len(clusters):,} rows were scored, drawn from every cluster in proportion to "
            "its size; standard errors of areas are those of such a sample."
        )
    notes = [f"'{name}' was left out: {reason}" for name, reason in comparison.left_out.items()]
    return Audit(
        trusted=found.trusted,
        verdict=verdict,
        answers=found.answers,
        standing=standing,
        comparison=comparison,
        refits=refits,
        fidelity=subject.fidelity,
        clusters=np.unique(clusters),
        settings=settings,
        notes=[*notes, *refits.notes],
    )


def _refuse_trivial(subject: Subject, clusters: np.ndarray) -> None:
    if len(clusters) < 3:
        raise ValueError(f"X has {len(clusters)} row(s), expected the rows that were clustered, at least 3.")
    if len(np.unique(clusters)) < 2:
        raise ValueError(
            "All rows of X are in one cluster, so there is nothing to tell apart: expected rows of at "
            "least two clusters."
        )
    if subject.net.features.n_columns < 2:
        raise ValueError(
            "X has one column, which every explanation names first: expected at least two columns."
        )


def _affordable(subject: Subject, n_repeats: int) -> int:
    """How many rows Algorithm 1 can score: its cost grows with the square of the columns."""
    features = subject.net.features
    each = n_repeats * features.n_columns * features.inner.n_inputs
    if each * FEWEST_ROWS > MOST_NUMBERS:
        raise ValueError(
            f"X has {features.n_columns} columns, too many to be added one at a time to {FEWEST_ROWS} rows "
            f"or more with n_repeats={n_repeats}: reduce the columns first, or use fewer repeats."
        )
    return MOST_NUMBERS // each


def _background(table: InputTable, generator: np.random.Generator) -> tuple[InputTable, NDArray]:
    """A sample of a table, and the positions of its rows."""
    n_rows = table.shape[0]
    if n_rows <= MOST_BACKGROUND:
        return table, np.arange(n_rows)
    kept = np.sort(generator.choice(n_rows, MOST_BACKGROUND, replace=False))
    return rows_of(table, kept), kept


def _positions(rows: NDArray, kept: NDArray) -> NDArray:
    """Where rows are among those that were kept, −1 where they are not."""
    found = np.minimum(np.searchsorted(kept, rows), len(kept) - 1)
    return np.where(kept[found] == rows, found, -1)
