r"""How the CPU kernels compute a proximal map: in closed form, or by a table where there is no cheap one.

Both maps depend on one number once the weight is scaled away. For :math:`t |x|^p`, with :math:`s = t^{1/(2-p)}`,

.. math:: \mathrm{prox}(z) = s\,x(y)\,\mathrm{sign}(z), \qquad y = |z| / s, \qquad x + p\,x^{p-1} = y,

and 0 up to the jump; for :math:`t |x|^q`, with :math:`\sigma = (q t)^{1/(2-q)}`,

.. math:: \mathrm{prox}(z) = \sigma\,u(y)\,\mathrm{sign}(z), \qquad y = |z| / \sigma, \qquad u + u^{q-1} = y.

A table holds :math:`1 - x/y` or :math:`u/y`, both in [0, 1], as a cubic on each of several equal pieces of every octave
of y: the bits of a floating-point number, shifted, number its piece, and the bits shifted out are the place in it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from magnet import prox
from magnet.arrays import Floats
from magnet.recovery.kernels import GENERAL, HARD, QUADRATIC, SOFT, TABLE

#: Largest error of a table, of a number in [0, 1]: the rounding error of float32. In float64 one Newton step follows.
ERROR = 6e-8

#: A table is made as fine as that takes, from 2^4 to 2^9 pieces an octave.
FINENESS = range(4, 10)

#: The table ends where its number is this close to its limit, or after this many octaves; there Newton steps take over.
NEGLIGIBLE, OCTAVES = 2.0**-30, 48

#: Newton steps for an entry of a table, and the part of the smallest nonzero value of the prox that they stay above.
STEPS, FLOOR = 60, 0.8

#: Exponents q whose map has a table: nearer to 1 it has almost a corner, nearer to 2 the scale leaves float32.
TABLED_Q = (1.05, 1.8)


class Map(NamedTuple):
    """How a scalar map is computed, as the kernels take it."""

    how: int  # SOFT, HARD, GENERAL, QUADRATIC or TABLE
    exponent: Any  # p or q
    cubics: NDArray[Any]  # [pieces, 4] flat, constant term first, for a place in [0, 1)
    base: int  # piece = (bits of y >> shift) - base
    shift: int
    jump: Any  # the y up to which the prox is 0 (0 without a jump)
    polish: int = 0  # Newton steps that follow within the table, and below its first and above its last piece
    below: int = 0
    above: int = 0
    # (0,) where p = 1 and q = 2: the length of a tuple is part of its type, so that the kernels of this pair are
    # compiled without the others' branches
    simple: tuple[int, ...] = ()


def scalar_maps(p: float, q: float, dtype: Any) -> tuple[Map, Map]:
    """The maps of the penalty ``|.|^p``, 0 <= p <= 1, and of the fidelity ``|.|^q``, 1 <= q <= 2."""
    name = np.dtype(dtype).name
    penalty, fidelity = _penalty_map(float(p), name), _fidelity_map(float(q), name)
    simple = (0,) if p == 1 and q == 2 else ()
    return penalty._replace(simple=simple), fidelity._replace(simple=simple)


def _without_table(how: int, exponent: float, dtype: str) -> Map:
    kind = np.dtype(dtype).type
    return Map(how, kind(exponent), np.zeros(4, dtype), 0, 0, kind(0))


@cache
def _penalty_map(p: float, dtype: str) -> Map:
    """With a table of ``1 - x(y) / y`` for 0 < p < 1."""
    if p in (0, 1):
        return _without_table(SOFT if p else HARD, p, dtype)
    lowest = (2 * (1 - p)) ** (1 / (2 - p))
    jump = lowest + p * lowest ** (p - 1)

    def rest(y: Floats) -> Floats:
        # below the jump the branch is continued to the point of zero slope, so that the first piece is smooth
        x = np.maximum(y, lowest)
        for _ in range(STEPS):
            x = np.maximum(x - (x + p * x ** (p - 1) - y) / (1 - p * (1 - p) * x ** (p - 2)), FLOOR * lowest)
        return 1 - x / y

    return _tabulated(rest, float(np.log2(jump)), p, dtype, jump)


@cache
def _fidelity_map(q: float, dtype: str) -> Map:
    """With a table of ``u(y) / y`` for 1 < q < 2, or by Newton steps alone where q is too near to 1 or 2."""
    if q in (1, 2):
        return _without_table(SOFT if q == 1 else QUADRATIC, q, dtype)
    if not TABLED_Q[0] <= q <= TABLED_Q[1]:
        return _without_table(GENERAL, q, dtype)

    def kept(y: Floats) -> Floats:
        return prox.lq(torch.from_numpy(y), 1 / q, q).numpy() / y

    first = -OCTAVES // 2
    while kept(np.array([2.0**first]))[0] < NEGLIGIBLE:
        first += 1
    return _tabulated(kept, float(first - 1), q, dtype, 0.0)


def _tabulated(function: Any, first: float, exponent: float, dtype: str, jump: float) -> Map:
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
    settled = np.minimum(outside, 1 - outside) <= ERROR
    polish = 2 if kind == np.float64 else 0
    below, above = (polish if near else prox.NEWTON_STEPS for near in settled)
    flat = cubics.astype(kind).ravel()
    return Map(TABLE, kind.type(exponent), flat, base, shift, kind.type(jump), polish, below, above)
