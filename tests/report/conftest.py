"""A real browser, where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from magnet.tables import Table
from magnet.tables.findings import CellFinding
from magnet.tables.posterior import infer_roles
from magnet.tables.review import CleaningRecord, list_cells

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium. Without one the test is skipped, except in continuous integration, where it must be there."""
    path = os.environ.get("MAGNET_CHROMIUM") or next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium found; install Debian's chromium, or set MAGNET_CHROMIUM")
        pytest.skip("no Chromium found; set MAGNET_CHROMIUM to the path of one")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def make_record() -> Callable[..., CleaningRecord]:
    """Makes a record of findings given as row, column, suggestion, probability and confidence."""

    def make(table: Table, findings: list[tuple[int, str, str | None, float, float]], **options: Any) -> CleaningRecord:
        columns = table.text_columns()
        cells = []
        for row, name, value, probability, confidence in findings:
            seen = columns[name][row]
            kind = "typo" if seen else "missing"
            cells.append(CellFinding(row, name, seen, value, probability, confidence, kind, "because"))
        roles = {name: (role.name, role.note) for name, role in infer_roles(columns).items()}
        return CleaningRecord(
            table, list_cells(table, cells, **options), roles, {"id": "an identifier"} if "id" in roles else {}
        )

    return make
