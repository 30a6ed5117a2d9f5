"""The first cases of the fault campaign (``make campaign`` runs all of it)."""

from __future__ import annotations

import pytest
from campaign import try_cases, try_disks, try_kills

CASES, PARTS = 300, 6


@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_inputs_are_cleaned_or_refused_and_nothing_else(part: int) -> None:
    counts = try_cases(range(part, CASES, PARTS))
    assert not counts.broken
    ends = sum(counts.ends.values(), start=next(iter(counts.ends.values())).__class__())
    assert ends["cleaned"] >= 10  # a campaign that only refuses would prove little
    assert ends["refused"] >= 5


def test_a_full_disk_leaves_nothing_behind() -> None:
    counts = try_disks((16384,))
    assert not counts.broken
    assert counts.ends["file-size limit"]["held"] == 1
    if "full disk" not in counts.ends:
        pytest.skip(counts.skipped[0])


def test_kill_9_at_a_random_moment_loses_nothing() -> None:
    counts = try_kills(1, 0, ("clean", "recover", "save", "corrupt"))
    assert not counts.broken
    assert len(counts.ends) == 4
