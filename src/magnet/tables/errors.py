"""The one error of this package that is not a wrong argument."""

from __future__ import annotations


class BadTable(ValueError):
    """The data cannot be read as a graph with a table (whereas a plain ``ValueError`` blames an argument)."""
