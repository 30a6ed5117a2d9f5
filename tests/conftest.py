"""Fixtures for all tests."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pandas as pd
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


@pytest.fixture
def misspelled() -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table whose city follows from its code, and the same with two typos and a wrong code."""
    rng = np.random.default_rng(0)
    town = rng.integers(5, size=300)
    codes, cities = ["AAR", "BER", "COR", "DEL", "EVO"], ["Aarhus", "Bergen", "Cork", "Delft", "Evora"]
    right = pd.DataFrame({"code": np.array(codes)[town], "city": np.array(cities)[town]})
    right["visits"] = rng.poisson(20, size=300)
    nodes = right.copy()
    nodes.loc[3, "city"] = nodes.loc[3, "city"][:-1] + "x"
    nodes.loc[9, "city"] = "q" + nodes.loc[9, "city"]
    return right, nodes
