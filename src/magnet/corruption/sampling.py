"""Random draws for the corruptions."""

from __future__ import annotations

import numpy as np

from magnet.arrays import Ints

DENSE = 4  # where more than one in this many is drawn, all are sorted at random (not swept)
DRAWS_AT_ONCE = 1 << 22  # random numbers of that; bounds memory


def distinct(rng: np.random.Generator, rows: int, size: int, population: int) -> Ints:
    """``[rows, size]`` integers below ``population``, distinct within a row, every set equally likely.

    Example:
        >>> draws = distinct(np.random.default_rng(0), 1000, 3, 4)
        >>> all(len(set(row)) == 3 for row in draws.tolist())
        True
    """
    if size > population:
        raise ValueError(f"cannot draw {size} different ones out of {population}")
    if DENSE * size > population:
        step = max(1, DRAWS_AT_ONCE // population)
        pieces = [
            rng.random((min(step, rows - start), population)).argpartition(size - 1, axis=1)[:, :size]
            for start in range(0, rows, step)
        ]
        return np.concatenate(pieces) if pieces else np.empty((0, size), dtype=np.int64)
    # Repeats are rare here: draw freely, then draw the repeats again until there are none.
    draws = rng.integers(population, size=(rows, size))
    pending = np.arange(rows)
    while pending.size:
        block = np.sort(draws[pending], axis=1)
        repeat = np.zeros(block.shape, dtype=bool)
        repeat[:, 1:] = block[:, 1:] == block[:, :-1]
        block[repeat] = rng.integers(population, size=int(repeat.sum()))
        draws[pending] = block
        pending = pending[repeat.any(axis=1)]
    return draws
