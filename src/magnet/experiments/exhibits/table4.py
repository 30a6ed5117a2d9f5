"""Score, wall time and peak memory of the whole pipeline, on a small and on a large dataset."""

from __future__ import annotations

from dataclasses import replace

from magnet.experiments.exhibits.base import Cell, Document, Exhibit, Options, Results, Table, brief, jobs_of, summarize
from magnet.experiments.exhibits.classification import (
    METHODS,
    QUICK_SETTINGS,
    TITLES,
    Setting,
    chosen_methods,
    config,
    settings,
)
from magnet.experiments.methods import get
from magnet.experiments.methods.networks import PUBLISHED
from magnet.experiments.store.jobs import Config, Job

TITLE = "Cost of the whole pipeline (the paper's table 4)"
DATASETS = ("cora", "ogbn-arxiv")
#: The rows of the summary.
MAIN = ("gcn", "appnp", "elasticgnn", "airgnn", "magnet-one", "magnet-gae", "magnet-true", "magnet-gcn", "magnet")
#: Timed one at a time, as a user would run them.
REPEATS = 3


def _runs(options: Options, setting: Setting, method: str) -> list[Config]:
    repeats = 1 if options.quick else min(REPEATS, options.repeats)
    untuned = replace(options, defaults=True)
    owner = get(method).settings_of or method
    given = PUBLISHED.get(owner, {}) | ({"batch": 1, **QUICK_SETTINGS} if options.quick else {"batch": 1})
    return [config(untuned, setting, method, seed) | given for seed in range(repeats)]


def _methods(options: Options) -> list[str]:
    return [method for method in chosen_methods(options, list(METHODS)) if method not in ("clean", "gcn-tuned")]


def _settings(options: Options) -> list[Setting]:
    return settings(options, ("inject-random",), injection=DATASETS)


def plan(options: Options) -> list[Job]:
    every = [c for s in _settings(options) for method in _methods(options) for c in _runs(options, s, method)]
    return [job for c in every for job in jobs_of([c], together=())]


def render(results: Results, options: Options) -> Document:
    cells = []
    devices: set[str] = set()
    for method in _methods(options):
        for setting in _settings(options):
            runs = _runs(options, setting, method)
            devices |= {str(found.get("device")) for found in results.all(*runs)}
            facts = {"dataset": setting.dataset, "method": method}
            score = results.summary(runs, "test_accuracy", 100)
            seconds = results.summary(runs, "seconds")
            memory = summarize([value / 2**20 for value in results.values(runs, "peak_memory")])
            papers = {name: setting.paper("table4", method, name) for name in ("accuracy", "seconds")}
            at = setting.title
            cells += [
                Cell(TITLES[method], f"{at}: accuracy, %", score, papers["accuracy"], len(runs), facts=facts),
                Cell(TITLES[method], f"{at}: seconds", seconds, papers["seconds"], len(runs), facts=facts),
                Cell(TITLES[method], f"{at}: peak MiB", memory, None, len(runs), digits=0, facts=facts),
            ]
    words = (
        "Ours with default settings, rivals with their published ones, one repetition at a time, detection, recovery, "
        "training and the choice on validation included; run on "
        f"{', '.join(sorted(devices)) or 'nothing yet'}. The paper's times are from an A100; its scores on "
        "ogbn-arxiv are AUROC."
    )
    rows = [TITLES[method] for method in MAIN]
    short = [brief(c.row, c.column, c) for c in cells if c.row in rows and not c.column.endswith("MiB")]
    table = Table("Score, time and memory", cells, corner="method", words=words)
    return Document("table4", TITLE, [table], Table("Score and time", short, corner="method"))


EXHIBITS = (Exhibit("table4", TITLE, plan, render),)
