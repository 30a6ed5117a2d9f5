"""``magnet datasets``: the datasets, and where their files are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from magnet.cli.options import Output, Root, command

if TYPE_CHECKING:
    from magnet.datasets import DatasetInfo

MIN_WIDTH = 136  # of the table: in a narrow window, long lines are better than truncated numbers


@command
def datasets(out: Output, root: Root = None) -> None:
    """List the datasets with the location of their files, or how to get them."""
    from magnet.datasets.catalog import DATASETS

    out.result([_as_json(entry, root) for entry in DATASETS.values()])
    if out.prints_text:
        _show(root)
    for entry in DATASETS.values():
        if entry.source is not None:
            out.detail(f"{entry.name}: {', '.join(entry.source.files)}")


def _show(root: Path | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from magnet.datasets.catalog import DATASETS
    from magnet.datasets.download import search_folders

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in ("name", "nodes", "edges", "features", "classes", "homophily", "values", "splits", "where"):
        number = title in ("nodes", "edges", "features", "classes", "homophily")
        table.add_column(title, justify="right" if number else "left", no_wrap=number or title == "name")
    notes = []
    for entry in DATASETS.values():
        limits = "{0, 1}" if entry.kind == "binary" else f"[{entry.low:g}, {entry.high:g}]"
        counts = (entry.nodes, entry.edges, entry.features, entry.classes)
        where, note = _where(entry, root)
        table.add_row(
            "bsd68/1..68" if entry.name == "bsd68/1" else entry.name,
            *(f"{count:,}".replace(",", " ") if count else "-" for count in counts),
            "-" if entry.homophily is None else f"{entry.homophily:.3f}",
            f"{entry.kind} {limits}",
            entry.splits,
            where,
        )
        if entry.stands_for:
            notes.append(f"{entry.name} stands in for {entry.stands_for} where that cannot be downloaded.")
        if note:
            notes.append(note)
    Console(width=max(Console().width, MIN_WIDTH)).print(table)
    for label, base in search_folders(root).items():
        typer.echo(f"{label}: {base}")
    for note in (*notes, "Also: magnet.datasets.synthetic(...), random graphs of any size."):
        typer.echo(note)


def _as_json(entry: DatasetInfo, root: Path | None) -> dict[str, Any]:
    names = ("name", "kind", "nodes", "edges", "features", "classes", "homophily", "splits", "stands_for")
    return {**{name: getattr(entry, name) for name in names}, "where": _where(entry, root)[0]}


def _where(entry: DatasetInfo, root: Path | None) -> tuple[str, str]:
    """Where the files of a dataset are, in a word, and how to get them if that is not just a download."""
    from magnet.datasets.download import search_folders
    from magnet.files import cache_folder

    if entry.source is None:
        return "built in", ""
    folder = entry.found(root)
    if folder is not None:
        return next(label for label, base in search_folders(root).items() if folder.is_relative_to(base)), ""
    if entry.source.can_download:
        return "download", ""
    files = ", ".join(entry.source.files)
    return "missing", f"{entry.name}: put {files} into {cache_folder() / entry.source.folders[0]}"
