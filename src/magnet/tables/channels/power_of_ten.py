"""Several numbers of a column that are off by one power of ten: ``1.78`` among ``178``, ``2040`` among ``204``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from magnet.arrays import Bools, Floats, Ints
from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.numbers.writing import NumberStyle
from magnet.tables.options import MIN_ROWS, REPEATS, SURE, UNSURE
from magnet.tables.roles.patterns import number

POWERS = (1, 2, 3, -1, -2, -3)  # observed over right value, as powers of ten
BULK = 0.6  # share of the numbers within the factor of each other; the others are the exceptions
EXPLAINED = 0.9  # share of the exceptions on one side that the factor must explain
BY_CHANCE = 1e-3  # probability that so many numbers have digits that only the factor explains
GAP = 2.0  # factor between the usual numbers and the exceptions: a long tail has none (not swept)
RARE = 0.1  # share of the rows above which exceptions may be a second kind of records: listed, not written (not swept)
UNLIKE = 0.05  # level of the test that corrected numbers are distributed like the others (not swept)


@text_test("outlier", ("quantity",), min_rows=MIN_ROWS)
def rewrite(texts: Texts) -> Iterator[WrongText]:
    r"""Numbers beyond all others that a power of ten brings back among them.

    Most numbers must be within less than a factor :math:`f` of each other, so that none of them is another one's
    multiple and there is a gap, and nearly all numbers beyond these must be their multiples. Numbers of another kind
    would seldom have such digits: if a share p of the usual numbers is divisible by f, or has as many decimals as the
    small ones, D different ones do so by chance with probability :math:`p^D`. The corrected numbers must be distributed
    like the usual ones. These are too many to be outliers of a column: they are a second mode of it.
    """
    positive = texts.only(lambda text: (number(text) or 0.0) > 0)
    codes = np.array(positive.codes, dtype=np.int64)
    if positive.total < texts.total * EXPLAINED or len(codes) < MIN_ROWS:
        return
    values = [texts.column.values[k] for k in positive.codes]
    exact, style = [Decimal(value.strip().replace(",", "")) for value in values], NumberStyle.of(values)
    x, rows = np.array([float(value) for value in exact]), texts.counts[codes]
    places = np.array([-int(value.normalize().as_tuple().exponent) for value in exact])  # decimals that are needed
    for power in POWERS:
        usual = _bulk(x, rows, 10.0 ** abs(power))
        low, high = x[usual].min(), x[usual].max()
        beyond, right = (x > high) if power > 0 else (x < low), x / 10.0**power
        explained = beyond & (right >= low) & (right <= high)
        many = rows[explained].sum() >= EXPLAINED * rows[beyond].sum() and explained.sum() >= REPEATS
        if not many or rows[usual].sum() < BULK * rows.sum() or 10.0 ** abs(power) * low < GAP * high:
            continue
        if _elsewhere(np.repeat(x[usual], rows[usual]), np.repeat(right[explained], rows[explained])):
            continue
        if not _digits_tell(places, usual, explained, power):
            continue
        unsure = (places[explained] + power).max() < np.quantile(places[usual], EXPLAINED)  # digits were lost
        unsure = unsure or rows[explained].sum() > RARE * rows.sum()
        why = f"{rows[usual].sum()} numbers lie between {low:g} and {high:g}"
        for k in np.flatnonzero(explained).tolist():
            text = style.write(exact[k].scaleb(-power), exact=True)
            said = f"{why}, this one ({values[k]}) would be {10.0**power:g} times as high as one of them: outlier"
            yield int(codes[k]), text, UNSURE if unsure else SURE, said
        return


def _bulk(x: Floats, rows: Ints, factor: float) -> Bools:
    """The numbers that are within a factor of each other and are most."""
    order = np.argsort(x)
    total = np.concatenate([[0], np.cumsum(rows[order])])
    end = np.searchsorted(x[order], x[order] * factor, side="left")
    held = total[end] - total[np.arange(len(x))]
    start = int(held.argmax())
    out = np.zeros(len(x), dtype=bool)
    out[order[start : end[start]]] = True
    return out


def _digits_tell(places: Ints, usual: Bools, explained: Bools, power: int) -> bool:
    """Whether the exceptions have digits that usual numbers do not have: zeros at the end, or more decimals."""
    finest = np.quantile(places[usual], EXPLAINED)
    if power > 0:
        alike, odd = places[usual] <= finest - power, places[explained] <= finest - power
    else:
        alike, odd = places[usual] > finest, places[explained] > finest
    share = (alike.sum() + 1) / (usual.sum() + 2)
    return bool(odd.mean() >= EXPLAINED and share ** int(odd.sum()) < BY_CHANCE)


def _elsewhere(usual: Floats, corrected: Floats) -> bool:
    """Whether the corrected numbers of rows are distributed unlike the usual ones (Kolmogorov-Smirnov test). Errors hit
    any row alike; the long tail of a column whose large numbers are rounded is at the low end when it is divided."""
    usual, corrected = np.sort(usual), np.sort(corrected)
    points = np.concatenate([usual, corrected])
    below = [np.searchsorted(each, points, side="right") / len(each) for each in (usual, corrected)]
    critical = math.sqrt(-math.log(UNLIKE / 2) / 2 * (1 / len(usual) + 1 / len(corrected)))
    return bool(np.abs(below[0] - below[1]).max() > critical)
