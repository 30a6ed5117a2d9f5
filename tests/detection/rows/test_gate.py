"""When rows may be flagged at all."""

from __future__ import annotations

import pytest

from magnet.detection.rows.gate import GateEvidence, judge_gate


@pytest.mark.parametrize(
    ("evidence", "opens"),
    [
        (GateEvidence(0.95, 0.96, 2000, 0.0), True),
        (GateEvidence(0.74, 0.76, 2000, 0.4), True),  # 0.4 / 2 + 0.6 * 0.93
        (GateEvidence(0.74, 0.76, 2000, 0.0), False),  # the same power, and no wrong rows to explain it
        (GateEvidence(0.80, 0.85, 2000, 0.0), False),  # enough for cells, not for rows
        (GateEvidence(0.52, 0.60, 2000, 0.5), False),
        (GateEvidence(0.56, 0.85, 100, 0.1), False),  # 100 shuffled rows give this by chance
        (GateEvidence(0.90, 0.90, 2000, 1.0), False),
        (None, False),
    ],
)
def test_the_rule(evidence, opens):
    gate = judge_gate(evidence)
    assert gate.open is opens
    assert (gate.reason == "") is opens
    assert gate.cells is (opens or evidence == GateEvidence(0.80, 0.85, 2000, 0.0))
