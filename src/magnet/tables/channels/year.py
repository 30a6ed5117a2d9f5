"""Years that are far from all others: ``3000``, ``1002`` or ``98`` among years of birth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from magnet.tables.channels.base import WrongText, text_test
from magnet.tables.coded import Texts
from magnet.tables.options import MIN_ROWS, REPEATS, UNSURE

FIRST, LAST = 1500, 2100  # years that tables are about
YEARS, MIN_YEARS = 0.95, 5  # share of the cells and number of different ones that make a column of years
TAIL = 0.02  # share of the years on each side that do not tell the usual range
MIN_WIDTH = 10  # years


@text_test("outlier", ("code", "quantity"), MIN_ROWS)
def audit(texts: Texts) -> Iterator[WrongText]:
    """Whole numbers farther from the usual range of a column of years than that range is wide. Two digits are completed
    by the only century that leads into the range."""
    numbers = {k: int(text) for k, text, _ in texts if text.strip().isascii() and text.strip().isdigit()}
    years = {k: x for k, x in numbers.items() if FIRST <= x <= LAST and texts.column.values[k].strip()[0] != "0"}
    if texts.rows(years) < YEARS * texts.total or len(years) < MIN_YEARS:
        return
    low, high = np.quantile(np.repeat(list(years.values()), texts.counts[list(years)]), [TAIL, 1 - TAIL]).tolist()
    width = max(high - low, MIN_WIDTH)
    for k, x in numbers.items():
        if texts.counts[k] < REPEATS and not low - width <= x <= high + width:
            whole = [y for y in range(FIRST + x % 100, LAST, 100) if low <= y <= high] if x < 100 else []
            right = str(whole[0]) if len(whole) == 1 else None
            yield k, right, UNSURE, f"most years lie between {low:.0f} and {high:.0f}, observed {x}: outlier"
