"""Column roles, inferred before any value is judged."""

from magnet.tables.roles.base import ROLES, Role
from magnet.tables.roles.infer import TESTS, infer_role

__all__ = ["ROLES", "TESTS", "Role", "infer_role"]
