"""Execution of missing runs: in this process, in several, or on a Ray cluster (``ray_jobs.py``)."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from magnet.experiments.store import Store
from magnet.experiments.store.store import CLAIM_SECONDS
from magnet.files import exit_on_sigterm

Config = dict[str, Any]
#: Runs that are computed together, such as the repetitions of one method on one dataset.
Job = Sequence[Config]

#: Takes configs that belong together and yields each with its result, as soon as it has it. It must be a function at
#: the top of a module (or a ``functools.partial`` of one), so that other processes can import it.
Runner = Callable[[Sequence[Config]], Iterable[tuple[Config, dict[str, Any]]]]

#: The message of a run that the runner skipped.
NO_RESULT = "the runner gave no result"
#: How many worker processes that die unexpectedly are replaced.
MAX_REPLACEMENTS = 5
#: Seconds between two checks of the workers, and of jobs that others have claimed.
POLL_SECONDS, WAIT_SECONDS = 0.05, 0.2
#: Heartbeats of a process within the lifetime of its claims.
BEATS = 4


def missing(store: Store, jobs: Iterable[Job]) -> list[Job]:
    """The unfinished configs, in the same groups."""
    finished = store.finished()
    unfinished = ([config for config in job if store.key(config) not in finished] for job in jobs)
    return [job for job in unfinished if job]


def execute(store: Store, jobs: Sequence[Job], run: Runner, processes: int = 1) -> None:
    """Execute missing runs and store every result immediately.

    Other processes may work on the same store; this returns when every job is finished (by any process) or has failed
    here once.

    Args:
        store: the store.
        jobs: what should be in it.
        run: computes one job.
        processes: how many worker processes; 1 works in this one. (default: ``1``)
    """
    if processes <= 1:
        work(store, jobs, run)
        return
    context = multiprocessing.get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // processes)

    def start() -> Any:
        arguments = (store.path, store.versions, jobs, run, threads)
        process = context.Process(target=_worker, args=arguments)
        process.start()
        return process

    replaced = 0
    workers: list[Any] = []
    with exit_on_sigterm():
        try:
            workers += [start() for _ in range(min(processes, len(missing(store, jobs))))]
            while any(worker.is_alive() for worker in workers):
                for number, worker in enumerate(workers):
                    if worker.exitcode not in (None, 0) and replaced < MAX_REPLACEMENTS:
                        replaced += 1
                        workers[number] = start()
                time.sleep(POLL_SECONDS)
        finally:
            for worker in workers:
                worker.terminate()
                worker.join()
    if any(worker.exitcode != 0 for worker in workers):
        raise RuntimeError(f"worker processes died {replaced + 1} times; is there enough memory for {processes}?")


def work(store: Store, jobs: Sequence[Job], run: Runner) -> None:
    """Claim, run and write jobs until all of them are finished or have failed here."""
    with heartbeat(store):
        for claims in rounds(store, jobs, set()):
            for waiting in claims:
                _run_job(store, waiting, run)


def rounds(store: Store, jobs: Sequence[Job], tried: set[str]) -> Iterator[Iterator[dict[str, Config]]]:
    """Passes over the jobs until each run is finished, by any process, or was tried here once.

    A pass yields, by key, the configs of a job that nobody else works on; they are claimed when they are asked for, and
    ``tried`` collects them.
    """

    def claims() -> Iterator[dict[str, Config]]:
        for job in missing(store, jobs):
            configs = {store.key(config): config for config in job}
            granted = store.claim(key for key in configs if key not in tried)
            tried.update(granted)
            if granted:
                yield {key: configs[key] for key in granted}

    while any(store.key(config) not in tried for job in missing(store, jobs) for config in job):
        before = len(tried)
        yield claims()
        if len(tried) == before:
            time.sleep(WAIT_SECONDS)  # other processes run the rest; if they die, their claims expire


def _run_job(store: Store, waiting: dict[str, Config], run: Runner) -> None:
    message = NO_RESULT
    try:
        for config, result in run(list(waiting.values())):
            store.add(config, result)
            waiting.pop(store.key(config), None)
    except Exception as error:
        message = message_of(error)
    except BaseException:
        store.release(waiting)
        raise
    for config in waiting.values():
        store.fail(config, message)


def message_of(error: Exception) -> str:
    """The error, and where in the code it came from."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name} line {frame.lineno})"


@contextlib.contextmanager
def in_background(watch: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run ``watch`` in a thread while the body runs; the event that it is given is set when the body ends."""
    ended = threading.Event()
    thread = threading.Thread(target=watch, args=(ended,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def heartbeat(store: Store) -> contextlib.AbstractContextManager[None]:
    """Keep the claims of this process alive while the body runs."""

    def beat(ended: threading.Event) -> None:
        with Store(store.path, store.versions) as own:
            while not ended.wait(CLAIM_SECONDS / BEATS):
                own.heartbeat()

    return in_background(beat)


def _worker(path: Path, versions: dict[str, int], jobs: Sequence[Job], run: Runner, threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)  # torch is loaded, and reads it, when the first job runs
    with Store(path, versions) as store:
        work(store, jobs, run)
