"""``duplicates``: does the same row occur elsewhere?"""

from __future__ import annotations

from dataclasses import dataclass

from magnet.detection.base import Detector
from magnet.detection.rows import copies
from magnet.detection.view import View


@dataclass(kw_only=True, eq=False, repr=False)
class Duplicates(Detector):
    """Of ``c`` equal rows at most one is in its place: ``P = (c - 1) / c``, where equality is no coincidence."""

    def _detect(self, view: View) -> None:
        count = copies(view)
        self._rho = (count - 1) / count
        self.node_scores_ = count
        self.node_probability_ = self._rho
        self.share_ = float(self._rho.mean())
