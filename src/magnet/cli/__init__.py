"""The command line. Each command lives in its own file and imports what is heavy when it runs."""

from __future__ import annotations

import typer

from magnet.cli import apply, bench, clean, data, demo, reproduce, run

app = typer.Typer(
    name="magnet",
    help="Find and repair wrong values in the node attributes of a graph.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
app.command("demo")(demo.demo)
app.command("clean")(clean.clean)
app.command("apply")(apply.apply)
app.command("bench")(bench.bench)
app.command("datasets")(data.datasets)
app.command("corrupt")(data.corrupt)
app.command("run")(run.run)
app.command("reproduce")(reproduce.reproduce)


@app.callback()
def main() -> None:
    """Find and repair wrong values in the node attributes of a graph."""
