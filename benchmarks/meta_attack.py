"""Effect of the meta attack on a GCN, compared with random changes of the same number of cells.

Test accuracy of a two-layer GCN before and after, mean and deviation over seeds, beside the paper's Table 1.
Written to results/meta_attack.md and results/meta_attack.csv; rows of datasets that are not run again are kept.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd
from _measure import gcn_accuracies
from _pages import command, header, made_by, publish, with_earlier_rows

from magnet.corruption import meta_attack
from magnet.datasets import load

PAPER = {"cora": (81.3, 75.1), "citeseer": (71.8, 55.3), "pubmed": (79.0, 72.9)}


def measure(name: str, options: argparse.Namespace) -> list[dict[str, object]]:
    data = load(name)
    records = []
    for attack in ("clean", "meta", "random"):
        for seed in range(1 if attack == "clean" else options.attack_seeds):
            start = time.perf_counter()
            bad = None
            if attack != "clean":
                bad = meta_attack(data, options.budget, seed, attack, options.flips_per_step, device=options.device)
                if options.save:
                    bad.save(options.save / f"{name}-{bad.info['kind']}-{seed}.npz")
            seconds = time.perf_counter() - start
            accuracy = 100 * gcn_accuracies(data if bad is None else bad.data, options.seeds, options.device)
            record = {
                "dataset": name,
                "attack": attack,
                "attack_seed": seed,
                "budget": 0 if bad is None else bad.info["budget"],
                "flips_per_step": 0 if bad is None else bad.info.get("flips_per_step", 0),
                "wrong_nodes": 0 if bad is None else int(bad.nodes.sum()),
                "accuracy": accuracy.mean(),
                "deviation": accuracy.std(ddof=1),
                "seconds": seconds,
                "checksum": "" if bad is None else bad.info["checksum"],
                "command": command(),
            }
            print(record, flush=True)
            records.append(record)
    return records


def as_markdown(frame: pd.DataFrame) -> str:
    lines = [
        "# Meta attack on the attributes",
        "",
        "Test accuracy in percent of a two-layer GCN (hidden 64, learning rate 5e-3, weight decay 5e-3, dropout 0.5,",
        "200 epochs, epoch chosen on validation accuracy), mean ± deviation over initializations. `random` changes",
        "as many cells, drawn at random, and is the control. Budgets were tuned on this accuracy so that it",
        "comes near the paper's Table 1, whose budgets are not published: about seven settings of cells and",
        "cells per step were tried on CiteSeer and a dozen on PubMed, on the attack seeds shown, so that",
        "agreement with the paper was selected for and is not a finding. The attack is chaotic: different rounding",
        "changes the attacked cells. Two runs of one setting on a GPU (CiteSeer, 3000 cells, 10 per step, attack",
        "seeds 0 to 2) gave means of 55.7 over 10 initializations and 58.9 over 5. On PubMed, with 60",
        "training nodes and cells that move to the end of their column's range, single cells decide: attack",
        "seeds differ widely.",
        "",
        *header(
            *("dataset", "attack", "seed", "cells changed", "per step", "nodes touched", "accuracy", "paper"),
            "attack time",
        ),
    ]
    for row in frame.itertuples():
        clean, attacked = PAPER.get(row.dataset, ("-", "-"))
        paper = {"clean": clean, "meta": attacked}.get(row.attack, "-")
        attacked_seed = "-" if row.attack == "clean" else row.attack_seed
        lines.append(
            f"| {row.dataset} | {row.attack} | {attacked_seed} | {row.budget} | {row.flips_per_step or '-'} | "
            f"{row.wrong_nodes} | {row.accuracy:.1f} ± {row.deviation:.1f} | {paper} | {row.seconds:.0f} s |"
        )
    return "\n".join([*lines, *made_by(frame["command"].unique())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default="cora,citeseer,pubmed")
    parser.add_argument("--budget", type=int, help="cells to change (default: the calibrated number)")
    parser.add_argument("--flips-per-step", type=int)
    parser.add_argument("--seeds", type=int, default=5, help="initializations of the GCN")
    parser.add_argument("--attack-seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--save", type=Path, help="folder for the attacked graphs")
    parser.add_argument("--output", type=Path, default=Path("results"))
    options = parser.parse_args()
    names = options.datasets.split(",")
    frame = pd.DataFrame([record for name in names for record in measure(name, options)])
    path = options.output / "meta_attack.csv"
    frame = with_earlier_rows(frame, path, ["dataset"])
    publish(frame, as_markdown(frame), path, digits=3)


if __name__ == "__main__":
    main()
