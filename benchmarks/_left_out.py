"""Leave one family out: every constant of the table engine is chosen again without the evaluated family.

A family is a kind of dirty table (the part of a name before the first dash). For each one left out, a small search
over the others chooses every constant of :class:`~magnet.tables.options.TableOptions` and those constants of other
files that decide what is listed; the family is then judged with that choice, beside the shipped setting.

The search: each constant in turn takes half and twice its value (:func:`grid`), all others at the start; constants that
gain on the other families are then moved together, the most useful first, as far as that gains. It begins at the
shipped constants, and once more at an arbitrary point (every constant but counts, which cost time, at a random place
of its grid), which has not seen the family either. A score is the mean of detection and repair F1, less what harm on
the clean file and wrong repairs exceed their limits by; families count alike.

Every measured pair of setting and table is kept in ``tables_left_out.jsonl``; a run that was stopped goes on from it.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from _pages import header

from magnet.tables.options import DEFAULT, TableOptions

FIXED = {"list_from", "change_from"}  # the contract with the user
CONSTANTS = {
    "channels.truth_discovery": ("MIN_REPORTS", "MIN_KAPPA", "MAX_AGREEMENT", "TEMPER"),
    "channels.typo": ("DIGIT_DISCOUNT",),
    "experts.groups": ("SMOOTHING", "MIN_GAIN", "MIN_PAIR_GAIN", "MAX_CONTEXTS"),
    "experts.novelty": ("LETTERS",),
    "experts.sequence": ("EQUAL_STEPS",),
    "experts.template": ("SHARE",),
    "numbers.judge": ("RATE", "RATE_ROWS", "MAX_CONTEXT_SHARE", "MAX_ORDER_SHARE", "MAX_FAR_SHARE", "GAP"),
    "numbers.rows": ("UNUSUAL",),
    "numbers.predict": ("MIN_GAIN", "BORROWED"),
    "numbers.errors": ("APART", "KNOWN", "DEGREES"),
    "numbers.tails": ("WIDE", "MAX_RATE"),
    "numbers.scales": ("GAIN", "FAR_SHARE"),
}
MAX_LISTED, MAX_CHANGED = 2.0, 0.5  # per 1000 cells of a clean file
MIN_REPAIR_PRECISION = 0.95
MIN_GAIN = 0.0005  # by which a constant must raise the score before it is moved
Setting = tuple[tuple[str, Any], ...]  # constants that differ from the shipped ones, sorted by name


def shipped() -> dict[str, Any]:
    """Every constant that is chosen again, with its shipped value; those of other files as ``module.NAME``."""
    options = {f.name: getattr(DEFAULT, f.name) for f in fields(TableOptions) if f.name not in FIXED}
    return options | {f"{m}.{n}": getattr(_module(m), n) for m, names in CONSTANTS.items() for n in names}


def _module(name: str) -> Any:
    return importlib.import_module(f"magnet.tables.{name}")


def grid(value: Any) -> tuple[Any, ...]:
    """Half, once and twice a constant; above one half, half and twice its distance from 1.

    Example:
        >>> grid(0.02), grid(0.8), grid(3), grid((0.1, 1.0))
        ((0.01, 0.02, 0.04), (0.6, 0.8, 0.9), (2, 3, 6), ((0.05, 0.5), (0.1, 1.0), (0.2, 2.0)))
    """
    if isinstance(value, tuple):
        return tuple(tuple(factor * v for v in value) for factor in (0.5, 1.0, 2.0))
    if isinstance(value, int):
        return (max(1, (value + 1) // 2), value, 2 * value)
    if 0.5 < value < 1:
        return (round(1 - 2 * (1 - value), 6), value, round(1 - (1 - value) / 2, 6))
    return (value / 2, value, 2 * value)


def with_options(setting: Setting) -> TableOptions:
    """Put the constants of other files in place and return those of the posterior."""
    chosen = dict(setting)
    for module, names in CONSTANTS.items():
        for name in names:
            key = f"{module}.{name}"
            setattr(_module(module), name, chosen.pop(key, _shipped_constants()[key]))
    return replace(DEFAULT, **chosen)


@lru_cache(1)
def _shipped_constants() -> dict[str, Any]:
    return {key: value for key, value in shipped().items() if "." in key}


def _measure(table: str, setting: Setting) -> dict[str, float]:
    """One table, dirty and clean, with one setting; runs in a process of its own."""
    import tables as benchmark

    dirty, clean = _texts(table)
    _shipped_constants()
    options = with_options(setting)
    began = time.perf_counter()
    score = benchmark.judge(dirty, clean, lambda columns: benchmark.ours(columns, options))
    return asdict(score) | {"seconds": time.perf_counter() - began}


@lru_cache(64)
def _texts(table: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    import tables as benchmark

    return next((d, c) for name, d, c in benchmark.real_tables([table]) if name == table)


class Measurements:
    """Scores of settings on tables, measured by several processes and kept in a file."""

    def __init__(self, path: Path, jobs: int) -> None:
        self._path, self._pool = path, ProcessPoolExecutor(jobs)
        self._known: dict[tuple[str, str], dict[str, float]] = {}
        lines = path.read_text().splitlines() if path.is_file() else []
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:  # the line at which a run was stopped
                continue
            self._known[record["table"], record["setting"]] = record["score"]

    def __call__(self, wanted: Iterable[tuple[str, Setting]]) -> None:
        """Measure what is not known yet."""
        missing = {(t, json.dumps(s)): (t, s) for t, s in wanted if (t, json.dumps(s)) not in self._known}
        work = {self._pool.submit(_measure, *pair): key for key, pair in missing.items()}
        with self._path.open("a") as file:
            for done in as_completed(work):
                table, setting = work[done]
                self._known[table, setting] = done.result()
                file.write(json.dumps({"table": table, "setting": setting, "score": done.result()}) + "\n")
                file.flush()

    def score(self, table: str, setting: Setting) -> dict[str, float]:
        return self._known[table, json.dumps(setting)]

    def close(self) -> None:
        self._pool.shutdown()


def value_of(score: Mapping[str, float]) -> float:
    """What the search maximizes on one table."""
    return (
        (score["f1"] + score["repair_f1"]) / 2
        - 0.05 * max(score["clean_listed"] - MAX_LISTED, 0)
        - 0.2 * max(score["clean_changed"] - MAX_CHANGED, 0)
        - max(MIN_REPAIR_PRECISION - score["repair_precision"], 0)
    )


def _changes(chosen: Mapping[str, Any]) -> Setting:
    default = shipped()
    return tuple(sorted((k, v) for k, v in chosen.items() if v != default[k]))


def search(
    measure: Measurements, tables: Mapping[str, list[str]], start: dict[str, Any], folds: list[str]
) -> dict[str, Setting]:
    """The setting that each fold, a family left out, chooses from a start."""
    everything = [t for names in tables.values() for t in names]
    steps = [(k, v) for k, known in shipped().items() for v in grid(known) if v != start[k]]
    at = _changes(start)
    measure((t, s) for s in (at, *(_changes(start | {k: v}) for k, v in steps)) for t in everything)

    def on_others(family: str) -> Callable[[Setting], float]:
        def mean(setting: Setting) -> float:
            parts = [
                np.mean([value_of(measure.score(t, setting)) for t in names])
                for name, names in tables.items()
                if name != family
            ]
            return float(np.mean(parts))

        return mean

    paths: dict[str, list[Setting]] = {}
    for family in folds:
        mean = on_others(family)
        gains = {(k, v): mean(_changes(start | {k: v})) - mean(at) for k, v in steps}
        best = {k: max((gain, v) for (name, v), gain in gains.items() if name == k) for k in dict(steps)}
        order = sorted((-gain, k, v) for k, (gain, v) in best.items() if gain > MIN_GAIN)
        lengths = sorted({1, 2, 4, 8, 16, len(order)} & set(range(1, len(order) + 1)))
        paths[family] = [at, *(_changes(start | {k: v for _, k, v in order[:size]}) for size in lengths)]
    measure((t, s) for family, path in paths.items() for s in path for f, names in tables.items() for t in names)
    return {family: max(path, key=on_others(family)) for family, path in paths.items()}


def leave_one_family_out(names: list[str], output: Path, jobs: int, per_family: int, start_at: str = "both") -> str:
    """The report; see the head of this file."""
    import tables as benchmark

    by: dict[str, list[tuple[int, str]]] = {}
    for name, dirty, _ in benchmark.real_tables(names):
        by.setdefault(name.split("-")[0], []).append((sum(map(len, dirty.values())), name))
    small = {family: [name for _, name in sorted(found)[:per_family]] for family, found in by.items()}
    whole = {family: [name for _, name in sorted(found, reverse=True)] for family, found in by.items()}
    default = shipped()
    rng = np.random.default_rng(0)
    starts = {
        "the shipped constants": default,
        "an arbitrary point": {k: grid(v)[rng.integers(3)] if isinstance(v, float) else v for k, v in default.items()},
    }
    output.mkdir(parents=True, exist_ok=True)
    measure = Measurements(output / "tables_left_out.jsonl", jobs)
    lines = [
        f"{len(default)} constants: {len(fields(TableOptions)) - len(FIXED)} of `TableOptions`, the rest of",
        f"other files. They are chosen on the {per_family} smallest tables of each other family; the left-out family",
        "is evaluated on all its tables. Limits on a clean file: 2 listed and 0.5 changed cells per 1000.",
        "",
    ]
    for title, start in starts.items():
        if start_at != "both" and start_at not in title:
            continue
        chosen = search(measure, small, start, list(by))
        measure((t, s) for family in by for t in whole[family] for s in ((), chosen[family], _changes(start)))
        lines += [*_report(title, by, whole, chosen, _changes(start), measure), ""]
        (output / "tables_left_out.md").write_text("\n".join(lines))
    measure.close()
    return "\n".join(lines)


def _report(
    title: str,
    families: Iterable[str],
    whole: Mapping[str, list[str]],
    chosen: Mapping[str, Setting],
    start: Setting,
    measure: Measurements,
) -> list[str]:
    lines = [
        f"### Search from {title}",
        "",
        *header(
            *("family left out", "setting", "F1", "repair P", "repair F1", "lowest repair P"),
            *("clean: listed / changed per 1000, mean", "clean, worst file"),
        ),
    ]
    for family in families:
        rows = {"shipped": (), "chosen without it": chosen[family]} | ({"the start": start} if start else {})
        for name, setting in rows.items():
            scores = [measure.score(t, setting) for t in whole[family]]
            mean = {k: float(np.mean([s[k] for s in scores])) for k in scores[0]}
            listed, changed = (max(s[k] for s in scores) for k in ("clean_listed", "clean_changed"))
            lines.append(
                f"| {family} ({len(scores)}) | {name} | **{mean['f1']:.3f}** | {mean['repair_precision']:.3f} | "
                f"{mean['repair_f1']:.3f} | {min(s['repair_precision'] for s in scores):.3f} | "
                f"{mean['clean_listed']:.2f} / {mean['clean_changed']:.2f} | {listed:.2f} / {changed:.2f} |"
            )
    lines += ["", "Constants chosen, where they differ from the shipped ones:", ""]
    for family in families:
        said = ", ".join(f"{k} {_plain(v)}" for k, v in chosen[family])
        lines.append(f"- without {family}: {said or 'none'}")
    return lines


def _plain(value: Any) -> str:
    return "(" + ", ".join(f"{v:g}" for v in value) + ")" if isinstance(value, tuple) else f"{value:g}"
