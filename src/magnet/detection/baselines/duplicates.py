"""``duplicates``: rows that occur more than once."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from magnet.detection.base import Detector
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.row_vectors import duplicate_counts
from magnet.detection.verdict import Verdict


@dataclass(kw_only=True, eq=False, repr=False)
class Duplicates(Detector):
    """Of ``c`` equal rows at most one belongs to its node, unless equality is a coincidence. The row belongs to one of
    these nodes or to another one, all equally likely: ``P = c / (c + 1)`` for ``c > 1``, and 0 for single rows."""

    def _detect(self, data: DetectionData) -> Verdict:
        count = duplicate_counts(data)
        probability = torch.where(count > 1, count / (count + 1), torch.zeros_like(count))
        return Verdict(data, count, probability, float(probability.mean()), p_row_swapped=probability)
