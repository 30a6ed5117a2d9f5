"""Weighted logistic regression by Newton's method with step halving, plain and cross-fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from magnet.threads import map_threads

Permuted = tuple[Tensor, Callable[[Tensor], Tensor]]

#: Rows that a Newton step reads at a time: with two dozen features they stay in cache.
BLOCK_ROWS = 1 << 13
#: A Newton step of at most this size is the last: its error is about the square of it.
LAST_STEP = 1e-4
LOSS_ERROR = 1e-9  # relative, of rounding: a loss that is larger by less is not larger
CONSTANT_RIDGE = 1e-9  # of the constant: hardly any penalty, but the curvature stays invertible
MIN_CURVATURE = 1e-6  # of a pair that is fitted perfectly, so that steps stay finite
MIN_SPREAD = 1e-6  # of a feature that is the same for all pairs, so that quotients are finite


def fit_logistic(
    x: Tensor, y: Tensor, weight: Tensor, ridge: float = 1e-3, steps: int = 30, start: Tensor | None = None
) -> Tensor:
    r"""Coefficients ``[f + 1]`` (the last one is the constant) of

    .. math::
        \min_b \sum_i w_i \log(1 + e^{-(2 y_i - 1) (x_i b)}) + \tfrac12 \mathrm{ridge} \sum_i w_i \, \|b\|^2

    Args:
        x, y, weight: features ``[n, f]``, 0 or 1 ``[n]``, and weights ``[n]``.
        ridge: penalty of the coefficients but the constant. (default: ``1e-3``, not swept)
        steps: of Newton's method, at most. (default: ``30``)
        start: coefficients of a similar problem, from which few steps are left. (default: zeros)

    Example:
        >>> x = torch.tensor([[-1.0], [0.0], [0.0], [1.0]])
        >>> b = fit_logistic(x, torch.tensor([0.0, 0.0, 1.0, 1.0]), torch.ones(4))
        >>> bool(b[0] > 0), abs(float(b[1])) < 1e-6
        (True, True)
    """
    y, weight, f = y.double(), weight.double(), x.shape[1] + 1
    penalty = ridge * weight.sum() * torch.eye(f, dtype=torch.float64, device=x.device)
    penalty[-1, -1] = CONSTANT_RIDGE * weight.sum()
    b = torch.zeros(f, dtype=torch.float64, device=x.device) if start is None else start.double()
    blocks = list(zip(x.split(BLOCK_ROWS), y.split(BLOCK_ROWS), weight.split(BLOCK_ROWS), strict=True))
    step, lowest = torch.zeros_like(b), float("inf")
    for _ in range(steps):
        gradient, curvature = penalty @ b, penalty.clone()
        loss = 0.5 * gradient @ b
        for part, y_, weight_ in blocks:
            x_ = torch.nn.functional.pad(part.double(), (0, 1), value=1.0)
            z = x_ @ b
            p = torch.sigmoid(z)
            loss += weight_ @ (torch.nn.functional.softplus(z) - y_ * z)
            gradient += x_.T @ (weight_ * (p - y_))
            curvature += (x_ * (weight_ * (p * (1 - p)).clamp_min(MIN_CURVATURE))[:, None]).T @ x_
        if float(loss) > lowest * (1 + LOSS_ERROR):  # too far, where the curvature changes a lot: half of the way back
            step = step / 2
            b = b + step
            continue
        lowest = float(loss)
        step = torch.linalg.solve(curvature, gradient)
        b = b - step
        if float(step.abs().max()) < LAST_STEP:
            break
    return b


@dataclass(frozen=True)
class CrossFit:
    """Logistic regression of real against permuted pairs on two halves of the nodes, each judged by the other's model.

    Args:
        center, spread: ``[f]``, of the features of the real pairs.
        coefficients: ``[2, f + 1]``; the first line is for nodes of half 0, and comes from those of half 1.
    """

    center: Tensor
    spread: Tensor
    coefficients: Tensor

    @classmethod
    def of(
        cls,
        real: Tensor,
        weight: Tensor,
        permuted: Sequence[Permuted],
        known: Tensor,
        half: Tensor,
        before: CrossFit | None = None,
    ) -> CrossFit:
        """Fit real pairs ``[n, f]`` with weights ``[n]`` against permuted ones, each given as bool ``[n, m]``, which of
        them to use, and a function that gives the features of some; only known nodes count, and both sides have the
        same weight. The search begins at the fit of the round before, if there was one."""
        center, spread = real[known].mean(dim=0), real[known].std(dim=0).clamp_min(MIN_SPREAD)

        def of_side(side: int) -> Tensor:
            train = known & (half != side)
            chosen = [use & train[:, None] for use, _ in permuted]
            x = torch.cat(
                [real[train], *(features(some) for some, (_, features) in zip(chosen, permuted, strict=True))]
            )
            w1 = weight[train]
            count = x.shape[0] - w1.numel()
            w0 = torch.full((count,), float(w1.sum()) / max(1, count), device=real.device)
            y = torch.cat([torch.ones_like(w1), torch.zeros_like(w0)])
            start = None if before is None else before.coefficients[side]
            return fit_logistic(x.sub_(center).div_(spread), y, torch.cat([w1, w0]), start=start).float()

        # blocks are too small for their operations to be split: the halves at the same time, each on one thread
        threads = torch.get_num_threads() if real.device.type == "cpu" else 1
        return cls(center, spread, torch.stack(map_threads(of_side, (0, 1), threads)))

    def of_half(self, half: Tensor) -> tuple[Tensor, Tensor]:
        """Coefficients ``[..., f]`` and constants ``[...]`` of the models for nodes of these halves ``[...]``."""
        slope = self.coefficients[:, :-1] / self.spread
        constant = self.coefficients[:, -1] - slope @ self.center
        return slope[half], constant[half]

    def logit(self, features: Tensor, half: Tensor) -> Tensor:
        """Log odds ``[n]`` of features ``[n, f]`` at nodes of these halves ``[n]``."""
        slope, constant = self.of_half(torch.arange(2, device=half.device))
        both = features @ slope.T + constant  # by the model of either half
        return both.gather(1, half[:, None])[:, 0]
