"""Recovery: the framelet ADMM, weighted propagation, and the kernels that make them fast.

Where to start reading: ``problem`` defines what is solved, ``admm`` is one step of the solver, ``driver`` repeats it,
and ``propagation`` is the other method. :func:`recover` and :func:`propagate` check their arguments and make a job,
which ``ranges`` runs on a few columns at a time, read and written through ``io``. ``kernels`` contains faster, fused
implementations of the same iterations.
"""

from magnet.recovery.propagation import propagate
from magnet.recovery.recover import recover
from magnet.recovery.result import RecoveryResult

__all__ = ["RecoveryResult", "propagate", "recover"]
