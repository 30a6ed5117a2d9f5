"""Detection of corrupted nodes by trivial scores, the baseline for every detector.

Three scores that know nothing of the graph: the row sum (long rows), how often the exact row occurs (copied
rows), and the distance to the mean row. Written to results/shortcuts.md and results/shortcuts.csv.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from _pages import command, header, made_by, publish, with_earlier_rows
from sklearn.metrics import roc_auc_score

from magnet.arrays import to_scipy
from magnet.corruption import corrupt
from magnet.datasets import info, load

KINDS = ("inject-far", "inject-random", "meta", "cells-flip", "cells-outlier")
SCORES = ("row sum", "repeated rows", "distance to mean")


def trivial_scores(x: object) -> dict[str, np.ndarray]:
    """Per node, higher = more suspicious."""
    rows = to_scipy(x).astype(np.float64)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    square = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    keys = [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in bounds]
    count = Counter(keys)
    return {
        "row sum": np.asarray(rows.sum(axis=1)).ravel(),
        "repeated rows": np.array([count[key] for key in keys]),
        "distance to mean": square - 2 * (rows @ mean) + mean @ mean,
    }


def measure(datasets: list[str], kinds: list[str], seeds: int) -> pd.DataFrame:
    records = []
    for name in datasets:
        data = load(name)
        for kind in kinds:
            if (kind == "cells-flip") == (info(name).kind != "binary") and kind.startswith("cells"):
                continue
            for seed in range(1 if kind == "meta" else seeds):
                try:
                    bad = corrupt(data, kind, seed=seed)
                except ValueError as error:
                    print(f"{name} {kind}: left out ({error})", flush=True)
                    break
                for score, values in trivial_scores(bad.data.x).items():
                    records.append(
                        {
                            "dataset": name,
                            "corruption": kind,
                            "seed": seed,
                            "score": score,
                            "node_auroc": roc_auc_score(bad.nodes.numpy(), values),
                            "node_share": bad.info["node_share"],
                            "cell_share": bad.info["cell_share"],
                            "command": command(),
                        }
                    )
            print(f"{name} {kind} done", flush=True)
    return pd.DataFrame(records)


def as_markdown(frame: pd.DataFrame) -> str:
    lines = [
        "# Shortcuts: trivial scores against every corruption",
        "",
        "Node AUROC (mean over seeds) of scores that use neither graph nor model. 0.5 is chance. A score far from 0.5",
        "on either side reveals the corruption (below 0.5: with reversed sign).",
        "",
        "**Read before quoting a result on `inject-far`:** the farthest of many candidates is a long row, so on bags",
        "of words the row sum alone finds the corrupted nodes. Always show `inject-random` beside it, where the row",
        "sum carries no information; copied rows occur twice there, which exact duplicates reveal in part.",
        "",
        "The same holds for `cells-flip` on sparse bags of words: nearly all flips add a word (29 to a row of 18 on",
        "Cora), so the row sum reveals the affected nodes. Evaluate it by cells, not by nodes.",
        "",
        *header("dataset", "corruption", "wrong nodes", "wrong cells", *SCORES),
    ]
    for (name, kind), group in frame.groupby(["dataset", "corruption"], sort=False):
        means = group.groupby("score")["node_auroc"].mean()
        cells = " | ".join(f"{means[score]:.3f}" for score in SCORES)
        lines.append(
            f"| {name} | {kind} | {group['node_share'].mean():.1%} | {group['cell_share'].mean():.3%} | {cells} |"
        )
    return "\n".join([*lines, *made_by(frame["command"].unique())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--datasets", default="cora,citeseer,pubmed,coauthor-cs,amazon-computers,wisconsin,texas,wordnet,digits"
    )
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("results"))
    options = parser.parse_args()
    start = time.perf_counter()
    frame = measure(options.datasets.split(","), options.kinds.split(","), options.seeds)
    path = options.output / "shortcuts.csv"
    order = [*(pd.read_csv(path)["dataset"].unique() if path.is_file() else ()), *frame["dataset"].unique()]
    frame = with_earlier_rows(frame, path, ["dataset", "corruption"])
    frame = frame.sort_values("dataset", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)
    publish(frame, as_markdown(frame), path, digits=5)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
