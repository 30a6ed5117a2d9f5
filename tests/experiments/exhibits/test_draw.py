"""Figures as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from magnet.experiments.exhibits import draw


def line(path: Path) -> bytes:
    with draw.figure(path, rows=1, columns=2) as axes:
        assert axes.shape == (1, 2)
        axes[0, 0].plot([0, 1], [1, 0])
    return path.read_bytes()


def test_the_same_figure_has_the_same_bytes(tmp_path: Path) -> None:
    for suffix, start in ((".svg", b"<?xml"), (".png", b"\x89PNG")):
        first, again = (line(tmp_path / f"{name}{suffix}") for name in "ab")
        assert first == again
        assert first.startswith(start)


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), draw.figure(tmp_path / "a.png"):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_a_box_is_a_red_frame_unless_it_has_a_style() -> None:
    assert draw.box(0, 0, 1, 2).get_fill() is False
    assert draw.box(0, 0, 1, 2, facecolor="blue").get_fill() is True
