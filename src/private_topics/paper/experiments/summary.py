"""Texts from rows: a page for each figure or table, and the page of all verdicts. No number is typed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from private_topics.paper.experiments.claims import claims_page
from private_topics.paper.experiments.figure_two import FIGURE_TWO, ReadingsVerdict, learnt_key, readings_of
from private_topics.paper.experiments.losses import loss_of
from private_topics.paper.experiments.methods import (
    NOT_PRIVATE,
    ORACLE,
    PRIVATE,
    PROVED,
    PUBLISHED,
    READINGS,
    SEQUENTIAL,
    VARIATIONAL,
)
from private_topics.paper.experiments.notes import (
    AUTHORS_NOTE,
    INTRODUCTION,
    METHOD_NOTE,
    NOTES,
    PICTURE_NOTE,
    PROMISE_NOTE,
    QUICK_NOTE,
    READING_NOTE,
    REFUSAL_NOTE,
    TEXT_NOTE,
    UNEQUAL_NOTE,
    VOCABULARY_NOTE,
)
from private_topics.paper.experiments.paper_points import TOP_WORDS
from private_topics.paper.experiments.rows import (
    MEASURED_AT,
    UNRECORDED,
    Row,
    best,
    drawn,
    levels,
    markdown_table,
    median,
    number,
    selected,
    shown,
    spread,
)
from private_topics.paper.experiments.synthetic_error import AUTHORS, DELTA, error_key
from private_topics.paper.experiments.verdicts import (
    PROMISED_EPSILONS,
    WIKIPEDIA_TOPICS,
    Promise,
    Verdict,
    promises,
    readings_verdicts,
    verdicts,
)
from private_topics.paper.experiments.wikipedia import STAND_IN


def page(name: str, title: str, rows: Sequence[Row], *, quick: bool) -> str:
    """The Markdown page of one figure or table."""
    parts = [f"# {title}", QUICK_NOTE if quick else "", _picture(name), _table(name, rows), _notes(name)]
    parts += ["## Verdicts", *_verdict_tables({name: rows}, links=False)]
    parts.append(f"Rows: [points.csv](points.csv). To repeat it: `private-topics reproduce {name} --out DIR`.")
    parts.append(_measured_at(rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def _picture(name: str) -> str:
    if name == "figure-1":
        names = ("configuration_1", "configuration_2", "configuration_3", "configuration_4", "sequential")
        return "\n".join(f"![{each.replace('_', ' ')}](graph_{each}.svg)" for each in names)
    return f"![{name}](figure.png)"


def _notes(name: str) -> str:
    if name in FIGURE_TWO:
        picture = f"\n\n{PICTURE_NOTE}" if name == "figure-2c-authors" else ""
        return f"{AUTHORS_NOTE if name in AUTHORS else TEXT_NOTE} {METHOD_NOTE}{picture}\n\n{REFUSAL_NOTE}"
    if name == "figure-4":
        return f"{NOTES[name]} {VOCABULARY_NOTE}"
    return NOTES[name]


def _table(name: str, rows: Sequence[Row]) -> str:
    if name in FIGURE_TWO:
        return _error_table(name, rows)
    if name == "figure-4":
        return _perplexity_table(rows)
    if name == "table-top-words":
        return _words_table(rows)
    keys = [key for key in rows[0] if key != MEASURED_AT]
    return markdown_table(keys, [[_cell(row[key]) for key in keys] for row in rows])


def _cell(value: object) -> str:
    if value is None:
        return "left out"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def epsilons(rows: Sequence[Row]) -> list[float | None]:
    """The epsilons of a method; None alone for one without noise."""
    return [*levels(rows)] or [None]


def _error_table(name: str, rows: Sequence[Row]) -> str:
    first = rows[0]
    size = f"alpha0 = {first['alpha0']:g}, {first['documents']:,.0f} documents, {first['words']:.0f} words, "
    size += f"{first['topics']:.0f} topics, delta = 1e-7. Draws, each with its own corpus: {drawn(rows)}."
    return f"{size}\n\n{_readings_table(name, rows)}\n\n{READING_NOTE}\n\n{_methods_table(name, rows)}"


def _readings_table(name: str, rows: Sequence[Row]) -> str:
    """The paper's configurations by reading: error, and what it costs."""
    key, readings = error_key(name), readings_of(name)
    lines = []
    for number_of in (1, 2, 3, 4):
        for level in levels(rows):
            cells = []
            for methods in readings.values():
                method = methods[number_of - 1] if number_of <= len(methods) else ""
                cells.append(_reading_cell(selected(rows, method=method, epsilon=level), key, method))
            lines.append((str(number_of), f"{level:g}", *cells))
    return markdown_table(("configuration", "epsilon", *readings), lines)


def _reading_cell(rows: Sequence[Row], key: str, method: str) -> str:
    if not rows:
        return "-"
    cost = loss_of(rows[0], DELTA)
    return f"{spread(rows, key, method)} ({'?' if cost is None else number(cost)})"


def _methods_table(name: str, rows: Sequence[Row]) -> str:
    """Everything else."""
    key, l2 = error_key(name), learnt_key(name)
    lines = []
    for method in (*ORACLE, *PROVED, SEQUENTIAL, VARIATIONAL, *NOT_PRIVATE):
        mine = selected(rows, method=method)
        for level in epsilons(mine) if mine else ():
            used = median(mine, "topics_used", epsilon=level)
            cost = loss_of(selected(mine, epsilon=level)[0], DELTA)
            error = spread(mine, key, method, epsilon=level) + ("" if cost is None else f" ({number(cost)})")
            cells = [error, shown(mine, f"{key}_tiled", method, epsilon=level)]
            if l2 != key:
                cells.append(shown(mine, l2, method, epsilon=level))
            lines.append((method, "" if level is None else f"{level:g}", *cells, "" if used is None else f"{used:g}"))
    header = ("method", "epsilon", "error", "tiled", *(() if l2 == key else ("L2",)), "topics used")
    return markdown_table(header, lines)


def _perplexity_table(rows: Sequence[Row]) -> str:
    sizes = sorted({row["topics"] for row in rows})
    lines = []
    for method in (*PRIVATE, *NOT_PRIVATE):
        for level in epsilons(selected(rows, method=method)):
            cells = [_perplexity_cell(rows, method, level, topics) for topics in sizes]
            lines.append((method, "" if level is None else f"{level:g}", *cells))
    source = rows[0]["corpus"]
    label = f"**{source}**" if source == STAND_IN else source
    size = f"Corpus: {label}, {rows[0]['documents']:,.0f} training documents, {rows[0]['words']:,.0f} words."
    header = ("method", "epsilon", *(f"k = {topics:.0f}" for topics in sizes))
    draws = ", ".join(f"{drawn(selected(rows, topics=topics))} (k = {topics:.0f})" for topics in sizes)
    size += f" Draws of the noise and of random starts: {draws}; median and range."
    return f"{size} In brackets the topics used, where fewer than asked for.\n\n" + markdown_table(header, lines)


def _perplexity_cell(rows: Sequence[Row], method: str, level: float | None, topics: float) -> str:
    used = median(rows, "topics_used", method=method, epsilon=level, topics=topics)
    suffix = f" ({used:g})" if used is not None and used < topics else ""
    return spread(rows, "perplexity", method, epsilon=level, topics=topics) + suffix


def _words_table(rows: Sequence[Row]) -> str:
    lines = [(row["method"], row["topic"], row["top_words"] or row["status"]) for row in rows]
    paper = [("the paper", str(place + 1), " ".join(words)) for place, words in enumerate(TOP_WORDS)]
    return f"Corpus: {rows[0]['corpus']}.\n\n" + markdown_table(("method", "topic", "top words"), [*lines, *paper])


def _measured_at(rows: Sequence[Row]) -> str:
    """Where the rows come from, and which methods belong to which run."""
    runs: dict[str, list[str]] = {}
    for row in rows:
        runs.setdefault(row.get(MEASURED_AT) or UNRECORDED, []).append(row.get("method", ""))
    if len(runs) == 1:
        return f"Measured: {next(iter(runs))}."
    told = (f"{run}: {', '.join(dict.fromkeys(methods))}" for run, methods in runs.items())
    return f"Measured: {'; '.join(told)}."


def _verdict_tables(rows_of: Mapping[str, Sequence[Row]], *, links: bool) -> list[str]:
    """The claims on figure 2 by reading, then the others."""
    by_reading = [each for name, rows in rows_of.items() for each in readings_verdicts(name, rows)]
    plain = [each for name, rows in rows_of.items() for each in verdicts(name, rows)]
    tables = [readings_verdict_table(by_reading, links=links)] if by_reading else []
    return [*tables, verdict_table(plain, links=links)] if plain else tables


def readings_verdict_table(found: Sequence[ReadingsVerdict], *, links: bool) -> str:
    lines = []
    for each in found:
        cells = [f"**{told}**: {why}" if why else told for told, why in each.readings.values()]
        where = f"[{each.experiment}]({each.experiment}/README.md)" if links else each.experiment
        lines.append((where, each.claim, *cells, each.reference))
    return markdown_table(("where", "claim", *READINGS, "held against"), lines)


def verdict_table(found: Sequence[Verdict], *, links: bool) -> str:
    return markdown_table(
        ("where", "claim", "verdict", "evidence"),
        [
            (
                f"[{each.experiment}]({each.experiment}/README.md)" if links else each.experiment,
                each.claim,
                f"**{each.verdict}**",
                each.evidence,
            )
            for each in found
        ],
    )


def promise_table(found: Sequence[Promise]) -> str:
    return markdown_table(
        ("setting", "epsilon", "rival", "rival's figure", "sequential", "asked for", "kept"),
        [
            (
                promise.setting,
                f"{promise.epsilon:g}",
                promise.rival_name,
                "refused" if promise.rival is None else f"{promise.rival:.4g}",
                "-" if promise.ours is None else f"{promise.ours:.4g}",
                "at most a third" if promise.factor < 1.0 else "less",
                "yes" if promise.kept else "**no**",
            )
            for promise in found
        ],
    )


def overview(rows_of: Mapping[str, Sequence[Row]], *, quick: bool) -> str:
    """The page of all verdicts, and of what we promise for our own method."""
    parts = ["# The paper's figures and tables, measured again", QUICK_NOTE if quick else "", INTRODUCTION]
    parts += ["## Verdicts", *_verdict_tables(rows_of, links=True), UNEQUAL_NOTE]
    kept = promises(rows_of)
    if kept:
        held = sum(promise.kept for promise in kept)
        parts += ["## The sequential release against its rivals", PROMISE_NOTE, promise_table(kept)]
        in_l2 = sum(promise.kept for promise in promises(rows_of, "error_l2"))
        parts.append(
            f"{held} of {len(kept)} are kept; with L2 in place of `error`, {in_l2}. {shortfall_note(rows_of)}"
        )
    return "\n\n".join(part for part in parts if part) + "\n"


def shortfall_note(rows_of: Mapping[str, Sequence[Row]]) -> str:
    """Why a promise fails on well-mixed documents: no private method finds the topics there."""
    lines = []
    for name in ("figure-2b", "figure-2c"):
        rows = rows_of.get(name, [])
        nothing = median(rows, "error", method="unigram")
        found = best(rows, "error", PRIVATE, epsilon=1.0)
        used = median(rows, "topics_used", method=SEQUENTIAL, epsilon=1.0)
        again = median(rows, "error_tiled", method=SEQUENTIAL, epsilon=1.0)
        if nothing is not None and found is not None:
            lines.append(
                f"{name}, epsilon = 1: the smallest error of any private method is {found[1]:.3g} ({found[0]}), that "
                f"of the word frequencies alone {nothing:.3g}; the sequential release returns {used or 0:.0f} of 3 "
                f"topics and is charged for the missing ones; with its topics repeated it has {again or 0:.3g}."
            )
    return " ".join(lines)


def choice_table(rows_of: Mapping[str, Sequence[Row]]) -> str:
    """The measurements behind docs/configurations.md, at epsilon = 1 and 3."""
    lines = []
    for name, key, size in (
        ("figure-2a", "error", {}),
        ("figure-2b", "error", {}),
        ("figure-2c", "error", {}),
        ("figure-4", "perplexity", {"topics": float(WIKIPEDIA_TOPICS)}),
    ):
        rows = rows_of[name]
        for epsilon in PROMISED_EPSILONS:
            at = {"epsilon": epsilon, **size}
            cells = [shown(rows, key, method, **at) for method in (SEQUENTIAL, *PROVED, *PUBLISHED, VARIATIONAL)]
            lines.append((name, f"{epsilon:g}", *cells, shown(rows, key, "unigram", **size)))
    header = (
        "setting",
        "epsilon",
        "sequential",
        "1 proved",
        "2 proved",
        *(f"{each} published" for each in (1, 2, 3, 4)),
    )
    return markdown_table((*header, "vi", "unigram"), lines)


def write_pages(out: Path, titles: Mapping[str, str], rows_of: Mapping[str, Sequence[Row]], *, quick: bool) -> None:
    for name, rows in rows_of.items():
        (out / name / "README.md").write_text(page(name, titles[name], rows, quick=quick), encoding="utf-8")
    (out / "README.md").write_text(overview(rows_of, quick=quick), encoding="utf-8")
    (out / "claims.md").write_text(claims_page(rows_of), encoding="utf-8")
