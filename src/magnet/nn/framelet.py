"""Recovery as a layer: the inertial ADMM unrolled, with weights that are learned."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from magnet.framelets import FrameletTransform
from magnet.graph import Graph
from magnet.nn.features import Features
from magnet.nn.gcn import GCN
from magnet.nn.model import Inputs, Nodes
from magnet.recovery import recover


class FrameletDenoise(nn.Module):
    r"""K steps of the inertial ADMM of :func:`magnet.recover` with learnable :math:`\nu` and :math:`\gamma`.

    .. math::
        \min_U \sum_b \nu_b \|W_b U\|_{1,G} + \tfrac12 \|M \odot (U - X)\|_{q,G}^q

    :math:`\nu_b` (one for each high-pass band; the low-pass has none) and :math:`\gamma` are kept positive by a
    softplus. The layer is differentiable in ``x``, the trust, and both.

    Args:
        bands: number of bands of the transform, ``1 + K * levels``.
        steps: K, number of unrolled iterations. (default: ``5``)
        nu: initial :math:`\nu_b` of the first level; level l starts at ``nu / 4^(l-1)``. (default: ``0.01``)
        gamma: initial :math:`\gamma`. (default: ``1``)
        inertia: inertia of the ADMM. (default: ``0.15``)
        q: exponent of the fidelity. (default: ``2``)
        degree_weights: weight the norms by the degree. (default: ``False``)
        coordinates: as for :func:`magnet.recover`. (default: ``"plain"``)

    Example:
        >>> W = FrameletTransform([[0, 1, 2, 3], [1, 2, 3, 0]], num_nodes=4, levels=1)
        >>> layer = FrameletDenoise(W.num_bands, steps=3)
        >>> layer(torch.tensor([[1.0], [1.0], [9.0], [1.0]]), W).shape
        torch.Size([4, 1])
    """

    def __init__(
        self,
        bands: int,
        steps: int = 5,
        nu: float = 0.01,
        gamma: float = 1.0,
        inertia: float = 0.15,
        q: float = 2.0,
        degree_weights: bool = False,
        coordinates: str = "plain",
    ) -> None:
        super().__init__()
        if bands < 2 or steps < 1:
            raise ValueError(f"bands is {bands} and steps {steps}; at least 2 and 1 are needed")
        if nu <= 0 or gamma <= 0:
            raise ValueError(f"nu is {nu} and gamma {gamma}; both must be positive")
        self.steps, self.inertia, self.q = steps, inertia, q
        self.degree_weights, self.coordinates = degree_weights, coordinates
        starts = [nu / 4**level for level in range(bands - 1)]
        # The models' axis is the second one, as for every parameter here; there is one model.
        self.raw_nu = nn.Parameter(torch.tensor([_inverse_softplus(value) for value in starts]).view(-1, 1))
        self.raw_gamma = nn.Parameter(torch.tensor([[_inverse_softplus(gamma)]]))

    @property
    def nu(self) -> Tensor:
        """The weights of all bands, the low-pass in front."""
        high = softplus(self.raw_nu).flatten()
        return torch.cat([high.new_zeros(1), high])

    @property
    def gamma(self) -> Tensor:
        return softplus(self.raw_gamma).flatten()

    def forward(self, x: Tensor, W: FrameletTransform, trust: Tensor | None = None) -> Tensor:
        """Denoised features ``[n, d]``."""
        result = recover(
            x,
            trust,
            W,
            p=1.0,
            q=self.q,
            nu0=self.nu,
            gamma=self.gamma,
            inertia=self.inertia,
            max_iter=self.steps,
            tol=0.0,
            degree_weights=self.degree_weights,
            coordinates=self.coordinates,  # type: ignore[arg-type]
            backend="torch",
            history=False,
        )
        return result.x


class DenoisedGCN(GCN):
    r"""A GCN behind a :class:`FrameletDenoise`, trained end to end; one model at a time.

    .. math:: \mathrm{scores} = \mathrm{GCN}(\mathrm{denoise}_{\nu, \gamma}(H)), \qquad H = X \text{ or } X W_0

    Args:
        in_channels: number of features.
        out_channels: number of classes.
        at: ``"input"`` denoises the features, ``"hidden"`` their first linear image, of ``hidden`` columns, which is
            much cheaper. (default: ``"hidden"``)
        levels: of the framelet transform. (default: ``2``)
        degree: of its Chebyshev series. (default: ``8``)
        steps: iterations of :class:`FrameletDenoise`. (default: ``5``)
        nu: where its thresholds start. (default: ``0.01``)
        gamma: where its step parameter starts. (default: ``1``)
        trust: ``[n]``, or ``[n, d]`` for ``at="input"``. (default: everything is trusted)
        options: further arguments of :class:`~magnet.nn.GCN`: ``layers``, ``hidden``, ``dropout`` ...
    """

    undecayed = ("denoise.",)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        at: str = "hidden",
        levels: int = 2,
        degree: int = 8,
        steps: int = 5,
        nu: float = 0.01,
        gamma: float = 1.0,
        trust: Tensor | None = None,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        if len(self.seeds) != 1:
            raise ValueError(f"seeds holds {len(self.seeds)} seeds; DenoisedGCN trains one model at a time")
        if at not in ("input", "hidden"):
            raise ValueError(f"at is {at!r}; it must be 'input' or 'hidden'")
        if at == "hidden" and trust is not None and trust.dim() != 1:
            raise ValueError(f"trust has shape {tuple(trust.shape)}; at='hidden' needs one number for each node")
        self.at, self.levels, self.degree = at, levels, degree
        self.denoise = FrameletDenoise(1 + levels, steps=steps, nu=nu, gamma=gamma)
        self.trust = trust

    def prepare(self, features: Features, graph: Graph, nodes: Nodes | None = None, once: bool = False) -> Inputs:
        inputs = self.hop_inputs(features, graph, nodes, len(self.layers), once=True, whole=True)
        key = ("framelets", self.levels, self.degree)
        if key not in graph.cache:
            graph.cache[key] = FrameletTransform(graph, levels=self.levels, degree=self.degree)
        inputs.extra = graph.cache[key]
        if self.at == "input" and features.dense is None:
            dense = torch.from_numpy(features.sparse.toarray()).to(self.like)  # type: ignore[union-attr]
            inputs.features = Features(dense.unsqueeze(0), None, 1, self.like)
        return inputs

    def compute(self, inputs: Inputs) -> Tensor:
        if self.at == "input":
            assert inputs.features.dense is not None
            trust = None if self.trust is None else self.trust.to(self.like)
            clean = self.denoise(inputs.features.dense[0], inputs.extra, trust)
            features = Features(clean.unsqueeze(0), None, 1, self.like)
            return super().compute(Inputs(features, inputs.operators, keep=inputs.keep))
        first: Any = self.layers[0]
        h = inputs.features.linear(first.weight, self.dropout(input=True))
        trust = None if self.trust is None else self.trust.to(self.like)
        h = inputs.operators[0] @ self.denoise(h[:, 0], inputs.extra, trust).unsqueeze(1)
        return inputs.kept(self.after_first(first.shifted(h), inputs.operators[1:]))


def _inverse_softplus(value: float) -> float:
    return value if value > 20 else math.log(math.expm1(value))
