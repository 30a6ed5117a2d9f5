"""The constants of detection: meaning, reason for the value, and the benchmark it comes from.

A value without a reason was not tuned. Its influence is the largest change of the node AUROC, the cell AUPRC or the
share of flagged rows on the cases of ``results/constants.md`` if it is halved or doubled (``benchmarks/constants.py``).
"None" is none on the cases measured so far; the page lists those that are missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class DataOptions:
    """How features are read and brought to a common scale.

    Args:
        cells_per_block: columns are worked on in blocks of at most this many cells (32 MB of float32). Set by memory.
        max_block_width: and of at most this many columns. Set by run time.
        min_block_width: but at least this many, where there are millions of nodes: memory is read in lines of
            16 numbers. Set by run time.
        work_pieces: judging cells takes a dozen matrices of the size of a block of columns, so blocks are cut into
            pieces of this part of all columns. Set by memory (``benchmarks/pipeline.py``).
        min_work_width: but of at least this many columns. Set by run time.
        product_width: columns whose sums over neighbors are computed together, at least, as the rows of neighbors lie
            far apart in memory. On ``benchmarks/scale.py``'s graph of a million nodes a column costs 2.2 ns per edge
            among 32, 3.7 among 16 and 5.9 among 8. Set by run time.
        min_bag_columns: fewer columns than this are never a bag of words. Influence: none.
        max_bag_fill: in a bag, the median row has at most this share of non-zero cells. Influence: .129 (digits, far
            rows, which are a bag at .75: share of rows flagged).
        max_exceptions: up to this share, cells or rows that violate a rule are errors; more are genuine variation. The
            rules: a bag has no negative values, a row-normalized bag rows of the same size; hardly any row of a bag is
            far longer than the others (an attack spends its budget on a few); the values of a column of a table are
            those that its predictors expect. Checked on ``benchmarks/detection.py`` (mixed table).
        max_table_columns: dense data with at most this many columns are a table, whose columns are predicted from one
            another (a ``3 d x 3 d`` inverse). Set by run time.
        max_narrow_columns: in a table of at most this many columns a single outlier can make its whole row look
            swapped, so rows are judged without such cells. Checked on ``benchmarks/detection.py`` (mixed table).
        max_comparable_ratio: numeric columns are comparable, as those of embeddings are, where the largest spread is
            below this many times the median one; and the columns of a bag, by their typical values. Influence: none.
        max_dense_fill: unit rows with a smaller share of non-zero cells are stored sparse. Set by run time.
        max_standardized: standardized values are clipped here, in spreads, before they are compared with others or
            predict them. Of 3, 4 and 5, 3 flags fewest rows of clean digits and is as good as the others on digits,
            synthetic outliers and a mixed table (where 3, 4 and 5 stood before, in three places).
        max_chance_duplicates: equal rows are duplicates where chance would give fewer than this many. Influence: none.
        min_binary_share: columns are 0/1, but for errors, where this share of all non-zero cells of the matrix is 1.
            Influence: none.
        spike_share: a numeric column has a spike where one value fills more than this share of it.
        quantile_sample: quantiles are taken over at most this many values of a column. Set by run time.
        trimmed_share: share cut off at each end for the spread of a column whose MAD is 0. Influence: .033 (books: node
            AUROC).
        min_listed_probability: zero cells of a sparse matrix appear in sparse results from this probability on.
    """

    cells_per_block: int = 1 << 23
    max_block_width: int = 512
    min_block_width: int = 8
    work_pieces: int = 16
    min_work_width: int = 64
    product_width: int = 32
    min_bag_columns: int = 16
    max_bag_fill: float = 0.5
    max_exceptions: float = 0.02
    max_table_columns: int = 256
    max_narrow_columns: int = 32
    max_comparable_ratio: float = 30.0
    max_dense_fill: float = 0.1
    max_standardized: float = 3.0
    max_chance_duplicates: float = 0.01
    min_binary_share: float = 0.8
    spike_share: float = 0.5
    quantile_sample: int = 100_000
    trimmed_share: float = 0.01
    min_listed_probability: float = 0.01


@dataclass(frozen=True)
class RowOptions:
    """How rows are compared with their neighborhoods.

    Args:
        min_row_weight: floor of ``1 - p_row_swapped`` as the weight of a row in contexts, so that neighborhoods of
            suspicious rows keep a context. From design.md 2.6; also the floor in every context model.
        max_probes: rows that serve as the permuted ones, at every node. By hand.
        max_pairs: permuted pairs in all; large graphs get fewer probes per node. Set by memory.
        min_probes: but at least this many. Influence: none.
        min_null_probes: fewer probes than this are too small a sample of the rows, however many nodes there are: then
            the null distribution is a row of its own for every node. On ``benchmarks/scale.py``'s graph of 300 000
            nodes (16 probes) the standard error of the gate's power fell from .0093 to .0006 and the node AUROC rose
            from .928 to .963.
        min_rows: rows with evidence that are needed at all.
        training_probes: probes per node that the logistic regression is fitted on. Set by run time.
        training_pairs: permuted pairs that it is fitted on. Set by run time.
        settled: the rounds end with the next one when no probability changes by more. Contexts then stay the same in
            the first three digits; on clean graphs this saves half of the rounds.
        min_stratum: strata (rows that occur once, twice, more often) with fewer rows are merged. Influence: .361
            (texas, random rows: share of flagged rows).
        min_share: floor of the share of swapped rows in the posterior that ranks them, so that they are ranked where
            none is swapped (any small value gives the same order), and of the share of rows with wrong cells.
        limit_level: one-sided level of the lower confidence limit of the share of swapped rows. No row is flagged where
            none would be at that share. On clean parts of Cora with a fifth to a third of its nodes up to 3.6 % of the
            rows are flagged without this, none with it; at 0.05 a tenth of moved rows of a part of Coauthor-CS
            and of made-up graphs is missed in one graph more of three each.
        misfit_level: one-sided level of the test that the shorter half of the rows shows more swapped ones than the
            longer half. Strict: of 44 graphs with injected or moved rows (Cora, CiteSeer, Wisconsin, Texas) one passes
            at .01, none at .001, and of 19 clean parts of WordNet seven and six.
        tie_break: weight of the raw evidence beside the posterior log odds when rows are ranked. Small, so that it only
            orders rows of equal posterior.
        cell_confidence: where scores of rows, cells and bursts are compared, probabilities of the cell model count this
            much. Of its cells with a probability above 0.9, 63 % were wrong in truth, of its rows 75 %
            (``results/detection.md``): such alarms must not outrank the more certain ones of the others.
        silent_expert_weight: of the scores of an expert (rows, cells) that found nothing, where another one found
            something. Any value far below the least probability that matters gives the same order.
        false_cell_alarms: share of the rows in which the cell model finds wrong cells where nothing is wrong: so few do
            not make it the better expert. On a graph of counts with 5 % swapped rows two such rows of 1500 lowered the
            node AUROC from .94 to .76 (``tests/detection/test_auto.py``).
        null_quantiles: quantiles of the null below which values are counted for the null proportion: the lower ones
            are less biased and the upper ones less noisy. Checked on clean parts of Cora (``tests``).
        low_null_quantiles: lower ones, which count where they show significantly fewer. Of two clean breadth-first
            parts of WordNet (5000 and 8000 nodes) 4.0 and 3.2 % of the rows were flagged without them; of six other
            parts 0 to 4.2 % are flagged with them, the three worst as without them.
        right_quantiles: quantiles of the right values that give their center and width. Influence: .024 (wisconsin,
            random rows: cell AUPRC).
        histogram_bins: of the densities of the local false discovery rate. From design.md 2.6.
        null_sample: null values that are used for densities and areas. Set by run time.
    """

    min_row_weight: float = 0.02
    max_probes: int = 128
    max_pairs: int = 4_000_000
    min_probes: int = 16
    min_null_probes: int = 64
    min_rows: int = 10
    training_probes: int = 16
    training_pairs: int = 200_000
    settled: float = 1e-3
    min_stratum: int = 50
    min_share: float = 0.001
    limit_level: float = 0.1
    misfit_level: float = 0.001
    tie_break: float = 0.01
    cell_confidence: float = 0.9
    silent_expert_weight: float = 1e-6
    false_cell_alarms: float = 0.002
    null_quantiles: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5)
    low_null_quantiles: tuple[float, ...] = (0.05, 0.02, 0.01)
    right_quantiles: tuple[float, float] = (0.5, 0.1)
    histogram_bins: int = 60
    null_sample: int = 200_000


@dataclass(frozen=True)
class GateOptions:
    """When rows, and cells by their context, may be judged (``results/gate.md``, ``tests/detection/test_silence.py``).

    Args:
        level: error rate of the test that rows are exchangeable over nodes.
        max_share: where more rows than this look swapped, the right ones are not the majority that detection needs.
        max_false_share: expected share of right rows among the flagged ones up to which rows are flagged. The binormal
            model expects too many: of 800 synthetic graphs (``results/gate.md``) those with .33 to .36 have a true
            share of .28, and none of 21 clean ones is flagged; beyond .37 clean ones are. A third, which stood here
            before, kept the gate of ``benchmarks/scale.py``'s graph closed at a million nodes (.334) and open at
            100 000 (.322), where .20 of the flagged rows are right.
        confidence: one-sided level of the confidence limits of that share and of the share of swapped rows: small
            graphs must show more.
        reference_share: the expectation is taken for at least this share of swapped rows. For smaller ones the few rows
            that would be flagged are all close to the threshold, which carries no information about the graph.
    """

    level: float = 1e-4
    max_share: float = 0.5
    max_false_share: float = 0.36
    confidence: float = 0.05
    reference_share: float = 0.2


@dataclass(frozen=True)
class CellOptions:
    """How the evidence of the cells of a row is combined.

    Args:
        num_rates: rates of wrong cells per row that are considered, besides 0. Set by run time.
        min_wrong_cells: the lowest rate, in wrong cells per row.
        max_rate: the highest rate, also of the wrong cells of a column; the lowest is at most half of it. Influence:
            .084 (wordnet, outliers: cell AUPRC).
        row_lengths: factors by which the rows of a bag may be longer or shorter than expected. Influence: .023 (cora,
            meta attack: node AUROC).
        min_column_events: words that occur fewer times than this are not evidence against a row of a bag. Influence:
            .015 (texas, random rows: cell AUPRC).
        min_bag_log_odds: in bags, smaller odds against a cell count as none: words come in bursts, so that many
            moderate deviations mean little. 12 to 1, checked on ``benchmarks/detection.py`` (Cora, Amazon-Computers).
        max_log_ratio: log ratios are clipped here, so that sums of exponentials stay finite in float32.
        max_share: largest share of rows with wrong cells.
        settled_share: the context is not cleaned again where the share of rows with wrong cells changed by less.
        impossible_log_ratio: for values that their column cannot have. Large beside the prior of the lowest rate.
        min_burst_rows: rows with words that are needed before one of them can be called too long.
        min_burst_spread: least relative spread of the rows' masses: the norms of normalized rows differ by rounding.
            Influence: none.
        stuck_sample: cells of a column that are looked at before it is searched for a stuck value. Set by run time.
        stuck_tolerance: a number is a column's mean or median, and not a stuck one, within this many deviations. Well
            above the rounding of a mean, well below the distance of numbers by chance.
        likelihood_cells: cells whose likelihoods are computed at a time (2 MB). Set by memory.
        cached_cells: results are kept between passes for dense data of at most this many cells. Set by memory.
    """

    num_rates: int = 8
    min_wrong_cells: float = 0.7
    max_rate: float = 0.3
    row_lengths: tuple[float, ...] = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0)
    min_column_events: int = 5
    min_bag_log_odds: float = math.log(12)
    max_log_ratio: float = 60.0
    max_share: float = 0.9
    settled_share: float = 0.01
    impossible_log_ratio: float = 20.0
    min_burst_rows: int = 50
    min_burst_spread: float = 0.05
    stuck_sample: int = 5000
    stuck_tolerance: float = 1e-3
    likelihood_cells: int = 1 << 19
    cached_cells: int = 200_000_000


@dataclass(frozen=True)
class ContextOptions:
    """Prediction of a cell from the neighborhood and the rest of the row.

    Args:
        shrinkage: observations at the column's mean that are added to every neighborhood mean. From design.md 2.6.
        weak_shrinkage: the same in the second set of means that tables have. Influence: below .001.
        mixture_events: events that the mixture weights are fitted on, about. Set by run time.
        mixture_columns: columns of which these are taken, at least: the weights differ between words. (With 16 columns
            of Amazon-Computers the weight of the other words is .15 instead of .23.)
        mixture_ranges: ranges of columns beside one another that these are in, about. Set by run time.
        min_base_weight: least weight of the column's rate in bags: a word that no neighbor has is rarer, not
            impossible. Checked on ``benchmarks/detection.py`` (flips on Cora).
        min_lift: the rest of the row supports a word that is this many times as frequent beside the other words as
            elsewhere. Influence: below .001.
        min_rows_per_column: the regression needs this many rows for each column.
        pool_rows: rows that the opinion pools are fitted on. Set by run time.
        min_linear_probability: floor of a linear prediction of a 0/1 value. Influence: below .001.
        min_probability: floor of every probability of an event. Numerical.
        ridge: penalty of the regression, in units of a standardized column's variance. Influence: .038 (wordnet,
            outliers: cell AUPRC).
        max_leverage: of a row in its own prediction: beyond this the prediction is not independent of the row.
            Influence: none.
        extreme_row_value: a row is extreme throughout if its median number is further out than this, in spreads.
        ridge_block_rows: rows that the regression works on at once. Set by memory.
    """

    shrinkage: float = 0.5
    weak_shrinkage: float = 0.02
    mixture_events: int = 100_000
    mixture_columns: int = 64
    mixture_ranges: int = 16
    min_base_weight: float = 0.2
    min_lift: float = 1.5
    min_rows_per_column: int = 10
    pool_rows: int = 4000
    min_linear_probability: float = 5e-4
    min_probability: float = 1e-6
    ridge: float = 0.01
    max_leverage: float = 0.95
    extreme_row_value: float = 2.0
    ridge_block_rows: int = 1 << 16


@dataclass(frozen=True)
class PoolOptions:
    """How the predictors of a column of a table are combined.

    Args:
        max_cells: cells of one column (times its values) that the weights are fitted on. Set by run time.
        shared_cells: the weights shared by all columns of a kind count as much as this many cells of each. Influence:
            below .005.
        unexplained: share of the cells that the weights need not explain, so that wrong cells do not make the
            predictors vague. Influence: below .005.
        min_noise: least share of genuine unexpected values. Influence: none.
    """

    max_cells: int = 400_000
    shared_cells: float = 20.0
    unexplained: float = 0.05
    min_noise: float = 1e-4


@dataclass(frozen=True)
class NumericOptions:
    """Densities of right and of wrong numbers.

    Args:
        wrong_scale: wrong values follow a Cauchy distribution of this scale, in spreads of their column. Checked on
            ``benchmarks/detection.py`` (outliers).
        t_dofs: degrees of freedom tried for right values, from heavy tails to nearly normal ones.
        heavy_dof: columns with tails at least as heavy as this are looked at on an asinh scale.
        max_heavy_dof: and their residuals never have lighter tails than this. Influence: .480 (wordnet, outliers: cell
            AUPRC).
        min_row_scale_columns: rows of this many numbers get a spread of their own. Influence: .007 (books: share of
            flagged rows).
        degree_edges: boundaries between no, few, some and many neighbors.
        min_group: groups of fewer nodes than this take the spread of all nodes.
        prior_cells: the common spread counts as much as this many cells of a group. Influence: .039 (wordnet, outliers:
            cell AUPRC).
        min_spread: least spread of the residuals, in spreads of the column. Influence: none.
        min_relative_spread: least ratio of a group's spread to the common one. Influence: none.
        max_grid_values: a column with at most this many different values lies on a grid.
        grid_spread: whose least spread is this many grid steps. Influence: below .005.
        min_log_spread: least spread of ``log |x - spike|``. Influence: .074 (pubmed, outliers: cell AUPRC).
        prior_wrong_cells: the Cauchy distribution counts as much as this many known wrong cells of a column. Influence:
            .048 (wordnet, outliers: cell AUPRC).
        histogram_bins: quarter-spread bins on each side of the middle in which known wrong values are counted.
        t_prior: how often residuals have tails with these degrees of freedom, in the average of
            :func:`~magnet.detection.cells.numeric.fit_tail`: seldom Cauchy tails. As for tables, see
            :mod:`magnet.tables.numbers.tails`.
        prior_wrong_rate: share of wrong cells of a column before any is seen; it counts as ``prior_cells`` cells.
        tail_steps: EM steps of a tail; more change no digit that matters.
        tail_exact, tail_bins: farthest residuals that are looked at one by one, bins of the others. Set by run time.
    """

    wrong_scale: float = 3.0
    t_dofs: tuple[float, ...] = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 30.0)
    heavy_dof: float = 1.0
    max_heavy_dof: float = 3.0
    min_row_scale_columns: int = 16
    degree_edges: tuple[float, ...] = (0.5, 2.5, 6.5)
    min_group: int = 20
    prior_cells: float = 50.0
    min_spread: float = 0.02
    min_relative_spread: float = 0.1
    max_grid_values: int = 50
    grid_spread: float = 0.6
    min_log_spread: float = 0.4
    prior_wrong_cells: int = 10
    histogram_bins: int = 48
    t_prior: tuple[float, ...] = (0.005, 0.015, 0.03, 0.1, 0.15, 0.2, 0.2, 0.3)
    prior_wrong_rate: float = 0.01
    tail_steps: int = 15
    tail_exact: int = 500
    tail_bins: int = 2000


# Numerical floors, not swept: they keep logarithms and quotients finite.
MIN_PROBABILITY = 1e-6  # of probabilities and shares
MIN_WEIGHT = 1e-9  # of sums of weights, and of sizes on the common scale
MIN_SQUARE = 1e-12  # of the squares of such sizes
TINY = 1e-30  # of numbers in the units of the data, of any size

#: Relative difference up to which numbers are equal but for rounding: normalized features are often written with a few
#: digits (not swept).
ROUNDING = 1e-3

DATA, ROWS, GATE, CELLS = DataOptions(), RowOptions(), GateOptions(), CellOptions()
CONTEXT, POOL, NUMERIC = ContextOptions(), PoolOptions(), NumericOptions()
