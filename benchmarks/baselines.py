"""Every model on clean data, tuned on validation, beside the published number.

Four steps; the second may run on another machine (it needs no Optuna), and the first three may be repeated:

    python benchmarks/baselines.py ask --trials 16           # settings to try -> studies/batch.json
    python benchmarks/baselines.py evaluate --workers 8      # their validation accuracies -> studies/scores.jsonl
    python benchmarks/baselines.py tell                      # into the studies, the best into settings.toml
    python benchmarks/baselines.py final --workers 8         # ten repetitions of the best -> studies/final.jsonl
    python benchmarks/baselines.py report                    # results/baselines.md and .csv

``evaluate --final`` does the second and the fourth step in one go. With ``--top 3`` the three best settings of the
search get ten repetitions, and the one with the best mean validation accuracy over these is reported: with fewer
repetitions the search alone cannot tell near-ties apart.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import time
from pathlib import Path
from typing import Any

METHODS = ("gcn", "mlp", "appnp", "gnnguard", "elasticgnn", "airgnn")
DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "wisconsin", "texas")
# Large first, so that no worker is left with one at the end.
ORDER = ("coauthor-cs", "pubmed", "citeseer", "cora", "wisconsin", "texas")
SMALL = ("wisconsin", "texas")


def tasks(options: argparse.Namespace) -> list[tuple[str, str]]:
    datasets = options.datasets.split(",")
    return [(m, d) for d in sorted(datasets, key=ORDER.index) for m in options.methods.split(",")]


def study(options: argparse.Namespace, method: str, dataset: str) -> Path:
    """The file of a study, with one line for each finished trial."""
    return options.studies / f"{method}-{dataset}-{options.corruption}.jsonl"


def trials_of(path: Path) -> list[Any]:
    from magnet.experiments.tuning.search import Trial

    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    # a line that was cut off when the machine went down is no trial
    return [Trial(**json.loads(line)) for line in lines if line.endswith("}")]


def ask(options: argparse.Namespace) -> None:
    from magnet.experiments.tuning.search import ask as next_settings

    batches = []
    for method, dataset in tasks(options):
        trials = trials_of(study(options, method, dataset))
        place = {"method": method, "dataset": dataset, "corruption": options.corruption}
        known = [[trial.settings, trial.score] for trial in trials]
        batches.append({**place, "settings": next_settings(method, trials, options.trials), "known": known})
    options.studies.mkdir(parents=True, exist_ok=True)
    (options.studies / "batch.json").write_text(json.dumps(batches), encoding="utf-8")
    print(f"{len(batches)} batches of {options.trials} settings in {options.studies / 'batch.json'}")


def evaluate(options: argparse.Namespace) -> None:
    batches = json.loads((options.studies / "batch.json").read_text(encoding="utf-8"))
    _spread(_evaluate_one, batches, options, "scores.jsonl")


def _evaluate_one(batch: dict[str, Any], options: argparse.Namespace) -> list[dict[str, Any]]:
    from magnet.experiments.tuning.search import Batch, race

    known = batch.pop("known", [])
    start = time.perf_counter()
    raced = race([Batch(**batch)], range(options.seeds), prune=False, **_where(batch["dataset"], options))
    scores = [trial.score for trial in raced[0]]
    results: list[dict[str, Any]] = [{**batch, "scores": scores, "seconds": time.perf_counter() - start}]
    if options.final:
        trials = [*known, *zip(batch["settings"], scores, strict=True)]
        row = {"method": batch["method"], "dataset": batch["dataset"], "corruption": batch["corruption"]}
        results += _final_one({**row, "candidates": _top(trials, options.top), "trials": len(trials)}, options)
    return results


def _final_one(task: dict[str, Any], options: argparse.Namespace) -> list[dict[str, Any]]:
    from magnet.experiments import methods, run_many

    start = time.perf_counter()
    where = _where(task["dataset"], options)
    common = {**{name: task[name] for name in ("dataset", "corruption", "method")}, "split": where["split"]}
    runs = [
        [
            row
            for _, row in sorted(
                run_many([{**common, **settings, "seed": seed} for seed in range(10)], where["device"])
            )
        ]
        for settings in task.pop("candidates")
    ]
    rows = max(runs, key=lambda rows: statistics.mean(row["val_accuracy"] for row in rows))
    searched = methods.get(task["method"]).space
    settings = {name: value for name, value in rows[0]["config"].items() if name in searched}
    command = " ".join(["python benchmarks/baselines.py", *sys.argv[1:]])
    facts = {"settings": settings, "top": len(runs), "seconds": time.perf_counter() - start, "command": command}
    return [{**task, **facts, "rows": rows}]


def _top(trials: list[Any], count: int) -> list[dict[str, Any]]:
    """The settings with the best validation accuracies in the search."""
    return [settings for settings, _ in sorted(trials, key=lambda trial: -trial[1])[:count]]


def _where(dataset: str, options: argparse.Namespace) -> dict[str, Any]:
    """Small graphs are as fast on a CPU core, and leave the GPU to the others."""
    return {
        "device": "cpu" if dataset in SMALL else options.device,
        "split": "seed" if dataset == "coauthor-cs" else None,
    }


def _spread(work: Any, items: list[dict[str, Any]], options: argparse.Namespace, name: str) -> None:
    """Run tasks in worker processes; each result is in its file as soon as it is there."""
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    if options.workers == 1:
        results = map(_guarded, [(work, item, options) for item in items])
        _collect(results, options.out, start, name)
        return
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        jobs = [(work, item, options) for item in items]
        _collect(pool.imap_unordered(_guarded, jobs), options.out, start, name)


def _guarded(job: tuple[Any, dict[str, Any], argparse.Namespace]) -> list[dict[str, Any]]:
    import torch

    torch.set_num_threads(1)
    work, item, options = job
    try:
        return work(item, options)
    except Exception as error:
        return [{"method": item["method"], "dataset": item["dataset"], "error": repr(error)}]


def _collect(results: Any, folder: Path, start: float, name: str) -> None:
    for found in results:
        for result in found:
            target = "final.jsonl" if "rows" in result else name
            with (folder / target).open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
            note = result.get("error") or f"{result.get('seconds', 0):.0f} s"
            print(f"{time.perf_counter() - start:6.0f} s  {result['method']} {result['dataset']}: {note}", flush=True)


def tell(options: argparse.Namespace) -> None:
    from magnet.experiments.tuning.search import best

    for line in (options.out / "scores.jsonl").read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        name = f"{found['method']} {found['dataset']}"
        if "error" in found:
            print(f"{name}: {found['error']}")
            continue
        path = study(options, found["method"], found["dataset"])
        seen = [trial.settings for trial in trials_of(path)]
        if all(settings in seen for settings in found["settings"]):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            for settings, score in zip(found["settings"], found["scores"], strict=True):
                file.write(json.dumps({"settings": settings, "score": score, "pruned": False}) + "\n")
        trials = trials_of(path)
        print(f"{name}: {100 * best(trials).score:.2f} of {len(trials)} trials, {best(trials).settings}")
    keep(options)


def keep(options: argparse.Namespace) -> None:
    """The best of every study into ``settings.toml``."""
    import copy

    from magnet.experiments.tuning.search import best
    from magnet.experiments.tuning.settings import SHIPPED, read, write

    found = copy.deepcopy(read(SHIPPED))
    for method, dataset in tasks(options):
        trials = trials_of(study(options, method, dataset))
        if trials:
            entry = {"val_accuracy": round(best(trials).score, 4), "trials": len(trials)}
            place = found.setdefault(method, {}).setdefault(dataset, {})
            place[options.corruption] = {**entry, "settings": best(trials).settings}
    write(found, SHIPPED)


def final(options: argparse.Namespace) -> None:
    items = []
    for method, dataset in tasks(options):
        trials = [(trial.settings, trial.score) for trial in trials_of(study(options, method, dataset))]
        if not trials:
            print(f"{method} {dataset}: no finished trial")
            continue
        row = {"method": method, "dataset": dataset, "corruption": options.corruption}
        items.append({**row, "candidates": _top(trials, options.top), "trials": len(trials)})
    _spread(_final_one, items, options, "final.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = {"ask": ask, "evaluate": evaluate, "tell": tell, "final": final, "report": report}
    parser.add_argument("step", choices=steps)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--corruption", default="none")
    parser.add_argument("--trials", type=int, default=16, help="settings to ask for, for each method and dataset")
    parser.add_argument("--seeds", type=int, default=3, help="repetitions of each setting in the search")
    parser.add_argument("--top", type=int, default=1, help="how many of the best settings get ten repetitions")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default=None)
    parser.add_argument("--final", action="store_true", help="evaluate: also ten repetitions of the best setting")
    parser.add_argument("--studies", type=Path, default=Path("studies"))
    parser.add_argument("--out", type=Path, help="where results go (default: the studies' folder)")
    parser.add_argument("--output", type=Path, default=Path("results"))
    options = parser.parse_args()
    options.out = options.out or options.studies
    steps[options.step](options)


def report(options: argparse.Namespace) -> None:
    from _baselines_report import write

    write(options.out / "final.jsonl", options.output)


if __name__ == "__main__":
    sys.exit(main())
