"""Documents as Markdown, CSV and colored terminal tables."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from magnet.experiments.exhibits.base import Cell, Document, Figure, Table
from magnet.experiments.store import Store
from magnet.files import write_text

NOT_RUN = "—"
#: Marks around the list of exhibits in ``results/README.md``.
BEGIN, END = "<!-- made by magnet reproduce all -->", "<!-- end -->"
NAMES_WIDTH, COLUMN_WIDTH = 24, 22  # characters of a terminal's line: for the names of the rows, for each column
WEAKEST, STRONGEST = 95, 255  # levels of red or green in a terminal, for a relative score of 0 and of 1
OTHERS = 70  # level of the other two colors


def cell_text(cell: Cell, lines: str = "<br>") -> str:
    """A cell as text: mean and deviation, interval, the paper's value and the difference to it.

    Example:
        >>> from magnet.experiments.exhibits.paper import PaperValue
        >>> from magnet.experiments.exhibits.base import Summary
        >>> cell_text(Cell("a", "b", Summary(80, 1, 79.3, 80.7, 10), PaperValue(79, 0.5), planned=10), "; ")
        '80.00 ± 1.00; [79.30, 80.70]; paper 79.00 (+1.00)'
    """
    if cell.text:
        return cell.text
    parts = []
    if cell.ours is None:
        parts.append(cell.impossible or cell.note or NOT_RUN)
    else:
        mean = f"{cell.ours.mean:.{cell.digits}f}"
        known = not math.isnan(cell.ours.std)
        parts.append(f"{mean} ± {cell.ours.std:.{cell.digits}f}" if known else mean)
        if known:
            parts.append(f"[{cell.ours.low:.{cell.digits}f}, {cell.ours.high:.{cell.digits}f}]")
        if cell.planned and cell.ours.runs < cell.planned:
            parts.append(f"{cell.ours.runs} of {cell.planned} runs")
        if cell.note:
            parts.append(cell.note)
    if cell.paper is not None:
        value = "out of memory" if math.isnan(cell.paper.value) else f"{cell.paper.value:.{cell.digits}f}"
        difference = "" if cell.difference is None else f" ({cell.difference:+.{cell.digits}f})"
        parts.append(f"paper {value}{difference}")
    return lines.join(parts)


def markdown(document: Document, notes: str = "") -> str:
    """The document as Markdown; figures are linked as PNG files beside it."""
    lines = [f"# {document.title}", ""]
    parts = [part for part in document.parts if part is not document.summary]
    if document.summary is not None:
        parts = ["## Summary", document.summary, "## Details", *parts]
    for part in parts:
        if isinstance(part, Table):
            lines += [*_markdown_table(part), ""]
            if part.words:
                lines += [part.words, ""]
        elif isinstance(part, Figure):
            lines += [f"![{part.caption}]({part.name}.png)", "", f"{part.caption} ([SVG]({part.name}.svg))", ""]
        else:
            lines += [part, ""]
    if notes:
        lines += [notes, ""]
    return "\n".join(lines)


def _markdown_table(table: Table) -> list[str]:
    lines = [f"**{table.title}**", "", "| " + " | ".join([table.corner, *table.columns]) + " |"]
    lines.append("|---" * (len(table.columns) + 1) + "|")
    for row in table.rows:
        cells = table.at(row, table.columns)
        texts = ["" if cell is None else f"{_arrow(cell)}{cell_text(cell)}" for cell in cells]
        lines.append("| " + " | ".join([row, *texts]) + " |")
    return lines


def _arrow(cell: Cell) -> str:
    """An arrow for cells that are better or worse than doing nothing."""
    if cell.better is None or cell.ours is None:
        return ""
    return "▲ " if cell.better else "▼ "


def csv_text(document: Document) -> str:
    """All cells of the document's tables, one line each."""
    names = ["table", "row", "column", "mean", "std", "low", "high", "runs", "planned", "paper", "paper_std"]
    names += ["difference", "relative_score", "text"]
    facts = list(dict.fromkeys(name for table in document.tables for cell in table.cells for name in cell.facts))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*names, *facts])
    for table in document.tables:
        for cell in table.cells:
            ours = cell.ours
            numbers = [None] * 5 if ours is None else [ours.mean, ours.std, ours.low, ours.high, ours.runs]
            printed = [None, None] if cell.paper is None else [cell.paper.value, cell.paper.std]
            line = [table.title, cell.row, cell.column, *numbers, cell.planned, *printed, cell.difference, cell.score]
            words = cell.text or cell.impossible or cell.note
            writer.writerow([*map(_number, line), words, *(cell.facts.get(name) for name in facts)])
    return buffer.getvalue()


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value


def show(document: Document, console: Any) -> None:
    """Print the document's tables to a Rich console: red is better than doing nothing, green worse, as in the paper."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    for part in document.parts:
        if isinstance(part, str):
            console.print(Text(part))
        elif isinstance(part, Figure):
            console.print(Text(f"figure {part.name}: {part.caption}", style="dim"))
        else:
            for columns in _fitting(part.columns, console.width):
                grid = RichTable(title=part.title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
                grid.add_column(part.corner)
                for column in columns:
                    grid.add_column(column, justify="right")
                for row in part.rows:
                    cells = part.at(row, columns)
                    grid.add_row(row, *(Text(cell_text(c, "\n"), style=_style(c)) if c else Text("") for c in cells))
                console.print(grid)
            if part.words:
                console.print(Text(part.words))


def _fitting(columns: list[str], width: int) -> list[list[str]]:
    """Columns in groups that fit beside one another."""
    count = max(1, (width - NAMES_WIDTH) // COLUMN_WIDTH)
    return [columns[first : first + count] for first in range(0, len(columns), count)]


def _style(cell: Cell) -> str:
    """Red where the relative score is above 0, green where below; the larger, the stronger."""
    if cell.ours is None:
        return "dim"
    if cell.score is None:
        return ""
    strength = int(WEAKEST + (STRONGEST - WEAKEST) * min(1.0, abs(cell.score)))
    return f"rgb({strength},{OTHERS},{OTHERS})" if cell.score > 0 else f"rgb({OTHERS},{strength},{OTHERS})"


def versions_text(versions: Iterable[str]) -> str:
    """The result versions of several runs, merged into one text.

    Example:
        >>> versions_text(["datasets 1, networks 1", "datasets 1, networks 2", ""])
        'datasets 1, networks 1 and 2'
    """
    numbers: dict[str, set[str]] = {}
    for version in versions:
        for part in filter(None, version.split(", ")):
            name, _, number = part.rpartition(" ")
            numbers.setdefault(name, set()).add(number)
    return ", ".join(f"{name} {' and '.join(sorted(numbers[name]))}" for name in sorted(numbers)) or "none"


def write(document: Document, folder: Path, notes: str = "") -> None:
    """Write the document's Markdown, CSV and figures; each file appears when it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{document.name}.md", markdown(document, notes))
    if document.tables:
        write_text(folder / f"{document.name}.csv", csv_text(document))
    for figure in document.figures:
        for suffix in (".png", ".svg"):
            figure.draw(folder / f"{figure.name}{suffix}")


def write_page(documents: Sequence[Document], folder: Path, store: str | os.PathLike[str], shown: set[str]) -> Path:
    """Write or update the list of exhibits in ``README.md``; text outside the marks is kept. Also write ``runs.csv``:
    the runs that are shown, and all searches."""
    with Store(store, read_only=True) as opened:
        runs = [run for run in opened.runs() if run.key in shown or run.config["kind"] == "search"]
        exported = opened.export(folder / "runs.csv", {run.key for run in runs})
    devices = sorted({str(run.result.get("device")) for run in runs if run.result.get("device")})
    lines = [BEGIN, "", "| exhibit | cells filled | with every repetition | figures |", "|---|---|---|---|"]
    for document in documents:
        cells = [cell for table in document.tables for cell in table.cells]
        possible = [cell for cell in cells if not cell.impossible]
        filled, complete = (sum(getattr(cell, what) for cell in possible) for what in ("filled", "complete"))
        figures = " ".join(f"[{figure.name}]({figure.name}.png)" for figure in document.figures) or "-"
        link = f"[{document.name}]({document.name}.md): {document.title}"
        lines.append(f"| {link} | {filled} of {len(possible)} | {complete} | {figures} |")
    versions = versions_text(run.code for run in runs)
    seconds = sum(float(run.result.get("seconds") or 0) for run in runs)
    lines += [
        "",
        f"{exported} finished runs ({seconds / 3600:.1f} hours of computing) on {', '.join(devices) or 'no device'}, "
        f"every one a line of [runs.csv](runs.csv). Result versions: {versions}; every cell uses runs of one "
        "version; superseded runs that no cell uses are omitted. Cells without a number were not run (cells that no "
        "run could fill are not counted: datasets without files, relative scores where nothing was lost).",
        "",
        END,
    ]
    path = folder / "README.md"
    old = path.read_text(encoding="utf-8") if path.is_file() else f"# Results\n\n{BEGIN}\n{END}\n"
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    write_text(path, before + "\n".join(lines) + after)
    return path
