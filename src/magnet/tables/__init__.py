r"""Tables: read a file, find wrong cells, suggest corrections, and write it back.

The engine treats a table as the output of a noisy channel: every cell had a right value, and some were damaged. For the
observed text o of a cell and a candidate v, the posterior is

.. math:: P(v \mid o, \text{rest of the table}) \propto P(o \mid v) \; P(v \mid \text{rest of the table}).

*Channels* give the first factor, *experts* the second. A table passes these steps:

========== ========================================== ==========================================================
step       files                                      what happens
========== ========================================== ==========================================================
read       ``readers/``, ``frames.py``, ``links.py``  any file or data frame becomes a :class:`Table`
encode     ``coded.py``                               every column becomes distinct texts and one code per row
roles      ``roles/``                                 roles of columns: quantity, date, code, category, ...
rewrites   ``channels/`` (``REWRITES``)               whole columns: units, formats, disguised blanks, sources
posterior  ``posterior.py``, ``mixture.py``,          a few passes over the columns, each on the table as repaired
           ``prior.py``, ``experts/``                 so far: experts are fitted, error rates estimated
audits     ``channels/`` (``AUDITS``), ``numbers/``   what only shows beside repaired columns: outliers, blanks
rules      ``rules.py``                               given by the user: dependencies, patterns, ranges
graph      ``graph_findings.py``, ``suggest.py``      where rows are linked: rows that belong to another node
list       ``findings.py``, ``review.py``             listed cells with probability, suggestion and reason
write      ``write.py``, ``readers/``                 the file again, with the accepted changes and no others
========== ========================================== ==========================================================

``options.py`` holds shared constants and those of the posterior, each with its reason; others are where they are used.
``fields.py``, ``schema.py`` and ``encoding.py`` turn columns into numbers for the detectors of graphs.
"""

from magnet.tables.errors import BadTable
from magnet.tables.fields import Field
from magnet.tables.links import Links
from magnet.tables.readers.override import read_override
from magnet.tables.readers.read import read
from magnet.tables.schema import infer_fields
from magnet.tables.table import Table, from_frames

__all__ = ["BadTable", "Field", "Links", "Table", "from_frames", "infer_fields", "read", "read_override"]
