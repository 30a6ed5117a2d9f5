"""Hostile cells and columns of text, drawn from a seed."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import numpy as np

JUNK = (
    "", " ", "NA", "nan", "inf", "-inf", "1e400", "-0", "0x10", "1_000", "٣", "½", "=1+1", "@SUM(A1)", "+49 30", "a;=1",
    "<script>alert(1)</script>", "</script>", "'; DROP TABLE nodes;--", '"', "a\"b", "a,b", "a;b", "a\tb", "l\nb",
    "NULL", "None", "True", "#REF!", "\u202e\u0645", "é", "日本", "x" * 500, "1,523", "1.234,5", "2024-02-30", "0007",
    "9" * 40, "1e-320", "{{policy}}", "%s%n", "../../etc/passwd", "\ufeff", "1 000",
)  # fmt: skip
NAMES = ("id", "age", "pay", "kind", "x", "=1+1", "a,b", "a;b", 'q"q', "名", "</script>", " ", "line\nbreak", "n" * 300)


def numbers(rng: np.random.Generator, rows: int) -> list[str]:
    kind = rng.choice(["small", "large", "huge", "price", "comma", "thousands", "science", "tiny", "pointed", "edge"])
    values = np.abs(rng.normal(50, 20, rows)) + 1
    make: dict[str, Callable[[float], str]] = {
        "small": lambda v: str(int(v)),
        "large": lambda v: str(int(v * 1e9)),
        "huge": lambda v: str(int(v) * 10**18 + 7),
        "price": lambda v: f"{v:.2f}",
        "comma": lambda v: f"{v:.2f}".replace(".", ","),
        "thousands": lambda v: f"{int(v * 100):,}",
        "science": lambda v: f"{v * 1e-9:.3e}",
        "tiny": lambda v: f"{v * 1e-5:.8f}",
        "pointed": lambda v: f"{int(v)}.0",
        "edge": lambda v: repr(float(v) * 3e306),
    }
    return [make[str(kind)](float(v)) for v in values]


def words(rng: np.random.Generator, rows: int) -> list[str]:
    palette = [str(word) for word in rng.choice(["red", "green", "blue", "yes", "no", "Ä", "x y"], 3, replace=False)]
    return [palette[int(k)] for k in rng.integers(len(palette), size=rows)]


def dates(rng: np.random.Generator, rows: int) -> list[str]:
    return [str(datetime.date(2020, 1, 1) + datetime.timedelta(int(k))) for k in rng.integers(900, size=rows)]


def column(rng: np.random.Generator, rows: int) -> list[str]:
    makers = (numbers, numbers, numbers, words, words, dates)
    cells = makers[int(rng.integers(len(makers)))](rng, rows)
    if rng.random() < 0.15:
        cells = [str(rng.choice(JUNK)) for _ in range(rows)]
    for row in range(rows):
        if rng.random() < 0.06:
            cells[row] = str(rng.choice(JUNK))
    if rng.random() < 0.1:
        cells = [cells[0] if cells else ""] * rows
    return cells


def _names(rng: np.random.Generator, width: int) -> list[str]:
    if rng.random() < 0.85:
        return ["id", *(f"c{k}" for k in range(width - 1))]
    return [str(rng.choice(NAMES)) for _ in range(width)]


def table(rng: np.random.Generator, rows: int) -> tuple[list[str], list[list[str]]]:
    width = int(rng.integers(2, 8))
    ids = [f"n{k}" for k in range(rows)]
    if rows and rng.random() < 0.2:
        ids[int(rng.integers(rows))] = str(rng.choice(JUNK))
    return _names(rng, width), [ids, *(column(rng, rows) for _ in range(width - 1))]
