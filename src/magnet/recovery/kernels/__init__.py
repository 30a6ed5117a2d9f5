"""Fused kernels: Numba on the CPU, Triton on CUDA. The torch functions beside this folder are their reference.

On the CPU ``blocks`` cuts the columns into blocks and gathers over the graph, ``simd`` gives Numba short vectors,
``tables`` and ``maps`` are the proximal maps, ``cpu`` iterates on one block, ``admm`` runs it on all; ``propagation``
is the other method. ``gpu`` and ``gpu_propagation`` are the same for CUDA.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping
from functools import cache
from typing import Literal, get_args

from magnet.checks import one_of

log = logging.getLogger("magnet")

Backend = Literal["auto", "torch", "numba", "triton"]

#: How a scalar map is computed: one or two vector instructions, Newton steps for each number, or a table.
SOFT, HARD, GENERAL, QUADRATIC, TABLE = 0, 1, 2, 3, 4

#: A cell that must be kept gets this fidelity weight where the weight cannot be infinite.
KEEP = 1e30


def choose_backend(backend: str, device: str, torch_only: Mapping[str, bool]) -> str:
    """The implementation that runs for features on a type of device; ``torch_only`` says in words what the kernels
    cannot do, and whether it is asked for."""
    one_of("backend", backend, get_args(Backend))
    fused = "triton" if device == "cuda" else "numba"
    if backend not in ("auto", "torch", fused):
        raise ValueError(f"backend is {backend!r} but x is on {device}; it must be 'torch' or {fused!r}")
    reason = next((text for text, holds in torch_only.items() if holds), None)
    if backend == fused and reason is not None:
        raise ValueError(f"backend is {backend!r}; {reason} runs on 'torch' only")
    if backend == "torch" or reason is not None or not _importable(fused):
        return "torch"
    return fused


@cache
def _importable(name: str) -> bool:
    """Whether a backend's package is installed; warns once if it is not."""
    if importlib.util.find_spec(name) is not None:
        return True
    log.warning("%s is not installed: recovery falls back to the torch backend", name)
    return False
