"""``magnet reproduce`` without the command line: plan, run missing runs, render."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from magnet.experiments.exhibits import EXHIBITS
from magnet.experiments.exhibits.base import Document, Options, Results
from magnet.experiments.exhibits.classification import searches
from magnet.experiments.exhibits.render import versions_text, write
from magnet.experiments.methods import get
from magnet.experiments.protocol.registry import compute
from magnet.experiments.store import Store, canonical_key
from magnet.experiments.store.jobs import Config, Job, Runner, execute, missing
from magnet.experiments.store.progress import progress
from magnet.experiments.tuning import search as tuning


@dataclass(frozen=True)
class Execution:
    """Where runs are executed; none of it changes the results.

    Args:
        jobs: worker processes. (default: ``1``)
        ray: address of a Ray cluster, instead of processes.
        device: ``"cpu"`` or ``"cuda"``. (default: a GPU if available)
        folder: cache of corrupted graphs. (default: the user's cache)
    """

    jobs: int = 1
    ray: str | None = None
    device: str | None = None
    folder: str | None = None


@dataclass(frozen=True)
class RenderedExhibits:
    """Rendered exhibits, the keys of the runs that they show, and the planned runs that failed, with the reason."""

    documents: list[Document]
    shown: set[str]
    failed: dict[str, str]


def make_exhibits(
    names: Sequence[str],
    store: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    options: Options | None = None,
    where: Execution | None = None,
    show_only: bool = False,
    any_version: bool = False,
    search: int = 0,
    run: Runner | None = None,
    echo: Callable[[str], None] | None = print,
) -> RenderedExhibits:
    """Run the missing runs of some exhibits, and render the finished ones.

    Args:
        names: names of exhibits, or ``"all"``.
        store: the SQLite file with the finished runs.
        output: folder for Markdown, CSV and figures. (default: none is written)
        options: which datasets, methods and repetitions. (default: all, 10)
        where: processes, cluster, device.
        show_only: run nothing, and write nothing into the store.
        any_version: runs of other result versions count as finished, too.
        search: first tune every method with this number of trials in total, and write the best settings to
            ``options.settings``. (default: ``0``, none)
        run: computes configs. (default: :func:`magnet.experiments.protocol.registry.compute`)
        echo: called with progress messages if there is no terminal; ``None`` for none. (default: ``print``)
    """
    options, where = options or Options(), where or Execution()
    exhibits = [EXHIBITS[name] for name in (EXHIBITS if "all" in names else dict.fromkeys(names))]
    planned: list[Config] = []
    with Store(store, read_only=show_only) as opened:
        if not show_only:
            runner = run or functools.partial(compute, device=where.device, folder=where.folder)
            if search:
                if options.settings is None:
                    raise ValueError("a search needs a file to write the settings to")
                planned += tuning.plan(opened, searches(options), search)
                _run(opened, planned, runner, where, echo)
                chosen_for = tuning.choose(opened, options.settings)
                if echo is not None:
                    echo(f"settings of {chosen_for} studies in {options.settings}")
            needed = [config for exhibit in exhibits for config in exhibit.configs(options)]
            if any_version:
                known = Results(opened)
                needed = [config for config in needed if config not in known]
            _run(opened, needed, runner, where, echo)
            planned += needed
        results = Results(opened)
        documents = []
        for exhibit in exhibits:
            results.used.clear()
            documents.append(exhibit.document(results, options))
            if output is not None:
                versions = f"from finished runs of result versions {versions_text(results.used)}"
                write(documents[-1], Path(output), f"Made by `magnet reproduce {exhibit.name}` {versions}.")
        keys = {opened.key(config) for config in planned}
        failed = {key: message for key, message in opened.failed().items() if key in keys}
    return RenderedExhibits(documents, results.shown, failed)


def _run(
    store: Store, configs: list[Config], run: Runner, where: Execution, echo: Callable[[str], None] | None
) -> None:
    on_gpu = (where.device or "").startswith("cuda")
    jobs = jobs_of(configs, on_gpu)
    if not missing(store, jobs):
        return
    with progress(store, jobs, echo):
        if where.ray is not None:
            from magnet.experiments.store.ray_jobs import execute_on_ray

            execute_on_ray(store, jobs, run, where.ray, gpus=1.0 if on_gpu else 0.0)
        else:
            execute(store, jobs, run, where.jobs)


def jobs_of(configs: Iterable[Config], on_gpu: bool = False) -> list[Job]:
    """Configs, each once, in jobs of those that are computed together."""
    groups: dict[str, list[Config]] = {}
    for config in {canonical_key(config): config for config in configs}.values():
        groups.setdefault(_shared(config, on_gpu), []).append(config)
    return list(groups.values())


def _shared(config: Config, on_gpu: bool) -> str:
    """The key of the job that a run belongs to. Runs with the same detector on the same data form a job, so that the
    detector is fitted once. Other runs form a job if they differ only in the seed or, on a GPU, where large batches
    cost hardly more than small ones, if they have the same dataset and network. An image is read and corrupted once for
    all methods. Timed runs are separate jobs.
    """
    separate: tuple[str, ...] = ("method", "patches") if config["kind"] == "image" else ()
    if config["kind"] == "classify" and "batch" not in config:
        method = get(config["method"])
        settings = {**method.defaults, **config}
        if "detector" in settings:
            data_names = ("dataset", "corruption", "corruption_options", "fixed_corruption", "split")
            detector = [settings["detector"], settings["detector_options"]]
            return json.dumps([*detector, *(config.get(name) for name in data_names)], sort_keys=True)
        if on_gpu:
            return f"{config['dataset']} {method.model.__name__}"
        separate = ("seed",)
    return json.dumps({name: value for name, value in config.items() if name not in separate}, sort_keys=True)
