"""Blanks that should hold a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from magnet.tables.channels.missing_values import audit

TOWNS = ["Ulm", "Bonn", "Kiel", "Mainz"]


def test_a_blank_takes_the_value_of_its_group(found: Any) -> None:
    zips, towns = [str(k % 4) for k in range(40)], [TOWNS[k % 4] for k in range(40)]
    assert found(audit, {"zip": zips, "town": towns}) == set()
    towns[6] = ""
    assert found(audit, {"zip": zips, "town": towns}) == {(6, 1, "Kiel")}


def test_a_group_that_is_blank_as_a_whole_is_left_alone(found: Any) -> None:
    towns = ["" if k % 4 == 2 else TOWNS[k % 4] for k in range(40)]
    assert found(audit, {"zip": [str(k % 4) for k in range(40)], "town": towns}) == set()


def test_a_column_with_many_blanks_is_optional(found: Any) -> None:
    zips, towns = [str(k % 4) for k in range(120)], [TOWNS[k % 4] for k in range(120)]
    some = np.random.default_rng(0).permutation(120)
    for count, expected in ((20, 20), (40, 0)):
        dirty = ["" if i in some[:count] else town for i, town in enumerate(towns)]
        assert len(found(audit, {"zip": zips, "town": dirty})) == expected


def test_a_column_of_one_value_and_blanks_is_a_flag(found: Any) -> None:
    flags = ["yes" if k % 4 == 1 else "" for k in range(40)]
    assert found(audit, {"zip": [str(k % 4) for k in range(40)], "closed": flags}) == set()
    flags[5] = ""
    assert found(audit, {"zip": [str(k % 4) for k in range(40)], "closed": flags}) == set()


def numbers(seed: int) -> tuple[np.random.Generator, dict[str, list[str]]]:
    rng = np.random.default_rng(seed)
    return rng, {name: [f"{x:.3f}" for x in rng.normal(size=300)] for name in "abcd"}


def test_blanks_at_one_rate_that_nothing_explains_are_lost_values(found: Any) -> None:
    rng, columns = numbers(1)
    lost = {(int(i), j) for j in range(3) for i in rng.choice(300, size=15, replace=False)}
    for i, j in lost:
        columns["abcd"[j]][i] = ""
    assert found(audit, columns) == {(i, j, None) for i, j in lost}


def test_blanks_that_come_together_or_in_one_column_only_are_optional(found: Any) -> None:
    for blanks in ("abc", "a"):
        rng, columns = numbers(0)
        for i in rng.choice(300, size=15, replace=False):
            for name in blanks:
                columns[name][i] = ""
        assert found(audit, columns) == set()
