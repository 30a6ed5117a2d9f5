"""``magnet bench``: run the benchmarks."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from magnet.cli.errors import fail
from magnet.cli.options import Output, command


def folder() -> Path:
    """Where the benchmark scripts are: inside the installed package, or beside ``src`` in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_benchmarks"
    return installed if installed.is_dir() else package.parents[1] / "benchmarks"


@command
def bench(
    out: Output,
    name: Annotated[str | None, typer.Argument(help="Name of the benchmark; omit it to list all.")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to the benchmark.")] = None,
) -> None:
    """Run a benchmark and print its table (options after `--` are passed on)."""
    scripts = {path.stem: path for path in sorted(folder().glob("[!_]*.py"))}
    if name is None:
        descriptions = {
            stem: path.read_text(encoding="utf-8").lstrip('"').splitlines()[0].replace("``", "")
            for stem, path in scripts.items()
        }
        out.result(descriptions)
        width = max(map(len, descriptions), default=0)
        for stem, first_line in descriptions.items():
            out.line(f"{stem:{width}}  {first_line}")
        return
    if name not in scripts:
        fail(f"no benchmark {name!r}; there are: {', '.join(scripts)}")
    words = [sys.executable, str(scripts[name]), *(arguments or [])]
    out.detail(" ".join(words))
    began = time.perf_counter()
    if out.prints_text:  # the benchmark prints its own progress
        process = subprocess.run(words, text=True)
    else:
        with out.progress() as stage:
            stage(f"running {name}")
            process = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    seconds = round(time.perf_counter() - began, 2)
    out.result({"benchmark": name, "code": process.returncode, "seconds": seconds, "output": process.stdout})
    out.detail(f"{seconds} s")
    raise typer.Exit(process.returncode)
