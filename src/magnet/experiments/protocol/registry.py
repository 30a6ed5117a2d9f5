"""How each kind of run is computed: one entry in :data:`KINDS`.

A config is a flat dictionary of JSON values with ``kind``, ``dataset``, ``corruption``, ``method`` and ``seed``; what
else it holds goes to the function behind its kind. Device and folders are not part of the config.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Config = dict[str, Any]
Computed = Iterator[tuple[Config, dict[str, Any]]]


def compute(configs: Sequence[Config], device: str | None = None, folder: str | None = None) -> Computed:
    """Compute runs of one kind that belong together, and yield each with its result."""
    kinds = {config["kind"] for config in configs}
    unknown = kinds - KINDS.keys()
    if unknown:
        raise ValueError(f"unknown kind of run {sorted(unknown)}; there are {', '.join(KINDS)}")
    for kind in sorted(kinds):
        yield from KINDS[kind]([config for config in configs if config["kind"] == kind], device, folder)


def classify(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    """Rows of tables: those on one dataset are computed together."""
    from magnet.experiments.protocol.run import run_many

    for group in _alike(configs, ("dataset", "split", "batch")):
        for number, row in run_many(group, device, folder):
            yield group[number], row


def search(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    """Settings of methods, raced against each other on validation accuracy."""
    from dataclasses import asdict

    from magnet.experiments.protocol.measure import device_name
    from magnet.experiments.tuning.search import race

    for group in _alike(configs, ("dataset", "repeats", "corruption_options", "fixed_corruption")):
        began = time.perf_counter()
        raced = race(group, device, folder)
        seconds = (time.perf_counter() - began) / len(group)
        for config, trials in zip(group, raced, strict=True):
            result = {"trials": [asdict(trial) for trial in trials], "seconds": seconds}
            yield config, {**result, "device": device_name(device)}


def image(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    from magnet.experiments.protocol.image import repair_picture

    for config in configs:
        number = int(config["dataset"].split("/")[1])
        yield config, repair_picture(config["method"], number, config["seed"], config["patches"])


def detect(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    from magnet.experiments.protocol.detect import judge_detector

    for config in configs:
        arguments = {name: value for name, value in config.items() if name != "kind"}
        yield config, judge_detector(**arguments, device=device, folder=folder)


def statistics(configs: Sequence[Config], device: str | None, folder: str | None) -> Computed:
    """Counts of datasets as :func:`magnet.datasets.load` gives them; edges are undirected."""
    from magnet.arrays import to_scipy
    from magnet.datasets import homophily, load

    for config in configs:
        began = time.perf_counter()
        data = load(config["dataset"])
        values = to_scipy(data.x)
        parts = {part: int(data[f"{part}_mask"].sum()) for part in ("train", "val", "test")}
        counts = {
            "nodes": int(data.num_nodes),
            "edges": int(data.edge_index.shape[1]) // 2,
            "features": int(data.x.shape[1]),
            "classes": int(data.y.max()) + 1,
            **parts,
            "label_rate": parts["train"] / data.num_nodes,
            "homophily": homophily(data),
            "low": float(min(values.min(), 0.0)),
            "high": float(values.max()),
            "stored_share": values.nnz / (values.shape[0] * values.shape[1]),
        }
        yield config, {**counts, "seconds": time.perf_counter() - began, "device": "cpu"}


KINDS: dict[str, Callable[[Sequence[Config], str | None, str | None], Computed]] = {
    "classify": classify,
    "image": image,
    "detect": detect,
    "statistics": statistics,
    "search": search,
}


def _alike(configs: Sequence[Config], names: Sequence[str]) -> list[list[Config]]:
    """Configs that agree in some names."""
    groups: dict[str, list[Config]] = {}
    for config in configs:
        groups.setdefault(json.dumps([config.get(name) for name in names]), []).append(config)
    return list(groups.values())
