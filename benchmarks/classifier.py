"""The whole ``MAGnetClassifier().fit`` (detect, repair, committee) against one plain PyG GCN on the same graph.

    python benchmarks/classifier.py --datasets cora,citeseer --output results/classifier.md

The plain training is what a PyG tutorial does: hidden 64, dense features, uncached ``GCNConv``, 200 epochs of Adam,
validation in every epoch. The two are run one after the other in the same process, with kernels compiled before.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import torch
from _measure import plain_gcn
from _pages import header, save


def main() -> None:
    from magnet import MAGnetClassifier
    from magnet.corruption import corrupt
    from magnet.datasets import load
    from magnet.experiments.protocol.measure import device_name, peak_memory, reset_peak_memory

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--corruption", default="inject-random")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    device = torch.device(options.device)
    lines = header(*("dataset", "plain GCN, s", "fit, s", "ratio", "plain, %", "ours, %", "members", "peak MiB"))
    small = corrupt(load("cora"), options.corruption, 0).data
    plain_gcn(small, device, epochs=2)  # libraries set themselves up, kernels are compiled
    MAGnetClassifier(epochs=2, device=options.device).fit(small)
    for name in options.datasets.split(","):
        data = corrupt(load(name), options.corruption, 0).data
        seconds, accuracy = plain_gcn(data, device)
        reset_peak_memory(device)
        began = time.perf_counter()
        clf = MAGnetClassifier(device=options.device).fit(data)
        took = time.perf_counter() - began
        memory = peak_memory(device) / 2**20
        lines.append(
            f"| {name} | {seconds:.1f} | {took:.1f} | {took / seconds:.1f} | {100 * accuracy:.1f} "
            f"| {100 * clf.score(data):.1f} | {len(clf.val_accuracy_)} | {memory:.0f} |"
        )
        print(lines[-1], flush=True)
    where = f"{device_name(device)}, {torch.get_num_threads()} threads, torch {torch.__version__.split('+')[0]}"
    text = "\n".join(
        [
            "# MAGnetClassifier: the whole fit against one plain GCN",
            "",
            *lines,
            "",
            "Rows injected at random (ratio 0.5, seed 0). Plain: PyG, hidden 64, dense features, uncached, 200 epochs, "
            f"validation every epoch. {where}, Python {platform.python_version()}. "
            "Made by `python benchmarks/classifier.py`.",
            "",
        ]
    )
    save(text, options.output)
    print(text)


if __name__ == "__main__":
    main()
