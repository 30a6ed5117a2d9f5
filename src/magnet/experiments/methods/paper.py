"""MAGnet as the paper has it: a trust matrix, the framelet ADMM, a GCN."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor

from magnet.experiments.methods.base import PAPER_GCN, PAPER_SPACE, Candidate, Config, Method, RepairCandidates
from magnet.experiments.methods.trust import detected, true_trust
from magnet.experiments.protocol.data import Repetition
from magnet.recovery import recover
from magnet.recovery.candidates import framelets

#: The exponents that the paper compares; where none is given, validation chooses among them.
PENALTIES, FIDELITIES = (1.0, 0.0), (2.0, 1.0)


def _recovered(repetition: Repetition, trust: Tensor | None, config: Config) -> list[Candidate]:
    def make(p: float, q: float) -> Tensor:
        return recover(
            repetition.x,
            trust,
            framelets(repetition.graph),
            p=p,
            q=q,
            preset="paper",
            nu0=config["nu0"],
            gamma=config["gamma"],
            max_iter=config["max_iter"],
            variant=config["variant"],
            history=False,
        ).x

    exponents = product(
        PENALTIES if config["p"] is None else (config["p"],), FIDELITIES if config["q"] is None else (config["q"],)
    )
    return [Candidate(f"p = {p:g}, q = {q:g}", lambda p=p, q=q: make(p, q)) for p, q in exponents]  # type: ignore[misc]


def _on_one(repetition: Repetition, config: Config) -> RepairCandidates:
    return RepairCandidates(_recovered(repetition, None, config))


def _on_detected(repetition: Repetition, config: Config) -> RepairCandidates:
    found = detected(repetition, config)
    trust = torch.as_tensor(found.trust, device=repetition.device)
    return RepairCandidates(_recovered(repetition, trust, config), found.numbers())


def _on_truth(repetition: Repetition, config: Config) -> RepairCandidates:
    return RepairCandidates(_recovered(repetition, true_trust(repetition, config["truth"]), config))


def _method(name: str, title: str, repair: Callable[[Repetition, Config], RepairCandidates], **extra: Any) -> Method:
    recovery = {"p": None, "q": None, "nu0": 10.0, "gamma": 10.0, "max_iter": 15, "variant": "exact"}
    return Method(
        name=name,
        title=title,
        defaults={**PAPER_GCN, **recovery, **extra},
        space={**PAPER_SPACE, "nu0": [10.0, 100.0, 500.0]},
        repair=repair,
        repairs=(*recovery, *extra),
        source="the paper's Table 3; p and q on validation",
        sees_truth=repair is _on_truth,
    )


ONE = _method("magnet-one", "MAGnet one", _on_one)
GAE = _method("magnet-gae", "MAGnet gae", _on_detected, detector="gae", detector_options={})
TRUE = _method("magnet-true", "MAGnet true", _on_truth, truth="cells")
