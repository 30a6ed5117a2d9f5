"""Our default: gate, detector, recovery, and the amount of smoothing chosen on validation."""

from __future__ import annotations

import torch
from torch import Tensor

from magnet.experiments.methods.base import NETWORK, PAPER_SPACE, TRAINING, Candidate, Case, Config, Method, Repaired
from magnet.experiments.methods.paper_magnet import transform
from magnet.experiments.methods.propagation import LAMBDAS, as_it_is, filled, smoothed
from magnet.experiments.methods.trust import detected
from magnet.recovery import recover


def _repair(case: Case, config: Config) -> Repaired:
    r"""The candidates of the design: nothing, Feature Propagation, weighted propagation with :math:`(1 - P)^4`, and the
    framelet recovery, whose trust :math:`(1 - P)^2` gives the same weight. Where the gate is closed, nothing."""
    found = detected(case, config)
    if not found.gate_open:
        return Repaired([as_it_is(case)], found.numbers(case), f"left as it is: {found.reason}")
    soft = torch.as_tensor(found.soft_trust, device=case.device)
    candidates = [as_it_is(case), filled(case, torch.as_tensor(found.trust, device=case.device))]
    candidates += smoothed(case, soft.square(), config["lambdas"])
    candidates += [_framelet(case, soft, strength, config) for strength in config["strengths"]]
    return Repaired(candidates, found.numbers(case))


def _framelet(case: Case, soft: Tensor, strength: float, config: Config) -> Candidate:
    def make() -> Tensor:
        return recover(
            case.x,
            soft,
            transform(case),
            strength=strength,
            max_iter=config["iterations"],
            start="propagated",
            degree_weights=False,
            penalty=config["penalty"],
            tol=0.0,
            history=False,
        ).x

    return Candidate(f"framelet {strength:g}", make)


METHOD = Method(
    name="magnet",
    title="MAGnet (ours)",
    defaults={
        **TRAINING,
        **NETWORK,
        "detector": "auto",
        "detector_options": {},
        "lambdas": LAMBDAS,
        "strengths": (1.0,),
        "iterations": 20,
        "penalty": "element",
    },
    space=dict(PAPER_SPACE),
    repair=_repair,
    source="the paper's Table 3; the kind and amount of smoothing on validation",
)
