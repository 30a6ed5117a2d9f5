"""Cleaning tables: detection of wrong cells and suggestion of values, compared with common tools.

    python benchmarks/cleaning.py [--examples districts,terrain,tumours] [--seeds 3] [--output results]

Every example is a table of mixed columns with 1 % of outliers, 1 % of contextual errors (values that are normal for the
column and wrong for this node) and 1 % of missing cells, all known (benchmarks/_tables.py).

Detection, all methods at the same number of flagged cells: as many as MAGnet flags. A method ranks the cells by its
score; those that score rows give all cells of a row the row's score and rank within a row by the robust z-score.

Suggestions: every method gets the same table with the wrong and missing cells removed (so their positions are known)
and is evaluated there: numbers by the root mean square error in robust standard deviations of the column, categories
and binaries by the share of correct values.

`--clean` adds the effect of default cleaning on the accuracy of a GCN on datasets without errors.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from _measure import gcn_accuracies
from _pages import command, header, publish
from _tables import EXAMPLES, Example
from torch_geometric.data import Data

from magnet import MAGnet, tables
from magnet.arrays import dense_x
from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.recovery import propagate, recover
from magnet.tables.encoding import Encoded, encode, with_nearest_links
from magnet.tables.suggest import suggest

HETEROPHILIC = ("wisconsin", "texas")
HOMOPHILIC = ("cora", "citeseer", "pubmed", "amazon-computers", "coauthor-cs")
FINDERS = ("MAGnet", "Tukey fences", "robust z-score", "ECOD (rows)", "IForest (rows)")
SUGGESTERS = (
    "MAGnet (regression)",
    "harmonic extension",
    "framelet recovery",
    "FeaturePropagation (PyG)",
    "KNNImputer",
    "IterativeImputer",
    "column median",
)


def find(example: Example, seed: int) -> list[dict[str, object]]:
    """Precision, and recall by kind of error, of all methods at equal numbers of flagged cells."""
    table = tables.from_frames(example.nodes, example.edges, id="id")
    began = time.perf_counter()
    model = MAGnet(seed=seed).fit(table)
    seconds = time.perf_counter() - began
    encoded = encode(table)
    place = [list(example.nodes.columns[1:]).index(f.name) for f in encoded.fields]
    outliers, contextual = example.outliers[:, place], example.contextual[:, place]
    present = ~encoded.missing
    listed = model.suspicious_cells()
    flagged = np.zeros(present.shape, dtype=bool)
    for k, f in enumerate(encoded.fields):
        flagged[listed.loc[listed["column"] == f.name, "row"], k] = True
    flagged &= present
    count = int(flagged.sum())
    scores = {"MAGnet": flagged.astype(float)} | column_scores(encoded) | row_scores(encoded, seed)
    ours_takes = {"MAGnet": seconds}
    records = []
    for name in FINDERS:
        score = np.where(present, scores[name], -np.inf).ravel()
        chosen = np.zeros(score.size, dtype=bool)
        chosen[np.argsort(-score, kind="stable")[:count]] = True
        chosen = chosen.reshape(flagged.shape)
        records.append(
            {
                "example": example.name,
                "seed": seed,
                "method": name,
                "flagged": count,
                "precision": float((chosen & (outliers | contextual)).sum() / max(1, count)),
                "recall of outliers": float((chosen & outliers).sum() / max(1, outliers.sum())),
                "recall of contextual errors": float((chosen & contextual).sum() / max(1, contextual.sum())),
                "seconds": ours_takes.get(name, np.nan),
            }
        )
    return records


def column_scores(encoded: Encoded) -> dict[str, np.ndarray]:
    """Scores that look at one column at a time, in the user's units; rare categories are suspicious."""
    fences, robust = [], []
    for k, (f, c) in enumerate(zip(encoded.fields, encoded.columns, strict=True)):
        x = encoded.x[:, c.start : c.stop].numpy().astype(np.float64)
        if f.kind in ("binary", "categorical"):
            value = x[:, 0] if f.kind == "binary" else np.nan_to_num(x).argmax(axis=1)
            share = pd.Series(value).map(pd.Series(value).value_counts(normalize=True)).to_numpy()
            score = -np.log(np.nan_to_num(share, nan=1.0))
            fences.append(score / 10)
            robust.append(score / 10)
            continue
        value = f.quantity(x[:, 0])
        value = np.where(encoded.unreadable[:, k], np.nanmax(np.abs(value)) * -10, value)  # a negative among positives
        low, middle, high = np.nanquantile(value, [0.25, 0.5, 0.75])
        spread = max(high - low, 1e-12)
        fences.append(np.nan_to_num(np.maximum(low - value, value - high) / spread))
        deviation = 1.4826 * np.nanmedian(np.abs(value - middle))
        robust.append(np.nan_to_num(np.abs(value - middle) / max(deviation, 1e-12)))
    return {"Tukey fences": np.stack(fences, axis=1), "robust z-score": np.stack(robust, axis=1)}


def row_scores(encoded: Encoded, seed: int) -> dict[str, np.ndarray]:
    """PyOD's detectors of rows, given the encoded table with medians for what is missing."""
    from pyod.models.ecod import ECOD
    from pyod.models.iforest import IForest

    x = encoded.x.numpy().astype(np.float64)
    x = np.where(np.isnan(x), np.nanmedian(x, axis=0), x)
    inside = column_scores(encoded)["robust z-score"]
    within = inside.argsort(axis=1).argsort(axis=1) / inside.shape[1]
    scores = {}
    for name, model in (("ECOD (rows)", ECOD()), ("IForest (rows)", IForest(random_state=seed))):
        row = model.fit(x).decision_scores_
        order = row.argsort().argsort()
        scores[name] = order[:, None] + 0.999 * within
    return scores


def suggest_all(example: Example, seed: int) -> list[dict[str, object]]:
    """Errors of the suggestions where the places of the errors are known."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer
    from torch_geometric.transforms import FeaturePropagation

    table = tables.from_frames(example.nodes, example.edges, id="id")
    table = with_nearest_links(table, 10)
    encoded = encode(table)
    right = encode(tables.from_frames(example.truth, example.edges, id="id"), encoded.fields)
    place = [list(example.nodes.columns[1:]).index(f.name) for f in encoded.fields]
    hidden = (example.outliers | example.contextual | example.missing)[:, place]
    x = encoded.x.clone()
    x[torch.from_numpy(encoded.per_column(hidden))] = torch.nan
    trust = (~x.isnan()).float()
    data = Data(x=x.clone(), edge_index=torch.from_numpy(table.links.edge_index))
    graph = Graph.from_edges(data.edge_index, table.num_nodes)
    given = table.links.kind == "given"
    W = FrameletTransform(data.edge_index, table.num_nodes)
    options = {"coordinates": "degree", "keep_trusted": True, "start": "propagated"}
    median = np.nanmedian(x.numpy(), axis=0)
    # like ours, it may not leave the range of its column; without that it diverges on one of the tables
    ranged = {"min_value": np.nanmin(x.numpy(), axis=0), "max_value": np.nanmax(x.numpy(), axis=0)}
    ways = {
        "MAGnet (regression)": lambda: suggest(x, trust, graph, encoded.columns, context=given).numpy(),
        "harmonic extension": lambda: propagate(x, trust, graph, lam=0.0, coordinates="degree").x.numpy(),
        "framelet recovery": lambda: recover(x, trust, W, **options).x.numpy(),
        "FeaturePropagation (PyG)": lambda: FeaturePropagation(missing_mask=x.isnan())(data).x.numpy(),
        "KNNImputer": lambda: KNNImputer().fit_transform(x.numpy()),
        "IterativeImputer": lambda: IterativeImputer(random_state=seed, **ranged).fit_transform(x.numpy()),
        "column median": lambda: np.where(np.isnan(x.numpy()), median, x.numpy()),
    }
    records = []
    for name in SUGGESTERS:
        began = time.perf_counter()
        guess = np.asarray(ways[name]())
        seconds = time.perf_counter() - began
        error, hits = judge(encoded, hidden, guess, right.x.numpy())
        records.append(
            {"example": example.name, "seed": seed, "method": name, "error": error, "right": hits, "seconds": seconds}
        )
    return records


def judge(encoded: Encoded, hidden: np.ndarray, guess: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Root mean square error of numbers, and share of categories and binaries that are right."""
    squares, hits = [], []
    for k, (f, c) in enumerate(zip(encoded.fields, encoded.columns, strict=True)):
        a, b = guess[hidden[:, k], c.start : c.stop], right[hidden[:, k], c.start : c.stop]
        if f.kind == "categorical":
            hits.append(a.argmax(axis=1) == b.argmax(axis=1))
        elif f.kind == "binary":
            hits.append(((a >= 0.5) == (b >= 0.5)).ravel())
        else:
            squares.append(((a - b) ** 2).ravel())
    return (
        float(np.sqrt(np.concatenate(squares).mean())),
        float(np.concatenate(hits).mean()) if hits else float("nan"),
    )


def on_clean_data(names: list[str], seeds: int, path: Path | None) -> pd.DataFrame:
    """What default cleaning changes on datasets without errors, and what that costs a GCN.

    Every line goes to ``path`` when it is measured; lines of other datasets that are there already stay.
    """
    from magnet.datasets import load

    earlier = pd.read_csv(path).to_dict("records") if path is not None and path.is_file() else []
    records = [record for record in earlier if record["dataset"] not in names]
    for name in names:
        data = load(name)
        began = time.perf_counter()
        model = MAGnet()
        clean = model.fit_transform(data)
        seconds = time.perf_counter() - began
        before, after = (dense_x(graph) for graph in (data, clean))
        changed = before != after
        accuracy = {"as it is": gcn_accuracies(data, seeds).mean()}
        accuracy["cleaned"] = gcn_accuracies(clean, seeds).mean() if bool(changed.any()) else accuracy["as it is"]
        records.append(
            {
                "dataset": name,
                "rows changed": float(changed.any(dim=1).float().mean()),
                "cells changed": float(changed.float().mean()),
                **accuracy,
                "gate": "open" if model.gate_ is None or model.gate_.open else "closed",
                "seconds": seconds,
            }
        )
        print(records[-1], flush=True)
        if path is not None:
            pd.DataFrame(records).to_csv(path, index=False, float_format="%.6f")
    return pd.DataFrame(records)


def as_markdown(detected: pd.DataFrame, suggested: pd.DataFrame, clean: pd.DataFrame | None) -> str:
    lines = ["# Cleaning tables", "", *__doc__.strip().split("\n\n", 2)[2].split("\n"), ""]
    lines += [
        "## Finding wrong cells",
        "",
        *header("example", "method", "flagged", "precision", "recall of outliers", "recall of contextual errors"),
    ]
    for (example, method), group in detected.groupby(["example", "method"], sort=False):
        mean = group.mean(numeric_only=True)
        cells = " | ".join(
            f"{mean[key]:.3f}" for key in ("precision", "recall of outliers", "recall of contextual errors")
        )
        lines.append(f"| {example} | {method} | {mean['flagged']:.0f} | {cells} |")
    lines += [
        "",
        "## Suggesting values",
        "",
        *header("example", "method", "error of numbers", "categories right", "seconds"),
    ]
    for (example, method), group in suggested.groupby(["example", "method"], sort=False):
        mean = group.mean(numeric_only=True)
        hits = "-" if np.isnan(mean["right"]) else f"{mean['right']:.3f}"
        lines.append(f"| {example} | {method} | {mean['error']:.3f} | {hits} | {mean['seconds']:.2f} |")
    if clean is not None:
        lines += [
            "",
            "## Cleaning clean data",
            "",
            "Test accuracy of a GCN, before and after `MAGnet().fit_transform(data)`.",
            "",
            *header("dataset", "gate", "rows changed", "cells changed", "accuracy as it is", "cleaned", "seconds"),
        ]
        for row in clean.to_dict("records"):
            lines.append(
                f"| {row['dataset']} | {row['gate']} | {row['rows changed']:.2%} | {row['cells changed']:.3%} | "
                f"{row['as it is']:.1%} | {row['cleaned']:.1%} | {row['seconds']:.1f} |"
            )
    where = f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__.split('+')[0]}"
    return "\n".join([*lines, "", f"Made by `{command()}` ({where}).", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", default=",".join(EXAMPLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--clean", action="store_true", help="also clean the datasets without errors (needs their files)"
    )
    parser.add_argument("--datasets", default=",".join((*HETEROPHILIC, *HOMOPHILIC)))
    parser.add_argument("--output", type=Path, help="write cleaning.md and cleaning.csv into this folder")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    found, suggested = [], []
    for name in options.examples.split(","):
        for seed in range(options.seeds):
            example = EXAMPLES[name](seed)
            found += find(example, seed)
            suggested += suggest_all(example, seed)
            print(f"{name}, seed {seed} done", flush=True)
    clean = None
    kept = options.output / "cleaning_clean.csv" if options.output is not None else None
    if options.clean or (kept is not None and kept.is_file()):
        clean = on_clean_data(options.datasets.split(",") if options.clean else [], 10, kept)
    text = as_markdown(pd.DataFrame(found), pd.DataFrame(suggested), clean)
    if options.output is None:
        print(text)
        return
    both = pd.concat([pd.DataFrame(found), pd.DataFrame(suggested)], ignore_index=True)
    publish(both, text, options.output / "cleaning.csv", digits=5)


if __name__ == "__main__":
    main()
