"""Our default: gate, detector, recovery, and the amount of smoothing chosen on validation."""

from __future__ import annotations

from typing import Any

import torch

from magnet.classifier import LAMBDAS, repairs
from magnet.experiments.methods import appnp, elasticgnn
from magnet.experiments.methods.base import (
    CONVOLUTIONS,
    PAPER_SPACE,
    TRAINING,
    Candidate,
    Case,
    Config,
    Method,
    Repaired,
)
from magnet.experiments.methods.propagation import as_it_is
from magnet.experiments.methods.trust import detected


def _repair(case: Case, config: Config) -> Repaired:
    """The candidates of :func:`magnet.classifier.repairs`; where the gate is closed, the data as they are."""
    found = detected(case, config)
    if not found.gate_open:
        return Repaired([as_it_is(case)], found.numbers(case), f"left as it is: {found.reason}")
    trust, soft = (torch.as_tensor(part).to(case.x) for part in (found.trust, found.soft_trust))
    amounts = (config["lambdas"], config["strengths"], config["iterations"], config["penalty"])
    offered = repairs(case.x, case.graph, trust, soft, *amounts)
    candidates = [as_it_is(case), *(Candidate(name, make) for name, make in offered[1:])]
    return Repaired(candidates, found.numbers(case))


REPAIR: dict[str, Any] = {
    "detector": "auto",
    "detector_options": {},
    "lambdas": LAMBDAS,
    "strengths": (1.0,),
    "iterations": 20,
    "penalty": "element",
}

METHOD = Method(
    name="magnet",
    title="MAGnet (ours)",
    defaults={**TRAINING, **CONVOLUTIONS, **REPAIR},
    space=dict(PAPER_SPACE),
    repair=_repair,
    repairs=tuple(REPAIR),
    source="the paper's Table 3; the kind and amount of smoothing on validation",
)


def _before(rival: Method) -> Method:
    """Our repair in front of a rival's network, with the settings found for the rival."""
    return Method(
        name=f"magnet-{rival.name}",
        title=f"MAGnet (ours) + {rival.title}",
        defaults={**rival.defaults, **REPAIR},
        space={},
        build=rival.build,
        repair=_repair,
        repairs=tuple(REPAIR),
        source=f"the settings of {rival.title}; the kind and amount of smoothing on validation",
        settings_of=rival.name,
    )


BEFORE_APPNP = _before(appnp.METHOD)
BEFORE_ELASTIC = _before(elasticgnn.METHOD)
