"""Detected cells against the threshold tau: how many there are, how many of them are wrong, and which are missed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from magnet.experiments.exhibits import draw
from magnet.experiments.exhibits.base import Cell, Exhibit, Figure, Options, Part, Results, Table, brief, summarize
from magnet.experiments.exhibits.classification import GAE, chosen_datasets, column_title
from magnet.experiments.store.jobs import Config

LOSSES = {"mae": "MAE", "mse": "MSE"}
DETECTORS = {**LOSSES, "auto": "ours"}
#: Datasets and thresholds on the score |x - x'| in the tables.
SPARSITY_DATASETS, SPARSITY_TAUS = ("cora", "citeseer", "pubmed"), (0.02, 0.1, 0.2, 0.3, 0.5, 0.9)
ERRORS_DATASETS = ("cora", "citeseer", "pubmed", "wiki-cs", "coauthor-cs", "wisconsin", "texas")
ERRORS_TAUS = (0.1, 0.3, 0.5)
#: Repetitions: detection varies little between seeds.
REPEATS = 3
#: Fewer epochs of the autoencoder for ``--quick``.
QUICK_GAE = {"epochs": 20}

DetectorResults = list[dict[str, Any]]  # the results of one detector on one dataset


def detectors(options: Options, titles: dict[str, str]) -> dict[str, str]:
    """The detectors of an exhibit that are run; ``--quick`` omits ours."""
    return {which: title for which, title in titles.items() if which != "auto" or not options.quick}


def config(options: Options, dataset: str, which: str, seed: int = 0) -> Config:
    """A run of a detector: ours (``"auto"``), or the paper's autoencoder with the loss ``which``."""
    common = {"kind": "detect", "dataset": dataset, "corruption": "inject-random", "seed": seed}
    if which == "auto":
        return {**common, "method": "auto"}
    return {**common, "method": "gae", "options": {"loss": which, **(QUICK_GAE if options.quick else GAE)}}


def _repeats(options: Options) -> int:
    return min(options.repeats, 1 if options.quick else REPEATS)


def _found(results: Results, options: Options, dataset: str, which: str) -> DetectorResults:
    return results.all(*(config(options, dataset, which, seed) for seed in range(_repeats(options))))


def render_sparsity(results: Results, options: Options) -> list[Part]:
    cells, runs = [], _repeats(options)
    datasets = chosen_datasets(options, SPARSITY_DATASETS)
    results_of = {dataset: _found(results, options, dataset, "mse") for dataset in datasets}
    for dataset in datasets:
        for tau in SPARSITY_TAUS:
            shares = [100 * r["above"][r["taus"].index(tau)] / r["cells"] for r in results_of[dataset]]
            facts = {"dataset": dataset, "tau": tau}
            cells.append(Cell(column_title(dataset), f"tau = {tau:g}", summarize(shares), planned=runs, facts=facts))
        truth = [100 * r["true_cells"] / r["cells"] for r in results_of[dataset]]
        cells.append(Cell(column_title(dataset), "truly wrong", summarize(truth), planned=runs))
    words = "Share of cells, in percent, whose score |x - x'| under the paper's autoencoder (MSE) is above tau."
    parts: list[Part] = [Table("Untrusted cells", cells, words=words)]
    if any(results_of.values()):
        caption = "Share of untrusted cells against tau; dotted: the share that is truly wrong."
        parts.append(Figure("fig-sparsity", caption, partial(_draw_sparsity, results_of=results_of)))
    return parts


def _draw_sparsity(path: Path, results_of: dict[str, DetectorResults]) -> None:
    with draw.figure(path) as axes:
        axis = axes[0, 0]
        for (dataset, runs), color in zip(results_of.items(), draw.COLORS, strict=False):
            if runs:
                shares = np.array([np.array(r["above"]) / r["cells"] for r in runs])
                axis.plot(runs[0]["taus"], 100 * shares.mean(axis=0), color=color, label=column_title(dataset))
                truth = 100 * np.mean([r["true_cells"] / r["cells"] for r in runs])
                axis.axhline(truth, color=color, linestyle=":", linewidth=0.8)
        axis.set_yscale("symlog", linthresh=0.01)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("threshold tau")
        axis.set_ylabel("untrusted cells, %")
        axis.legend()


def render_errors(results: Results, options: Options) -> list[Part]:
    cells: list[Cell] = []
    overview: list[Cell] = []
    curves: dict[str, dict[str, DetectorResults]] = {}
    for dataset in chosen_datasets(options, ERRORS_DATASETS):
        for which, title in detectors(options, DETECTORS).items():
            found = _found(results, options, dataset, which)
            row, facts = f"{column_title(dataset)}, {title}", {"dataset": dataset, "detector": which}
            new = [
                Cell(row, column, summarize(values), planned=_repeats(options), digits=3, facts=facts)
                for column, values in _measures(found, ours=which == "auto").items()
            ]
            summarized = new if which == "auto" else new[:2]
            overview += [brief(column_title(dataset), f"{title}: {cell.column}", cell, digits=3) for cell in summarized]
            cells += new
            if found and which != "auto":
                curves.setdefault(dataset, {})[title] = found
    words = (
        "Cells of injected random rows. MAE and MSE: the paper's autoencoder, score |x - x'| above tau; ours: the "
        "default detector at its own threshold, which is a posterior probability, not tau. The paper shows counts of "
        "true positives and false negatives only, for which flagging every cell would be optimal."
    )
    parts: list[Part] = [Table("Detection of cells", cells, words=words)]
    if curves:
        caption = (
            "True positives (solid) and false negatives (dashed) as shares of the wrong cells, and precision (dotted)."
        )
        parts.append(Figure("fig-errors", caption, partial(_draw_errors, curves=curves)))
    return [*parts, Table("Means", overview, corner="dataset", summary=True)]


def _measures(found: DetectorResults, ours: bool) -> dict[str, list[float]]:
    """AUROC and AUPRC of a detector, and recall and precision at its own threshold or at several values of tau."""
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


def _draw_errors(path: Path, curves: dict[str, dict[str, DetectorResults]]) -> None:
    columns = min(4, len(curves))
    with draw.figure(path, -(-len(curves) // columns), columns, (2.2, 1.9)) as axes:
        for axis in axes.ravel()[len(curves) :]:
            axis.set_axis_off()
        for axis, (dataset, by_loss) in zip(axes.ravel(), curves.items(), strict=False):
            for title, color in zip(LOSSES.values(), draw.COLORS, strict=False):
                runs = by_loss.get(title)
                if not runs:
                    continue
                hit = np.array([r["true_positives"] for r in runs], dtype=float)
                above = np.array([r["above"] for r in runs], dtype=float)
                recall = hit / np.array([[r["true_cells"]] for r in runs], dtype=float)
                precision = np.where(above > 0, hit / np.maximum(above, 1), 0.0)
                defined = (above > 0).sum(axis=0)
                mean = np.where(defined > 0, precision.sum(axis=0) / np.maximum(defined, 1), np.nan)
                tau = runs[0]["taus"]
                axis.plot(tau, recall.mean(axis=0), color=color, label=title)
                axis.plot(tau, (1 - recall).mean(axis=0), color=color, linestyle="--")
                axis.plot(tau, mean, color=color, linestyle=":")
            axis.set_title(column_title(dataset))
            axis.set_ylim(0, 1)
            axis.set_xlabel("tau")
        axes[0, 0].legend()


SPARSITY = Exhibit("fig-sparsity", "Untrusted cells against the threshold tau (the paper's figure 2)", render_sparsity)
ERRORS = Exhibit("fig-errors", "Detected and missed cells against tau (the paper's figure 11)", render_errors)
