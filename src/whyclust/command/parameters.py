"""What the commands take: arguments and options, with what the help says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyclust.command import clusterers

FileArgument = Annotated[
    list[Path],
    typer.Argument(
        help="A table: CSV, .xlsx, Parquet, Feather/Arrow, .jsonl, .h5ad, .npy or .npz, also with .gz; "
        "several files or a folder of the same columns; or '-' for standard input.",
        metavar="FILE...",
    ),
]
KOption = Annotated[str | None, typer.Option("-k", help="Number of clusters, or 'auto': see --k-by.")]
KByOption = Annotated[
    str | None,
    typer.Option(
        help="How '-k auto' chooses: 'apart' (the default), the most clusters that stand apart, or 'elbow', "
        "that of the inertia.",
        metavar="NAME",
    ),
]
OutOption = Annotated[Path, typer.Option(help="Folder for the results.")]
MethodOption = Annotated[
    str | None,
    typer.Option(
        help=f"How rows are clustered: {', '.join(clusterers.names())}; the first by default.",
        metavar="NAME",
    ),
]
ColumnsOption = Annotated[
    list[str] | None, typer.Option(help="Use only these columns: a,b (may be given more than once).")
]
DropOption = Annotated[
    list[str] | None, typer.Option(help="Leave these columns out: a,b (may be given more than once).")
]
IdColumnOption = Annotated[str | None, typer.Option(help="The column that names the rows; not a feature.")]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        help="The column that holds the clusters, -1 for noise; not a feature. A surrogate is fitted to "
        "the labels, and the report tells how well it reproduces them."
    ),
]
NamesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="What to call clusters, beside their ids: 0=students,2=seniors (may be given more than once)."
    ),
]
ScaleOption = Annotated[
    str,
    typer.Option(
        help="How numbers are scaled: 'auto' (the default: 'standard', but 'robust' for columns with numbers "
        "far outside), 'standard', 'robust', 'rank' or 'none'.",
        metavar="NAME",
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        help="Assign and explain the rows by this model.npz of an earlier run, and fit nothing.",
        metavar="FILE",
    ),
]
WithDataOption = Annotated[
    bool,
    typer.Option("--with-data", help="Keep the rows in relevance.parquet, however many there are."),
]
NoRowsOption = Annotated[
    bool,
    typer.Option("--no-rows", help="Keep single rows out of report.html: sums and means of clusters only."),
]
SafeCsvOption = Annotated[
    bool,
    typer.Option(
        "--safe-csv", help="Put an apostrophe before text in CSV files that spreadsheets take for formulas."
    ),
]
NoRelevanceOption = Annotated[bool, typer.Option("--no-relevance", help="Do not write relevance.parquet.")]
SeedOption = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all randomness.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
AuditOption = Annotated[
    bool, typer.Option("--audit", help="Also measure whether the explanations can be trusted.")
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        help="Compute block by block, for tables larger than memory: in this 'process', in several "
        "'processes', or on the workers of 'dask'.",
        metavar="NAME",
    ),
]
WorkersOption = Annotated[int | None, typer.Option(help="How many processes, or workers of dask.", min=1)]
SchedulerOption = Annotated[
    str | None, typer.Option(help="The address of a dask scheduler: tcp://host:8786.", metavar="ADDRESS")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with a job by block that was not finished.")
]
