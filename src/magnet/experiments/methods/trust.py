"""Where trust comes from: a detector, or the truth."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from magnet.datasets import checksum
from magnet.experiments.methods.base import Case, Config
from magnet.nn.memory import available


def true_trust(case: Case, truth: str = "cells") -> Tensor:
    """1 where the observed value is right. ``"rows"``: 0 for every cell of a node that holds a wrong one."""
    if truth not in ("cells", "rows"):
        raise ValueError(f"truth is {truth!r}; it must be 'cells' or 'rows'")
    if case.corruption is None:
        return torch.ones(case.data.x.shape, device=case.device)
    if truth == "rows":
        return (~case.corruption.nodes).float().to(case.device).unsqueeze(1).expand(case.data.x.shape)
    return (~case.corruption.cells).float().to(case.device)


@dataclass(frozen=True, eq=False)
class Found:
    """What a detector says about a case."""

    trust: Any
    soft_trust: Any
    node_probability: np.ndarray[Any, Any]
    flagged: Any
    share: float
    gate_open: bool
    reason: str
    reconstruction: Any
    metrics: dict[str, float]
    seconds: float
    name: str

    @property
    def bytes(self) -> int:
        """How much memory it takes; views that repeat a number take next to none."""
        parts = [part for part in (self.trust, self.soft_trust, self.flagged, self.reconstruction) if part is not None]
        return sum(part.untyped_storage().nbytes() for part in parts if isinstance(part, Tensor))

    def numbers(self, case: Case) -> dict[str, Any]:
        """For a table: how good the detector was, against the truth."""
        return {
            "detector": self.name,
            "gate_open": self.gate_open,
            "gate": self.reason,
            "share": self.share,
            "seconds": self.seconds,
            **self.metrics,
        }


#: How much of what detectors found is kept for the next method, at least.
KEPT_BYTES = 2 << 30

_KEPT: dict[str, Found] = {}


def detected(case: Case, config: Config) -> Found:
    """Run the detector of a configuration on a case, once: methods on the same case share what it found."""
    name, options = str(config["detector"]), dict(config["detector_options"])
    edges = hashlib.sha256(case.data.edge_index.cpu().numpy().tobytes()).hexdigest()
    described = json.dumps([checksum(case.data.x), edges, name, options, case.seed, str(case.device)], sort_keys=True)
    if described in _KEPT:
        case.saved += _KEPT[described].seconds
    else:
        found = _detect(case, name, options)
        limit = max(KEPT_BYTES, available(case.device) // 4)
        while _KEPT and sum(each.bytes for each in _KEPT.values()) + found.bytes > limit:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[described] = found
    return _KEPT[described]


def _detect(case: Case, name: str, options: dict[str, Any]) -> Found:
    from magnet import detection

    began = time.perf_counter()
    # what it finds stays on the device, where it is used
    prepared = detection.DetectionData.from_data(case.data, device=case.device)
    detector = detection.make(name, seed=case.seed, **options).fit(prepared)
    seconds = time.perf_counter() - began
    gate = getattr(detector, "gate_", None)
    metrics: dict[str, float] = {}
    if case.corruption is not None:
        metrics = dict(detection.metrics(detector, case.corruption.cells, case.corruption.nodes))
    return Found(
        trust=detector.trust_,
        soft_trust=detector.soft_trust_,
        node_probability=np.asarray(torch.as_tensor(detector.node_probability_).cpu()),
        flagged=detector.flagged_,
        share=float(detector.share_),
        gate_open=True if gate is None else bool(gate.open),
        reason="" if gate is None else str(gate.reason),
        reconstruction=getattr(detector, "reconstruction_", None),
        metrics=metrics,
        seconds=seconds,
        name=name,
    )
