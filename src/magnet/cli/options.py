"""Shared options of all commands: ``-q``, ``-v``, ``--json``, progress bars, error handling."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magnet.cli.errors import clear_errors

if TYPE_CHECKING:
    from rich.console import Console

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors (and JSON with --json).")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print details, and the traceback of an unexpected error.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

MAX_SEED = 2**63 - 1  # the largest that torch takes

#: Told what is being done and, where that is known, which share of it is behind us.
Stage = Callable[..., None]


@contextmanager
def command(quiet: bool = False, verbose: bool = False, as_json: bool = False) -> Iterator[Output]:
    """Run a command: it prints through the yielded object, and errors become one line and an exit code."""
    with clear_errors(verbose, quiet):
        yield Output(quiet, verbose, as_json)


@dataclass(frozen=True)
class Output:
    """The output of a command, as verbose as the user asked for.

    Args:
        quiet: nothing; JSON all the same.
        verbose: details, too.
        as_json: one JSON value and no text.
    """

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False

    @property
    def talks(self) -> bool:
        """Whether text is printed."""
        return not (self.quiet or self.as_json)

    @property
    def draws(self) -> bool:
        """Whether bars are drawn: on the error stream, where that is a terminal."""
        from rich.console import Console

        return not self.quiet and Console(stderr=True).is_terminal

    def line(self, text: str) -> None:
        """A line on standard output, whatever characters it holds."""
        if self.talks:
            typer.echo(text.encode(errors="replace").decode())

    def detail(self, text: str) -> None:
        """A line for those who asked for more."""
        if self.verbose:
            self.line(text)

    def result(self, content: Any, plain: Callable[[Any], Any] = str) -> None:
        """What the command found, for programs; ``plain`` makes JSON values of others."""
        if self.as_json:
            typer.echo(json.dumps(content, indent=1, ensure_ascii=False, default=plain).encode(errors="replace"))

    def console(self) -> Console:
        """A console for tables, silent where no text is wanted."""
        from rich.console import Console

        return Console(soft_wrap=True, highlight=False, markup=False, quiet=not self.talks)

    @contextmanager
    def progress(self) -> Iterator[Stage]:
        """A progress bar with the remaining time on standard error, if that is a terminal."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        if not self.draws:  # older versions of rich end even a disabled bar with an empty line
            yield lambda name, share=None: None
            return
        shown = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
        left = (TextColumn("left:"), TimeRemainingColumn())
        with Progress(*shown, *left, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("starting", total=None)

            def stage(name: str, share: float | None = None) -> None:
                bar.update(task, description=name, total=None if share is None else 1.0, completed=share or 0.0)

            yield stage
