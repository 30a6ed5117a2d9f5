"""``magnet corrupt``: a corrupted dataset with the ground truth, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from magnet.cli.errors import FAILED, USAGE, fail
from magnet.cli.options import Device, Output, Root, Seed, command


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
