"""The algorithm as a directed graph, corpus to topics, and which sets of its edges separate the two.

Noise on a set of edges can only make the topics private if every path from the corpus to the output meets one of
them: the set is a *cut*. That is a question of reachability, and it is computed here, never listed. A cut is
necessary, not sufficient: how much noise each edge needs is the subject of `bounds` and docs/proofs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from private_topics.errors import InputError


@dataclass(frozen=True)
class Node:
    """A value of the algorithm: its key, its symbol in the mathematics, its name in words."""

    key: str
    symbol: str
    name: str


@dataclass(frozen=True)
class Edge:
    """An arrow between two nodes, and what flows along it."""

    key: str
    start: str
    end: str
    flow: str


@dataclass(frozen=True)
class Graph:
    """Nodes and edges; `source` is where the documents are, `sink` what the user gets."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    source: str
    sink: str

    def __post_init__(self) -> None:
        known = {node.key for node in self.nodes}
        ends = {self.source, self.sink} | {edge.start for edge in self.edges} | {edge.end for edge in self.edges}
        if ends - known or len(known) < len(self.nodes) or len(self.edge_keys) < len(self.edges):
            raise InputError("A graph needs distinct keys, and edges between its own nodes.")

    @property
    def edge_keys(self) -> frozenset[str]:
        return frozenset(edge.key for edge in self.edges)

    def reachable(self, without: Iterable[str] = ()) -> frozenset[str]:
        """Nodes that the documents still reach when the edges `without` carry nothing."""
        removed = self._checked(without)
        reached, waiting = {self.source}, [self.source]
        while waiting:
            here = waiting.pop()
            onward = {edge.end for edge in self.edges if edge.start == here and edge.key not in removed} - reached
            reached |= onward
            waiting += onward
        return frozenset(reached)

    def is_cut(self, edges: Iterable[str]) -> bool:
        """Whether every path from the corpus to the output meets one of these edges."""
        return self.sink not in self.reachable(edges)

    def is_minimal_cut(self, edges: Iterable[str]) -> bool:
        """Whether these edges are a cut, and none of them can be left out."""
        chosen = self._checked(edges)
        return self.is_cut(chosen) and not any(self.is_cut(chosen - {edge}) for edge in chosen)

    def _checked(self, edges: Iterable[str]) -> frozenset[str]:
        chosen = frozenset(edges)
        if chosen - self.edge_keys:
            unknown = ", ".join(sorted(chosen - self.edge_keys))
            raise InputError(f"The graph has the edges {', '.join(sorted(self.edge_keys))}. Got {unknown} instead.")
        return chosen


@dataclass(frozen=True)
class Placement:
    """A configuration: where the noise goes, on which graph, and in a sentence."""

    name: str
    graph: Graph
    noisy: frozenset[str]
    summary: str


_NODES = (
    Node("corpus", "C", "corpus"),
    Node("second_moment", "M2", "second moment"),
    Node("third_moment", "M3", "third moment"),
    Node("whitening", "W", "whitening"),
    Node("whitened_tensor", "T", "whitened tensor"),
    Node("unwhitening", "W†", "un-whitening"),
    Node("eigenpairs", "λ, v", "eigenpairs"),
    Node("topics", "μ, α", "topics"),
    Node("output", "μ, α", "released"),
)
_EDGES = (
    Edge("e0", "corpus", "second_moment", "pairs of words in a document, averaged"),
    Edge("e1", "corpus", "third_moment", "triples of words in a document, averaged"),
    Edge("e2", "second_moment", "whitening", "top k singular values and vectors"),
    Edge("e3", "third_moment", "whitened_tensor", "third moment, d × d × d"),
    Edge("e4", "whitening", "whitened_tensor", "whitening matrix, d × k"),
    Edge("e5", "second_moment", "unwhitening", "top k singular values and vectors"),
    Edge("e6", "whitened_tensor", "eigenpairs", "whitened tensor, k × k × k"),
    Edge("e7", "eigenpairs", "topics", "k eigenvalues and eigenvectors"),
    Edge("e8", "unwhitening", "topics", "un-whitening matrix, k × d"),
    Edge("e9", "topics", "output", "topics and Dirichlet weights, k × d"),
)

# Paper, Figure 1.
PAPER_GRAPH = Graph(_NODES, _EDGES, "corpus", "output")

# The sequential release reads the corpus twice more: inside the released frame, and to refine the topics.
SEQUENTIAL_GRAPH = Graph(
    (*_NODES[:-1], Node("refined", "μ, α", "refined topics"), _NODES[-1]),
    (
        *_EDGES[:-1],
        Edge("e9", "topics", "refined", "spectral topics, the start of the refinement"),
        Edge("s0", "corpus", "whitened_tensor", "second moment once more, inside the frame, (k + 10) × (k + 10)"),
        Edge("s1", "corpus", "refined", "statistics of the refinement steps, k × d each"),
        Edge("s2", "refined", "output", "refined topics and Dirichlet weights, k × d"),
    ),
    "corpus",
    "output",
)

# Paper, section "Differentially Private Spectral Algorithm".
CONFIGURATIONS = {
    1: Placement(
        "configuration 1", PAPER_GRAPH, frozenset({"e3", "e4", "e8"}), "Noise on the third moment, W and W†."
    ),
    2: Placement("configuration 2", PAPER_GRAPH, frozenset({"e6", "e8"}), "Noise on the whitened tensor and W†."),
    3: Placement("configuration 3", PAPER_GRAPH, frozenset({"e7", "e8"}), "Noise on the eigenpairs and W†."),
    4: Placement("configuration 4", PAPER_GRAPH, frozenset({"e9"}), "Noise on the topics themselves."),
}
SEQUENTIAL_SUMMARY = (
    "Noise on the second moment, which makes W and W† public; then on the moments inside W; then on the refinement."
)
