"""MAGnet as the paper has it: a trust matrix, the framelet ADMM, a GCN."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor

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
from magnet.experiments.methods.trust import detected, true_trust
from magnet.framelets import FrameletTransform
from magnet.recovery import recover

#: The exponents that the paper compares; where none is given, validation chooses among them.
PENALTIES, FIDELITIES = (1.0, 0.0), (2.0, 1.0)


def transform(case: Case) -> FrameletTransform:
    """The framelet transform of the graph, made once."""
    if "framelets" not in case.graph.cache:
        case.graph.cache["framelets"] = FrameletTransform(case.graph)
    return case.graph.cache["framelets"]


def _recovered(case: Case, trust: Tensor | None, config: Config) -> list[Candidate]:
    def make(p: float, q: float) -> Tensor:
        return recover(
            case.x,
            trust,
            transform(case),
            p=p,
            q=q,
            preset="paper",
            nu0=config["nu0"],
            gamma=config["gamma"],
            max_iter=config["iterations"],
            variant=config["variant"],
            history=False,
        ).x

    exponents = product(
        PENALTIES if config["p"] is None else (config["p"],), FIDELITIES if config["q"] is None else (config["q"],)
    )
    return [Candidate(f"p = {p:g}, q = {q:g}", lambda p=p, q=q: make(p, q)) for p, q in exponents]  # type: ignore[misc]


def _on_one(case: Case, config: Config) -> Repaired:
    return Repaired(_recovered(case, None, config))


def _on_detected(case: Case, config: Config) -> Repaired:
    found = detected(case, config)
    return Repaired(_recovered(case, torch.as_tensor(found.trust, device=case.device), config), found.numbers(case))


def _on_truth(case: Case, config: Config) -> Repaired:
    return Repaired(_recovered(case, true_trust(case, config["truth"]), config))


def _method(name: str, title: str, repair: Callable[[Case, Config], Repaired], **extra: Any) -> Method:
    recovery = {"p": None, "q": None, "nu0": 10.0, "gamma": 10.0, "iterations": 15, "variant": "exact"}
    return Method(
        name=name,
        title=title,
        defaults={**TRAINING, **CONVOLUTIONS, **recovery, **extra},
        space={**PAPER_SPACE, "nu0": [10.0, 100.0, 500.0]},
        repair=repair,
        repairs=(*recovery, *extra),
        source="the paper's Table 3; p and q on validation",
        sees_truth=repair is _on_truth,
    )


ONE = _method("magnet-one", "MAGnet one", _on_one)
GAE = _method("magnet-gae", "MAGnet gae", _on_detected, detector="gae", detector_options={})
TRUE = _method("magnet-true", "MAGnet true", _on_truth, truth="cells")
