"""Weighted propagation as a repair: the control, and Feature Propagation on a given trust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from magnet.classifier import LAMBDAS
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
from magnet.recovery import propagate


def smoothed(case: Case, weights: Tensor | None, lambdas: Sequence[float]) -> list[Candidate]:
    """One candidate for each amount of smoothing."""

    def make(lam: float) -> Tensor:
        return propagate(case.x, weights, case.graph, lam=lam).x

    return [Candidate(f"propagation {lam:g}", lambda lam=lam: make(lam)) for lam in lambdas]  # type: ignore[misc]


def filled(case: Case, trust: Tensor) -> Candidate:
    """Feature Propagation: untrusted cells from the trusted ones."""
    return Candidate("feature propagation", lambda: propagate(case.x, trust, case.graph, lam=0.0).x)


def as_it_is(case: Case) -> Candidate:
    return Candidate("as it is", lambda: case.data.x)


def _control(case: Case, config: Config) -> Repaired:
    return Repaired([as_it_is(case), *smoothed(case, None, config["lambdas"])])


def _on_detected(case: Case, config: Config) -> Repaired:
    found = detected(case, config)
    trust = torch.as_tensor(found.trust, device=case.device)
    return Repaired([filled(case, trust)], found.numbers(case))


def _on_truth(case: Case, config: Config) -> Repaired:
    return Repaired([filled(case, true_trust(case, config["truth"]))])


_DEFAULTS: dict[str, Any] = {**TRAINING, **CONVOLUTIONS}

CONTROL = Method(
    name="propagation-one",
    title="propagation, all trusted",
    defaults={**_DEFAULTS, "lambdas": LAMBDAS},
    repair=_control,
    repairs=("lambdas",),
    source="the paper's Table 3; the amount of smoothing on validation",
)
FP = Method(
    name="fp",
    title="Feature Propagation, our trust",
    defaults={**_DEFAULTS, "detector": "auto", "detector_options": {}},
    space=dict(PAPER_SPACE),
    repair=_on_detected,
    repairs=("detector", "detector_options"),
    source="the paper's Table 3",
)
FP_TRUE = Method(
    name="fp-true",
    title="Feature Propagation, true trust",
    defaults={**_DEFAULTS, "truth": "cells"},
    space=dict(PAPER_SPACE),
    repair=_on_truth,
    repairs=("truth",),
    source="the paper's Table 3",
    sees_truth=True,
)
