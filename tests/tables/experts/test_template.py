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
