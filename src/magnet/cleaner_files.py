"""Fitted cleaners in ``.npz`` files: arrays and JSON, nothing that could run code."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch

from magnet.arrays import is_sparse
from magnet.cleaner import MAGnet
from magnet.datasets.npz import save_arrays
from magnet.detection import Column, Reference
from magnet.detection.data.scales import Scales
from magnet.files import damaged
from magnet.tables.fields import Field
from magnet.untrusted import open_npz

_MATRICES = ("x_", "scores_", "probability_", "flagged_", "trust_")


def save(model: MAGnet, path: Path) -> None:
    """Write a fitted model: what it found, and the scales and thresholds that it judges other graphs by."""
    if not isinstance(model.detector, str):
        raise ValueError(f"detector is a {type(model.detector).__name__}; only models with a detector's name are saved")
    fitted = model.detector_
    facts = {
        "parameters": model.get_params(deep=False),
        "fingerprint": model.fingerprint_,
        "share": model.share_,
        "fields": None if model.fields_ is None else [asdict(f) for f in model.fields_],
        "columns": None if model.columns_ is None else [asdict(c) for c in model.columns_],
        "gate": asdict(model.gate_) if model.gate_ is not None else None,
        "cells": model.suspicious_cells().to_dict("list"),
        "detector": None if fitted is None else {"cell": fitted.threshold_, "row": fitted.row_threshold_},
    }
    arrays: dict[str, Any] = {"magnet": np.array(json.dumps(facts, default=_plain))}
    for name in _MATRICES:
        matrix = getattr(model, name)
        arrays[name] = (matrix.to_dense() if is_sparse(matrix) else matrix).detach().cpu().numpy()
    if fitted is not None:
        arrays |= {f"scales_{k}": v.cpu().numpy() for k, v in vars(fitted.scales_).items()}
    save_arrays(path, arrays)


def load(path: Path) -> MAGnet:
    """Read what :func:`save` wrote. The detector comes back as the reference that other data are judged by."""
    with damaged(path), open_npz(path) as arrays:
        facts = json.loads(str(arrays["magnet"]))
        model = MAGnet(**facts["parameters"])
        for name in _MATRICES:
            setattr(model, name, torch.from_numpy(arrays[name]))
        scales = {key.removeprefix("scales_"): arrays[key] for key in arrays.files if key.startswith("scales_")}
        model.detector_ = None
        if facts["detector"] is not None:
            model.detector_ = Reference(
                scales_=Scales(**{key: torch.from_numpy(value) for key, value in scales.items()}),
                threshold_=facts["detector"]["cell"],
                row_threshold_=facts["detector"]["row"],
            )
        fields = facts["fields"]
        model.fields_ = None if fields is None else tuple(Field(**_with_tuples(f)) for f in fields)
        model.columns_ = None if facts["columns"] is None else [Column(**c) for c in facts["columns"]]
        model.gate_ = SimpleNamespace(**facts["gate"]) if facts["gate"] is not None else None
        model.cells_ = pd.DataFrame(facts["cells"])
        model.share_, model.fingerprint_ = facts["share"], facts["fingerprint"]
    return model


def _with_tuples(f: dict[str, Any]) -> dict[str, Any]:
    return f | {name: tuple(f[name]) for name in ("values", "missing")}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else None if value is pd.NA else str(value)
