"""Detected cells against the threshold tau: how many there are, how many of them are wrong, and which are missed."""

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
    brief,
    jobs_of,
    summarize,
)
from magnet.experiments.exhibits.classification import GAE, QUICK, column_title, shown
from magnet.experiments.store.jobs import Config, Job

LOSSES = {"mae": "MAE", "mse": "MSE"}
DETECTORS = {**LOSSES, "auto": "ours"}
SPARSITY = "Untrusted cells against the threshold tau (the paper's figure 2)"
SPARSITY_DATASETS, SPARSITY_TAUS = ("cora", "citeseer", "pubmed"), (0.02, 0.1, 0.2, 0.3, 0.5, 0.9)
ERRORS = "Detected and missed cells against tau (the paper's figure 11)"
ERRORS_DATASETS = ("cora", "citeseer", "pubmed", "wiki-cs", "coauthor-cs", "wisconsin", "texas")
ERRORS_TAUS = (0.1, 0.3, 0.5)


def names(options: Options, datasets: tuple[str, ...]) -> list[str]:
    """The datasets of a figure."""
    known = [*dict.fromkeys([*shown(datasets), *datasets, *QUICK])]
    if options.datasets is not None:
        return options.choose("datasets", known)
    return list(QUICK) if options.quick else shown(datasets)


def config(options: Options, dataset: str, which: str, seed: int = 0) -> Config:
    """A run of a detector: ours (``"auto"``), or the paper's autoencoder with the loss ``which``."""
    given = {"kind": "detect", "dataset": dataset, "corruption": "inject-random", "seed": seed}
    if which == "auto":
        return {**given, "method": "auto"}
    return {**given, "method": "gae", "options": {"loss": which, **({"epochs": 20} if options.quick else GAE)}}


def _repeats(options: Options) -> int:
    """Detection varies little between seeds: three do."""
    return min(options.repeats, 1 if options.quick else 3)


def _configs(options: Options, dataset: str, which: str) -> list[Config]:
    return [config(options, dataset, which, seed) for seed in range(_repeats(options))]


def plan_sparsity(options: Options) -> list[Job]:
    every = [c for dataset in names(options, SPARSITY_DATASETS) for c in _configs(options, dataset, "mse")]
    return jobs_of(every, together=())


def plan_errors(options: Options) -> list[Job]:
    detectors = LOSSES if options.quick else DETECTORS
    every = [c for dataset in names(options, ERRORS_DATASETS) for d in detectors for c in _configs(options, dataset, d)]
    return jobs_of(every, together=())


def render_sparsity(results: Results, options: Options) -> Document:
    cells, runs = [], _repeats(options)
    for dataset in names(options, SPARSITY_DATASETS):
        found = results.all(*_configs(options, dataset, "mse"))
        for tau in SPARSITY_TAUS:
            shares = [100 * r["above"][r["taus"].index(tau)] / r["cells"] for r in found]
            facts = {"dataset": dataset, "tau": tau}
            cells.append(Cell(column_title(dataset), f"tau = {tau:g}", summarize(shares), None, runs, facts=facts))
        truth = [100 * r["true_cells"] / r["cells"] for r in found]
        cells.append(Cell(column_title(dataset), "truly wrong", summarize(truth), None, runs))
    words = "Share of cells, in percent, whose score |x - x'| under the paper's autoencoder (MSE) is above tau."
    parts: list[Table | Figure | str] = [Table("Untrusted cells", cells, words=words)]
    if any(cell.ours for cell in cells):
        caption = "Share of untrusted cells against tau; dotted: the share that is truly wrong."
        parts.append(Figure("fig-sparsity", caption, lambda path: _draw_sparsity(path, results, options)))
    return Document("fig-sparsity", SPARSITY, parts)


def _draw_sparsity(path: Path, results: Results, options: Options) -> None:
    with draw.figure(path) as axes:
        axis = axes[0, 0]
        for dataset, color in zip(names(options, SPARSITY_DATASETS), draw.COLORS, strict=False):
            found = results.all(*_configs(options, dataset, "mse"))
            if found:
                shares = np.array([np.array(r["above"]) / r["cells"] for r in found])
                axis.plot(found[0]["taus"], 100 * shares.mean(axis=0), color=color, label=column_title(dataset))
                truth = 100 * np.mean([r["true_cells"] / r["cells"] for r in found])
                axis.axhline(truth, color=color, linestyle=":", linewidth=0.8)
        axis.set_yscale("symlog", linthresh=0.01)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("threshold tau")
        axis.set_ylabel("untrusted cells, %")
        axis.legend()


def render_errors(results: Results, options: Options) -> Document:
    cells: list[Cell] = []
    overview: list[Cell] = []
    for dataset in names(options, ERRORS_DATASETS):
        for which, title in DETECTORS.items():
            columns = _measures(results.all(*_configs(options, dataset, which)), ours=which == "auto")
            row, facts = f"{column_title(dataset)}, {title}", {"dataset": dataset, "detector": which}
            runs = _repeats(options)
            new = [Cell(row, c, summarize(v), None, runs, digits=3, facts=facts) for c, v in columns.items()]
            shown_here = new if which == "auto" else new[:2]
            overview += [brief(column_title(dataset), f"{title}: {cell.column}", cell, digits=3) for cell in shown_here]
            cells += new
    words = (
        "Cells of injected random rows. MAE and MSE: the paper's autoencoder, score |x - x'| above tau; ours: the "
        "default detector at its own threshold, which is a posterior probability and no tau. The paper shows counts of "
        "true positives and false negatives only, which a detector that flags everything would win."
    )
    parts: list[Table | Figure | str] = [Table("Detection of cells", cells, words=words)]
    if any(cell.ours for cell in cells):
        caption = (
            "True positives (solid) and false negatives (dashed) as shares of the wrong cells, and precision (dotted)."
        )
        parts.append(Figure("fig-errors", caption, lambda path: _draw_errors(path, results, options)))
    return Document("fig-errors", ERRORS, parts, Table("Means", overview, corner="dataset"))


def _measures(found: list[dict[str, Any]], ours: bool) -> dict[str, list[float]]:
    """Areas of a detector, and recall and precision at some thresholds: its own, or some tau."""
    nan = float("nan")
    columns: dict[str, list[float]] = {
        "AUROC": [r["cell_auroc"] for r in found],
        "AUPRC": [r["cell_auprc"] for r in found],
        "node AUROC": [r["node_auroc"] for r in found],
    }
    if ours:
        columns["recall at its own"] = [r["hit_cells"] / r["true_cells"] for r in found]
        flagged = [(r["hit_cells"], r["flagged_cells"]) for r in found]
        return {**columns, "precision at its own": [hit / count if count else nan for hit, count in flagged]}
    for tau in ERRORS_TAUS:
        hits = [(r, r["true_positives"][r["taus"].index(tau)], r["above"][r["taus"].index(tau)]) for r in found]
        columns[f"recall at {tau:g}"] = [hit / r["true_cells"] for r, hit, _ in hits]
        columns[f"precision at {tau:g}"] = [hit / above if above else nan for _, hit, above in hits]
    return columns


def _draw_errors(path: Path, results: Results, options: Options) -> None:
    found = {
        (dataset, loss): results.all(*_configs(options, dataset, loss))
        for dataset in names(options, ERRORS_DATASETS)
        for loss in LOSSES
    }
    drawn = list(dict.fromkeys(dataset for (dataset, _), runs in found.items() if runs))
    columns = min(4, len(drawn))
    with draw.figure(path, -(-len(drawn) // columns), columns, (2.2, 1.9)) as axes:
        for axis in axes.ravel()[len(drawn) :]:
            axis.set_axis_off()
        for axis, dataset in zip(axes.ravel(), drawn, strict=False):
            for (loss, title), color in zip(LOSSES.items(), draw.COLORS, strict=False):
                runs = found[dataset, loss]
                if not runs:
                    continue
                hit = np.array([r["true_positives"] for r in runs], dtype=float)
                above = np.array([r["above"] for r in runs], dtype=float)
                recall = hit / np.array([[r["true_cells"]] for r in runs], dtype=float)
                tau = runs[0]["taus"]
                axis.plot(tau, recall.mean(axis=0), color=color, label=title)
                axis.plot(tau, (1 - recall).mean(axis=0), color=color, linestyle="--")
                precision = np.where(above > 0, hit / np.maximum(above, 1), np.nan)
                known = (above > 0).sum(axis=0)
                mean = np.where(known > 0, np.nansum(precision, axis=0) / np.maximum(known, 1), np.nan)
                axis.plot(tau, mean, color=color, linestyle=":")
            axis.set_title(column_title(dataset))
            axis.set_ylim(0, 1)
            axis.set_xlabel("tau")
        axes[0, 0].legend()


EXHIBITS = (
    Exhibit("fig-sparsity", SPARSITY, plan_sparsity, render_sparsity),
    Exhibit("fig-errors", ERRORS, plan_errors, render_errors),
)
