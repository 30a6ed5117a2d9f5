"""The constants of detection are documented, frozen and consistent."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from magnet.detection import options

ALL = [options.DATA, options.ROWS, options.GATE, options.CELLS, options.CONTEXT, options.POOL, options.NUMERIC]


@pytest.mark.parametrize("group", ALL, ids=lambda group: type(group).__name__)
def test_every_constant_is_described_and_cannot_be_changed(group):
    for f in fields(group):
        assert f"{f.name}" in type(group).__doc__, f.name
        with pytest.raises(FrozenInstanceError):
            setattr(group, f.name, 0)
