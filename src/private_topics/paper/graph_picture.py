"""The graph of a configuration as an SVG picture.

An edge with noise has another colour, dashes and a filled label; a node reached only through noise has another colour
and a double border. The colours are CSS custom properties with fallbacks for light and dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from pathlib import Path

from private_topics.paper.graph import Edge, Node, Placement

WIDTH, BOX_WIDTH, BOX_HEIGHT = 1160, 132, 62
TOP, MIDDLE, BOTTOM = 56, 174, 292
PLACES = {  # centres of the boxes
    "corpus": (80, MIDDLE),
    "second_moment": (246, TOP),
    "third_moment": (246, BOTTOM),
    "whitening": (414, MIDDLE),
    "unwhitening": (582, TOP),
    "whitened_tensor": (582, BOTTOM),
    "eigenpairs": (762, BOTTOM),
    "topics": (904, MIDDLE),
    "output": (1080, MIDDLE),
}
SEQUENTIAL_PLACES = {**PLACES, "refined": (1080, MIDDLE), "output": (1080, TOP)}
LANES = {"s0": 358, "s1": 398}  # edges that run below the rest, at this height
LEGEND_HEIGHT = 64
ARROW, RADIUS = 9, 14

STYLE = """
  .graph { --ink: var(--graph-ink, #1f2937); --line: var(--graph-line, #6b7280); --paper: var(--graph-paper, #ffffff);
    --box: var(--graph-box, #f3f4f6); --noise: var(--graph-noise, #b45309); --safe: var(--graph-safe, #e0f2f1);
    --safe-line: var(--graph-safe-line, #0f766e); --label: var(--graph-label, #ffffff);
    font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
  @media (prefers-color-scheme: dark) { .graph { --ink: var(--graph-ink, #e5e7eb); --line: var(--graph-line, #9ca3af);
    --paper: var(--graph-paper, #111827); --box: var(--graph-box, #1f2937); --noise: var(--graph-noise, #fbbf24);
    --safe: var(--graph-safe, #0c2f2e); --safe-line: var(--graph-safe-line, #2dd4bf);
    --label: var(--graph-label, #111827); } }
  .graph .page { fill: var(--paper); }
  .graph .box { fill: var(--box); stroke: var(--line); stroke-width: 1.5; }
  .graph .safe .box { fill: var(--safe); stroke: var(--safe-line); }
  .graph .inner { fill: none; stroke: var(--safe-line); stroke-width: 1; }
  .graph text { fill: var(--ink); text-anchor: middle; }
  .graph .symbol { font: italic 20px "STIX Two Text", "Latin Modern Roman", Georgia, "DejaVu Serif", serif; }
  .graph .below { font-size: 13px; }
  .graph .name { font-size: 14px; }
  .graph .arrow { fill: none; stroke: var(--line); stroke-width: 1.8; }
  .graph .tip { fill: var(--line); }
  .graph .pill { fill: var(--paper); stroke: var(--line); stroke-width: 1.2; }
  .graph .key { font-size: 13.5px; font-weight: 600; }
  .graph .noisy .arrow { stroke: var(--noise); stroke-width: 3; stroke-dasharray: 8 5; }
  .graph .noisy .tip, .graph .noisy .pill { fill: var(--noise); stroke: var(--noise); }
  .graph .noisy .key { fill: var(--label); }
  .graph .legend text { font-size: 14px; text-anchor: start; }
""".strip("\n")


def render(placement: Placement) -> str:
    """A self-contained SVG picture of the graph with the noisy edges and what lies behind them marked."""
    graph = placement.graph
    places = SEQUENTIAL_PLACES if "refined" in {node.key for node in graph.nodes} else PLACES
    lanes = [LANES[edge.key] for edge in graph.edges if edge.key in LANES]
    body = max([BOTTOM + BOX_HEIGHT // 2, *lanes]) + 22
    exact = graph.reachable(placement.noisy)
    parts = [_edge(edge, places, noisy=edge.key in placement.noisy) for edge in graph.edges]
    parts += [_node(node, places[node.key], safe=node.key not in exact) for node in graph.nodes]
    key = placement.name.replace(" ", "-")
    height = body + LEGEND_HEIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" class="graph" role="img" '
            f'aria-labelledby="{key}-title {key}-description">',
            f'<title id="{key}-title">{escape(_title(placement))}</title>',
            f'<desc id="{key}-description">{escape(describe(placement))}</desc>',
            f"<style>\n{STYLE}\n</style>",
            f'<rect class="page" width="{WIDTH}" height="{height}" rx="10"/>',
            *parts,
            _legend(body + 26),
            "</svg>\n",
        ]
    )


def describe(placement: Placement) -> str:
    """The picture in words, for those who cannot see it."""
    names = {node.key: node.name for node in placement.graph.nodes}
    noisy = {edge.key: " with noise" if edge.key in placement.noisy else "" for edge in placement.graph.edges}
    arrows = [
        f"{edge.key}{noisy[edge.key]}: {names[edge.start]} to {names[edge.end]}, {edge.flow}"
        for edge in placement.graph.edges
    ]
    return f"{placement.summary} Edges: {'; '.join(arrows)}."


def write_pictures(folder: Path, placements: Iterable[Placement]) -> list[Path]:
    """Write the pictures of some placements into `folder`; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for placement in placements:
        path = folder / f"graph_{placement.name.replace(' ', '_')}.svg"
        path.write_text(render(placement), encoding="utf-8")
        paths.append(path)
    return paths


def _title(placement: Placement) -> str:
    return f"Where the noise goes: {placement.name}, {', '.join(sorted(placement.noisy))}"


def _node(node: Node, centre: tuple[int, int], *, safe: bool) -> str:
    x, y = centre
    left, top = x - BOX_WIDTH // 2, y - BOX_HEIGHT // 2
    inner = (
        f'<rect class="inner" x="{left + 4}" y="{top + 4}" width="{BOX_WIDTH - 8}" height="{BOX_HEIGHT - 8}" rx="7"/>'
        if safe
        else ""
    )
    return (
        f'<g class="{"safe" if safe else "exact"}"><rect class="box" x="{left}" y="{top}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="10"/>{inner}'
        f'<text class="symbol" x="{x}" y="{y - 4}">{_symbol(node.symbol)}</text>'
        f'<text class="name" x="{x}" y="{y + 19}">{escape(node.name)}</text></g>'
    )


def _symbol(symbol: str) -> str:
    """`M2` with its digit below the line."""
    if symbol[-1].isdigit():
        return f'{escape(symbol[:-1])}<tspan class="below" dy="4">{symbol[-1]}</tspan>'
    return escape(symbol)


def _edge(edge: Edge, places: dict[str, tuple[int, int]], *, noisy: bool) -> str:
    start, end = places[edge.start], places[edge.end]
    if edge.key in LANES:
        path, tip, label = _lane(start, end, LANES[edge.key])
    else:
        path, tip, label = _straight(start, end)
    width = 34
    return (
        f'<g class="{"noisy" if noisy else "exact"}"><path class="arrow" d="{path}"/><path class="tip" d="{tip}"/>'
        f'<rect class="pill" x="{label[0] - width / 2:.1f}" y="{label[1] - 11:.1f}" width="{width}" height="22" '
        f'rx="11"/><text class="key" x="{label[0]:.1f}" y="{label[1] + 4.8:.1f}">{edge.key}</text></g>'
    )


def _straight(start: tuple[int, int], end: tuple[int, int]) -> tuple[str, str, tuple[float, float]]:
    """A straight arrow between the borders of two boxes: its path, its tip, the place of its label."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    ux, uy = dx / length, dy / length
    inside = min(BOX_WIDTH / 2 / abs(ux) if ux else math.inf, BOX_HEIGHT / 2 / abs(uy) if uy else math.inf)
    x0, y0 = start[0] + ux * inside, start[1] + uy * inside
    x1, y1 = end[0] - ux * (inside + 3), end[1] - uy * (inside + 3)
    shaft = f"M{x0:.1f} {y0:.1f}L{x1 - ux * ARROW:.1f} {y1 - uy * ARROW:.1f}"
    lift = -24.0 if abs(dy) < 1 and length - 2 * inside < 80 else 0.0  # a short arrow has its label above
    return shaft, _tip(x1, y1, ux, uy), ((x0 + x1) / 2, (y0 + y1) / 2 + lift)


def _lane(start: tuple[int, int], end: tuple[int, int], height: int) -> tuple[str, str, tuple[float, float]]:
    """An arrow that leaves a box downwards, runs below the others and comes up under its target."""
    x0 = start[0] - 18 if height == max(LANES.values()) else start[0] + 18
    x1, y0, y1 = end[0], start[1] + BOX_HEIGHT / 2, end[1] + BOX_HEIGHT / 2 + 3
    shaft = (
        f"M{x0} {y0:.1f}V{height - RADIUS}Q{x0} {height} {x0 + RADIUS} {height}H{x1 - RADIUS}"
        f"Q{x1} {height} {x1} {height - RADIUS}V{y1 + ARROW:.1f}"
    )
    return shaft, _tip(x1, y1, 0.0, -1.0), ((x0 + x1) / 2, float(height))


def _tip(x: float, y: float, ux: float, uy: float) -> str:
    back_x, back_y = x - ux * (ARROW + 2), y - uy * (ARROW + 2)
    return (
        f"M{x:.1f} {y:.1f}L{back_x - uy * 5.5:.1f} {back_y + ux * 5.5:.1f}"
        f"L{back_x + uy * 5.5:.1f} {back_y - ux * 5.5:.1f}Z"
    )


def _legend(y: int) -> str:
    box = f'y="{y - 10}" width="30" height="20" rx="5"'
    return (
        f'<g class="legend" aria-hidden="true">'
        f'<g class="noisy"><path class="arrow" d="M40 {y}H82"/><path class="tip" d="{_tip(92, y, 1, 0)}"/></g>'
        f'<text x="102" y="{y + 5}">carries noise</text>'
        f'<g class="exact"><path class="arrow" d="M240 {y}H282"/><path class="tip" d="{_tip(292, y, 1, 0)}"/></g>'
        f'<text x="302" y="{y + 5}">exact</text>'
        f'<rect class="box" x="400" {box}/><text x="440" y="{y + 5}">reached from the corpus without noise</text>'
        f'<g class="safe"><rect class="box" x="750" {box}/><rect class="inner" x="753" y="{y - 7}" width="24" '
        f'height="14" rx="3"/></g><text x="790" y="{y + 5}">reached through noise only</text></g>'
    )
