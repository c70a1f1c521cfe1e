"""Measurements as rows of a CSV file, and the medians that figures, texts and verdicts read from them."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
TEXTS = frozenset(
    ["method", "status", "corpus", "setting", "configuration", "edges", "cut", "minimal", "topic", "top_words"]
)
"""Columns of text; all others hold numbers, and an empty cell is None."""
DIGITS = 6


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Floats with six significant digits; nothing for None."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _written(value) for key, value in row.items()})


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
    """ "refused", "left out" or "measured", by the majority of draws."""
    found = [row["status"] for row in selected(rows, **wanted)]
    return max(set(found), key=found.count) if found else "left out"


def best(rows: Sequence[Row], key: str, methods: Sequence[str], **wanted: Any) -> tuple[str, float] | None:
    """The method with the smallest median, among those that have one."""
    medians = {method: median(rows, key, method=method, **wanted) for method in methods}
    found = {method: value for method, value in medians.items() if value is not None}
    return min(found.items(), key=lambda item: item[1]) if found else None


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
