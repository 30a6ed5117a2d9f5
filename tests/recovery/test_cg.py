import torch

from magnet.recovery.cg import conjugate_gradients


def system(n=12, columns=3, seed=0):
    """A positive definite matrix per column, and right sides."""
    generator = torch.Generator().manual_seed(seed)
    roots = torch.randn(columns, n, n, generator=generator, dtype=torch.float64)
    matrices = roots @ roots.transpose(1, 2) + torch.eye(n)
    return matrices, torch.randn(n, columns, generator=generator, dtype=torch.float64)


def test_every_column_has_its_own_matrix():
    matrices, right = system()
    diagonal = torch.diagonal(matrices, dim1=1, dim2=2).T

    def apply(u):
        return torch.einsum("cij,jc->ic", matrices, u)

    U, steps, left = conjugate_gradients(apply, right, torch.zeros_like(right), diagonal, max_iter=200, tol=1e-12)
    expected = torch.linalg.solve(matrices, right.T.unsqueeze(-1)).squeeze(-1).T
    assert torch.allclose(U, expected, atol=1e-9)
    assert (left <= 1e-12).all()
    assert (steps > 0).all()
    assert (steps < 200).all()


def test_a_column_that_is_solved_stays_as_it_is():
    matrices, right = system()
    start = torch.linalg.solve(matrices, right.T.unsqueeze(-1)).squeeze(-1).T.clone()
    start[:, 1] = 0
    diagonal = torch.diagonal(matrices, dim1=1, dim2=2).T

    def apply(u):
        return torch.einsum("cij,jc->ic", matrices, u)

    U, steps, _ = conjugate_gradients(apply, right, start, diagonal, max_iter=200, tol=1e-10)
    assert torch.equal(U[:, [0, 2]], start[:, [0, 2]])
    assert steps[[0, 2]].tolist() == [0, 0]
    assert steps[1] > 1


def test_zero_right_side_with_a_start_goes_to_zero():
    matrices, right = system(columns=1)
    U, _, left = conjugate_gradients(
        lambda u: matrices[0] @ u, torch.zeros_like(right), right, torch.ones_like(right), max_iter=100, tol=1e-10
    )
    assert U.abs().max() < 1e-8
    assert left.item() <= 1e-10
