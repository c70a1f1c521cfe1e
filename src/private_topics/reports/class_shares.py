"""`write_shares`: one HTML page on the topic shares of classes; a picture for each topic, and the table behind them.

Classes that are rising whole numbers (years) are drawn as a line with a band, others as bars with whiskers.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

from markupsafe import Markup

from private_topics.reports.page import date_text, write_page
from private_topics.reports.topics import printable
from private_topics.reports.verdict import verdict_of

WIDTH, LINE_HEIGHT, BAR = 340, 180, 22
LEFT, RIGHT, TOP, BOTTOM = 44, 20, 10, 28
NAME_WIDTH, LONGEST_NAME = 108, 14
ENDS_OF_AXES = (0.01, 0.02, 0.04, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
FEWEST_POINTS = 3
MOST_TICKS = 6
STYLE = """
svg.shares { width: 100%; max-width: 460px; font-size: 13px; display: block; }
.shares .grid { stroke: var(--line); }
.shares text { fill: var(--soft); }
.shares .name { fill: var(--ink); }
.shares .band { fill: var(--accent); fill-opacity: .22; }
.shares .line { fill: none; stroke: var(--accent); stroke-width: 2; }
.shares .dot { fill: var(--accent); }
.shares .value { fill: var(--accent); fill-opacity: .55; }
.shares .whisker { stroke: var(--ink); stroke-width: 1.6; }
"""


def write_shares(
    found: Any, path: str | os.PathLike[str], *, title: str = "Topic shares by class", date: Any = None
) -> Path:
    """Write the page of a `ClassShares` to `path`; returns the path. `date`: today where not given."""
    highest = max([0.0, *found.high[found.enough].ravel().tolist()])
    largest = next(end for end in ENDS_OF_AXES if end >= highest)
    picture = line_picture if is_series(found.classes) else bar_picture
    topics = [
        {
            "index": topic,
            "label": printable(label),
            "words": ", ".join(map(printable, words)),
            "picture": picture(found, topic, largest),
        }
        for topic, (label, words) in enumerate(zip(found.labels, found.words, strict=True))
    ]
    context = {
        "title": title,
        "date": date_text(date, "write_shares"),
        "found": found,
        "verdict": verdict_of(found.privacy),
        "topics": topics,
        "rows": found.rows(),
        "too_few": [name for name, enough in zip(found.classes, found.enough, strict=True) if not enough],
        "style": Markup(STYLE),
    }
    return write_page(path, "shares.html", context, [STYLE])


def is_series(classes: tuple[str, ...]) -> bool:
    """Whether classes are points of a line: rising whole numbers, several of them."""
    if len(classes) < FEWEST_POINTS or not all(name.isascii() and name.isdigit() for name in classes):
        return False
    return all(one < two for one, two in itertools.pairwise(map(int, classes)))


def line_picture(found: Any, topic: int, largest: float) -> Markup:
    """The share of a topic by class as a line, its intervals as a band; nothing where a class is too small."""
    years = [int(name) for name in found.classes]
    bottom, height = LINE_HEIGHT - BOTTOM, LINE_HEIGHT - TOP - BOTTOM

    def x(year: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (year - years[0]) / (years[-1] - years[0])

    def y(share: float) -> float:
        return bottom - height * share / largest

    parts = [_level(share, y(share)) for share in (0.0, largest / 2, largest)]
    every = -(-len(years) // MOST_TICKS)
    for place in range(0, len(years), every):
        parts.append(_text(x(years[place]), bottom + 17, "middle", found.classes[place]))
    for _, run in itertools.groupby(range(len(years)), key=lambda row: bool(found.enough[row])):
        rows = list(run)
        if found.enough[rows[0]]:
            upper = [(x(years[row]), y(found.high[row, topic])) for row in rows]
            lower = [(x(years[row]), y(found.low[row, topic])) for row in reversed(rows)]
            middle = [(x(years[row]), y(found.shares[row, topic])) for row in rows]
            parts.append(Markup('<polygon class="band" points="{}"/>').format(_points(upper + lower)))
            parts.append(Markup('<polyline class="line" points="{}"/>').format(_points(middle)))
            for row, (left, top) in zip(rows, middle, strict=True):
                mark = '<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.6"><title>{}</title></circle>'
                parts.append(Markup(mark).format(left, top, _words(found, row, topic)))
    return _svg(found, topic, LINE_HEIGHT, parts)


def bar_picture(found: Any, topic: int, largest: float) -> Markup:
    """The share of a topic in each class as a bar, its interval as a whisker."""
    height = TOP + BAR * len(found.classes) + BOTTOM
    bottom = height - BOTTOM

    def x(share: float) -> float:
        return NAME_WIDTH + (WIDTH - NAME_WIDTH - RIGHT) * share / largest

    parts = []
    for share in (0.0, largest / 2, largest):
        line = '<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>'
        parts.append(Markup(line).format(x(share), x(share), TOP, bottom))
        parts.append(_text(x(share), bottom + 17, "middle", f"{100 * share:g}%"))
    for row, name in enumerate(found.classes):
        top = TOP + BAR * row
        short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
        parts.append(_text(NAME_WIDTH - 6, top + BAR / 2 + 4, "end", short, "name"))
        if not found.enough[row]:
            parts.append(_text(NAME_WIDTH + 5, top + BAR / 2 + 4, "start", "too few to say"))
            continue
        bar = '<rect class="value" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}"><title>{}</title></rect>'
        width = x(found.shares[row, topic]) - NAME_WIDTH
        parts.append(Markup(bar).format(NAME_WIDTH, top + 4, width, BAR - 8, _words(found, row, topic)))
        whisker = '<line class="whisker" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>'
        ends = x(found.low[row, topic]), x(found.high[row, topic])
        parts.append(Markup(whisker).format(*ends, top + BAR / 2, top + BAR / 2))
    return _svg(found, topic, height, parts)


def _svg(found: Any, topic: int, height: int, parts: list[Markup]) -> Markup:
    told = "; ".join(_words(found, row, topic) for row in range(len(found.classes)))
    return Markup(
        '<svg class="shares" viewBox="0 0 {} {}" role="img" aria-labelledby="share-{}-t share-{}-d">'
        '<title id="share-{}-t">Topic {} by class</title><desc id="share-{}-d">{}.</desc>{}</svg>'
    ).format(WIDTH, height, topic, topic, topic, topic, topic, told, Markup("").join(parts))


def _words(found: Any, row: int, topic: int) -> str:
    if not found.enough[row]:
        return f"{found.classes[row]}: too few to say"
    low, high = found.low[row, topic], found.high[row, topic]
    return f"{found.classes[row]}: {found.shares[row, topic]:.1%}, between {low:.1%} and {high:.1%}"


def _level(share: float, y: float) -> Markup:
    line = Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(LEFT, WIDTH - RIGHT, y, y)
    return line + _text(LEFT - 6, y + 4, "end", f"{100 * share:g}%")


def _text(x: float, y: float, anchor: str, text: str, kind: str = "tick") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        kind, x, y, anchor, text
    )


def _points(places: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
