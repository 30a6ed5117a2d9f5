"""The share of untrusted cells against the threshold tau."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Figure, Options, Results, Table, jobs_of
from magnet.experiments.exhibits.datasets import column_title
from magnet.experiments.exhibits.detection import gae, names, repeats
from magnet.experiments.exhibits.summary import summarise
from magnet.experiments.store.jobs import Config, Job

TITLE = "Untrusted cells against the threshold tau (the paper's figure 2)"
DATASETS = ("cora", "citeseer", "pubmed")
SHOWN = (0.02, 0.1, 0.2, 0.3, 0.5, 0.9)


def _configs(options: Options, dataset: str) -> list[Config]:
    return [gae(options, dataset, "mse", seed) for seed in range(repeats(options))]


def plan(options: Options) -> list[Job]:
    every = [config for dataset in names(options, DATASETS) for config in _configs(options, dataset)]
    return jobs_of(every, together=())


def render(results: Results, options: Options) -> Document:
    cells = []
    for dataset in names(options, DATASETS):
        found = results.all(*_configs(options, dataset))
        for tau in SHOWN:
            shares = [100 * r["above"][r["taus"].index(tau)] / r["cells"] for r in found]
            facts = {"dataset": dataset, "tau": tau}
            runs = repeats(options)
            cells.append(Cell(column_title(dataset), f"tau = {tau:g}", summarise(shares), None, runs, facts=facts))
        truth = [100 * r["true_cells"] / r["cells"] for r in found]
        cells.append(Cell(column_title(dataset), "truly wrong", summarise(truth), None, repeats(options)))
    words = "Share of cells, in percent, whose score |x - x'| under the paper's autoencoder (MSE) is above tau."
    parts: list[Table | Figure | str] = [Table("Untrusted cells", cells, corner="", words=words)]
    if any(cell.ours for cell in cells):
        caption = "Share of untrusted cells against tau; dotted: the share that is truly wrong."
        parts.append(Figure("fig-sparsity", caption, lambda path: _draw(path, results, options)))
    return Document("fig-sparsity", TITLE, parts)


def _draw(path: Path, results: Results, options: Options) -> None:
    with draw.figure(path) as axes:
        axis = axes[0, 0]
        for dataset, colour in zip(names(options, DATASETS), draw.COLOURS, strict=False):
            found = results.all(*_configs(options, dataset))
            if found:
                shares = np.array([np.array(r["above"]) / r["cells"] for r in found])
                axis.plot(found[0]["taus"], 100 * shares.mean(axis=0), color=colour, label=column_title(dataset))
                truth = 100 * np.mean([r["true_cells"] / r["cells"] for r in found])
                axis.axhline(truth, color=colour, linestyle=":", linewidth=0.8)
        axis.set_yscale("symlog", linthresh=0.01)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("threshold tau")
        axis.set_ylabel("untrusted cells, %")
        axis.legend()


EXHIBIT = Exhibit("fig-sparsity", TITLE, plan, render)
