r"""Tables of the proximal maps that have no cheap closed form.

Both maps depend on one number once the weight is scaled away. For :math:`t |x|^p`, with :math:`s = t^{1/(2-p)}`,

.. math:: \mathrm{prox}(z) = s\,x(y)\,\mathrm{sign}(z), \qquad y = |z| / s, \qquad x + p\,x^{p-1} = y,

and 0 up to the jump; for :math:`t |x|^q`, with :math:`\sigma = (q t)^{1/(2-q)}`,

.. math:: \mathrm{prox}(z) = \sigma\,u(y)\,\mathrm{sign}(z), \qquad y = |z| / \sigma, \qquad u + u^{q-1} = y.

A table holds :math:`1 - x/y` or :math:`u/y`, both in [0, 1], as a cubic on each of several equal pieces of every octave
of y: the bits of a floating-point number, shifted, number its piece, and the bits shifted out are the place in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from magnet import prox

#: Largest error of a table, of a number in [0, 1]: the rounding error of float32. In float64 one Newton step follows.
ERROR = 6e-8

#: A table is made as fine as that takes, from 2^4 to 2^9 pieces an octave.
FINENESS = range(4, 10)

#: The table ends where its number is this close to its limit, and after so many octaves at the latest; Newton steps
#: take over there.
NEGLIGIBLE, OCTAVES = 2.0**-30, 48

#: Exponents q whose map has a table: nearer to 1 it has almost a corner, nearer to 2 the scale leaves float32.
TABLED_Q = (1.05, 1.8)


@dataclass(frozen=True)
class Table:
    """A function of y > 0 with values in [0, 1].

    Attributes:
        cubics: ``[pieces, 4]``, constant term first, for a place in [0, 1).
        base, shift: piece = (bits of y >> shift) - base.
        jump: the y up to which the prox is 0 (0 without a jump).
        settled: whether the function is within ``ERROR`` of 0 or 1 below the first piece, and above the last one.
    """

    cubics: NDArray[Any]
    base: int
    shift: int
    jump: float
    settled: tuple[bool, bool]


@cache
def shrink_table(p: float, dtype: str) -> Table:
    """``1 - x(y) / y``, 0 < p < 1."""
    lowest = (2 * (1 - p)) ** (1 / (2 - p))
    jump = lowest + p * lowest ** (p - 1)

    def rest(y: NDArray[np.float64]) -> NDArray[np.float64]:
        # below the jump the branch is continued to the point of zero slope, so that the first piece is smooth
        x = np.maximum(y, lowest)
        for _ in range(60):
            x = np.maximum(x - (x + p * x ** (p - 1) - y) / (1 - p * (1 - p) * x ** (p - 2)), 0.8 * lowest)
        return 1 - x / y

    return _fit(rest, float(np.log2(jump)), dtype, jump)


@cache
def fidelity_table(q: float, dtype: str) -> Table | None:
    """``u(y) / y``, or ``None`` where q is too near to 1 or 2."""
    if not TABLED_Q[0] <= q <= TABLED_Q[1]:
        return None

    def kept(y: NDArray[np.float64]) -> NDArray[np.float64]:
        return prox.lq(torch.from_numpy(y), 1 / q, q).numpy() / y

    first = -OCTAVES // 2
    while kept(np.array([2.0**first]))[0] < NEGLIGIBLE:
        first += 1
    return _fit(kept, float(first - 1), dtype, 0.0)


def _fit(function: Any, first: float, dtype: str, jump: float) -> Table:
    """Cubics through four Chebyshev nodes of every piece, from octave ``first`` on."""
    kind = np.dtype(dtype)
    mantissa, whole = (23, np.int32) if kind == np.float32 else (52, np.int64)
    octaves = int(np.floor(first)) + np.arange(OCTAVES)
    ends = function(2.0 ** (octaves + 1.0))
    settled = np.flatnonzero(np.minimum(ends, 1 - ends) < NEGLIGIBLE)
    settled = settled[settled > first + 1 - octaves[0]]
    octaves = octaves[: settled[0] + 1] if settled.size else octaves
    nodes = (1 - np.cos(np.pi * (np.arange(4) + 0.5) / 4)) / 2
    inverse = np.linalg.inv(np.vander(nodes, 4, increasing=True))
    for fineness in FINENESS:
        pieces = 1 << fineness
        starts = (2.0 ** octaves[:, None] * (1 + np.arange(pieces) / pieces)).ravel()
        widths = np.repeat(2.0**octaves / pieces, pieces)
        cubics = function(starts[:, None] + widths[:, None] * nodes) @ inverse.T
        between = np.array([0.0, 0.25, 0.5, 0.75])
        exact = function(starts[:, None] + widths[:, None] * between)
        error = np.abs(np.vander(between, 4, increasing=True) @ cubics.T - exact.T).T
        if error[starts + widths > jump].max() <= ERROR:
            break
    shift = mantissa - fineness
    base = int(np.array(2.0 ** octaves[0], kind).view(whole)) >> shift
    outside = function(2.0 ** np.array([octaves[0], octaves[-1] + 1.0]))
    below, above = np.minimum(outside, 1 - outside) <= ERROR
    return Table(np.ascontiguousarray(cubics.astype(kind)), base, shift, jump, (bool(below), bool(above)))
