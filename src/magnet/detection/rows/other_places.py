"""Each row compared with itself at other nodes: rows that fit everywhere, or nowhere, are not evidence."""

from __future__ import annotations

import torch
from torch import Tensor

from magnet.detection.rows.logistic import CrossFit


def compare_with_other_places(
    logit: Tensor,
    probes: tuple[Tensor, Tensor, Tensor],
    nodes: tuple[Tensor, Tensor, Tensor],
    weight: Tensor,
    known: Tensor,
    half: Tensor,
    training: int,
) -> tuple[Tensor, Tensor]:
    r"""How well a row fits its node, by the standards of this row and of this node.

    A long row has something in common with every neighborhood, a short one with few, and a null made of random rows
    does not match rows that were chosen to be far. So the logit :math:`\ell_{ij}` of row i at node j is judged beside
    the mean and deviation of the same row at other nodes, and of other rows at the same node: a logistic regression on

    .. math::
        (\ell_{ij},\; \bar\ell_{i \cdot},\; s_{i \cdot},\; \bar\ell_{\cdot j},\; s_{\cdot j}),

    real pairs against both kinds of permuted ones, cross-fitted.

    Args:
        logit: of the real pairs ``[n]``.
        probes: logits ``[n, K]`` of some rows at every node, which of these pairs are permuted ones, and the numbers of
            the rows ``[K]``.
        nodes: logits ``[n, J]`` of every row at some nodes, which of these pairs are permuted ones, and the numbers of
            the nodes ``[J]``.
        weight: of the real pairs ``[n]``.
        known: bool ``[n]``, nodes whose rows are judged.
        half: which of two halves each node belongs to ``[n]``.
        training: permuted pairs of each kind per node that the regression is fitted on.

    Returns:
        logits ``[n]`` of the real pairs and ``[n, J]`` of every row at the other nodes, its own null distribution.
    """
    at_node, allowed, rows = probes
    of_row, elsewhere, places = nodes
    row_mean, row_spread, without = _moments(of_row, elsewhere)
    node_mean, node_spread, _ = _moments(at_node, allowed)

    def features(own: Tensor, *parts: Tensor) -> Tensor:
        return torch.stack(torch.broadcast_tensors(own, *parts), dim=-1)

    real = features(logit, row_mean, row_spread, node_mean, node_spread)
    # this many pairs per node, different for each node, so that all rows and nodes are used
    node = torch.arange(logit.numel(), device=logit.device)[:, None]
    there, k = (
        (node + torch.arange(min(training, m), device=logit.device)) % m for m in (places.numel(), rows.numel())
    )
    at, row = places[there], rows[k]
    other = features(of_row[node, there], without[node, there], row_spread[:, None], node_mean[at], node_spread[at])
    probe = features(at_node[node, k], row_mean[row], row_spread[row], node_mean[:, None], node_spread[:, None])
    permuted = [(elsewhere[node, there], other.__getitem__), (allowed[node, k], probe.__getitem__)]
    model = CrossFit.of(real, weight, permuted, known, half)
    elsewhere_logit = torch.empty_like(of_row)
    for j, place in enumerate(places):
        moved = features(of_row[:, j], without[:, j], row_spread, node_mean[place], node_spread[place])
        elsewhere_logit[:, j] = model.logit(moved, half)
    return model.logit(real, half), elsewhere_logit


def _moments(values: Tensor, use: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and deviation ``[n]`` over the used values ``[n, m]``, and the mean without each of them ``[n, m]``."""
    values = values.masked_fill(~use, 0.0)
    count, total = use.sum(dim=1).clamp_min(2).float(), values.sum(dim=1)
    mean = total / count
    spread = ((values - mean[:, None]).square() * use).sum(dim=1) / (count - 1)
    return mean, spread.sqrt(), (total[:, None] - values) / (count[:, None] - 1)
