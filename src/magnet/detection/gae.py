"""``gae``: the paper's graph autoencoder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.utils.checkpoint import checkpoint

from magnet.arrays import csr_tensor
from magnet.detection.base import Detector, track
from magnet.detection.data.dataset import DetectionData
from magnet.detection.options import MIN_SQUARE
from magnet.detection.thresholds import tail_probability
from magnet.detection.verdict import JudgedCells, Verdict

PAPER_TAU = 0.1  # the paper's threshold of the score
# The paper's epochs: ten times as many from 10 000 nodes on.
LARGE_NODES, SMALL_EPOCHS, LARGE_EPOCHS = 10_000, 1000, 10_000
# A step over all columns at once holds about this many copies of the features.
WORKING_COPIES = 12
# A range of columns, and their observed values where they are kept.
Block = tuple[int, int, Tensor | None]


@dataclass(kw_only=True, eq=False, repr=False)
class GAE(Detector):
    r"""Two encoding and two decoding graph convolutions; the score is the reconstruction error (Zhou et al., WWW 2023).

    .. math::
        \min_\theta \frac1n \sum_i \|X_i - X'_i\|_{1 \text{ or } 2}, \qquad \text{score} = |X - X'|, \qquad
        \text{trust} = [\text{score} \le \tau].

    Kept for comparison. It sees each node itself, so it learns to repeat the error. Almost every row has some cell
    above :math:`\tau`, so trust is the paper's but flags need more: the probability is :math:`P_i\, s / (s + \tau)`,
    where :math:`P_i` is the probability that the error of the whole row stands out
    (:func:`~magnet.detection.thresholds.tail_probability`). It is not calibrated.

    Args:
        loss: ``"mse"`` (the 2-norm of each row) or ``"mae"`` (the 1-norm). (default: ``"mse"``)
        tau: threshold of the score. Where it is given, all cells above it are flagged, as in the paper.
            (default: 0.1 for trust)
        epochs: (default: ``1000``, and 10 000 from 10 000 nodes on, as in the paper)
        hidden: width of the network. (default: ``64``)
        dropout: of its hidden layers. (default: ``0.3``)
        learning_rate: learning rate of Adam. (default: ``1e-3``)
        weight_decay: of Adam. (default: ``0``)

    ``reconstruction_`` ``[n, d]`` is :math:`X'`, ``loss_`` the loss in the last epoch.
    """

    loss: Literal["mse", "mae"] = "mse"
    tau: float | None = None
    epochs: int | None = None
    hidden: int = 64
    dropout: float = 0.3
    learning_rate: float = 1e-3
    weight_decay: float = 0.0

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.loss not in ("mse", "mae"):
            raise ValueError(f"loss is {self.loss!r}; it must be 'mse' or 'mae'")
        if self.tau is not None and not self.tau > 0:
            raise ValueError(f"tau is {self.tau}; it must be positive")

    def _detect(self, data: DetectionData) -> Verdict:
        a = data.graph.adjacency.tocoo()
        edge_index = torch.stack([torch.from_numpy(v.astype("int64")) for v in (a.row, a.col)]).to(data.device)
        weight = torch.from_numpy(a.data).float().to(data.device)
        x, blocks = _network_input(data)
        on_gpu = data.device.type == "cuda"
        with torch.enable_grad(), torch.random.fork_rng(devices=[data.device] if on_gpu else []):
            torch.manual_seed(self.seed)
            network = Autoencoder(data.num_features, self.hidden, self.dropout).to(data.device)
            optimizer = torch.optim.Adam(
                network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay, capturable=on_gpu
            )

            def step() -> Tensor:
                optimizer.zero_grad()
                loss = reconstruction_loss(network, network.code(x, edge_index, weight), data, blocks, self.loss)
                loss.backward()
                optimizer.step()
                return loss.detach()

            network.train()
            train = recorded(step) if on_gpu and len(blocks) == 1 else step
            epochs = self.epochs or (SMALL_EPOCHS if data.num_nodes < LARGE_NODES else LARGE_EPOCHS)
            if self.epochs is None and epochs == LARGE_EPOCHS and not on_gpu:
                warnings.warn(
                    f"gae trains {epochs} epochs on graphs of {LARGE_NODES} nodes and more (here {data.num_nodes}): "
                    "hours on a CPU; give fewer epochs, or device='cuda'",
                    stacklevel=3,
                )
            for _ in track(range(epochs), "training the autoencoder", self.progress):
                loss = train()
            network.eval()
            with torch.no_grad():
                self._network, self._code = network, network.code(x, edge_index, weight)
        self.loss_ = float(loss)
        total, worst = torch.zeros(2, data.num_nodes, device=data.device)
        for first, last in data.ranges():
            score = self._score(data, first, last)
            total += score.square().sum(dim=1) if self.loss == "mse" else score.sum(dim=1)
            worst = torch.maximum(worst, self._distrust(data, first, last).max(dim=1).values)
        node_scores = total.sqrt() if self.loss == "mse" else total
        p_row = torch.ones_like(worst) if self.tau is not None else tail_probability(node_scores)[0]
        worst = p_row * worst
        share = float((worst > 0.5).float().mean())
        judge = partial(self._judge, data, p_row)  # no local function: fitted detectors can be stored
        return Verdict(data, node_scores, worst, share, cells=judge, distrust=partial(self._distrust, data))

    def _judge(self, data: DetectionData, p_row: Tensor, first: int, last: int) -> JudgedCells:
        return JudgedCells(p_row[:, None] * self._distrust(data, first, last), lambda: self._score(data, first, last))

    def _score(self, data: DetectionData, first: int, last: int) -> Tensor:
        with torch.no_grad():
            rebuilt = self._network.reconstruct(self._code, first, last)
        return (data.original(first, last) - rebuilt).abs().nan_to_num()

    def _distrust(self, data: DetectionData, first: int, last: int) -> Tensor:
        """``s / (s + tau)``, which is 1/2 at the threshold."""
        score = self._score(data, first, last)
        probability = score / (score + (self.tau or PAPER_TAU))
        exempt = data.exempt(first, last)
        return probability if exempt is None else probability.masked_fill(exempt, 0.0)

    @property
    def reconstruction_(self) -> Tensor:
        verdict = self._fitted
        with torch.no_grad():
            return self._network.reconstruct(self._code, 0, verdict.data.num_features).to(verdict.device)


def _network_input(data: DetectionData) -> tuple[Any, list[Block]]:
    """The input and the target of the network, in one block if memory allows it."""
    on_gpu = data.device.type == "cuda"
    size = WORKING_COPIES * 4 * data.num_nodes * data.num_features
    whole = on_gpu and size < torch.cuda.mem_get_info(data.device)[0]
    ranges = [(0, data.num_features)] if whole else list(data.ranges())
    if data.matrix is not None and not whole:
        matrix = data.matrix
        if data.units is not None:
            rows, columns = (sp.diags(unit.cpu().numpy()) for unit in data.units)
            matrix = sp.csr_matrix(rows @ matrix @ columns)
        return csr_tensor(matrix, torch.float32, data.device), [(*each, None) for each in ranges]
    x = data.original(0, data.num_features)
    blocks: list[Block] = [(first, last, x[:, first:last]) for first, last in ranges]
    return x if data.missing is None else x.where(~data.missing, x.nanmean(dim=0).nan_to_num()), blocks


def reconstruction_loss(
    network: Autoencoder, code: Tensor, data: DetectionData, blocks: Sequence[Block], loss: Literal["mse", "mae"]
) -> Tensor:
    """Mean over the rows of the norm of the residual, a range of columns at a time."""

    def row_loss(first: int, last: int, block: Tensor | None) -> Tensor:
        observed = data.original(first, last) if block is None else block
        residual = (network.reconstruct(code, first, last) - observed).nan_to_num()
        return (residual.square() if loss == "mse" else residual.abs()).sum(dim=1)

    if len(blocks) == 1:
        total = row_loss(*blocks[0])
    else:
        total = torch.stack([checkpoint(row_loss, *each, use_reentrant=False) for each in blocks]).sum(dim=0)
    return (total.clamp_min(MIN_SQUARE).sqrt() if loss == "mse" else total).mean()


class Autoencoder(nn.Module):
    """Four GCN layers with batch norm, ReLU and dropout between them; the last product with the weights is computed for
    a range of columns."""

    def __init__(self, features: int, hidden: int, rate: float) -> None:
        super().__init__()
        from torch_geometric.nn import GCNConv  # four seconds, which other detectors do not need

        conv = partial(GCNConv, cached=True)  # the graph is always the same
        self.convolutions = nn.ModuleList([conv(features, hidden), conv(hidden, hidden), conv(hidden, hidden)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(hidden) for _ in range(3)])
        self.last = conv(hidden, hidden, bias=False)
        self.last.lin = nn.Identity()
        self.weight = nn.Parameter(torch.empty(hidden, features))
        self.bias = nn.Parameter(torch.zeros(features))
        nn.init.xavier_uniform_(self.weight)
        self.rate = rate

    def code(self, x: Any, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        """The propagated input of the last layer's weights."""
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = convolution(x, edge_index, edge_weight)
            x = (norm(x) if x.shape[0] > 1 else x).relu()  # one row has no variance to divide by
            x = dropout(x, self.rate, self.training)
        return self.last(x, edge_index, edge_weight)

    def reconstruct(self, code: Tensor, first: int, last: int) -> Tensor:
        return code @ self.weight[:, first:last] + self.bias[first:last]


def recorded(step: Callable[[], Tensor], warm_up: int = 3) -> Callable[[], Tensor]:
    """A training step on a GPU that is recorded once and then replayed: launching its kernels one by one takes ten
    times as long as running them. The first ``warm_up`` calls are ordinary ones."""
    graph, calls = torch.cuda.CUDAGraph(), 0
    stream = torch.cuda.Stream()
    result: Tensor

    def run() -> Tensor:
        nonlocal calls, result
        calls += 1
        if calls <= warm_up:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                result = step()
            torch.cuda.current_stream().wait_stream(stream)
            return result
        if calls == warm_up + 1:
            with torch.cuda.graph(graph):
                result = step()
        graph.replay()
        return result

    return run
