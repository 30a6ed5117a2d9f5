"""Users' graphs: read and write files, what columns hold, values to numbers and back."""

from magnet.tables.errors import BadTable
from magnet.tables.fields import Field
from magnet.tables.links import Links
from magnet.tables.readers.override import read_override
from magnet.tables.readers.read import read
from magnet.tables.schema import infer_fields
from magnet.tables.table import Table, from_frames

__all__ = [
    "BadTable",
    "Field",
    "Links",
    "Table",
    "from_frames",
    "infer_fields",
    "read",
    "read_override",
]
