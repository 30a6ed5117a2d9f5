"""Experiments side by side."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

from magnet import nn

QUICK: dict[str, Any] = {"epochs": 15, "device": "cpu"}


def test_what_does_not_fit_at_once_is_run_in_parts(small: Any, monkeypatch: pytest.MonkeyPatch, repeat: Any) -> None:
    whole = repeat(small, "none", "mlp", range(5), **QUICK)
    sizes: list[int] = []
    failed: list[weakref.ref[Any]] = []
    fit = nn.fit

    def limited(model: Any, *args: Any, **options: Any) -> Any:
        assert [each() for each in failed] == [None] * len(failed)  # what did not fit is no longer in memory
        sizes.append(len(model.seeds))
        if len(model.seeds) > 2:
            failed.append(weakref.ref(model))
            raise nn.NotEnoughMemory("too many")
        return fit(model, *args, **options)

    monkeypatch.setattr("magnet.nn.committee.fit", limited)
    parts = repeat(small, "none", "mlp", range(5), **QUICK)
    assert max(sizes) == 5
    assert [row["seed"] for row in parts] == [0, 1, 2, 3, 4]
    assert [row["test_auroc"] for row in parts] == pytest.approx([row["test_auroc"] for row in whole], abs=1e-3)
