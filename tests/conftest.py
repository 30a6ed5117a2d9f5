"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def raw_data() -> Path:
    """The folder with the raw datasets; tests that need it are skipped where there is none."""
    folder = os.environ.get("MAGNET_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MAGNET_DATA does not name a folder with the raw datasets")
    return Path(folder)
