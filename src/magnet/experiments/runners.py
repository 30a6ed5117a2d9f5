"""How each kind of run is computed: one entry in :data:`KINDS`.

A config is a flat dictionary of JSON values with ``kind``, ``dataset``, ``corruption``, ``method`` and ``seed``; what
else it holds goes to the function behind its kind. Where a run happens (device, folders) is no part of its config.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Config = dict[str, Any]
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
    """Repetitions of a method: those that differ only in their seed are trained as one batch."""
    from magnet.experiments.run import run_many

    for group in _alike(configs):
        first = {name: value for name, value in group[0].items() if name not in ("kind", "seed")}
        seeds = [config["seed"] for config in group]
        rows = run_many(**first, seeds=seeds, device=device, folder=folder)
        yield from zip(group, rows, strict=True)


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
}


def _alike(configs: Sequence[Config]) -> list[list[Config]]:
    groups: dict[str, list[Config]] = {}
    for config in configs:
        same = repr(sorted((name, repr(value)) for name, value in config.items() if name != "seed"))
        groups.setdefault(same, []).append(config)
    return list(groups.values())
