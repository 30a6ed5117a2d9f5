"""How each kind of run is computed: one entry in :data:`KINDS`.

A config is a flat dictionary of JSON values with ``kind``, ``dataset``, ``corruption``, ``method`` and ``seed``; what
else it holds goes to the function behind its kind. Where a run happens (device, folders) is no part of its config.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Config = dict[str, Any]
#: What is no setting of the method in the config of a classification.
PLACE = (
    "kind",
    "dataset",
    "corruption",
    "method",
    "corruption_options",
    "fixed_corruption",
    "split",
    "settings",
    "batch",
)
Computed = Iterator[tuple[Config, dict[str, Any]]]


def run_configs(configs: Sequence[Config], device: str | None = None, folder: str | None = None) -> Computed:
    """Compute runs of one kind that belong together, and yield each with its result."""
    kinds = {config["kind"] for config in configs}
    unknown = kinds - KINDS.keys()
    if unknown:
        raise ValueError(f"unknown kind of run {sorted(unknown)}; there are {', '.join(KINDS)}")
    for kind in sorted(kinds):
        yield from KINDS[kind]([config for config in configs if config["kind"] == kind], device, folder)


def classify(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    """Repetitions of a method: those that differ only in their seeds and settings are trained as one batch."""
    from magnet.experiments.run import run_settings

    for place, group in _alike(configs, but=lambda name: name not in PLACE):
        by_setting = _alike(group, but=lambda name: name == "seed")
        seeds: dict[tuple[int, ...], list[list[Config]]] = {}
        for _, members in by_setting:
            seeds.setdefault(tuple(config["seed"] for config in members), []).append(members)
        for some, settings in seeds.items():
            given = [{name: v for name, v in m[0].items() if name not in (*PLACE, "seed")} for m in settings]
            where = {name: value for name, value in place.items() if name != "kind"}
            rows = run_settings(**where, seeds=some, configs=given, device=device, folder=folder)
            for members, found in zip(settings, rows, strict=True):
                yield from zip(members, found, strict=True)


def search(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    """Settings of a method, raced against each other on validation accuracy."""
    from dataclasses import asdict

    from magnet.experiments.measure import device_name
    from magnet.experiments.search import Batch, race

    for config in configs:
        began = time.perf_counter()
        batch = Batch(config["method"], config["dataset"], config["corruption"], config["trials"])
        more = {name: config[name] for name in ("corruption_options", "fixed_corruption") if name in config}
        trials = race(batch, range(config["repeats"]), device=device, folder=folder, **more)
        result = {"trials": [asdict(trial) for trial in trials], "seconds": time.perf_counter() - began}
        yield config, {**result, "device": device_name(device)}


def image(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    from magnet.experiments.image import run_image

    for config in configs:
        number = int(config["dataset"].split("/")[1])
        yield config, run_image(config["method"], number, config["seed"], config["patches"])


def detect(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    from magnet.experiments.detect import run_detection

    for config in configs:
        given = {name: value for name, value in config.items() if name != "kind"}
        yield config, run_detection(**given, device=device, folder=folder)


def statistics(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    from magnet.experiments.statistics import dataset_statistics

    for config in configs:
        yield config, dataset_statistics(config["dataset"])


KINDS: dict[str, Callable[[Sequence[Config], str | None, str | None], Computed]] = {
    "classify": classify,
    "image": image,
    "detect": detect,
    "statistics": statistics,
    "search": search,
}


def _alike(configs: Sequence[Config], but: Callable[[str], bool]) -> list[tuple[Config, list[Config]]]:
    """Configs that agree in everything but some names, with what they agree in."""
    groups: dict[str, tuple[Config, list[Config]]] = {}
    for config in configs:
        same = {name: value for name, value in config.items() if not but(name)}
        groups.setdefault(json.dumps(same, sort_keys=True), (same, []))[1].append(config)
    return list(groups.values())
