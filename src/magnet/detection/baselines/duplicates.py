"""``duplicates``: does the same row occur elsewhere?"""

from __future__ import annotations

from dataclasses import dataclass

from magnet.detection.base import Detector
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.row_vectors import duplicate_counts
from magnet.detection.verdict import Verdict


@dataclass(kw_only=True, eq=False, repr=False)
class Duplicates(Detector):
    """Of ``c`` equal rows at most one belongs to its node: ``P = (c - 1) / c``, where equality is no coincidence."""

    def _detect(self, data: DetectionData) -> Verdict:
        count = duplicate_counts(data)
        probability = (count - 1) / count
        return Verdict(data, count, probability, float(probability.mean()), p_row_swapped=probability)
