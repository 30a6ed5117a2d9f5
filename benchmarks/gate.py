"""Evaluation of the gate: precision of the rows flagged without a gate, by the power that the gate estimates.

Random synthetic graphs, easy and hard, clean and corrupted.

Writes results/gate.md and results/gate.csv (one line for each graph).
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from _pages import command, header, save

from magnet import corruption, datasets, detection
from magnet.detection.options import GATE

BINS = [-np.inf, 0.7, 0.75, 0.8, 0.83, 0.85, 0.87, 0.9, 0.95, np.inf]


def one_graph(number: int) -> dict[str, Any]:
    """A graph drawn from everything that could come, and the rows that the ungated detector flags in it."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(number)

    def draw(values: list[Any]) -> Any:
        return values[rng.integers(len(values))]

    kind = draw(["binary", "continuous"])
    nodes, features, classes = draw([100, 200, 400, 1000, 2500]), draw([30, 100, 500]), draw([3, 6])
    homophily, degree = draw([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]), draw([2.0, 4.0, 10.0])
    signal = draw([0.2, 0.4, 0.7] if kind == "binary" else [0.2, 0.5, 1.0])
    ratio, select = draw([0.0, 0.0, 0.1, 0.3, 0.5, 0.7]), draw(["random", "farthest"])
    data = datasets.synthetic(nodes, features, classes, degree, homophily, kind, signal=signal, seed=number)
    truth = torch.zeros(nodes, dtype=torch.bool)
    if ratio:
        bad = corruption.inject_attributes(data, ratio=ratio, select=select, seed=number)
        data, truth = bad.data, bad.cells.any(dim=1)
    fitted = detection.make("context", gated=False).fit(data)
    flagged, gate = fitted.swapped_rows_, fitted.gate_
    assert gate is not None
    return {
        "graph": number,
        "kind": kind,
        "nodes": nodes,
        "homophily": homophily,
        "select": select if ratio else "clean",
        "true_share": float(truth.float().mean()),
        "share": fitted.share_,
        "power": gate.power,
        "adjusted": gate.adjusted,
        "false_share": gate.false_share,
        "open": gate.open,
        "flagged": int(flagged.sum()),
        "right": int((flagged & truth).sum()),
        "wrong_rows": int(truth.sum()),
    }


def as_markdown(frame: pd.DataFrame, seconds: float) -> str:
    lines = [
        "# The gate",
        "",
        f"{len(frame)} random synthetic graphs (100 to 2500 nodes, 30 to 500 features, homophily 0.1 to 0.9), a third",
        "of them clean, the others with 10 to 70 % of the rows drawn to be replaced. Rows flagged by `context` without",
        "a gate, by the AUROC of correct rows against permuted ones, as estimated by the gate. The gate opens if",
        f"rows are not exchangeable over nodes (level {GATE.level:g}) and at most {GATE.max_false_share:.0%} of the",
        "flagged rows are expected to be correct.",
        "Precision: of all flagged rows in the corrupted graphs, the share that is wrong (chance level in",
        "brackets).",
        "",
        *header("AUROC, adjusted", "graphs", "gate open", "corrupted: precision", "recall", "clean: rows flagged"),
    ]
    for label, part in by_bin(frame):
        bad, clean = part[part["select"] != "clean"], part[part["select"] == "clean"]
        flagged, wrong = bad["flagged"].sum(), bad["wrong_rows"].sum()
        precision = f"{bad['right'].sum() / flagged:.2f} ({wrong / bad['nodes'].sum():.2f})" if flagged else "-"
        recall = f"{bad['right'].sum() / wrong:.2f}" if wrong else "-"
        touched = f"{clean['flagged'].sum() / clean['nodes'].sum():.1%}" if len(clean) else "-"
        lines.append(f"| {label} | {len(part)} | {part['open'].mean():.0%} | {precision} | {recall} | {touched} |")
    lines += ["", f"Made in {seconds:.0f} s by:", "", f"    {command()}", ""]
    return "\n".join(lines)


def by_bin(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    place = np.digitize(frame["adjusted"].fillna(0.5), BINS[1:-1])
    names = [f"below {BINS[1]}", *(f"{a} - {b}" for a, b in pairwise(BINS[1:-1]))]
    names.append(f"{BINS[-2]} and above")
    out = [(name, frame[place == k]) for k, name in enumerate(names)]
    out += [("**gate open**", frame[frame["open"]]), ("**gate closed**", frame[~frame["open"]])]
    return [(name, part) for name, part in out if len(part)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--output", type=Path, default=Path("results"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    start, rows = time.perf_counter(), []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(one_graph, number) for number in range(options.graphs)]
        for count, future in enumerate(as_completed(waiting), 1):
            rows.append(future.result())
            print(f"\r{count}/{options.graphs}", end="", flush=True)
            if count % 20 and count < options.graphs:
                continue
            frame = pd.DataFrame(sorted(rows, key=lambda row: row["graph"]))
            frame.to_csv(options.output / "gate.csv", index=False, float_format="%.4f")
            text = as_markdown(frame, time.perf_counter() - start)
            save(text, options.output / "gate.md")
    print("\n" + text)


if __name__ == "__main__":
    main()
