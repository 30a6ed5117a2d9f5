"""``magnet bench``: run the benchmarks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from magnet.cli.errors import fail


def folder() -> Path:
    """Where the benchmark scripts are: inside the installed package, or beside ``src`` in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_benchmarks"
    return installed if installed.is_dir() else package.parents[1] / "benchmarks"


def bench(
    name: Annotated[str | None, typer.Argument(help="Which benchmark; without it, list them.")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to the benchmark.")] = None,
) -> None:
    """Run a benchmark and print its table of ratios (options after `--` go to the benchmark)."""
    scripts = {path.stem: path for path in sorted(folder().glob("[!_]*.py"))}
    if name is None:
        for stem, path in scripts.items():
            first_line = path.read_text(encoding="utf-8").lstrip('"').splitlines()[0]
            typer.echo(f"{stem:12} {first_line}")
        return
    if name not in scripts:
        fail(f"no benchmark {name!r}; there are: {', '.join(scripts)}")
    raise typer.Exit(subprocess.call([sys.executable, str(scripts[name]), *(arguments or [])]))
