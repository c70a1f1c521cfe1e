"""Every figure and table of the paper by name, and `reproduce`, which measures, draws and judges one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from private_topics.errors import InputError
from private_topics.fits.choice import placements
from private_topics.paper.experiments import drawing, noise_free, synthetic_error, wikipedia
from private_topics.paper.experiments.methods import METHODS
from private_topics.paper.experiments.rows import MEASURED_AT, Row, kept_rows, read_rows, write_rows
from private_topics.paper.experiments.running import provenance
from private_topics.paper.experiments.summary import write_pages
from private_topics.paper.graph_picture import write_pictures
from private_topics.threads import one_order

ALL = "all"
FIGURE_TWO = synthetic_error.SETTINGS | synthetic_error.AUTHORS
FIGURE_FOUR = "figure-4"
IN_PARTS = (*FIGURE_TWO, FIGURE_FOUR)
POINTS, PICTURE, QUICK_MARK = "points.csv", "figure.png", "quick-run"


@dataclass(frozen=True)
class Experiment:
    """`measure(quick=, seed=)` returns rows; `draw(rows, path)` makes the picture of them."""

    title: str
    measure: Callable[..., list[Row]]
    draw: Callable[[Sequence[Row], Path], object]


def _errors(name: str) -> Experiment:
    full, small = FIGURE_TWO[name], synthetic_error.QUICK[name]
    where = "" if full.lengths is None else f", documents of {full.lengths[0]:,} to {full.lengths[1]:,} words"
    return Experiment(
        f"Figure {name[7:9]}: error against epsilon, alpha0 = {full.alpha0:g}, N = {full.documents:,}, "
        f"d = {full.words}{where}",
        lambda *, quick, seed, **chosen: synthetic_error.measure(small if quick else full, seed, **chosen),
        partial(drawing.draw_errors, name),
    )


EXPERIMENTS: dict[str, Experiment] = {
    "figure-1": Experiment(
        "Figure 1: the graph of the method and where the noise goes",
        lambda **_: noise_free.graph_rows(),
        lambda _, path: write_pictures(path.parent, placements().values()),
    ),
    **{name: _errors(name) for name in FIGURE_TWO},
    "figure-3a": Experiment(
        "Figure 3a: the k-th singular value of M2 against alpha0",
        noise_free.singular_values,
        drawing.draw_singular_values,
    ),
    "figure-3b": Experiment(
        "Figure 3b: the smallest gap of the eigenvalues of T against k", noise_free.gaps, drawing.draw_gaps
    ),
    FIGURE_FOUR: Experiment(
        "Figure 4: perplexity on Wikipedia against epsilon", wikipedia.perplexities, drawing.draw_perplexities
    ),
    "table-utility": Experiment(
        "Table of utility bounds (App. I), evaluated", noise_free.bound_rows, drawing.draw_bounds
    ),
    "table-top-words": Experiment(
        "Table of top words of Wikipedia at epsilon = 1 (App. L)", wikipedia.top_words, drawing.draw_top_words
    ),
}


def names() -> dict[str, str]:
    """Every figure and table that `reproduce` knows, with its title."""
    return {name: experiment.title for name, experiment in EXPERIMENTS.items()}


def reproduce(
    name: str,
    *,
    quick: bool = False,
    out: str | Path = "reproduction",
    seed: int = 0,
    methods: Sequence[str] | None = None,
    topics: Sequence[int] | None = None,
    jobs: int = 1,
) -> list[Path]:
    """Measure one figure or table, or "all" of them, and write rows, picture, page and the overview under `out`.

    `quick` runs on small corpora in seconds. `methods` measures some methods of figure 2 or 4 again, `topics` some
    numbers of topics of figure 4; the stored rows of the others are kept. `jobs` processes share these figures.
    Returns the folders written.
    """
    if name != ALL and name not in EXPERIMENTS:
        raise InputError(f"There is no experiment {name!r}. Choose {ALL!r} or one of: {', '.join(EXPERIMENTS)}.")
    _check_choice(name, methods, topics)
    drawing.pyplot()  # a missing extra should fail before hours of work
    out = Path(out)
    _check_kind(out, quick)
    measured_at = provenance()  # asked for now: another commit may be checked out before a long run has ended
    chosen = {key: value for key, value in (("methods", methods), ("topics", topics)) if value is not None}
    folders = []
    for each in EXPERIMENTS if name == ALL else (name,):
        folder = out / each
        folder.mkdir(parents=True, exist_ok=True)
        shared = chosen | {"jobs": jobs} if each in IN_PARTS else {}
        with one_order():
            rows = EXPERIMENTS[each].measure(quick=quick, seed=seed, **shared)
        kept = kept_rows(folder / POINTS, rows) if chosen else []
        write_rows(folder / POINTS, [*(row | {MEASURED_AT: measured_at} for row in rows), *kept])
        redraw(out, each)
        folders.append(folder)
    return folders


def redraw(out: Path, name: str) -> None:
    """Make the picture of one and the pages of all again from the stored rows."""
    EXPERIMENTS[name].draw(read_rows(out / name / POINTS), out / name / PICTURE)
    present = {each: read_rows(out / each / POINTS) for each in EXPERIMENTS if (out / each / POINTS).exists()}
    write_pages(out, names(), present, quick=(out / QUICK_MARK).exists())


def _check_choice(name: str, methods: Sequence[str] | None, topics: Sequence[int] | None) -> None:
    unknown = set(methods or ()) - set(METHODS)
    if unknown or (methods is not None and name not in IN_PARTS):
        raise InputError(
            f"The 'methods' parameter of reproduce must be methods of a figure 2 or 4: {', '.join(METHODS)}. "
            f"Got {methods!r} for {name!r} instead."
        )
    if topics is not None and (name != FIGURE_FOUR or set(topics) - set(wikipedia.DRAWS)):
        raise InputError(
            f"The 'topics' parameter of reproduce must be among {list(wikipedia.DRAWS)}, for {FIGURE_FOUR!r}. "
            f"Got {topics!r} for {name!r} instead."
        )


def _check_kind(out: Path, quick: bool) -> None:
    """Quick and full results never share a folder."""
    out.mkdir(parents=True, exist_ok=True)
    mark, filled = out / QUICK_MARK, any((out / name / POINTS).exists() for name in EXPERIMENTS)
    if filled and mark.exists() != quick:
        raise InputError(f"{out} holds results of {'a full' if quick else 'a quick'} run. Name another folder.")
    if quick:
        mark.touch()
    elif not filled:
        mark.unlink(missing_ok=True)
