"""Recovery: the framelet ADMM, weighted propagation, and the kernels that make them fast."""

from magnet.recovery.admm import State, augmented_lagrangian, objective
from magnet.recovery.problem import Problem, Settings
from magnet.recovery.propagation import propagate
from magnet.recovery.recover import recover
from magnet.recovery.result import RecoveryResult

__all__ = [
    "Problem",
    "RecoveryResult",
    "Settings",
    "State",
    "augmented_lagrangian",
    "objective",
    "propagate",
    "recover",
]
