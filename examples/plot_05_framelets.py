"""
A signal, its framelet coefficients, and what the prox does
===========================================================

The mathematics of :func:`magnet.recover` in three figures: the kernels of a tight frame, the bands of a signal on a
path with one wrong value, and thresholding.
"""

import numpy as np
import torch
from matplotlib import pyplot as plt

import magnet

n = 120
edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
transform = magnet.FrameletTransform(edges, num_nodes=n, levels=2)

# %%
# Each band is a function of the Laplacian: a low-pass and one high-pass for each level. Their squares add up to one, so
# that the transform followed by its adjoint is the identity (a tight frame).

impulse = torch.eye(n)[:, n // 2 : n // 2 + 1]
low, high = transform.frame_bounds()
print(f"frame bounds {low:.6f} and {high:.6f}; adjoint error {transform.adjoint_error():.1e}")
figure, axes = plt.subplots(figsize=(7, 2.5))
for band, name in zip(
    transform.analysis(impulse)[:, :, 0], ("low-pass", "high-pass, level 1", "high-pass, level 2"), strict=True
):
    axes.plot(np.arange(n) - n // 2, band, label=name)
axes.set(xlim=(-12, 12), xlabel="distance to the impulse", title="What each band sees of a single value")
axes.legend()
figure.tight_layout()

# %%
# A smooth signal has small high-pass coefficients. One wrong value makes a few of them large.

smooth = np.sin(np.arange(n) / 12)
signal = smooth.copy()
signal[70] += 1.5
x = torch.from_numpy(signal)[:, None].float()
bands = transform.analysis(x)[:, :, 0]
figure, axes = plt.subplots(2, 1, figsize=(7, 4), sharex=True)
axes[0].plot(signal, color="#4c78a8")
axes[0].set(title="signal with one wrong value")
for band, name in zip(bands[1:], ("level 1", "level 2"), strict=True):
    axes[1].plot(band, label=name)
axes[1].set(title="high-pass coefficients")
axes[1].legend()
figure.tight_layout()

# %%
# The prox of ``t |.|^p`` shrinks or removes coefficients: soft thresholding for ``p = 1``, hard for ``p = 0``.

z = torch.linspace(-3, 3, 601)
figure, axes = plt.subplots(figsize=(4.6, 3))
axes.plot(z, z, color="#999999", linewidth=0.8)
for p in (1.0, 0.5, 0.0):
    axes.plot(z, magnet.prox.lp(z, 1.0, p), label=f"p = {p:g}")
axes.set(xlabel="coefficient", ylabel="after the prox")
axes.legend()
figure.tight_layout()

# %%
# With trust 0 for the wrong value, recovery restores the signal. Starting from the harmonic extension
# instead of the wrong value (``start="propagated"``) saves hundreds of iterations.

trust = torch.ones_like(x)
trust[70] = 0.0
recovered = magnet.recover(x, trust, transform, coordinates="degree", keep_trusted=True, start="propagated").x
print(f"true {smooth[70]:.2f}, observed {signal[70]:.2f}, recovered {float(recovered[70]):.2f}")
