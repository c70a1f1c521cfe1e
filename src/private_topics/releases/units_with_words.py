"""How many units have a word at all: the first release of a run on texts, which stops there if hardly any has one.

A mistyped field leaves every document empty, and what is fitted to empty documents is noise. Whether no record has
the field can depend on one record, so the question is answered with noise, for a hundredth of the budget. Proof:
docs/proofs/units_with_words.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from private_topics.errors import NoWordsError
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.releases.release import FitContext, Release
from private_topics.sums.scores import WithWords

UNITS_WITH_WORDS = Release(
    "units with words", "units with words", None, "vector", "units_with_words", 1.0, "texts", WithWords, radius=1.0
)
TEXTS_SHARE = 0.01
"""The part of the budget for this release."""
STANDS_OUT = 3.0
"""Deviations of the noise below which a number of units is next to none: 1 empty corpus in 740 passes."""
FEW = 0.5
"""Of the units: where so few of them could not be told from none, the number decides nothing."""


def release_units_with_words(context: FitContext, share: float) -> None:
    """Release how many units have a word of the corpus's columns; raise `NoWordsError` where next to none has."""
    listed = replace(context, releases=(UNITS_WITH_WORDS,))
    asked = listed.ask(UNITS_WITH_WORDS, share)
    (released,) = listed.release([asked], WithWords(asked.step))
    _require_words(context.run, float(released.value[0]), released.sigma, context.n_units)


def release_counted(run: PrivateRun, with_words: int, n_units: int, share: float) -> None:
    """Do the same with a number of units that was counted while they were read; `n_units` is public, or released."""
    query = Query(
        UNITS_WITH_WORDS.name,
        UNITS_WITH_WORDS.kind,
        UNITS_WITH_WORDS.sensitivity_to(run.neighbours),
        1.0,
        UNITS_WITH_WORDS.proof,
    )
    released = run.release(query, np.array([with_words], np.int64), share)
    _require_words(run, float(released.value[0]), released.sigma, n_units)


def _require_words(run: PrivateRun, noisy: float, sigma: float, n_units: int) -> None:
    """Stop where the number cannot be told from zero, and a corpus of words could have been."""
    least = STANDS_OUT * sigma
    if noisy < least <= FEW * n_units:
        raise NoWordsError(
            f"About {max(0, round(noisy)):,} ± {round(2.0 * sigma):,} of {n_units:,} documents or users have any of "
            "the words that are looked for: is the text field right (--field, text=…), and the language? The run "
            f"stopped here, with epsilon {run.epsilon_spent:.2g} spent of the {run.budget.epsilon:g} asked for."
        )
