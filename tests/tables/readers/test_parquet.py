from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from magnet.tables import BadTable, Table, read


def change_and_write(table: Table, path: Path, changes: dict[str, tuple[list[int], list[object]]]) -> None:
    assert table.source is not None
    table.source.write(path, {name: (np.array(rows), values) for name, (rows, values) in changes.items()})


def test_parquet_keeps_types_and_metadata(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "id": pa.array(["a", "b", "c"]),
        "n": pa.array([1, None, 3], pa.int32()),
        "v": pa.array([1.5, 2.5, 3.5], pa.float32()),
        "c": pa.array(["x", "y", "x"]).dictionary_encode(),
        "when": pa.array([1, 2, 3], pa.timestamp("us", tz="UTC")),
    }
    original = pa.table(columns).replace_schema_metadata({"made": "by hand"})
    pq.write_table(original, tmp_path / "n.parquet")
    table = read(tmp_path / "n.parquet")
    change_and_write(table, tmp_path / "m.parquet", {"n": ([1], [2]), "c": ([0], ["y"])})
    new = pq.read_table(tmp_path / "m.parquet")
    assert new.schema.equals(original.schema, check_metadata=True)
    assert new["n"].to_pylist() == [1, 2, 3]
    assert new["c"].to_pylist() == ["y", "y", "x"]
    for name in ("id", "v", "when"):
        assert new[name].equals(original[name])


def test_parquet_keeps_the_order_of_categories_and_its_layout(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    size = pd.Categorical(["large", "small", None, "small"], ["small", "medium", "large"], ordered=True)
    pd.DataFrame({"size": size}).to_parquet(tmp_path / "n.parquet", compression="zstd", row_group_size=2)
    change_and_write(read(tmp_path / "n.parquet"), tmp_path / "m.parquet", {"size": ([0, 1], ["medium", None])})
    new = pd.read_parquet(tmp_path / "m.parquet")["size"]
    assert new.tolist() == ["medium", np.nan, np.nan, "small"]
    assert new.cat.ordered
    assert new.cat.categories.tolist() == ["small", "medium", "large"]
    layout = pq.ParquetFile(tmp_path / "m.parquet").metadata
    assert (layout.num_row_groups, layout.row_group(0).column(0).compression) == (2, "ZSTD")


def test_a_truncated_parquet_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"id": range(1000), "v": np.random.default_rng(0).normal(size=1000)}).to_parquet(
        tmp_path / "a.parquet"
    )
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadTable, match="cannot be read as Parquet"):
        read(tmp_path / "a.parquet")


def test_parquet_columns_of_every_type(tmp_path: Path) -> None:
    import datetime
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "price": pa.array([Decimal("1.50"), Decimal("2.25"), None], pa.decimal128(9, 2)),
        "big": pa.array([2**62, 2**62 + 1, None], pa.int64()),
        "day": pa.array([datetime.date(2024, 2, 29), None, None]),
        "kind": pa.array(["u", "v", None]).dictionary_encode(),
        "tags": pa.array([["a"], [], None]),
        "raw": pa.array([b"a", b"\xff", None]),
        "half": pa.array(np.array([0.5, 1.5, 2.5], dtype=np.float16)),
        "far": pa.array([2**61, 0, None], pa.timestamp("us")),
    }
    pq.write_table(pa.table(columns), tmp_path / "n.parquet")
    table = read(tmp_path / "n.parquet")
    text = table.text_columns()
    assert text["price"] == ["1.50", "2.25", ""]
    assert text["big"] == ["4611686018427387904", "4611686018427387905", ""]
    assert text["day"] == ["2024-02-29", "", ""]
    assert {"tags", "raw"} <= set(table.left_alone)
    assert {f.name: f.kind for f in table.fields}["tags"] == "text"
    wanted = {"price": "3.75", "big": str(2**62 + 7), "day": "2024-03-01", "kind": "u"}
    changes: dict[str, tuple[list[int], list[object]]] = {
        name: ([2], [table.parse_cell(name, word)]) for name, word in wanted.items()
    }
    change_and_write(table, tmp_path / "m.parquet", changes)
    new = pq.read_table(tmp_path / "m.parquet")
    assert new.schema.equals(pq.read_schema(tmp_path / "n.parquet"))
    assert new["price"].to_pylist()[2] == Decimal("3.75")
    assert new["big"].to_pylist() == [2**62, 2**62 + 1, 2**62 + 7]
    assert new["day"].to_pylist()[2] == datetime.date(2024, 3, 1)
    assert new["kind"].to_pylist() == ["u", "v", "u"]
    for name in ("tags", "raw", "half", "far"):
        assert new[name].equals(pa.table(columns)[name])
    with pytest.raises(ValueError, match="decimal128"):
        table.parse_cell("price", "12345678901")
