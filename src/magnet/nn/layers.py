"""Layers of S models side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

MOMENTUM, EPSILON = 0.1, 1e-5  # of the running mean and variance, and added to the variance: as in torch.nn.BatchNorm1d


class Linear(nn.Module):
    r"""S linear layers, :math:`H_s W_s + b_s`.

    Args:
        inputs, outputs: widths.
        generators: the models' random numbers.
        kind: ``"glorot"`` (:math:`U(\pm\sqrt{6 / (in + out)})`, bias 0, as in GCN), or ``"uniform"``
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
