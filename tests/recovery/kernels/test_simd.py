"""What the kernels are compiled from."""

import hashlib
from pathlib import Path

from magnet.recovery.kernels import cpu, simd


def test_kernels_are_compiled_again_when_a_file_that_they_inline_changes():
    stamp = cpu.solve_fast._cache._cache_file._source_stamp
    files = sorted(Path(simd.__file__).parent.glob("*.py"))
    texts = [file.read_bytes() for file in files]
    assert stamp[1] == hashlib.sha256(b"".join(texts)).digest()
    changed = [text + b"# another line" * (file.name == "simd.py") for file, text in zip(files, texts, strict=True)]
    assert stamp[1] != hashlib.sha256(b"".join(changed)).digest()
