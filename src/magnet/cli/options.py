"""Shared options of all commands: ``-q``, ``-v``, ``--json``, progress bars, error handling."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magnet.cli.errors import clear_errors

if TYPE_CHECKING:
    from rich.console import Console

    from magnet.tables import Table

SHOWN_CELLS = 20  # suspicious cells that --verbose prints


def seed_number(text: str | int) -> int:
    """A seed that numpy and torch accept."""
    if not str(text).isdecimal() or len(str(text)) > 19 or int(text) >= 2**63:
        raise typer.BadParameter(f"{str(text)[:40]} is not a whole number from 0 to 2^63 - 1")
    return int(text)


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors (and JSON with --json).")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print details, and the traceback of an unexpected error.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

# options of several commands
Seed = Annotated[int, typer.Option(parser=seed_number, metavar="<int>", help="Random seed.")]
Device = Annotated[str | None, typer.Option(help="cpu or cuda.")]
Root = Annotated[Path | None, typer.Option(help="Folder to search first for raw files.")]
Folder = Annotated[Path | None, typer.Option(help="Cache folder of corrupted graphs.")]
Defaults = Annotated[bool, typer.Option("--defaults", help="Use default settings, not those found by search.")]

#: Called with the current stage and, if known, the completed share.
Stage = Callable[..., None]


@dataclass(frozen=True)
class TableOptions:
    """The options that a command which judges a table has in common with others: where its rows and links are, which
    columns are judged, and what is known about them."""

    edges: Annotated[
        Path | None, typer.Option("--edges", "-e", help="Table of links: two columns of row ids, optionally a weight.")
    ] = None
    id: Annotated[str | None, typer.Option(help="Column with the row ids; detected by default.")] = None
    label: Annotated[str | None, typer.Option(help="Column that is never changed, such as the prediction target.")] = (
        None
    )
    source: Annotated[str | None, typer.Option(help="Source column of the edges.")] = None
    target: Annotated[str | None, typer.Option(help="Target column of the edges.")] = None
    weight: Annotated[str | None, typer.Option(help="Weight column of the edges.")] = None
    allow_unknown_ids: Annotated[
        bool,
        typer.Option("--allow-unknown-ids", help="Continue even if most edges have ids that are not in the table."),
    ] = False
    link_by: Annotated[
        list[str] | None, typer.Option(help="Link rows with equal values in this column; may be repeated.")
    ] = None
    rule: Annotated[
        list[str] | None, typer.Option(help="Known dependency, such as 'zip -> city'; may be repeated.")
    ] = None
    schema: Annotated[Path | None, typer.Option(help="TOML file with column roles, patterns, ranges and rules.")] = None
    columns: Annotated[str | None, typer.Option(help="Judge only these columns (comma-separated).")] = None
    exclude: Annotated[str | None, typer.Option(help="Do not judge these columns (comma-separated).")] = None
    encoding: Annotated[str | None, typer.Option(help="Encoding of text files; detected by default.")] = None
    seed: Seed = 0

    @property
    def reading(self) -> dict[str, Any]:
        """The arguments of :func:`magnet.tables.read`, except the files."""
        given = ("id", "label", "source", "target", "weight", "encoding", "allow_unknown_ids")
        lists = {"columns": names(self.columns), "exclude": names(self.exclude)}
        return {name: getattr(self, name) for name in given} | lists

    @property
    def judging(self) -> dict[str, Any]:
        """Arguments of the cleaner."""
        return {"link_by": self.link_by or [], "rules": self.rule or [], "seed": self.seed}

    def read(self, nodes: Path, edges: Path | None) -> Table:
        """The table in a file, with its links."""
        from magnet import tables

        override = tables.read_override(self.schema) if self.schema is not None else None
        return tables.read(nodes, edges, **self.reading, override=override)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn a function whose first argument is an :class:`Output` into a command with ``-q``, ``-v`` and ``--json``; its
    exceptions become one line and an exit code. The fields of a parameter of type :class:`TableOptions` are options."""
    _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
    fields = list(inspect.signature(TableOptions, eval_str=True).parameters.values())
    bundled = [parameter.name for parameter in parameters if parameter.annotation is TableOptions]
    own = [option for p in parameters for option in (fields if p.name in bundled else [p])]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=option)
        for name, option in (("quiet", Quiet), ("verbose", Verbose), ("as_json", AsJson))
    ]

    @functools.wraps(function)
    def run(quiet: bool = False, verbose: bool = False, as_json: bool = False, **given: Any) -> None:
        for name in bundled:
            given[name] = TableOptions(**{field.name: given.pop(field.name) for field in fields})
        with clear_errors(verbose, quiet):
            function(Output(quiet, verbose, as_json), **given)

    vars(run)["__signature__"] = inspect.Signature([*own, *common])  # typer reads the options from it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *common)}
    return run


def names(text: str | None) -> list[str] | None:
    """The items of a comma-separated list."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


@dataclass(frozen=True)
class Output:
    """The output of a command, as verbose as the user asked for.

    Args:
        quiet: print only errors, and JSON if requested.
        verbose: also print details.
        as_json: print one JSON value instead of text.
    """

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False

    @property
    def prints_text(self) -> bool:
        """Whether text is printed."""
        return not (self.quiet or self.as_json)

    @property
    def shows_progress(self) -> bool:
        """Whether bars are drawn: on the error stream, where that is a terminal."""
        from rich.console import Console

        return not self.quiet and Console(stderr=True).is_terminal

    def line(self, text: str) -> None:
        """Print a line to standard output; characters that cannot be encoded are replaced."""
        if self.prints_text:
            typer.echo(text.encode(errors="replace").decode())

    def detail(self, text: str) -> None:
        """Print a line with ``--verbose`` only."""
        if self.verbose:
            self.line(text)

    def result(self, content: Any, plain: Callable[[Any], Any] = str) -> None:
        """Print the result with ``--json``; ``plain`` converts values that JSON does not support."""
        if self.as_json:
            typer.echo(json.dumps(content, indent=1, ensure_ascii=False, default=plain).encode(errors="replace"))

    def console(self) -> Console:
        """A console for tables, silent where no text is wanted."""
        from rich.console import Console

        return Console(soft_wrap=True, highlight=False, markup=False, quiet=not self.prints_text)

    @contextmanager
    def progress(self) -> Iterator[Stage]:
        """A progress bar with the remaining time on standard error, if that is a terminal."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        if not self.shows_progress:  # older versions of rich end even a disabled bar with an empty line
            yield lambda name, share=None: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
        remaining = (TextColumn("left:"), TimeRemainingColumn())
        with Progress(*columns, *remaining, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("starting", total=None)

            def stage(name: str, share: float | None = None) -> None:
                bar.update(task, description=name, total=None if share is None else 1.0, completed=share or 0.0)

            yield stage
