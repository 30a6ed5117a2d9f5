"""Whether other columns explain where some cells of a column are: errors strike rows independently."""

from __future__ import annotations

import numpy as np

from magnet.arrays import Bools
from magnet.tables.coded import CodedTable, Codes, distinct
from magnet.tables.numbers import read_numbers
from magnet.tables.options import FEW_NUMBERS

EXPLAINED = 0.15  # share of the uncertainty about where exceptions are that another column may remove
PRIOR_ROWS = 2  # at the overall share, that every group has besides its own (not swept)


def located(table: CodedTable, position: int, exceptions: Bools) -> bool:
    """Whether another column, or the previous row, explains where some cells of a column are."""
    is_exception = exceptions.astype(np.int64)
    share = float(is_exception.mean())
    plain = -float(np.mean(np.where(is_exception == 1, np.log(share), np.log1p(-share))))
    sources = [np.concatenate([[0], is_exception[:-1]])]
    for k, other in enumerate(table.columns):
        if k == position:
            continue
        codes, levels = distinct(other.read)
        if levels <= 0.5 * len(is_exception):
            sources += [codes, (codes != np.bincount(codes).argmax()).astype(np.int64)]
        if other.blank >= 0:
            sources.append((other.read == other.blank).astype(np.int64))
        numbers = read_numbers(other.values)[other.read]
        known = np.isfinite(numbers)
        if known.sum() > 0.5 * len(is_exception) and levels > FEW_NUMBERS:
            cuts = np.quantile(numbers[known], [0.25, 0.5, 0.75])
            sources.append(np.where(known, np.searchsorted(cuts, np.nan_to_num(numbers)), len(cuts) + 1))
    return any(_loss(codes, is_exception, share) < (1 - EXPLAINED) * plain for codes in sources)


def _loss(codes: Codes, is_exception: Codes, share: float) -> float:
    """Leave-one-out log loss of the exceptions given a grouping of the rows."""
    total, hits = np.bincount(codes)[codes] - 1, np.bincount(codes, weights=is_exception)[codes] - is_exception
    chance = (hits + PRIOR_ROWS * share) / (total + PRIOR_ROWS)
    return -float(np.mean(np.where(is_exception == 1, np.log(chance), np.log1p(-chance))))
