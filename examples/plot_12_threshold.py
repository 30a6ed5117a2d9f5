"""
Choose and calibrate a threshold
================================

A detector returns probabilities. There are three ways to choose what is flagged: more probable than not (the
default), a false discovery rate (``fdr``), or a known share of wrong rows (``contamination``).
"""

from itertools import pairwise

import numpy as np
from matplotlib import pyplot as plt

import magnet

data = magnet.datasets.load("digits")
bad = magnet.corruption.inject_attributes(data, ratio=0.3, select="random", seed=1)

# %%
# The same scores, three thresholds.

for wish in ({}, {"fdr": 0.05}, {"contamination": 0.1}):
    detector = magnet.detection.make("context", seed=0, **wish).fit(bad.data)
    found = detector.swapped_rows_
    precision = float(bad.nodes[found].float().mean()) if found.any() else float("nan")
    recall = float(found[bad.nodes].float().mean())
    name = str(wish or "probability above 1/2")
    print(f"{name:24} {int(found.sum()):4} rows flagged, precision {precision:.2f}, recall {recall:.2f}")

# %%
# Are the probabilities calibrated? Group rows by their probability and count how many are wrong.

probability, wrong = detector.node_probability_.numpy(), bad.nodes.numpy()
edges = np.linspace(0, 1, 9)
middle, observed = [], []
for low, high in pairwise(edges):
    here = (probability >= low) & (probability <= high)
    if here.sum() >= 5:
        middle.append(probability[here].mean())
        observed.append(wrong[here].mean())
figure, axes = plt.subplots(figsize=(3.6, 3.4))
axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
axes.plot(middle, observed, "o-", color="#2a9d8f")
axes.set(xlabel="stated probability", ylabel="share of wrong rows", title="reliability")
figure.tight_layout()
