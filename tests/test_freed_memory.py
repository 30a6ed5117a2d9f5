from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's allocator")
def test_memory_of_large_arrays_is_used_again_and_returned_in_the_end() -> None:
    """In a process of its own, whose page faults can be counted: 64 MB are 16 384 pages."""
    code = """
import resource
import numpy as np
from magnet.freed_memory import reuse_freed_memory

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
from magnet.freed_memory import return_memory_at_once

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
