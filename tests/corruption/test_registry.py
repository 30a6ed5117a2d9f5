"""Corruptions by name."""

from __future__ import annotations

import pytest
import torch

from magnet.corruption import KINDS, corrupt
from magnet.datasets import synthetic


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "patches"])
def test_every_kind_by_name(kind: str) -> None:
    data = synthetic(120, 30)
    options = {"budget": 40} if kind.startswith("meta") else {}
    bad = corrupt(data, kind, seed=2, **options)
    assert bad.info["kind"] == kind
    assert bad.info["seed"] == 2
    assert torch.equal(bad.cells, bad.data.x != data.x)
    assert bad.cells.any()
    assert bad.info["checksum"] == corrupt(data, kind, seed=2, **options).info["checksum"]


def test_names_and_options_are_checked() -> None:
    data = synthetic(50, 10)
    with pytest.raises(ValueError, match="unknown corruption 'inject-fat'; did you mean 'inject-far'"):
        corrupt(data, "inject-fat")
    with pytest.raises(ValueError, match="cells-flip has no option 'budget'; it has ratio, node_share"):
        corrupt(data, "cells-flip", budget=3)


def test_known_datasets_bring_the_papers_settings() -> None:
    data = synthetic(700, 5, kind="continuous")
    data.name = "pubmed"
    info = corrupt(data, "inject-far").info
    assert (info["candidates"], info["tolerance"]) == (500, 0.005)
    assert corrupt(synthetic(700, 5), "inject-far").info["candidates"] == 100
