"""One step of Adam in one pass over the memory, for models with rates and decays of their own."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from magnet.nn.adam import BETA2, EPSILON, NEW1, NEW2

Floats = NDArray[np.float32]


@numba.njit(cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def step(
    p: Floats, g: Floats, m: Floats, v: Floats, learning_rate: Floats, weight_decay: Floats, bias1: float, bias2: float
) -> Any:
    """Update ``p``, ``m`` and ``v`` ``[a, S, b]`` in place; ``learning_rate`` and ``weight_decay`` ``[S]``."""
    for i in range(p.shape[0]):
        for s in range(p.shape[1]):
            size, pull = learning_rate[s] / np.float32(bias1), weight_decay[s]
            for j in range(p.shape[2]):
                gradient = g[i, s, j] + pull * p[i, s, j]
                m[i, s, j] += np.float32(NEW1) * (gradient - m[i, s, j])
                v[i, s, j] = np.float32(BETA2) * v[i, s, j] + np.float32(NEW2) * gradient * gradient
                root = np.float32(math.sqrt(v[i, s, j])) / np.float32(bias2) + np.float32(EPSILON)
                p[i, s, j] -= size * m[i, s, j] / root
