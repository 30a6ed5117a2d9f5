"""Every constant of the table engine, with its reason. One setting serves all tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TableOptions:
    """Constants of :func:`magnet.tables.posterior.judge_table`.

    ``benchmarks/tables.py --leave-one-family-out`` chooses each of them again without the family it is judged on.

    Args:
        list_from: a cell is listed from this probability of being wrong (the contract of the cleaner).
        change_from: a suggestion is written from this posterior (the contract of the cleaner).
        passes: contexts are fitted on the repaired table this many times (one pass: F1 .89 instead of .95).
        more_passes: further passes at most, for columns whose rate of errors still grows.
        learn_from: only repairs with this posterior enter the repaired table and train the channel, since learning
            from wrong repairs reinforces itself.
        typo_rate, disagreement_rate, missing_rate, affix_rate: share of cells hit, before the first estimate.
        blank_cap: highest prior share of blanks that should hold a value.
        rate_rows: pseudo-rows that shrink the rate of a column to that of the table.
        rejected_rows: rows without an error that one rejected cell counts as.
        rate_cells: pseudo-cells at ``typo_rate`` in the rate of the table, which matter in tables of few cells only.
        exception_share: a column is determined by its contexts if they leave at most this share of rows unexplained; at
            .05, errors in every twentieth row switched the test off (made-up *taxes*, F1 .71 instead of .86).
        exception_odds, exception_factor: in a determined column an isolated exception is wrong with these odds if one
            context disagrees, times the factor for each further one.
        exception_votes: with fewer agreeing rows the odds shrink in proportion (rule of succession).
        dispersion: exceptions and blanks that fall on groups more unevenly than this are genuine (1: by chance).
        rate_floor, rate_cap: bounds of an estimated rate.
        letters: effective letters per character of a new word (English text has about 3 bits per letter).
        smoothing: grid of pseudo-counts of a group, chosen by leave-one-out likelihood.
        group_gain: nats per row that a context must gain over column frequency.
        pair_gain: nats per row that a pair of columns must gain over the best single column.
        contexts: single-column contexts kept per column.
        digit_discount: factor of the typo channel where only digits differ, which is more often a sibling value.
        max_edit_pairs: up to this many pairs of values, two edits are searched as well as one.
        sequence_share: share of equal steps from which a column counts as a sequence.
        template_share: share of rows that one template must explain.
        source_kappa: agreement of reports on one entity beyond chance (Cohen's kappa) from which they report one fact;
            half of the reports wrong leave about .12 (made-up *flights*).
        source_agreement: above this agreement, deviations are left to the groups.
        source_reports: reports per fact that truth discovery needs on average.
        source_temper: factor of the evidence of a source, below 1 since sources copy from each other.
        format_share: share of values that parse before a column is read as numbers with units or as dates.
        typo_process: certain corrections per cell that show a process of misspelling; clean tables have at most half as
            many (the clean file of autism-prevalence: 5 real ones in 5200 cells).
        list_lone_typo_from: without such a process, a misspelling is listed from this probability.
        min_rows: below this many filled cells a column hypothesis (unit, format, sequence, template) is not tried.
    """

    list_from: float = 0.5
    change_from: float = 0.9
    passes: int = 3
    more_passes: int = 4
    learn_from: float = 0.8
    typo_rate: float = 0.03
    disagreement_rate: float = 0.003
    missing_rate: float = 0.005
    affix_rate: float = 0.005
    blank_cap: float = 0.1
    rate_rows: float = 50.0
    rejected_rows: float = 20.0
    rate_cells: float = 100.0
    exception_share: float = 0.15
    exception_odds: float = 1.5
    exception_factor: float = 3.0
    exception_votes: float = 10.0
    dispersion: float = 2.0
    rate_floor: float = 0.002
    rate_cap: float = 0.25
    letters: float = 8.0
    smoothing: tuple[float, ...] = (0.02, 0.2, 2.0)
    group_gain: float = 0.02
    pair_gain: float = 0.05
    contexts: int = 3
    digit_discount: float = 0.1
    max_edit_pairs: int = 20_000_000
    sequence_share: float = 0.5
    template_share: float = 0.5
    source_kappa: float = 0.1
    source_agreement: float = 0.85
    source_reports: float = 3.0
    source_temper: float = 0.7
    format_share: float = 0.85
    min_rows: int = 10
    typo_process: float = 0.002
    list_lone_typo_from: float = 0.95


DEFAULT = TableOptions()
