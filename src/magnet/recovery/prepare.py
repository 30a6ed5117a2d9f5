"""From the user's columns to a problem in solver coordinates, and back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from magnet.framelets import FrameletTransform
from magnet.recovery.problem import Problem, Settings, degree_weights, penalty_weights, step_parameter


@dataclass(frozen=True)
class Prepared:
    """A problem, where its iteration starts, and the way back to the user's units."""

    problem: Problem
    start: Tensor
    observed: Tensor
    trust: Tensor
    centre: Tensor | None
    root: Tensor | None

    def to_solver(self, values: Tensor) -> Tensor:
        if self.centre is None or self.root is None:
            return values
        return self.root * (values - self.centre)

    def to_user(self, U: Tensor) -> Tensor:
        """The recovered columns. Isolated nodes have no neighbours to learn from and keep what they had."""
        if self.centre is not None and self.root is not None:
            U = U / self.root + self.centre
        isolated = self.problem.transform.graph.isolated
        if isolated.any():
            U = torch.where(torch.as_tensor(isolated, device=U.device).unsqueeze(1), self.observed, U)
        if self.problem.settings.keep_trusted:
            U = torch.where(self.trust == 1, self.observed, U)
        return U


def prepare(x: Tensor, trust: Tensor, transform: FrameletTransform, settings: Settings, first: int = 0) -> Prepared:
    """Check some columns (``first`` is the number of the first one, for messages) and set up their problem."""
    observed, median = fill_missing(x, trust, first, always=settings.coordinates == "degree")
    X, centre, root = observed, None, None
    if settings.coordinates == "degree" and median is not None:
        centre = median
        root = torch.sqrt(torch.as_tensor(transform.graph.degree_weights).to(x)).unsqueeze(1)
        X = root * (observed - centre)
    start = X
    if settings.start == "propagated":
        from magnet.recovery.propagation import harmonic

        start = harmonic(X, trust, transform.graph)
    d = degree_weights(transform, settings, X)
    problem = Problem(
        transform=transform,
        settings=settings,
        X=X,
        M=trust,
        d=d,
        nu=penalty_weights(settings, transform, start, trust),
        gamma=step_parameter(settings, d, X, trust),
    )
    return Prepared(problem, start, observed, trust, centre, root)


def fill_missing(x: Tensor, trust: Tensor, first: int, always: bool = False) -> tuple[Tensor, Tensor | None]:
    """Check x and trust; put the trusted column median where an untrusted cell holds no number.

    Returns the filled x and the medians (``None`` where nothing was missing, unless ``always``).
    """
    lowest, highest = torch.aminmax(trust.detach())
    if not (lowest >= 0 and highest <= 1):
        bad = trust[~((trust >= 0) & (trust <= 1))][0].item()
        raise ValueError(f"trust holds {bad:g}; every trust must lie in [0, 1]")
    finite = torch.isfinite(x)
    complete = bool(finite.all())
    if not complete and bool((~finite & (trust > 0)).any()):
        row, column = (~finite & (trust > 0)).nonzero()[0].tolist()
        raise ValueError(
            f"x holds {x[row, column].item()} at node {row}, feature {first + column}, whose trust is "
            f"{trust[row, column].item():g}; a cell without a finite number needs trust 0"
        )
    if complete and not always:
        return x, None
    median = trusted_median(x, trust, finite)
    return (x if complete else torch.where(finite, x, median)), median


def trusted_median(x: Tensor, trust: Tensor, finite: Tensor) -> Tensor:
    """Median of each column ``[d]`` over the cells with trust above 1/2, or any trust, or 0."""
    with torch.no_grad():
        nothing = torch.full_like(x, torch.nan)
        strict = torch.where(finite & (trust > 0.5), x, nothing).nanmedian(dim=0).values
        loose = torch.where(finite & (trust > 0), x, nothing).nanmedian(dim=0).values
        return torch.where(strict.isnan(), loose, strict).nan_to_num(0.0)
