"""Junk marks behind a value."""

from __future__ import annotations

import numpy as np
import pytest

from magnet.tables.channels.affix import DEFAULT_SHARE, Affix
from magnet.tables.channels.base import ChannelContext, Proposals
from magnet.tables.coded import CodedColumn
from magnet.tables.experts.novelty import Novelty
from magnet.tables.options import DEFAULT


def proposed(texts: list[str], affix: Affix) -> tuple[CodedColumn, Proposals]:
    column = CodedColumn.of("town", texts)
    counts = column.counts()
    novelty = Novelty({v: int(c) for v, c in zip(column.values, counts, strict=True)}, DEFAULT.letters)
    return column, affix.propose(ChannelContext(column, counts, column.read_counts(), novelty, DEFAULT))


def test_the_likelihood_is_the_share_of_the_mark() -> None:
    affix, texts = Affix(), ["Ulm", "Ulm", "Ulm-*", "Ulm-x", "Ulm ##"]
    assert proposed(texts, affix)[1].likelihood.tolist() == [DEFAULT_SHARE] * 2
    affix.learn([("Bonn-*", "Bonn"), ("Kiel-*", "Kiel"), ("Ulm ***", "Ulm"), ("Ulmx", "Ulm")])
    assert proposed(texts, affix)[1].likelihood == pytest.approx([(2 + DEFAULT_SHARE) / 4, DEFAULT_SHARE / 3])


def test_known_and_new_values_are_proposed_without_their_mark() -> None:
    column, proposals = proposed(["Ulm", "Ulm", "Bonn", "Bonn", "Ulm ***", "Trier-*"], Affix())
    pairs = dict(zip(proposals.observed.tolist(), proposals.candidate.tolist(), strict=True))
    texts = {column.values[a]: column.values[b] for a, b in pairs.items()}
    assert texts == {"Ulm ***": "Ulm", "Trier-*": "Trier"}
    assert np.isnan(proposals.measure[0])
    assert 0 < proposals.measure[1] < 1


def test_ends_that_belong_to_values_are_left_alone() -> None:
    _, proposals = proposed(["Inc.", "What?", "C", "Ulm", "Ulm"], Affix())
    assert len(proposals.observed) == 0
