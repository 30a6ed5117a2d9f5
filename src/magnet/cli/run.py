"""``magnet run``: one row of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from magnet.cli.errors import FAILED, USAGE, fail


def run(
    dataset: Annotated[str, typer.Option(help="Name of a dataset; see `magnet datasets`.")],
    method: Annotated[str, typer.Option(help="gcn, mlp, appnp, ..., magnet; a wrong name lists them.")],
    corruption: Annotated[str, typer.Option(help="none, inject-far, inject-random, meta, cells-flip ...")] = "none",
    seed: Annotated[int, typer.Option(help="Of the repetition.")] = 0,
    option: Annotated[
        list[str] | None, typer.Option("--set", help="A setting as name=value, such as epochs=50. Repeatable.")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(help="File of settings found by `magnet reproduce --search`.")
    ] = None,
    defaults: Annotated[bool, typer.Option("--defaults", help="Default settings, none found by search.")] = False,
    store: Annotated[Path | None, typer.Option(help="Also keep the row in this SQLite file.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where corrupted graphs are kept.")] = None,
) -> None:
    """Run one row of a table and print it as JSON."""
    given = dict(_setting(words) for words in option or ())
    from magnet.experiments.protocol.registry import compute
    from magnet.experiments.store import Store
    from magnet.experiments.store.store import plain
    from magnet.experiments.tuning.settings import tuned

    kept = None
    try:
        if settings is not None and not settings.is_file():
            raise ValueError(f"--settings: {settings} is not there")
        config = {
            **{"kind": "classify", "dataset": dataset, "corruption": corruption, "method": method, "seed": seed},
            **({} if defaults else tuned(method, dataset, corruption, settings)),
            **given,
        }
        kept = None if store is None else Store(store)
        found = None if kept is None else kept.get(config)
        if found is None:
            result = next(iter(compute([config], device, None if folder is None else str(folder))))[1]
            if kept is not None:
                kept.add(config, result)
        else:
            result = found.result
    except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
        fail(str(error) or type(error).__name__, FAILED if isinstance(error, OSError | MemoryError) else USAGE)
    finally:
        if kept is not None:
            kept.close()
    typer.echo(json.dumps(result, indent=2, default=plain))


def _setting(words: str) -> tuple[str, object]:
    name, equals, value = words.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{words!r} is not name=value", param_hint="--set")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
