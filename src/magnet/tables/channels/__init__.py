"""Channels: how right values come out wrong.

There are three registries. A *channel* gives ``P(observed | right)`` for the posterior of a cell. A *rewrite* decides
about whole columns before it (units, formats, moved values); an *audit* after it (frames, outliers), on the repaired
table. To add one, write a file (see :class:`~magnet.tables.channels.base.Channel` and
:data:`~magnet.tables.channels.base.ColumnTest`), and name it here.
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
from magnet.tables.channels.base import UNKNOWN, Channel, ChannelContext, ColumnTest, Proposals
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

__all__ = [
    "AUDITS",
    "REWRITES",
    "UNKNOWN",
    "Channel",
    "ChannelContext",
    "ColumnTest",
    "Proposals",
    "Respell",
    "Typo",
    "make_channels",
]
