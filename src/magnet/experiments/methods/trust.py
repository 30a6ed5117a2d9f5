"""Where trust comes from: a detector, or the truth."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from magnet.checks import one_of
from magnet.experiments.methods.base import Config
from magnet.experiments.protocol.data import Repetition
from magnet.nn.memory import available

#: Size in bytes of the cache of detections, at least, and the part of the free memory that it may take.
KEPT_BYTES, KEPT_PART = 2 << 30, 4


def true_trust(repetition: Repetition, truth: str = "cells") -> Tensor:
    """1 where the observed value is right. ``"rows"``: 0 for every cell of a node that holds a wrong one."""
    one_of("truth", truth, ("cells", "rows"))
    shape, device = repetition.data.x.shape, repetition.device
    if repetition.corruption is None:
        return torch.ones(shape, device=device)
    if truth == "rows":
        return (~repetition.corruption.nodes).float().to(device).unsqueeze(1).expand(shape)
    return (~repetition.corruption.cells).float().to(device)


@dataclass(frozen=True, eq=False)
class Detection:
    """The verdict of a detector on a repetition, and its ``facts`` for a table: metrics against the truth and so on."""

    trust: Any
    soft_trust: Any
    gate_open: bool
    facts: dict[str, Any]

    @property
    def bytes(self) -> int:
        """Size in memory; expanded views count with their storage only."""
        return sum(part.untyped_storage().nbytes() for part in (self.trust, self.soft_trust))


def trust_of(repetition: Repetition, config: Config) -> tuple[Tensor | None, dict[str, Any] | None]:
    """The trust of a config: the truth, a detector's, or None to trust all cells; and the metrics of the detector, if
    any."""
    if "truth" in config:
        return true_trust(repetition, config["truth"]), None
    if "detector" not in config:
        return None, None
    detection = detected(repetition, config)
    return torch.as_tensor(detection.trust, device=repetition.device), detection.facts


def detected(repetition: Repetition, config: Config) -> Detection:
    """Run the detector of a config on a repetition, once: methods on the same repetition share the verdict."""
    name, options = str(config["detector"]), dict(config["detector_options"])
    key = (id(repetition), name, json.dumps(options, sort_keys=True))
    cache: dict[Any, Detection] = repetition.detections
    if key in cache:
        repetition.saved += cache[key].facts["seconds"]
        return cache[key]
    detection = _detect(repetition, name, options)
    limit = max(KEPT_BYTES, available(repetition.device) // KEPT_PART)
    while cache and sum(cached.bytes for cached in cache.values()) + detection.bytes > limit:
        cache.pop(next(iter(cache)))
    cache[key] = detection
    return detection


def _detect(repetition: Repetition, name: str, options: dict[str, Any]) -> Detection:
    from magnet import detection

    began = time.perf_counter()
    # the verdict stays on the device, where it is used
    prepared = detection.read_data(repetition.data, device=repetition.device)
    detector = detection.make(name, seed=repetition.seed, **options).fit(prepared)
    seconds = time.perf_counter() - began
    gate = getattr(detector, "gate_", None)
    gate_open, reason = (True, "") if gate is None else (bool(gate.open), str(gate.reason))
    facts = {"detector": name, "gate_open": gate_open, "gate": reason, "share": float(detector.share_)}
    facts["seconds"] = seconds
    if repetition.corruption is not None:
        facts |= detection.metrics(detector, repetition.corruption.cells, repetition.corruption.nodes)
    return Detection(detector.trust_, detector.soft_trust_, gate_open, facts)
