"""The networks with default settings beside tuned ones, from finished runs: results/defaults.md.

    python benchmarks/committee.py --defaults --methods gcn,mlp,appnp,gnnguard,elasticgnn,airgnn --datasets cora \\
        --corruptions none,inject-random --output defaults.csv
    python benchmarks/committee.py --merge defaults.csv --into results/runs.csv
    python benchmarks/defaults.py

Tuned settings with random rows injected are those of table 1; on clean data those of results/baselines.csv, which has
no line for Amazon-Computers and WordNet, and other splits of Coauthor-CS.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

from committee import configs

from magnet.experiments.exhibits.base import Options, Results, Summary, summarize
from magnet.experiments.exhibits.classification import INJECTION, METHODS, chosen_datasets, column_title
from magnet.experiments.store import Store

NETWORKS = ("gcn", "mlp", "appnp", "gnnguard", "elasticgnn", "airgnn")
#: How far below tuned settings the default ones may be, in points of accuracy.
BAR = 3.0
#: How far below the best of them ours may be on clean data.
CLEAN_BAR = 0.5
HEAD = """# Networks with default settings

Test accuracy in percent with the settings that `MAGnetClassifier(model=NAME)` takes without being told anything (the
best on validation of two weight decays and, for APPNP, ElasticGNN and AirGNN, of three amounts of smoothing), beside
the settings that a search on validation found for each dataset, and their difference; no repair in either case. Ours,
on clean data, stands beside the best network with default settings. {count} of {all} are within {bar:g} points of the
tuned ones or above them; the others are bold. In brackets: number of repetitions, where it is not ten.
"""


def text(default: Summary | None, tuned: float | None, bar: float = BAR) -> str:
    """A cell: default / tuned (difference)."""
    if default is None:
        return "—"
    runs = f" [{default.runs}]" if default.runs != 10 else ""
    if tuned is None:
        return f"{default.mean:.1f}{runs}"
    shown = f"{default.mean:.1f} / {tuned:.1f} ({default.mean - tuned:+.1f}){runs}"
    return f"**{shown}**" if default.mean < tuned - bar else shown


def default_accuracy(results: Results, dataset: str, corruption: str, method: str) -> Summary | None:
    """Of the settings that are tried by default, those with the best validation accuracy in each repetition."""
    chosen = []
    for seed in range(10):
        rows = [results.get(c) for c in configs(dataset, corruption, range(seed, seed + 1), method, defaults=True)]
        finished = [row for row in rows if row is not None]
        if len(finished) == len(rows):
            chosen.append(max(finished, key=lambda row: row["val_accuracy"])["test_accuracy"])
    return summarize(chosen, 100)


def page(results: Results, baselines: Path) -> str:
    with baselines.open(newline="", encoding="utf-8") as file:
        clean = {(row["method"], row["dataset"]): float(row["test"]) for row in csv.DictReader(file)}
    tables, within, compared = [], 0, 0
    for corruption, title in (("inject-random", "Random rows injected"), ("none", "Clean data")):
        names = [METHODS[m].title.split(",")[0] for m in NETWORKS] + [METHODS["magnet"].title] * (corruption == "none")
        lines = [f"## {title}", "", "| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
        for dataset in chosen_datasets(Options(), INJECTION):
            cells, best = [], None
            for method in NETWORKS:
                default = default_accuracy(results, dataset, corruption, method)
                if corruption == "none":
                    tuned = clean.get((method, dataset))
                else:
                    row = "gcn-tuned" if method == "gcn" else method
                    summary = results.summary(configs(dataset, corruption, range(10), row), "test_accuracy", 100)
                    tuned = None if summary is None else summary.mean
                cells.append(text(default, tuned))
                best = max(best or 0.0, default.mean) if default is not None else best
                if default is not None and tuned is not None:
                    compared += 1
                    within += default.mean >= tuned - BAR
            if corruption == "none":
                ours = results.summary(configs(dataset, corruption, range(10), "magnet"), "test_accuracy", 100)
                cells.append(text(ours, best, CLEAN_BAR))
            lines.append(f"| {column_title(dataset)} | " + " | ".join(cells) + " |")
        tables.append("\n".join(lines) + "\n")
    return "\n".join([HEAD.format(count=within, all=compared, bar=BAR), *tables, f"Made by:\n\n{_commands()}"])


def _commands() -> str:
    return "\n".join("    " + line.strip() for line in (__doc__ or "").split("\n\n")[1].splitlines()) + "\n"


def main() -> None:
    csv.field_size_limit(1 << 30)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("results/runs.csv"))
    parser.add_argument("--baselines", type=Path, default=Path("results/baselines.csv"))
    parser.add_argument("--output", type=Path, default=Path("results/defaults.md"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.sqlite") as store:
        store.load(options.runs)
        options.output.write_text(page(Results(store), options.baselines), encoding="utf-8")
    print(options.output)


if __name__ == "__main__":
    main()
