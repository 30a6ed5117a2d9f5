"""User knowledge about a table: dependencies, patterns, ranges, and decisions on cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from magnet.tables.coded import CodedTable
from magnet.tables.errors import listed, quoted
from magnet.tables.findings import Finding
from magnet.tables.roles.patterns import blank, number

CERTAIN = 0.99  # a cell that breaks a rule of the user


@dataclass(frozen=True)
class Rule:
    """One rule about a column.

    Args:
        column: the constrained column.
        determined_by: columns whose values determine this one (default: none).
        pattern: regular expression that the whole text must match (default: ``None``).
        low, high: bounds of a number (default: ``None``).
    """

    column: str
    determined_by: tuple[str, ...] = ()
    pattern: str | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise ValueError(f"rule '{self}': the range {self.low:g} to {self.high:g} is empty")
        if self.column in self.determined_by:
            raise ValueError(f"rule '{self}': a column cannot determine itself")

    def __str__(self) -> str:
        if self.determined_by:
            return f"{', '.join(self.determined_by)} -> {self.column}"
        if self.pattern is not None:
            return f"{self.column} matches {self.pattern}"
        low, high = ("" if b is None else f"{b:g}" for b in (self.low, self.high))
        return f"{self.column} in {low}..{high}"


@dataclass(frozen=True)
class Decision:
    """What a person decided about a listed cell: ``suggested`` was accepted, or ``observed`` is right."""

    column: str
    observed: str
    suggested: str | None
    accepted: bool


def parse_rule(text: str) -> Rule:
    """Read a rule: ``zip -> city``, ``zip, state -> city``, ``zip matches [0-9]{5}`` or ``age in 0..120``.

    Example:
        >>> parse_rule("zip, state -> city")
        Rule(column='city', determined_by=('zip', 'state'), pattern=None, low=None, high=None)
        >>> str(parse_rule("age in 0..120"))
        'age in 0..120'
    """
    if "->" in text:
        left, _, right = text.rpartition("->")
        names = tuple(name.strip() for name in left.split(",") if name.strip())
        if names and right.strip():
            return Rule(right.strip(), names)
    matched = re.fullmatch(r"\s*(?P<column>.+?)\s+matches\s+(?P<pattern>.+)", text)
    if matched:
        try:
            re.compile(matched["pattern"])
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"rule {quoted(text)} contains no valid regular expression ({error})") from None
        return Rule(matched["column"], pattern=matched["pattern"])
    ranged = re.fullmatch(r"\s*(?P<column>.+?)\s+in\s+(?P<low>[-+.\de]*?)\.\.(?P<high>[-+.\de]*)\s*", text)
    if ranged and (ranged["low"] or ranged["high"]):
        low, high = (number(ranged[k]) if ranged[k] else None for k in ("low", "high"))
        if (low is not None or not ranged["low"]) and (high is not None or not ranged["high"]):
            return Rule(ranged["column"], low=low, high=high)
    raise ValueError(f"rule {text!r} is invalid; write 'zip -> city', 'zip matches [0-9]{{5}}' or 'age in 0..120'")


def read_rules(rules: Sequence[Rule | str], names: Sequence[str]) -> list[Rule]:
    """Rules of texts and rules, checked against the columns of a table."""
    out = [parse_rule(rule) if isinstance(rule, str) else rule for rule in rules]
    for rule in out:
        for name in (rule.column, *rule.determined_by):
            if name not in names:
                raise ValueError(f"rule '{rule}': no column {name!r}; the table has {listed(names, name)}")
    return out


def broken(table: CodedTable, rules: Sequence[Rule]) -> Iterator[tuple[int, Finding]]:
    """Cells that break a pattern or a range; the right text is not known."""
    for rule in rules:
        if rule.determined_by:
            continue
        j = table.position(rule.column)
        column = table.columns[j]
        compiled = re.compile(rule.pattern) if rule.pattern is not None else None
        for k in np.unique(column.observed).tolist():
            text = column.values[k]
            if blank(text):
                continue
            if compiled is not None:
                kept = compiled.fullmatch(column.as_in_file(text)) is not None
            else:
                value = number(text)
                kept = value is not None and (rule.low is None or value >= rule.low)
                kept = kept and (rule.high is None or (value is not None and value <= rule.high))
            if not kept:
                for row in np.flatnonzero(column.observed == k).tolist():
                    yield j, Finding(row, None, CERTAIN, 0.0, "rule", f"{text!r} breaks the rule '{rule}'")
