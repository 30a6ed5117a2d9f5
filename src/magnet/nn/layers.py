"""Layers of S models side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

MOMENTUM, EPSILON = 0.1, 1e-5  # of the running mean and variance, and added to the variance: as in torch.nn.BatchNorm1d
#: Values of 16 random bits: on a CPU the probability of dropout is rounded to a multiple of 1 over this.
LEVELS = 1 << 16


class Linear(nn.Module):
    r"""S linear layers, :math:`H_s W_s + b_s`, each drawn from its own generator.

    ``kind`` is ``"glorot"`` (:math:`U(\pm\sqrt{6 / (in + out)})`, bias 0, as in GCN), or ``"uniform"``
    (:math:`U(\pm 1/\sqrt{in})` for weight and bias, as in ``torch.nn.Linear``).
    """

    def __init__(self, inputs: int, outputs: int, generators: Sequence[torch.Generator], kind: str = "uniform") -> None:
        super().__init__()
        bound = math.sqrt(6 / (inputs + outputs)) if kind == "glorot" else 1 / math.sqrt(inputs)
        weight = torch.empty(inputs, len(generators), outputs)
        shift = torch.zeros(1, len(generators), outputs)
        for s, generator in enumerate(generators):
            weight[:, s] = bound * (2 * torch.rand(inputs, outputs, generator=generator) - 1)
            if kind != "glorot":
                shift[0, s] = bound * (2 * torch.rand(outputs, generator=generator) - 1)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(shift)

    def forward(self, h: Tensor) -> Tensor:
        return self.shifted(self.product(h))

    def product(self, h: Tensor) -> Tensor:
        """Without the bias: ``[n, S, in] -> [n, S, out]``."""
        return torch.bmm(h.transpose(0, 1), self.weight.transpose(0, 1)).transpose(0, 1)

    def shifted(self, h: Tensor) -> Tensor:
        return h + self.bias


class BatchNorm(nn.Module):
    """Batch normalization over the nodes, separately for each model."""

    mean: Tensor
    variance: Tensor

    def __init__(self, models: int, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1, models, width))
        self.shift = nn.Parameter(torch.zeros(1, models, width))
        self.register_buffer("mean", torch.zeros(1, models, width))
        self.register_buffer("variance", torch.ones(1, models, width))

    def forward(self, h: Tensor) -> Tensor:
        mean, variance = self.mean, self.variance
        if self.training:
            variance, mean = torch.var_mean(h, dim=0, correction=0, keepdim=True)
            with torch.no_grad():
                unbiased = variance * (h.shape[0] / max(1, h.shape[0] - 1))
                self.mean.lerp_(mean, MOMENTUM)
                self.variance.lerp_(unbiased, MOMENTUM)
        return (h - mean) * torch.rsqrt(variance + EPSILON) * self.scale + self.shift


class Dropout:
    """Dropout of S models. Model s drops with probability ``p[s]`` by the numbers of its own generator, so that it
    drops the same units as if it were trained alone.

    Where some models drop the same in every layer, ``shared`` is ``(models, which)``: only ``models`` draw, and model s
    takes what the ``which[s]``-th of them drew.
    """

    def __init__(
        self,
        p: Sequence[float],
        generators: Sequence[torch.Generator],
        shared: tuple[Sequence[int], Tensor] | None = None,
    ) -> None:
        for value in p:
            if not 0 <= value < 1:
                raise ValueError(f"dropout is {value}; it must be at least 0 and below 1")
        self.p = list(p)
        self.generators = list(generators)
        self.shared = shared

    @property
    def active(self) -> bool:
        return any(value > 0 for value in self.p)

    def mask(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """``[S, *shape]``: 0 where dropped, ``1 / (1 - p)`` elsewhere."""
        drawing = range(len(self.p)) if self.shared is None else self.shared[0]
        mask = torch.empty(len(drawing), *shape, dtype=like.dtype, device=like.device)
        for part, s in zip(mask, drawing, strict=True):
            _fill(part, self.p[s], self.generators[s])
        return mask if self.shared is None else mask[self.shared[1]]

    def mask_of(self, sizes: Sequence[int], like: Tensor) -> Tensor:
        """The same for models with ``sizes[s]`` numbers each, one after the other."""
        mask = torch.empty(sum(sizes), dtype=like.dtype, device=like.device)
        for part, p, generator in zip(mask.split(list(sizes)), self.p, self.generators, strict=True):
            _fill(part, p, generator)
        return mask

    def __call__(self, h: Tensor) -> Tensor:
        """Dropout of a layer ``[n, S, k]``."""
        if not self.active:
            return h
        return h * self.mask((h.shape[0], h.shape[2]), h).transpose(0, 1)


def _fill(mask: Tensor, p: float, generator: torch.Generator) -> None:
    """0 with probability ``p``, ``1 / (1 - p)`` otherwise."""
    if mask.device.type != "cpu":
        mask.bernoulli_(1 - p, generator=generator).mul_(1 / (1 - p))
        return
    # On a CPU a draw for every cell costs more than the layer: each draw of 64 bits serves four cells.
    threshold = round(p * LEVELS)
    draws = torch.empty((mask.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None, generator=generator)
    keep = draws.view(torch.int16)[: mask.numel()] >= threshold - LEVELS // 2
    mask.copy_(keep.view(mask.shape)).mul_(LEVELS / max(1, LEVELS - threshold))
