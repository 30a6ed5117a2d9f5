"""Dropout for models trained side by side, each with its own random generator."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

#: Values of 16 random bits: on a CPU the probability of dropout is rounded to a multiple of 1 over this.
LEVELS = 1 << 16


class Dropout:
    """Dropout of S models. Model s drops with probability ``p[s]`` by the numbers of its own generator, so that it
    drops the same units as if it were trained alone.

    Args:
        p: one probability for each model.
        generators: one generator for each model.
        shared: ``(models, which)`` where some models drop the same in every layer: only ``models`` draw, and model s
            takes what the ``which[s]``-th of them drew. (default: each model has its own draw)
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
