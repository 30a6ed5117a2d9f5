"""``magnet clean``: a user's table in, a cleaned table and a report out."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magnet.cli.options import SHOWN_CELLS, Output, TableOptions, command

if TYPE_CHECKING:
    from magnet.clean_result import CleanResult
    from magnet.tables import Table

FIRST_CELLS = 5  # suspicious cells that are printed without --verbose
CONTENTS = (
    "your table with corrections",
    "suspicious cells with reasons",
    "report for the browser",
    "settings and checksums",
)


@command
def clean(
    out: Output,
    nodes: Annotated[
        Path,
        typer.Argument(
            help="Table with one row per record (csv, tsv, parquet; FILE::TABLE of SQLite or DuckDB), a graph "
            "(graphml, npz, pt), or a folder of those."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output folder; must be new or empty unless --force is given.",
            show_default="NAME-cleaned",
        ),
    ] = None,
    *,
    options: TableOptions,
    fix: Annotated[
        str, typer.Option(help="Cells to change: none, confident (nearly certain suggestions), or all listed cells.")
    ] = "confident",
    fill: Annotated[bool, typer.Option("--fill", help="Fill blanks with suggested values.")] = False,
    detector: Annotated[
        str, typer.Option(help="auto, or a graph detector (context, cell, gae, ...) that judges the table as a graph.")
    ] = "auto",
    recovery: Annotated[
        str, typer.Option(help="Source of suggestions with a graph detector: regression, propagate, framelet.")
    ] = "auto",
    threshold: Annotated[
        float | None,
        typer.Option(help="Minimum probability of being wrong for a cell to be listed.", show_default="1/2"),
    ] = None,
    fdr: Annotated[float | None, typer.Option(help="Target false discovery rate, instead of a threshold.")] = None,
    trusted: Annotated[
        Path | None, typer.Option(help="Table of cells known to be correct: columns node and column (or node only).")
    ] = None,
    decisions: Annotated[
        Path | None, typer.Option(help="Decisions of an earlier review of this table, to learn from.")
    ] = None,
    max_share: Annotated[float, typer.Option(help="Maximum share of cells to correct.")] = 0.5,
    device: Annotated[str | None, typer.Option(help="cpu or cuda, for graph detectors.")] = None,
    ray: Annotated[
        str | None, typer.Option(help="Judge columns on a Ray cluster: its address, or auto for one on this machine.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output of an earlier run.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show how the columns are understood, and stop.")] = False,
) -> None:
    """Find and repair wrong cells of a table, with or without links between rows."""
    from magnet.tables.readers.database import file_of
    from magnet.tables.write import check_target

    settings: dict[str, Any] = {
        "fix": fix,
        "fill": fill,
        "detector": detector,
        "recovery": recovery,
        "fdr": fdr,
        "threshold": "posterior" if threshold is None else threshold,
        "max_share": max_share,
        **options.judging,
    }
    output = output or Path(f"{file_of(nodes).resolve().stem}-cleaned")
    began = time.perf_counter()
    if not dry_run:
        check_target(output, force)
    with out.progress() as stage:
        stage("reading")
        from magnet.clean_result import CleanResult
        from magnet.cleaner import Cleaner
        from magnet.cli.apply import read_decisions
        from magnet.files import refuse_overwriting, sha256_of
        from magnet.report import write_folder
        from magnet.report.folder import targets
        from magnet.tables.readers.read import find_files
        from magnet.tables.readers.trusted import read_trusted
        from magnet.tables.rules import read_rules

        model = Cleaner(**settings, device=device, cluster=ray, progress=stage)
        model.check_parameters()
        nodes, edges = find_files(nodes, options.edges)
        table = options.read(nodes, edges)
        assert table.source is not None
        named = {"nodes": nodes, "edges": edges, "trusted": trusted, "decisions": decisions, "schema": options.schema}
        inputs = {name: (path, file_of(path)) for name, path in named.items() if path is not None}
        if not dry_run:
            refuse_overwriting([file for _, file in inputs.values()], targets(output, table.source.suffix))
        trusted_mask = read_trusted(trusted, table) if trusted is not None else None
        if decisions is not None:
            model.decisions = [d for d in read_decisions(decisions)["cells"] if d.get("decided_by") == "user"]
        read_rules(options.rule or (), list(table.frame.columns))
        if dry_run:
            stage("done")
            _show_table(table, out)
            return
        stage("finding wrong cells")
        result = CleanResult(table, model.fit(table, trusted=trusted_mask))
        stage("writing")
        sums = {name: {"path": str(path), "sha256": sha256_of(file)} for name, (path, file) in inputs.items()}
        run = {
            "title": nodes.name,
            "command": shlex.join(["magnet", *sys.argv[1:]]),
            "nodes": str(nodes),
            "sha256": sums["nodes"]["sha256"],
            "encoding": getattr(table.source, "encoding", None),
            "settings": settings | {name: value for name, value in options.reading.items() if value is not None},
            "inputs": sums,
            "seconds": round(time.perf_counter() - began, 2),
        }
        written = write_folder(result.record, output, run, force)
    if out.as_json:
        typer.echo((output / "run.json").read_text(encoding="utf-8"), nl=False)
    elif out.prints_text:
        _summarize(result, written, out)


def _summarize(result: CleanResult, written: list[Path], out: Output) -> None:
    """Print what was not judged first (no findings does not mean clean), then findings and output files."""
    from magnet.tables.errors import quoted

    record, cells = result.record, result.suspicious_cells
    if out.verbose:
        _show_table(result.table, out)
    for line in record.limits():
        out.line(line)
    judged = result.table.num_nodes * len(record.judged)
    counts = record.counts
    by_action = {"corrected": counts["corrected"], "filled": counts["filled"], "left for you to decide": counts["kept"]}
    actions = ", ".join(f"{count} {what}" for what, count in by_action.items() if count)
    out.line(f"{len(cells)} of {judged} judged cells look wrong" + (f": {actions}." if actions else "."))
    kinds = cells["kind"].value_counts()
    if len(kinds):
        out.line("Kinds: " + ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    shown = cells.head(SHOWN_CELLS if out.verbose else FIRST_CELLS)
    for cell in shown.itertuples(index=False):
        name = "" if str(cell.node) == str(cell.row) else f" ({quoted(cell.node)})"
        new = "?" if cell.suggested is None else quoted(cell.suggested)
        out.line(
            f"  row {cell.row}{name}, column {quoted(cell.column)}: {quoted(cell.observed)} -> {new} ({cell.action}): "
            f"{' '.join(cell.reason.split())}"
        )
    if len(cells) > len(shown):
        out.line(f"  and {len(cells) - len(shown)} more")
    for path, what in zip(written, CONTENTS, strict=True):
        out.line(f"{path}: {what}")
    if len(cells):
        out.line(f"Decide cell by cell in the browser: magnet review {shlex.quote(str(written[0].parent))}")


def _show_table(table: Table, out: Output) -> None:
    """Print the columns with their roles, and the numbers of rows and links."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    from magnet.tables.posterior import infer_roles

    roles = infer_roles(table.text_columns(), table.roles)
    facts = table.shown_facts
    alone = {**table.left_alone, **table.skipped}
    columns: dict[str, dict[str, Any]] = {
        name: {"role": roles[name].name if name in roles else "other", "judged": name not in alone}
        for name in table.frame.columns
    }
    out.result({"columns": columns, "links": table.links.kind, **facts})
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in ("column", "role", "judged", "reason"):
        grid.add_column(title)
    for name, known in columns.items():
        reason = alone[name] if name in alone else roles[name].note
        grid.add_row(Text(name), known["role"], "yes" if known["judged"] else "no", Text(reason))
    out.console().print(grid)
    for name, value in facts.items():
        out.line(f"{name}: {value}")
    if table.links.kind == "none":
        out.line("no links between rows (--edges)")
