"""Pictures of a report as inline SVG: coloured by the style sheet, described in words, complete without a script.

A bar next to its text stretches with the page. The topic map and the spectrum hold text of their own, so
they keep their proportions, and a narrow page scrolls them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from private_topics.reports.topics import Topic, TopicMap, Word

COLOURS = 8
GAP = 0.35
MAP_WIDTH, MAP_HEIGHT, MAP_MARGIN_X, MAP_MARGIN_Y = 760, 430, 120, 56
MAP_EDGE, FITS_A_PHONE = 10, 520
READABLE_DISC, SMALLEST_DISC, LARGEST_DISC = 11.0, 13.0, 36.0
CHARACTER, LINE = 7.4, 17.0
FULL_SIZE, PUSHES, TURNS = 24, 60, 36
SMALL_OVERLAP = 8.0
SPECTRUM_WIDTH, SPECTRUM_HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 20, 48
DECADES_BELOW_LEVEL = 0.5
FEWEST_DIGITS, ALL_DIGITS = 3, 17


def bar(fraction: float) -> Markup:
    """A bar of the given length; text next to it says the same."""
    return _bar(Markup('<rect class="value" width="{}" height="8"/>').format(_percent(fraction)))


def word_bar(word: Word, longest: float) -> Markup:
    """The same for a word: a mark where it would end in the text as a whole, and its interval, where known."""
    parts = Markup('<rect class="value" width="{}" height="8"/>').format(_percent(word.weight / longest))
    if word.low is not None and word.high is not None:
        left, right = (_percent(value / longest) for value in (word.low, word.high))
        parts += Markup('<rect class="span" x="{}" width="{}" y="3" height="2"/>').format(
            left, f"{float(right) - float(left):.2f}"
        )
    if word.usual is not None:
        parts += Markup('<rect class="usual" x="{}" width="1.4" height="8"/>').format(_percent(word.usual / longest))
    return _bar(parts)


def _percent(fraction: float) -> str:
    return f"{100.0 * min(max(fraction, 0.0), 1.0):.2f}"


def _bar(parts: Markup) -> Markup:
    return Markup(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="track" width="100" height="8"/>{}</svg>'
    ).format(parts)


@dataclass(frozen=True)
class Segment:
    """A part of a stacked bar."""

    name: str
    share: float
    colour: str


def segments(shares: dict[str, float]) -> list[Segment]:
    """Parts in order, with a colour each; the rest of the whole is the last one."""
    parts = [Segment(name, share, f"c{i % COLOURS + 1}") for i, (name, share) in enumerate(shares.items())]
    rest = 1.0 - sum(shares.values())
    return [*parts, Segment("not spent", rest, "c0")] if rest > 5e-4 else parts


def stacked_bar(parts: list[Segment], title: str, key: str) -> Markup:
    """Shares of a whole, side by side."""
    pieces, left = [], 0.0
    for part in parts:
        width = 100.0 * part.share
        pieces.append(
            Markup('<rect class="{}" x="{}" width="{}" height="10"><title>{}: {}</title></rect>').format(
                part.colour, f"{left:.3f}", f"{max(width - GAP, 0.12):.3f}", part.name, f"{part.share:.1%}"
            )
        )
        left += width
    words = "; ".join(f"{part.name} {part.share:.1%}" for part in parts)
    return Markup(
        '<svg class="stack" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-labelledby="{}-t {}-d">'
        '<title id="{}-t">{}</title><desc id="{}-d">{}</desc>{}</svg>'
    ).format(key, key, key, title, key, words, Markup("").join(pieces))


def topic_map_picture(topics: list[Topic], placed: TopicMap) -> Markup:
    """Topics as discs, as large as they are common, near where their words are alike; each leads to its card."""
    largest = max(topic.share for topic in topics)
    scale = min(1.0, math.sqrt(FULL_SIZE / len(topics)))
    radii = np.zeros(len(topics))
    for topic in topics:
        radii[topic.index] = max(READABLE_DISC, scale * _radius(topic.share / largest))
    centres = _moved_apart(_scaled(placed.places), radii)
    discs = {
        i: (float(x), float(y), float(radius)) for i, ((x, y), radius) in enumerate(zip(centres, radii, strict=True))
    }
    labels = _labels(topics, discs)
    marks = [_disc(topic, discs[topic.index], labels.get(topic.index)) for topic in topics]
    words = "; ".join(
        f"topic {t.index} at {centres[t.index][0]:.0f}, {centres[t.index][1]:.0f}: "
        f"{', '.join(word.name for word in t.words[:3])}"
        for t in topics
    )
    spans = [(x - r, x + r) for x, _, r in discs.values()] + [label.box[::2] for label in labels.values()]
    left, right = min(start for start, _ in spans) - MAP_EDGE, max(end for _, end in spans) + MAP_EDGE
    return Markup(
        '<svg class="map{}" viewBox="{:.0f} 0 {:.0f} {}" role="group" aria-labelledby="map-t map-d">'
        '<title id="map-t">Map of the topics</title>'
        '<desc id="map-d">Topics that use similar words are near each other. {}.</desc>{}</svg>'
    ).format(
        " broad" if right - left > FITS_A_PHONE else "", left, right - left, MAP_HEIGHT, words, Markup("").join(marks)
    )


def _radius(relative: float) -> float:
    """Area, not radius, grows with the share."""
    return max(SMALLEST_DISC, LARGEST_DISC * math.sqrt(relative))


def _scaled(places: np.ndarray) -> np.ndarray:
    """Places to coordinates of the picture, turned so that it is filled best; all distances grow by one factor."""
    room = np.array([MAP_WIDTH - 2 * MAP_MARGIN_X, MAP_HEIGHT - 2 * MAP_MARGIN_Y])
    turned = [_turned(places, math.pi * step / TURNS) for step in range(TURNS)]
    factors = [float((room / np.maximum(np.ptp(each, axis=0), 1e-9)).min()) for each in turned]
    best = int(np.argmax(factors))
    factor = factors[best] if np.ptp(places, axis=0).max() > 1e-6 else 0.0
    middle = (turned[best].max(axis=0) + turned[best].min(axis=0)) / 2.0
    moved: np.ndarray = (turned[best] - middle) * factor * [1.0, -1.0] + [MAP_WIDTH / 2, MAP_HEIGHT / 2]
    return moved


def _turned(places: np.ndarray, angle: float) -> np.ndarray:
    cosine, sine = math.cos(angle), math.sin(angle)
    turned: np.ndarray = places @ np.array([[cosine, sine], [-sine, cosine]])
    return turned


def _moved_apart(centres: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Discs that overlap are pushed apart, step by step, so that every number can be read."""
    moved = centres + 1e-3 * np.column_stack([np.cos(np.arange(len(radii))), np.sin(np.arange(len(radii)))])
    wanted = radii[:, None] + radii + 3.0
    np.fill_diagonal(wanted, 0.0)
    for _ in range(PUSHES):
        between = moved[:, None] - moved
        distance = np.maximum(np.linalg.norm(between, axis=2), 1e-9)
        lacking = np.maximum(wanted - distance, 0.0)
        if not lacking.any():
            break
        moved = moved + 0.5 * (between / distance[..., None] * lacking[..., None]).sum(axis=1)
        low, high = radii[:, None], np.array([MAP_WIDTH, MAP_HEIGHT]) - radii[:, None]
        moved = np.clip(moved, low, high)
    return moved


@dataclass(frozen=True)
class Label:
    """Text next to a disc, and the box that it takes."""

    text: str
    x: float
    y: float
    anchor: str

    @property
    def box(self) -> tuple[float, float, float, float]:
        width = len(self.text) * CHARACTER
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return left, self.y - LINE * 0.8, left + width, self.y + LINE * 0.2


def _labels(topics: list[Topic], discs: dict[int, tuple[float, float, float]]) -> dict[int, Label]:
    """The label or the two first words of each topic, or the first alone, where they cover nothing; else none."""
    taken = [(x - r, y - r, x + r, y + r) for x, y, r in discs.values()]
    placed: dict[int, Label] = {}
    for topic in topics:
        for text in _texts(topic):
            best = min(_around(text, *discs[topic.index]), key=lambda label: _cost(label.box, taken))
            if _cost(best.box, taken) <= SMALL_OVERLAP:
                placed[topic.index] = best
                taken.append(best.box)
                break
    return placed


def _texts(topic: Topic) -> list[str]:
    """What to write next to a disc, the best first."""
    words = [word.name if len(word.name) <= 14 else word.name[:13] + "…" for word in topic.words[:2]]
    named = [] if topic.label is None else [topic.label if len(topic.label) <= 28 else topic.label[:27] + "…"]
    return [*named, " · ".join(words), words[0]]


def _around(text: str, x: float, y: float, r: float) -> list[Label]:
    return [
        Label(text, x, y + r + LINE, "middle"),
        Label(text, x, y - r - 7, "middle"),
        Label(text, x + r + 6, y + 5, "start"),
        Label(text, x - r - 6, y + 5, "end"),
    ]


def _cost(box: tuple[float, float, float, float], taken: list[tuple[float, float, float, float]]) -> float:
    """Area covered, and what sticks out of the picture."""
    left, top, right, bottom = box
    overlap = sum(
        max(0.0, min(right, other[2]) - max(left, other[0])) * max(0.0, min(bottom, other[3]) - max(top, other[1]))
        for other in taken
    )
    outside = max(0.0, -left) + max(0.0, right - MAP_WIDTH) + max(0.0, -top) + max(0.0, bottom - MAP_HEIGHT)
    return overlap + 50.0 * outside


def _disc(topic: Topic, disc: tuple[float, float, float], label: Label | None) -> Markup:
    x, y, r = (f"{value:.1f}" for value in disc)
    text, seen = Markup(""), f"{topic.index}"
    if label is not None:
        text = Markup('<text class="words" x="{}" y="{}" text-anchor="{}">{}</text>').format(
            f"{label.x:.1f}", f"{label.y:.1f}", label.anchor, label.text
        )
        seen += f" {label.text}"
    unseen = topic.seen is False
    name = f"{topic.name}, {topic.share:.1%}: {', '.join(word.name for word in topic.words[:5])}"
    name += " (not beyond doubt in the texts)" if unseen else ""
    return Markup(
        '<a{} href="#topic-{}" data-topic="{}" aria-label="{}"><title>{}</title><circle cx="{}" cy="{}" r="{}"/>'
        '<text class="index" x="{}" y="{}" dy="{}" font-size="{}" text-anchor="middle">{}</text> {}</a>'
    ).format(
        Markup(' class="unseen"') if unseen else "", topic.index, topic.index, f"{seen}. {name}", name, x, y, r, x, y,
        *_type(disc[2]), topic.index, text,
    )  # fmt: skip


def _type(radius: float) -> tuple[int, int]:
    """How far below its middle a number in a disc stands, and its size."""
    return (4, 11) if radius < SMALLEST_DISC else (5, 14)


def spectrum_picture(eigenvalues: tuple[float, ...], level: float, above: int) -> Markup:
    """Eigenvalues of the released second moment on a logarithmic axis, the band of the noise below them.

    `above` of them exceed the `level`; what is written of them has as many digits as it takes to see that.
    """
    lowest = math.log10(level) - DECADES_BELOW_LEVEL
    logs = [math.log10(value) if value > 0 else -math.inf for value in eigenvalues]
    highest = max([math.log10(level) + DECADES_BELOW_LEVEL, *logs]) + 0.15
    bottom, height = SPECTRUM_HEIGHT - BOTTOM, SPECTRUM_HEIGHT - BOTTOM - TOP

    def place(logarithm: float) -> str:
        return f"{bottom - height * (max(logarithm, lowest) - lowest) / (highest - lowest):.1f}"

    step = (SPECTRUM_WIDTH - LEFT - RIGHT) / len(eigenvalues)
    parts = [_grid(lowest, highest, place), _noise_band(place(math.log10(level)), bottom)]
    written, *shown = _told_apart(level, eigenvalues, above)
    every = math.ceil(len(eigenvalues) / 25)
    for i, logarithm in enumerate(logs):
        x = f"{LEFT + step * (i + 0.5):.1f}"
        parts.append(
            Markup('<circle class="{}" cx="{}" cy="{}" r="5.5"><title>Direction {}: {}</title></circle>').format(
                "above" if i < above else "below", x, place(logarithm), i + 1, shown[i]
            )
        )
        if i % every == 0:
            parts.append(Markup('<text class="tick" x="{}" y="{}">{}</text>').format(x, bottom + 19, i + 1))
    parts.append(
        Markup('<text class="axis" x="{}" y="{}">direction of the second moment</text>').format(
            (LEFT + SPECTRUM_WIDTH - RIGHT) / 2, SPECTRUM_HEIGHT - 8
        )
    )
    return Markup(
        '<svg class="spectrum" viewBox="0 0 {} {}" role="img" aria-labelledby="spectrum-t spectrum-d">'
        '<title id="spectrum-t">Eigenvalues against the edge of the noise</title><desc id="spectrum-d">{} of {} '
        "directions stand above {}, the edge of the noise with a margin. Eigenvalues: {}.</desc>{}</svg>"
    ).format(
        SPECTRUM_WIDTH, SPECTRUM_HEIGHT, above, len(eigenvalues), written, ", ".join(shown), Markup("").join(parts)
    )


def _told_apart(level: float, values: tuple[float, ...], above: int) -> list[str]:
    """The level and the values, in the fewest digits of which a reader counts as many above."""
    shown: list[str] = []
    for digits in range(FEWEST_DIGITS, ALL_DIGITS + 1):
        shown = [f"{value:.{digits}g}" for value in (level, *values)]
        if sum(float(value) > float(shown[0]) for value in shown) == above:
            break
    return shown


def _grid(lowest: float, highest: float, place: Callable[[float], str]) -> Markup:
    """Lines at 1, 2, 5 times powers of ten."""
    ticks = [
        (digit, exponent)
        for exponent in range(math.floor(lowest), math.ceil(highest) + 1)
        for digit in (1, 2, 5)
        if lowest <= math.log10(digit) + exponent <= highest
    ]
    if len(ticks) > 7:
        ticks = [(digit, exponent) for digit, exponent in ticks if digit == 1]
    line = Markup(
        '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/><text class="tick value" x="{}" y="{}" dy="4">{}</text>'
    )
    parts = []
    for digit, exponent in ticks:
        y = place(math.log10(digit) + exponent)
        parts.append(line.format(LEFT, SPECTRUM_WIDTH - RIGHT, y, y, LEFT - 10, y, f"{digit}e{exponent}"))
    return Markup("").join(parts)


def _noise_band(edge: str, bottom: float) -> Markup:
    right, height = SPECTRUM_WIDTH - RIGHT, f"{bottom - float(edge):.1f}"
    return Markup(
        '<rect class="band" x="{}" y="{}" width="{}" height="{}"/>'
        '<line class="edge" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text class="edge" x="{}" y="{}" dy="-7" text-anchor="end">edge of the noise, with a margin</text>'
    ).format(LEFT, edge, right - LEFT, height, LEFT, right, edge, edge, right - 6, edge)
