import numpy as np

from magnet.tables.coded import CodedColumn
from magnet.tables.experts.base import Frequency


def test_the_row_itself_is_left_out() -> None:
    column = CodedColumn.of("c", ["a", "a", "a", "b"])
    expert = Frequency(column)
    # three other rows: two of them say 'a' to a row that says 'a', none says 'b' to the row that does
    np.testing.assert_allclose(expert.own(), [2 / 3, 2 / 3, 2 / 3, 0])
    np.testing.assert_allclose(expert.probability(np.array([3, 0]), np.array([0, 1])), [1, 1 / 3])
