"""The recovery problem: checked settings, the objective, its weights, and the way into solver coordinates and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

import torch
from torch import Tensor

from magnet import prox
from magnet.checks import at_least, one_of
from magnet.framelets import FrameletTransform
from magnet.recovery.io.columns import fill_missing
from magnet.scales import NORMAL_MAD
from magnet.threads import map_threads

#: Largest gap of the frame bounds to 1 at which the kernels may leave the low-pass band implicit.
TIGHT = 1e-6

#: Columns whose spread is estimated at a time on a CPU: there are a dozen arrays of their size.
SPREAD_COLUMNS = 64

#: Spreads below this part of the root mean square are those of bands that are 0 in most cells (not swept).
TINY_SPREAD = 0.01

#: ``preset="paper"``: 15 iterations of Zhou et al. (2023) with their weights; ``"default"``: ours.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {"nu0": "auto", "gamma": "auto", "inertia": 0.15, "max_iter": 200, "tol": 1e-3},
    "paper": {"nu0": 10.0, "gamma": 10.0, "inertia": 0.0, "max_iter": 15, "tol": 0.0},
}


@dataclass(frozen=True)
class Settings:
    """The options of :func:`magnet.recover`, checked. See there for their meaning."""

    p: float = 1.0
    q: float = 2.0
    nu0: Any = "auto"
    strength: float = 1.0
    gamma: Any = "auto"
    inertia: float = 0.15
    max_iter: int = 200
    tol: float = 1e-3
    penalty: Literal["element", "group"] = "element"
    coordinates: Literal["plain", "degree"] = "plain"
    degree_weights: bool = True
    start: Literal["observed", "propagated"] = "observed"
    keep_trusted: bool = False
    hard: prox.Hard = "exact"
    inner: Literal["closed", "cg", "gd"] = "closed"
    inner_steps: int = 10
    balance: bool = False
    variant: Literal["exact", "released"] = "exact"

    def __post_init__(self) -> None:
        prox.check_p(self.p)
        prox.check_q(self.q)
        for name, kind in get_type_hints(Settings).items():
            if words := get_args(kind):  # of a Literal
                one_of(name, getattr(self, name), words)
        if isinstance(self.nu0, str):
            one_of("nu0", self.nu0, ("auto",))
        elif not isinstance(self.nu0, Tensor):
            at_least("nu0", self.nu0, 0)
        if isinstance(self.gamma, str):
            one_of("gamma", self.gamma, ("auto",))
        elif not (float(torch.as_tensor(self.gamma).detach().min()) > 0):
            raise ValueError(f"gamma is {self.gamma}; it must be positive or 'auto'")
        at_least("strength", self.strength, 0)
        at_least("tol", self.tol, 0)
        at_least("max_iter", self.max_iter, 1)
        at_least("inner_steps", self.inner_steps, 1)
        if not 0 <= self.inertia < 1 / 3:
            raise ValueError(f"inertia is {self.inertia}; it must lie in [0, 1/3), where convergence is proved")
        if self.penalty == "group" and self.p != 1:
            raise ValueError(f"p is {self.p} with penalty='group'; the group penalty is defined for p = 1")
        if self.inner != "closed" and self.q != 2:
            raise ValueError(f"q is {self.q} with inner={self.inner!r}; the inexact solvers are for q = 2")
        if self.inner != "closed" and self.keep_trusted:
            raise ValueError("keep_trusted needs inner='closed'")


@dataclass(frozen=True)
class Problem:
    r"""One solve, in solver coordinates.

    .. math::
        \min_U \; \sum_b \sum_{i,j} \nu_{b,j}\, d_i\, |(W_b U)_{ij}|^p
                 + \tfrac12 \sum_{i,j} \omega_{ij} |U_{ij} - X_{ij}|^q,
        \qquad \omega_{ij} = d_i M_{ij}^q.
    """

    transform: FrameletTransform
    settings: Settings
    X: Tensor  # [n, d] observations; any finite number where the trust is 0
    M: Tensor  # [n, d] trust
    d: Tensor  # [n, 1] degree weights (ones when they are off)
    nu: Tensor  # [bands, d] or [bands, 1] penalty weights
    gamma: Tensor  # [d] or [1] step parameter of each column

    @property
    def omega(self) -> Tensor:
        return self.d * self.M**self.settings.q

    @property
    def low_pass_is_implicit(self) -> bool:
        """Whether the low-pass band is not penalized and ``W^T W = I`` gives it from the others."""
        lower, upper = self.transform.frame_bounds()
        return max(upper - 1, 1 - lower) <= TIGHT and not bool(self.nu[0].any())

    def penalty(self, coefficients: Tensor) -> Tensor:
        """``h``: the penalty of some coefficients ``[bands, n, d]``, per column ``[d]``.

        The group penalty has no columns: its total is shared out evenly.
        """
        nu = self.nu.unsqueeze(1)
        if self.settings.penalty == "group":
            rows = torch.linalg.vector_norm(coefficients, dim=-1, keepdim=True)
            columns = coefficients.shape[-1]
            return (nu[..., :1] * self.d * rows).sum().expand(columns) / columns
        p = self.settings.p
        size = (coefficients != 0).to(coefficients.dtype) if p == 0 else coefficients.abs() ** p
        return (nu * self.d * size).sum(dim=(0, 1))

    def fidelity(self, U: Tensor) -> Tensor:
        """``f``: half the weighted distance to the observations, per column."""
        difference = (U - self.X).abs() ** self.settings.q
        if self.settings.keep_trusted:
            difference = torch.where(self.M == 1, torch.zeros_like(difference), difference)
        return (0.5 * self.omega * difference).sum(dim=0)


@dataclass(frozen=True)
class Prepared:
    """A problem, where its iteration starts, and the way back to the user's units."""

    problem: Problem
    start: Tensor
    observed: Tensor
    center: Tensor | None
    root: Tensor | None

    def to_solver(self, values: Tensor) -> Tensor:
        if self.center is None or self.root is None:
            return values
        return self.root * (values - self.center)

    def to_user(self, U: Tensor) -> Tensor:
        """The recovered columns. Isolated nodes keep their observed values."""
        if self.center is not None and self.root is not None:
            U = U / self.root + self.center
        isolated = self.problem.transform.graph.isolated
        if isolated.any():
            U = torch.where(torch.as_tensor(isolated, device=U.device).unsqueeze(1), self.observed, U)
        if self.problem.settings.keep_trusted:
            U = torch.where(self.problem.M == 1, self.observed, U)
        return U


def prepare(x: Tensor, trust: Tensor, transform: FrameletTransform, settings: Settings, first: int = 0) -> Prepared:
    """Check some columns (``first`` is the number of the first one, for messages) and set up their problem."""
    observed, median = fill_missing(x, trust, first, always=settings.coordinates == "degree")
    # an untrusted value only serves as the start; with a fixed number of iterations (tol = 0) it is used as in the
    # paper
    near = settings.start == "observed" and settings.tol > 0
    X, center, root = _within_trusted(observed, trust) if near else observed, None, None
    if settings.coordinates == "degree" and median is not None:
        center = median
        root = torch.sqrt(torch.as_tensor(transform.graph.degree_weights).to(x)).unsqueeze(1)
        X = root * (X - center)
    start = X
    if settings.start == "propagated":
        from magnet.recovery.propagation import harmonic

        start = harmonic(X, trust, transform.graph)
    d = torch.ones(X.shape[0], 1, dtype=X.dtype, device=X.device)
    if settings.degree_weights and settings.coordinates == "plain":
        d = torch.as_tensor(transform.graph.degree_weights).to(d).unsqueeze(1)
    problem = Problem(
        transform=transform,
        settings=settings,
        X=X,
        M=trust,
        d=d,
        nu=penalty_weights(settings, transform, start, trust),
        gamma=step_parameter(settings, d, X, trust),
    )
    kept_values = observed if median is None else torch.where(torch.isfinite(x), x, observed)
    return Prepared(problem, start, kept_values, center, root)


def _within_trusted(x: Tensor, trust: Tensor) -> Tensor:
    """Untrusted cells clamped to the range of the trusted cells of their column.

    From farther away, the iteration would stop before it has converged.
    """
    untrusted = trust == 0
    if not bool(untrusted.any()):
        return x
    low = torch.where(untrusted, torch.inf, x.detach()).amin(dim=0)
    high = torch.where(untrusted, -torch.inf, x.detach()).amax(dim=0)
    return torch.where(untrusted & (low <= high), torch.clamp(x, low, high), x)


def penalty_weights(settings: Settings, transform: FrameletTransform, start: Tensor, trust: Tensor) -> Tensor:
    r"""``nu``, ``[bands, d]`` for ``"auto"`` and ``[bands, 1]`` for a number.

    A number gives :math:`\nu_l = 4^{-l-1} \nu_0` (``variant="released"``: :math:`\nu_0 / 4^{l-1}`).
    ``"auto"`` is relative to the data: :math:`\nu_b = \mathrm{strength} \cdot \sigma^{q-p}` with
    :math:`\sigma` the spread of the coefficients at trusted cells, so that scaling x scales the result.
    The low-pass band is never penalized.
    """
    if isinstance(settings.nu0, Tensor) and settings.nu0.dim() > 0:
        if settings.nu0.shape[0] != transform.num_bands:
            found = list(settings.nu0.shape)
            raise ValueError(f"nu0 has shape {found}; a tensor gives one weight per band ({transform.num_bands})")
        return settings.nu0.to(start).reshape(transform.num_bands, -1)
    levels = torch.as_tensor(transform.band_levels, dtype=start.dtype, device=start.device)
    if not isinstance(settings.nu0, str):
        first = levels - 1 if settings.variant == "released" else levels + 1
        return (settings.nu0 * 4.0**-first * (levels > 0)).unsqueeze(1)
    with torch.no_grad():
        if settings.penalty == "group":
            sigma = _row_spread(transform.analysis(start))
        else:
            width = SPREAD_COLUMNS if start.device.type == "cpu" else start.shape[1]
            parts = list(zip(start.split(width, dim=1), trust.split(width, dim=1), strict=True))
            threads = torch.get_num_threads()
            sigma = torch.cat(map_threads(lambda part: _spreads(transform, *part), parts, threads), dim=1)
        return settings.strength * sigma ** (settings.q - settings.p) * (levels > 0).unsqueeze(1)


def step_parameter(settings: Settings, d: Tensor, X: Tensor, trust: Tensor) -> Tensor:
    r"""``gamma`` per column, ``[d]`` or ``[1]``.

    ``"auto"`` is twice the mean degree weight (on Cora and digits 1 and 3 times it took the fewest iterations for
    q = 2), times :math:`s^{q-2}` with s the root mean square of the column's trusted cells, which makes every iterate
    (not only the limit) scale with the data.
    """
    if not isinstance(settings.gamma, str):
        return torch.as_tensor(settings.gamma, dtype=X.dtype, device=X.device).reshape(-1)
    base = 2 * d.mean().reshape(1)
    if settings.q == 2:
        return base
    with torch.no_grad():
        weight = (trust > 0).to(X.dtype)
        scale = torch.sqrt((weight * X**2).sum(0) / weight.sum(0).clamp(min=1))
        if settings.penalty == "group":
            scale = scale.square().mean().sqrt().reshape(1)
        return base * torch.where(scale > 0, scale, torch.ones_like(scale)) ** (settings.q - 2)


@torch.no_grad()
def _spreads(transform: FrameletTransform, x: Tensor, trust: Tensor) -> Tensor:
    """Robust standard deviation ``[bands, d]`` of the coefficients of some columns at trusted cells: 1.4826 MAD, or the
    rms where that is tiny."""
    bands, untrusted = transform.analysis(x.contiguous()), trust <= 0.5
    count = (~untrusted).sum(0)
    found = []
    for band in bands:  # one at a time and in place: the coefficients are several times as large as x
        rms = torch.sqrt(band.square().masked_fill_(untrusted, 0.0).sum(0) / count.clamp(min=1))
        band.masked_fill_(untrusted, torch.nan)
        mad = NORMAL_MAD * band.sub_(band.nanmedian(dim=0).values).abs_().nanmedian(dim=0).values
        found.append(torch.where((count > 0) & (mad >= TINY_SPREAD * rms), mad, rms))
    return torch.stack(found)


def _row_spread(coefficients: Tensor) -> Tensor:
    """The typical row norm of each band ``[bands, 1]``: the median, or the rms where that is tiny."""
    rows = torch.linalg.vector_norm(coefficients, dim=-1)
    median = rows.median(dim=1).values
    rms = rows.square().mean(dim=1).sqrt()
    return torch.where(median >= TINY_SPREAD * rms, median, rms).unsqueeze(1)
