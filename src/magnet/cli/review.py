"""``magnet review``: decide about suspicious cells in the browser."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from magnet.cli.errors import clear_errors
from magnet.cli.options import AsJson


def review(
    folder: Annotated[Path, typer.Argument(help="The folder that magnet clean wrote.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of 127.0.0.1; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the address only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a report on this machine and save decisions in OUT/decisions.json as they are made; Ctrl-C ends it."""
    with clear_errors():
        from magnet.report.review import Review, ReviewServer

        decisions = Review(folder)
        server = ReviewServer(decisions, port)
        if as_json:
            typer.echo(json.dumps({"url": server.url, "decisions": str(decisions.path)}))
        else:
            typer.echo(server.url)
            if not quiet:
                typer.echo(f"Decisions are saved in {decisions.path}. Ctrl-C ends the review; the address is secret.")
        if browser:
            typer.launch(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            pass
        finally:
            server.server_close()
        if not quiet and not as_json:
            name = shlex.quote(str(decisions.path))
            done = f"{len(decisions.decided)} cells decided"
            typer.echo(f"{done}; carry it out: magnet apply {name} -o FILE" if decisions.path.exists() else done)
