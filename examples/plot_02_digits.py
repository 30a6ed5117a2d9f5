"""
Handwritten digits with wrong pixels
====================================

A built-in dataset: 1 797 digits of 8 x 8 pixels, each linked to the most similar ones. A tenth of the rows is replaced
by other rows; no labels and no clean data are used to find them.
"""

import numpy as np
from matplotlib import pyplot as plt

import magnet

data = magnet.datasets.load("digits")
bad = magnet.corruption.inject_attributes(data, ratio=0.1, select="random", seed=0)

# %%
# ``auto`` judges rows and cells, after testing whether the neighbors are informative (the gate).

model = magnet.MAGnet(seed=0).fit(bad.data)
found = model.flagged_.any(dim=1)
print(model.gate_)
print(f"estimated share of wrong rows {model.share_:.3f}, true {bad.nodes.float().mean():.3f}")
print(f"flagged rows: precision {float(bad.nodes[found].float().mean()):.2f}, "
      f"recall {float(found[bad.nodes].float().mean()):.2f}")  # fmt: skip

# %%
# True, observed and repaired images of the first damaged rows.

rows = np.flatnonzero(bad.nodes.numpy())[:10]
figure, axes = plt.subplots(3, 10, figsize=(9, 2.9))
for line, (name, x) in zip(axes, {"true": data.x, "observed": bad.data.x, "repaired": model.x_}.items(), strict=True):
    for axis, row in zip(line, rows, strict=True):
        axis.imshow(x[row].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[])
    line[0].set_ylabel(name)
figure.tight_layout(pad=0.3)
