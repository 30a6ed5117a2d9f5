"""The noisy channel of one column: experts say what is likely, channels say how it may have been damaged."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from magnet.tables.channels.base import UNKNOWN, Channel, ChannelContext
from magnet.tables.channels.typo import DIGIT, Typo, near_pairs
from magnet.tables.coded import CodedTable, Codes, Floats
from magnet.tables.experts import EXPERTS, Expert, FitContext, Frequency, Novelty
from magnet.tables.experts.groups import Groups
from magnet.tables.experts.links import Links
from magnet.tables.experts.novelty import tokens_of
from magnet.tables.experts.point import Point
from magnet.tables.findings import Finding
from magnet.tables.options import TableOptions
from magnet.tables.roles.patterns import number

RULE_VOICES = 4  # a rule of the user counts as this many contexts
MIN_PROBABILITY = 0.05  # findings below this probability are dropped at once
PRUNED = 0.02  # a correction that cannot reach this share of the observed value's mass is not weighed
EM_STEPS = 30
MAX_DOUBTS = 5_000  # contradictions of a template that are examined one by one
ALIKE = 4.0  # values whose counts differ by a larger factor may be a value and its misspelling
VISIBLE = 1.0  # share of misspellings that change the shape of a text or leave an unknown word
GUESSED = 0.79  # highest confidence of a correction by shape alone: below what is learned from or written
STRICT = 1e-3  # weight left to the other experts beside one that holds in truth


@dataclass(eq=False)
class Rates:
    """Share of cells hit, by rate name, for one column."""

    typo: float
    disagreement: float
    missing: float
    affix: float

    def of(self, name: str) -> float:
        return float(getattr(self, name))


@dataclass(eq=False)
class ColumnJudgement:
    """Findings of one column, mass of errors by rate name, rows whose errors could be seen, and what may be learned.

    A misspelling can be seen with certainty where the right value occurs in other rows, so rates are estimated from
    such corrections and rows only.
    """

    findings: dict[int, Finding]
    mass: dict[str, float]
    identifiable: float
    repairs: dict[int, int]
    lessons: list[tuple[str, str]]


@dataclass(eq=False)
class ColumnModel:
    r"""Prior and channels of one column.

    For row i with observed text o, ``own`` is :math:`(1 - \epsilon) P(o \mid i)` and a candidate v of channel c has
    :math:`\epsilon_c \, P_c(o \mid v) \, P(v \mid i)`; the posterior is their share of the sum. The prior is

    .. math:: P(v \mid i) = \lambda_0 F_{-i}(v) + \sum_k \lambda_k P_k(v \mid i) + \lambda_B B(v)

    with weights by EM on the leave-one-out likelihood of the repaired column.
    """

    table: CodedTable
    position: int
    channels: list[Channel]
    rates: Rates
    options: TableOptions
    memory: dict[str, object]
    fresh: bool
    shared: dict[str, object]

    def __post_init__(self) -> None:
        column = self.column = self.table.columns[self.position]
        self.counts, self.read_counts = column.counts(), column.read_counts()
        self.frequency = Frequency(column)
        self.novelty = self._novelty()
        context = FitContext(self.table, self.position, self.options, self.memory, self.fresh, self.shared)
        self.experts: list[Expert] = [e for fit in EXPERTS.values() for e in fit(context)]
        self._base: Floats = np.zeros(0)
        self._exceptions: Floats | None = None
        parts = [np.maximum(self.frequency.own(), 0), *(e.own() for e in self.experts), self.base(column.current)]
        self.weights = mixture_weights(np.column_stack(parts) + 1e-300)
        strict = [k for k, e in enumerate(self.experts) if e.strict]
        if strict:
            self.weights *= STRICT
            self.weights[[k + 1 for k in strict]] += (1 - STRICT) / len(strict)

    def _novelty(self) -> Novelty:
        """The base measure, kept from the last pass if no value of the column was repaired since."""
        held = np.flatnonzero(self.counts)
        state = hash((held.tobytes(), self.counts[held].tobytes()))
        if self.memory.get("novelty_state") == state:
            return self.memory["novelty"]  # type: ignore[return-value]
        values = self.column.values
        self.novelty = Novelty({values[k]: int(self.counts[k]) for k in held.tolist()}, self.options.letters)
        self._forget_repeated_typos()
        self.memory["novelty"], self.memory["novelty_state"] = self.novelty, state
        return self.novelty

    def base(self, codes: Codes) -> Floats:
        """Base measure of values by code."""
        values = self.column.values
        if len(self._base) < len(values):
            grown = np.full(len(values), np.nan)
            grown[: len(self._base)] = self._base
            self._base = grown
        for k in np.unique(codes):
            if np.isnan(self._base[k]):
                self._base[k] = self.novelty(values[k])
        return self._base[codes]

    def prior(self, rows: Codes, codes: Codes) -> Floats:
        """``P(v | i)`` for pairs of rows and values."""
        total = self.weights[0] * self.frequency.probability(rows, codes) + self.weights[-1] * self.base(codes)
        for weight, expert in zip(self.weights[1:-1], self.experts, strict=True):
            total += weight * expert.probability(rows, codes)
        return total

    def _forget_repeated_typos(self) -> None:
        """Words that are repeated misspellings of a far more frequent word make no value likely."""
        words: Counter[str] = Counter()
        n = len(self.column.current)
        for value, k in self.column.index.items():
            if k < len(self.counts) and self.counts[k]:
                for t in set(tokens_of(value)[0]):
                    if len(t) >= 4 and t.isalpha():
                        words[t] += int(self.counts[k])
        common = [t for t, c in words.items() if c >= 10]
        rare = [t for t, c in words.items() if c <= 0.1 * n]
        channel = self.channels[0]
        for a, b in near_pairs(rare, common, 4_000_000):
            word, known = rare[a], common[b]
            count = words[word]
            if count * 5 >= words[known]:
                continue
            chance = channel.likelihood(word, known)
            as_typo = count * math.log(self.rates.typo * chance * words[known] / n + 1e-300)
            as_word = -len(word) * math.log(self.options.letters) + math.lgamma(count) - (count - 1) * math.log(n)
            if as_typo > as_word + 2:
                self.novelty.forget(word)

    # ------------------------------------------------------------------ candidates

    def _expand(self, observed: Codes) -> tuple[Codes, Codes]:
        """Rows that read each text: positions in ``observed`` repeated, and rows."""
        order, starts = self.column.rows_by_value()
        size = starts[observed + 1] - starts[observed]
        which = np.repeat(np.arange(len(observed)), size)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(size) - size, size)
        return which, order[starts[observed][which] + offset]

    def _from_channels(self, own: Floats) -> list[_Pairs]:
        context = ChannelContext(self.column, self.counts, self.read_counts, self.novelty, self.options)
        out: list[_Pairs] = []
        self.near: dict[int, list[tuple[int, float]]] = {}
        self.misspelled: dict[int, list[tuple[int, float]]] = {}
        for at, channel in enumerate(self.channels):
            found = channel.propose(context)
            if not len(found.observed):
                continue
            strength = self.rates.of(channel.rate) * found.likelihood
            for at_pair in np.flatnonzero(np.isnan(found.measure)).tolist():
                pair = (int(found.candidate[at_pair]), float(strength[at_pair]))
                self.near.setdefault(int(found.observed[at_pair]), []).append(pair)
                if channel.name == "typo":
                    self.misspelled.setdefault(int(found.observed[at_pair]), []).append(pair)
            which, rows = self._expand(found.observed)
            bound = strength * np.where(np.isnan(found.measure), 1.0, found.measure * self.weights[-1])
            keep = bound[which] > PRUNED * own[rows]
            which, rows = which[keep], rows[keep]
            out.append(_Pairs(rows, found.candidate[which], strength[which], found.measure[which], at))
        return out

    def _add_siblings(self) -> None:
        r"""Where established values are often one edit apart, so are new ones.

        With :math:`\rho_c` the share of the V established values that have another one at an operation of class c (such
        as one digit replaced), a text x that is such an operation away from v gets :math:`\rho_c \, P(x \mid v) / V`
        more base measure: dense codes and numbered names are no misspellings. A value beside a far more frequent one is
        not established.
        """
        counts, near = self.counts, self.misspelled
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
                    self._base[x] += len(siblings) / (total + 1) * strength / self.rates.typo / total

    def _from_experts(self, own: Floats) -> list[_Pairs]:
        out: list[_Pairs] = []
        column, rates = self.column, self.rates
        bound = 0.3 * rates.typo + self._exception_rate(own) + rates.missing
        blank = column.blank
        for expert in self.experts:
            for codes in expert.proposals().T:
                rows = np.flatnonzero((codes >= 0) & (codes != column.read) & (PRUNED * own < bound) & (codes != blank))
                if not len(rows):
                    continue
                values, read = codes[rows], column.read[rows]
                empty = read == blank
                nan = np.full(len(rows), np.nan)
                out.append(_Pairs(rows[empty], values[empty], nan[empty] * 0 + rates.missing, nan[empty], _MISSING))
                rows, values, read = rows[~empty], values[~empty], read[~empty]
                nan = nan[~empty]
                wild = self._exception_rate(own)[rows] * (self.frequency.probability(rows, read) + self.base(read))
                out.append(_Pairs(rows, values, wild, nan, _DISAGREEMENT))
                out.append(_Pairs(rows, values, rates.typo * self._typo_pairs(read, values), nan, 0))
        return out

    def _exception_rate(self, own: Floats) -> Floats:
        r"""Rate of the disagreement channel per row.

        Where contexts nearly determine the column, isolated exceptions cannot be told from chance by likelihood alone;
        they are wrong with stated odds, which grow with every context that speaks against them. Exceptions that gather
        in some groups are genuine.
        """
        if self._exceptions is not None:
            return self._exceptions
        rate = np.full(len(own), self.rates.disagreement)
        groups = [e for e in self.experts if isinstance(e, Groups | Links)]
        self._exceptions = rate
        if not groups or self.weights[0] + self.weights[-1] > self.options.exception_share:
            return rate
        read = self.column.read
        wild = self.frequency.probability(np.arange(len(own)), read) + self.base(read)
        against, most, said, genuine = np.zeros(len(own)), np.zeros(len(own)), np.full(len(own), -1), False
        for group in groups:
            voice, votes, spread = group.agreement()
            if group is groups[0]:
                genuine = spread > self.options.dispersion and not group.strict
            speaks = (voice >= 0) & (voice != read) & ((said < 0) | (said == voice))
            said = np.where(speaks, voice, said)
            against += RULE_VOICES * speaks if group.strict else speaks
            most = np.maximum(most, np.where(speaks, np.inf if group.strict else votes, 0))
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
                chance[k] = self.channels[0].likelihood(observed, value)
        return chance[back]

    def _p_real(self) -> dict[int, float]:
        """Is a repeated text a value of its own, or a repeated typo of a more frequent one (a test per type)?"""
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
            extra[rows] += weight * self.rates.typo * slip * np.minimum((mine + 1e-300) / (theirs + 1e-300), 1e6)
        return extra

    # ------------------------------------------------------------------ posterior

    def judge(self) -> ColumnJudgement:
        """Posterior of every cell of the column."""
        column, n = self.column, len(self.column.read)
        own = self.prior(np.arange(n), column.read)
        proposed = self._from_channels(own)
        self._add_siblings()
        own = self.prior(np.arange(n), column.read)
        pairs = _concatenate(proposed + self._from_experts(own))
        real = self._p_real()
        if real:
            share = np.ones(len(column.values))
            share[list(real)] = list(real.values())
            share = share[column.read]
            own = own * share + (1 - share) * self.weights[-1] * self.base(column.read)
        own += self._other_cell_wrong()
        rates = self.rates
        blank = column.read == column.blank
        own *= np.where(blank, 1 - rates.missing, 1 - rates.typo - rates.disagreement - rates.affix)
        mass = dict.fromkeys(("typo", "disagreement", "missing", "affix"), 0.0)
        if not len(pairs.rows):
            return ColumnJudgement({}, mass, self._identifiable(), {}, [])
        known = np.where(np.isnan(pairs.measure), 0.0, pairs.measure * self.weights[-1])
        asked = np.flatnonzero(np.isnan(pairs.measure))
        known[asked] = self.prior(pairs.rows[asked], pairs.codes[asked])
        weight = pairs.strength * known
        key = pairs.rows * (len(column.values) + 1) + pairs.codes + 1
        both = key * 64 + pairs.channel
        first = np.unique(both, return_index=True)[1]
        rows, codes, weight, key = pairs.rows[first], pairs.codes[first], weight[first], key[first]
        channel, measure = np.asarray(pairs.channel)[first], pairs.measure[first]
        total = own + np.bincount(rows, weights=weight, minlength=n)
        wrong = 1 - own / np.maximum(total, 1e-300)
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
        summed = np.add.reduceat(weight, starts)
        leads = np.r_[starts[1:], len(key)]
        share = weight / np.maximum(total[rows], 1e-300)
        for name in mass:
            hit = np.isin(channel, _codes_of(self.channels, name)) & np.isnan(measure)
            mass[name] = float(share[hit].sum())
        guessed = float(share[~np.isnan(measure)].sum())
        evidence = min(1.0, (VISIBLE * rates.typo + rates.affix) * n / guessed) if guessed else 1.0
        best: dict[int, tuple[float, int]] = {}
        for s, (value_mass, row) in enumerate(zip(summed, rows[starts], strict=True)):
            if wrong[row] > MIN_PROBABILITY and value_mass > best.get(int(row), (0.0, 0))[0]:
                best[int(row)] = (float(value_mass), s)
        findings: dict[int, Finding] = {}
        repairs: dict[int, int] = {}
        lessons: list[tuple[str, str]] = []
        for row, (value_mass, s) in best.items():
            span = slice(starts[s], leads[s])
            code, by = int(codes[starts[s]]), int(channel[span][weight[span].argmax()])
            confidence = 0.0 if code == UNKNOWN else float(value_mass / total[row])
            if by >= 0 and self.channels[by].name == "respell" and self._guessed(row, code):
                confidence = min(confidence, GUESSED)
            probability = float(wrong[row])
            if not np.isnan(measure[starts[s]]):
                probability, confidence = probability * evidence, confidence * evidence
            kind = {_MISSING: "missing", _DISAGREEMENT: "disagreement"}.get(by) or self.channels[by].kind
            suggested = None if code == UNKNOWN else column.values[code]
            reason = self._reason(row, code, kind) if probability >= self.options.list_from else ""
            findings[row] = Finding(row, suggested, probability, confidence, kind, reason)
            if confidence >= self.options.learn_from and not self._trusted(row):
                repairs[row] = code
                if by >= 0:
                    lessons.append((column.values[column.read[row]], column.values[code]))
        return ColumnJudgement(findings, mass, self._identifiable(), repairs, lessons)

    def _trusted(self, row: int) -> bool:
        return self.table.trusted is not None and bool(self.table.trusted[row, self.position])

    def fillings(self) -> dict[int, tuple[int, float]]:
        """For every blank the likeliest value and its probability among filled cells."""
        column = self.column
        rows = np.flatnonzero(column.current == column.blank)
        counts = self.counts.copy()
        if not len(rows) or column.blank < 0:
            return {}
        counts[column.blank] = 0
        if not counts.sum():
            return {}
        usual = int(counts.argmax())
        if column.role.name == "quantity":
            order = sorted(
                (x, k) for k in np.flatnonzero(counts).tolist() if (x := number(column.values[k])) is not None
            )
            at = np.searchsorted(np.cumsum([counts[k] for _, k in order]), 0.5 * counts.sum()) if order else 0
            usual = order[min(int(at), len(order) - 1)][1] if order else usual
        best, score = np.full(len(rows), usual), np.zeros(len(rows))
        offers = [np.full(len(rows), usual), *(c[rows] for e in self.experts for c in e.proposals().T)]
        for codes in offers:
            chance = np.where((codes >= 0) & (codes != column.blank), self.prior(rows, np.maximum(codes, 0)), 0.0)
            best, score = np.where(chance > score, codes, best), np.maximum(chance, score)
        filled = 1 - self.prior(rows, np.full(len(rows), column.blank))
        share = np.minimum(score / np.maximum(filled, 1e-9), 1.0)
        return {int(r): (int(c), float(p)) for r, c, p in zip(rows, best, share, strict=True)}

    def _identifiable(self) -> float:
        """Rows whose value other rows hold, in columns that can be misspelled."""
        if self.column.role.name in ("quantity", "empty"):
            return 0.0
        return float((self.counts[self.column.current] >= 2).sum())

    def _guessed(self, row: int, code: int) -> bool:
        """Whether a correction rests on the shape of the text alone, in a column of free words."""
        if self.column.role.name not in ("text", "category", "unit"):
            return False
        words = tokens_of(self.column.values[code])[0]
        return all(w.isdigit() or not self.novelty.unknown(w, "") for w in tokens_of(self._read_text(row))[0]) or any(
            w.isalpha() and self.novelty.unknown(w, self.column.values[code]) for w in words
        )

    def _read_text(self, row: int) -> str:
        return self.column.values[self.column.read[row]]

    def _reason(self, row: int, code: int, kind: str) -> str:
        observed = self.column.values[self.column.read[row]]
        if code == UNKNOWN:
            return f"{observed!r} is written unlike the other values of the column: {kind}"
        rows, codes = np.array([row]), np.array([code])
        said = self.weights[0] * self.frequency.probability(rows, codes)[0]
        speaker: Expert | Frequency = self.frequency
        for weight, expert in zip(self.weights[1:-1], self.experts, strict=True):
            if weight * expert.probability(rows, codes)[0] > said:
                said, speaker = weight * expert.probability(rows, codes)[0], expert
        shown = "is blank" if not observed else f"says {observed!r}"
        return f"{speaker.evidence(row, code)}, this {shown}: {kind}"


_MISSING, _DISAGREEMENT = -2, -3


def _edit_class(observed: str, value: str) -> str:
    """The class of the difference between two texts: the operation, and whether only digits are concerned."""
    found = Typo.operation(observed, value)
    digits = DIGIT.sub("0", observed) == DIGIT.sub("0", value) or (found is not None and found[1].isdigit())
    return f"{found[0] if found else 'two'} {digits}"


def _codes_of(channels: list[Channel], rate: str) -> list[int]:
    extra = {"missing": [_MISSING], "disagreement": [_DISAGREEMENT]}.get(rate, [])
    return [k for k, c in enumerate(channels) if c.rate == rate] + extra


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Candidates of rows: row, value, rate times likelihood, base measure or nan, and the channel."""

    rows: Codes
    codes: Codes
    strength: Floats
    measure: Floats
    channel: Codes | int


def _concatenate(parts: list[_Pairs]) -> _Pairs:
    parts = [p for p in parts if len(p.rows)]
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return _Pairs(none, none, none.astype(float), none.astype(float), none)
    channel = np.concatenate([np.full(len(p.rows), p.channel, dtype=np.int64) for p in parts])
    return _Pairs(
        np.concatenate([p.rows for p in parts]),
        np.concatenate([p.codes for p in parts]),
        np.concatenate([p.strength for p in parts]),
        np.concatenate([p.measure for p in parts]),
        channel,
    )


def mixture_weights(likelihood: Floats) -> Floats:
    r"""Weights of a mixture by EM: :math:`\lambda_k \propto \tfrac12 + \sum_i r_{ik}`.

    Args:
        likelihood: leave-one-out likelihood of each row under each expert, ``[rows, experts]``.
    """
    n, parts = likelihood.shape
    weights = np.full(parts, 1 / parts)
    for _ in range(EM_STEPS):
        share = likelihood * weights
        share /= share.sum(1, keepdims=True)
        weights = (share.sum(0) + 0.5) / (n + 0.5 * parts)
    return weights
