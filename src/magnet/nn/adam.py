"""Adam for models side by side, which may have their own learning rates and weight decays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

#: The paper's defaults: the parts of the old averages that are kept, of the new values that are added (written out, as
#: ``1 - 0.9`` is not 0.1 in floating point), and what keeps the denominator from 0.
BETA1, BETA2, NEW1, NEW2, EPSILON = 0.9, 0.999, 0.1, 0.001, 1e-8


class Adam:
    r"""Adam with the :math:`\ell_2` penalty in the gradient ("Adam", Kingma & Ba, ICLR 2015; ``torch.optim.Adam``).

    .. math::
        g = \nabla + \delta\theta, \quad m \leftarrow \beta_1 m + (1 - \beta_1) g, \quad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2, \quad
        \theta \leftarrow \theta - \eta \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    Where all models share both, torch's fused implementation runs; otherwise the above, with one
    :math:`\eta` and :math:`\delta` for each model (on a CPU in one pass over the memory).

    Args:
        parameters: each ``[.., S, ..]`` with the models on axis 1.
        learning_rate: :math:`\eta` of each model.
        weight_decay: :math:`\delta` for each parameter, one number for each model.
    """

    def __init__(
        self, parameters: Sequence[Tensor], learning_rate: Sequence[float], weight_decay: Sequence[Sequence[float]]
    ) -> None:
        self.parameters = list(parameters)
        self.step_number: Any = 0
        self.fused: torch.optim.Adam | None = None
        place = self.parameters[0].device
        if len(set(learning_rate)) == 1 and all(len(set(values)) == 1 for values in weight_decay):
            groups = [{"params": [p], "weight_decay": d[0]} for p, d in zip(self.parameters, weight_decay, strict=True)]
            self.fused = torch.optim.Adam(
                groups, lr=learning_rate[0], fused=place.type in ("cpu", "cuda"), capturable=place.type == "cuda"
            )
            return
        self.learning_rate = [_broadcast(learning_rate, p) for p in self.parameters]
        self.weight_decay = [_broadcast(values, p) for values, p in zip(weight_decay, self.parameters, strict=True)]
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]
        self.kernel = kernel() if place.type == "cpu" else None
        if place.type == "cuda":  # counted there, so that a CUDA graph of a step counts, too
            self.step_number = torch.zeros((), dtype=torch.float64, device=place)

    @torch.no_grad()
    def step(self) -> None:
        if self.fused is not None:
            self.fused.step()
            return
        self.step_number += 1
        bias1, square = 1 - BETA1**self.step_number, 1 - BETA2**self.step_number
        bias2 = square.sqrt() if isinstance(square, Tensor) else math.sqrt(square)
        for p, m, v, learning_rate, weight_decay in zip(
            self.parameters, self.first, self.second, self.learning_rate, self.weight_decay, strict=True
        ):
            assert p.grad is not None
            if self.kernel is not None and p.dtype == torch.float32:
                parts = (p, p.grad.contiguous(), m, v)
                arrays = [part.detach().view(p.shape[0], p.shape[1], -1).numpy() for part in parts]
                self.kernel(*arrays, learning_rate.view(-1).numpy(), weight_decay.view(-1).numpy(), bias1, bias2)
                continue
            g = torch.addcmul(p.grad, weight_decay, p)
            m.lerp_(g, NEW1)
            v.mul_(BETA2).addcmul_(g, g, value=NEW2)
            p.sub_(learning_rate * m / (v.sqrt().div_(bias2).add_(EPSILON)) / bias1)

    def zero_grad(self) -> None:
        for p in self.parameters:
            p.grad = None


@cache
def kernel() -> Any:
    """The step in one pass over the memory, where Numba is installed.

    It updates ``p``, ``m`` and ``v`` ``[a, S, b]`` in place; ``learning_rate`` and ``weight_decay`` are ``[S]``.
    """
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")
    def step(p: Any, g: Any, m: Any, v: Any, learning_rate: Any, weight_decay: Any, bias1: Any, bias2: Any) -> None:
        for i in range(p.shape[0]):
            for s in range(p.shape[1]):
                size, pull = learning_rate[s] / np.float32(bias1), weight_decay[s]
                for j in range(p.shape[2]):
                    gradient = g[i, s, j] + pull * p[i, s, j]
                    m[i, s, j] += np.float32(NEW1) * (gradient - m[i, s, j])
                    v[i, s, j] = np.float32(BETA2) * v[i, s, j] + np.float32(NEW2) * gradient * gradient
                    root = np.float32(math.sqrt(v[i, s, j])) / np.float32(bias2) + np.float32(EPSILON)
                    p[i, s, j] -= size * m[i, s, j] / root

    return step


def _broadcast(values: Sequence[float], like: Tensor) -> Tensor:
    shape = [1, len(values), *(1 for _ in like.shape[2:])]
    return torch.tensor(list(values), dtype=like.dtype, device=like.device).view(shape)
