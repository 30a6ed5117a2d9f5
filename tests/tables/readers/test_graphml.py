from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from magnet.tables import BadTable, Table, read


def change_and_write(table: Table, path: Path, changes: dict[str, tuple[list[int], list[object]]]) -> None:
    assert table.source is not None
    table.source.write(path, {name: (np.array(rows), values) for name, (rows, values) in changes.items()})


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="age" attr.type="int"/><key id="d1" for="node" attr.name="city" attr.type="string"/>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected">
<node id="n 0"><data key="d0">40</data><data key="d1">Rome</data></node>
<node id="n1"><data key="d0">41</data><data key="d1">Oslo &amp; co</data></node>
<node id="n2"><data key="d1">Rome</data></node>
<edge source="n 0" target="n1"><data key="d2">2.5</data></edge><edge source="n1" target="n2"/>
</graph></graphml>"""


def test_graphml_round_trip(tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(GRAPHML)
    table = read(tmp_path / "g.graphml")
    assert table.ids.tolist() == ["n 0", "n1", "n2"]
    assert table.links.edge_weight is not None
    assert table.links.edge_weight.tolist() == [2.5, 2.5, 1.0, 1.0]
    change_and_write(table, tmp_path / "h.graphml", {"age": ([2], [39]), "city": ([0], ["<Bern>"])})
    new = read(tmp_path / "h.graphml").frame
    assert new["age"].tolist() == ["40", "41", "39"]
    assert new["city"].tolist() == ["<Bern>", "Oslo & co", "Rome"]
    import networkx

    assert networkx.read_graphml(tmp_path / "h.graphml").nodes["n2"]["age"] == 39


NUMBERS = """<?xml version='1.0' encoding='iso-8859-1'?>
<!DOCTYPE graphml SYSTEM "http://example.org/g.dtd">
<!-- made by händ -->
<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">
  <g:key id="d0" for="node" attr.name="age" attr.type="int"><g:default>7</g:default></g:key>
  <g:key id="d1" for="node" attr.name="big" attr.type="long"/>
  <g:graph edgedefault="undirected">
    <g:node id="a>b"/>
    <g:node id="b"><g:data key="d0"> 40 </g:data><g:data key="d1">92233720368547758079</g:data></g:node>
    <g:node id='c'><g:data key="d1"/></g:node>
    <g:node id="d"><!-- c --><g:data key="d0">15</g:data></g:node>
    <g:edge source="a>b" target="b"/>
  </g:graph>
</g:graphml>
"""


def test_graphml_is_kept_to_the_byte_and_defaults_count(tmp_path: Path) -> None:
    content = NUMBERS.encode("iso-8859-1")
    (tmp_path / "g.graphml").write_bytes(content)
    table = read(tmp_path / "g.graphml")
    assert table.ids.tolist() == ["a>b", "b", "c", "d"]
    assert table.text_columns()["age"] == ["7", " 40 ", "7", "15"]
    assert table.text_columns()["big"] == ["", "92233720368547758079", "", ""]
    change_and_write(table, tmp_path / "same.graphml", {})
    assert (tmp_path / "same.graphml").read_bytes() == content
    changes: dict[str, tuple[list[int], list[object]]] = {"age": ([0, 1, 3], ["41", "42", "2"]), "big": ([2], ["5"])}
    change_and_write(table, tmp_path / "h.graphml", changes)
    expected = (
        content.replace(b'<g:node id="a>b"/>', b'<g:node id="a>b"><g:data key="d0">41</g:data></g:node>')
        .replace(b" 40 ", b"42")
        .replace(b">15<", b">2<")
        .replace(b'<g:data key="d1"/>', b'<g:data key="d1">5</g:data>')
    )
    assert (tmp_path / "h.graphml").read_bytes() == expected
    with pytest.raises(ValueError, match="not an integer"):
        table.parse_cell("age", "1.5")
    with pytest.raises(ValueError, match="ids of nodes are not changed"):
        table.parse_cell("node id", "x")


def test_deep_graphml_is_refused(tmp_path: Path) -> None:
    deep = "<data>" * 200_000
    (tmp_path / "g.graphml").write_text(f"<graphml><graph><node id='a'>{deep}")
    with pytest.raises(BadTable, match="more than 100 deep"):
        read(tmp_path / "g.graphml")


def test_graphml_without_a_declaration_is_utf8(tmp_path: Path) -> None:
    body = GRAPHML.partition("\n")[2]
    (tmp_path / "marked.graphml").write_bytes(body.encode("utf-16"))
    assert read(tmp_path / "marked.graphml").ids.tolist() == ["n 0", "n1", "n2"]
    (tmp_path / "g.graphml").write_bytes(body.replace("source", "s\xf5urce").encode("cp1252"))
    with pytest.raises(BadTable, match="not utf-8"):
        read(tmp_path / "g.graphml")
