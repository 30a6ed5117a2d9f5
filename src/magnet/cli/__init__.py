"""The command line. Each command lives in its own file and imports what is heavy when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from magnet import __version__
from magnet.cli import agent, apply, bench, check, clean, data, demo, doctor, reproduce, review, run

app = typer.Typer(
    name="magnet",
    help="Find and repair wrong values in the node attributes of a graph.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
app.command("demo")(demo.demo)
app.command("clean")(clean.clean)
app.command("apply")(apply.apply)
app.command("review")(review.review)
app.command("check")(check.check)
app.command("bench")(bench.bench)
app.command("datasets")(data.datasets)
app.command("corrupt")(data.corrupt)
app.command("run")(run.run)
app.command("reproduce")(reproduce.reproduce)
app.command("mcp")(agent.mcp)
app.command("doctor")(doctor.doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"magnet {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find and repair wrong values in the node attributes of a graph."""
