"""Pair features against the equations."""

from __future__ import annotations

import pytest
import scipy.sparse as sp
import torch

from magnet.detection.data.row_vectors import RowVectors
from magnet.detection.rows.pair_features import PairFeatures, permuted_pairs, permuted_partners


@pytest.mark.parametrize("sparse", [False, True])
def test_features_of_pairs_are_those_of_the_equations(sparse, small_data):
    data = small_data
    z = torch.randn(30, 7, generator=torch.Generator().manual_seed(1)).double()
    rows = (
        RowVectors(None, sp.csr_matrix(z.float().numpy()), data.device)
        if sparse
        else RowVectors(z.float(), None, data.device)
    )
    probes = torch.tensor([3, 8, 21])
    w = torch.rand(30, generator=torch.Generator().manual_seed(2)).clamp_min(0.1)
    pairs = PairFeatures(data, rows, probes)
    real, permuted = pairs.features(w)
    places = torch.tensor([0, 5, 17])
    elsewhere = pairs.elsewhere(w, places)
    torch.testing.assert_close(elsewhere[probes].transpose(0, 1), permuted[places], atol=2e-4, rtol=1e-3)

    A = torch.from_numpy(data.graph.adjacency.toarray())
    wd = w.double()
    centered = z - (wd[:, None] * z).sum(0) / wd.sum()
    r = (A * A).sum(1)
    cosine = torch.nn.functional.cosine_similarity
    for i in range(30):
        if A[i].sum() == 0:
            continue
        c1 = sum(A[i, j] * wd[j] * centered[j] for j in range(30))
        c2 = (
            sum(A[i, j] * A[j, k] * wd[k] * centered[k] for j in range(30) for k in range(30))
            - r[i] * wd[i] * centered[i]
        )
        for place, k in [(None, i), *enumerate(probes.tolist())]:
            best = max(wd[j] * cosine(centered[j], centered[k], dim=0) for j in range(30) if A[i, j] > 0)
            expected = torch.stack([cosine(c1, centered[k], dim=0), cosine(c2, centered[k], dim=0), best]).float()
            found = real[i] if place is None else permuted[i, place]
            torch.testing.assert_close(found, expected, atol=2e-4, rtol=1e-3)


def test_permuted_pairs_leave_out_the_node_and_its_neighbors(small_data):
    data = small_data
    probes = torch.arange(0, 30, 4)
    allowed = permuted_pairs(data, probes)
    A = data.graph.adjacency.toarray()
    partners = torch.arange(30).roll(1)
    apart = permuted_partners(data, partners)
    for i in range(30):
        for place, k in enumerate(probes.tolist()):
            assert bool(allowed[i, place]) == (i != k and A[i, k] == 0)
        assert bool(apart[i]) == (A[i, int(partners[i])] == 0)


def test_partners_are_pairs_like_those_of_probes(small_data):
    """Each node's partner among the probes gives the same features as the probe itself."""
    rows = RowVectors(torch.randn(30, 7, generator=torch.Generator().manual_seed(1)), None, small_data.device)
    probes = torch.tensor([3, 8, 21])
    which = torch.arange(30) % 3
    w = torch.rand(30, generator=torch.Generator().manual_seed(2)).clamp_min(0.1)
    plain_real, plain = PairFeatures(small_data, rows, probes).features(w)
    pairs = PairFeatures(small_data, rows, probes, partners=probes[which])
    real, permuted = pairs.features(w)
    torch.testing.assert_close(real, plain_real)
    torch.testing.assert_close(permuted[:, 1:], plain)
    torch.testing.assert_close(permuted[:, 0], plain[torch.arange(30), which], atol=1e-5, rtol=1e-4)
    alone_real, alone = pairs.features(w, at_probes=False)
    assert torch.equal(alone_real, real)
    assert torch.equal(alone, permuted[:, :1])
