"""Constants of the table engine that several files share, and those of the posterior. One setting serves all tables."""

from __future__ import annotations

from dataclasses import dataclass

LIST_FROM = 0.5  # a cell is listed from this probability of being wrong (the contract of the cleaner)
FEW_ROWS = 10  # filled cells below which a column has no writing (unit, format) of its own
MIN_ROWS = 20  # that a pattern of a whole column (a sequence, a template, a relation, a regression) is learned from
REPEATS = 3  # rows from which a text, or a way of writing, is intended
FOUND = 0.95  # probability that a cell which breaks the writing of its column is wrong
SURE = 0.95  # confidence in the column's own writing; two such rewrites of one cell are still written
UNSURE = 0.5  # confidence in a suggestion that is listed and not written
FEW_NUMBERS = 8  # different numbers up to which a column of numbers is one of categories
FORMAT_SHARE = 0.85  # share of values that parse before a column is read as numbers with units, or as dates
MAX_LEVELS = 20  # of a category that enters a regression as indicators
FLOOR = 1e-300  # probability of the impossible, so that logarithms and ratios are finite


@dataclass(frozen=True)
class TableOptions:
    """Constants of :func:`magnet.tables.posterior.judge_table`.

    ``benchmarks/tables.py --leave-one-family-out`` chooses each of them again without the family it is judged on.

    Args:
        list_from: a cell is listed from this probability of being wrong.
        change_from: a suggestion is written from this posterior (the contract of the cleaner).
        passes: contexts are fitted on the repaired table this many times (one pass: F1 .89 instead of .95).
        more_passes: further passes at most, for columns whose rate of errors still grows.
        learn_from: only repairs with this posterior enter the repaired table and train the channel, since learning
            from wrong repairs reinforces itself.
        typo_rate, disagreement_rate: share of cells hit, that of misspellings before the first estimate.
        rate_rows: pseudo-rows that shrink the rate of a column to that of the table.
        rejected_rows: rows without an error that one rejected cell counts as.
        rate_cells: pseudo-cells at ``typo_rate`` in the rate of the table, which matter in tables of few cells only.
        exception_share: a column is determined by its contexts if they leave at most this share of rows unexplained; at
            .05, errors in every twentieth row switched the test off (made-up *taxes*, F1 .71 instead of .86).
        exception_odds, exception_factor: in a determined column an isolated exception is wrong with these odds if one
            context disagrees, times the factor for each further one.
        exception_votes: with fewer agreeing rows the odds shrink in proportion (rule of succession).
        rate_floor, rate_cap: bounds of an estimated rate.
        typo_process: certain corrections per cell that show a process of misspelling; clean tables have at most half as
            many (the clean file of autism-prevalence: 5 real ones in 5200 cells).
        typo_process_of_column: the same in one column; clean columns of surnames have up to .004, misspelled columns of
            made-up tables from .006.
        list_lone_typo_from: without such a process, a misspelling is listed from this probability, and not written.
    """

    list_from: float = LIST_FROM
    change_from: float = 0.9
    passes: int = 3
    more_passes: int = 4
    learn_from: float = 0.8
    typo_rate: float = 0.03
    disagreement_rate: float = 0.003
    rate_rows: float = 50.0
    rejected_rows: float = 20.0
    rate_cells: float = 100.0
    exception_share: float = 0.15
    exception_odds: float = 1.5
    exception_factor: float = 3.0
    exception_votes: float = 10.0
    rate_floor: float = 0.002
    rate_cap: float = 0.25
    typo_process: float = 0.002
    typo_process_of_column: float = 0.005
    list_lone_typo_from: float = 0.95


DEFAULT = TableOptions()
