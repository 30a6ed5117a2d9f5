"""The findings of a table."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from magnet.tables.findings import CellFinding, TableVerdict


def test_verdicts_do_not_share_what_they_found() -> None:
    first, second = (TableVerdict([], {}, {}) for _ in range(2))
    first.repeated_rows.append([0, 1])
    assert second.repeated_rows == []


def test_a_finding_cannot_be_changed() -> None:
    cell = CellFinding(0, "a", "x", "y", 0.9, 0.8, "typo", "one letter")
    with pytest.raises(FrozenInstanceError):
        cell.probability = 0.1  # type: ignore[misc]
