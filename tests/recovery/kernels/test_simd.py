"""What the kernels are compiled from."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from magnet.recovery.kernels import cpu, simd


def test_kernels_are_compiled_again_when_a_file_that_they_inline_changes():
    stamp = cpu.solve_fast._cache._cache_file._source_stamp
    files = sorted(Path(simd.__file__).parent.glob("*.py"))
    texts = [file.read_bytes() for file in files]
    assert stamp[1] == hashlib.sha256(b"".join(texts)).digest()
    changed = [text + b"# another line" * (file.name == "simd.py") for file, text in zip(files, texts, strict=True)]
    assert stamp[1] != hashlib.sha256(b"".join(changed)).digest()


@simd.jit
def _sum_at(array, position):
    return simd.total(simd.load(array, position))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_total_is_the_sum_of_the_lanes(kind):
    array = np.random.default_rng(0).normal(size=3 * simd.LANES).astype(kind)
    found, precision = _sum_at(array, 5), 16 * float(np.finfo(kind).eps)
    assert found == pytest.approx(array[5 : 5 + simd.LANES].astype(np.float64).sum(), abs=precision)
    assert found != pytest.approx(array[: simd.LANES].astype(np.float64).sum(), abs=precision)
