"""Score, wall time and peak memory of the whole pipeline, on a small and on a large dataset."""

from __future__ import annotations

from dataclasses import replace

from magnet.experiments.exhibits.base import Cell, Exhibit, Options, Part, Results, Table, brief, summarize
from magnet.experiments.exhibits.classification import ORDER, QUICK_SETTINGS, TITLES, Classification, Setting, config
from magnet.experiments.methods import get
from magnet.experiments.methods.networks import PUBLISHED
from magnet.experiments.store.jobs import Config

DATASETS = ("cora", "ogbn-arxiv")
#: The rows of the summary.
MAIN = ("gcn", "appnp", "elasticgnn", "airgnn", "magnet-one", "magnet-gae", "magnet-true", "magnet-gcn", "magnet")
#: Number of repetitions; each is timed alone, as a user would run it.
REPEATS = 3


def _runs(options: Options, setting: Setting, method: str) -> list[Config]:
    repeats = 1 if options.quick else min(REPEATS, options.repeats)
    untuned = replace(options, defaults=True)
    owner = get(method).settings_of or method
    overrides = PUBLISHED.get(owner, {}) | ({"batch": 1, **QUICK_SETTINGS} if options.quick else {"batch": 1})
    return [config(untuned, setting, method, seed) | overrides for seed in range(repeats)]


def render(results: Results, options: Options) -> list[Part]:
    cells = []
    devices: set[str] = set()
    selected = Classification(results, options)
    for method in selected.methods([name for name in ORDER if name not in ("clean", "gcn-tuned")]):
        for setting in selected.columns(("inject-random",), DATASETS)["inject-random"]:
            runs = _runs(options, setting, method)
            devices |= {str(result.get("device")) for result in results.all(*runs)}
            memory = summarize([value / 2**20 for value in results.values(runs, "peak_memory")])
            measured = {
                "accuracy, %": (
                    results.summary(runs, "test_accuracy", 100),
                    setting.paper("table4", method, "accuracy"),
                    2,
                ),
                "seconds": (results.summary(runs, "seconds"), setting.paper("table4", method, "seconds"), 2),
                "peak MiB": (memory, None, 0),
            }
            facts = {"dataset": setting.dataset, "method": method}
            for what, (ours, paper, digits) in measured.items():
                at = f"{setting.title}: {what}"
                cells.append(Cell(TITLES[method], at, ours, paper, len(runs), digits=digits, facts=facts))
    words = (
        "Ours with default settings, rivals with their published ones, one repetition at a time, detection, recovery, "
        "training and the choice on validation included; run on "
        f"{', '.join(sorted(devices)) or 'nothing yet'}. The paper's times are from an A100; its scores on "
        "ogbn-arxiv are AUROC."
    )
    main = [c for c in cells if c.facts["method"] in MAIN and not c.column.endswith("MiB")]
    return [
        Table("Score, time and memory", cells, corner="method", words=words),
        Table("Score and time", [brief(c.row, c.column, c) for c in main], corner="method", summary=True),
    ]


TABLE4 = Exhibit("table4", "Cost of the whole pipeline (the paper's table 4)", render)
