"""A live table of finished runs, read from the store, so that it includes the work of all processes."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from magnet.experiments.store import Store
from magnet.experiments.store.jobs import Job

#: Which number of a run is worth showing while it comes in, and its factor.
TELLING = {"classify": ("test_accuracy", 100.0), "image": ("local_psnr", 1.0), "detect": ("cell_auroc", 1.0)}


@dataclass
class Line:
    """A row of the progress table: one method on one dataset."""

    total: int = 0
    done: int = 0
    running: int = 0
    failed: int = 0
    values: list[float] = field(default_factory=list)


def state(store: Store, jobs: Sequence[Job]) -> dict[tuple[str, str, str], Line]:
    """Per dataset, corruption and method: planned, finished, running and failed runs, and their results."""
    running, failed = store.running(), store.failed()
    results = {run.key: run.result for run in store.runs()}
    lines: dict[tuple[str, str, str], Line] = {}
    for job in jobs:
        for config in job.configs:
            place = (str(config["dataset"]), str(config["corruption"]), str(config["method"]))
            line = lines.setdefault(place, Line())
            key = store.key(config)
            line.total += 1
            line.running += key in running
            line.failed += key in failed
            if key in results:
                line.done += 1
                name = TELLING.get(config["kind"], ("", 1.0))[0]
                if results[key].get(name) is not None:
                    line.values.append(TELLING[config["kind"]][1] * results[key][name])
    return lines


class Progress:
    """Shows the state of some jobs while the body runs: a live table on a terminal, else a line now and then.

    Args:
        store: the store; it is read through a separate connection.
        jobs: the planned runs.
        say: called with a line of text if there is no terminal; ``None`` for none. (default: ``print``)
    """

    def __init__(self, store: Store, jobs: Sequence[Job], say: Callable[[str], None] | None = print) -> None:
        self.path, self.versions, self.jobs, self.say = store.path, store.versions, jobs, say
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._began = time.monotonic()
        self._before: int | None = None  # runs that were finished when it began

    def __enter__(self) -> Progress:
        if self.jobs and self.say is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError:
            self._tell()
            return
        console = Console(stderr=True)
        if not console.is_terminal:
            self._tell()
            return
        with Store(self.path, self.versions) as store, Live(console=console, auto_refresh=False) as live:
            while True:
                ended = self._done.wait(0.5)
                live.update(self.table(state(store, self.jobs), console.height - 4), refresh=True)
                if ended:
                    return

    def _tell(self) -> None:
        last = -1
        with Store(self.path, self.versions) as store:
            while True:
                ended = self._done.wait(5.0)
                lines = state(store, self.jobs).values()
                done, failed = sum(line.done for line in lines), sum(line.failed for line in lines)
                if done != last and self.say is not None:
                    total = sum(line.total for line in lines)
                    words = f", {failed} failed" if failed else ""
                    self.say(f"{done} of {total} runs{words} after {self._times(done, total)}")
                    last = done
                if ended:
                    return

    def _times(self, done: int, total: int) -> str:
        """The seconds so far, and about how many are left at the pace of the runs that were finished meanwhile."""
        seconds = time.monotonic() - self._began
        self._before = done if self._before is None else self._before
        fresh = done - self._before
        return f"{seconds:.0f} s" + (f", about {seconds * (total - done) / fresh:.0f} s left" if fresh else "")

    def table(self, lines: dict[tuple[str, str, str], Line], height: int = 40) -> Any:
        """The table, running rows first, without finished rows if the window is small."""
        from rich import box
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        done, total = sum(line.done for line in lines.values()), sum(line.total for line in lines.values())
        title = f"{done} of {total} runs, {self._times(done, total)}"
        table = Table(box=box.SIMPLE_HEAD, title=title, padding=(0, 1, 0, 0))
        for title in ("dataset", "corruption", "method", "", "runs", "so far"):
            table.add_column(title, justify="right" if title in ("runs", "so far") else "left")
        order = sorted(lines.items(), key=lambda item: (not item[1].running, item[1].done == item[1].total))
        for (dataset, corruption, method), line in order[: max(3, height - 4)]:
            so_far = f"{statistics.fmean(line.values):.2f}" if line.values else ""
            counts = f"{line.done}/{line.total}" + (f" [red]{line.failed} failed[/red]" if line.failed else "")
            style = "bold" if line.running else ("dim" if line.done == line.total else "")
            bar = ProgressBar(total=line.total, completed=line.done, width=16)
            table.add_row(dataset, corruption, method, bar, counts, so_far, style=style)
        return table
