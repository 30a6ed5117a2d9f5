"""Batches of models that do not fit into memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from magnet import nn


def test_too_little_memory_says_what_would_fit(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, graph = small

    def fail(self: Any, inputs: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(nn.GCN, "compute", fail)
    with pytest.raises(nn.NotEnoughMemory, match=r"training 8 GCN models at once .* \(4 would probably fit\)"):
        nn.fit(nn.GCN(40, 3, seeds=range(8)), data.x, graph, data.y, data.train_mask, data.val_mask)
