"""Seeded corruptions of node attributes, each with the exact truth about which cells are wrong."""

from magnet.corruption.injection import inject_attributes
from magnet.corruption.result import Corruption, changed

__all__ = ["Corruption", "changed", "inject_attributes"]
