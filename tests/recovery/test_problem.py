"""The weights of the problem on a path of four nodes, and its units."""

import numpy as np
import pytest
import torch

from magnet import FrameletTransform
from magnet.recovery.problem import Settings, penalty_weights, prepare, step_parameter


@pytest.fixture(scope="module")
def path():
    """0 - 1 - 2 - 3: degrees 1, 2, 2, 1."""
    return FrameletTransform([[0, 1, 2], [1, 2, 3]], num_nodes=4)


def column(*values):
    return torch.tensor(values, dtype=torch.float64).unsqueeze(1)


def test_a_number_gives_the_weights_of_the_paper_or_of_its_code(path):
    x, ones = column(1, 2, 3, 4), column(1, 1, 1, 1)
    paper = penalty_weights(Settings(nu0=64.0), path, x, ones)
    assert paper.flatten().tolist() == [0.0, 4.0, 1.0]  # 4^(-l-1) nu0; none for the low-pass band
    released = penalty_weights(Settings(nu0=64.0, variant="released"), path, x, ones)
    assert released.flatten().tolist() == [0.0, 64.0, 16.0]  # nu0 / 4^(l-1)


def test_automatic_weights_scale_with_the_data(path):
    x, trust = column(1, 5, 2, 9), column(1, 1, 1, 0)
    one, ten = (penalty_weights(Settings(strength=2.0), path, scale * x, trust) for scale in (1.0, 10.0))
    assert one[0] == 0
    assert torch.allclose(ten, 10 * one)  # sigma^(q - p) with q - p = 1
    assert torch.allclose(penalty_weights(Settings(), path, x, trust), one / 2)


def test_the_step_is_twice_the_mean_degree_and_follows_the_scale_for_q_below_two(path):
    d, x, trust = column(1, 2, 2, 1), column(3, 4, 100, 0), column(1, 1, 0, 0)
    assert step_parameter(Settings(), d, x, trust).tolist() == [3.0]
    root_mean_square = np.sqrt((9 + 16) / 2)
    expected = 3.0 * root_mean_square ** (1.5 - 2)
    assert step_parameter(Settings(q=1.5), d, x, trust).tolist() == pytest.approx([expected])
    assert step_parameter(Settings(gamma=7.0), d, x, trust).tolist() == [7.0]


def test_untrusted_cells_start_within_the_range_of_the_trusted_ones(path):
    x, trust = column(1, 3, 50, -50), column(1, 1, 0, 0)
    assert prepare(x, trust, path, Settings(nu0=1.0)).start.flatten().tolist() == [1, 3, 3, 1]
    paper = Settings(nu0=1.0, tol=0.0)  # a fixed number of iterations starts from the values as they are
    assert prepare(x, trust, path, paper).start.flatten().tolist() == [1, 3, 50, -50]


def test_degree_coordinates_and_back(path):
    x, trust = column(1, 3, 5, 9), column(1, 1, 1, 0)
    prepared = prepare(x, trust, path, Settings(nu0=1.0, coordinates="degree"))
    root = np.sqrt([1, 2, 2, 1])
    expected = root * (np.array([1, 3, 5, 5]) - 3)  # the trusted median is 3; the last cell starts at the largest, 5
    assert prepared.problem.X.flatten().tolist() == pytest.approx(expected)
    assert prepared.problem.d.flatten().tolist() == [1, 1, 1, 1]
    assert torch.allclose(prepared.to_user(prepared.to_solver(x)), x)


def test_objective_of_known_coefficients(path):
    x, trust = column(1, 2, 3, 4), column(1, 0.5, 1, 0)
    problem = prepare(x, trust, path, Settings(nu0=64.0)).problem
    coefficients = torch.zeros(3, 4, 1, dtype=torch.float64)
    coefficients[1, 1], coefficients[2, 3], coefficients[0, 0] = -2.0, 5.0, 99.0
    assert problem.penalty(coefficients).tolist() == [4 * 2 * 2 + 1 * 1 * 5]  # nu d |c|
    moved = x + column(1, 2, 0, 7)
    assert problem.fidelity(moved).tolist() == pytest.approx([0.5 * (1 * 1 + 2 * 0.25 * 4)])  # d M^2 (U - X)^2


def test_spreads_are_those_of_the_trusted_coefficients(path):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(path.num_nodes, 5, generator=generator)
    trust = torch.rand(path.num_nodes, 5, generator=generator)
    trust[:, 4] = 0
    given = x.clone()
    found = penalty_weights(Settings(strength=2.0), path, x, trust)
    assert torch.equal(x, given)
    coefficients = path.analysis(x)
    for b in range(1, path.num_bands):
        for j in range(5):
            trusted = coefficients[b, trust[:, j] > 0.5, j]
            if not trusted.numel():
                assert found[b, j] == 0
                continue
            mad = 1.4826 * (trusted - trusted.median()).abs().median()
            rms = trusted.square().mean().sqrt()
            torch.testing.assert_close(found[b, j], 2 * (mad if mad >= 0.01 * rms else rms), rtol=1e-4, atol=1e-6)
