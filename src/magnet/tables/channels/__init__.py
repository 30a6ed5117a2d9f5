"""Channels: how right values come out wrong.

There are three kinds, each with a registry below.

* A *channel* is a class that gives ``P(observed | right)`` for the posterior of a cell (``typo``, ``respell``,
  ``affix``; see :class:`~magnet.tables.channels.base.Channel`).
* A *rewrite* is a function that decides about whole columns before the posterior. Its findings are applied in this
  order, so that each reads what those before it have mended.
* An *audit* is a function that looks at the repaired table after the posterior.

To add one, write a file with a ``rewrite`` or an ``audit`` (:data:`~magnet.tables.channels.base.ColumnTest`; most are
made by the decorator :func:`~magnet.tables.channels.base.text_test`), and name it here.
"""

from magnet.tables.channels import (
    alien,
    blanks,
    constant,
    contrary,
    encoding,
    frame,
    mangled,
    marks,
    missing,
    moment_format,
    moved,
    number_format,
    outlier,
    remark,
    sources,
    swapped,
    unit,
    writing,
)
from magnet.tables.channels.affix import Affix
from magnet.tables.channels.base import Channel, ColumnTest
from magnet.tables.channels.respell import Respell
from magnet.tables.channels.typo import Typo
from magnet.tables.options import TableOptions


def make_channels(options: TableOptions) -> list[Channel]:
    """Fresh channels for one table, nothing learned yet."""
    typo = Typo(options.digit_discount)
    return [typo, Respell(typo), Affix()]


REWRITES: dict[str, ColumnTest] = {
    "encoding": encoding.rewrite,
    "missing": missing.rewrite,
    "mangled": mangled.rewrite,
    "unit": unit.rewrite,
    "number_format": number_format.rewrite,
    "moment_format": moment_format.rewrite,
    "writing": writing.rewrite,
    "remark": remark.rewrite,
    "marks": marks.rewrite,
    "moved": moved.rewrite,
    "swapped": swapped.rewrite,
    "sources": sources.rewrite,
    "constant": constant.rewrite,
}
AUDITS: dict[str, ColumnTest] = {
    "frame": frame.audit,
    "alien": alien.audit,
    "outlier": outlier.audit,
    "blanks": blanks.audit,
    "contrary": contrary.audit,
}

__all__ = ["AUDITS", "REWRITES", "Channel", "make_channels"]
