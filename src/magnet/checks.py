"""Checks of arguments; their errors name the argument, its value and what is accepted."""

from __future__ import annotations

import difflib
import math
import numbers
import operator
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def one_of(name: str, value: object, accepted: Iterable[str]) -> None:
    """Raise a ``ValueError`` unless ``value`` is one of the accepted words.

    Example:
        >>> one_of("norm", "l3", ("l1", "l21"))
        Traceback (most recent call last):
        ...
        ValueError: norm is 'l3'; it must be one of 'l1', 'l21'
    """
    accepted = tuple(accepted)
    if value not in accepted:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, accepted))}")


def at_least(name: str, value: float, least: float) -> None:
    """Raise a ``ValueError`` unless ``value`` is a finite number that is large enough."""
    if not (math.isfinite(value) and value >= least):
        raise ValueError(f"{name} is {value}; it must be a finite number of at least {least}")


def thresholds(threshold: Any, fdr: Any, contamination: Any) -> None:
    """Raise a ``ValueError`` unless each is None, or a number between 0 and 1, or ``threshold`` is ``"posterior"``."""
    for name, value in (("threshold", threshold), ("fdr", fdr), ("contamination", contamination)):
        given = value is not None and not (name == "threshold" and value == "posterior")
        if given and not (isinstance(value, numbers.Real) and 0 < float(value) < 1):
            raise ValueError(f"{name} is {value!r}; it must lie between 0 and 1")
    if (threshold not in (None, "posterior")) + (fdr is not None) + (contamination is not None) > 1:
        raise ValueError("give only one of threshold, fdr and contamination")


def whole(name: str, value: Any) -> None:
    """Raise a ``ValueError`` unless ``value`` is a whole number, of Python or NumPy."""
    try:
        operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}; it must be a whole number") from None


def device_exists(device: Any) -> None:
    """Raise a ``ValueError`` unless ``device`` is None, the CPU or a CUDA device of this machine."""
    kind, _, number = str(device).partition(":")
    if device is None or kind == "cpu":
        return
    if kind != "cuda" or not (number or "0").isdigit():
        raise ValueError(f"device is {str(device)!r}; it must be cpu, cuda or cuda:N")
    import torch

    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= found:
        raise ValueError(f"device is {str(device)!r}, but there is no {'such' if found else 'CUDA'} device")


def several(given: T) -> T | tuple[str]:
    """A single text as one of one, not as a sequence of letters.

    Example:
        >>> several("city"), several(["city", "zip"]), several(None)
        (('city',), ['city', 'zip'], None)
    """
    return (given,) if isinstance(given, str) else given


def unknown(what: str, name: object, known: Iterable[str], more: str = "") -> ValueError:
    """The error for a name that does not exist, with the most similar one that does.

    Example:
        >>> str(unknown("dataset", "corra", ["cora", "texas"]))
        "unknown dataset 'corra'; did you mean 'cora'? (known: cora, texas)"
    """
    known = list(known)
    near = difflib.get_close_matches(str(name).strip().lower(), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ValueError(f"unknown {what} {name!r}{hint} (known: {', '.join(known)}{more})")
