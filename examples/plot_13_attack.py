"""
An attack and its effect
========================

The meta attack changes few attributes so that a GCN trained on them fails. Random changes of the same number do little.
The detector hardly finds such an attack on this graph.
"""

from matplotlib import pyplot as plt

import magnet
from magnet import nn

data = magnet.datasets.synthetic(nodes=250, features=40, classes=3, homophily=0.6, average_degree=4, signal=0.4, seed=1)
graph = magnet.Graph.from_edges(data.edge_index, data.num_nodes)
attacked = {
    "clean": data,
    "random changes": magnet.corruption.meta_attack(data, budget=150, strategy="random", seed=0).data,
    "meta attack": magnet.corruption.meta_attack(data, budget=150, flips_per_step=15, train_steps=40, seed=0).data,
}

# %%
# Five GCNs side by side on each version.

scores = {}
for name, version in attacked.items():
    model = nn.GCN(40, 3, seeds=range(5))
    fitted = nn.fit(model, version.x, graph, data.y, data.train_mask, data.val_mask, epochs=80)
    right = fitted.logits.argmax(dim=-1) == data.y
    scores[name] = float(right[:, data.test_mask].float().mean())
    print(f"{name:15} test accuracy {scores[name]:.3f}")

figure, axes = plt.subplots(figsize=(5, 2.2))
axes.barh(list(scores), list(scores.values()), color=["#2a9d8f", "#4c78a8", "#d1495b"])
axes.set(xlim=(0, 1), xlabel="test accuracy of a GCN")
figure.tight_layout()

# %%
# The detector on the attacked graph.

bad = magnet.corruption.meta_attack(data, budget=150, flips_per_step=15, train_steps=40, seed=0)
detector = magnet.detection.make("auto", seed=0).fit(bad.data)
areas = magnet.detection.metrics(detector, bad.cells)
share = float(bad.cells.float().mean())
print(
    f"node AUROC {areas['node_auroc']:.2f}, cell AUPRC {areas['cell_auprc']:.2f} (share of attacked cells {share:.3f})"
)
