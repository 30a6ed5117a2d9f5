"""Experiments: one row of any table (:func:`run_one`), many repetitions at once, and the search for settings."""

from magnet.experiments.run import run_many, run_one, run_settings

__all__ = ["run_many", "run_one", "run_settings"]
