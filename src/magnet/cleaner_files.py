"""Fitted cleaners in ``.npz`` files of arrays and JSON, which cannot run code."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from magnet.files import OtherContent, damaged
from magnet.tables.findings import CellFinding, TableVerdict
from magnet.tables.roles.base import Role
from magnet.untrusted import open_npz, read_object

if TYPE_CHECKING:
    from magnet.cleaner import Cleaner

_Model = TypeVar("_Model", bound="Cleaner")
_MATRICES = ("x_", "scores_", "probability_", "flagged_", "trust_")
_NOT_SAVED = ("progress", "decisions", "cluster")


def save(model: Cleaner, path: Path) -> None:
    """Write a fitted model: its findings and the reference for other data."""
    from magnet.datasets.npz import save_arrays

    if not isinstance(model.detector, str):
        raise ValueError(
            f"detector is a {type(model.detector).__name__}; only models whose detector is given by name can be saved"
        )
    learned = {name for name in vars(model) if name.startswith("_") or name.endswith("_")}
    parameters = {name: value for name, value in vars(model).items() if name not in {*learned, *_NOT_SAVED}}
    facts: dict[str, Any] = {
        "parameters": parameters,
        "fingerprint": model.fingerprint_,
        "share": model.share_,
        "cells": json.loads(model.suspicious_cells().to_json(orient="split")),
    }
    arrays: dict[str, Any] = {}
    if hasattr(model, "reference_"):
        assert model.verdict_ is not None
        facts["verdict"] = asdict(replace(model.verdict_, cells=model.findings_))
        arrays["reference"] = _bytes(model.reference_)
    else:
        _save_features(model, facts, arrays)
    save_arrays(path, {"magnet": _bytes(facts), **arrays})


def _save_features(model: Cleaner, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
    from magnet.arrays import dense

    fitted, fields = model.detector_, getattr(model, "fields_", None)
    facts |= {
        "fields": None if fields is None else [asdict(f) for f in fields],
        "columns": None if model.columns_ is None else [asdict(c) for c in model.columns_],
        "gate": asdict(model.gate_) if model.gate_ is not None else None,
        "thresholds": None if fitted is None else [fitted.threshold_, fitted.row_threshold_],
    }
    for name in _MATRICES:
        arrays[name] = dense(getattr(model, name)).detach().cpu().numpy()
    if fitted is not None:
        arrays |= {f"scales_{k}": v.cpu().numpy() for k, v in vars(fitted.scales_).items()}


def load(path: Path, kind: type[_Model]) -> _Model:
    """Read what :func:`save` wrote."""
    with damaged(path), open_npz(path) as arrays:
        if "magnet" not in arrays.files:
            raise OtherContent(f"{path} holds no cleaner; it was not written by MAGnet.save")
        facts = _content(arrays["magnet"])
        parameters: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in dict(facts["parameters"]).items()
        }
        model = kind(**parameters)
        model.share_, model.fingerprint_ = float(facts["share"]), str(facts["fingerprint"])
        model.cells_ = pd.DataFrame(facts["cells"]["data"], columns=list(map(str, facts["cells"]["columns"])))
        if "reference" in arrays.files:
            model.reference_ = {
                str(name): [str(t) for t in column] for name, column in _content(arrays["reference"]).items()
            }
            model.verdict_ = _verdict(facts["verdict"])
            model.findings_ = model.verdict_.cells
            model.detector_ = model.gate_ = None
        else:
            _load_features(model, facts, arrays)
    return model


def _verdict(stored: dict[str, Any]) -> TableVerdict:
    cells = [CellFinding(**cell) for cell in stored["cells"]]
    return TableVerdict(**{**stored, "cells": cells, "roles": {n: Role(**r) for n, r in stored["roles"].items()}})


def _load_features(model: Cleaner, facts: dict[str, Any], arrays: Any) -> None:
    import torch

    from magnet.detection import Column, Gate, Reference
    from magnet.detection.data.scales import Scales
    from magnet.tables.fields import Field

    for name in _MATRICES:
        setattr(model, name, torch.from_numpy(arrays[name]))
    scales = {key.removeprefix("scales_"): arrays[key] for key in arrays.files if key.startswith("scales_")}
    model.detector_ = None
    if facts["thresholds"] is not None:
        threshold, row_threshold = facts["thresholds"]
        stored_scales = Scales(**{key: torch.from_numpy(value) for key, value in scales.items()})
        model.detector_ = Reference(stored_scales, threshold, row_threshold)
    fields = facts["fields"]
    model.fields_ = None if fields is None else tuple(Field(**_with_tuples(f)) for f in fields)
    model.columns_ = None if facts["columns"] is None else [Column(**c) for c in facts["columns"]]
    model.gate_ = None if facts["gate"] is None else Gate(**facts["gate"])


def _bytes(content: Any) -> Any:
    """JSON as an array of bytes, whose size is that of the text."""
    return np.frombuffer(json.dumps(content, default=_plain).encode(), dtype=np.uint8)


def _content(array: Any) -> dict[str, Any]:
    return read_object(array.astype(np.uint8).tobytes())


def _with_tuples(f: dict[str, Any]) -> dict[str, Any]:
    return f | {name: tuple(f[name]) for name in ("values", "missing")}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else None if value is pd.NA else str(value)
