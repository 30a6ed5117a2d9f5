"""The command line. Each command has its own file and imports heavy packages only when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from magnet import __version__
from magnet.cli import agent, apply, bench, check, clean, corrupt, datasets, demo, doctor, reproduce, review, run

app = typer.Typer(
    name="magnet",
    help="Find and repair wrong values in tables and in the node attributes of graphs.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
PANELS = {
    "Your tables": (clean.clean, review.review, apply.apply, check.check, agent.mcp),
    "First steps": (demo.demo, doctor.doctor),
    "Research": (datasets.datasets, corrupt.corrupt, run.run, reproduce.reproduce, bench.bench),
}
for panel, commands in PANELS.items():
    for command in commands:
        app.command(command.__name__, rich_help_panel=panel)(command)


def _show_version(asked_for: bool) -> None:
    if asked_for:
        typer.echo(f"magnet {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find and repair wrong values in tables and in the node attributes of graphs."""
