"""When rows may be flagged at all."""

from __future__ import annotations

import pytest
import torch

from magnet import corruption, datasets, detection
from magnet.detection.gate import Evidence, judge


@pytest.mark.parametrize("homophily", [0.2, 0.1])
@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_no_rows_are_flagged_where_the_neighbours_say_nothing(homophily, ratio):
    data = datasets.synthetic(800, 100, 5, 8.0, homophily, signal=0.5, seed=1)
    if ratio:
        data = corruption.inject_attributes(data, ratio=ratio, candidates=1, select="random", seed=0).data
    found = detection.make("auto").fit(data)
    assert not found.gate_.open
    assert "AUROC" in found.gate_.reason
    assert not bool(found.flagged_rows().any())
    assert float(found.flagged_.float().mean()) < 0.001
    if ratio:  # without the gate many of the right rows would be gone
        assert detection.make("context").fit(data).share_ > 0.1


def test_half_of_the_rows_replaced_still_passes():
    data = datasets.synthetic(1500, 200, 5, 10.0, 0.9, signal=0.8, seed=2)
    bad = corruption.inject_attributes(data, ratio=0.7, candidates=1, select="random", seed=0)
    assert float(bad.nodes.float().mean()) > 0.45
    assert detection.make("auto").fit(bad.data).gate_.open


@pytest.mark.parametrize(
    ("evidence", "opens"),
    [
        (Evidence(0.95, 0.96, 2000, 0.0), True),
        (Evidence(0.74, 0.76, 2000, 0.4), True),  # 0.4 / 2 + 0.6 * 0.93
        (Evidence(0.74, 0.76, 2000, 0.0), False),  # the same power, and no wrong rows to explain it
        (Evidence(0.80, 0.85, 2000, 0.0), False),  # enough for cells, not for rows
        (Evidence(0.52, 0.60, 2000, 0.5), False),
        (Evidence(0.56, 0.85, 100, 0.1), False),  # 100 shuffled rows give this by chance
        (Evidence(0.90, 0.90, 2000, 1.0), False),
        (None, False),
    ],
)
def test_the_rule(evidence, opens):
    gate = judge(evidence)
    assert gate.open is opens
    assert (gate.reason == "") is opens
    assert gate.cells is (opens or evidence == Evidence(0.80, 0.85, 2000, 0.0))


def test_numbers_impossible_for_their_column_are_flagged_with_the_gate_closed():
    data = datasets.synthetic(600, 8, 4, 6.0, 0.25, "continuous", signal=0.3, seed=0)
    data.x[17, 3] = 80.0
    found = detection.make("auto").fit(data)
    assert not found.gate_.open
    assert bool(found.flagged_[17, 3])
    assert int(found.flagged_.sum()) <= 3
    assert torch.equal(found.trust_ == 0, found.flagged_)
