"""The detector's own reconstruction as the repair."""

from __future__ import annotations

import torch
from torch import Tensor

from magnet.experiments.methods.base import CONVOLUTIONS, TRAINING, Candidate, Case, Config, Method, Repaired
from magnet.experiments.methods.trust import detected


def _repair(case: Case, config: Config) -> Repaired:
    found = detected(case, config)

    def make() -> Tensor:
        if found.reconstruction is None:
            raise ValueError(f"detector is {found.name!r}, which reconstructs nothing; 'gae' does")
        trust = torch.as_tensor(found.trust, device=case.device)
        guess = torch.as_tensor(found.reconstruction, device=case.device)
        return torch.where(trust > 0.5, case.x, guess.to(case.x))

    return Repaired([Candidate("reconstruction", make)], found.numbers(case))


METHOD = Method(
    name="gae-reconstruction",
    title="GAE reconstruction",
    defaults={**TRAINING, **CONVOLUTIONS, "detector": "gae", "detector_options": {}},
    repair=_repair,
    repairs=("detector", "detector_options"),
    source="the paper's Table 3",
)
