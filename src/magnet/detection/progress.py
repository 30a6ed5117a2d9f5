"""Progress bars on request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def track(items: Sequence[T], title: str, show: bool) -> Iterable[T]:
    """The items, with a progress bar on the terminal if ``show``."""
    if not show:
        return items
    from rich.progress import track as rich_track

    return rich_track(items, title)
