"""
Features larger than memory
===========================

Columns are independent in recovery. ``x`` and ``trust`` may be memory maps or ``.npy`` files; with ``out=`` the result
is written in blocks of columns, and an interrupted run resumes.
"""

import tempfile
from pathlib import Path

import numpy as np

import magnet

folder = Path(tempfile.mkdtemp())
data = magnet.datasets.synthetic(nodes=2000, features=200, kind="continuous", seed=0)
bad = magnet.corruption.corrupt_cells(data, ratio=0.05, kind="outlier", seed=0)
np.save(folder / "x.npy", bad.data.x.numpy())
np.save(folder / "trust.npy", (~bad.cells).numpy().astype(np.float32))

# %%
# Input and output are paths; at most ``block_columns`` columns are in memory at a time.

transform = magnet.FrameletTransform(data.edge_index, data.num_nodes)
result = magnet.recover(
    folder / "x.npy",
    folder / "trust.npy",
    transform,
    coordinates="degree",
    keep_trusted=True,
    out=folder / "u.npy",
    block_columns=32,
)
written = np.load(folder / "u.npy", mmap_mode="r")
print(type(result.x).__name__, written.shape, written.dtype)

# %%
# The result is the same as in memory.

inside = magnet.recover(bad.data.x, (~bad.cells).float(), transform, coordinates="degree", keep_trusted=True).x
print(f"largest difference {np.abs(written - inside.numpy()).max():.1e}")
wrong = bad.cells.numpy()
before = np.abs(bad.data.x.numpy() - data.x.numpy())[wrong].mean()
after = np.abs(written[:] - data.x.numpy())[wrong].mean()
print(f"mean error of the wrong cells: {before:.2f} before, {after:.2f} after")
