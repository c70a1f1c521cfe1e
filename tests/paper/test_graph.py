"""The graph and its cuts, held against paths enumerated one by one; the pictures, held against the files in docs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path

import pytest

from private_topics import InputError, PrivateSpectralLDA, make_lda_corpus
from private_topics.fits.choice import FITS, noisy_edges, placements, release_behind
from private_topics.paper.graph import (
    CONFIGURATIONS,
    PAPER_GRAPH,
    SEQUENTIAL_GRAPH,
    Edge,
    Graph,
    Node,
)
from private_topics.paper.graph_picture import describe, render, write_pictures

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
PLACEMENTS = list(placements().values())
SEQUENTIAL = placements()["sequential"]
by_name = pytest.mark.parametrize("placement", PLACEMENTS, ids=lambda placement: placement.name)


def paths(graph: Graph, here: str | None = None) -> list[frozenset[str]]:
    """The edges of every path from the corpus to the output, by walking them all."""
    here = graph.source if here is None else here
    if here == graph.sink:
        return [frozenset()]
    return [
        frozenset({edge.key}) | rest for edge in graph.edges if edge.start == here for rest in paths(graph, edge.end)
    ]


def test_the_paper_draws_ten_edges_and_three_paths():
    assert sorted(PAPER_GRAPH.edge_keys) == [f"e{number}" for number in range(10)]
    expected = [{"e0", "e2", "e4", "e6", "e7", "e9"}, {"e0", "e5", "e8", "e9"}, {"e1", "e3", "e6", "e7", "e9"}]
    assert sorted(map(sorted, paths(PAPER_GRAPH))) == sorted(map(sorted, expected))


@pytest.mark.parametrize("graph", [PAPER_GRAPH, SEQUENTIAL_GRAPH], ids=["paper", "sequential"])
def test_a_cut_meets_every_path(graph):
    routes = paths(graph)
    keys = sorted(graph.edge_keys)
    for size in range(len(keys) + 1):
        for chosen in combinations(keys, size):
            assert graph.is_cut(chosen) == all(route & set(chosen) for route in routes)


@by_name
def test_every_placement_is_a_minimal_cut(placement):
    assert placement.graph.is_cut(placement.noisy)
    assert placement.graph.is_minimal_cut(placement.noisy)


def test_the_papers_example_of_no_cut():
    assert not PAPER_GRAPH.is_cut({"e0", "e2"})
    assert "output" in PAPER_GRAPH.reachable({"e0", "e2"})


def test_a_cut_with_an_edge_to_spare_is_not_minimal():
    assert PAPER_GRAPH.is_cut({"e8", "e9"})
    assert not PAPER_GRAPH.is_minimal_cut({"e8", "e9"})


def test_all_minimal_cuts():
    """Seventeen: the smallest sets that meet all paths, none inside another; the paper considers four of them."""
    every = [frozenset(c) for size in range(11) for c in combinations(sorted(PAPER_GRAPH.edge_keys), size)]
    found = [chosen for chosen in every if PAPER_GRAPH.is_minimal_cut(chosen)]
    assert len(found) == 17
    assert not any(one < other for one in found for other in found)
    for placement in CONFIGURATIONS.values():
        assert placement.noisy in found
    assert {frozenset({"e0", "e1"}), frozenset({"e0", "e6"})} <= set(found)
    for chosen in every:
        assert PAPER_GRAPH.is_cut(chosen) == any(cut <= chosen for cut in found)


def test_without_the_refinement_the_sequential_release_is_a_cut_of_the_papers_graph():
    assert PAPER_GRAPH.is_minimal_cut(SEQUENTIAL.noisy & PAPER_GRAPH.edge_keys)


def test_the_sequential_release_makes_whitening_and_un_whitening_public():
    exact = SEQUENTIAL_GRAPH.reachable(SEQUENTIAL.noisy)
    assert exact == {"corpus", "third_moment", "whitened_tensor"}


def test_every_release_of_a_fit_has_its_noisy_edge():
    X = make_lda_corpus(3000, 40, 2, random_state=0)[0]
    model = PrivateSpectralLDA(2, epsilon=50.0, noise_seed=0, keep="untested").fit(X)
    behind = [release_behind(release.name, "sequential") for release in model.privacy_.releases]
    assert len({release.name for release in behind}) >= 10
    assert {release.edge for release in behind} == SEQUENTIAL.noisy


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_published_lists_put_noise_where_the_paper_does(number):
    assert noisy_edges(FITS[f"configuration {number} (published)"]) == CONFIGURATIONS[number].noisy


def test_unknown_edges_and_broken_graphs_are_refused():
    with pytest.raises(InputError, match="e10"):
        PAPER_GRAPH.is_cut({"e10"})
    node = Node("corpus", "C", "corpus")
    with pytest.raises(InputError):
        Graph((node,), (Edge("e0", "corpus", "nowhere", ""),), "corpus", "corpus")
    with pytest.raises(InputError):
        Graph((node, node), (), "corpus", "corpus")


# -- pictures -------------------------------------------------------------------------------------------------------


def test_the_files_in_docs_are_what_is_rendered(tmp_path):
    """`python -m private_topics.paper.experiments figure-1 --out DIR` writes them."""
    written = write_pictures(tmp_path, PLACEMENTS)
    assert len(written) == 5
    for path in written:
        assert (IMAGES / path.name).read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


@by_name
def test_a_picture_is_self_contained_and_speaks(placement):
    picture = render(placement)
    root = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    title, description = root.find(f"{space}title"), root.find(f"{space}desc")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert description.text == describe(placement)
    assert all(f"{edge} with noise" in description.text for edge in placement.noisy)
    assert description.text.count("with noise") == len(placement.noisy)
    assert not re.search(r"href|url\(|<script|@import", picture)


@by_name
def test_noise_shows_in_more_than_colour(placement):
    root = ElementTree.fromstring(render(placement))
    space = "{http://www.w3.org/2000/svg}"
    groups = [group for group in root.findall(f"{space}g") if group.find(f"{space}text[@class='key']") is not None]
    marked = {g.find(f"{space}text[@class='key']").text for g in groups if g.get("class") == "noisy"}
    assert marked == placement.noisy
    style = root.find(f"{space}style").text
    assert "stroke-dasharray" in style.split(".noisy .arrow")[1].split("}")[0]
    boxes = [group for group in root.findall(f"{space}g") if group.find(f"{space}text[@class='name']") is not None]
    double = {g.find(f"{space}text[@class='name']").text for g in boxes if len(g.findall(f"{space}rect")) == 2}
    exact = placement.graph.reachable(placement.noisy)
    assert double == {node.name for node in placement.graph.nodes if node.key not in exact}


def test_every_colour_is_a_property_with_a_fallback_for_light_and_dark():
    style = render(SEQUENTIAL).split("<style>")[1].split("</style>")[0]
    light, dark = (
        set(re.findall(r"--([\w-]+): var\(--graph-[\w-]+, #\w{6}\)", half)) for half in style.split("@media")
    )
    used = set(re.findall(r": var\(--([\w-]+)\)", style))
    assert used <= light
    assert light == dark
    rules = style.split("} }")[1]
    assert "#" not in rules
    assert all(line.strip().startswith(".graph ") for line in rules.splitlines() if line.strip())
