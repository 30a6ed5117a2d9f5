"""Detectors: find the wrong rows and the wrong cells, without labels and without clean data."""

from magnet.detection.base import Detector, Gate
from magnet.detection.columns import Column, infer_columns
from magnet.detection.metrics import areas, metrics
from magnet.detection.registry import make, names

__all__ = ["Column", "Detector", "Gate", "areas", "infer_columns", "make", "metrics", "names"]
