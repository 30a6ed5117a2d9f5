"""MAGnet as the paper has it."""

from __future__ import annotations

import torch

from magnet.experiments import methods
from magnet.experiments.protocol.data import Repetition


def test_the_paper_methods_leave_p_and_q_to_validation_unless_told(case: Repetition) -> None:
    method = methods.get("magnet-true")
    open_choice = method.repair(case, method.config({})).candidates
    assert [candidate.name for candidate in open_choice] == [
        "p = 1, q = 2",
        "p = 1, q = 1",
        "p = 0, q = 2",
        "p = 0, q = 1",
    ]
    (fixed,) = method.repair(case, method.config({"p": 1.0, "q": 2.0})).candidates
    assert torch.allclose(fixed.make(), open_choice[0].make())
