"""Values made of those of other columns."""

from __future__ import annotations

from typing import Any

from magnet.tables.experts.base import ColumnContext
from magnet.tables.experts.template import fit

STATES, CODES = ["al", "ak", "tx"] * 10, [f"m-{k % 7}{k % 3}" for k in range(30)]


def test_a_template_names_its_columns(coded: Any) -> None:
    both = [f"{s}_{c}" for s, c in zip(STATES, CODES, strict=True)]
    both[4] = "ak_m-4x"
    table = coded({"state": STATES, "code": CODES, "both": both})
    expert = fit(ColumnContext(table, 2))[0]
    code = expert.proposals()[4, 0]
    assert table.columns[2].values[code] == f"ak_{CODES[4]}"
    assert expert.evidence(4, int(code)) == f"code and state of this row give 'ak_{CODES[4]}'"


def test_columns_that_have_nothing_in_common_have_no_template(coded: Any) -> None:
    table = coded({"state": STATES, "code": CODES})
    assert fit(ColumnContext(table, 0)) == fit(ColumnContext(table, 1)) == []


def test_rows_of_another_template_are_not_contradicted(coded: Any) -> None:
    """The first seven codes have two more zeros; a single odd one elsewhere is a slip."""
    panels = [f"{100 + 13 * k}" for k in range(60)]
    both = [f"35{p}00D" if k < 7 else f"35{p}D" for k, p in enumerate(panels)]
    both[40] = f"35{panels[40]}00D"
    table = coded({"panel": panels, "code": both})
    predicted = fit(ColumnContext(table, 1))[0].proposals()[:, 0]
    assert (predicted[:7] == -1).all()
    assert (predicted[7:39] == table.columns[1].read[7:39]).all()
    both[:7] = [f"35{p}D" for p in panels[:7]]
    table = coded({"panel": panels, "code": both})
    code = fit(ColumnContext(table, 1))[0].proposals()[40, 0]
    assert table.columns[1].values[code] == f"35{panels[40]}D"
