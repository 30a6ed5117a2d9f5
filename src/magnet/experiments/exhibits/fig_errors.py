"""True positives and false negatives against tau, and what the paper leaves out: precision and areas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Figure, Options, Results, Table, jobs_of
from magnet.experiments.exhibits.datasets import column_title
from magnet.experiments.exhibits.detection import LOSSES, config, gae, names, repeats
from magnet.experiments.exhibits.summary import summarise
from magnet.experiments.store.jobs import Config, Job

TITLE = "Detected and missed cells against tau (the paper's figure 11)"
DATASETS = ("cora", "citeseer", "pubmed", "wiki-cs", "coauthor-cs", "wisconsin", "texas")
SHOWN = (0.1, 0.3, 0.5)


def _configs(options: Options, dataset: str, which: str) -> list[Config]:
    seeds = range(repeats(options))
    if which == "auto":
        return [config(dataset, "auto", seed) for seed in seeds]
    return [gae(options, dataset, which, seed) for seed in seeds]


def _found(results: Results, options: Options, dataset: str, which: str) -> list[dict[str, Any]]:
    return results.all(*_configs(options, dataset, which))


def plan(options: Options) -> list[Job]:
    detectors = list(LOSSES) if options.quick else [*LOSSES, "auto"]
    every = [c for dataset in names(options, DATASETS) for d in detectors for c in _configs(options, dataset, d)]
    return jobs_of(every, together=())


def render(results: Results, options: Options) -> Document:
    cells, runs = [], repeats(options)
    for dataset in names(options, DATASETS):
        for which, title in {**LOSSES, "auto": "ours"}.items():
            found = _found(results, options, dataset, which)
            row = f"{column_title(dataset)}, {title}"
            facts = {"dataset": dataset, "detector": which}
            columns: dict[str, list[float]] = {
                "AUROC": [r["cell_auroc"] for r in found],
                "AUPRC": [r["cell_auprc"] for r in found],
                "node AUROC": [r["node_auroc"] for r in found],
            }
            for tau in SHOWN if which != "auto" else ():
                hits = [(r, r["true_positives"][r["taus"].index(tau)], r["above"][r["taus"].index(tau)]) for r in found]
                columns[f"recall at {tau:g}"] = [hit / r["true_cells"] for r, hit, _ in hits]
                columns[f"precision at {tau:g}"] = [hit / above if above else float("nan") for _, hit, above in hits]
            if which == "auto":
                columns["recall at its own"] = [r["hit_cells"] / r["true_cells"] for r in found]
                columns["precision at its own"] = [
                    r["hit_cells"] / r["flagged_cells"] if r["flagged_cells"] else float("nan") for r in found
                ]
            cells += [Cell(row, c, summarise(v), None, runs, digits=3, facts=facts) for c, v in columns.items()]
    words = (
        "Cells of injected random rows. MAE and MSE: the paper's autoencoder, score |x - x'| above tau; ours: the "
        "default detector at its own threshold, which is a posterior probability and no tau. The paper shows counts of "
        "true positives and false negatives only, which a detector that flags everything would win."
    )
    parts: list[Table | Figure | str] = [Table("Detection of cells", cells, corner="", words=words)]
    if any(cell.ours for cell in cells):
        caption = (
            "True positives (solid) and false negatives (dashed) as shares of the wrong cells, and precision (dotted)."
        )
        parts.append(Figure("fig-errors", caption, lambda path: _draw(path, results, options)))
    return Document("fig-errors", TITLE, parts)


def _draw(path: Path, results: Results, options: Options) -> None:
    shown = [d for d in names(options, DATASETS) if any(_found(results, options, d, loss) for loss in LOSSES)]
    columns = min(4, len(shown))
    rows = -(-len(shown) // columns)
    with draw.figure(path, rows, columns, (2.2, 1.9)) as axes:
        for axis in axes.ravel()[len(shown) :]:
            axis.set_axis_off()
        for axis, dataset in zip(axes.ravel(), shown, strict=False):
            for k, (loss, title) in enumerate(LOSSES.items()):
                found = _found(results, options, dataset, loss)
                if not found:
                    continue
                hit = np.array([r["true_positives"] for r in found], dtype=float)
                above = np.array([r["above"] for r in found], dtype=float)
                wrong = np.array([[r["true_cells"]] for r in found], dtype=float)
                tau, colour = found[0]["taus"], draw.COLOURS[k]
                axis.plot(tau, (hit / wrong).mean(axis=0), color=colour, label=title)
                axis.plot(tau, (1 - hit / wrong).mean(axis=0), color=colour, linestyle="--")
                precision = np.where(above > 0, hit / np.maximum(above, 1), np.nan)
                axis.plot(tau, _mean(precision), color=colour, linestyle=":")
            axis.set_title(column_title(dataset))
            axis.set_ylim(0, 1)
            axis.set_xlabel("tau")
        axes[0, 0].legend()


def _mean(values: Any) -> Any:
    known = ~np.isnan(values)
    return np.where(known.any(axis=0), np.nansum(values, axis=0) / np.maximum(known.sum(axis=0), 1), np.nan)


EXHIBIT = Exhibit("fig-errors", TITLE, plan, render)
