"""The paper's MAGnet: a trust matrix, the framelet ADMM, a GCN."""

from __future__ import annotations

from itertools import product
from typing import Any

from torch import Tensor

from magnet.experiments.methods.base import PAPER_GCN, PAPER_SPACE, Config, Method, RepairCandidates
from magnet.experiments.methods.trust import trust_of
from magnet.experiments.protocol.data import Repetition
from magnet.recovery import recover
from magnet.recovery.candidates import Candidate, framelets

#: The exponents that the paper compares; where none is given, validation chooses among them.
PENALTIES, FIDELITIES = (1.0, 0.0), (2.0, 1.0)


def _recovered(repetition: Repetition, config: Config) -> RepairCandidates:
    trust, detection = trust_of(repetition, config)

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

    penalties = PENALTIES if config["p"] is None else (config["p"],)
    fidelities = FIDELITIES if config["q"] is None else (config["q"],)
    candidates = [
        Candidate(f"p = {p:g}, q = {q:g}", lambda p=p, q=q: make(p, q))  # type: ignore[misc]
        for p, q in product(penalties, fidelities)
    ]
    return RepairCandidates(candidates, detection)


def _method(name: str, title: str, **trust: Any) -> Method:
    recovery = {"p": None, "q": None, "nu0": 10.0, "gamma": 10.0, "max_iter": 15, "variant": "exact"}
    return Method(
        name=name,
        title=title,
        settings=PAPER_GCN,
        repair_settings={**recovery, **trust},
        space={**PAPER_SPACE, "nu0": [10.0, 100.0, 500.0]},
        repair=_recovered,
        source="the paper's Table 3; p and q on validation",
    )


ONE = _method("magnet-one", "MAGnet-one")
GAE = _method("magnet-gae", "MAGnet-gae", detector="gae", detector_options={})
TRUE = _method("magnet-true", "MAGnet-true", truth="cells")
