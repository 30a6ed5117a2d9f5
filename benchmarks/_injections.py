"""Inject errors of one kind, or of all kinds at once, into a clean table: seeded, at a chosen rate.

What a kind can strike is decided here by the texts alone, not by the roles of the cleaner, so that a column it takes
for something else counts against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import numpy as np
from _made_up import Columns, typo

Damage = Callable[[str], str]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
DAY = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})|(\d{4})-(\d{2})-(\d{2})")
RANGE = re.compile(r"(\d{1,2})-(\d{1,2})")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
REMARKS = (" (USA)", " (est.)", " *", " [1]", " approx.", " (revised)")
UNITS = (" min", " kg", " units", " %", " USD")


def _share(texts: list[str], test: Callable[[str], object]) -> float:
    filled = [t for t in texts if t.strip()]
    return sum(bool(test(t)) for t in filled) / len(filled) if filled else 0.0


def _numeric(texts: list[str]) -> bool:
    return _share(texts, NUMBER.fullmatch) > 0.9 and len(set(texts)) > 5


def _words(texts: list[str]) -> bool:
    return _share(texts, lambda t: sum(c.isalpha() for c in t) >= 3) > 0.9


def _repeats(texts: list[str]) -> bool:
    return 2 <= len(set(texts)) <= 0.3 * len(texts)


def _blank(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    return (lambda t: "") if all(t.strip() for t in texts) else None


def _remark(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    mark = str(rng.choice(UNITS if _numeric(texts) else REMARKS))
    return (lambda t: t + mark) if _numeric(texts) or (_words(texts) and _repeats(texts)) else None


def _mangle(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    if _share(texts, RANGE.fullmatch) > 0.3:
        return _as_month
    if _numeric(texts) and _share(texts, lambda t: len(t.split(".")[0].lstrip("-")) >= 5) > 0.5:
        return lambda t: f"{float(t):.2E}" if NUMBER.fullmatch(t) else t
    return None


def _as_month(text: str) -> str:
    match = RANGE.fullmatch(text)
    if not match or not 1 <= int(match[1]) <= 12:
        return text
    return f"{MONTHS[int(match[1]) - 1]}-{int(match[2]):02d}"


def _other_date(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    def change(text: str) -> str:
        match = DAY.fullmatch(text)
        if not match:
            return text
        if match[4]:
            return f"{int(match[5])}/{int(match[6])}/{match[4][2:] if short else match[4]}"
        return f"{match[3]}-{int(match[1]):02d}-{int(match[2]):02d}"

    short = rng.random() < 0.5
    return change if _share(texts, DAY.fullmatch) > 0.8 else None


def _case(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    other = (str.upper, str.lower, str.title)[int(rng.integers(3))]
    return other if _words(texts) and _repeats(texts) else None


def _space(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    side = int(rng.integers(3))
    return (lambda t: (" " + t, t + " ", t.replace(" ", "  "))[side]) if _words(texts) else None


def _misspell(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    return (lambda t: typo(rng, t)) if _words(texts) and _repeats(texts) else None


def _scale(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    factor = Decimal(str(rng.choice(["10", "100", "1000", "0.01"])))

    def change(text: str) -> str:
        if not NUMBER.fullmatch(text) or float(text) == 0:
            return text
        return format((Decimal(text) * factor).normalize(), "f")

    return change if _numeric(texts) and len(set(texts)) > 20 else None


def _commas(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    large = _share(texts, lambda t: re.fullmatch(r"[1-9]\d{3,}", t))
    return (lambda t: f"{int(t):,}" if re.fullmatch(r"[1-9]\d{3,}", t) else t) if large > 0.5 else None


def _other_row(rng: np.random.Generator, texts: list[str]) -> Damage | None:
    return (lambda t: texts[int(rng.integers(len(texts)))]) if _repeats(texts) else None


KINDS: dict[str, Callable[[np.random.Generator, list[str]], Damage | None]] = {
    "blank": _blank,
    "remark": _remark,
    "mangled": _mangle,
    "date": _other_date,
    "case": _case,
    "space": _space,
    "misspelled": _misspell,
    "scale": _scale,
    "commas": _commas,
    "other row": _other_row,
}


def inject(clean: Columns, kind: str, rate: float, seed: int, most: int = 4) -> Columns:
    """A table with errors of one kind, or of all kinds (``mixed``), in at most ``most`` columns per kind."""
    rng = np.random.default_rng([9, seed])
    dirty = {name: list(texts) for name, texts in clean.items()}
    for name in KINDS if kind == "mixed" else [kind]:
        fitting = [(c, d) for c, texts in clean.items() if (d := KINDS[name](rng, texts)) is not None]
        for at in rng.permutation(len(fitting))[:most]:
            column, damage = fitting[at]
            for i in np.flatnonzero(rng.random(len(clean[column])) < rate).tolist():
                if dirty[column][i] == clean[column][i] and clean[column][i].strip():
                    dirty[column][i] = damage(clean[column][i])
    return dirty
