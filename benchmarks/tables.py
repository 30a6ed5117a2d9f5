"""Real and synthetic dirty tables: detection, repair and harm, compared with simple rules and outlier detectors.

python benchmarks/tables.py                      # every table of $MAGNET_DATA/Tables, writes results/tables.md
python benchmarks/tables.py --jobs 4 --methods magnet    # in parallel; the other methods as they stand in tables.csv
python benchmarks/tables.py hospital beers       # some tables only, nothing is written
python benchmarks/tables.py --made-up            # seeded families of errors, nothing read
python benchmarks/tables.py --injected           # one kind of error, or all kinds, put into the clean files
python benchmarks/tables.py --leave-one-family-out --jobs 16    # writes results/tables_left_out.md
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from _injections import KINDS, inject
from _left_out import leave_one_family_out
from _made_up import FAMILIES
from _made_up_mixed import MIXED
from _made_up_more import MORE
from _pages import header

from magnet.tables.options import DEFAULT, TableOptions
from magnet.tables.posterior import judge_table
from magnet.tables.roles.patterns import blank, disguised_blank, number, shortest

Columns = dict[str, list[str]]
Found = dict[tuple[int, str], tuple[str | None, float]]
INJECTED_ROWS = 600  # of each clean file
RESULTS = Path(__file__).parent.parent / "results"
PUBLISHED = """On *hospital* and *beers*: detection P/R/F1 of dBoost .54/.45/.49 and .54/.56/.55,
NADEEF .05/.37/.09 and .13/.06/.08, KATARA .06/.37/.10 and .08/.26/.12, Raha with 20 labeled rows .94/.59/.72 and
.99/.99/.99 (Raha paper, Table 5). Repair F1 of HoloClean with the errors given .83 and .01, Baran with the errors and
20 labels given .87 and .90, Raha + Baran end to end .66 and .90 (Baran paper, Tables 3 and 7).

HoloClean and Baran cannot be installed under these names. `raha` 1.26, which contains both Raha and Baran,
installs, but needs pandas below 2.1 (it calls `DataFrame.applymap`); with that, detection on *hospital* did not finish
within four minutes on one busy core, so its published numbers are quoted."""


@dataclass(frozen=True)
class Score:
    """Detection and repair on one table, and what happens to its clean file."""

    errors: int
    listed: int
    precision: float
    recall: float
    f1: float
    repair_precision: float
    repair_recall: float
    repair_f1: float
    damaged: int
    clean_listed: float = 0.0
    clean_changed: float = 0.0
    seconds: float = 0.0


Results = dict[str, dict[str, dict[str, Score]]]  # by part of the report, method and table


def read_texts(path: Path) -> Columns:
    """A CSV file as texts; repeated headers get a number."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        titles, *rows = csv.reader(file)
    names: list[str] = []
    for name in titles:
        names.append(name if name not in names else f"{name}.{len(names)}")
    return {name: [row[j] if j < len(row) else "" for row in rows] for j, name in enumerate(names)}


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def ours(columns: Columns, options: TableOptions = DEFAULT) -> Found:
    """Listed cells; a blank is suggested a value but not written."""
    cells = judge_table(columns, options=options).cells
    return {(c.row, c.column): (c.suggested, 0.0 if blank(c.observed) else c.confidence) for c in cells}


def tukey_and_rare(columns: Columns) -> Found:
    """Numbers outside 1.5 interquartile ranges, texts that occur once in columns that repeat."""
    out: Found = {}
    for name, texts in columns.items():
        values = [number(t) for t in texts]
        filled = [v for v in values if v is not None]
        if len(filled) > 0.7 * sum(bool(t) for t in texts) and filled:
            low, high = np.percentile(filled, [25, 75])
            fence = 1.5 * (high - low)
            for i, v in enumerate(values):
                if texts[i] and (v is None or not low - fence <= v <= high + fence):
                    out[i, name] = (None, 0.0)
            continue
        counts = Counter(texts)
        if len(counts) <= 0.5 * len(texts):
            for i, t in enumerate(texts):
                if t and counts[t] == 1:
                    out[i, name] = (None, 0.0)
    return out


def rules(columns: Columns) -> Found:
    """A small rule set: units go, disguised blanks go, rare values become the nearest frequent one or their group's."""
    from rapidfuzz.distance import OSA

    out: Found = {}
    for name, texts in columns.items():
        counts = Counter(texts)
        parsed = {t: t.split()[0].rstrip("%") for t in counts if t and number(t.split()[0].rstrip("%")) is not None}
        units = {t for t in parsed if parsed[t] != t}
        numeric = sum(counts[t] for t in parsed) > 0.85 * sum(c for t, c in counts.items() if not disguised_blank(t))
        frequent = [t for t, c in counts.items() if c >= 5 and t and number(t) is None][:500]
        fixed: dict[str, str] = {}
        for t, c in counts.items():
            if disguised_blank(t) and c < 0.5 * len(texts):
                fixed[t] = ""
            elif numeric and t in units and len({u.split()[-1] for u in units}) < 20:
                fixed[t] = shortest(parsed[t])
            elif c <= 3 and t and number(t) is None:
                near = [u for u in frequent if abs(len(u) - len(t)) < 3 and OSA.distance(t, u, score_cutoff=2) <= 2]
                same = [
                    u
                    for u in frequent
                    if len(u) == len(t) and len(set(zip(t, u, strict=True)) - set(zip(u, u, strict=True))) == 1
                ]
                if near or same:
                    fixed[t] = max(near or same, key=lambda u: counts[u])
        for i, t in enumerate(texts):
            if t in fixed and fixed[t] != t:
                out[i, name] = (fixed[t], 1.0)
    for left, keys in columns.items():
        groups: dict[str, list[int]] = defaultdict(list)
        for i, key in enumerate(keys):
            groups[key].append(i)
        if not 2 <= len(groups) <= 0.5 * len(keys):
            continue
        for name, texts in columns.items():
            leaders = {k: Counter(texts[i] for i in rows).most_common(1)[0] for k, rows in groups.items()}
            agree = sum(c for _, c in leaders.values()) / len(texts)
            if name == left or not 0.97 <= agree < 1:
                continue
            for k, rows in groups.items():
                if leaders[k][1] >= max(4, 0.8 * len(rows)):
                    for i in rows:
                        if texts[i] != leaders[k][0]:
                            out.setdefault((i, name), (leaders[k][0], 1.0))
    return out


def pyod_rows(columns: Columns) -> Found:
    """ECOD on numbers and log frequencies; a cell is listed if its tail is beyond the 1 % most extreme."""
    try:
        from pyod.models.ecod import ECOD
    except ImportError:
        return {}
    encoded = []
    for texts in columns.values():
        counts = Counter(texts)
        values = [number(t) for t in texts]
        if sum(v is not None for v in values) > 0.7 * len(texts):
            middle = float(np.median([v for v in values if v is not None]))
            encoded.append([middle if v is None else v for v in values])
        else:
            encoded.append([float(np.log(counts[t])) for t in texts])
    table = np.array(encoded, dtype=float).T
    detector = ECOD()
    detector.fit(table)
    tails = np.asarray(detector.O)
    cut = np.quantile(tails, 0.99)
    names = list(columns)
    return {(int(i), names[j]): (None, 0.0) for i, j in zip(*np.nonzero(tails > cut), strict=True)}


METHODS: dict[str, Callable[[Columns], Found]] = {
    "Tukey + rare values": tukey_and_rare,
    "rules": rules,
    "PyOD ECOD": pyod_rows,
    "magnet": ours,
}


def measure(dirty: Columns, clean: Columns, found: Found, change_from: float = DEFAULT.change_from) -> Score:
    """Compare listed and changed cells with the truth."""
    errors = {(i, c) for c in dirty for i, (a, b) in enumerate(zip(dirty[c], clean[c], strict=True)) if a != b}
    hits = len(errors & set(found))
    precision = hits / len(found) if found else 1.0
    recall = hits / len(errors) if errors else 1.0
    changed = {k: s for k, (s, p) in found.items() if s is not None and p >= change_from}
    right = sum(clean[c][i] == s for (i, c), s in changed.items())
    repair_precision = right / len(changed) if changed else 1.0
    repair_recall = right / len(errors) if errors else 1.0
    return Score(
        len(errors),
        len(found),
        precision,
        recall,
        f1(precision, recall),
        repair_precision,
        repair_recall,
        f1(repair_precision, repair_recall),
        sum(k not in errors for k in changed),
    )


def judge(dirty: Columns, clean: Columns, method: Callable[[Columns], Found]) -> Score:
    """Score a method on a table and on its clean file."""
    start = time.perf_counter()
    found = method(dirty)
    seconds = time.perf_counter() - start
    harm = method(clean)
    cells = sum(map(len, clean.values())) / 1000
    changed = sum(s is not None and p >= DEFAULT.change_from for s, p in harm.values())
    score = measure(dirty, clean, found)
    return replace(score, clean_listed=len(harm) / cells, clean_changed=changed / cells, seconds=seconds)


def real_tables(names: list[str]) -> Iterator[tuple[str, Columns, Columns]]:
    root = Path(os.environ.get("MAGNET_DATA", "data")) / "Tables"
    for path in sorted(root.glob("*/dirty.csv")):
        if not names or any(name in path.parent.name for name in names):
            dirty, clean = read_texts(path), read_texts(path.with_name("clean.csv"))
            yield path.parent.name, dirty, dict(zip(dirty, clean.values(), strict=True))


def made_up_tables(names: list[str], seeds: int) -> Iterator[tuple[str, Columns, Columns]]:
    for family, make in (FAMILIES | MIXED | MORE).items():
        if not names or family in names:
            for seed in range(seeds):
                table = make(seed)
                yield f"{family}-{seed}", table.dirty, table.clean


def injected_tables(names: list[str], rate: float) -> Iterator[tuple[str, Columns, Columns]]:
    """Each clean file with each kind of error that its columns allow, and with all kinds at once."""
    seen: set[str] = set()
    for name, _, clean in real_tables(names):
        table = name.partition("-")[2] or name  # the families share clean files
        if table in seen:
            continue
        seen.add(table)
        head = {c: texts[:INJECTED_ROWS] for c, texts in clean.items()}
        for kind in (*KINDS, "mixed"):
            dirty = inject(head, kind, rate, seed=len(seen))
            if dirty != head:
                yield f"{kind}-{table}", dirty, head


HEADER = header(
    *("table", "errors", "P", "R", "F1", "repair P", "repair R", "repair F1", "right cells changed"),
    *("clean: listed / changed per 1000", "s"),
)


def row_of(name: str, s: Score) -> str:
    return (
        f"| {name} | {s.errors:.5g} | {s.precision:.2f} | {s.recall:.2f} | **{s.f1:.3f}** | {s.repair_precision:.3f} | "
        f"{s.repair_recall:.2f} | {s.repair_f1:.3f} | {s.damaged:.3g} | {s.clean_listed:.2f} / {s.clean_changed:.2f} | "
        f"{s.seconds:.1f} |"
    )


def table_of(scores: Mapping[str, Score]) -> list[str]:
    return [*HEADER, *(row_of(n, s) for n, s in scores.items())]


def mean_of(scores: list[Score]) -> Score:
    fields = Score.__dataclass_fields__
    return Score(**{k: float(np.mean([getattr(s, k) for s in scores])) for k in fields})  # type: ignore[arg-type]


def families(scores: Mapping[str, Score]) -> dict[str, Score]:
    by: dict[str, list[Score]] = defaultdict(list)
    for name, score in scores.items():
        by[name.split("-")[0]].append(score)
    return {f"{family} (mean of {len(s)})": mean_of(s) for family, s in by.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of tables (default: all)")
    parser.add_argument("--made-up", action="store_true", help="the seeded families only")
    parser.add_argument("--injected", action="store_true", help="errors put into the clean files only")
    parser.add_argument("--rate", type=float, default=0.1, help="share of cells struck in the columns that are")
    parser.add_argument("--seeds", type=int, default=3, help="tables per made-up family")
    parser.add_argument("--methods", default=",".join(METHODS), help="comma-separated")
    parser.add_argument("--leave-one-family-out", action="store_true", help="choose every constant without the family")
    parser.add_argument("--per-family", type=int, default=4, help="smallest tables per family in that choice")
    parser.add_argument("--start", default="both", choices=("both", "shipped", "arbitrary"), help="of its search")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--rows", type=int, help="time a made-up table of so many rows, and do nothing else")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of tables.md and tables.csv")
    args = parser.parse_args()
    if args.leave_one_family_out:
        print(leave_one_family_out(args.names, args.output, args.jobs, args.per_family, args.start))
        return
    if args.rows:
        print(time_rows(args.rows, args.output))
        return
    methods = [m for m in args.methods.split(",") if m in METHODS]
    tables = {
        "Real tables": real_tables(args.names),
        "Made-up families": made_up_tables(args.names, args.seeds),
        "Injected errors": injected_tables(args.names, args.rate),
    }
    whole = not (args.made_up or args.injected or args.names)
    if not whole:
        only = "Made-up families" if args.made_up else "Injected errors" if args.injected else "Real tables"
        tables = {only: tables[only]}
    results = stored(args.output) if whole else {}
    with ProcessPoolExecutor(args.jobs) as pool:
        work = {
            (title, m, name): pool.submit(judge, dirty, clean, METHODS[m])
            for title, some in tables.items()
            for name, dirty, clean in some
            for m in (methods if title != "Injected errors" else [m for m in methods if m == "magnet"])
        }
        for title, m, _ in work:
            results.setdefault(title, {})[m] = {}
        for (title, m, name), done in work.items():
            results[title][m][name] = done.result()
            print(f"{m:20s} {row_of(name, done.result())}", flush=True)
            if whole:
                write(results, args.output)


def stored(folder: Path) -> Results:
    """What :func:`write` wrote last."""
    out: Results = {}
    if (folder / "tables.csv").exists():
        with (folder / "tables.csv").open(newline="") as file:
            for line in csv.DictReader(file):
                part, m, name = line.pop("part"), line.pop("method"), line.pop("table")
                out.setdefault(part, {}).setdefault(m, {})[name] = Score(**{k: float(v) for k, v in line.items()})  # type: ignore[arg-type]
    return out


def time_rows(rows: int, folder: Path) -> str:
    """Time and memory of our method on a made-up table of customers of so many rows; the clean file is not judged."""
    table = FAMILIES["customers"](0, rows)  # type: ignore[call-arg]
    start = time.perf_counter()
    found = METHODS["magnet"](table.dirty)
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    score = measure(table.dirty, table.clean, found)
    text = (
        f"`python benchmarks/tables.py --rows {rows}`, {os.cpu_count()} CPU cores ({platform.machine()}).\n\n"
        "| made-up table | seconds | peak memory, the table included | F1 | repair P |\n|---|---|---|---|---|\n"
        f"| customers, {rows} x {len(table.dirty)} | {seconds:.0f} | {peak:.2f} GiB | {score.f1:.3f} "
        f"| {score.repair_precision:.3f} |\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tables_size.txt").write_text(text)
    return text


def summary(results: Results) -> list[str]:
    """Means of the families of real tables, and of all made-up and all injected ones: ours beside the others."""
    others = [m for m in METHODS if m != "magnet"]
    head = [
        "table",
        *(f"{m}, F1" for m in others),
        "MAGnet, F1",
        "repair P",
        "repair F1",
        "clean, worst: listed / changed",
    ]
    lines = header(*head)
    for title, methods in results.items():
        groups: dict[str, list[str]] = defaultdict(list)
        for name in methods.get("magnet", {}):
            groups[name.split("-")[0] if title == "Real tables" else title].append(name)
        for group, names in groups.items():
            ours = [methods["magnet"][name] for name in names]
            mean, worst = mean_of(ours), [max(getattr(s, k) for s in ours) for k in ("clean_listed", "clean_changed")]
            f1 = [f"{mean_of([methods[m][n] for n in names]).f1:.2f}" if m in methods else "-" for m in others]
            cells = [f"{group} ({len(names)})", *f1, f"**{mean.f1:.3f}**", f"{mean.repair_precision:.3f}"]
            lines.append(f"| {' | '.join(cells)} | {mean.repair_f1:.3f} | {worst[0]:.2f} / {worst[1]:.2f} |")
    return [*lines, "", "Listed and changed cells of the clean file are per 1000 cells."]


def write(results: Results, folder: Path) -> None:
    """The report and the numbers behind it."""
    lines = [
        "# Dirty tables",
        "",
        "One setting for all tables; `python benchmarks/tables.py`.",
        "",
        *summary(results),
        "",
    ]
    for title, methods in results.items():
        lines += [f"## {title}", ""]
        for m, scores in methods.items():
            lines += [f"### {m}: means", "", *table_of(families(scores)), ""]
        if title != "Injected errors":
            lines += ["### magnet: every table", "", *table_of(methods.get("magnet", {})), ""]
    lines += ["## Published", "", PUBLISHED, ""]
    appendices = {"Size": "tables_size.txt", "Constants chosen without the family": "tables_left_out.md"}
    for title, name in appendices.items():
        if (folder / name).exists():
            lines += [f"## {title}", "", (folder / name).read_text()]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tables.md").write_text("\n".join(lines))
    fields = list(Score.__dataclass_fields__)
    with (folder / "tables.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["part", "method", "table", *fields])
        for part, methods in results.items():
            for m, scores in methods.items():
                for name, score in scores.items():
                    writer.writerow([part, m, name, *(f"{getattr(score, k):.6g}" for k in fields)])


if __name__ == "__main__":
    main()
