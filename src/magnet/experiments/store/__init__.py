"""Finished runs: what identifies one (:mod:`~magnet.experiments.store.versions`) and the file that keeps them."""

from magnet.experiments.store.store import Run, Store
from magnet.experiments.store.versions import RESULT_VERSIONS, canonical_key, result_version, run_key

__all__ = ["RESULT_VERSIONS", "Run", "Store", "canonical_key", "result_version", "run_key"]
