"""Errors name the argument, its value and what is accepted."""

import math

import numpy as np
import pytest
import torch

from magnet.checks import at_least, device_exists, one_of, thresholds, unknown, whole


def test_an_accepted_word_passes_and_another_is_refused_with_the_accepted_ones():
    one_of("norm", "l1", ["l1", "l21"])
    one_of("bank", "haar", {"haar": 1})
    with pytest.raises(ValueError, match="norm is 'L1'; it must be one of 'l1', 'l21'"):
        one_of("norm", "L1", ["l1", "l21"])


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_a_number_must_be_finite_and_large_enough(value):
    at_least("layers", 1, 1)
    with pytest.raises(ValueError, match=f"layers is {value}; it must be a finite number of at least 1"):
        at_least("layers", value, 1)


def test_whole_numbers_are_those_of_python_and_numpy():
    whole("seed", 3)
    whole("seed", np.int64(-1))
    for value in (None, 1.0, "1"):
        with pytest.raises(ValueError, match=f"seed is {value!r}; it must be a whole number"):
            whole("seed", value)


def test_thresholds_are_numbers_between_0_and_1_of_any_type():
    thresholds("posterior", None, None)
    thresholds(0.5, None, None)
    thresholds("posterior", np.float32(0.1), None)
    thresholds(None, None, np.float64(0.1))
    with pytest.raises(ValueError, match="give only one of threshold, fdr and contamination"):
        thresholds(0.5, 0.1, None)
    for wrong in (
        (0, None, None),
        ("all", None, None),
        (None, "posterior", None),
        (None, 1.0, None),
        (None, None, "a"),
    ):
        with pytest.raises(ValueError, match="it must lie between 0 and 1"):
            thresholds(*wrong)


def test_a_device_must_exist():
    for device in (None, "cpu", torch.device("cpu")):
        device_exists(device)
    for device in ("gpu", "", "cuda:x", torch.device("meta")):
        with pytest.raises(ValueError, match="it must be cpu, cuda or cuda:N"):
            device_exists(device)
    with pytest.raises(ValueError, match=r"device is 'cuda:99', but there is no (such|CUDA) device"):
        device_exists("cuda:99")


def test_an_unknown_name_suggests_the_most_similar_one_if_there_is_any():
    assert "did you mean 'texas'? (known: cora, texas; more)" in str(
        unknown("dataset", "Texs", ["cora", "texas"], "; more")
    )
    assert str(unknown("dataset", "zzz", ["cora"])) == "unknown dataset 'zzz' (known: cora)"
