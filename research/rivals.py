"""All private methods at equal (epsilon, delta = 1e-6), for replaced documents: ours, the paper's, and rivals.

    python research/rivals.py [--jobs 2] [--corpora wikipedia …] [--methods Gibbs …] [--draws 5]
    python research/rivals.py --page                  write the pages again from the stored cells

Cells go into research/results/rivals.csv as they finish; those that it has are not measured again, so a table can be
measured in parts (`--cells FILE` names another). When all have finished, research/results/rivals.md and the table of
docs/reproduction/rivals.md are written. Rivals and what they guarantee: `rival_clusters`, `rival_gibbs`,
`rival_vocabulary`; corpora, scores and methods: `rival_cells`. Settings of the rivals were chosen on draws from 100
on (`--first 100`), draws 0 to 4 are reported. Noise has a fixed seed: a simulation, none of these results is private.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from private_topics.paper.experiments.rows import markdown_table
from rival_cells import EQUAL, MADE_UP, METHODS, NAMES, NOT_PRIVATE, OURS, STEMS, prepare, true_epsilon
from stored import ROOT, options_of, read_csv, store, store_between, store_csv

EPSILONS = (1.0, 3.0)
CELLS = ROOT / "research" / "results" / "rivals.csv"
RESULT, PAGE = CELLS.with_suffix(".md"), ROOT / "docs" / "reproduction" / "rivals.md"
SLOW = ("private words and Gibbs as published", "Gibbs, private words", "Gibbs")
LARGE = ("figure-2a-authors", "arxiv", "figure-2a", "wikipedia")
ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Row = dict[str, Any]

# -- cells ----------------------------------------------------------------------------------------------------------


def key(row: Row) -> tuple[str, str, float, int]:
    return row["corpus"], row["method"], float(row["epsilon"]), int(row["draw"])


def cells(corpora: list[str], methods: list[str], draws: range) -> list[tuple[str, str, float, int]]:
    """The slow ones first; methods without privacy have no epsilon, English words are those of text."""
    found = [
        (corpus, method, epsilon, draw)
        for corpus in corpora
        for method in methods
        if corpus in STEMS or method != "sequential, English"
        for epsilon in ((0.0,) if method in NOT_PRIVATE else EPSILONS)
        for draw in draws
    ]
    return sorted(found, key=lambda cell: (cell[1] not in SLOW, cell[0] not in LARGE))


def measure(folder: Path, wanted: list[tuple[str, str, float, int]], path: Path, jobs: int) -> None:
    rows = read_csv(path) if path.exists() else []
    known = {key(row) for row in rows}
    wanted = [cell for cell in wanted if cell not in known]
    with one_thread_each(), ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(one, (folder, *cell)) for cell in wanted]):
            rows.append(done.result())
            store_csv(path, sorted(rows, key=key))
            print(*rows[-1].values(), flush=True)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """For processes that are started inside: a cell has one core."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def one(cell: tuple[Path, str, str, float, int]) -> Row:
    from rival_cells import measured

    warnings.simplefilter("ignore")
    return measured(cell)


# -- pages ----------------------------------------------------------------------------------------------------------


def scores(rows: list[Row]) -> dict[tuple[str, str, float], list[float]]:
    """Of each corpus, method and epsilon; infinite where a method refused."""
    found: dict[tuple[str, str, float], list[float]] = {}
    for row in rows:
        corpus, method, epsilon, _ = key(row)
        found.setdefault((corpus, method, epsilon), []).append(float(row["score"] or "inf"))
    return found


def told(values: list[float] | None, corpus: str) -> str:
    """Median and range of the draws."""
    if values is None:
        return ""
    middle, low, high = statistics.median(values), min(values), max(values)
    if middle == float("inf"):
        return "refused"
    shown = "{:.3g}" if corpus in MADE_UP else "{:.0f}"
    return " ".join((shown.format(middle), f"({shown.format(low)}–{shown.format(high)})"))


def table(rows: list[Row], corpora: list[str], epsilon: float) -> str:
    """A line for each method; the best of those with equal guarantee in bold."""
    found, lines = scores(rows), []
    best = {corpus: ranking(found, corpus, epsilon)[0][1] for corpus in corpora}
    for method in METHODS:
        at = 0.0 if method in NOT_PRIVATE else epsilon
        line = [told(found.get((corpus, method, at)), corpus) for corpus in corpora]
        if any(line):
            marked = [
                f"**{text}**" if best[name] == method else text for name, text in zip(corpora, line, strict=True)
            ]
            holds = "none" if method in NOT_PRIVATE else f"{true_epsilon(method, epsilon):g}".replace("inf", "none")
            lines.append((method, holds, *marked))
    return markdown_table(("method", "epsilon that holds for documents", *corpora), lines)


def ranking(found: dict[tuple[str, str, float], list[float]], corpus: str, epsilon: float) -> list[tuple[float, str]]:
    """Methods of equal guarantee, by their medians."""
    return sorted(
        (statistics.median(values), method)
        for (name, method, at), values in found.items()
        if (name, at) == (corpus, epsilon) and method in EQUAL
    )


def verdicts(rows: list[Row], corpora: list[str]) -> str:
    """For each corpus and epsilon the best rival, and where ours stand."""
    found, lines, default = scores(rows), [], 0
    for corpus in corpora:
        for epsilon in EPSILONS:
            order = ranking(found, corpus, epsilon)
            ours = [(score, method) for score, method in order if method in OURS]
            theirs = [(score, method) for score, method in order if method not in OURS]
            if ours and theirs:
                (mine, name), (other, rival) = ours[0], theirs[0]
                verdict = "ours" if mine < other else "**theirs**"
                plain = next((score for score, method in ours if method == "sequential"), float("inf"))
                default += plain < other
                shown = [f"{value:.3g}" if corpus in MADE_UP else f"{value:.0f}" for value in (mine, plain, other)]
                lines.append(
                    (corpus, f"{epsilon:g}", f"{name}: {shown[0]}", shown[1], f"{rival}: {shown[2]}", verdict)
                )
    won = sum(line[-1] == "ours" for line in lines)
    header = ("corpus", "epsilon", "our best", "sequential", "best of the others", "better")
    counted = f"The best of ours is better in {won} of {len(lines)}, `sequential`, the default, in {default}."
    return f"{counted}\n\n{markdown_table(header, lines)}"


def text_of(rows: list[Row]) -> str:
    corpora = [name for name in NAMES if any(row["corpus"] == name for row in rows)]
    draws = sorted({int(row["draw"]) for row in rows})
    parts = [
        f"Median (smallest–largest) of draws {draws[0]} to {draws[-1]}; lower is better, and the best of those with "
        "equal guarantee is bold. Text: held-out perplexity. Corpora of figure 2: its error, each draw with a corpus "
        "of its own."
    ]
    for epsilon in EPSILONS:
        parts += [f"### epsilon = {epsilon:g}", table(rows, corpora, epsilon)]
    return "\n\n".join([*parts, "### Ours against the others", verdicts(rows, corpora)])


def write_pages(path: Path, out: Path) -> None:
    text = text_of(read_csv(path))
    store(out, f"# All private methods at equal guarantee\n\n{text}\n")
    if path == CELLS:
        store_between(PAGE, "research/rivals.py", text)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--corpora", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first draw")
    parser.add_argument("--counts", type=Path, default=Path(tempfile.gettempdir()) / "rival-counts", help="folder")
    parser.add_argument("--cells", type=Path, default=CELLS, help="CSV of the cells")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--prepare", action="store_true", help="only write the counts of the corpora")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.page:
        prepare(options.counts, options.corpora)
    if not (options.page or options.prepare):
        draws = range(options.first, options.first + options.draws)
        measure(options.counts, cells(options.corpora, options.methods, draws), options.cells, options.jobs)
    if not options.prepare:
        write_pages(options.cells, options.out)


if __name__ == "__main__":
    main()
