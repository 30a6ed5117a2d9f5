"""Detectors: find the wrong rows and the wrong cells, without labels and without clean data."""

from magnet.detection.base import Detector
from magnet.detection.data.columns import Column, infer_columns
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.read import read_data
from magnet.detection.metrics import areas, metrics
from magnet.detection.registry import make, names
from magnet.detection.rows.gate import Gate
from magnet.detection.thresholds import Reference
from magnet.detection.verdict import Verdict

__all__ = [
    "Column",
    "DetectionData",
    "Detector",
    "Gate",
    "Reference",
    "Verdict",
    "areas",
    "infer_columns",
    "make",
    "metrics",
    "names",
    "read_data",
]
