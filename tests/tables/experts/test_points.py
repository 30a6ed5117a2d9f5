import numpy as np

from magnet.tables.coded import CodedTable
from magnet.tables.experts import sequence, template
from magnet.tables.experts.base import ColumnContext, Expert
from magnet.tables.roles import infer_role


def fitted(columns: dict[str, list[str]], position: int, fit: object) -> tuple[list[Expert], CodedTable]:
    table = CodedTable.of(columns)
    for column in table.columns:
        column.role = infer_role(column, table)
    return fit(ColumnContext(table, position)), table  # type: ignore[operator]


def test_a_sequence_is_predicted_from_both_sides() -> None:
    texts = [f"R{k:03d}" for k in range(30)]
    texts[10] = "R0x0"
    experts, table = fitted({"key": texts}, 0, sequence.fit)
    codes = experts[0].proposals()[:, 0]
    assert table.columns[0].values[codes[10]] == "R010"
    assert codes[0] == -1


def test_days_are_a_sequence_across_months() -> None:
    days = np.arange("2021-01-20", "2021-02-20", dtype="datetime64[D]").astype(str).tolist()
    days[12] = "2021-02-10"
    experts, table = fitted({"day": days}, 0, sequence.fit)
    assert table.columns[0].values[experts[0].proposals()[12, 0]] == "2021-02-01"


def test_a_column_that_does_not_count_has_no_sequence() -> None:
    texts = [str(k) for k in np.random.default_rng(0).permutation(30)]
    assert fitted({"key": texts}, 0, sequence.fit)[0] == []


def test_a_template_names_its_columns() -> None:
    states, codes = ["al", "ak", "tx"] * 10, [f"m-{k % 7}{k % 3}" for k in range(30)]
    both = [f"{s}_{c}" for s, c in zip(states, codes, strict=True)]
    both[4] = "ak_m-4x"
    experts, table = fitted({"state": states, "code": codes, "both": both}, 2, template.fit)
    code = experts[0].proposals()[4, 0]
    assert table.columns[2].values[code] == f"ak_{codes[4]}"
    assert experts[0].evidence(4, int(code)) == f"code and state of this row give 'ak_{codes[4]}'"
