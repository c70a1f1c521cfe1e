"""Measurements as rows of a CSV file, and what figures, texts and verdicts read from them."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
MEASURED_AT, UNRECORDED = "measured_at", "not recorded"
TEXTS = frozenset(
    ["method", "status", "corpus", "setting", "configuration", "edges", "cut", "minimal", "topic", "top_words"]
) | {MEASURED_AT}
"""Columns of text; all others hold numbers, and an empty cell is None."""
DIGITS = 6
MEASURED, REFUSED, LEFT_OUT = "measured", "refused", "left out"


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Floats with six significant digits; an empty cell for None."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _written(value) for key, value in row.items()})


def kept_rows(path: Path, measured: Sequence[Row]) -> list[Row]:
    """The stored rows of methods, or of methods at numbers of topics, that were not measured again."""
    if not path.exists():
        return []
    again = {(row["method"], row["topics"]) for row in measured}
    stored = [row for row in read_rows(path) if (row["method"], row["topics"]) not in again]
    return [{MEASURED_AT: UNRECORDED} | row for row in stored]


def read_rows(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return [{key: _read(key, value) for key, value in row.items()} for row in csv.DictReader(file)]


def _written(value: Any) -> Any:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value


def _read(key: str, value: str) -> Any:
    if key in TEXTS:
        return value
    return float(value) if value else None


def selected(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def median(rows: Iterable[Row], key: str, **wanted: Any) -> float | None:
    """Median over the draws; None if most of them were refused, or none was made."""
    chosen = selected(rows, **wanted)
    values = [row[key] for row in chosen if row[key] is not None]
    return statistics.median(values) if 2 * len(values) > len(chosen) else None


def status(rows: Iterable[Row], **wanted: Any) -> str:
    """`REFUSED`, `LEFT_OUT` or `MEASURED`, by the majority of draws."""
    found = [row["status"] for row in selected(rows, **wanted)]
    return max(set(found), key=found.count) if found else LEFT_OUT


def best(rows: Sequence[Row], key: str, methods: Sequence[str], **wanted: Any) -> tuple[str, float] | None:
    """The method with the smallest median, among those that have one."""
    medians = {method: median(rows, key, method=method, **wanted) for method in methods}
    found = {method: value for method, value in medians.items() if value is not None}
    return min(found.items(), key=lambda item: item[1]) if found else None


def levels(rows: Sequence[Row]) -> list[float]:
    """The epsilons that occur."""
    return sorted({row["epsilon"] for row in rows if row["epsilon"] is not None})


def shown(rows: Sequence[Row], key: str, method: str, **wanted: object) -> str:
    """The median, or why there is none."""
    value = median(rows, key, method=method, **wanted)
    return number(value) if value is not None else status(rows, method=method, **wanted)


def spread(rows: Sequence[Row], key: str, method: str, **wanted: object) -> str:
    """The median and, where there are several draws, the least and the largest in brackets."""
    values = [row[key] for row in selected(rows, method=method, **wanted) if row[key] is not None]
    told = shown(rows, key, method, **wanted)
    return f"{told} [{number(min(values))}, {number(max(values))}]" if len(values) > 1 else told


def drawn(rows: Sequence[Row]) -> str:
    """How many draws the methods have: of all, or, where they differ, of each number's methods."""
    methods: dict[int, list[str]] = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        number_of = len({row.get("draw") for row in selected(rows, method=method)})
        methods.setdefault(number_of, []).append(method)
    if len(methods) == 1:
        return str(next(iter(methods)))
    return "; ".join(f"{number_of} of {', '.join(names)}" for number_of, names in methods.items())


def listed(rows: Sequence[Row], key: str, methods: Iterable[str], **wanted: object) -> str:
    """Each method with what is shown of it."""
    return ", ".join(f"{method} {shown(rows, key, method, **wanted)}" for method in methods)


def number(value: float) -> str:
    """Three significant digits; all digits of a perplexity."""
    if value == math.inf:
        return "∞"
    return f"{value:,.0f}" if 1e3 <= value < 1e6 else f"{value:.3g}"


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
