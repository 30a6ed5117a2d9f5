"""Tables in SQLite and DuckDB files, named ``FILE::TABLE``. The file is only read; changes go to a copy of it."""

from __future__ import annotations

import shutil
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from magnet.tables.errors import BadTable, listed, readable
from magnet.tables.readers.parquet import CELL_BYTES, ArrowTable
from magnet.tables.values import Change, cell_text, plain
from magnet.untrusted import check_size

SUFFIXES = (".sqlite", ".sqlite3", ".db", ".duckdb")
SEPARATOR = "::"
SQLITE_MAGIC, DUCKDB_MAGIC = b"SQLite format 3\0", b"DUCK"  # at the beginning; behind eight bytes of checksum


def file_of(path: Path) -> Path:
    """The file of a path that may name a table in it.

    Example:
        >>> file_of(Path("shop.sqlite::customers")).name
        'shop.sqlite'
    """
    return Path(str(path).partition(SEPARATOR)[0])


@dataclass(frozen=True, eq=False)
class Database(ArrowTable):
    """A table of a database file.

    Args:
        path: the file, and the table behind ``::``.
        table: its rows as Arrow columns.
        name: of the table.
        keys: identification of each row: its values in :attr:`key_columns`.
        key_columns: ``rowid``, or the primary key of a table without one.
        generated: columns that the database computes.
    """

    name: str = ""
    keys: list[tuple[Any, ...]] = field(default_factory=list)
    key_columns: tuple[str, ...] = ("rowid",)
    generated: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
        computed = dict.fromkeys(self.generated, "computed by the database")
        object.__setattr__(self, "left_alone", {**self.left_alone, **computed})

    @property
    def suffix(self) -> str:
        return file_of(self.path).suffix.lower()

    def write(self, target: Path, changes: Mapping[str, Change]) -> None:
        """A copy of the database with other values in some cells of this table, and everything else as it was."""
        shutil.copyfile(file_of(self.path), target)
        where = " AND ".join(f"{_quoted(name)} = ?" for name in self.key_columns)
        with self._writing(target) as connection:
            for name, (rows, values) in changes.items():
                for row, value in zip(rows.tolist(), self.values(name, values), strict=True):
                    update = f"UPDATE {_quoted(self.name)} SET {_quoted(name)} = ? WHERE {where}"
                    connection.execute(update, (plain(value), *self.keys[row]))

    @abstractmethod
    def _writing(self, target: Path) -> AbstractContextManager[Any]:
        """An open connection to a database; what was changed is written when the block ends without an error."""


class SQLite(Database):
    """A table of a SQLite file."""

    @contextmanager
    def _writing(self, target: Path) -> Iterator[sqlite3.Connection]:
        """One transaction on the copy, in which no trigger of the database runs."""
        try:
            with closing(sqlite3.connect(target, isolation_level=None)) as connection:
                if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    connection.execute("PRAGMA journal_mode = MEMORY")  # no file beside the copy
                connection.execute("BEGIN")
                triggers = connection.execute(
                    "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (self.name,)
                ).fetchall()
                for name, _ in triggers:
                    connection.execute(f"DROP TRIGGER {_quoted(name)}")
                yield connection
                for _, made in triggers:
                    connection.execute(made)
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise BadTable(f"{self.path}: the database refuses a change ({error}); nothing was written") from None


class DuckDB(Database):
    """A table of a DuckDB file."""

    @contextmanager
    def _writing(self, target: Path) -> Iterator[Any]:
        import duckdb

        try:
            with _duckdb(target, read_only=False) as connection:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
                connection.execute("CHECKPOINT")
        except duckdb.Error as error:
            raise BadTable(f"{self.path}: the database refuses a change ({error}); nothing was written") from None


def read_database(path: Path) -> Database:
    """Read a table of a SQLite or DuckDB file.

    Args:
        path: ``FILE::TABLE``, or the file alone where it holds one table.
    """
    file = file_of(path)
    with file.open("rb") as opened:
        start = opened.read(16)
    if start == SQLITE_MAGIC:
        log = file.with_name(file.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise BadTable(f"{file} has changes that are not merged yet ({log.name}); close the program that writes it")
        with readable(path, "a SQLite database"):
            return _read_sqlite(path, file)
    if start[8:12] == DUCKDB_MAGIC:
        with readable(path, "a DuckDB database"):
            return _read_duckdb(path, file)
    raise BadTable(f"{file} is neither a SQLite nor a DuckDB database")


def _read_sqlite(path: Path, file: Path) -> SQLite:
    import pyarrow as pa

    # immutable: nothing beside the file is made, and the file is not locked
    with closing(sqlite3.connect(f"file:{quote(str(file.resolve()))}?mode=ro&immutable=1", uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = {name: made for name, made in found if not name.startswith("sqlite_")}
        name = _chosen(path, list(tables))
        if (tables[name] or "").lstrip().upper().startswith("CREATE VIRTUAL"):
            raise BadTable(f"{path}: {name!r} is a virtual table; copy it into an ordinary one")
        table = _quoted(name)
        info = connection.execute(f"PRAGMA table_xinfo({table})").fetchall()
        columns = [entry[1] for entry in info]
        key = _sqlite_key(connection, table, info)
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        check_size(CELL_BYTES * rows * len(columns), str(path))
        wanted = ", ".join(_quoted(column) for column in (*key, *columns))
        cells = list(zip(*connection.execute(f"SELECT {wanted} FROM {table}").fetchall(), strict=True))
    cells = cells or [()] * (len(key) + len(columns))
    arrow = pa.table([_arrow_column(values) for values in cells[len(key) :]], names=columns)
    generated = frozenset(entry[1] for entry in info if entry[6] in (2, 3))
    return SQLite(path, arrow, name, list(zip(*cells[: len(key)], strict=True)), key, generated)


def _sqlite_key(connection: sqlite3.Connection, table: str, info: list[Any]) -> tuple[str, ...]:
    """The columns by which a row is found: one of SQLite's names for the row number, else the primary key."""
    taken = {entry[1].lower() for entry in info}
    for name in ("rowid", "_rowid_", "oid"):
        if name not in taken:
            try:
                connection.execute(f"SELECT {name} FROM {table} LIMIT 0")
            except sqlite3.OperationalError:  # a table WITHOUT ROWID
                break
            return (name,)
    return tuple(entry[1] for entry in sorted(info, key=lambda entry: entry[5]) if entry[5])


def _arrow_column(values: tuple[Any, ...]) -> Any:
    """A column of SQLite, whose cells have each their own type: numbers where all are, else text; bytes stay bytes."""
    import pyarrow as pa

    kinds = {type(value) for value in values} - {type(None)}
    if bytes in kinds:
        return pa.array([value if isinstance(value, bytes) else None for value in values], pa.binary())
    if kinds <= {int}:
        return pa.array(values, pa.int64())
    if kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else cell_text(value) for value in values], pa.string())


def _read_duckdb(path: Path, file: Path) -> DuckDB:
    with _duckdb(file, read_only=True) as connection:
        found = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall()
        name = _chosen(path, [entry[0] for entry in found])
        (rows,) = connection.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchone()
        columns = connection.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
        check_size(CELL_BYTES * rows * len(columns), str(path))
        table = connection.sql(f"SELECT rowid, * FROM {_quoted(name)}").to_arrow_table()
    keys = [(key,) for key in table.column(0).to_pylist()]
    return DuckDB(path, table.select(range(1, table.num_columns)), name, keys)


@contextmanager
def _duckdb(file: Path, read_only: bool) -> Iterator[Any]:
    """A connection that reaches nothing but this file."""
    try:
        import duckdb
    except ImportError:
        raise ImportError(f"{file} is a DuckDB database, which needs: pip install 'magnet-gnn[database]'") from None
    with duckdb.connect(str(file), read_only, {"enable_external_access": "false"}) as connection:
        yield connection


def _chosen(path: Path, tables: list[str]) -> str:
    """The table that a path names, or the only one."""
    name = str(path).partition(SEPARATOR)[2]
    if name in tables or (not name and len(tables) == 1):
        return name or tables[0]
    named = listed(sorted(tables)) or "none"
    what = f"there is no table {name!r} in it" if name else "the table must be named"
    raise BadTable(f"{file_of(path)}: {what}; write {file_of(path).name}{SEPARATOR}TABLE (there are: {named})")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
