"""Two attacks on whole fits: on the final model over many fits, and on many canaries in one fit.

Final model: fits with and without a group of canaries; the score is how much likelier the model makes one canary
than the other. One run: independent fair coins decide which of two words each group of canaries repeats; the attacker
reads one released value and guesses every coin (Steinke, Nasr and Jagielski 2023; the bound is that of Mahloujifar,
Melis and Chaudhuri 2024). Neighbours replace units in both: flipping one coin replaces the units of one group. Where
neighbours are emptied or removed units, a coin decides whether a group is there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from private_topics.audit.bounds import mu_of_one_run, mu_of_scores
from private_topics.audit.games import TARGET, TRAINING, seed_of
from private_topics.audit.neighbours import Base, absent, rows_of
from private_topics.audit.recording import Audited, EnteringWords, Fitted, fit_afresh, record
from private_topics.audit.sensitivity import copies_for
from private_topics.audit.words import NamedColumns
from private_topics.errors import InputError, PrivacyError
from private_topics.privacy.mechanisms import ReleasedWords
from private_topics.privacy.neighbours import REPLACE
from private_topics.releases.candidates import CANDIDATES
from private_topics.releases.moments import UNIGRAM
from private_topics.releases.vocabulary import VOCABULARY

LARGEST_PART = 0.5
"""The part of the units that canaries of the one run may replace."""
SMALL_UNITS = 2_000
"""Units of the corpus whose final models are attacked: many fits have to be cheap."""
GUESSED_FROM = (VOCABULARY.name, CANDIDATES.name, UNIGRAM.name)
"""The first of these that the fit makes."""
CANARY_LENGTH = 100


@dataclass(frozen=True)
class Attack:
    """A lower confidence bound on mu, for one unit, and how it was played."""

    bound: float
    copies: int
    trials: int
    correct: int | None = None


def attack_final_model(
    audited: Audited,
    base: Base,
    units: tuple[sp.csr_array, sp.csr_array],
    *,
    mu: float,
    fits: int,
    level: float,
) -> Attack:
    """`fits` fits of a small corpus, half of them with canaries of the second kind in place of the first."""
    base = base.first(SMALL_UNITS)
    copies = copies_for(mu, TARGET, base.n_units - 1)
    half = max(2, fits // 2)
    scores = np.zeros((2, half))
    for kind, unit in enumerate(units):
        counts, groups = base.replaced([unit] * copies)
        for fit in range(half):
            seeded = audited.seeded(seed_of(audited.settings.noise_seed, 3, kind, fit))
            try:
                fitted = fit_afresh(seeded, counts, groups)
            except (PrivacyError, InputError):
                if not audited.threshold_delta:
                    raise
                continue  # no word of a private vocabulary is named: the attacker sees that and no more
            scores[kind, fit] = log_likelihood(fitted, units[1]) - log_likelihood(fitted, units[0])
    bound = mu_of_scores(scores[0], scores[1], level, TRAINING) / copies
    return Attack(bound, copies, 2 * half)


def log_likelihood(fitted: Fitted, unit: sp.csr_array) -> float:
    """Mean log-probability of a word of the unit under the model's mixture of topics; none for an empty unit.

    A word that is not in the vocabulary of the model has next to none.
    """
    weights = fitted.model.alpha / fitted.model.alpha.sum()
    words = np.asarray(unit.sum(axis=0), dtype=np.float64).ravel()
    if not words.any():
        return 0.0
    mixture = np.maximum(weights @ fitted.on_all(len(words)), 1e-300)
    return float(words @ np.log(mixture) / words.sum())


def attack_in_one_run(audited: Audited, base: Base, *, mu: float, level: float, seed: int | None) -> Attack:
    """Groups of canaries, each repeating one or the other of two words; all guessed from one release.

    `mu` is that of the release: the vocabulary, or the unigram of a fit that releases none. A document of one word
    moves it by one along that word, so the attacker compares the two words of a group, less what the rest of the
    corpus, which is known, puts there. Where a group is there or not, it has the second of the words, and the
    attacker looks for half of its weight.
    """
    copies = copies_for(mu, TARGET, max(1, int(LARGEST_PART * base.n_units)))
    n_words = base.n_words if audited.words is None else audited.words.n_listed or base.n_words
    groups = min(n_words // 2, int(LARGEST_PART * base.n_units) // copies)
    if groups < 1:
        return Attack(0.0, copies, 0, 0)
    random = np.random.default_rng(seed)
    pairs = random.permutation(n_words)[: 2 * groups].reshape(groups, 2)
    coins = random.integers(0, 2, groups)
    chosen = pairs[np.arange(groups), coins]
    kinds = [rows_of([{int(word): CANARY_LENGTH}], base.n_words) for word in chosen]
    neighbours = audited.settings.neighbours
    if neighbours != REPLACE:
        nothing = absent(neighbours, base.n_words)
        kinds = [kind if coin else nothing for kind, coin in zip(kinds, coins, strict=True)]
        chosen = chosen[coins == 1]
    units = [kind for kind in kinds for _ in range(copies)]
    _, run = record(audited.seeded(seed_of(audited.settings.noise_seed, 4)), *base.replaced(units))
    entering, released = next(one for one in run.seen if one[0].query.name in GUESSED_FROM)
    rest, value = entering.aggregate * entering.query.step, released.value
    if isinstance(entering, EnteringWords) and isinstance(released, ReleasedWords):
        assert audited.words is not None
        rest = _on_columns(audited.words, entering.words, rest)
        value = _on_columns(audited.words, released.words, value)
    np.subtract.at(rest, chosen, float(copies))
    seen = (value - rest)[pairs]
    guesses = seen[:, 1] > (seen[:, 0] if neighbours == REPLACE else copies / 2.0)
    correct = int(np.count_nonzero(guesses == coins))
    return Attack(mu_of_one_run(correct, groups, level) / copies, copies, groups, correct)


def _on_columns(columns: NamedColumns, words: tuple[str, ...], values: np.ndarray) -> np.ndarray:
    """Values of words in the order of the columns, zero where a word has none."""
    result = np.zeros(len(columns.names))
    result[[columns.columns[word] for word in words]] = values
    return result
