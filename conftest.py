"""What pytest needs to know before it collects."""

import importlib.util

# the CUDA kernels cannot be imported, and so not searched for examples, without Triton
collect_ignore_glob = [] if importlib.util.find_spec("triton") else ["src/magnet/recovery/kernels/gpu*.py"]
