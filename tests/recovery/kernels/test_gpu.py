"""The Triton kernels against the torch reference."""

import pytest
import torch

from magnet import FrameletTransform, recover

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("inertia", [0.0, 0.25])
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("p", [1.0, 0.5, 0.0])
def test_triton_equals_torch(relative, graph, new_problem, dtype, history, inertia, q, p):
    W = FrameletTransform(graph)
    x, trust = new_problem(305, 150, dtype=dtype)
    options = {"p": p, "q": q, "nu0": 8.0, "gamma": 2.0, "inertia": inertia, "max_iter": 15, "tol": 0}
    reference = recover(x, trust, W, backend="torch", **options)
    fused = recover(x.cuda(), trust.cuda(), W, backend="triton", history=history, **options)
    assert fused.x.is_cuda
    if p == 1:
        assert relative(fused.x.cpu(), reference.x) < 1e-5
    else:
        tracked = recover(x.cuda(), trust.cuda(), W, backend="triton", **options)
        assert tracked.objective[-1] == pytest.approx(reference.objective[-1], rel=1e-3)
        assert relative(fused.x.cpu(), reference.x) < 0.05


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6, 7, 8, 16])
@pytest.mark.parametrize(("bank", "levels"), [("haar", 2), ("linear", 2), ("quadratic", 1)])
def test_triton_transform_is_the_transform(relative, graph, degree, bank, levels):
    from magnet.recovery.kernels.gpu import FusedTransform

    W = FrameletTransform(graph, degree=degree, bank=bank, levels=levels)
    x = torch.randn(305, 70, dtype=torch.float64)
    fused = FusedTransform(W)
    assert relative(fused.analysis(x.cuda()).cpu(), W.analysis(x)) < 1e-12
    v = torch.randn(W.num_bands, 305, 70, dtype=torch.float64)
    assert relative(fused.synthesis(v.cuda()).cpu(), W.synthesis(v)) < 1e-12
