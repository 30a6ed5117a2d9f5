"""Tables judged as texts, beside rows of another table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from magnet.tables import from_frames
from magnet.tables.text_findings import judge_as_text


def towns(rows: int) -> pd.DataFrame:
    names = ["boaz", "dothan", "florence", "sheffield"]
    return pd.DataFrame({"code": [f"c{k % 4}" for k in range(rows)], "town": [names[k % 4] for k in range(rows)]})


def test_rows_found_right_are_kept_to_judge_others_by() -> None:
    frame = towns(80)
    frame.loc[5, "town"] = "dothxn"
    first = judge_as_text(from_frames(frame), reference={})
    assert [(c.row, c.suggested) for c in first.findings] == [(5, "dothan")]
    assert len(first.reference["town"]) == 79
    assert "dothxn" not in first.reference["town"]
    few = towns(6)
    few.loc[1, "town"] = "dothxn"
    assert judge_as_text(from_frames(few), reference={}).findings == []  # too few rows to tell a typo from a town
    beside = judge_as_text(from_frames(few), reference=first.reference)
    assert [(c.row, c.suggested) for c in beside.findings] == [(1, "dothan")]
    assert beside.reference is first.reference
    with pytest.raises(ValueError, match="the table has no column 'town', which the fitted one has"):
        judge_as_text(from_frames(few[["code"]]), reference=first.reference)


def test_trusted_cells_and_rejected_suggestions_are_not_listed() -> None:
    frame = towns(80)
    frame.loc[5, "town"] = "dothxn"
    trusted = np.zeros((80, 2), dtype=bool)
    trusted[5, 1] = True
    assert judge_as_text(from_frames(frame), trusted=trusted, reference={}).findings == []
    rejected = {"column": "town", "observed": "dothxn", "suggested": "dothan", "accept": False}
    assert judge_as_text(from_frames(frame), reference={}, decisions=[rejected]).findings == []


def test_a_clean_table_stays_clean() -> None:
    assert judge_as_text(from_frames(towns(80)), reference={}).findings == []
