from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from magnet.cli import app


@pytest.fixture
def run() -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: ``run("check", path)`` returns its exit code, standard output and error stream."""

    def invoke(*arguments: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "240"})
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.stdout, result.stderr

    return invoke
