"""Graphs with node attributes, by name (:func:`load`) or made to measure (:func:`synthetic`)."""

from magnet.arrays import checksum, dense_x, to_scipy, to_torch_csr
from magnet.datasets.bsd68 import graph_image, image_graph
from magnet.datasets.build import homophily, random_split
from magnet.datasets.catalogue import DATASETS, DatasetInfo
from magnet.datasets.registry import info, load, names
from magnet.datasets.synthetic import synthetic

__all__ = [
    "DATASETS",
    "DatasetInfo",
    "checksum",
    "dense_x",
    "graph_image",
    "homophily",
    "image_graph",
    "info",
    "load",
    "names",
    "random_split",
    "synthetic",
    "to_scipy",
    "to_torch_csr",
]
