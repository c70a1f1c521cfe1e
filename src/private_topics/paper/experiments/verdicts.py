"""Claims judged by the rows of our own measurements and nothing else: the paper's, one by one, and our promises.

The promises are about the sequential release: it should beat each rival, some of them by a factor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from private_topics.paper.experiments.figure_two import FIGURE_TWO, NOT_REPRODUCED, REPRODUCED, ReadingsVerdict
from private_topics.paper.experiments.methods import PROVED, PUBLISHED, SEQUENTIAL, VARIATIONAL
from private_topics.paper.experiments.noise_free import LARGEST_DISTANCE, LARGEST_RESIDUAL
from private_topics.paper.experiments.rows import (
    REFUSED,
    Row,
    best,
    levels,
    listed,
    median,
    number,
    selected,
    shown,
    status,
)
from private_topics.paper.experiments.synthetic_error import error_key

THIRD = 1.0 / 3.0
PROMISED_EPSILONS = (1.0, 3.0)
WIKIPEDIA_TOPICS = 25


@dataclass(frozen=True)
class Verdict:
    experiment: str
    claim: str
    verdict: str
    evidence: str


def _judged(name: str, claim: str, holds: bool, evidence: str) -> Verdict:
    return Verdict(name, claim, REPRODUCED if holds else NOT_REPRODUCED, evidence)


# -- figures 3 and 4, tables ----------------------------------------------------------------------------------------


def values_grow(name: str, rows: Sequence[Row]) -> Verdict:
    """The k-th singular value of M2 grows with alpha0."""
    values = [row["singular_value"] for row in rows]
    scaled = [row["scaled"] for row in rows]
    above = [row["alpha0"] for row in rows if row["paper"] > row["largest_possible"]]
    beyond = [row["alpha0"] for row in rows if row["paper"] > largest_of_any_corpus(row["alpha0"], row["topics"])]
    rises = all(later > former for former, later in pairwise(values))
    scaled_rises = all(later > former for former, later in pairwise(scaled))
    return _judged(
        name,
        "the k-th singular value of M2 grows with alpha0",
        rises,
        f"it goes from {values[0]:.3g} to {values[-1]:.3g}; that of alpha0(alpha0+1) M2 "
        f"{'rises' if scaled_rises else 'does not rise throughout'}, from {scaled[0]:.3g} to {scaled[-1]:.3g}. "
        f"The plotted value is above the model's bound at alpha0 = {_values(above)}, above that of any corpus at "
        f"{_values(beyond)}",
    )


def largest_of_any_corpus(alpha0: float, k: float) -> float:
    """`(1 + a)/k`: the nuclear norms of E2 and of the mean product are at most one."""
    return (1.0 + alpha0 / (alpha0 + 1.0)) / k


def _values(numbers: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in numbers)


def gap_grows(name: str, rows: Sequence[Row]) -> Verdict:
    """The smallest gap of T grows with k."""
    model = [row["model_gap"] for row in rows]
    measured = [(row["topics"], row["gap"]) for row in rows if row["gap"] is not None]
    without = [row["topics"] for row in rows if (row["residual"] or 0.0) > LARGEST_RESIDUAL]
    rises = model[-1] > model[0] and measured[-1][1] > measured[0][1]
    return _judged(
        name,
        "the smallest gap of the eigenvalues of T grows with the number of topics",
        rises,
        f"with random weights the exact gap goes from {model[0]:.3g} (k = {rows[0]['topics']:.0f}) to "
        f"{model[-1]:.2g} (k = {rows[-1]['topics']:.0f}); on a corpus with equal weights it is "
        + ", ".join(f"{gap:.3g} (k = {k:.0f})" for k, gap in measured)
        + ", where the true gap is zero"
        + (f"; at k = {_values(without)} the power method finds no eigenvectors" if without else ""),
    )


def perplexity_beats_variational(name: str, rows: Sequence[Row]) -> Verdict:
    """On Wikipedia every configuration loses less than private variational inference."""
    won = refused = total = 0
    for topics in sorted({row["topics"] for row in rows}):
        for level in levels(selected(rows, topics=topics)):
            rival = median(rows, "perplexity", topics=topics, epsilon=level, method=VARIATIONAL)
            if rival is None:
                continue
            for method in PUBLISHED:
                if not selected(rows, topics=topics, epsilon=level, method=method):
                    continue  # a point that was not measured is no evidence
                value = median(rows, "perplexity", topics=topics, epsilon=level, method=method)
                total += 1
                won += value is not None and value < rival
                refused += status(rows, topics=topics, epsilon=level, method=method) == REFUSED
    few = min(row["topics"] for row in rows)
    return _judged(
        name,
        "on Wikipedia the configurations have a lower perplexity than private variational inference",
        0 < won == total,
        f"as published, {won} of {total} points are below vi and {refused} are refused; k = {few:.0f}, epsilon = 1: "
        + listed(rows, "perplexity", (*PUBLISHED, VARIATIONAL), topics=few, epsilon=1.0),
    )


def third_gains_with_topics(name: str, rows: Sequence[Row]) -> Verdict:
    """Configuration 3 gains on the others as k grows."""
    third = [
        (topics, median(rows, "perplexity", topics=topics, epsilon=1.0, method=PUBLISHED[2]))
        for topics in sorted({row["topics"] for row in rows})
    ]
    values = [value for _, value in third if value is not None]
    holds = len(values) == len(third) and all(later < former for former, later in pairwise(values))
    return _judged(
        name,
        "configuration 3 improves with the number of topics",
        holds,
        "epsilon = 1: "
        + ", ".join(
            f"k = {topics:.0f} {shown(rows, 'perplexity', PUBLISHED[2], topics=topics, epsilon=1.0)}"
            for topics, _ in third
        ),
    )


def words_make_sense(name: str, rows: Sequence[Row]) -> Verdict:
    """A published configuration finds coherent topics at epsilon = 1; ours are shown for comparison."""
    found = {method: median(rows, "coherence", method=method) for method in (*PUBLISHED, SEQUENTIAL)}
    published = [value for method, value in found.items() if method in PUBLISHED and value is not None]
    ours = found[SEQUENTIAL]
    holds = bool(published) and max(published) > 0.0
    return _judged(
        name,
        "a configuration of the paper finds readable topics of Wikipedia at epsilon = 1",
        holds,
        f"mean NPMI coherence: {listed(rows, 'coherence', (*PUBLISHED, *PROVED, SEQUENTIAL))}"
        + ("; above zero means words that occur together" if ours is not None else ""),
    )


def are_cuts(name: str, rows: Sequence[Row]) -> Verdict:
    cut = [row["configuration"] for row in rows if row["cut"] == "yes"]
    return _judged(
        name,
        "the noisy edges of each configuration cut the corpus from the output",
        len(cut) == len(rows),
        f"true of {', '.join(cut)}",
    )


def bounds_say_something(name: str, rows: Sequence[Row]) -> Verdict:
    smallest = min(row["bound"] for row in selected(rows, epsilon=1.0))
    vacuous = sum(row["bound"] > LARGEST_DISTANCE for row in rows)
    return _judged(
        name,
        "the utility bounds are not vacuous once N exceeds √d",
        vacuous == 0,
        f"in the settings of figure 2, {vacuous} of {len(rows)} bounds exceed {LARGEST_DISTANCE:.3g}, the largest "
        f"distance of two topics; the smallest at epsilon = 1 is {number(smallest)}",
    )


Judge = Callable[[str, Sequence[Row]], Verdict]
CLAIMS: Mapping[str, tuple[Judge, ...]] = {
    "figure-1": (are_cuts,),
    "figure-3a": (values_grow,),
    "figure-3b": (gap_grows,),
    "figure-4": (perplexity_beats_variational, third_gains_with_topics),
    "table-utility": (bounds_say_something,),
    "table-top-words": (words_make_sense,),
}


def verdicts(name: str, rows: Sequence[Row]) -> list[Verdict]:
    """The verdicts on all claims that the paper rests on this figure or table, figure 2 aside."""
    return [judge(name, rows) for judge in CLAIMS.get(name, ())]


def readings_verdicts(name: str, rows: Sequence[Row]) -> list[ReadingsVerdict]:
    """The same for figure 2, by reading."""
    return [judge(name, rows) for judge in FIGURE_TWO.get(name, ())]


# -- our promises ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Promise:
    """One comparison: `ours` should be at most `factor` times `rival`; None for a rival that refused throughout."""

    setting: str
    epsilon: float
    rival_name: str
    factor: float
    ours: float | None
    rival: float | None

    @property
    def kept(self) -> bool:
        """At most a third, or strictly less where no factor was promised."""
        if self.ours is None or self.rival is None:
            return self.ours is not None
        return self.ours <= self.factor * self.rival if self.factor < 1.0 else self.ours < self.rival


def promises(rows_of: Mapping[str, Sequence[Row]], error: str = "error") -> list[Promise]:
    """All comparisons for which there are rows; `error` is "error" or "error_l2"."""
    found: list[Promise] = []
    for name in FIGURE_TWO:
        if name in rows_of:
            key = error_key(name)
            found += _compared(name, rows_of[name], error if key == "error" else key, THIRD)
    if "figure-4" in rows_of:
        rows = [row for row in rows_of["figure-4"] if row["topics"] == WIKIPEDIA_TOPICS]
        if rows:
            found += _compared("figure-4", rows, "perplexity", 1.0)
    return found


def _compared(name: str, rows: Sequence[Row], key: str, factor: float) -> list[Promise]:
    found = []
    for epsilon in PROMISED_EPSILONS:
        ours = median(rows, key, method=SEQUENTIAL, epsilon=epsilon)
        for methods, word in ((PUBLISHED, "best as published"), (PROVED, "best proved by us")):
            rival = best(rows, key, methods, epsilon=epsilon)
            label = word if rival is None else f"{word}: {rival[0]}"
            found.append(Promise(name, epsilon, label, factor, ours, None if rival is None else rival[1]))
        rival_value = median(rows, key, method=VARIATIONAL, epsilon=epsilon)
        found.append(Promise(name, epsilon, "vi", 1.0, ours, rival_value))
    return found
