"""Graph neural networks, many of them trained at once."""

from magnet.nn.air import AirGNN
from magnet.nn.appnp import APPNP, Propagating
from magnet.nn.elastic import ElasticGNN
from magnet.nn.features import Features, row_normalized
from magnet.nn.framelet import FrameletDenoise
from magnet.nn.gcn import GCN
from magnet.nn.gnnguard import GNNGuard
from magnet.nn.layers import BatchNorm, Dropout
from magnet.nn.memory import NotEnoughMemory
from magnet.nn.mlp import MLP
from magnet.nn.model import Model
from magnet.nn.sign import SIGN
from magnet.nn.sparse import Sparse
from magnet.nn.training import Fitted, fit, predict

__all__ = [
    "APPNP",
    "GCN",
    "MLP",
    "SIGN",
    "AirGNN",
    "BatchNorm",
    "Dropout",
    "ElasticGNN",
    "Features",
    "Fitted",
    "FrameletDenoise",
    "GNNGuard",
    "Model",
    "NotEnoughMemory",
    "Propagating",
    "Sparse",
    "fit",
    "predict",
    "row_normalized",
]
