"""``magnet run``: one row of a table."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from magnet.cli.options import Defaults, Device, Folder, Output, Seed, command


@command
def run(
    out: Output,
    dataset: Annotated[str, typer.Option(help="Name of a dataset; see `magnet datasets`.")],
    method: Annotated[str, typer.Option(help="gcn, mlp, appnp, ..., magnet; an unknown name lists all.")],
    corruption: Annotated[str, typer.Option(help="none, inject-far, inject-random, meta, cells-flip ...")] = "none",
    seed: Seed = 0,
    option: Annotated[
        list[str] | None, typer.Option("--set", help="A setting as name=value, such as epochs=50; may be repeated.")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(help="File of settings found by `magnet reproduce --search`.")
    ] = None,
    defaults: Defaults = False,
    store: Annotated[Path | None, typer.Option(help="Also store the row in this SQLite file.")] = None,
    device: Device = None,
    folder: Folder = None,
) -> None:
    """Run one method on one dataset and print its metrics (all metrics and settings with -v or --json)."""
    overrides = dict(_setting(words) for words in option or ())
    if settings is not None and not settings.is_file():
        raise ValueError(f"--settings: {settings} does not exist")
    from magnet.experiments.protocol.run import run_many
    from magnet.experiments.store import Store
    from magnet.experiments.store.store import plain
    from magnet.experiments.tuning.settings import tuned

    config = {"kind": "classify", "dataset": dataset, "corruption": corruption, "method": method, "seed": seed}
    config |= overrides if defaults else tuned(method, dataset, corruption, settings) | overrides
    with nullcontext() if store is None else Store(store) as opened:
        finished = None if opened is None else opened.get(config)
        if finished is None:
            result = next(run_many([config], device, folder, progress=out.shows_progress))[1]
            if opened is not None:
                opened.add(config, result)
        else:
            result = finished.result
    out.result(result, plain)
    for name, value in result.items():
        is_plain = isinstance(value, int | float | str) and value != ""
        (out.line if is_plain else out.detail)(f"{name}: {_shown(name, value)}")


def _shown(name: str, value: Any) -> str:
    """A metric for people; JSON has all digits."""
    if name == "peak_memory":
        return f"{value / 1e6:.0f} MB"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _setting(words: str) -> tuple[str, object]:
    name, equals, value = words.partition("=")
    if not equals or not name:
        raise ValueError(f"--set: {words!r} is not name=value")
    if name in ("kind", "dataset", "method", "corruption", "seed"):
        raise ValueError(f"--set: {name} is not a method setting")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
