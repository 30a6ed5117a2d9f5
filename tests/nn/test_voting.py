"""Votes: how much each member of a committee counts, and what their average says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from magnet.nn.members import Member
from magnet.nn.voting import average, best, calibrated, calibration, label_shift, standard_error, weights


def member(right: list[int], val_accuracy: float | None = None) -> Member:
    """A member of two classes that is right (1) or wrong (0) at each node, all of class 0."""
    logits = torch.tensor([[4.0, 0.0] if each else [0.0, 4.0] for each in right])
    return Member("a", "b", 0, float(np.mean(right)) if val_accuracy is None else val_accuracy, 0.0, 1, logits, 0.0)


def test_better_members_count_more_and_all_sum_to_one() -> None:
    y, mask = torch.zeros(10, dtype=torch.long), torch.ones(10, dtype=torch.bool)
    members = [member([1] * 9 + [0]), member([1] * 8 + [0] * 2), member([0] * 10)]
    weight = weights(members, y, mask)
    assert weight.sum() == pytest.approx(1)
    assert weight[0] > weight[1] > weight[2]


def test_the_temperature_falls_with_the_number_of_validation_nodes() -> None:
    right = torch.tensor([[1.0] * 9 + [0.0], [1.0] * 8 + [0.0] * 2, [1.0] * 8 + [0.0] * 2])
    few, many = standard_error(right), standard_error(right.repeat(1, 100))
    assert many == pytest.approx((0.1 / 1000) ** 0.5, rel=0.01)
    assert few > 10 * many
    # two members with accuracies 0.9 and 0.8: with 10 nodes both count, with 1000 one decides
    for copies, share in ((1, 0.5), (100, 0.99)):
        nodes = 10 * copies
        members = [member(([1] * 9 + [0]) * copies), member(([1] * 8 + [0] * 2) * copies)]
        found = weights(members, torch.zeros(nodes, dtype=torch.long), torch.ones(nodes, dtype=torch.bool))
        assert found[0] > share


def test_members_that_agree_share_the_weight() -> None:
    y, mask = torch.zeros(4, dtype=torch.long), torch.ones(4, dtype=torch.bool)
    assert weights([member([1, 1, 0, 1])] * 3, y, mask) == pytest.approx([1 / 3] * 3)


def test_the_average_is_one_of_probabilities() -> None:
    found = average([member([1]), member([0])], np.array([0.75, 0.25]))
    high = float(torch.softmax(torch.tensor([4.0, 0.0]), 0)[0])
    assert found[0, 0] == pytest.approx(0.75 * high + 0.25 * (1 - high))
    assert best([member([1], 0.5), member([1], 0.7), member([1], 0.7)]) == 1


def test_a_member_that_diverged_has_no_say() -> None:
    y, mask = torch.ones(6, dtype=torch.long), torch.ones(6, dtype=torch.bool)
    lost = member([1] * 6)
    lost.logits = torch.full((6, 2), float("nan"))
    weight = weights([member([0] * 6), lost], y, mask)
    assert weight[1] < 0.05
    assert torch.isfinite(average([member([1] * 6), lost], np.array([0.5, 0.5]))).all()


def test_overconfident_probabilities_are_toned_down() -> None:
    sure = torch.tensor([[0.99, 0.01]] * 400, dtype=torch.float64)
    y = torch.tensor([0] * 320 + [1] * 80)  # right in 80 % of the cases
    warm = calibration(sure, y)
    assert calibrated(sure, warm)[0, 0] == pytest.approx(0.8, abs=0.01)
    honest = calibrated(sure, warm)
    assert calibration(honest, y) == pytest.approx(1.0, abs=0.05)
    assert 0.9 < calibration(sure[:1], y[:1]) < 1.05  # one node says next to nothing
    assert torch.equal(calibrated(sure, 3.0).argmax(dim=1), sure.argmax(dim=1))


def test_what_held_out_nodes_say_counts() -> None:
    y, mask = torch.zeros(10, dtype=torch.long), torch.arange(10) < 4
    members = [member([1] * 10), member([1] * 10)]
    assert weights(members, y, mask) == pytest.approx([0.5, 0.5])
    rest = torch.arange(4, 10)
    for each, right in zip(members, ([1] * 6, [1, 1, 1, 1, 0, 0]), strict=True):
        each.held_out = rest, member(right).logits
    found = weights(members, y, mask)
    assert found[0] > 0.6


def test_a_member_is_judged_by_what_it_knows_and_not_by_how_sure_it_sounds() -> None:
    said = [member([1] * 8 + [0] * 2) for _ in range(2)]
    said[1].logits = 10 * said[1].logits
    y, mask = torch.zeros(10, dtype=torch.long), torch.ones(10, dtype=torch.bool)
    assert weights(said, y, mask)[0] > 0.6
    said[1].temperature = 10.0
    assert weights(said, y, mask) == pytest.approx([0.5, 0.5])


def spoken(logits: list[list[float]]) -> Member:
    return Member("a", "b", 0, 0.0, 0.0, 1, torch.tensor(logits), 0.0)


def shifted(per_class: int = 50, others: tuple[int, int] = (900, 100)) -> tuple[list[Member], Tensor, Tensor]:
    """Validation nodes, equally many of each class, then nodes to classify, nine in ten of the first. One member is
    right about 90 % of the first class and 70 % of the second; with the other member it is the other way round."""
    y = torch.tensor([0] * per_class + [1] * per_class + [0] * others[0] + [1] * others[1])
    members = []
    for accuracy in ((0.9, 0.7), (0.7, 0.9)):
        logits = torch.zeros(y.numel(), 2)
        start = 0
        for count, group in ((per_class, 0), (per_class, 1), (others[0], 0), (others[1], 1)):
            right = round(accuracy[group] * count)
            logits[start : start + right, group] = 2.0
            logits[start + right : start + count, 1 - group] = 2.0
            start += count
        members.append(spoken(logits.tolist()))
    return members, y, torch.arange(y.numel()) < 2 * per_class


def test_validation_nodes_are_weighted_by_the_classes_of_the_nodes_to_classify() -> None:
    members, y, val = shifted()
    assert weights(members, y, val) == pytest.approx([0.5, 0.5])
    found = weights(members, y, val, ~val)
    assert found[0] > 0.9  # the first class has nine tenths of the nodes to classify
    vote = average(members, found)
    weight, covered = label_shift(vote[val], y[val], vote[~val]) or (None, 0.0)
    assert weight is not None
    share = vote[~val].mean(dim=0)
    assert covered == pytest.approx(1.0)
    assert float(weight[:50].sum()) == pytest.approx(float(share[0]))
    assert weight[:50].unique().numel() == weight[50:].unique().numel() == 1


def test_classes_that_differ_by_chance_leave_the_weights_alone() -> None:
    members, y, val = shifted(others=(500, 500))
    assert (weights(members, y, val, ~val) == weights(members, y, val)).all()
    vote = average(members, np.array([0.5, 0.5]))
    assert label_shift(vote[val], y[val], vote[~val]) is None


def test_a_class_without_validation_nodes_makes_the_vote_more_even() -> None:
    score = torch.tensor([[1.0] * 9 + [0.0], [1.0] * 8 + [0.0] * 2, [1.0] * 8 + [0.0] * 2], dtype=torch.float64)
    even = torch.full((10,), 0.1, dtype=torch.float64)
    assert standard_error(score, even) == pytest.approx(standard_error(score))
    # the members differ at one node in ten; that may be all of the unseen fifth
    expected = (0.8**2 * standard_error(score) ** 2 + 0.2**2 * 0.1) ** 0.5
    assert standard_error(score, even, covered=0.8) == pytest.approx(expected)
    one = torch.tensor([0.91] + [0.01] * 9, dtype=torch.float64)  # little more than one node counts
    assert standard_error(score, one) > standard_error(score)
