"""
Citations with swapped rows
===========================

A citation graph with word attributes. Some papers have the words of another paper. Cora is used if its files
are in ``$MAGNET_DATA``, else a random graph with planted topics.
"""

import torch
from matplotlib import pyplot as plt

import magnet

try:
    data = magnet.datasets.load("cora")
except (OSError, ValueError):
    data = magnet.datasets.synthetic(nodes=1500, features=300, classes=7, kind="binary", seed=0)
bad = magnet.corruption.inject_attributes(data, ratio=0.2, select="random", seed=0)

# %%
# The ``context`` detector tests whether every row fits its neighbors, and learns from permuted rows what
# a row of another paper looks like.

detector = magnet.detection.make("context", seed=0).fit(bad.data)
print(f"estimated share {detector.share_:.3f}, true {float(bad.nodes.float().mean()):.3f}")
print({name: round(value, 3) for name, value in magnet.detection.metrics(detector, bad.cells).items()})

# %%
# Its probabilities are approximately calibrated: of the rows with a probability of 0.8, about 80 % are wrong.

probability = detector.node_probability_
figure, axes = plt.subplots(figsize=(7, 2.8))
axes.hist(
    [probability[~bad.nodes], probability[bad.nodes]],
    bins=20,
    range=(0, 1),
    stacked=True,
    color=["#4c78a8", "#d1495b"],
    label=["right rows", "swapped rows"],
)
axes.set(xlabel="probability that the row is another node's", ylabel="rows", yscale="log")
axes.legend()
figure.tight_layout()

# %%
# Words of untrusted rows are replaced by those of the neighbors.

model = magnet.MAGnet(detector=1 - (probability > 0.5).float()).fit(bad.data)


def error(x: torch.Tensor) -> float:
    dense = x.to_dense() if x.layout != torch.strided else x
    return float((dense - data.x)[bad.nodes].norm() / data.x[bad.nodes].norm())


print(f"relative error of the swapped rows: {error(bad.data.x):.2f} before, {error(model.x_):.2f} after")
