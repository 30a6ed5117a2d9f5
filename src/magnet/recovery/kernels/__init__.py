"""Fused kernels: Numba on the CPU, Triton on CUDA. The torch functions beside this folder are their reference."""

#: How a scalar map is computed: one or two vector instructions, or a loop over the lanes.
SOFT, HARD, GENERAL, QUADRATIC = 0, 1, 2, 3

#: A cell that must be kept gets this fidelity weight where the weight cannot be infinite.
KEEP = 1e30
