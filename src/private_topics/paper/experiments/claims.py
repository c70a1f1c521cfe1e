"""Every claim of the paper on one page: what is true of it, where that comes out, and the command that shows it.

Statements are judged by the errata (docs/errata.md) and by proofs; what the paper measured, by the rows of our own
measurements, reading by reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from private_topics.paper.experiments.rows import Row, markdown_table, number
from private_topics.paper.experiments.statements import STATEMENTS
from private_topics.paper.experiments.verdicts import readings_verdicts, verdicts

DIFFERENT = (
    ("products of means stand for averages over distinct documents", "differs by O(1/N); `fits/published.py`"),
    (
        "Wikipedia: words of two letters or fewer and stop words are left out; the paper keeps them",
        "perplexities are not comparable",
    ),
    ("equal splits of the budget in place of a grid", "'oracle' rows of figure 2 have the grid"),
    (
        "the tensor power method of this library for simultaneous iteration, and for least squares in the code",
        "the same where the tensor has a decomposition",
    ),
    ("a model with fewer topics than asked for", "charged for the missing ones; 'tiled' beside it"),
)
NOT_RUN = (
    (
        "the oracle's grid and the refined method without noise in the authors' older setting (d = 50)",
        "private-topics reproduce figure-2c-notebook --method 'config 1 oracle' --out DIR",
    ),
    (
        "several draws, and the oracle's grid of configurations 3 and 4, of figure 2c in the setting of the text",
        "private-topics reproduce figure-2c --jobs 16 --out DIR",
    ),
    (
        "configuration 1 as published and the method without noise, refined or not, at k = 500 on Wikipedia, for "
        "their cost",
        "private-topics reproduce figure-4 --topics 500 --jobs 8 --out DIR",
    ),
)


def claims_page(rows_of: Mapping[str, Sequence[Row]]) -> str:
    """The page to cite."""
    parts = ["# Every claim of the paper", INTRODUCTION, "## Statements", _statements(rows_of), "## Measurements"]
    parts += [_measurements(rows_of), "## What differs from the paper", _list(("here", "consequence"), DIFFERENT)]
    parts += ["## Not run", _list(("what", "command or reason"), NOT_RUN)]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = (
    'The paper is "An end-to-end Differentially Private Latent Dirichlet Allocation Using a Spectral Algorithm". '
    "Names in the column of errata are paragraphs of [the errata](../errata.md), each with a test. Measurements are "
    "judged in two settings and by reading ([overview](README.md)). All private methods at equal guarantee, those of "
    "others too: [rivals](rivals.md)."
)


def _statements(rows_of: Mapping[str, Sequence[Row]]) -> str:
    lines = [
        (each.where, each.says, f"**{each.verdict}**", each.truth.format(seconds=_seconds(rows_of)),
         ", ".join(each.errata), f"`{each.command}`")
        for each in STATEMENTS
    ]  # fmt: skip
    return markdown_table(("where", "claim", "verdict", "what is true", "errata", "command"), lines)


def _seconds(rows_of: Mapping[str, Sequence[Row]]) -> str:
    """The fastest fit of each kind on the largest corpus for which times were taken."""
    for name in ("figure-2c-authors", "figure-2b-authors"):
        told = {}
        for method in ("unnoised", "vi-u"):
            rows = [row for row in rows_of.get(name, ()) if row["method"] == method]
            times = [row["seconds"] for row in rows if row.get("seconds") is not None]
            if times:
                told[method] = f"{method} {number(min(times))} s"
        if len(told) == 2:
            return f"{name}, fastest fit: {', '.join(told.values())}."
    return "No times were taken."


def _measurements(rows_of: Mapping[str, Sequence[Row]]) -> str:
    lines = []
    for name, rows in rows_of.items():
        command = f"`private-topics reproduce {name}`"
        for claim in readings_verdicts(name, rows):
            told = "; ".join(
                f"{reading}: {verdict}" for reading, (verdict, _) in claim.readings.items() if verdict != "-"
            )
            lines.append((f"[{name}]({name}/README.md)", claim.claim, told, command))
        lines += [(f"[{name}]({name}/README.md)", each.claim, each.verdict, command) for each in verdicts(name, rows)]
    return markdown_table(("where", "claim", "verdict by reading", "command"), lines)


def _list(header: tuple[str, str], lines: Sequence[tuple[str, str]]) -> str:
    return markdown_table(header, lines)
