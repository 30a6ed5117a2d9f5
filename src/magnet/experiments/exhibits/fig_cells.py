"""True against detected cells as spy plots with a magnified region."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import (
    Cell,
    Document,
    Exhibit,
    Figure,
    Options,
    Results,
    Table,
    jobs_of,
    summarize,
)
from magnet.experiments.exhibits.classification import column_title
from magnet.experiments.exhibits.fig_detection import config, names
from magnet.experiments.exhibits.paper import printed
from magnet.experiments.protocol.detect import unpack_grid, unpack_region
from magnet.experiments.store.jobs import Config, Job

TITLE = "True and detected cells (the paper's figures 5 and 7 to 10)"
DATASETS = ("cora", "citeseer", "coauthor-cs", "pubmed", "wiki-cs")
DETECTORS = {"gae": "the paper's autoencoder at tau = 0.1", "auto": "ours"}


def _config(options: Options, dataset: str, which: str) -> Config:
    return config(options, dataset, "mse" if which == "gae" else which)


def plan(options: Options) -> list[Job]:
    detectors = ["gae"] if options.quick else list(DETECTORS)
    every = [_config(options, dataset, which) for dataset in names(options, DATASETS) for which in detectors]
    return jobs_of(every, together=())


def render(results: Results, options: Options) -> Document:
    cells: list[Cell] = []
    parts: list[Table | Figure | str] = []
    for dataset in names(options, DATASETS):
        have = {which: results.get(_config(options, dataset, which)) for which in DETECTORS}
        for which, found in have.items():
            cells += _shares(dataset, which, found)
        if any(have.values()):
            caption = (
                f"{column_title(dataset)}: wrong cells, and those of them that were flagged; below, a magnified region "
                "with false alarms in orange, which the paper leaves out."
            )
            draw_it = lambda path, have=have: _draw(path, have)  # noqa: E731
            parts.append(Figure(f"fig-cells-{dataset}", caption, draw_it))
    words = (
        "Random rows injected, seed 0; the first 3000 nodes and features. The paper prints only the wrong cells that "
        "were found, not the false alarms."
    )
    return Document("fig-cells", TITLE, [Table("Shares of cells", cells, words=words), *parts])


def _shares(dataset: str, which: str, found: dict[str, Any] | None) -> list[Cell]:
    """The row of a detector on a dataset, in percent."""
    nan = float("nan")
    pictures = {} if found is None else found["pictures"]
    truth, hit, false = (100 * pictures[name]["share"] if pictures else nan for name in ("truth", "hit", "false"))
    values = {
        "wrong cells, %": (truth, "truth"),
        "of them found, %": (100 * hit / truth if truth else nan, ""),
        "found and wrong, % of all": (hit, "magnet-gae"),
        "flagged but right, % of all": (false, ""),
    }
    cells = []
    for column, (value, method) in values.items():
        paper = printed("fig-cells", "cells_percent", dataset=dataset, method=method) if which == "gae" else None
        row, facts = f"{column_title(dataset)}, {DETECTORS[which]}", {"dataset": dataset, "detector": which}
        cells.append(Cell(row, column, summarize([value]), paper, 1, digits=3, facts=facts))
    return cells


def _draw(path: Path, have: dict[str, dict[str, Any] | None]) -> None:
    runs = {which: found["pictures"] for which, found in have.items() if found is not None}
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
                vmax=max(1e-6, float(np.quantile(unpack_grid(first["truth"]["grid"]), 0.99))),
                extent=(0, columns, rows, 0),
                aspect="auto",
                interpolation="nearest",
            )
            region = unpack_region(hit["region"])
            axis.add_patch(draw.box(left, top, region.shape[1], region.shape[0]))
            axis.set_title(f"{title}\n{100 * hit['share']:.3f} % of the cells", fontsize=7)
            picture = np.ones((*region.shape, 3))
            if false is not None:
                picture[unpack_region(false["region"])] = (0.9, 0.6, 0.0)
            picture[region] = (0.0, 0.2, 0.5)
            below = axes[1, column]
            below.imshow(
                picture, extent=(left, left + region.shape[1], top + region.shape[0], top), interpolation="nearest"
            )
            for drawn in (axis, below):
                drawn.grid(visible=False)
                drawn.set_xlabel("feature")
                drawn.set_ylabel("node")


EXHIBITS = (Exhibit("fig-cells", TITLE, plan, render),)
