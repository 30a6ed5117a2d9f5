"""``magnet reproduce``: the paper's tables and figures."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magnet.cli.errors import FAILED, INTERRUPTED, fail
from magnet.cli.options import Defaults, Device, Folder, Output, command, names

if TYPE_CHECKING:
    from magnet.experiments.exhibits.make import RenderedExhibits

NAMES = (
    "table1, table2, table3, table4, table5, table6, table7, fig-sparsity, fig-level, fig-loss, fig-cells, fig-errors, "
    "fig-image, all"
)


@command
def reproduce(
    out: Output,
    name: Annotated[str, typer.Argument(help=f"One or more of, comma-separated: {NAMES}.")],
    datasets: Annotated[str | None, typer.Option(help="Only these datasets, comma-separated.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these methods, comma-separated.")] = None,
    corruptions: Annotated[str | None, typer.Option(help="Only these corruptions, comma-separated.")] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Number of repetitions.", show_default="10; 2 with --quick")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version on built-in data.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Show finished runs without starting others.")] = False,
    settings: Annotated[
        Path | None,
        typer.Option(help="File of settings that --search writes.", show_default="settings.toml beside the store"),
    ] = None,
    defaults: Defaults = False,
    store: Annotated[Path, typer.Option(help="SQLite file of finished runs.")] = Path("results/runs.sqlite"),
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for Markdown, CSV and figures.", show_default="the store's folder"),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    ray: Annotated[str | None, typer.Option(help="Address of a Ray cluster to run on.")] = None,
    device: Device = None,
    folder: Folder = None,
    search: Annotated[
        int, typer.Option(min=0, help="First tune every method with this number of trials (needs optuna).")
    ] = 0,
    any_version: Annotated[
        bool, typer.Option("--any-version", help="Also accept runs of other result versions.")
    ] = False,
) -> None:
    """Run or resume a table or figure of the paper and show it beside the paper's values."""
    from magnet.experiments.exhibits import EXHIBITS, Options
    from magnet.experiments.exhibits.make import Execution, make_exhibits
    from magnet.experiments.exhibits.render import write_page
    from magnet.experiments.protocol.measure import chosen_device
    from magnet.experiments.store import Store

    requested = names(name) or []
    unknown = [part for part in requested if part != "all" and part not in EXHIBITS]
    if unknown:
        fail(f"unknown exhibit {unknown[0]!r}; choose from {', '.join(EXHIBITS)}, all")
    if search:
        _check_search(quick, defaults)
    elif settings is not None and not settings.is_file():
        fail(f"--settings: {settings} does not exist; --search creates it")
    exported = store.with_suffix(".csv")
    if show and not store.exists() and not exported.is_file():
        fail(f"{store} does not exist; run without --show first")
    settings_file = settings or store.with_name("settings.toml")
    options = Options(
        datasets=names(datasets),
        methods=names(methods),
        corruptions=names(corruptions),
        repeats=repeats or (2 if quick else 10),
        quick=quick,
        settings=settings_file if search or settings_file.is_file() else None,
        defaults=defaults,
    )
    where = Execution(jobs=jobs, ray=ray, device=device, folder=None if folder is None else str(folder))
    target = store.parent if output is None else output
    chosen_device(device)
    if not store.exists() and exported.is_file():
        with Store(store) as opened:
            out.line(f"{opened.load(exported)} finished runs from {exported}")
    try:
        echo = None if out.quiet else out.line
        rendered = make_exhibits(requested, store, target, options, where, show, any_version, search, echo=echo)
    except KeyboardInterrupt:
        fail("interrupted; run the same command again to continue", INTERRUPTED)
    _show(rendered, target, out)
    if "all" in requested:
        out.line(f"one page: {write_page(rendered.documents, target, store, rendered.shown)}")
    if rendered.failed:
        for key, message in rendered.failed.items():
            typer.echo(f"failed: {key} {message}", err=True)
        fail(f"{len(rendered.failed)} runs failed; run the same command again to retry them", FAILED)


def _show(rendered: RenderedExhibits, target: Path, out: Output) -> None:
    """Print the tables, and where they were written to."""
    from rich.console import Console

    from magnet.experiments.exhibits.render import show

    console = Console(quiet=not out.prints_text)
    for document in rendered.documents:
        console.rule(document.title)
        show(document, console)
    exhibits = {document.name: document.title for document in rendered.documents}
    out.result({"exhibits": exhibits, "runs": len(rendered.shown), "failed": rendered.failed, "output": str(target)})
    out.line(f"written to {target}")
    out.detail(f"{len(rendered.shown)} finished runs are shown")


def _check_search(quick: bool, defaults: bool) -> None:
    """Refuse options that contradict ``--search``."""
    if quick:
        fail("--search cannot be combined with --quick, which runs on toy data")
    if defaults:
        fail("--search cannot be combined with --defaults")
    if find_spec("optuna") is None:  # report this before hours of runs, not after them
        fail("--search needs optuna: pip install 'magnet-gnn[search]'", FAILED)
