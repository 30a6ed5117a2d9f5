"""Every detector on every kind of corruption: detection of wrong rows and cells, and running time.

Writes results/detection.md, results/detection.csv, which has one line for each dataset, corruption, seed and detector,
and results/reliability.svg and .png. Lines that are there are not measured again, so a run that was stopped goes on
where it was; with ``--merge`` the lines of other folders are taken over first. Lines of a former version of the
detectors are left out where the same case was measured with a newer one. ``--ceiling`` asks oracles how well replaced
rows and flipped cells could be told at best, into results/ceiling.csv.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import _ceiling
import numpy as np
import pandas as pd
import torch
from _detection_report import as_markdown, draw_reliability, reliability_curves
from _mixed_table import mixed_table
from _pages import command, commit, cores

from magnet import corruption, datasets, detection
from magnet.experiments.store.versions import RESULT_VERSIONS
from magnet.files import write_text

ROWS = [
    (f"{kind} {ratio}", f"inject-{kind}", {"ratio": ratio}) for kind in ("far", "random") for ratio in (0.1, 0.3, 0.5)
]
HALF = [case for case in ROWS if case[0].endswith("0.5")]
FLIPS = [
    ("flips 10 % x 1 %", "cells-flip", {"node_share": 0.1, "ratio": 0.01}),
    ("flips 30 % x 2 %", "cells-flip", {"node_share": 0.3, "ratio": 0.02}),
]
OUTLIERS = [("outliers 30 % x 5 %", "cells-outlier", {"node_share": 0.3, "ratio": 0.05})]
CLEAN = [("clean", None, {})]
META = [("meta attack", "meta", {}), ("capped meta attack", "meta", {"per_row": 3})]
CASES: dict[str, list[tuple[str, str | None, dict[str, Any]]]] = {
    "cora": ROWS + FLIPS + META + CLEAN,
    "citeseer": ROWS + FLIPS + META + CLEAN,
    "pubmed": ROWS + OUTLIERS + META + CLEAN,
    "wordnet": [case for case in ROWS if "random" in case[0]] + OUTLIERS + CLEAN,
    "coauthor-cs": HALF + CLEAN,
    "amazon-computers": HALF + FLIPS[1:] + CLEAN,
    "digits": HALF + OUTLIERS + CLEAN,
    "wisconsin": HALF + FLIPS[1:] + CLEAN,
    "texas": HALF + CLEAN,
    "mixed table": [("errors in 10 % of rows", "mixed", {}), *CLEAN],
}
DETECTORS = (
    "auto",
    "context",
    "cell",
    "gae",
    "cosine-centered",
    "cosine",
    "zscore",
    "rowsum",
    "duplicates",
    "row-residual",
    "fp-residual",
)


def one_case(
    name: str,
    case: str,
    seed: int,
    detectors: list[str],
    device: str,
    gae_epochs: int,
    folder: str | None,
    threads: int,
) -> list[dict[str, Any]]:
    """All detectors on one corrupted graph."""
    torch.set_num_threads(threads)
    _, kind, options = next(c for c in CASES[name] if c[0] == case)
    columns = None
    if name == "mixed table":
        data, columns, cells = mixed_table(seed, kind is not None)
    else:
        data = datasets.load(name)
        cells = torch.zeros(tuple(data.x.shape), dtype=torch.bool)
        if kind is not None:
            extra = {"device": device} if kind == "meta" else {}
            bad = corruption.corrupt_once(data, kind, seed, folder, **options, **extra)
            data, cells = bad.data, bad.cells
    data.x, cells = data.x.to(device), cells.to(device)
    rows = []
    for detector in detectors:
        extra = {"epochs": min(gae_epochs, 1000 if data.num_nodes < 10_000 else 10_000)} if detector == "gae" else {}
        fitted = detection.make(detector, seed=seed, **extra)
        start = time.perf_counter()
        fitted.fit(data, columns)
        if device == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        row = {"dataset": name, "corruption": case, "seed": seed, "detector": detector, "seconds": seconds}
        row["version"] = RESULT_VERSIONS["detector"]
        row |= detection.metrics(fitted, cells) | {"gate": "" if fitted.gate_ is None else fitted.gate_.reason}
        row["reliability"] = reliability(fitted, cells) if detector in ("auto", "context", "cell") else ""
        rows.append(row)
        del fitted
        if device == "cuda":
            torch.cuda.empty_cache()
    return rows


def reliability(fitted: detection.Detector, cells: torch.Tensor) -> str:
    """Per bin of the probability: how many, their mean probability, how many of them are wrong."""
    out = {"cells": np.zeros((10, 3)), "rows": np.zeros((10, 3))}
    verdict = fitted.verdict_
    pieces = [
        ("cells", verdict.block(*r).probability.flatten(), cells[:, slice(*r)].flatten()) for r in verdict.data.ranges()
    ]
    for level, p, truth in [*pieces, ("rows", fitted.node_probability_, cells.any(dim=1))]:
        which = (p * 10).long().clamp(0, 9)
        count = torch.bincount(which, minlength=10)
        total = torch.bincount(which, weights=p.double(), minlength=10)
        wrong = torch.bincount(which, weights=truth.double(), minlength=10)
        out[level] += torch.stack([count.double(), total, wrong], dim=1).cpu().numpy()
    return json.dumps({level: values.round(3).tolist() for level, values in out.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=",".join(CASES))
    parser.add_argument("--detectors", default=",".join(DETECTORS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--jobs", type=int, default=1, help="cases at the same time")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each case")
    parser.add_argument("--gae-epochs", type=int, default=10_000, help="at most so many epochs for gae")
    parser.add_argument("--cases", default="", help="corruptions to run, comma-separated (default: all)")
    parser.add_argument("--corrupted", default=None, help="folder of corrupted graphs (default: the cache)")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="folders with a detection.csv of their own")
    parser.add_argument("--ceiling", action="store_true", help="ask the oracles, and do nothing else")
    parser.add_argument("--output", type=Path, default=Path("results"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.ceiling:
        ask_oracles(options.seeds, options.output, options.corrupted)
        return
    paths = [folder / "detection.csv" for folder in (options.output, *options.merge)]
    done = newest([row for path in paths if path.is_file() for row in read(path)])
    finished = {(r["dataset"], r["corruption"], r["seed"], r["detector"]) for r in done}
    code = commit()
    machine = torch.cuda.get_device_name() if options.device == "cuda" else cores()
    work = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in options.datasets.split(","):
            for case, *_ in CASES[name]:
                left = [d for d in options.detectors.split(",") if (name, case, seed, d) not in finished]
                wanted = options.cases == "" or case in options.cases.split(",")
                if left and wanted:
                    work.append((name, case, seed, left))
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        more = (options.device, options.gae_epochs, options.corrupted, options.threads)
        waiting = {pool.submit(one_case, *w, *more): w[:3] for w in work}
        for count, future in enumerate(as_completed(waiting), 1):
            done += [row | {"machine": machine, "code": code, "command": command()} for row in future.result()]
            print(f"{count}/{len(work)} {waiting[future]}", flush=True)
            write(done, options.output)
    write(done, options.output)


def read(path: Path) -> list[dict[str, Any]]:
    frame = pd.read_csv(path, dtype={"gate": object, "reliability": object})
    return frame.fillna({"gate": "", "reliability": ""}).to_dict("records")


def newest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of lines of the same case, seed and detector the last one; none of a version before the newest of its case."""
    last = {(r["dataset"], r["corruption"], r["seed"], r["detector"]): r for r in rows}
    version: dict[tuple[str, str, str], int] = {}
    for (name, case, _, detector), row in last.items():
        version[name, case, detector] = max(row["version"], version.get((name, case, detector), 0))
    return [r for (name, case, _, detector), r in last.items() if r["version"] == version[name, case, detector]]


def ask_oracles(seeds: int, output: Path, folder: str | None) -> None:
    rows: list[dict[str, Any]] = []
    for ask, names in ((_ceiling.replaced_rows, _ceiling.ROWS), (_ceiling.flipped_cells, _ceiling.CELLS)):
        for name, seed in product(names, range(seeds)):
            for kind, value in ask(name, seed, folder=folder).items():
                rows.append({"dataset": name, "seed": seed, "oracle": kind, "value": value})
                print(rows[-1], flush=True)
            pd.DataFrame(rows).to_csv(output / "ceiling.csv", index=False, float_format="%.5f")


def write(done: list[dict[str, Any]], output: Path) -> None:
    """The table as it is now; nothing is half-written when the run is stopped."""
    order = list(CASES)
    done.sort(
        key=lambda r: (
            order.index(r["dataset"]),
            [c[0] for c in CASES[r["dataset"]]].index(r["corruption"]),
            r["seed"],
            DETECTORS.index(r["detector"]),
        )
    )
    frame = pd.DataFrame(done)
    oracle = output / "ceiling.csv"
    text = as_markdown(frame, pd.read_csv(oracle) if oracle.is_file() else None)
    for name, content in (("detection.csv", frame.to_csv(index=False, float_format="%.5f")), ("detection.md", text)):
        write_text(output / name, content)
    draw_reliability(reliability_curves(frame), output)


if __name__ == "__main__":
    main()
