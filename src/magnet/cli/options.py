"""Options that mean the same in every command."""

from __future__ import annotations

from typing import Annotated

import typer

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
