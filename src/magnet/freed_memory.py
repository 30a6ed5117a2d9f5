"""How long the memory of deleted arrays is kept: settings of glibc's allocator, without effect on other systems."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from magnet.arrays import MAX_INT

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt
MAPPED_BYTES = 32 << 20  # beyond this size glibc gives each array new memory (its own upper limit)
HEAP_BYTES = 128 << 10  # below this size it never does so by itself
PAGE = 4096  # bytes by which an array may exceed its size
TEMPORARIES = 16  # freed arrays that are kept: an operation has about a dozen
RETURNED_BYTES = 1 << 20  # smaller arrays are not returned at once
BLOCK_SHARE = 8  # a larger part of the features is a whole matrix: blocks of columns are at most about a twelfth


def return_freed_memory() -> None:
    """Return the memory of deleted arrays to the system: glibc keeps blocks below 32 MB, which add up to hundreds of MB
    after work on a large table. No effect on other systems."""
    _glibc("malloc_trim", 0)


@contextmanager
def reuse_freed_memory(size: int, smallest: int = MAPPED_BYTES) -> Iterator[None]:
    """Keep the memory of deleted arrays of up to ``size`` bytes for the next ones, as long as the block runs.

    glibc asks the system for new memory for each array beyond 32 MB, and the system clears every page: that takes five
    times as long as adding two such arrays. Of smaller ones it keeps two. No effect on other systems.

    Args:
        size: of the largest arrays.
        smallest: no effect if they are smaller. (default: 32 MB)
    """
    if size <= smallest:
        yield
        return
    with _mapping_beyond(max(size + PAGE, MAPPED_BYTES), kept=TEMPORARIES * size):
        yield


@contextmanager
def return_memory_at_once(features: int) -> Iterator[None]:
    """Return the memory of deleted arrays at once, as long as the block runs, if they are larger than blocks of columns
    of ``features`` bytes, and than 1 MB. No effect on other systems than glibc's.

    Less memory, but the system clears every page of the next array. (Detection, 18 333 x 425 cells of Coauthor-CS: 23 s
    of CPU time and 217 MB if blocks are returned, too, 14 s and 280 MB if they are used again.)
    """
    size = max(RETURNED_BYTES, features // BLOCK_SHARE)
    with _mapping_beyond(size, kept=size):
        yield


@contextmanager
def _mapping_beyond(size: int, kept: int) -> Iterator[None]:
    """Let glibc map arrays of more than ``size`` bytes, and keep ``kept`` freed bytes at the end of its heap."""
    _glibc("mallopt", M_MMAP_THRESHOLD, min(size, MAX_INT))
    _glibc("mallopt", M_TRIM_THRESHOLD, min(kept, MAX_INT))
    try:
        yield
    finally:
        _glibc("mallopt", M_MMAP_THRESHOLD, MAPPED_BYTES)
        _glibc("mallopt", M_TRIM_THRESHOLD, 2 * MAPPED_BYTES)
        return_freed_memory()


def _glibc(function: str, *arguments: int) -> None:
    """Call a function of the C library where it is glibc."""
    if sys.platform == "linux":
        found = getattr(ctypes.CDLL(None), function, None)
        if found is not None:
            found(*arguments)
