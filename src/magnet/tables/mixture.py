"""The noisy channel of one column: experts give the prior, channels the likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from magnet.arrays import Floats
from magnet.tables.channels.base import UNKNOWN
from magnet.tables.channels.respell import Respell
from magnet.tables.channels.typo import DIGIT, Typo
from magnet.tables.coded import Codes
from magnet.tables.experts.base import Point
from magnet.tables.experts.brackets import Brackets
from magnet.tables.experts.groups import UNEVEN, Groups
from magnet.tables.experts.links import Links
from magnet.tables.experts.novelty import tokens_of
from magnet.tables.findings import Finding
from magnet.tables.prior import ColumnPrior
from magnet.tables.roles.patterns import number

RULE_CONTEXTS = 4  # a rule of the user counts as this many contexts
MIN_PROBABILITY = 0.05  # findings below this probability are dropped at once
PRUNED = 0.02  # a correction that cannot reach this share of the observed value's mass is ignored
MAX_DOUBTS = 5_000  # contradictions of a template that are examined one by one
ALIKE = 4.0  # values whose counts differ by a larger factor may be a value and its misspelling
GUESSED = 0.79  # highest confidence of a correction by shape alone: too low to be written or learned from


@dataclass(eq=False)
class ColumnJudgment:
    """Findings of one column, misspellings expected, rows in which they could be seen, what may be learned, and, where
    it was asked for, the likeliest value of every blank with its probability.

    A misspelling can be seen with certainty where the right value occurs in other rows, so rates are estimated from
    such corrections and rows only.
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

    For row i with observed text o, ``own`` is :math:`(1 - \epsilon) P(o \mid i)` and a candidate v of channel c has
    :math:`\epsilon_c \, P_c(o \mid v) \, P(v \mid i)`; the posterior is their share of the sum.
    """

    def _expand(self, observed: Codes) -> tuple[Codes, Codes]:
        """Rows that read each text: positions in ``observed`` repeated, and rows."""
        order, starts = self.column.rows_by_value()
        size = starts[observed + 1] - starts[observed]
        which = np.repeat(np.arange(len(observed)), size)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(size) - size, size)
        return which, order[starts[observed][which] + offset]

    def _from_channels(self, own: Floats) -> list[_Pairs]:
        out: list[_Pairs] = []
        self.near: dict[int, list[tuple[int, float]]] = {}
        for at, found in ((_TYPO, self.typo.propose(self)), (_RESPELL, Respell(self.typo).propose(self))):
            if not found:
                continue
            for proposal in found:
                if math.isnan(proposal.measure):
                    pair = proposal.candidate, self.rate * proposal.likelihood
                    self.near.setdefault(proposal.observed, []).append(pair)
            observed, candidate, likelihood, measure = (np.array(part) for part in zip(*found, strict=True))
            strength = self.rate * likelihood
            which, rows = self._expand(observed)
            bound = strength * np.where(np.isnan(measure), 1.0, measure * self.weights[-1])
            keep = bound[which] > PRUNED * own[rows]
            which, rows = which[keep], rows[keep]
            out.append(_Pairs.of(rows, candidate[which], strength[which], measure[which], at))
        return out

    def _add_siblings(self) -> None:
        r"""Where established values are often one edit apart, so are new ones.

        With :math:`\rho_c` the share of the V established values that have another one at an operation of class c (such
        as one digit replaced), a text x that is such an operation away from v gets :math:`\rho_c \, P(x \mid v) / V`
        more base measure: dense codes and numbered names are no typos. A value beside a far more frequent one is
        not established.
        """
        counts, near = self.counts, self.near
        average = len(self.column.read) / max(int(np.count_nonzero(counts)), 1)
        settled = counts >= max(3.0, average)
        for x, found in near.items():
            if any(counts[v] > ALIKE * counts[x] for v, _ in found):
                settled[x] = False
        total = int(settled.sum())
        if total < 2:
            return
        values = self.column.values
        beside: dict[str, set[int]] = {}
        for x, found in near.items():
            if settled[x]:
                for v, _ in found:
                    if settled[v]:
                        beside.setdefault(_edit_class(values[x], values[v]), set()).update((x, v))
        if not beside:
            return
        self.base(np.array(list(near), dtype=np.int64))
        for x, found in near.items():
            for v, strength in found:
                siblings = beside.get(_edit_class(values[x], values[v]))
                if siblings:
                    self._base[x] += len(siblings) / (total + 1) * strength / self.rate / total

    def _from_experts(self, own: Floats) -> list[_Pairs]:
        out: list[_Pairs] = []
        column, blank = self.column, self.column.blank
        possible = (PRUNED * own < 0.3 * self.rate + self._exception_rate(own)) & (column.read != blank)
        for expert in self.experts:
            for codes in expert.proposals().T:
                rows = np.flatnonzero(possible & (codes >= 0) & (codes != column.read) & (codes != blank))
                if not len(rows):
                    continue
                values, read = codes[rows], column.read[rows]
                wild = self._exception_rate(own)[rows] * (self.frequency.probability(rows, read) + self.base(read))
                out.append(_Pairs.of(rows, values, wild, np.nan, _DISAGREEMENT))
                out.append(_Pairs.of(rows, values, self.rate * self._typo_pairs(read, values), np.nan, _TYPO))
        return out

    def _exception_rate(self, own: Floats) -> Floats:
        r"""Rate of the disagreement channel per row.

        If contexts nearly determine the column, likelihood alone cannot separate isolated exceptions from chance;
        they are wrong with stated odds, which grow with every context that disagrees. Exceptions that gather
        in some groups are genuine.
        """
        if self._exceptions is not None:
            return self._exceptions
        rate = np.full(len(own), self.options.disagreement_rate)
        groups = [e for e in self.experts if isinstance(e, Groups | Links)]
        self._exceptions = rate
        if not groups or self.weights[0] + self.weights[-1] > self.options.exception_share:
            return rate
        read = self.column.read
        wild = self.frequency.probability(np.arange(len(own)), read) + self.base(read)
        against, most, claimed, genuine = np.zeros(len(own)), np.zeros(len(own)), np.full(len(own), -1), False
        for group in groups:
            leader, votes, spread = group.agreement()
            if group is groups[0]:
                genuine = spread > UNEVEN and not group.strict
            disagrees = (leader >= 0) & (leader != read) & ((claimed < 0) | (claimed == leader))
            if isinstance(group, Brackets):  # its number may also make groups, which would count twice
                disagrees &= (against == 0) | genuine
                against *= not genuine
                genuine = False
            claimed = np.where(disagrees, leader, claimed)
            against += RULE_CONTEXTS * disagrees if group.strict else disagrees
            most = np.maximum(most, np.where(disagrees, np.inf if group.strict else votes, 0))
        if not genuine:
            odds = self.options.exception_odds * self.options.exception_factor ** (against - 1)
            odds *= np.minimum(most / self.options.exception_votes, 1.0)
            boosted = np.minimum(odds * own / np.maximum(wild, 1e-12), self.options.rate_cap)
            self._exceptions = np.where(against > 0, np.maximum(rate, boosted), rate)
        return self._exceptions

    def _typo_pairs(self, read: Codes, values: Codes) -> Floats:
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
        """Test whether a repeated text is a separate value or a repeated typo of a more frequent one."""
        n = len(self.column.read)
        out = {}
        for x, near in self.near.items():
            count = int(self.read_counts[x])
            own = math.log(self.weights[-1] * self.novelty(self.column.values[x]) + 1e-300)
            own += math.lgamma(count) - (count - 1) * math.log(n)
            slips = [
                count * math.log(strength * self.counts[v] / n)
                for v, strength in near
                if self.counts[v] > count and strength > 0
            ]
            if slips:
                out[x] = 1 / (1 + math.exp(min(max(max(slips) - own, -500.0), 500.0)))
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
            said, told = expert.predicted[rows], read[rows]
            mine = self.weights[0] * self.frequency.probability(rows, told) + self.weights[-1] * self.base(told)
            held = self.frequency.probability(rows, said)
            theirs = self.weights[0] * held + self.weights[-1] * self.base(said)
            for at in np.flatnonzero(held <= 0)[:MAX_DOUBTS].tolist():
                measure = self.novelty.without(self.column.values[told[at]], [self.column.values[said[at]]])[0]
                theirs[at] = self.weights[-1] * measure
            slip = np.maximum(self._typo_pairs(said, told), self._typo_pairs(told, said))
            extra[rows] += weight * self.rate * slip * np.minimum((mine + 1e-300) / (theirs + 1e-300), 1e6)
        return extra

    # ------------------------------------------------------------------ posterior

    def judge(self) -> ColumnJudgment:
        """Posterior of every cell of the column."""
        column, n = self.column, len(self.column.read)
        own = self.prior_of_read()
        proposed = self._from_channels(own)
        self._add_siblings()
        own = self.prior_of_read()
        parts = [part for part in proposed + self._from_experts(own) if len(part.rows)]
        real = self._p_real()
        if real:
            share = np.ones(len(column.values))
            share[list(real)] = list(real.values())
            share = share[column.read]
            own = own * share + (1 - share) * self.weights[-1] * self.base(column.read)
        own += self._other_cell_wrong()
        own *= 1 - self.rate - self.options.disagreement_rate
        if not parts:
            return ColumnJudgment({}, 0.0, self._identifiable(), {}, [])
        pairs = _Pairs(*(np.concatenate(field) for field in zip(*parts, strict=True)))
        known = np.where(np.isnan(pairs.measure), 0.0, pairs.measure * self.weights[-1])
        asked = np.flatnonzero(np.isnan(pairs.measure))
        known[asked] = self.prior(pairs.rows[asked], pairs.codes[asked])
        weight = pairs.strength * known
        key = pairs.rows * (len(column.values) + 1) + pairs.codes + 1
        both = key * 64 + pairs.channel
        first = np.unique(both, return_index=True)[1]
        rows, codes, weight, key = pairs.rows[first], pairs.codes[first], weight[first], key[first]
        channel, measure = pairs.channel[first], pairs.measure[first]
        total = own + np.bincount(rows, weights=weight, minlength=n)
        wrong = 1 - own / np.maximum(total, 1e-300)
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
        summed = np.add.reduceat(weight, starts)
        leads = np.r_[starts[1:], len(key)]
        share = weight / np.maximum(total[rows], 1e-300)
        misspelled = float(share[(channel >= _TYPO) & np.isnan(measure)].sum())
        guessed = float(share[~np.isnan(measure)].sum())
        evidence = min(1.0, self.rate * n / guessed) if guessed else 1.0
        best: dict[int, tuple[float, int]] = {}
        for s in np.flatnonzero(wrong[rows[starts]] > MIN_PROBABILITY).tolist():
            row = int(rows[starts[s]])
            if summed[s] > best.get(row, (0.0, 0))[0]:
                best[row] = (float(summed[s]), s)
        trusted = np.zeros(n, dtype=bool) if self.table.trusted is None else self.table.trusted[:, self.position]
        findings: dict[int, Finding] = {}
        repairs: dict[int, int] = {}
        lessons: list[tuple[str, str]] = []
        for row, (value_mass, s) in best.items():
            span = slice(starts[s], leads[s])
            code, by = int(codes[starts[s]]), int(channel[span][weight[span].argmax()])
            confidence = 0.0 if code == UNKNOWN else float(value_mass / total[row])
            if by == _RESPELL and self._guessed(row, code):
                confidence = min(confidence, GUESSED)
            probability = float(wrong[row])
            if not np.isnan(measure[starts[s]]):
                probability, confidence = probability * evidence, confidence * evidence
            kind = "disagreement" if by == _DISAGREEMENT else "typo"
            suggested = None if code == UNKNOWN else column.values[code]
            reason = self.reason(row, code, kind) if probability >= self.options.list_from else ""
            findings[row] = Finding(row, suggested, probability, confidence, kind, reason)
            if confidence >= self.options.learn_from and not trusted[row]:
                repairs[row] = code
                if by >= _TYPO:
                    lessons.append((column.values[column.read[row]], column.values[code]))
        return ColumnJudgment(findings, misspelled, self._identifiable(), repairs, lessons)

    def _identifiable(self) -> float:
        """Rows whose value other rows hold, in columns that can be misspelled."""
        if self.column.role.name in ("quantity", "empty"):
            return 0.0
        return float((self.counts[self.column.current] >= 2).sum())

    def _guessed(self, row: int, code: int) -> bool:
        """Whether a correction rests on the shape of the text alone, in a column of free words."""
        if self.column.role.name not in ("text", "category", "unit", "identifier"):
            return False
        observed, value = self.column.values[self.column.read[row]], self.column.values[code]
        known = all(w.isdigit() or not self.novelty.unknown(w, "") for w in tokens_of(observed)[0])
        return known or any(w.isalpha() and self.novelty.unknown(w, value) for w in tokens_of(value)[0])


_TYPO, _RESPELL, _DISAGREEMENT = 0, 1, -1  # what makes a value come out as another


def _edit_class(observed: str, value: str) -> str:
    """The class of the difference between two texts: the operation, and whether only digits are concerned."""
    found = Typo.operation(observed, value)
    digits = DIGIT.sub("0", observed) == DIGIT.sub("0", value) or (found is not None and found[1].isdigit())
    return f"{found[0] if found else 'two'} {digits}"


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
