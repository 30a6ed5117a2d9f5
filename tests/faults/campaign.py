"""The fault campaign: hostile inputs, kills and full disks by the thousand; ``results/faults.md`` holds the counts.

``make campaign`` runs it whole; the test suite runs the first cases of it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from full_disk import NotPossible, check_file_limit, check_full_disk  # noqa: E402
from hostile import make_case, make_flipped  # noqa: E402
from invariants import check_clean, check_decisions, check_frame  # noqa: E402

KILLED = ("clean", "recover", "save", "corrupt", "reproduce")
PART = 50  # cases that a process takes at a time
DISKS = (4096, 8192, 12288, 16384)  # bytes: none holds a whole result


@dataclass
class Counts:
    """What was tried and how it ended, by family."""

    ends: dict[str, Counter[str]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(self, family: str, end: str) -> None:
        self.ends.setdefault(family, Counter())[end] += 1

    def take(self, other: Counts) -> None:
        """Add what another process counted."""
        for family, ends in other.ends.items():
            self.ends.setdefault(family, Counter()).update(ends)
        self.broken += other.broken
        self.skipped += other.skipped


def try_case(seed: int, counts: Counts) -> None:
    """The case of a seed: most are tables, every tenth a data frame, every twentieth a decisions file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if seed % 10 == 7:
            family, check = "data frames", lambda: check_frame(seed)
        elif seed % 20 == 3:
            family, check = "decisions", lambda: check_decisions(seed, folder)
        elif seed % 10 == 1:
            case = make_flipped(seed // 10, folder)
            family, check = case.family, lambda: check_clean(case, folder)
        else:
            case = make_case(seed, folder)
            family, check = case.family, lambda: check_clean(case, folder)
        try:
            counts.add(family, check())
        except Exception as error:
            counts.add(family, "broken")
            counts.broken.append(f"seed {seed}, {family}: {type(error).__name__}: {str(error)[:300]}")


def try_cases(seeds: range) -> Counts:
    counts = Counts()
    for seed in seeds:
        try_case(seed, counts)
    return counts


def try_kills(each: int, seed: int, works: tuple[str, ...] = KILLED) -> Counts:
    """So many kills of each command."""
    counts = Counts()
    command = [sys.executable, str(HERE / "kills.py"), "--works", ",".join(works), "--each", str(each)]
    done = subprocess.run([*command, "--seed", str(seed)], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        found = json.loads(line)
        family = f"kill -9 of {found['work']}"
        counts.add(family, "held" if found["held"] else "broken")
        if not found["held"]:
            counts.broken.append(f"{family}: {found['reason']}")
    if done.returncode:
        counts.broken.append(f"kills: {done.stderr[-300:]}")
    return counts


def try_disks(sizes: tuple[int, ...] = DISKS) -> Counts:
    """Full disks, and limits on the size of files."""
    counts = Counts()
    checks: list[tuple[str, Callable[[Path, int], None]]] = [
        ("full disk", check_full_disk),
        ("file-size limit", check_file_limit),
    ]
    for family, check in checks:
        for size in sizes:
            with tempfile.TemporaryDirectory() as name:
                try:
                    check(Path(name), size)
                    counts.add(family, "held")
                except NotPossible as reason:
                    counts.skipped.append(f"{family}: {reason}")
                    break
                except Exception as error:
                    counts.add(family, "broken")
                    counts.broken.append(f"{family} of {size} bytes: {type(error).__name__}: {str(error)[:300]}")
    return counts


def page(counts: Counts, command: str, commit: str) -> str:
    """``results/faults.md``."""
    return "\n".join(_lines(counts, command, commit)) + "\n"


def _lines(counts: Counts, command: str, commit: str) -> Iterator[str]:
    tried = sum(sum(ends.values()) for ends in counts.ends.values())
    broken = sum(ends["broken"] for ends in counts.ends.values())
    yield from (
        "# Fault campaign",
        "",
        f"{tried} hostile inputs, kills and full disks: in {tried - broken} every invariant held, in {broken} one "
        "did not.",
        "",
        f"Made by `{command}` at commit {commit}; case k has the seed k.",
        "The invariants are in `tests/faults/invariants.py`, the inputs in `tests/faults/hostile.py`.",
        "",
        "| what | tried | held | of these cleaned | refused |",
        "|---|---:|---:|---:|---:|",
    )
    for family in sorted(counts.ends):
        ends = counts.ends[family]
        total = sum(ends.values())
        parts = (ends["cleaned"], ends["refused"]) if "held" not in ends else ("", "")
        yield f"| {family} | {total} | {total - ends['broken']} | {parts[0]} | {parts[1]} |"
    yield ""
    if counts.skipped:
        yield from ("Skipped:", "", *(f"- {reason}" for reason in counts.skipped), "")
    if counts.broken:
        yield from ("Broken:", "", *(f"- {reason}" for reason in counts.broken[:50]), "")
    yield from (
        "*Cleaned*: the input files are untouched, only listed cells differ, list and table agree, types, index and",
        "all other bytes are kept, and `magnet apply` with the report's decisions gives the same table. *Refused*: one",
        "line, exit code 1 or 2, nothing written. After a kill, existing files are complete, and the same command",
        "finishes the work with the same result and leaves nothing else.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=50, help="in all, spread over the commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the cases")
    parser.add_argument("--commit", default="", help="named on the page (default: that of the repository)")
    parser.add_argument("--output", type=Path, default=HERE.parents[1] / "results" / "faults.md")
    arguments = parser.parse_args()
    asked = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    commit = arguments.commit or subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    given = f"--cases {arguments.cases} --kills {arguments.kills} --seed {arguments.seed}"
    counts, began = Counts(), time.monotonic()

    def write() -> None:
        text = page(counts, f"python tests/faults/campaign.py {given}", commit or "unknown")
        arguments.output.write_text(text, encoding="utf-8")

    end = arguments.seed + arguments.cases
    parts = [range(first, min(end, first + PART)) for first in range(arguments.seed, end, PART)]
    # a process that dies ends all of this: a crash of the interpreter is a fault like no other
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        each = -(-arguments.kills // len(KILLED))
        kills = [pool.submit(try_kills, each, arguments.seed, (work,)) for work in KILLED if each]
        for part, found in zip(parts, pool.map(try_cases, parts), strict=True):
            counts.take(found)
            tried, seconds = part.stop - arguments.seed, time.monotonic() - began
            print(f"{tried} cases, {len(counts.broken)} broken, {seconds:.0f} s", flush=True)
            write()  # what was tried stands there should this be stopped
        for done in kills:
            counts.take(done.result())
    counts.take(try_disks())
    write()
    print(arguments.output.read_text(encoding="utf-8"))
    sys.exit(1 if counts.broken else 0)


if __name__ == "__main__":
    main()
