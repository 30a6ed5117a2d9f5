"""AirGNN: each node decides how much of itself it keeps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from magnet.nn.appnp import Propagating, steps_on_cpu
from magnet.nn.model import Inputs, Numbers


class AirGNN(Propagating):
    r"""Adaptive message passing ("Graph Neural Networks with Adaptive Residual", Liu et al., NeurIPS 2021).

    K steps of proximal gradient descent on

    .. math::
        \min_F (1 - \lambda)\, \mathrm{tr}(F^\top (I - \tilde A) F) + \lambda \|F - H\|_{21}

    from :math:`F_0 = H = \mathrm{MLP}(X)`, with the step :math:`\gamma = 1 / (2 (1 - \lambda))`, for which the gradient
    step is a plain propagation:

    .. math::
        Y &= F_k - 2 \gamma (1 - \lambda)(I - \tilde A) F_k = \tilde A F_k \\
        F_{k+1,i} &= H_i + \beta_i (Y_i - H_i), \qquad
        \beta_i = \max\left(1 - \frac{\gamma\lambda}{\|Y_i - H_i\|_2},\, 0\right)

    The proximal map shrinks the move of a node by :math:`\gamma\lambda`: with :math:`\lambda` near 1
    nothing moves, with 0 everything is smoothed.

    Args:
        amplitude: :math:`\lambda` in [0, 1), one number or one for each model. (default: ``0.5``)
        options: ``steps``, ``layers`` and ``blocks`` of :class:`~magnet.nn.Propagating`, and ``hidden``, ``dropout``,
            ``input_dropout`` and ``seeds`` of :class:`~magnet.nn.Model`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, amplitude: Numbers = 0.5, **options: Any) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.amplitude = self.per_model("amplitude", amplitude)
        if not all(0 <= value < 1 for value in self.amplitude):
            raise ValueError(f"amplitude is {amplitude}; it must be at least 0 and below 1")

    def propagate(self, h: Tensor, inputs: Inputs) -> Tensor:
        operator = inputs.operators[0]
        reach = self.vector([value / (2 * (1 - value)) for value in self.amplitude])  # gamma * lambda
        if cpu := steps_on_cpu(h):
            return cpu.run(h, cpu.AIR_STEPS, operator, reach[0], self.steps)
        f = h
        for _ in range(self.steps):
            move = (operator @ f) - h
            square = move.square().sum(dim=2, keepdim=True)
            length = torch.where(square > 0, square, torch.ones_like(square)).sqrt()
            # not clamped afterwards: the gradient of reach / length overflows for the shortest moves
            f = h + move * (1 - reach / torch.maximum(length, reach))
        return f
