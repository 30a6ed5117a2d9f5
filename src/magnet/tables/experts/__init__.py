"""Experts: conditional distributions of a value given the rest of the table.

To add one, write a file with a ``fit`` function (see :class:`~magnet.tables.experts.base.Expert`), and name it here.
"""

from magnet.tables.experts import brackets, groups, links, sequence, template
from magnet.tables.experts.base import ColumnContext, Expert, Fit, Frequency

EXPERTS: dict[str, Fit] = {
    "groups": groups.fit,
    "links": links.fit,
    "brackets": brackets.fit,
    "template": template.fit,
    "sequence": sequence.fit,
}

__all__ = ["EXPERTS", "ColumnContext", "Expert", "Fit", "Frequency"]
