"""``magnet review``: decide about suspicious cells in the browser."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from magnet.cli.options import Output, command


@command
def review(
    out: Output,
    folder: Annotated[Path, typer.Argument(help="The folder that magnet clean wrote, or its report.html.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 chooses a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the report in the browser.")] = True,
) -> None:
    """Open a report in the browser and save decisions to FOLDER/decisions.json immediately; Ctrl-C stops."""
    from magnet.report.review import Review, ReviewServer

    decisions = Review(folder)
    server = ReviewServer(decisions, port)
    out.result({"url": server.url, "decisions": str(decisions.path)})
    if not out.as_json:
        typer.echo(server.url)
    out.line(f"Decisions are saved in {decisions.path}. Press Ctrl-C to stop. Keep the address secret.")
    out.detail(f"{decisions.count} cells, {len(decisions.decided)} of them decided")
    if browser:
        typer.launch(server.url)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    decisions.close()
    summary = f"cells decided: {len(decisions.decided)} of {decisions.count}, the threshold decides the others"
    apply = f"; write the accepted ones with: magnet apply {shlex.quote(str(decisions.path))} -o FILE"
    out.line(summary + apply if decisions.path.exists() else summary)
