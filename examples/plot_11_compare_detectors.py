"""
Compare detectors
=================

All detectors have the same interface, so that they can be compared on the ground truth that a corruption returns.
No detector is best everywhere: swapped rows and moved cells are different problems.
"""

import pandas as pd
from matplotlib import pyplot as plt

import magnet

data = magnet.datasets.synthetic(nodes=700, features=60, kind="continuous", signal=1.0, seed=0)
cases = {
    "swapped rows": magnet.corruption.inject_attributes(data, ratio=0.2, select="random", seed=0),
    "outlying cells": magnet.corruption.corrupt_cells(data, ratio=0.02, kind="outlier", seed=0),
}
names = ("auto", "context", "cell", "zscore", "cosine")

# %%
# Areas under the curves: for rows if rows were swapped, for cells if cells were moved.

measures = {"swapped rows": "node_auroc", "outlying cells": "cell_auroc"}
lines = []
for case, bad in cases.items():
    for name in names:
        detector = magnet.detection.make(name, seed=0).fit(bad.data)
        areas = magnet.detection.metrics(detector, bad.cells)
        lines.append({"case": case, "detector": name, **areas})
table = pd.DataFrame(lines)
print(table[["case", "detector", "node_auroc", "cell_auroc", "cell_auprc"]].round(3).to_string(index=False))

# %%
# Chance is an AUROC of 0.5.

figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True)
for axis, (case, group) in zip(axes, table.groupby("case", sort=False), strict=True):
    axis.barh(group["detector"], group[measures[case]], color="#4c78a8")
    axis.axvline(0.5, color="#d1495b", linewidth=1)
    axis.set(title=case, xlim=(0, 1), xlabel=measures[case].replace("_auroc", " AUROC"))
figure.tight_layout()
