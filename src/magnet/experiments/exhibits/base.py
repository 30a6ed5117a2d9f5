"""The parts of a table or figure of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from magnet.experiments.exhibits.paper import PaperValue
from magnet.experiments.store import Run, Store, canonical_key
from magnet.experiments.store.jobs import Config

REPEATS = 10  # repetitions of a run, as in the paper
UPPER_QUANTILE = 0.975  # of Student's t: the upper end of a 95 % interval
#: Relative scores nearer to 0 are neither better nor worse: they are 0.00 to two digits.
MIN_SCORE = 0.005


@dataclass(frozen=True)
class Summary:
    """Mean, sample deviation and 95 % interval of the mean (Student's t) of ``runs`` repetitions."""

    mean: float
    std: float = math.nan
    low: float = math.nan
    high: float = math.nan
    runs: int = 1


def summarize(values: Iterable[float], scale: float = 1.0) -> Summary | None:
    """The summary of some values times ``scale``; None without values.

    One value has no deviation and no interval: they are NaN.

    Example:
        >>> s = summarize([0.7, 0.8, 0.9], scale=100)
        >>> f"{s.mean:.1f} ± {s.std:.1f} [{s.low:.1f}, {s.high:.1f}]"
        '80.0 ± 10.0 [55.2, 104.8]'
    """
    sample = scale * np.array([value for value in values if value is not None], dtype=np.float64)
    sample = sample[np.isfinite(sample)]
    if sample.size == 0:
        return None
    mean = float(sample.mean())
    if sample.size == 1:
        return Summary(mean)
    std = float(sample.std(ddof=1))
    half = float(stats.t.ppf(UPPER_QUANTILE, sample.size - 1)) * std / sample.size**0.5
    return Summary(mean, std, mean - half, mean + half, int(sample.size))


@dataclass(frozen=True)
class Options:
    """The user's selection; ``None`` means everything the exhibit has.

    Args:
        datasets, methods, corruptions: which of the exhibit's.
        repeats: number of repetitions. (default: ``10``)
        quick: a small version that takes minutes on a laptop.
        settings: a settings file that takes precedence over the one shipped with the package.
        defaults: every method with its default settings instead of those found by search.
    """

    datasets: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    corruptions: Sequence[str] | None = None
    repeats: int = REPEATS
    quick: bool = False
    settings: Path | None = None
    defaults: bool = False

    def choose(self, what: str, everything: Sequence[str]) -> list[str]:
        """Those of the exhibit's datasets, methods or corruptions that were asked for, in its order."""
        wanted = getattr(self, what)
        if wanted is None:
            return list(everything)
        unknown = [name for name in wanted if name not in everything]
        if unknown:
            raise ValueError(
                f"--{what}: {unknown[0]!r} is not part of this exhibit; choose from {', '.join(everything)}"
            )
        return [name for name in everything if name in wanted]


class Results:
    """Finished runs by their :func:`~magnet.experiments.store.canonical_key`.

    Runs that are shown together always have the same result version: the one with the most runs, or the newest in a
    tie. ``used`` collects these versions, ``shown`` the keys of all runs that were shown, and ``asked`` every config
    that was requested, finished or not.

    Args:
        store: the result store. (default: none; then no run is finished)
    """

    def __init__(self, store: Store | None = None) -> None:
        self.runs: dict[str, dict[str, Run]] = {}
        for run in () if store is None else store.runs():
            self.runs.setdefault(canonical_key(run.config), {})[run.code] = run
        self._failed = {} if store is None else store.failed()
        self._store = store
        self.used: set[str] = set()
        self.shown: set[str] = set()
        self.asked: dict[str, Config] = {}

    def __contains__(self, config: Config) -> bool:
        """Whether a run is finished, in any result version."""
        return canonical_key(config) in self.runs

    def get(self, config: Config) -> dict[str, Any] | None:
        """The result of one run."""
        return next(iter(self.all(config)), None)

    def all(self, *configs: Config) -> list[dict[str, Any]]:
        """The results of the finished configs, all of one result version."""
        requested = {canonical_key(config): config for config in configs}
        for key, config in requested.items():
            self.asked.setdefault(key, config)
        runs_of, chosen = self._chosen(requested)
        self.used.update({chosen} - {""})
        self.shown.update(runs[chosen].key for runs in runs_of if chosen in runs)
        return [runs[chosen].result for runs in runs_of if chosen in runs]

    def version(self, *configs: Config) -> str:
        """The result version that :meth:`all` chooses, "" where nothing is finished."""
        return self._chosen(canonical_key(config) for config in configs)[1]

    def _chosen(self, keys: Iterable[str]) -> tuple[list[dict[str, Run]], str]:
        """The runs of every config by result version, and the version of most of them."""
        by_version = [self.runs.get(key, {}) for key in keys]
        versions: dict[str, tuple[int, str]] = {}
        for runs in by_version:
            for code, run in runs.items():
                count, last = versions.get(code, (0, ""))
                versions[code] = (count + 1, max(last, run.finished_at))
        return by_version, max(versions, key=versions.__getitem__, default="")

    def failure(self, configs: Iterable[Config]) -> str:
        """The error message of the first failed run; empty if none failed."""
        keys = [self._store.key(config) for config in configs] if self._store is not None and self._failed else []
        return next((self._failed[key] for key in keys if key in self._failed), "")

    def values(self, configs: Iterable[Config], name: str) -> list[float]:
        return [result[name] for result in self.all(*configs) if result.get(name) is not None]

    def summary(self, configs: Iterable[Config], name: str, scale: float = 1.0) -> Summary | None:
        return summarize(self.values(configs, name), scale)


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Args:
        row, column: its place.
        ours: the measured value, None if it was not run.
        paper: the paper's value, if it has such a cell.
        planned: number of planned runs.
        score: the relative score that colors it, above 0 better, below 0 worse (None: no color).
        digits: digits after the decimal point.
        text: shown instead of numbers.
        note: why the cell is empty, or a remark.
        impossible: why no run can fill the cell; such a cell does not count as missing.
        facts: further columns of the CSV file.
    """

    row: str
    column: str
    ours: Summary | None = None
    paper: PaperValue | None = None
    planned: int = 0
    score: float | None = None
    digits: int = 2
    text: str = ""
    note: str = ""
    impossible: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def filled(self) -> bool:
        return self.ours is not None or bool(self.text)

    @property
    def complete(self) -> bool:
        """Whether all planned runs are finished."""
        return self.filled and (self.ours is None or self.ours.runs >= self.planned)

    @property
    def better(self) -> bool | None:
        """Whether it is better than doing nothing; None where it is neither better nor worse, or cannot be compared."""
        return None if self.score is None or abs(self.score) < MIN_SCORE else self.score > 0

    @property
    def difference(self) -> float | None:
        if self.ours is None or self.paper is None or self.paper.value != self.paper.value:
            return None
        return self.ours.mean - self.paper.value


@dataclass(frozen=True)
class Table:
    """Cells in rows and columns; ``words`` are printed below. A ``summary`` condenses the other tables to about ten
    lines."""

    title: str
    cells: list[Cell]
    corner: str = ""
    words: str = ""
    summary: bool = False

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(cell.column for cell in self.cells))

    def at(self, row: str, columns: Sequence[str]) -> list[Cell | None]:
        """The cells of a row in some columns."""
        found = {cell.column: cell for cell in self.cells if cell.row == row}
        return [found.get(column) for column in columns]


@dataclass(frozen=True)
class Figure:
    """A figure: ``draw(path)`` writes it to ``path``, as PNG or SVG by the suffix."""

    name: str
    caption: str
    draw: Callable[[Path], None]


Part = Table | Figure | str


@dataclass(frozen=True)
class Document:
    """A rendered exhibit."""

    name: str
    title: str
    parts: list[Part]

    @property
    def summary(self) -> Table | None:
        return next((part for part in self.parts if isinstance(part, Table) and part.summary), None)

    @property
    def tables(self) -> list[Table]:
        return [part for part in self.parts if isinstance(part, Table) and not part.summary]

    @property
    def figures(self) -> list[Figure]:
        return [part for part in self.parts if isinstance(part, Figure)]


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of the paper.

    Args:
        name: what ``magnet reproduce`` takes.
        title: one line.
        render: makes its tables, figures and paragraphs from finished runs. Every run that it requests from
            :class:`Results`, finished or not, is one that the exhibit needs.
    """

    name: str
    title: str
    render: Callable[[Results, Options], list[Part]]

    def document(self, results: Results, options: Options) -> Document:
        return Document(self.name, self.title, self.render(results, options))

    def configs(self, options: Options) -> list[Config]:
        """The runs that it needs, each once."""
        nothing = Results()
        self.render(nothing, options)
        return list(nothing.asked.values())


def brief(row: str, column: str, cell: Cell | None, digits: int = 1) -> Cell:
    """A cell of a summary: the mean, and the paper's value if there is one."""
    text = "—" if cell is None or cell.ours is None else f"{cell.ours.mean:.{digits}f}"
    paper = None if cell is None else cell.paper
    known = paper is not None and not math.isnan(paper.value)
    return Cell(row, column, text=f"{text} (paper {paper.value:.{digits}f})" if paper and known else text)
