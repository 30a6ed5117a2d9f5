"""Roles."""

from __future__ import annotations

import pytest

from magnet.tables.roles.base import ROLES, Role, roles_but


@pytest.mark.parametrize("name", ROLES)
def test_only_sizes_are_arithmetic(name: str) -> None:
    assert Role(name).arithmetic == (name in ("quantity", "unit"))


def test_all_roles_but_some() -> None:
    assert set(ROLES) - set(roles_but("date", "time")) == {"date", "time"}
    assert roles_but() == ROLES
