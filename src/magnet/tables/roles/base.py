"""Roles of columns: what kinds of errors they may have (see :mod:`magnet.tables.schema` for kinds of features)."""

from __future__ import annotations

from dataclasses import dataclass

ROLES = ("identifier", "code", "phone", "date", "time", "unit", "quantity", "category", "text", "constant", "empty")


def roles_but(*names: str) -> tuple[str, ...]:
    """Every role except these."""
    return tuple(role for role in ROLES if role not in names)


@dataclass(frozen=True)
class Role:
    """The role of a column and the reason for it.

    Args:
        name: one of ``identifier``, ``code``, ``phone``, ``date``, ``time``, ``unit`` (number with a unit),
            ``quantity``, ``category``, ``text``, ``constant``, ``empty``.
        note: the evidence in plain words.
    """

    name: str
    note: str = ""

    @property
    def arithmetic(self) -> bool:
        """Whether differences of values mean something. Identifiers, codes and phones are never arithmetic."""
        return self.name in ("quantity", "unit")
