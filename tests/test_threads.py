from __future__ import annotations

import pytest
import torch
from threadpoolctl import threadpool_info

from magnet.threads import CELLS_PER_THREAD, map_threads, threads_for


@pytest.fixture
def two_threads() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_small_work_gets_one_thread_and_what_was_set_comes_back(two_threads: object) -> None:
    with threads_for(1000) as threads:
        assert threads == torch.get_num_threads() == 1
        assert all(pool["num_threads"] == 1 for pool in threadpool_info())
    assert torch.get_num_threads() == 2


def test_large_work_gets_what_there_is(two_threads: object) -> None:
    with threads_for(100 * CELLS_PER_THREAD) as threads:
        assert threads == torch.get_num_threads() == 2


def test_an_error_does_not_leave_the_limit_behind(two_threads: object) -> None:
    with pytest.raises(KeyError), threads_for(0):
        raise KeyError
    assert torch.get_num_threads() == 2


def test_never_more_than_the_user_allows() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threads_for(1 << 40) as threads:
            assert threads == 1
    finally:
        torch.set_num_threads(before)


def test_pieces_run_on_one_thread_each_and_come_back_in_order(two_threads: object) -> None:
    found = map_threads(lambda item: (item, torch.get_num_threads()), [3, 1, 2], 2)
    assert found == [(3, 1), (1, 1), (2, 1)]
    assert torch.get_num_threads() == 2
