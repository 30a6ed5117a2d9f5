"""Several sources report the same fact: truth discovery."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from magnet.arrays import Floats
from magnet.tables.coded import CodedColumn, CodedTable, Codes, distinct, joint, ordered_pairs
from magnet.tables.findings import Finding
from magnet.tables.options import FEW_NUMBERS, FEW_ROWS, LIST_FROM, UNSURE

MIN_ENTITIES = 5  # fewer say little about the reliability of a source (not swept)
MIN_REPORTS = 3.0  # per fact, on average
MIN_KAPPA = 0.1  # agreement on one entity beyond chance; half of the reports wrong leave about .12 (made-up *flights*)
FEW_KAPPA = 0.6  # the same for a fact of few levels (reports of *trials*: from .69; grades of one pupil: up to .52)
MAX_AGREEMENT = 0.85  # deviations from reports that agree more are left to the groups
DISPUTED = 0.97  # agreement on a fact of many levels up to which sources disagree (made-up *trials*: up to .96)
TEMPER = 0.7  # factor of the evidence of a source, below 1 since sources copy from each other
KEY_ROLES = ("category", "text", "identifier", "code", "phone")
SOURCE_ROLES = ("category", "text")
FACT_ROLES = ("category", "text", "identifier", "code", "phone", "date", "time")
UNIQUE = 0.9  # share of (entity, source) pairs that occur once
COINCIDENCE = 0.3  # deviations of one source that are equal for different entities follow a rule of their own
# Sources that deviate from the leading value of most of their entities, and of which two agree on nearly all, report
# another fact: prices of another zone, texts of another language, teachers of another class. So may a single one that
# deviates on nearly all. (Clean panels of groups, made up: up to half of all cells were rewritten without this.)
MOST, NEARLY_ALL = 0.6, 0.9
MAX_CONTRARY = 2000  # sources that are compared with each other. Set by memory
DENSITY = 0.2  # share of the (entity, source) grid that is reported; less is chance
PRIOR_RELIABILITY, PRIOR_CLAIMS = 0.8, 4.0  # share right before a source is known (Dong et al. 2009), as so many claims
MIN_RELIABILITY, MAX_RELIABILITY = 0.05, 0.99  # a source is neither always wrong nor always right (not swept)
MIN_SOURCES = 3  # two that disagree do not show which is right (not swept)
MIN_DEVIATIONS = 4  # that show whether those of one source coincide (not swept)
# chance that two wrong reports coincide: before any are seen, as so many pairs of reports, and its bounds (not swept)
PRIOR_COINCIDENCE, PRIOR_PAIRS, MIN_COINCIDENCE, MAX_COINCIDENCE = 0.1, 4, 0.02, 0.5
STEPS = 15  # of the iteration over values and reliabilities (not swept)


def rewrite(table: CodedTable) -> Iterator[tuple[int, Finding]]:
    r"""Posterior of every reported value (Dawid and Skene 1979; Dong et al. 2009, accuracy without copying).

    .. math::
        \log T_e(v) = \tau \sum_{i \in e, \, o_i = v} \log \frac{r_{s_i}}{(1 - r_{s_i}) \, q} + \text{const}, \qquad
        r_s = \frac{\sum_{i \in s} T_{e_i}(o_i) + 0.8 \cdot 4}{n_s + 4}

    with :math:`r_s` the reliability of source s for this column, q the chance that two wrong reports coincide
    (estimated), and :math:`\tau < 1` since sources copy from each other. A value without reports has score 0. A report
    is wrong with :math:`1 - T_e(o_i)`; a blank should hold a value if the fact is known to others. Where reports agree
    nearly always, the exceptions may be genuine and are left to the groups. A column of few levels is a fact only if
    the reports also dispute one of many: grades of a pupil in several subjects, or states of a patient at several
    visits, agree roughly too, but there is no dispute about the name.
    """
    best: dict[int, tuple[float, float, tuple[int, int]]] = {}
    for design in find_designs(table):
        found: dict[int, tuple[float, float]] = {}
        few_levels: set[int] = set()
        for j, column in table.judged(FACT_ROLES):
            claims = Claims(table, column, *design) if j not in design else None
            agreement = claims.agreement() if claims else None
            if claims and agreement is not None:
                found[j] = agreement * len(claims.filled), agreement  # reports that agree: an entity covers many
                few_levels |= {j} if claims.levels <= FEW_NUMBERS else set()
        disputed = any(agreement <= DISPUTED for j, (_, agreement) in found.items() if j not in few_levels)
        for j, (reports, agreement) in found.items():
            if (disputed or j not in few_levels) and reports > best.get(j, (0.0,))[0]:
                best[j] = reports, agreement, design
    for j, (_, agreement, design) in sorted(best.items()):
        for finding in Claims(table, table.columns[j], *design).judge():
            if agreement <= MAX_AGREEMENT or finding.kind == "missing":
                yield j, finding


def find_designs(table: CodedTable) -> list[tuple[int, int]]:
    """Pairs of columns of which one names the entity and the other the source of a report: few entities are reported
    by several sources, hardly ever twice by the same one."""
    n = table.num_rows
    sizes = [len(np.unique(c.read)) for c in table.columns]
    out = []
    for a, entity in enumerate(table.columns):
        if entity.role.name not in KEY_ROLES or not MIN_ENTITIES <= sizes[a] <= n / MIN_REPORTS:
            continue
        for s, source in enumerate(table.columns):
            if s == a or source.role.name not in SOURCE_ROLES or not MIN_SOURCES <= sizes[s] <= n / MIN_REPORTS:
                continue
            pairs = int(joint(entity.read, source.read).max()) + 1
            if pairs >= UNIQUE * n and pairs >= DENSITY * sizes[a] * sizes[s]:
                out.append((a, s))
    return out


class Claims:
    """The reports of one column: source, entity and value."""

    def __init__(self, table: CodedTable, column: CodedColumn, entity: int, source: int) -> None:
        self.column, self.entity_column, self.source_column = column, table.columns[entity], table.columns[source]
        empty = column.blanks(column.read)
        self.entity_all, self.entities = distinct(self.entity_column.read)
        self.source_all, self.sources = distinct(self.source_column.read)
        once = self._reported_once()
        self.filled = np.flatnonzero(~empty & once)
        self.blanks = np.flatnonzero(empty & once)
        self.entity, self.source = self.entity_all[self.filled], self.source_all[self.filled]
        width = len(column.values)
        self.keys, self.pair, self.pair_reports = np.unique(
            self.entity * width + column.read[self.filled], return_inverse=True, return_counts=True
        )
        self.pair_entity, self.pair_value = self.keys // width, self.keys % width

    @property
    def levels(self) -> int:
        """Different values of nearly all reports: what stands in a wrong column is no level."""
        rows = np.sort(np.bincount(self.pair_value, weights=self.pair_reports))[::-1]
        return int(np.searchsorted(np.cumsum(rows), NEARLY_ALL * rows.sum())) + 1

    def _reported_once(self) -> NDArray[np.bool_]:
        """Rows of entities on which no source reports twice ``[rows]``: two reports of one source mean that the value
        names two things (a gate that two flights use), and their reports do not contradict each other."""
        grid = self.entity_all * self.sources + self.source_all
        _, place, count = np.unique(grid, return_inverse=True, return_counts=True)
        twice = np.zeros(self.entities, dtype=bool)
        twice[self.entity_all[count[place] > 1]] = True
        return ~twice[self.entity_all]

    def _leading(self, score: Floats | Codes) -> Codes:
        """The pair with the highest score of each entity, -1 for entities without reports."""
        order = np.lexsort((score, self.pair_entity))
        out = np.full(self.entities, -1, dtype=np.int64)
        out[self.pair_entity[order]] = order
        return out

    def agreement(self) -> float | None:
        """Share of pairs of reports on one entity that agree, or None if the column does not describe entities.

        The agreement must exceed that of reports on different entities (Cohen's kappa), and deviations must not follow
        a rule of their source, nor of a group of sources.
        """
        if len(self.filled) < FEW_ROWS:
            return None
        reports = np.bincount(self.entity, minlength=self.entities)
        if reports[reports > 0].mean() < MIN_REPORTS:
            return None
        within = ordered_pairs(self.pair_reports) / max(ordered_pairs(reports), 1.0)
        values = np.bincount(self.pair_value, weights=self.pair_reports)
        chance = ordered_pairs(values) / ordered_pairs(values.sum())
        leading = self._leading(self.pair_reports)
        kappa = MIN_KAPPA if self.levels > FEW_NUMBERS else FEW_KAPPA
        if within < chance + kappa * (1 - chance):
            return None
        deviates = self.pair != leading[self.entity]
        if deviates.sum() >= MIN_DEVIATIONS and self._coincidence(deviates) > COINCIDENCE:
            return None
        return None if self._is_other_fact(deviates) else float(within)

    def _is_other_fact(self, deviates: NDArray[np.bool_]) -> bool:
        """Whether some sources report another fact: they deviate on most entities, and two of them agree with each
        other on nearly all, while the others hardly ever disagree. (Where they do, such sources copy from each other.)
        """
        reports = np.bincount(self.source, minlength=self.sources)
        deviating = np.bincount(self.source[deviates], minlength=self.sources)
        is_contrary = (deviating >= MIN_DEVIATIONS) & (deviating >= MOST * reports)
        contrary = np.flatnonzero(is_contrary)[:MAX_CONTRARY]
        if len(contrary) < 2 or not self._agree_without(is_contrary):
            return False
        place = np.full(self.sources, -1, dtype=np.int64)
        place[contrary] = np.arange(len(contrary))
        of_contrary = place[self.source] >= 0
        row, ones = place[self.source[of_contrary]], np.ones(int(of_contrary.sum()))
        said = sp.csr_matrix((ones, (row, self.pair[of_contrary])), shape=(len(contrary), len(self.keys)))
        about = sp.csr_matrix((ones, (row, self.entity[of_contrary])), shape=(len(contrary), self.entities))
        same, shared = (said @ said.T).toarray(), (about @ about.T).toarray()
        np.fill_diagonal(shared, 0.0)
        return bool(((shared >= MIN_DEVIATIONS) & (same >= NEARLY_ALL * shared)).any())

    def _other_source(self, leading: Codes) -> NDArray[np.bool_]:
        """Sources ``[sources]`` that may report another fact: they deviate on nearly all entities, while the others
        hardly ever disagree. (Where the others disagree too, such a source is a bad one.)"""
        deviating = np.bincount(self.source[self.pair != leading[self.entity]], minlength=self.sources)
        contrary = deviating >= NEARLY_ALL * np.bincount(self.source, minlength=self.sources)
        return contrary & self._agree_without(contrary)

    def _agree_without(self, sources: NDArray[np.bool_]) -> bool:
        """Whether the other sources hardly ever disagree with each other, but for errors."""
        others = ~sources[self.source]
        reports = np.bincount(self.entity[others], minlength=self.entities)
        same = np.bincount(self.pair[others], minlength=len(self.keys))
        return ordered_pairs(same) >= NEARLY_ALL * ordered_pairs(reports)

    def _coincidence(self, deviates: Codes) -> float:
        """Chance that two deviations of one source, on different entities, are the same value."""
        source, value = self.source[deviates], self.pair_value[self.pair[deviates]]
        _, coinciding = np.unique(source * (int(value.max()) + 1) + value, return_counts=True)
        return ordered_pairs(coinciding) / max(ordered_pairs(np.bincount(source)), 1.0)

    def _wrong_coincidence(self, leading: Codes) -> float:
        """Chance that two deviating reports on one entity are the same value."""
        deviates = np.ones(len(self.keys), dtype=bool)
        deviates[leading[leading >= 0]] = False
        deviating = np.where(deviates, self.pair_reports, 0).astype(np.float64)
        total = np.bincount(self.pair_entity, weights=deviating, minlength=self.entities)
        chance = (ordered_pairs(deviating) + PRIOR_PAIRS * PRIOR_COINCIDENCE) / (ordered_pairs(total) + PRIOR_PAIRS)
        return float(np.clip(chance, MIN_COINCIDENCE, MAX_COINCIDENCE))

    def truth(self) -> tuple[Floats, Floats]:
        """Posterior of every (entity, value) pair, and the reliability of every source."""
        leading = self._leading(self.pair_reports)
        q = self._wrong_coincidence(leading)
        reliability = np.full(self.sources, PRIOR_RELIABILITY)
        posterior = np.zeros(len(self.keys))
        claims = np.bincount(self.source, minlength=self.sources)
        for _ in range(STEPS):
            weight = TEMPER * np.log(reliability / ((1 - reliability) * q))
            score = np.bincount(self.pair, weights=weight[self.source], minlength=len(self.keys))
            top = np.zeros(self.entities)
            np.maximum.at(top, self.pair_entity, score)
            mass = np.exp(score - top[self.pair_entity])
            total = np.bincount(self.pair_entity, weights=mass, minlength=self.entities) + np.exp(-top)
            posterior = mass / total[self.pair_entity]
            right = np.bincount(self.source, weights=posterior[self.pair], minlength=self.sources)
            mean = right.sum() / max(claims.sum(), 1)
            reliability = (right + PRIOR_CLAIMS * mean) / (claims + PRIOR_CLAIMS)
            reliability = np.clip(reliability, MIN_RELIABILITY, MAX_RELIABILITY)
        return posterior, reliability

    def judge(self) -> Iterator[Finding]:
        """Findings for reports that are probably wrong and for blanks of known facts."""
        posterior, reliability = self.truth()
        leading = self._leading(posterior)
        reports = np.bincount(self.entity, minlength=self.entities)
        key, site = self.entity_column, self.source_column
        wrong = 1 - posterior[self.pair]
        contrary = self._other_source(leading)
        for at in np.flatnonzero(wrong >= LIST_FROM).tolist():
            row, lead = int(self.filled[at]), int(leading[self.entity[at]])
            value = self.column.values[self.pair_value[lead]]
            same = lead == self.pair[at]
            why = (
                f"{int(self.pair_reports[lead])} of {int(reports[self.entity[at]])} rows with {key.name} "
                f"{key.values[key.read[row]]!r} have {value!r}; {site.name} {site.values[site.read[row]]!r} is "
                f"correct in {reliability[self.source[at]]:.0%}: disagreement"
            )
            confidence = 0.0 if same else float(posterior[lead])
            if contrary[self.source[at]]:
                confidence = min(confidence, UNSURE)
            yield Finding(row, None if same else value, float(wrong[at]), confidence, "disagreement", why)
        for row in self.blanks.tolist():
            lead = int(leading[self.entity_all[row]])
            if lead < 0 or self.pair_reports[lead] < 2:
                continue
            value, count = self.column.values[self.pair_value[lead]], int(reports[self.entity_all[row]])
            known = float(posterior[lead])
            name = f"{key.name} {key.values[key.read[row]]!r}"
            why = f"{int(self.pair_reports[lead])} of {count} other rows with {name} have {value!r}"
            chance = 1 - 0.5**count  # a source leaves a value out that exists with one half, each independently
            yield Finding(row, value, chance, known * chance, "missing", f"{why}, but blank: missing")
