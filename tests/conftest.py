"""Fixtures for all tests."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
import torch


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test draws the same random numbers each time, also where it names no generator."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (libraries draw from it)
    torch.manual_seed(0)


@pytest.fixture
def raw_data() -> Path:
    """The folder with the raw datasets; tests that need it are skipped where there is none."""
    folder = os.environ.get("MAGNET_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MAGNET_DATA does not name a folder with the raw datasets")
    return Path(folder)
