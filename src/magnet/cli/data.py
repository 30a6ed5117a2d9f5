"""``magnet datasets`` and ``magnet corrupt``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from magnet.cli.errors import FAILED, USAGE, fail
from magnet.cli.options import Device, Output, Root, Seed, command


@command
def datasets(
    out: Output,
    root: Root = None,
) -> None:
    """List the datasets with the location of their files, or how to get them."""
    from magnet.datasets.catalog import DATASETS

    out.result([_as_json(entry, root) for entry in DATASETS.values()])
    if out.talks:
        _show(root)
    for entry in DATASETS.values():
        if entry.source is not None:
            out.detail(f"{entry.name}: {', '.join(entry.source.files)}")


def _show(root: Path | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from magnet.datasets.catalog import DATASETS
    from magnet.datasets.download import bases

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
    # In a narrow window, long lines are better than truncated numbers.
    Console(width=max(Console().width, 136)).print(table)
    for label, base in bases(root).items():
        typer.echo(f"{label}: {base}")
    for note in (*notes, "Also: magnet.datasets.synthetic(...), random graphs of any size."):
        typer.echo(note)


def _as_json(entry: Any, root: Path | None) -> dict[str, Any]:
    names = ("name", "kind", "nodes", "edges", "features", "classes", "homophily", "splits", "stands_for")
    return {**{name: getattr(entry, name) for name in names}, "where": _where(entry, root)[0]}


def _where(entry: Any, root: Path | None) -> tuple[str, str]:
    """Where the files of a dataset are, in a word, and how to get them if that is not just a download."""
    from magnet.datasets.download import bases
    from magnet.files import cache_folder

    if entry.source is None:
        return "built in", ""
    folder = entry.found(root)
    if folder is not None:
        return next(label for label, base in bases(root).items() if folder.is_relative_to(base)), ""
    if entry.source.can_download:
        return "download", ""
    files = ", ".join(entry.source.files)
    return "missing", f"{entry.name}: put {files} into {cache_folder() / entry.source.folders[0]}"


@command
def corrupt(
    out: Output,
    dataset: Annotated[str, typer.Argument(help="Name of a dataset; see `magnet datasets`.")],
    kind: Annotated[
        str,
        typer.Option(
            help="inject-far, inject-random, meta, meta-control, cells-flip, cells-outlier, cells-swap, "
            "cells-gaussian or patches."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npz file to write.")],
    seed: Seed = 0,
    split: Annotated[int, typer.Option(help="Split of the dataset.")] = 0,
    ratio: Annotated[float | None, typer.Option(help="Share of nodes (inject) or of cells (cells).")] = None,
    candidates: Annotated[int | None, typer.Option(help="Candidate rows per node (inject-far).")] = None,
    node_share: Annotated[float | None, typer.Option(help="Share of nodes affected (cells).")] = None,
    scale: Annotated[float | None, typer.Option(help="Size in standard deviations (cells).")] = None,
    budget: Annotated[int | None, typer.Option(help="Number of cells changed (meta).")] = None,
    flips_per_step: Annotated[int | None, typer.Option(help="Cells changed per meta-gradient (meta).")] = None,
    device: Device = None,
    root: Root = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file.")] = False,
) -> None:
    """Corrupt a dataset and write it, with the ground truth for every cell, to an .npz file."""
    if output.suffix != ".npz":
        fail(f"{output}: the output must be an .npz file", USAGE)
    if output.exists() and not force:
        fail(f"{output} exists; --force overwrites it", USAGE)

    from magnet.corruption import registry
    from magnet.datasets import load

    options = {
        "ratio": ratio,
        "candidates": candidates,
        "node_share": node_share,
        "scale": scale,
        "budget": budget,
        "flips_per_step": flips_per_step,
        "device": device,
    }
    allowed = registry.check_options(kind, options)
    if "progress" in allowed:
        options["progress"] = not out.quiet
    result = registry.corrupt(load(dataset, root=root, split=split), kind, seed, **options)
    try:
        result.save(output)
    except OSError as error:
        fail(f"cannot write {output}: {error.strerror or error}", FAILED)
    out.result({"output": str(output), **result.info})
    cells, nodes = int(result.cells.sum()), int(result.nodes.sum())
    out.line(
        f"{output}: {cells} wrong cells ({result.info['cell_share']:.3%}) on {nodes} nodes "
        f"({result.info['node_share']:.1%}), checksum {result.info['checksum'][:12]}"
    )
    for name, value in result.info.items():
        out.detail(f"{name}: {value}")
