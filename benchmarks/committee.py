"""Rows of table 1 for our default, `MAGnetClassifier()`, on one device, within a given time.

    python benchmarks/committee.py --device cuda --datasets cora,citeseer --repeats 10 --minutes 8 --output rows.csv
    python benchmarks/committee.py --merge rows.csv --into results/runs.csv

Settings of a rival that has none yet are searched first, on validation and with random rows injected; the settings to
try are chosen where Optuna is installed (`--ask`), and tried where the runs are (`--searches`):

    python benchmarks/committee.py --ask trials.json --methods ugd --datasets cora,citeseer --trials 16
    python benchmarks/committee.py --searches trials.json --methods ugd --datasets cora,citeseer --output rows.csv
    python benchmarks/committee.py --merge rows.csv --into results/runs.csv --settings src/.../settings.toml

The rows are runs of the result store like any other (`magnet reproduce table1` shows them); they are exported to
`--output` after every group, so that what is finished is there when the time is over.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
import traceback
from functools import cache
from pathlib import Path
from typing import Any

from magnet.datasets import load
from magnet.experiments.exhibits.base import Options
from magnet.experiments.exhibits.classification import Setting, config, searches
from magnet.experiments.protocol.registry import compute
from magnet.experiments.store import Store
from magnet.experiments.tuning.search import choose, plan
from magnet.experiments.tuning.settings import tuned_under
from magnet.nn.recipes import recipes_of

META = ("cora", "citeseer", "pubmed")


def configs(
    dataset: str,
    corruption: str,
    seeds: range,
    method: str,
    settings: Path | None = None,
    defaults: bool = False,
) -> list[dict[str, Any]]:
    """The runs of table 1 in one of its columns, or those of a network with the settings that a user gets."""
    setting = Setting(dataset, corruption)
    if not defaults:
        return [config(Options(repeats=seeds.stop, settings=settings), setting, method, seed) for seed in seeds]
    recipes = (dict(recipe.settings) for recipe in recipes_of(method, {}, None, train_nodes(dataset)))
    # the number of components is for repaired features, and here nothing is repaired
    tried = [{name: value for name, value in recipe.items() if name != "components"} for recipe in recipes]
    return [config(Options(defaults=True), setting, method, seed, **recipe) for recipe in tried for seed in seeds]


@cache
def train_nodes(dataset: str) -> int:
    return int(load(dataset).train_mask.sum())


def ask(options: argparse.Namespace) -> None:
    """Write the searches for the settings that are not among those that come with the package."""
    names = tuple(options.datasets.split(",")), tuple(options.methods.split(","))
    places = [place for place in searches(Options(*names)) if place["method"] in names[1]]
    places = [place for place in places if not tuned_under(place["method"], place["dataset"], "inject-random")]
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.sqlite") as store:
        searches_asked = plan(store, places, options.trials)
    options.ask.write_text(json.dumps(searches_asked, indent=1) + "\n")
    print(f"{len(searches_asked)} searches in {options.ask}")


def run(options: argparse.Namespace) -> None:
    until = time.monotonic() + 60 * options.minutes
    datasets = options.datasets.split(",")
    counts = [int(each) for each in options.repeats.split(",")]
    counts = counts * len(datasets) if len(counts) == 1 else counts
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder) / "runs.sqlite") as store,
        Store(Path(folder) / "known.sqlite") as known,
    ):
        if options.output.is_file():
            store.load(options.output)
        if options.known is not None:
            known.load(options.known)
        if options.settings is None:
            options.settings = options.output.with_suffix(".toml")
        if options.searches is not None:
            for each in json.loads(options.searches.read_text()):
                if each["dataset"] in datasets and each["method"] in options.methods.split(","):
                    search(each, store, known, options)
        for dataset, repeats in zip(datasets, counts, strict=True):
            for corruption in options.corruptions.split(","):
                if corruption != "meta" or dataset in META:
                    run_column(dataset, corruption, repeats, store, known, until, options)


def run_column(
    dataset: str, corruption: str, repeats: int, store: Store, known: Store, until: float, options: argparse.Namespace
) -> None:
    """The runs of a dataset under a corruption that are in neither store; they are exported after each chunk."""
    asked = [
        config
        for method in options.methods.split(",")
        for config in configs(
            dataset, corruption, range(options.first, repeats), method, options.settings, options.defaults
        )
    ]
    left = [config for config in asked if store.get(config) is None and known.get(config) is None]
    if not left:
        return
    began = time.monotonic()
    for start in range(0, len(left), options.chunk):
        if time.monotonic() > until:
            print(f"no time left for {dataset} {corruption}, {len(left) - start} of {len(left)}")
            break
        try:
            for each, row in compute(left[start : start + options.chunk], options.device, options.folder):
                store.add(each, row)
        except Exception:
            print(f"{dataset} {corruption} failed: {traceback.format_exc()}", flush=True)
            break
        store.export(options.output)
    rows = [found.result for config in asked if (found := store.get(config)) is not None]
    if rows:
        mean = 100 * sum(row["test_accuracy"] for row in rows) / len(rows)
        print(f"{dataset} {corruption}: {mean:.2f} over {len(rows)}, {time.monotonic() - began:.0f} s", flush=True)


def search(config: dict[str, Any], store: Any, known: Any, options: argparse.Namespace) -> None:
    """Try the settings of a search, unless that is done, and keep the best; earlier searches of the same count too."""
    if known.get(config) is not None and store.get(config) is None:
        return
    for run in known.runs():
        if run.config["kind"] == "search" and study(run.config) == study(config):
            store.add(run.config, run.result)
    if store.get(config) is None:
        began = time.monotonic()
        for each, row in compute([config], options.device, options.folder):
            store.add(each, row)
        store.export(options.output)
        print(f"search of {config['method']} on {config['dataset']}: {time.monotonic() - began:.0f} s", flush=True)
    choose(store, options.settings)


def study(config: dict[str, Any]) -> tuple[str, str, str]:
    return config["method"], config["dataset"], config["corruption"]


def merge(options: argparse.Namespace) -> None:
    """Put rows into an exported store; rows that it has already stay. With ``--settings`` the searches among the new
    rows decide on the settings there."""
    csv.field_size_limit(1 << 30)

    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.sqlite") as store:
        store.load(options.into)
        for path in options.merge:
            print(f"{store.load(path)} new runs from {path}")
        if options.settings is not None:
            new = Store(Path(folder) / "new.sqlite")
            for path in options.merge:
                new.load(path)
            studies = {study(run.config) for run in new.runs() if run.config["kind"] == "search"}
            for run in store.runs():
                if run.config["kind"] == "search" and study(run.config) in studies:
                    new.add(run.config, run.result)
            print(f"settings of {choose(new, options.settings)} searches in {options.settings}")
            new.close()
        print(f"{store.export(options.into)} runs in {options.into}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--corruptions", default="inject-random,inject-far,meta,none")
    parser.add_argument("--methods", default="magnet")
    parser.add_argument("--defaults", action="store_true", help="networks with default instead of tuned settings")
    parser.add_argument("--repeats", default="10", help="repetitions, one number or one for each dataset")
    parser.add_argument("--first", type=int, default=0, help="number of the first repetition")
    parser.add_argument("--chunk", type=int, default=10, help="repetitions at once; rows are written after each chunk")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--device", default=None)
    parser.add_argument("--folder", default=None, help="where corrupted graphs are kept")
    parser.add_argument("--output", type=Path, default=Path("committee.csv"))
    parser.add_argument("--known", type=Path, help="exported runs that are not computed again")
    parser.add_argument("--ask", type=Path, help="write the searches for missing settings, and run nothing")
    parser.add_argument("--trials", type=int, default=16, help="settings in each search")
    parser.add_argument("--searches", type=Path, help="what --ask wrote")
    parser.add_argument("--settings", type=Path, help="file of settings  [default: beside --output]")
    parser.add_argument("--merge", type=Path, nargs="*")
    parser.add_argument("--into", type=Path, default=Path("results/runs.csv"))
    options = parser.parse_args()
    if options.ask:
        ask(options)
    elif options.merge:
        merge(options)
    else:
        run(options)


if __name__ == "__main__":
    main()
