"""Recovery: the framelet ADMM, weighted propagation, and the kernels that make them fast.

To begin with: ``problem`` says what is solved, ``admm`` is one step of the solver, ``driver`` repeats it, and
``propagation`` is the other method. :func:`recover` and :func:`propagate` check their arguments and make a job, which
``ranges`` runs on a few columns at a time, read and written through ``io``. ``kernels`` has the same iterations again,
fused for speed.
"""

from magnet.recovery.propagation import propagate
from magnet.recovery.recover import recover
from magnet.recovery.result import RecoveryResult

__all__ = ["RecoveryResult", "propagate", "recover"]
