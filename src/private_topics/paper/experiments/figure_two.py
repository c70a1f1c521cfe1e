"""The claims that the paper rests on figure 2, judged for every reading of its noise and in both settings.

A claim that holds where the privacy loss is above the stated one holds only because the noise was too small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from private_topics.paper.experiments.losses import loss_of
from private_topics.paper.experiments.methods import READINGS, SCALED, VARIATIONAL
from private_topics.paper.experiments.rows import REFUSED, Row, best, levels, listed, median, selected, shown, status
from private_topics.paper.experiments.synthetic_error import AUTHORS, DELTA, error_key

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
TOO_LITTLE_NOISE = "reproduced only because the noise was too small"
NOT_MEASURED = "-"
NEAR = 1.5
"""An error within this factor of another is called equal to it: the paper's figures show no finer difference."""
UNSCALED_READING = "authors' code, sensitivities not scaled"

Holds = Callable[[Sequence[Row], Sequence[str]], tuple[bool | None, str]]
"""From rows and the methods of a reading to whether a claim holds, None if it cannot be said, and the evidence."""


@dataclass(frozen=True)
class ReadingsVerdict:
    """A claim on a figure, and for every reading the verdict with its evidence."""

    experiment: str
    claim: str
    readings: Mapping[str, tuple[str, str]]
    reference: str


def readings_of(name: str) -> dict[str, tuple[str, ...]]:
    """Their methods. In the setting of the text the authors' code adds no noise; its scaled moments are a reading."""
    return READINGS if name in AUTHORS else READINGS | {UNSCALED_READING: SCALED}


def learnt_key(name: str) -> str:
    """For claims about having learnt something: L2, for which the length of a topic does not matter, or summed L1."""
    return "error_l1" if name in AUTHORS else "error_l2"


def judged(
    name: str, rows: Sequence[Row], claim: str, holds: Holds, reference: str = "", *, of_quality: bool = True
) -> ReadingsVerdict:
    """`of_quality`: whether a claim is about small errors, which too little noise explains, or about an order."""
    found = {}
    for reading, methods in readings_of(name).items():
        present = [method for method in methods if selected(rows, method=method)]
        if not present:
            found[reading] = (NOT_MEASURED, "")
            continue
        true, evidence = holds(rows, present)
        if true is None:
            found[reading] = (NOT_MEASURED, "")
            continue
        too_little = any(_loses_more(row) for method in present for row in selected(rows, method=method))
        held = TOO_LITTLE_NOISE if of_quality and too_little else REPRODUCED
        found[reading] = (held if true else NOT_REPRODUCED, evidence)
    return ReadingsVerdict(name, claim, found, reference)


def _loses_more(row: Row) -> bool:
    return (loss_of(row, DELTA) or 0.0) > row["epsilon"]


# -- the claims -----------------------------------------------------------------------------------------------------


def beats_variational(name: str, rows: Sequence[Row]) -> ReadingsVerdict:
    """ "Under every configuration" the error is below that of private variational inference."""
    key, compared = error_key(name), levels(selected(rows, method=VARIATIONAL))

    def holds(rows: Sequence[Row], methods: Sequence[str]) -> tuple[bool, str]:
        won = refused = total = 0
        for level in compared:
            rival = median(rows, key, method=VARIATIONAL, epsilon=level) or 0.0
            for method in methods:
                value = median(rows, key, method=method, epsilon=level)
                total, refused = total + 1, refused + (value is None)
                won += value is not None and value < rival
        return won == total, f"{won} of {total} points below" + (f", {refused} refused" if refused else "")

    top = max(compared)
    reference = f"vi at epsilon = {top:g}: {shown(rows, key, VARIATIONAL, epsilon=top)}"
    return judged(
        name, rows, "every configuration has a smaller error than private variational inference", holds, reference
    )


def first_and_second(name: str, rows: Sequence[Row]) -> ReadingsVerdict:
    """Configuration 2 is better at small epsilon, 1 at large."""
    key, low, high = error_key(name), min(levels(rows)), max(levels(rows))

    def holds(rows: Sequence[Row], methods: Sequence[str]) -> tuple[bool, str]:
        at = [best(rows, key, methods, epsilon=level) for level in (low, high)]
        names = ["none" if each is None else each[0].split()[1] for each in at]
        return names == ["2", "1"], f"best: {names[0]} at {low:g}, {names[1]} at {high:g}"

    return judged(
        name, rows, "configuration 2 is best at small epsilon, configuration 1 at large", holds, of_quality=False
    )


def last_two_worse(name: str, rows: Sequence[Row]) -> ReadingsVerdict:
    """Configurations 3 and 4 are worse than 1 and 2; a refusal is worse than any number."""
    key, every = error_key(name), levels(rows)

    def holds(rows: Sequence[Row], methods: Sequence[str]) -> tuple[bool | None, str]:
        if len(methods) < 4:
            return None, ""
        worse = 0
        for level in every:
            first = best(rows, key, methods[:2], epsilon=level)
            last = best(rows, key, methods[2:], epsilon=level)
            worse += first is not None and (last is None or last[1] > first[1])
        points = [(method, level) for method in methods[2:] for level in every]
        refused = sum(status(rows, method=method, epsilon=level) == REFUSED for method, level in points)
        return worse == len(every), f"at {worse} of {len(every)} epsilons; {refused} of {len(points)} refused"

    return judged(name, rows, "configurations 3 and 4 are worse than 1 and 2 throughout", holds, of_quality=False)


def better_with_few_documents(name: str, rows: Sequence[Row]) -> ReadingsVerdict:
    """Configuration 2 stands out at N = 1,000: that is, it is below the rest and below knowing nothing."""
    key, high = learnt_key(name), max(levels(rows))
    nothing = median(rows, key, method="unigram") or 0.0

    def holds(rows: Sequence[Row], methods: Sequence[str]) -> tuple[bool, str]:
        found = best(rows, key, methods, epsilon=high)
        true = found is not None and found[0].split()[1] == "2" and found[1] < nothing
        return true, listed(rows, key, methods, epsilon=high)

    reference = (
        f"at epsilon = {high:g}; word frequencies alone {nothing:.3g}, unnoised {shown(rows, key, 'unnoised')}"
    )
    return judged(name, rows, "configuration 2 emerges as better with few documents", holds, reference)


def as_good_as_unnoised(name: str, rows: Sequence[Row]) -> ReadingsVerdict:
    """Configurations 1 and 2 reach the error of the method without noise (the paper's curves meet at 0.264)."""
    key, high = learnt_key(name), max(levels(rows))
    target, nothing = (median(rows, key, method=method) or 0.0 for method in ("unnoised", "unigram"))

    def holds(rows: Sequence[Row], methods: Sequence[str]) -> tuple[bool, str]:
        values = [median(rows, key, method=method, epsilon=high) for method in methods[:2]]
        true = any(value is not None and value <= NEAR * target and value < nothing for value in values)
        return true, listed(rows, key, methods[:2], epsilon=high)

    reference = f"at epsilon = {high:g}; unnoised {target:.3g}, word frequencies alone {nothing:.3g}"
    return judged(name, rows, "configurations 1 and 2 reach the error of the method without noise", holds, reference)


ReadingsJudge = Callable[[str, Sequence[Row]], ReadingsVerdict]
_BY_FIGURE: dict[str, tuple[ReadingsJudge, ...]] = {
    "figure-2a": (beats_variational, first_and_second, last_two_worse),
    "figure-2b": (beats_variational, better_with_few_documents),
    "figure-2c": (beats_variational, as_good_as_unnoised, last_two_worse),
}
FIGURE_TWO: Mapping[str, tuple[ReadingsJudge, ...]] = _BY_FIGURE | {name: _BY_FIGURE[name[:9]] for name in AUTHORS}
