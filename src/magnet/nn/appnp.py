"""Predict, then propagate: APPNP, and its three-block form."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any

import torch
from torch import Tensor

from magnet.checks import at_least
from magnet.graph import Graph
from magnet.nn.features import Features
from magnet.nn.mlp import MLP
from magnet.nn.model import Inputs, Nodes, Numbers
from magnet.nn.sparse import Sparse

#: The kernels for a CPU use one thread for each model. With one thread a training of ElasticGNN takes a third of the
#: time that it takes with array operations (Cora, two models). More threads were not compared.
KERNEL_THREADS = 2


class Propagating(MLP):
    r"""An MLP whose output is propagated for K steps, or ``blocks`` layers each followed by such a propagation.

    Without blocks, :math:`\mathrm{scores} = P(\mathrm{MLP}(X))`. With them,
    :math:`H_{b+1} = \mathrm{relu}(P(H_b W_b + c_b))`, without the relu at the end: the form that the paper on MAGnet
    gives APPNP and ElasticGNN, with three blocks.

    A new model of this kind is a subclass that gives :meth:`propagate`.

    Args:
        steps: K. (default: ``10``)
        layers: layers of the MLP. (default: ``2``)
        blocks: number of blocks instead. (default: none)
        options: ``hidden``, ``dropout``, ``input_dropout`` and ``seeds`` of :class:`~magnet.nn.Model`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        steps: int = 10,
        layers: int = 2,
        blocks: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, layers=layers if blocks is None else blocks, **options)
        at_least("steps", steps, 0)
        self.steps, self.blocks = steps, blocks

    @abstractmethod
    def propagate(self, h: Tensor, inputs: Inputs) -> Tensor:
        """K steps on ``[n, S, k]``."""

    def prepare(self, features: Features, graph: Graph, nodes: Nodes | None = None, once: bool = False) -> Inputs:
        return self.whole_inputs(features, graph, nodes)

    def compute(self, inputs: Inputs) -> Tensor:
        propagate = partial(self.propagate, inputs=inputs)
        if self.blocks is None:
            return inputs.kept(propagate(self.perceptron(inputs.features)))
        return inputs.kept(self.perceptron(inputs.features, after=propagate))


class APPNP(Propagating):
    r"""Approximate personalized propagation of neural predictions ("Predict then Propagate", Klicpera et al.,
    ICLR 2019).

    .. math::
        Z_0 = H = \mathrm{MLP}(X), \qquad Z_{k+1} = (1 - \alpha)\,\tilde A Z_k + \alpha H

    Args:
        alpha: teleport probability, one number or one per model; 1 gives the MLP.
            (default: ``0.1``)
        options: ``steps``, ``layers`` and ``blocks`` of :class:`~magnet.nn.Propagating`, and ``hidden``, ``dropout``,
            ``input_dropout`` and ``seeds`` of :class:`~magnet.nn.Model`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, alpha: Numbers = 0.1, **options: Any) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.alpha = self.per_model("alpha", alpha)
        if not all(0 <= value <= 1 for value in self.alpha):
            raise ValueError(f"alpha is {alpha}; it must be in [0, 1]")

    def propagate(self, h: Tensor, inputs: Inputs) -> Tensor:
        return personalized(h, inputs.operators[0], self.vector(self.alpha), self.steps)


def personalized(h: Tensor, operator: Sparse, alpha: Tensor, steps: int) -> Tensor:
    """The steps of :class:`APPNP`."""
    if cpu := steps_on_cpu(h):
        return cpu.run(h, cpu.APPNP_STEPS, operator, alpha[0], steps)
    start, z = alpha * h, h
    for _ in range(steps):
        z = (1 - alpha) * (operator @ z) + start
    return z


def steps_on_cpu(h: Tensor) -> Any:
    """The module of the kernels, :mod:`magnet.nn.steps_cpu`, if they suit these values and Numba is installed."""
    if h.device.type != "cpu" or h.dtype != torch.float32 or torch.get_num_threads() > KERNEL_THREADS:
        return None
    try:
        from magnet.nn import steps_cpu
    except ImportError:
        return None
    return steps_cpu
