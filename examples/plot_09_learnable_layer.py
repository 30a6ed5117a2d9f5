"""
The recovery as a layer with learned weights
============================================

``FrameletDenoise`` unrolls a few iterations of the solver. Its thresholds and step size are parameters: here they are
trained to remove noise from smooth signals on a random graph.
"""

import torch
from matplotlib import pyplot as plt

import magnet
from magnet.nn import FrameletDenoise

torch.manual_seed(0)
data = magnet.datasets.synthetic(nodes=300, average_degree=6, seed=0)
graph = magnet.Graph.from_edges(data.edge_index, data.num_nodes)
transform = magnet.FrameletTransform(graph, levels=2)

# %%
# Smooth signals, with noise.


def smooth(count: int) -> torch.Tensor:
    noise = torch.randn(data.num_nodes, count)
    signal = magnet.propagate(noise, None, graph, lam=20.0, coordinates="degree").x
    return signal / signal.std(dim=0)


clean, test = smooth(24), smooth(24)
noisy, noisy_test = clean + 0.5 * torch.randn_like(clean), test + 0.5 * torch.randn_like(test)

# %%
# Train the weights by gradient descent through the unrolled solver.

layer = FrameletDenoise(transform.num_bands, steps=4, nu=0.05)
optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
history = []
for _ in range(60):
    optimizer.zero_grad()
    loss = (layer(noisy, transform) - clean).square().mean()
    loss.backward()
    optimizer.step()
    history.append(float(loss.detach()))

with torch.no_grad():
    after = (layer(noisy_test, transform) - test).square().mean()
before = (noisy_test - test).square().mean()
print(f"mean squared error on new signals: {float(before):.3f} noisy, {float(after):.3f} denoised")
print("learned nu:", layer.nu.detach().numpy().round(3), "gamma:", layer.gamma.detach().numpy().round(3))

figure, axes = plt.subplots(figsize=(6, 2.6))
axes.plot(history, color="#2a9d8f")
axes.set(xlabel="step", ylabel="training loss", yscale="log")
figure.tight_layout()
