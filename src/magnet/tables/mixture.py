"""The noisy channel of one column: experts give the prior, channels the likelihood."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from magnet.arrays import Bools, Floats
from magnet.tables.channels.base import UNKNOWN
from magnet.tables.channels.respell import Respell
from magnet.tables.coded import Codes
from magnet.tables.experts.base import Point
from magnet.tables.experts.brackets import Brackets
from magnet.tables.experts.groups import UNEVEN, Groups, Votes, same_groups
from magnet.tables.experts.links import Links
from magnet.tables.experts.novelty import tokens_of
from magnet.tables.findings import Finding
from magnet.tables.options import FLOOR
from magnet.tables.prior import ColumnPrior
from magnet.tables.roles.patterns import number
from magnet.tables.siblings import Siblings

# Contexts that several names of one thing (id, name, address) count as at most: with three, right bottle sizes of the
# clean beers were overwritten; with one, wrong facts of made-up *trials* were not listed (F1 .86 to .74).
NAMES_OF_ONE = 2
RULE_CONTEXTS = 4  # a rule of the user counts as this many contexts
# Share of exceptions up to which they may be errors in a table that shows no other ones; beyond it they are likelier
# genuine, as the managers of other departments are (not swept).
USUAL_EXCEPTIONS = 0.02
MIN_PROBABILITY = 0.05  # findings below this probability are dropped at once
PRUNED = 0.02  # a correction that cannot reach this share of the observed value's mass is ignored
MAX_LIKELIHOOD = 0.3  # of a misspelling given the right value: the share of an operation over its places (not swept)
MIN_EXPECTED = 1e-12  # frequency and base measure of a text; longer, stranger ones are no exceptions (not swept)
MAX_LOG_ODDS = 500.0  # of a repeated text being a typo, so that its exponential is finite
MAX_DOUBTS = 5_000  # contradictions of a template that are examined one by one
MAX_DOUBT = 1e6  # factor by which a misspelling of another cell may explain a contradiction better (not swept)
EXPECTED = 0.5  # prior of a value, given the rest of the row, from which it is more likely than all others
GUESSED = 0.79  # highest confidence by shape alone, or of leaving out words: too low to be written or learned from

MORE_WORDS = re.compile(r"\W+[^\W\d_]{2}")  # behind a value

# what makes a value come out as another
_DISAGREEMENT, _TYPO, _RESPELL = _CHANNELS = (-1, 0, 1)


@dataclass(eq=False)
class ColumnJudgment:
    """What is found in one column.

    Args:
        findings: by row.
        misspelled: number of misspelled cells that is expected where the right value occurs in other rows: only there
            can a misspelling be seen with certainty, so that rates are estimated from these rows.
        identifiable: number of such rows.
        repairs: code of the right value, by row, where it is certain enough to learn from.
        lessons: misspelled texts and what they should be.
        fillings: the likeliest value of every blank and its probability, if requested.
    """

    findings: dict[int, Finding]
    misspelled: float
    identifiable: float
    repairs: dict[int, int]
    lessons: list[tuple[str, str]]
    fillings: dict[int, tuple[int, float]] = field(default_factory=dict)


@dataclass(eq=False)
class ColumnModel(ColumnPrior):
    r"""Prior and channels of one column.

    For row i with observed text o, "o is right" has the mass :math:`(1 - \epsilon) P(o \mid i)`, and "it should be v
    and came through channel c" has :math:`\epsilon_c \, P_c(o \mid v) \, P(v \mid i)`; the posterior is their share of
    the sum.

    Args:
        worst_rate: highest share of errors that is seen in any column, of the kinds that need no context (default: 1).
        explain: whether findings have reasons; those of the first passes are not shown (default: ``True``).
    """

    worst_rate: float = field(default=1.0, kw_only=True)
    explain: bool = field(default=True, kw_only=True)

    def _expand(self, observed: Codes) -> tuple[Codes, Codes]:
        """All rows with one of the texts ``observed``: for each its position in ``observed``, and its number."""
        order, starts = self.column.rows_by_value()
        size = starts[observed + 1] - starts[observed]
        which = np.repeat(np.arange(len(observed)), size)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(size) - size, size)
        return which, order[starts[observed][which] + offset]

    def _from_channels(self, p_read: Floats) -> list[_Pairs]:
        """Candidates that a misspelling turns into the observed text."""
        out: list[_Pairs] = []
        self.near_values: dict[int, list[tuple[int, float]]] = {}
        for at, found in ((_TYPO, self.typo.propose(self)), (_RESPELL, Respell(self.typo).propose(self))):
            if not found:
                continue
            for proposal in found:
                if math.isnan(proposal.measure):
                    pair = proposal.candidate, proposal.likelihood
                    self.near_values.setdefault(proposal.observed, []).append(pair)
            observed, candidate, likelihood, measure = (np.array(part) for part in zip(*found, strict=True))
            strength = self.rate * likelihood
            which, rows = self._expand(observed)
            bound = strength * np.where(np.isnan(measure), 1.0, measure * self.weights[-1])
            keep = bound[which] > PRUNED * p_read[rows]
            which, rows = which[keep], rows[keep]
            out.append(_Pairs.of(rows, candidate[which], strength[which], measure[which], at))
        return out

    def _from_experts(self, p_read: Floats) -> list[_Pairs]:
        """Candidates that an expert expects in the place of the observed text."""
        out: list[_Pairs] = []
        column, blank = self.column, self.column.blank
        largest_rate = MAX_LIKELIHOOD * self.rate + self._exception_rate(p_read)
        possible = (PRUNED * p_read < largest_rate) & (column.read != blank)
        for expert in self.experts:
            for codes in expert.proposals().T:
                rows = np.flatnonzero(possible & (codes >= 0) & (codes != column.read) & (codes != blank))
                if not len(rows):
                    continue
                values, read = codes[rows], column.read[rows]
                strength = self._exception_rate(p_read)[rows] * (
                    self.frequency.probability(rows, read) + self.base(read)
                )
                out.append(_Pairs.of(rows, values, strength, np.nan, _DISAGREEMENT))
                out.append(_Pairs.of(rows, values, self.rate * self._typo_pairs(read, values), np.nan, _TYPO))
        return out

    def _exception_rate(self, p_read: Floats) -> Floats:
        r"""Rate of the disagreement channel per row.

        If contexts nearly determine the column, likelihood alone cannot separate isolated exceptions from chance;
        they are wrong with stated odds, which grow with every context that disagrees. Exceptions that gather
        in some groups are genuine, and so are most where they are more frequent than errors elsewhere in the table.
        """
        if self._exceptions is not None:
            return self._exceptions
        rate = np.full(len(p_read), self.options.disagreement_rate)
        groups = [e for e in self.experts if isinstance(e, Groups | Links)]
        self._exceptions = rate
        if not groups or self.weights[0] + self.weights[-1] > self.options.exception_share:
            return rate
        read = self.column.read
        expected = self.frequency.probability(np.arange(len(p_read)), read) + self.base(read)
        against, most, claimed, genuine = np.zeros(len(p_read)), np.zeros(len(p_read)), np.full(len(p_read), -1), False
        repeated, seen, share = np.zeros(len(p_read)), list[Codes](), 0.0
        for group in groups:
            leader, votes, spread = group.agreement()
            if group is groups[0]:
                genuine = spread > UNEVEN and not group.strict
                share = 0.0 if group.strict or _one_to_one(group, leader) else _share_against(leader, read)
            disagrees = (leader >= 0) & (leader != read) & ((claimed < 0) | (claimed == leader))
            if isinstance(group, Brackets):  # its number may also make groups, which would count twice
                disagrees &= (against == 0) | genuine
                against *= not genuine
                genuine = False
            if not disagrees.any():
                continue
            if isinstance(group, Groups) and not group.strict and self._repeats(group, seen):
                repeated += disagrees
            claimed = np.where(disagrees, leader, claimed)
            against += RULE_CONTEXTS * disagrees if group.strict else disagrees
            most = np.maximum(most, np.where(disagrees, np.inf if group.strict else votes, 0))
        against = np.minimum(against, np.maximum(against - repeated, NAMES_OF_ONE))
        if not genuine:
            odds = self.options.exception_odds * self.options.exception_factor ** (against - 1)
            odds *= np.minimum(most / self.options.exception_votes, 1.0)
            odds *= min(max(USUAL_EXCEPTIONS, self.worst_rate) / max(share, FLOOR), 1.0)
            boosted = np.minimum(odds * p_read / np.maximum(expected, MIN_EXPECTED), self.options.rate_cap)
            self._exceptions = np.where(against > 0, np.maximum(rate, boosted), rate)
        return self._exceptions

    def _repeats(self, group: Groups, seen: list[Codes]) -> bool:
        """Whether a context makes the groups of one that was seen before, unless the column itself does, too: the size
        of a bottle is not confirmed by the id and the name of its brewery, but the code of a department is by its name
        and its manager."""
        again = any(same_groups(group.context, other) for other in seen)
        seen.append(group.context)
        return again and not same_groups(group.context, self.column.current)

    def _typo_pairs(self, read: Codes, values: Codes) -> Floats:
        """Likelihood of each observed text as a misspelling of a value ``[pairs]``; each pair is computed once."""
        width = len(self.column.values)
        keys, back = np.unique(read * width + values, return_inverse=True)
        texts, arithmetic = self.column.values, self.column.role.arithmetic
        chance = np.zeros(len(keys))
        for k, key in enumerate(keys.tolist()):
            observed, value = texts[key // width], texts[key % width]
            if not (arithmetic and number(observed) is not None):
                chance[k] = self.typo.likelihood(observed, value)
        return chance[back]

    def _p_real(self) -> dict[int, float]:
        """Probability that a repeated text is a value of its own, not a repeated typo of a more frequent one."""
        n = len(self.column.read)
        out = {}
        for x, near in self.near_values.items():
            count = int(self.read_counts[x])
            as_value = math.log(self.weights[-1] * self.novelty(self.column.values[x]) + FLOOR)
            as_value += math.lgamma(count) - (count - 1) * math.log(n)
            as_typo = [
                count * math.log(self.rate * likelihood * self.counts[v] / n)
                for v, likelihood in near
                if self.counts[v] > count and likelihood > 0
            ]
            if as_typo:
                out[x] = 1 / (1 + math.exp(min(max(max(as_typo) - as_value, -MAX_LOG_ODDS), MAX_LOG_ODDS)))
        return out

    def _other_cell_wrong(self) -> Floats:
        """Mass of the reading that a template is off because one of the cells it is made of is misspelled."""
        read = self.column.read
        extra = np.zeros(len(read))
        for weight, expert in zip(self.weights[1:-1], self.experts, strict=True):
            if not isinstance(expert, Point) or not expert.doubtful:
                continue
            rows = np.flatnonzero((expert.predicted >= 0) & (expert.predicted != read))
            if not len(rows):
                continue
            predicted, observed = expert.predicted[rows], read[rows]
            frequency = self.frequency.probability(rows, predicted)
            p_observed = self.weights[0] * self.frequency.probability(rows, observed)
            p_observed += self.weights[-1] * self.base(observed)
            p_predicted = self.weights[0] * frequency + self.weights[-1] * self.base(predicted)
            for at in np.flatnonzero(frequency <= 0)[:MAX_DOUBTS].tolist():
                texts = self.column.values[observed[at]], [self.column.values[predicted[at]]]
                p_predicted[at] = self.weights[-1] * self.novelty.without(*texts)[0]
            typo = np.maximum(self._typo_pairs(predicted, observed), self._typo_pairs(observed, predicted))
            ratio = np.minimum((p_observed + FLOOR) / (p_predicted + FLOOR), MAX_DOUBT)
            extra[rows] += weight * self.rate * typo * ratio
        return extra

    # ------------------------------------------------------------------ posterior

    def judge(self) -> ColumnJudgment:
        """Posterior of every cell of the column."""
        p_read = self.prior_of_read()
        proposed = self._from_channels(p_read)
        self.base(np.array(list(self.near_values), dtype=np.int64))
        for code, measure in Siblings(self.column.values, self.counts, self.near_values, self.memory).measures():
            self._base[code] += measure
        p_read = self.prior_of_read()
        pairs = [part for part in proposed + self._from_experts(p_read) if len(part.rows)]
        read_mass = self._mass_of_read(p_read)
        if not pairs:
            return ColumnJudgment({}, 0.0, self._identifiable(), {}, [])
        return self._findings(read_mass, self._candidates(pairs))

    def _mass_of_read(self, prior: Floats) -> Floats:
        """Mass of the reading that the text of a row is right ``[rows]``, from its prior."""
        column, real = self.column, self._p_real()
        if real:
            share = np.ones(len(column.values))
            share[list(real)] = list(real.values())
            share = share[column.read]
            prior = prior * share + (1 - share) * self.weights[-1] * self.base(column.read)
        return (prior + self._other_cell_wrong()) * (1 - self.rate - self.options.disagreement_rate)

    def _candidates(self, parts: list[_Pairs]) -> _Candidates:
        """Candidates of all channels with their mass; of equal ones of the same channel, the first."""
        pairs = _Pairs(*(np.concatenate(field) for field in zip(*parts, strict=True)))
        prior = np.where(np.isnan(pairs.measure), 0.0, pairs.measure * self.weights[-1])
        in_column = np.flatnonzero(np.isnan(pairs.measure))
        prior[in_column] = self.prior(pairs.rows[in_column], pairs.codes[in_column])
        key = pairs.rows * (len(self.column.values) + 1) + pairs.codes + 1
        first = np.unique(key * len(_CHANNELS) + pairs.channel, return_index=True)[1]
        starts = np.flatnonzero(np.r_[True, np.diff(key[first]) != 0])
        return _Candidates(
            pairs.rows[first],
            pairs.codes[first],
            (pairs.strength * prior)[first],
            np.isnan(pairs.measure[first]),
            pairs.channel[first],
            starts,
            np.r_[starts[1:], len(first)],
        )

    def _findings(self, read_mass: Floats, found: _Candidates) -> ColumnJudgment:
        """The likeliest candidate of every row that is probably wrong.

        Corrections to texts that the column does not hold (``in_column`` is false) may be far more than the rate of
        misspellings allows; they count in proportion.
        """
        column, n = self.column, len(self.column.read)
        total = read_mass + np.bincount(found.rows, weights=found.mass, minlength=n)
        wrong = 1 - read_mass / np.maximum(total, FLOOR)
        share = found.mass / np.maximum(total[found.rows], FLOOR)
        misspelled = float(share[(found.channel >= _TYPO) & found.in_column].sum())
        invented = float(share[~found.in_column].sum())
        plausible = min(1.0, self.rate * n / invented) if invented else 1.0
        trusted = np.zeros(n, dtype=bool) if self.table.trusted is None else self.table.trusted[:, self.position]
        findings: dict[int, Finding] = {}
        repairs: dict[int, int] = {}
        lessons: list[tuple[str, str]] = []
        for row, (value_mass, start, stop) in found.likeliest(wrong > MIN_PROBABILITY).items():
            code, channel = int(found.codes[start]), int(found.channel[start + found.mass[start:stop].argmax()])
            confidence = 0.0 if code == UNKNOWN else float(value_mass / total[row])
            if (channel == _RESPELL and self._guessed(row, code)) or self._elaborates(row, code):
                confidence = min(confidence, GUESSED)
            probability = float(wrong[row])
            if not found.in_column[start]:
                probability, confidence = probability * plausible, confidence * plausible
            kind = "disagreement" if channel == _DISAGREEMENT else "typo"
            suggested = None if code == UNKNOWN else column.values[code]
            listed = self.explain and probability >= self.options.list_from
            reason = self.reason(row, code, kind) if listed else ""
            expected = listed and code != UNKNOWN and self.prior(np.array([row]), np.array([code]))[0] >= EXPECTED
            findings[row] = Finding(row, suggested, probability, confidence, kind, reason, bool(expected))
            if confidence >= self.options.learn_from and not trusted[row]:
                repairs[row] = code
                if channel >= _TYPO:
                    lessons.append((column.values[column.read[row]], column.values[code]))
        return ColumnJudgment(findings, misspelled, self._identifiable(), repairs, lessons)

    def _identifiable(self) -> float:
        """Rows whose value other rows hold, in columns that can be misspelled."""
        if self.column.role.name in ("quantity", "empty"):
            return 0.0
        return float((self.counts[self.column.current] >= 2).sum())

    def _elaborates(self, row: int, code: int) -> bool:
        """Whether the observed text is the value and more words, which may be right: X feat. Y, KFC (Closed)."""
        if code == UNKNOWN or self.column.role.name not in ("text", "category"):
            return False
        observed, value = self.column.values[self.column.read[row]], self.column.values[code]
        return bool(value) and observed.startswith(value) and MORE_WORDS.match(observed, len(value)) is not None

    def _guessed(self, row: int, code: int) -> bool:
        """Whether a correction rests on the shape of the text alone, in a column of free words."""
        if self.column.role.name not in ("text", "category", "unit", "identifier"):
            return False
        observed, value = self.column.values[self.column.read[row]], self.column.values[code]
        known = all(w.isdigit() or not self.novelty.unknown(w, "") for w in tokens_of(observed)[0])
        return known or any(w.isalpha() and self.novelty.unknown(w, value) for w in tokens_of(value)[0])


def _share_against(leader: Codes, read: Codes) -> float:
    """Share of the rows of clear contexts that hold another value than is expected there."""
    led = leader >= 0
    return float((leader[led] != read[led]).mean()) if led.any() else 0.0


def _one_to_one(group: Votes, leader: Codes) -> bool:
    """Whether each value leads one context, as names and codes of the same things do; these have no exceptions."""
    led = leader >= 0
    return len(np.unique(group.context[led])) == len(np.unique(leader[led]))


class _Pairs(NamedTuple):
    """Candidates of rows: row, value, rate times likelihood, base measure or nan, and the channel ``[pairs]``."""

    rows: Codes
    codes: Codes
    strength: Floats
    measure: Floats
    channel: Codes

    @classmethod
    def of(cls, rows: Codes, codes: Codes, strength: Floats | float, measure: Floats | float, channel: int) -> _Pairs:
        """With one value for all pairs where a number is given."""
        return cls(rows, codes, *(np.broadcast_to(part, rows.shape) for part in (strength, measure, channel)))


class _Candidates(NamedTuple):
    """Candidates by row, value and channel.

    Args:
        rows, codes, mass, channel: row, value, rate times likelihood times prior, and channel ``[pairs]``.
        in_column: whether the column holds the value ``[pairs]``.
        starts, stops: first pair of every (row, value), and the end of these pairs.
    """

    rows: Codes
    codes: Codes
    mass: Floats
    in_column: Bools
    channel: Codes
    starts: Codes
    stops: Codes

    def likeliest(self, wanted: Bools) -> dict[int, tuple[float, int, int]]:
        """The value with the most mass, and its pairs ``start:stop``, of the wanted rows."""
        mass = np.add.reduceat(self.mass, self.starts)
        best: dict[int, tuple[float, int, int]] = {}
        for k in np.flatnonzero(wanted[self.rows[self.starts]]).tolist():
            row = int(self.rows[self.starts[k]])
            if mass[k] > best.get(row, (0.0,))[0]:
                best[row] = float(mass[k]), int(self.starts[k]), int(self.stops[k])
        return best
