"""Find wrong node features with a detector and recover them from the trusted cells."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from magnet import detection
from magnet.arrays import checksum, csr_tensor, dense, is_sparse
from magnet.detection.data.columns import feature_matrix
from magnet.framelets import FrameletTransform
from magnet.graph import Graph, edge_list, is_whole_graph, need_edges
from magnet.recovery import propagate, recover

if TYPE_CHECKING:
    from torch_geometric.data import Data

Recovery = Literal["auto", "propagate", "framelet"]


@dataclass(frozen=True, eq=False)
class FeatureVerdict:
    """Result of a detector, or of a given trust matrix, for the features ``[n, d]`` of a graph."""

    detector: Any  # fitted; None where the trust was given
    columns: Any  # what the features are; None where that was not asked
    scores: Tensor  # how suspicious each cell is, as the next
    probability: Tensor
    flagged: Tensor  # bool, the cells judged wrong
    trust: Tensor  # 1 where the observed value is trusted
    share: float  # estimated share of rows with something wrong
    gate: Any  # whether the graph carries information about the rows; None if not tested


def check_features(data: Any) -> Data:
    """A graph whose features are a floating-point tensor, dense or sparse, without gradients (NumPy arrays, SciPy
    matrices, bools and integers are converted); or a ``ValueError`` with what is wrong."""
    from torch_geometric.data import HeteroData

    if isinstance(data, HeteroData):
        raise ValueError("data is a HeteroData; MAGnet needs a homogeneous Data: convert one node type")
    x = getattr(data, "x", None)
    if x is None:
        hint = "; for a data frame use magnet.clean" if hasattr(data, "columns") else ""
        raise ValueError(f"data is a {type(data).__name__} without a feature matrix x [nodes, features]{hint}")
    need_edges(data)
    if isinstance(x, Tensor) and x.dtype in (torch.float32, torch.float64):
        if x.dim() != 2:
            raise ValueError(f"data.x has shape {tuple(x.shape)}; it must be [nodes, features]")
        if not x.requires_grad:
            return data
        features: Any = x.detach()
    else:
        features = feature_matrix(x)
    data = copy.copy(data)
    if not isinstance(features, Tensor):
        features = csr_tensor(features, torch.float32, getattr(x, "device", torch.device("cpu")))
    data.x = features
    return data


def fingerprint(data: Data) -> str:
    """A digest of features, edges and weights that identifies a graph."""
    edges, weights = data.edge_index, data.get("edge_weight")
    if is_whole_graph(edges):
        edges, weights, _ = edge_list(edges)
        weights = None if weights is None else weights.astype(np.float32)
    digest = hashlib.sha256(checksum(data.x).encode())
    for part in (edges, weights):
        array = part.detach().cpu().numpy() if isinstance(part, Tensor) else np.asarray(part)
        digest.update(b"" if part is None else array.tobytes())
    return digest.hexdigest()


def judge_features(
    data: Any,
    detector: Any,
    columns: Any = None,
    trusted: Any = None,
    reference: Any = None,
    cluster: str | None = None,
) -> FeatureVerdict:
    """Which cells of ``data.x`` are wrong.

    Args:
        detector: a detector, or a given trust matrix ``[n, d]`` or ``[n]`` (1 = trusted).
        columns, trusted, reference, cluster: see :meth:`magnet.detection.Detector.fit`.
    """
    if not hasattr(detector, "fit"):
        return _given(data, detector, columns)
    fitted = copy.copy(detector)
    arguments = {"columns": columns, "trusted": trusted, "reference": reference, "cluster": cluster}
    fitted.fit(data, **{name: value for name, value in arguments.items() if value is not None})
    return FeatureVerdict(
        detector=fitted,
        columns=columns if columns is not None else fitted.columns_,
        scores=fitted.scores_,
        probability=fitted.probability_,
        flagged=fitted.flagged_,
        trust=fitted.trust_,
        share=float(fitted.share_),
        gate=getattr(fitted, "gate_", None),
    )


def _given(data: Any, trust: Any, columns: Any) -> FeatureVerdict:
    """The verdict of a given trust matrix."""
    matrix = torch.as_tensor(trust, dtype=torch.float32, device=data.x.device)
    shape = (data.x.shape[0], data.x.shape[1])
    if matrix.dim() == 1:
        matrix = matrix[:, None]
    if matrix.shape not in (shape, (shape[0], 1)):
        raise ValueError(f"the given trust has shape {list(matrix.shape)}; x has {list(shape)}")
    if not bool(((matrix >= 0) & (matrix <= 1)).all()):
        raise ValueError("the given trust holds values outside 0 to 1, or missing ones")
    matrix = matrix.expand(shape)
    if not is_sparse(data.x):
        matrix = torch.where(data.x.isnan(), matrix.new_zeros(()), matrix)
    distrust = 1 - matrix
    flagged = distrust > 0.5
    share = float(flagged.any(dim=1).float().mean())
    return FeatureVerdict(None, columns, distrust, distrust, flagged, matrix, share, None)


def recover_features(
    x: Tensor,
    trust: Tensor,
    graph: Graph,
    recovery: Recovery = "auto",
    options: dict[str, Any] | None = None,
    cluster: str | None = None,
) -> Tensor:
    """``x`` (NaN where a value is missing) with untrusted cells replaced by values recovered from the trusted ones.

    ``recovery="propagate"`` (or ``"auto"``) extends the trusted values harmonically over the graph, ``"framelet"`` is
    the paper's sparse recovery; ``options`` are further arguments of the one or the other.
    """
    if bool((trust >= 1).all()):
        return x
    arguments = {"coordinates": "degree", "cluster": cluster, **(options or {})}
    if recovery == "framelet":
        transform = FrameletTransform(graph)
        return recover(x, trust, transform, **{"keep_trusted": True, "start": "propagated", **arguments}).x
    if not is_sparse(x):
        # no evidence: an isolated node takes the column's median instead of keeping a wrong value
        x = torch.where(trust > 0, x, torch.full_like(x, torch.nan))
    return propagate(x, trust, graph, **{"lam": 0.0, **arguments}).x


def list_features(observed: Tensor, recovered: Tensor, verdict: FeatureVerdict) -> pd.DataFrame:
    """The flagged cells of a feature matrix, the most probable first."""
    row, column = verdict.flagged.nonzero(as_tuple=True)

    def at(values: Tensor) -> Any:
        return dense(values)[row, column].detach().cpu().numpy()

    cells = pd.DataFrame(
        {
            "node": row.cpu().numpy(),
            "column": column.cpu().numpy(),
            "observed": at(observed),
            "suggested": at(recovered),
            "score": at(verdict.scores),
            "probability": at(verdict.probability),
        }
    )
    return cells.sort_values(["probability", "score"], ascending=False, kind="stable", ignore_index=True)


def make_detector(detector: Any, nodes: int, **settings: Any) -> Any:
    """A detector by name (``"none"`` trusts everything), or the given detector or trust matrix."""
    if not isinstance(detector, str):
        return detector
    return torch.ones(nodes) if detector == "none" else detection.make(detector, **settings)
