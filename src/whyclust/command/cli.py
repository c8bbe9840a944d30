"""The command line: `whyclust explain FILE`, `whyclust audit FILE` and `whyclust demo`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from whyclust import __version__
from whyclust.command import choosing_k, clusterers
from whyclust.command.examples import help_of
from whyclust.command.options import refuse_beside_model
from whyclust.command.parameters import (
    AuditOption,
    ColumnsOption,
    DropOption,
    EngineOption,
    FileArgument,
    IdColumnOption,
    KByOption,
    KOption,
    LabelsOption,
    MethodOption,
    ModelOption,
    NamesOption,
    NoRelevanceOption,
    NoRowsOption,
    OutOption,
    QuietOption,
    ResumeOption,
    SafeCsvOption,
    ScaleOption,
    SchedulerOption,
    SeedOption,
    WithDataOption,
    WorkersOption,
)
from whyclust.command.telling import one_line, tell, tell_verdict

# Bad input, also a wrong option: the exit code that command lines use for it.
BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="whyclust",
    help="Why is this point in this cluster, and not in another?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"whyclust {__version__}")
        raise typer.Exit


def _number_of_clusters(text: str) -> int | None:
    """Read the value of -k: None stands for 'auto'."""
    if text.strip().lower() == "auto":
        return None
    try:
        k = int(text)
    except ValueError:
        raise ValueError(
            f"found -k {text}, expected a whole number of clusters (2 or more) or 'auto'."
        ) from None
    if k < 2:
        raise ValueError(f"found -k {k}, expected at least 2 clusters, or 'auto'.")
    return k


def _cluster_names(texts: list[str]) -> dict[str, str]:
    """Read the values of --names.

    >>> _cluster_names(["0=young, in town,2=old"])
    {'0': 'young, in town', '2': 'old'}
    """
    found: dict[str, str] = {}
    for text in texts:
        # A name may hold commas: the next one begins where there is a cluster and an equals sign.
        for part in re.split(r",(?=[^,=]*=)", text):
            cluster, equals, name = (word.strip() for word in part.partition("="))
            if not (cluster and equals and name):
                raise ValueError(f"found --names {text}, expected clusters and names, such as 0=students.")
            if cluster in found:
                raise ValueError(f"found two names for cluster {cluster} in --names, expected one.")
            found[cluster] = name
    return found


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop."),
    ] = False,
) -> None:
    """Explain the clusters of a table: why is this row in this cluster, and not in another."""


@app.command(epilog=help_of("explain"))
def explain(
    files: FileArgument,
    k: KOption = None,
    out: OutOption = Path("result"),
    method: MethodOption = None,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    id_column: IdColumnOption = None,
    labels: LabelsOption = None,
    names: NamesOption = None,
    seed: SeedOption = 0,
    k_by: KByOption = None,
    scale: ScaleOption = "auto",
    with_data: WithDataOption = False,
    no_relevance: NoRelevanceOption = False,
    no_rows: NoRowsOption = False,
    safe_csv: SafeCsvOption = False,
    audit: AuditOption = False,
    model: ModelOption = None,
    engine: EngineOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
) -> None:
    """Cluster the rows of a table and explain every assignment by its columns."""
    if model is not None:
        refuse_beside_model(k, method, columns, drop, labels, k_by, audit, seed, scale != "auto")
    if labels is not None and (k is not None or method is not None):
        option = "-k" if k is not None else "--method"
        raise ValueError(
            f"--labels takes the clusters from a column, so {option} has nothing to do: give one of the two."
        )
    n_clusters = _number_of_clusters(k or "auto")
    if k_by is not None and (labels is not None or n_clusters is not None):
        raise ValueError(
            "--k-by tells how '-k auto' chooses, so it has nothing to do beside "
            f"{'--labels' if labels is not None else f'-k {k}'}: give one of the two."
        )
    choosing_k.check(k_by or choosing_k.names()[0])
    clusterers.check(method or clusterers.names()[0])
    called = _cluster_names(names or [])
    if with_data and no_relevance:
        raise ValueError("--with-data adds the rows to relevance.parquet, which --no-relevance leaves out.")
    from whyclust.columns.scaling import check_scale
    from whyclust.command.asking_blocks import how_by_block
    from whyclust.tables import read_table

    check_scale(scale)
    read_from = [str(file) for file in files]
    named = "standard input" if read_from == ["-"] else files[0].name
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    kept = "nothing" if no_relevance else "all" if with_data else "usual"
    by_block = how_by_block(files, engine, workers=workers, scheduler=scheduler, resume=resume)
    if by_block is not None:
        if safe_csv:
            raise ValueError("--safe-csv is for tables in memory, found one by block: leave it out.")
        from whyclust.command.options import Options
        from whyclust.command.running_blocks import run_by_block

        run_by_block(
            files,
            out,
            by_block,
            Options(
                n_clusters,
                method or clusterers.names()[0],
                tuple(columns or ()),
                tuple(drop or ()),
                id_column,
                labels,
                seed,
                k_by or choosing_k.names()[0],
                scale,
            ),
            model=model,
            names=called,
            keep=kept,
            rows=not no_rows,
            audit=audit,
            title=f"Why these clusters? {named}{more}",
            quiet=quiet,
        )
        return
    if model is not None:
        from whyclust.command.new_rows import load_model, named_by

        network = load_model(model)
        ids = [name for name in (id_column or named_by(network),) if name]
        _run(
            lambda: read_table(read_from, as_written=ids, reading=network.reading),
            out=out,
            quiet=quiet,
            title=f"Why these clusters? {named}{more}",
            keep=kept,
            rows=not no_rows,
            safe_csv=safe_csv,
            network=network,
            called=str(model),
            id_column=id_column,
            names=called,
        )
        return
    _run(
        lambda: read_table(read_from, as_written=[name for name in (id_column, labels) if name]),
        out=out,
        quiet=quiet,
        title=f"Why these clusters? {named}{more}",
        keep=kept,
        rows=not no_rows,
        safe_csv=safe_csv,
        k=n_clusters,
        method=method or clusterers.names()[0],
        columns=columns or [],
        drop=drop or [],
        id_column=id_column,
        labels=labels,
        names=called,
        seed=seed,
        k_by=k_by or choosing_k.names()[0],
        scale=scale,
        audit=audit,
    )


@app.command("audit", epilog=help_of("audit"))
def audit_(
    files: FileArgument,
    k: KOption = None,
    out: OutOption = Path("result"),
    method: MethodOption = None,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    id_column: IdColumnOption = None,
    labels: LabelsOption = None,
    names: NamesOption = None,
    seed: SeedOption = 0,
    k_by: KByOption = None,
    scale: ScaleOption = "auto",
    with_data: WithDataOption = False,
    no_relevance: NoRelevanceOption = False,
    no_rows: NoRowsOption = False,
    safe_csv: SafeCsvOption = False,
    quiet: QuietOption = False,
) -> None:
    """Explain a table, and measure whether the explanations can be trusted."""
    options = (method, columns, drop, id_column, labels, names, seed, k_by, scale, with_data)
    explain(files, k, out, *options, no_relevance, no_rows, safe_csv, audit=True, quiet=quiet)


@app.command(epilog=help_of("demo"))
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo-result"),
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors only.")] = False,
) -> None:
    """Cluster and explain the wine data that come with scikit-learn."""
    from sklearn.datasets import load_wine

    from whyclust.tables import Table

    _run(
        lambda: Table(load_wine(as_frame=True).data),
        out=out,
        quiet=quiet,
        title="Why these clusters? 178 Italian wines",
    )


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(help="What explain wrote: the folder of --out.")] = Path("result"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8321,
    show: Annotated[bool, typer.Option("--open", help="Also open it in the browser.")] = False,
) -> None:
    """Show a report in the browser from this machine, to this machine only."""
    from whyclust.command import serving

    serving.serve(folder, port, show=show, told=lambda address: typer.echo(f"{address} (Ctrl-C ends it)"))


def _run(
    read: Callable[[], Any],
    *,
    out: Path,
    quiet: bool,
    title: str,
    keep: str = "usual",
    rows: bool = True,
    safe_csv: bool = False,
    audit: bool = False,
    **options: Any,
) -> None:
    from whyclust.command.new_rows import explain_new_rows
    from whyclust.command.progress import shown
    from whyclust.command.result_files import check_folder, write_result
    from whyclust.command.run import explain_table

    # Better now than after the work.
    check_folder(out, audit=audit)
    left_out = [] if audit else ["Looking for structure", "Fitting", "Scoring"]
    if options.get("labels") is None:
        left_out.append("Fitting a surrogate")
    if options.get("labels") is not None or options.get("k") is not None:
        left_out.append("Choosing k")
    if "network" in options:
        left_out += ["Choosing k", "Preparing", "Clustering"]
    with shown(quiet, left_out) as progress:
        progress("Reading the table")
        table = read()
        if "network" in options:
            result = explain_new_rows(table, progress=progress, **options)
        else:
            result = explain_table(table, audit=audit, progress=progress, **options)
        progress("Writing the report")
        report = write_result(result, out, title=title, keep=keep, rows=rows, safe_csv=safe_csv)
    if quiet:
        return
    tell(result.notes, [*result.headlines, *result.explanation.describe().splitlines()])
    if result.audit is not None:
        for note in result.audit.notes:
            typer.echo(f"Note: {one_line(note)}", err=True)
        tell_verdict(result.audit.verdict)
    typer.echo(f"\nReport: {report}")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends in one sentence and exit code 2.

    Parameters
    ----------
    arguments : list of str, optional
        The words after `whyclust`; those of the process by default.
    """
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    try:
        code = app(args=arguments, standalone_mode=False)
    except (ValueError, ImportError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(_told(error))
    except MemoryError:
        return _refuse("the table does not fit into memory: use fewer rows or --columns.")
    except typer.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        # Wrong options are told by the parser, whose exceptions know how to say so.
        say = getattr(error, "format_message", None)
        if say is None:
            raise
        message = _with_command(say().replace("Value error, ", ""))
        # Called without any command, the parser's message is its help page.
        return _refuse(message if message.endswith((".", "?")) else f"{message}.") if message else BAD_INPUT
    return code if isinstance(code, int) else 0


def _with_command(message: str) -> str:
    """What the parser says, with the command that was left out before a file.

    >>> _with_command("No such command 'table.csv'.")
    "No such command 'table.csv': did you mean 'whyclust explain table.csv'?"
    """
    found = re.fullmatch(r"No such command '(.*)'\.?", message.strip())
    if found is None or not (Path(found[1]).suffix or Path(found[1]).exists()):
        return message
    return f"No such command '{found[1]}': did you mean 'whyclust explain {found[1]}'?"


def _told(error: OSError) -> str:
    """Say what the system refused, without its number."""
    if error.strerror is None:
        return str(error)
    place = f" '{error.filename}'" if error.filename is not None else ""
    return f"cannot read or write{place}: {error.strerror}."


def _refuse(message: str) -> int:
    typer.echo(f"whyclust: {one_line(message)}", err=True)
    return BAD_INPUT


if __name__ == "__main__":
    main()
