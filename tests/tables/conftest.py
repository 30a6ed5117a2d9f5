"""Coded tables with their roles, and what a rewrite or an audit finds in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from magnet.tables.channels.base import ColumnTest
from magnet.tables.coded import CodedTable
from magnet.tables.roles import infer_role

Coded = Callable[[Mapping[str, Sequence[str]]], CodedTable]
Found = Callable[[ColumnTest, Mapping[str, Sequence[str]]], set[tuple[int, int, str | None]]]


@pytest.fixture
def coded() -> Coded:
    """Makes a table with inferred roles of texts by column."""

    def make(columns: Mapping[str, Sequence[str]]) -> CodedTable:
        table = CodedTable.of(columns)
        for column in table.columns:
            column.role = infer_role(column, table)
        return table

    return make


@pytest.fixture
def found(coded: Coded) -> Found:
    """The findings of a rewrite or an audit as (row, column, suggestion)."""
    return lambda test, columns: {(f.row, j, f.suggested) for j, f in test(coded(columns))}
