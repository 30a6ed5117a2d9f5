import pytest

from magnet.tables.experts.novelty import Novelty, token_class


def test_token_classes() -> None:
    assert [token_class(t) for t in ("42", "USA", "usa", "Usa", "uSA", "-", " ")] == [
        "d2",
        "U",
        "L",
        "T",
        "M",
        "-",
        " ",
    ]


def test_a_value_of_the_usual_shape_is_likelier_than_a_misspelled_one() -> None:
    counts = {f"Main Street {k}": 1 for k in range(10, 40)}
    novelty = Novelty(counts)
    assert novelty("Main Street 77") > 100 * novelty("Main Stre et 77")
    assert novelty("Main Street 77") > 100 * novelty("Maim Street 77")
    assert novelty.odd("Main Street77")
    assert not novelty.odd("Main Street 77")


def test_the_value_itself_is_left_out() -> None:
    with_it = Novelty({"alpha 1": 1, "alpha 2": 1, "bexa 3": 1})
    without = Novelty({"alpha 1": 1, "alpha 2": 1})
    assert with_it("bexa 3") == pytest.approx(without("bexa 3"))
    assert with_it.without("bexa 3", ["bexa 4"]) == pytest.approx([without("bexa 4")])
