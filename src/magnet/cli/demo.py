"""``magnet demo``: the story on the embedded digits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from torch import Tensor

SHOWN = 10


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the picture.")] = Path("demo"),
    ratio: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of cells made wrong.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Which cells, and what they become.")] = 0,
) -> None:
    """Make cells of the embedded digits wrong, recover them, and show before and after."""
    import time

    import torch
    from rich.console import Console
    from rich.table import Table

    from magnet import FrameletTransform, propagate, recover
    from magnet.corruption import corrupt_cells
    from magnet.datasets import load

    console = Console()
    data = load("digits")
    bad = corrupt_cells(data, ratio=ratio, kind="swap", seed=seed)
    trust = (~bad.cells).to(data.x.dtype)
    W = FrameletTransform(data.edge_index, data.num_nodes)
    console.print(
        f"{data.num_nodes} handwritten digits of {data.num_features} pixels, each linked to those most like it (by "
        f"the true pixels); "
        f"{int(bad.cells.sum())} pixels ({bad.cells.float().mean():.0%}) hold the value of another digit."
    )
    began = time.perf_counter()
    with console.status("recovering ..."):
        recovered = recover(bad.data.x, trust, W, coordinates="degree", keep_trusted=True).x
        seconds = time.perf_counter() - began
        smoothed = propagate(bad.data.x, trust, W, lam=0.0, coordinates="degree").x
    median = torch.where(bad.cells, data.x.median(dim=0).values, bad.data.x)

    table = Table(title="the wrong pixels, on a scale of 0 to 1")
    table.add_column("repair")
    table.add_column("root mean square error", justify="right")
    table.add_column("accuracy of the nearest digit", justify="right")
    rows = {
        "none": bad.data.x,
        "column median": median,
        "Feature Propagation": smoothed,
        "MAGnet (framelet recovery)": recovered,
        "the truth": data.x,
    }
    for name, x in rows.items():
        error = (x - data.x)[bad.cells].square().mean().sqrt()
        table.add_row(name, f"{error:.3f}", f"{_nearest_accuracy(x, data.x, data.y, data.train_mask):.1%}")
    console.print(table)
    console.print(f"Recovery took {seconds:.2f} s, compilation of its kernel included.")

    out.mkdir(parents=True, exist_ok=True)
    picture = out / "digits.png"
    _draw({"true": data.x, "observed": bad.data.x, "recovered": recovered}, picture)
    console.print(f"Before and after: {picture}")


def _nearest_accuracy(x: Tensor, clean: Tensor, y: Tensor, known: Tensor) -> float:
    """How often the nearest clean training digit has the right label: what wrong pixels spoil, and nothing else."""
    import torch

    nearest = torch.cdist(x[~known], clean[known]).argmin(dim=1)
    return float((y[known][nearest] == y[~known]).float().mean())


def _draw(rows: dict[str, Tensor], path: Path) -> None:
    """One row of digits for each matrix. The file appears when it is complete."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(rows), SHOWN, figsize=(SHOWN, 1.15 * len(rows)), squeeze=False)
    for line, (name, x) in zip(axes, rows.items(), strict=True):
        for axis, digit in zip(line, x[:SHOWN], strict=True):
            axis.imshow(digit.reshape(8, 8).numpy(), cmap="gray_r", vmin=0, vmax=1)
            axis.set_xticks([])
            axis.set_yticks([])
        line[0].set_ylabel(name)
    figure.tight_layout(pad=0.3)
    partial = path.with_name(path.name + ".partial")
    figure.savefig(partial, dpi=150, format="png")
    pyplot.close(figure)
    partial.replace(path)
