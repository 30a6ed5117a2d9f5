"""Seeded corruptions of node attributes, each with the exact truth about which cells are wrong."""

from magnet.corruption.cells import corrupt_cells
from magnet.corruption.injection import inject_attributes
from magnet.corruption.meta import meta_attack
from magnet.corruption.patches import corrupt_patches
from magnet.corruption.registry import KINDS, corrupt, corrupt_once
from magnet.corruption.result import Corruption, changed

__all__ = [
    "KINDS",
    "Corruption",
    "changed",
    "corrupt",
    "corrupt_cells",
    "corrupt_once",
    "corrupt_patches",
    "inject_attributes",
    "meta_attack",
]
