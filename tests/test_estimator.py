from __future__ import annotations

from sklearn.base import BaseEstimator, clone

from magnet import MAGnet, clean, tables
from magnet.cleaner import Cleaner


def test_parameters_as_scikit_learn_has_them() -> None:
    model = clone(MAGnet(fix="none", seed=7))
    assert model.get_params()["seed"] == 7
    assert repr(model) == "MAGnet(fix='none', seed=7)"
    assert isinstance(model, BaseEstimator)


def test_the_command_line_has_the_same_arguments_and_results(misspelled) -> None:
    _, nodes = misspelled
    arguments = {"fix": "all", "fill": True, "threshold": 0.4}
    assert clone(MAGnet(**arguments)).get_params() == vars(Cleaner(**arguments))
    cells = [kind(**arguments).fit(tables.from_frames(nodes)).suspicious_cells() for kind in (MAGnet, Cleaner)]
    assert len(cells[0])
    assert cells[0].equals(cells[1])
    assert isinstance(clean(nodes).model, MAGnet)
