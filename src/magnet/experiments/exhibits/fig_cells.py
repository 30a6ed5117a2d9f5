"""True against detected cells as spy plots with a magnified region."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import Cell, Exhibit, Figure, Options, Part, Results, Table, summarize
from magnet.experiments.exhibits.classification import chosen_datasets, column_title
from magnet.experiments.exhibits.fig_detection import config, detectors
from magnet.experiments.exhibits.paper import printed
from magnet.experiments.protocol.detect import unpack_grid, unpack_region

DATASETS = ("cora", "citeseer", "coauthor-cs", "pubmed", "wiki-cs")
#: The paper's autoencoder by its loss, and our detector.
DETECTORS = {"mse": "the paper's autoencoder at tau = 0.1", "auto": "ours"}
#: The darkest blue stands for this quantile of the shares in the fields of the grid.
DARKEST = 0.99
#: Colors (red, green, blue) of false alarms and of wrong cells that were found.
ORANGE, BLUE = (0.9, 0.6, 0.0), (0.0, 0.2, 0.5)


def render(results: Results, options: Options) -> list[Part]:
    cells: list[Cell] = []
    figures: list[Part] = []
    for dataset in chosen_datasets(options, DATASETS):
        pictures: dict[str, Any] = {}
        for which in detectors(options, DETECTORS):
            result = results.get(config(options, dataset, which))
            cells += _shares(dataset, which, result)
            if result is not None:
                pictures[which] = result["pictures"]
        if pictures:
            caption = (
                f"{column_title(dataset)}: wrong cells, and those of them that were flagged; below, a magnified region "
                "with false alarms in orange, which the paper leaves out."
            )
            figures.append(Figure(f"fig-cells-{dataset}", caption, partial(_draw, runs=pictures)))
    words = (
        "Random rows injected, seed 0; the first 3000 nodes and features. The paper shows only the wrong cells that "
        "were found, not the false alarms."
    )
    return [Table("Shares of cells", cells, words=words), *figures]


def _shares(dataset: str, which: str, result: dict[str, Any] | None) -> list[Cell]:
    """The row of a detector on a dataset, in percent."""
    nan = float("nan")
    pictures = {} if result is None else result["pictures"]
    truth, hit, false = (100 * pictures[name]["share"] if pictures else nan for name in ("truth", "hit", "false"))
    values = {
        "wrong cells, %": (truth, "truth"),
        "of them found, %": (100 * hit / truth if truth else nan, ""),
        "found and wrong, % of all": (hit, "magnet-gae"),
        "flagged but right, % of all": (false, ""),
    }
    cells = []
    for column, (value, method) in values.items():
        paper = printed("fig-cells", "cells_percent", dataset=dataset, method=method) if which == "mse" else None
        row = f"{column_title(dataset)}, {DETECTORS[which]}"
        facts = {"dataset": dataset, "detector": "gae" if which == "mse" else which}
        cells.append(Cell(row, column, summarize([value]), paper, 1, digits=3, facts=facts))
    return cells


def _draw(path: Path, runs: dict[str, Any]) -> None:
    first = next(iter(runs.values()))
    panels = [("truth", first["truth"], None)]
    panels += [(DETECTORS[which], pictures["hit"], pictures["false"]) for which, pictures in runs.items()]
    with draw.figure(path, 2, len(panels), (2.4, 2.3)) as axes:
        for column, (title, hit, false) in enumerate(panels):
            grid = unpack_grid(hit["grid"])
            rows, columns = hit["shape"]
            top, left = hit["corner"]
            axis = axes[0, column]
            axis.imshow(
                grid,
                cmap="Blues",
                vmin=0,
                vmax=max(1e-6, float(np.quantile(unpack_grid(first["truth"]["grid"]), DARKEST))),
                extent=(0, columns, rows, 0),
                aspect="auto",
                interpolation="nearest",
            )
            region = unpack_region(hit["region"])
            axis.add_patch(draw.box(left, top, region.shape[1], region.shape[0]))
            axis.set_title(f"{title}\n{100 * hit['share']:.3f} % of the cells", fontsize=7)
            picture = np.ones((*region.shape, 3))
            if false is not None:
                picture[unpack_region(false["region"])] = ORANGE
            picture[region] = BLUE
            below = axes[1, column]
            below.imshow(
                picture, extent=(left, left + region.shape[1], top + region.shape[0], top), interpolation="nearest"
            )
            for drawn in (axis, below):
                drawn.grid(visible=False)
                drawn.set_xlabel("feature")
                drawn.set_ylabel("node")


CELLS = Exhibit("fig-cells", "True and detected cells (the paper's figures 5 and 7 to 10)", render)
