"""Detectors by name."""

from __future__ import annotations

import pytest

from magnet import detection


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nothing", {}, "unknown detector 'nothing'"),
        ("context", {"depth": 3}, "depth"),
        ("auto", {"fdr": 2.0}, "fdr is 2.0"),
        ("auto", {"fdr": 0.1, "contamination": 0.1}, "only one of"),
        ("gae", {"loss": "huber"}, "loss is 'huber'"),
    ],
)
def test_bad_options_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        detection.make(name, **options)
