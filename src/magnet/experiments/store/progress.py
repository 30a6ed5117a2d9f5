"""A live table of finished runs, read from the store, so that it includes the work of all processes."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from magnet.experiments.store import Store
from magnet.experiments.store.jobs import Job, in_background

LIVE_SECONDS, PRINTED_SECONDS = 0.5, 5.0  # between two looks at the store, with a terminal and without
FRAME_LINES, MIN_LINES = 6, 3  # title, head and margins of the table, and rows that are always shown

#: The metric in the progress table and its factor, by kind of run.
METRICS = {"classify": ("test_accuracy", 100.0), "image": ("local_psnr", 1.0), "detect": ("cell_auroc", 1.0)}


@dataclass
class Line:
    """A row of the progress table: one method on one dataset."""

    total: int = 0
    done: int = 0
    running: int = 0
    failed: int = 0
    values: list[float] = field(default_factory=list)


Lines = dict[tuple[str, str, str], Line]  # by dataset, corruption and method


def state(store: Store, jobs: Sequence[Job]) -> Lines:
    """Planned, finished, running and failed runs, and their results."""
    running, failed = store.running(), store.failed()
    results = {run.key: run.result for run in store.runs()}
    lines: Lines = {}
    for job in jobs:
        for config in job:
            key_of_line = (str(config["dataset"]), str(config["corruption"]), str(config["method"]))
            line = lines.setdefault(key_of_line, Line())
            key = store.key(config)
            line.total += 1
            line.running += key in running
            line.failed += key in failed
            if key in results:
                line.done += 1
                name, factor = METRICS.get(config["kind"], ("", 1.0))
                if results[key].get(name) is not None:
                    line.values.append(factor * results[key][name])
    return lines


def progress(
    store: Store, jobs: Sequence[Job], echo: Callable[[str], None] | None = print
) -> AbstractContextManager[None]:
    """While the body runs, show the state of some jobs: a live table on a terminal, else a line now and then.

    Args:
        store: the store; it is read through a separate connection.
        jobs: the planned runs.
        echo: called with a line of text if there is no terminal; ``None`` for none. (default: ``print``)
    """

    def watch(done: threading.Event) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        counts: list[int] = []  # how many runs were finished at each look
        began, ended = time.monotonic(), False
        with Store(store.path, store.versions) as own, live or nullcontext():
            while not ended:
                ended = done.wait(LIVE_SECONDS if live else PRINTED_SECONDS)  # one more look after the end
                lines = state(own, jobs)
                counts.append(sum(line.done for line in lines.values()))
                words = status_text(lines, time.monotonic() - began, counts[-1] - counts[0])
                if live:
                    live.update(table(lines, words, console.height), refresh=True)
                elif echo is not None and counts[-2:-1] != counts[-1:]:
                    echo(words)

    return in_background(watch) if jobs and echo is not None else nullcontext()


def status_text(lines: Lines, seconds: float, fresh: int) -> str:
    """The progress in words; the remaining time is estimated from the ``fresh`` runs, those finished meanwhile."""
    done, total, failed = (sum(getattr(line, what) for line in lines.values()) for what in ("done", "total", "failed"))
    left = f", about {seconds * (total - done) / fresh:.0f} s left" if fresh else ""
    return f"{done} of {total} runs{f', {failed} failed' if failed else ''} after {seconds:.0f} s{left}"


def table(lines: Lines, title: str, height: int = 40) -> Any:
    """A Rich table for a window of ``height`` lines: running rows first, finished ones last, as many as fit."""
    from rich import box
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, title=title, padding=(0, 1, 0, 0))
    for name in ("dataset", "corruption", "method", "", "runs", "so far"):
        shown.add_column(name, justify="right" if name in ("runs", "so far") else "left")
    order = sorted(lines.items(), key=lambda item: (not item[1].running, item[1].done == item[1].total))
    for place, line in order[: max(MIN_LINES, height - FRAME_LINES)]:
        so_far = f"{statistics.fmean(line.values):.2f}" if line.values else ""
        counts = f"{line.done}/{line.total}" + (f" [red]{line.failed} failed[/red]" if line.failed else "")
        style = "bold" if line.running else ("dim" if line.done == line.total else "")
        bar = ProgressBar(total=line.total, completed=line.done, width=16)
        shown.add_row(*place, bar, counts, so_far, style=style)
    return shown
