"""``magnet reproduce`` without the command line: plan, run what is missing, render."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from magnet.experiments import exhibits
from magnet.experiments.exhibits.base import Document, Options, Results
from magnet.experiments.exhibits.classification import searches
from magnet.experiments.exhibits.render import in_words, write
from magnet.experiments.methods import get
from magnet.experiments.protocol.registry import compute
from magnet.experiments.store import Store, canonical_key
from magnet.experiments.store.jobs import Config, Job, Runner, execute, missing
from magnet.experiments.store.progress import Progress
from magnet.experiments.tuning import search as tuning


@dataclass(frozen=True)
class Where:
    """Where runs happen; none of it changes what they compute.

    Args:
        jobs: worker processes. (default: ``1``)
        ray: address of a Ray cluster, instead of processes.
        device: ``"cpu"`` or ``"cuda"``. (default: a GPU where there is one)
        folder: where corrupted graphs and the like are kept. (default: the user's cache)
    """

    jobs: int = 1
    ray: str | None = None
    device: str | None = None
    folder: str | None = None


@dataclass(frozen=True)
class Made:
    """Rendered exhibits, the keys of the runs that they show, and the planned runs that failed, with the reason."""

    documents: list[Document]
    shown: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)


def make_exhibits(
    names: Sequence[str],
    store: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    options: Options | None = None,
    where: Where | None = None,
    show_only: bool = False,
    any_version: bool = False,
    search: int = 0,
    run: Runner | None = None,
    say: Callable[[str], None] | None = print,
) -> Made:
    """Run what is missing for some exhibits, and render them from what is finished.

    Args:
        names: names of exhibits, or ``"all"``.
        store: the SQLite file with the finished runs.
        output: folder for Markdown, CSV and figures. (default: none is written)
        options: which datasets, methods and repetitions. (default: all, 10)
        where: processes, cluster, device.
        show_only: run nothing, and write nothing into the store.
        any_version: runs of other result versions count as finished, too.
        search: first bring the search for the settings of every method to so many trials, and write what is best to
            ``options.settings``. (default: ``0``, none)
        run: computes configs. (default: :func:`magnet.experiments.protocol.registry.compute`)
        say: takes progress in words where there is no terminal; ``None`` shows none. (default: ``print``)
    """
    options, where = options or Options(), where or Where()
    chosen = list(exhibits.MODULES) if "all" in names else list(dict.fromkeys(names))
    found = [exhibits.get(name) for name in chosen]
    planned: list[Job] = []
    with Store(store, read_only=show_only) as opened:
        if not show_only:
            runner = run or functools.partial(compute, device=where.device, folder=where.folder)
            if search:
                if options.settings is None:
                    raise ValueError("a search needs a file to write the settings to")
                planned += tuning.plan(opened, searches(options), search)
                _run(opened, planned, runner, where, say)
                chosen_for = tuning.choose(opened, options.settings)
                if say is not None:
                    say(f"settings of {chosen_for} studies in {options.settings}")
            jobs = _without_repeats([job for exhibit in found for job in exhibit.plan(options)])
            jobs = _unknown(opened, jobs) if any_version else jobs
            _run(opened, _sharing(jobs, (where.device or "").startswith("cuda")), runner, where, say)
            planned += jobs
        results = Results(opened)
        documents = []
        for exhibit in found:
            results.used.clear()
            document = exhibit.render(results, options)
            documents.append(document)
            if output is not None:
                write(document, Path(output), footnote(exhibit.name, results))
        keys = {opened.key(config) for job in planned for config in job.configs}
        failed = {key: message for key, message in opened.failed().items() if key in keys}
    return Made(documents, results.shown, failed)


def _run(store: Store, jobs: list[Job], run: Runner, where: Where, say: Callable[[str], None] | None) -> None:
    if not missing(store, jobs):
        return
    with Progress(store, jobs, say):
        if where.ray is not None:
            from magnet.experiments.store.ray_jobs import execute_on_ray

            execute_on_ray(store, jobs, run, where.ray, gpus=1.0 if (where.device or "").startswith("cuda") else 0.0)
        else:
            execute(store, jobs, run, where.jobs)


def _without_repeats(jobs: Sequence[Job]) -> list[Job]:
    """Exhibits share runs: each config once, where it comes first."""
    seen: set[str] = set()
    result = []
    for job in jobs:
        configs = {canonical_key(config): config for config in job.configs}
        fresh = tuple(config for name, config in configs.items() if name not in seen)
        seen.update(configs)
        if fresh:
            result.append(Job(fresh))
    return result


def _sharing(jobs: Sequence[Job], on_gpu: bool = False) -> list[Job]:
    """Runs that need the same detector on the same data become one job, so that it is fitted once; on a GPU, where
    large batches cost hardly more than small ones, also all others on one dataset that train the same network."""
    result: dict[str, list[Config]] = {}
    for place, job in enumerate(jobs):
        for config in job.configs:
            name = _detector(config)
            if name is None and on_gpu and config["kind"] == "classify" and "batch" not in config:
                name = f"{config['dataset']} {get(config['method']).model.__name__}"
            result.setdefault(name or f"job {place}", []).append(config)
    return [Job(tuple(configs)) for configs in result.values()]


def _detector(config: Config) -> str | None:
    """The detector of a run and what it sees; None where there is none, or where the run is timed by itself."""
    if config["kind"] != "classify" or "batch" in config:
        return None
    given = {**get(config["method"]).defaults, **config}
    if "detector" not in given:
        return None
    seen = [config.get(name) for name in ("dataset", "corruption", "corruption_options", "fixed_corruption", "split")]
    return json.dumps([given["detector"], given["detector_options"], *seen], sort_keys=True)


def _unknown(store: Store, jobs: Sequence[Job]) -> list[Job]:
    """Jobs without the configs that are finished under whatever version."""
    known = Results(store)
    left = (Job(tuple(c for c in job.configs if not known.all(c))) for job in jobs)
    return [job for job in left if job.configs]


def footnote(name: str, results: Results) -> str:
    """How the numbers came about."""
    return f"Made by `magnet reproduce {name}` from finished runs of result versions {in_words(results.used)}."
