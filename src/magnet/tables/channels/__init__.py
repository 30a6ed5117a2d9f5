"""Channels: how right values come out wrong.

There are three kinds; the last two have a registry below.

* A *channel* proposes right texts with ``P(observed | right)`` for the posterior of a cell (``typo``, ``respell``;
  used by :class:`~magnet.tables.mixture.ColumnModel`).
* A *rewrite* is a function that decides about whole columns before the posterior. Its findings are applied in this
  order, so that each reads what those before it have mended.
* An *audit* is a function that looks at the repaired table after the posterior.

To add one, write a file with a ``rewrite`` or an ``audit`` (:data:`~magnet.tables.channels.base.ColumnTest`; most are
made by the decorator :func:`~magnet.tables.channels.base.text_test`), and name it here.
"""

from magnet.tables.channels import (
    case_and_space,
    checksum,
    constant,
    date_format,
    disguised_missing,
    encoding,
    id_pattern,
    link_disagreement,
    missing_values,
    moved,
    number_format,
    outlier,
    power_of_ten,
    punctuation,
    remark,
    semantic_type,
    spreadsheet,
    swapped,
    synonym,
    truncated,
    truth_discovery,
    unit,
    unreadable,
    year,
)
from magnet.tables.channels.base import ColumnTest

REWRITES: dict[str, ColumnTest] = {
    "encoding": encoding.rewrite,
    "disguised_missing": disguised_missing.rewrite,
    "spreadsheet": spreadsheet.rewrite,
    "unit": unit.rewrite,
    "number_format": number_format.rewrite,
    "power_of_ten": power_of_ten.rewrite,
    "date_format": date_format.rewrite,
    "case_and_space": case_and_space.rewrite,
    "synonym": synonym.rewrite,
    "remark": remark.rewrite,
    "punctuation": punctuation.rewrite,
    "truncated": truncated.rewrite,
    "moved": moved.rewrite,
    "swapped": swapped.rewrite,
    "truth_discovery": truth_discovery.rewrite,
    "constant": constant.rewrite,
}
AUDITS: dict[str, ColumnTest] = {
    "id_pattern": id_pattern.audit,
    "lookalikes": id_pattern.lookalikes,
    "semantic_type": semantic_type.audit,
    "checksum": checksum.audit,
    "year": year.audit,
    "impossible": unreadable.impossible,
    "unreadable": unreadable.audit,
    "outlier": outlier.audit,
    "missing_values": missing_values.audit,
    "link_disagreement": link_disagreement.audit,
}

__all__ = ["AUDITS", "REWRITES"]
