"""Methods that repair the features: ours with a committee of networks or with one, and the simple rivals."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from magnet.experiments.methods import networks
from magnet.experiments.methods.base import PAPER_GCN, Config, Method, RepairCandidates, as_it_is
from magnet.experiments.methods.trust import detected, trust_of
from magnet.experiments.protocol.data import Repetition
from magnet.graph import Graph
from magnet.nn.members import Recipe
from magnet.nn.recipes import default_recipes
from magnet.recovery import propagate
from magnet.recovery.candidates import LAMBDAS, Candidate, repair_candidates


def _ours(repetition: Repetition, config: Config) -> RepairCandidates:
    """The candidates of :func:`magnet.recovery.candidates.repair_candidates`; where the detector's gate is closed, the
    data as they are."""
    detection = detected(repetition, config)
    if not detection.gate_open:
        return RepairCandidates([as_it_is(repetition)], detection.facts, f"left as it is: {detection.facts['gate']}")
    trust, soft = (torch.as_tensor(part).to(repetition.x) for part in (detection.trust, detection.soft_trust))
    amounts = (config["lambdas"], config["strengths"], config["max_iter"], config["penalty"])
    offered = repair_candidates(repetition.x, repetition.graph, trust, soft, *amounts)
    return RepairCandidates([as_it_is(repetition), *offered[1:]], detection.facts)


def _filled(repetition: Repetition, config: Config) -> RepairCandidates:
    """Feature Propagation: untrusted cells from the trusted ones."""
    trust, detection = trust_of(repetition, config)

    def make() -> Tensor:
        return propagate(repetition.x, trust, repetition.graph, lam=0.0).x

    return RepairCandidates([Candidate("feature propagation", make)], detection)


def _control(repetition: Repetition, config: Config) -> RepairCandidates:
    def smoothed(lam: float) -> Tensor:
        return propagate(repetition.x, None, repetition.graph, lam=lam).x

    amounts = config["lambdas"]
    offered = [Candidate(f"propagation {lam:g}", lambda lam=lam: smoothed(lam)) for lam in amounts]  # type: ignore[misc]
    return RepairCandidates([as_it_is(repetition), *offered])


#: Training nodes where no dataset is given: as many as Cora has.
CORA_TRAIN_NODES = 140


def _committee(data: Data | None, config: Config) -> list[Recipe]:
    overrides = {} if config["epochs"] is None else {"epochs": config["epochs"]}
    if data is None:
        return default_recipes(given=overrides, train_nodes=CORA_TRAIN_NODES)
    known = data.y.where(data.train_mask | data.val_mask, -1)
    homophily = Graph.from_edges(data.edge_index, data.num_nodes).adjusted_homophily(known.numpy(force=True))
    return default_recipes(given=overrides, train_nodes=int(data.train_mask.sum()), homophily=homophily)


_DETECTOR: dict[str, Any] = {"detector": "auto", "detector_options": {}}
_OURS = {**_DETECTOR, "lambdas": LAMBDAS, "strengths": (1.0,), "max_iter": 20, "penalty": "element"}
_PAPERS = "the paper's Table 3"
_SMOOTHING = "; the kind and amount of smoothing on validation"


def _after_ours(name: str, title: str, settings: dict[str, Any], **more: Any) -> Method:
    """Our repair, then networks with some settings."""
    return Method(name, title, settings, _OURS, repair=_ours, **more)


def _with(rival: Method) -> Method:
    """Our repair in front of a rival's network, with the settings found for the rival."""
    return _after_ours(
        f"magnet-{rival.name}",
        f"our repair + {rival.title}",
        rival.settings,
        space={},
        model=rival.model,
        source=f"the settings of {rival.title}{_SMOOTHING}",
        settings_of=rival.name,
    )


COMMITTEE = _after_ours(
    "magnet",
    "MAGnet (ours)",
    {"epochs": None, "initializations": 1},
    space={},
    committee=_committee,
    source="no search: the default settings of every network",
)
WITH_GCN = _after_ours("magnet-gcn", "our repair + GCN", PAPER_GCN, source=_PAPERS + _SMOOTHING)
WITH_APPNP, WITH_ELASTIC = _with(networks.APPNP), _with(networks.ELASTICGNN)
CONTROL = Method(
    name="propagation-one",
    title="control: all trusted, smoothed",
    settings=PAPER_GCN,
    repair_settings={"lambdas": LAMBDAS},
    repair=_control,
    source=f"{_PAPERS}; the amount of smoothing on validation",
)
FP = Method(
    name="fp",
    title="FP, our trust",
    settings=PAPER_GCN,
    repair_settings=_DETECTOR,
    repair=_filled,
    source=_PAPERS,
)
FP_TRUE = Method(
    name="fp-true",
    title="FP, true cells",
    settings=PAPER_GCN,
    repair_settings={"truth": "cells"},
    repair=_filled,
    source=_PAPERS,
)
