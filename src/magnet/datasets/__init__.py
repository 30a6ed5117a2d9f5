"""Graphs with node attributes, by name (:func:`load`) or made to measure (:func:`synthetic`)."""

from magnet.datasets.bsd68 import graph_image, image_graph
from magnet.datasets.build import homophily, random_split
from magnet.datasets.catalog import DATASETS, DatasetInfo
from magnet.datasets.registry import info, load, names
from magnet.datasets.synthetic import synthetic

__all__ = [
    "DATASETS",
    "DatasetInfo",
    "graph_image",
    "homophily",
    "image_graph",
    "info",
    "load",
    "names",
    "random_split",
    "synthetic",
]
