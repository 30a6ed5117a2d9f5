"""What the other words of a row say."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from magnet.detection.cells.cooccurrence import Cooccurrence


def by_hand(words: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The equation of the docstring, cell by cell."""
    pairs = words.T @ (w[:, None] * words)
    rate = (np.diag(pairs) + 0.5) / (w.sum() + 1)
    out = np.zeros(words.shape)
    for i, j in np.ndindex(*words.shape):
        others = [k for k in np.flatnonzero(words[i]) if k != j]
        together = sum((pairs[j, k] - w[i] * words[i, j]) / (pairs[k, k] + 1) for k in others)
        out[i, j] = (rate[j] + together) / (len(others) + 1)
    return out


def test_the_equation():
    rng = np.random.default_rng(0)
    words, w = (rng.random((12, 7)) < 0.4).astype(float), rng.random(12)
    rest = Cooccurrence(sp.csr_matrix(words), torch.from_numpy(w))
    expected = by_hand(words, w)
    np.testing.assert_allclose(rest.probability(0, 7), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(rest.probability(3, 5), expected[:, 3:5], rtol=1e-4, atol=1e-6)


def test_rows_of_weight_zero_vouch_for_nothing():
    words = np.zeros((30, 6))
    words[:20, :3] = 1
    words[20:, [0, 5]] = 1  # the sixth word is found with the first one in suspicious rows only
    weights = torch.ones(30)
    trusting = Cooccurrence(sp.csr_matrix(words), weights).probability(5, 6)[25, 0]
    weights[20:] = 0
    assert float(Cooccurrence(sp.csr_matrix(words), weights).probability(5, 6)[25, 0]) < 0.1 * float(trusting)
