"""Quantities: predicted from everything around them, and judged by how far they are from it."""

from magnet.tables.numbers.categories import judge_category
from magnet.tables.numbers.columns import ColumnVerdict
from magnet.tables.numbers.context import Category
from magnet.tables.numbers.errors import FACTORS, FAR
from magnet.tables.numbers.judge import judge_numbers
from magnet.tables.numbers.writing import NumberStyle, read_numbers

__all__ = [
    "FACTORS",
    "FAR",
    "Category",
    "ColumnVerdict",
    "NumberStyle",
    "judge_category",
    "judge_numbers",
    "read_numbers",
]
