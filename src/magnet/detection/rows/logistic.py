"""Weighted logistic regression by Newton's method."""

from __future__ import annotations

import torch
from torch import Tensor


def fit_logistic(x: Tensor, y: Tensor, weight: Tensor, ridge: float = 1e-3, steps: int = 30) -> Tensor:
    r"""Coefficients ``[f + 1]`` (the last one is the constant) of

    .. math::
        \min_b \sum_i w_i \log(1 + e^{-(2 y_i - 1) (x_i b)}) + \tfrac12 \mathrm{ridge} \sum_i w_i \, \|b\|^2

    Example:
        >>> x = torch.tensor([[-1.0], [0.0], [0.0], [1.0]])
        >>> b = fit_logistic(x, torch.tensor([0.0, 0.0, 1.0, 1.0]), torch.ones(4))
        >>> bool(b[0] > 0), abs(float(b[1])) < 1e-6
        (True, True)
    """
    x = torch.cat([x.double(), torch.ones(x.shape[0], 1, dtype=torch.float64, device=x.device)], dim=1)
    y, weight = y.double(), weight.double()
    penalty = ridge * weight.sum() * torch.eye(x.shape[1], dtype=torch.float64, device=x.device)
    penalty[-1, -1] = 1e-9 * weight.sum()
    b = torch.zeros(x.shape[1], dtype=torch.float64, device=x.device)
    for _ in range(steps):
        p = torch.sigmoid(x @ b)
        gradient = x.T @ (weight * (p - y)) + penalty @ b
        curvature = weight * (p * (1 - p)).clamp_min(1e-6)
        step = torch.linalg.solve((x * curvature[:, None]).T @ x + penalty, gradient)
        b = b - step
        if float(step.abs().max()) < 1e-8:
            break
    return b
