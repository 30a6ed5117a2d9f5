from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import torch

from magnet import arrays
from magnet.arrays import checksum, density, is_binary, like, to_scipy, to_torch_csr


def matrix() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return (torch.rand(50, 7, generator=generator) < 0.2).float()


def test_layouts_convert_into_each_other() -> None:
    x = matrix()
    for form in (x, x.numpy(), to_scipy(x), x.to_sparse_csr(), x.to_sparse_coo()):
        assert np.array_equal(to_scipy(form).toarray(), x.numpy())
    assert torch.equal(to_torch_csr(to_scipy(x)).to_dense(), x)
    assert like(to_scipy(x), x).layout == torch.strided
    assert like(to_scipy(x), x.to_sparse_csr()).layout == torch.sparse_csr


def test_to_scipy_never_shares_memory() -> None:
    x = matrix().to_sparse_csr()
    copy = to_scipy(x)
    copy.data[:] = 9
    assert float(x.values().max()) == 1


def test_checksum_depends_on_values_and_places_only(monkeypatch: pytest.MonkeyPatch) -> None:
    x = matrix()
    whole = checksum(x)
    monkeypatch.setattr(arrays, "CELLS_PER_BLOCK", 21)
    moved = x.clone()
    moved[[0, 1]] = moved[[1, 0]]
    assert checksum(x.double()) == checksum(x.to_sparse_csr()) == checksum(x)
    assert checksum(moved) != checksum(x)
    assert checksum(x.reshape(25, 14)) != checksum(x)
    assert len(whole) == 64


def test_binary_and_density() -> None:
    x = matrix()
    assert is_binary(x)
    assert is_binary(x.to_sparse_csr())
    assert not is_binary(0.5 * x)
    assert not is_binary((2 * x).to_sparse_csr())
    assert density(x) == density(x.to_sparse_csr()) == pytest.approx(float(x.mean()))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's allocator")
def test_memory_of_large_arrays_is_used_again_and_returned_in_the_end() -> None:
    """In a process of its own, whose page faults can be counted: 64 MB are 16 384 pages."""
    code = """
import resource
import numpy as np
from magnet.arrays import reuse_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        np.full(1 << 26, 1, np.int8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() >> 20

before = resident()
with reuse_freed_memory(1 << 26):
    np.full(1 << 26, 1, np.int8)
    print(faults(), resident() - before)
print(faults(), resident() - before)
"""
    environment = os.environ | {"NUMPY_MADVISE_HUGEPAGE": "0"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    (reused, held), (mapped, left) = (map(int, line.split()) for line in run.stdout.splitlines())
    assert reused < 100
    assert held > 60
    assert mapped > 3 * 16_000
    assert left < 20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's allocator")
def test_memory_of_arrays_is_returned_as_soon_as_they_are_deleted() -> None:
    """Sixteen arrays of 4 MB, which glibc would keep once it has seen such a size freed."""
    code = """
import resource
import numpy as np
from magnet.arrays import return_memory_at_once

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() >> 20

def left():
    arrays = [np.ones(1 << 22, np.int8) for _ in range(16)]
    last = np.ones(1 << 19, np.int8)  # behind the others
    del arrays
    return resident() - before

before = resident()
with return_memory_at_once(0):
    print(left())
with return_memory_at_once(1 << 30):
    print(left())
print(left())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    at_once, blocks_of_many_features, kept = map(int, run.stdout.split())
    assert at_once < 16
    assert blocks_of_many_features > 48
    assert kept > 48
