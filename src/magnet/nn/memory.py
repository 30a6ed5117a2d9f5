"""Error messages for a batch of models that does not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from magnet.nn.model import Model

GIB = 1 << 30  # bytes
#: Parts of the messages with which torch and its libraries report too little memory.
SIGNS = ("out of memory", "allocate memory", "not enough memory", "alloc_failed")


class NotEnoughMemory(MemoryError):
    """Training needs more memory than there is."""


@contextmanager
def explained(model: Model, count: int) -> Iterator[None]:
    """Turn out-of-memory errors of torch and Python into one that states what would fit."""
    device = model.like.device
    free = available(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(sign in str(error).lower() for sign in SIGNS):
            raise
        place = "on the GPU" if device.type == "cuda" else "in memory"
        where = f"{free / GIB:.1f} GiB were free {place}"
        advice = (
            f"train fewer at once ({count // 2} would probably fit)"
            if count > 1
            else "reduce the hidden size, give sparse features, or use a device with more memory"
        )
        raise NotEnoughMemory(
            f"training {count} {type(model).__name__} models at once does not fit: {where}; {advice}"
        ) from error


def available(device: torch.device) -> int:
    """Bytes that are free on a device."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0
