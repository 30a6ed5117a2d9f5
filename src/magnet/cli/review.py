"""``magnet review``: decide about suspicious cells in the browser."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from magnet.cli.options import AsJson, Verbose, command


def review(
    folder: Annotated[Path, typer.Argument(help="The folder that magnet clean wrote.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of 127.0.0.1; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the address only.")] = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Show a report on this machine and save decisions in FOLDER/decisions.json as they are made; Ctrl-C ends it."""
    with command(quiet, verbose, as_json) as out:
        from magnet.report.review import Review, ReviewServer

        decisions = Review(folder)
        server = ReviewServer(decisions, port)
        out.result({"url": server.url, "decisions": str(decisions.path)})
        if not as_json:
            typer.echo(server.url)
        out.line(f"Decisions are saved in {decisions.path}. Ctrl-C ends the review; the address is secret.")
        out.detail(f"{decisions.count} cells, {len(decisions.decided)} of them decided")
        if browser:
            typer.launch(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            pass
        finally:
            server.server_close()
        done = f"{len(decisions.decided)} cells decided"
        apply = f"; carry it out: magnet apply {shlex.quote(str(decisions.path))} -o FILE"
        out.line(done + apply if decisions.path.exists() else done)
