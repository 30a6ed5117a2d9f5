"""``magnet clean``: a user's table in, a cleaned table and a report out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magnet.cli.errors import clear_errors, fail

if TYPE_CHECKING:
    from magnet.tables import Table


SMALL = 500_000  # cells


def clean(
    nodes: Annotated[
        Path,
        typer.Argument(
            help="Table with a row per node (csv, tsv, parquet), a graph (graphml, npz, pt), or a folder of those."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write; new or empty, unless --force.")
    ] = None,
    edges: Annotated[
        Path | None, typer.Option("--edges", "-e", help="Two columns of node ids, and a weight if there is one.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="Column with the ids; found if not named.")] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Column to leave alone, such as what is to be predicted.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Column of the edges where they start.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the edges where they end.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the edges with their weight.")] = None,
    fix: Annotated[
        str, typer.Option(help="Change nothing (none), what is judged wrong (confident), all that is listed (all).")
    ] = "confident",
    detector: Annotated[str, typer.Option(help="How wrong cells are found; see magnet.detection.")] = "auto",
    recovery: Annotated[
        str, typer.Option(help="Where suggestions come from: auto, regression, propagate or framelet.")
    ] = "auto",
    threshold: Annotated[
        float | None, typer.Option(help="Flag what is wrong with more than this probability; 1/2 if not given.")
    ] = None,
    fdr: Annotated[float | None, typer.Option(help="Share of false alarms to allow, instead of a threshold.")] = None,
    trusted: Annotated[
        Path | None, typer.Option(help="Table of cells known to be right: columns node and column (or node only).")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="TOML file that says what columns hold.")] = None,
    columns: Annotated[str | None, typer.Option(help="Clean these columns only (comma-separated).")] = None,
    exclude: Annotated[str | None, typer.Option(help="Leave these columns alone (comma-separated).")] = None,
    max_share: Annotated[float, typer.Option(help="Correct at most this share of the cells.")] = 0.5,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text files; found if not named.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
    allow_unknown_ids: Annotated[
        bool, typer.Option("--allow-unknown-ids", help="Go on where most edges name nodes that are not in the table.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files of an earlier run.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what was read, and stop.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the schema and the worst cells.")] = False,
) -> None:
    """Find and repair wrong cells in a table whose rows are linked."""
    if output is None and not dry_run:
        fail("name the folder to write with -o (or look only, with --dry-run)", 2)
    reading = {
        "id": id,
        "label": label,
        "source": source,
        "target": target,
        "weight": weight,
        "columns": _names(columns),
        "exclude": _names(exclude),
        "encoding": encoding,
        "allow_unknown_ids": allow_unknown_ids,
    }
    settings = {
        "fix": fix,
        "detector": detector,
        "recovery": recovery,
        "fdr": fdr,
        "threshold": "posterior" if threshold is None else threshold,
        "max_share": max_share,
        "seed": seed,
    }
    with clear_errors(verbose):
        _run(nodes, edges, output, reading, settings, trusted, schema, device, threads, force, dry_run, verbose)


def _run(
    nodes: Path,
    edges: Path | None,
    output: Path | None,
    reading: dict[str, Any],
    settings: dict[str, Any],
    trusted: Path | None,
    schema: Path | None,
    device: str | None,
    threads: int | None,
    force: bool,
    dry_run: bool,
    verbose: bool,
) -> None:
    import time

    from rich.console import Console

    from magnet.tables.write import check_target

    began = time.perf_counter()
    if output is not None and not dry_run:
        check_target(output, force)
    with _stages() as stage:
        stage("reading")
        from magnet import tables
        from magnet.cleaner import CleanResult, MAGnet
        from magnet.files import refuse_overwriting, sha256_of
        from magnet.report import write_folder
        from magnet.report.folder import targets
        from magnet.tables.readers.read import find_files
        from magnet.tables.readers.trusted import read_trusted

        model = MAGnet(**settings, device=device)
        model.check_parameters()
        override = tables.read_override(schema) if schema is not None else None
        node_path, edge_path = find_files(nodes, edges)
        table = tables.read(node_path, edge_path, **reading, override=override)
        assert table.source is not None
        if output is not None and not dry_run:
            refuse_overwriting((node_path, edge_path, trusted, schema), targets(output, table.source.suffix))
        known = read_trusted(trusted, table) if trusted is not None else None
        if dry_run:
            stage(None)
            show_table(table, Console())
            return
        import torch

        # for a small table a second thread costs more than it brings, above all on a busy machine
        small = table.num_nodes * len(table.used) < SMALL
        torch.set_num_threads(threads or (1 if small else torch.get_num_threads()))
        stage("finding wrong cells")
        model.fit(table, trusted=known)
        result = CleanResult(table, model)
        stage("writing")
        paths = {"nodes": node_path, "edges": edge_path, "trusted": trusted, "schema": schema}
        sums = {
            name: {"path": str(path), "sha256": sha256_of(path)} for name, path in paths.items() if path is not None
        }
        run = {
            "title": node_path.name,
            "command": shlex.join(["magnet", *sys.argv[1:]]),
            "nodes": str(node_path),
            "sha256": sums["nodes"]["sha256"],
            "encoding": getattr(table.source, "encoding", None),
            "settings": settings | {name: value for name, value in reading.items() if value is not None},
            "inputs": sums,
            "seconds": round(time.perf_counter() - began, 2),
        }
        assert output is not None
        written = write_folder(result, output, run, force)
        stage(None)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if verbose:
        show_table(table, console)
        for line in result.suspicious_cells.head(20).itertuples(index=False):
            console.print(
                f"{line.node}, {line.column}: {line.observed} -> {line.suggested} ({line.action}): {line.reason}"
            )
    counts = result.counts
    console.print(
        f"{counts['corrected']} cells corrected, {counts['filled']} filled, {counts['kept']} listed and kept, "
        f"of {table.num_nodes * len(table.used)} in {table.num_nodes} rows"
    )
    if table.links.kind == "none":
        console.print("No edges were given: cells were compared with their column and the rest of their row.")
    if model.gate_ is not None and not model.gate_.open:
        console.print(f"No row as a whole was judged: {model.gate_.reason}")
    for path in written:
        console.print(str(path))


def show_table(table: Table, console: Any) -> None:
    """Schema and graph statistics."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in ("column", "kind", "cleaned", "why"):
        grid.add_column(title)
    for f in table.fields:
        grid.add_row(Text(f.name), f.kind, "yes" if f.used else "left alone", Text(f.note))
    console.print(grid)
    for name, value in {**table.facts, **table.links.facts}.items():
        console.print(f"{name}: {value}", markup=False)
    if table.links.kind == "none":
        console.print("no edges given")


@contextmanager
def _stages() -> Iterator[Callable[[str | None], None]]:
    """A line on the error stream that says what is being done, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting", total=3)
        done = -1

        def stage(name: str | None) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=name or "done")

        yield stage


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
