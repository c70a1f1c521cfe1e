"""`private_log_likelihood`: how well a released model explains private documents, under a budget of its own."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from private_topics.corpus.counts.blocks import as_blocks
from private_topics.engines.protocol import open_corpus
from private_topics.errors import InputError, PrivacyError
from private_topics.estimators.private import refuse_text
from private_topics.estimators.saving import sound_arrays
from private_topics.fits.choice import LIKELIHOOD_ALONE
from private_topics.fits.private import check_units, require_unit_of, units_of
from private_topics.privacy.budget import PrivacyBudget, is_number, warn_if_delta_large
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import ADD_REMOVE
from private_topics.privacy.statement import PrivacyStatement, statement_of
from private_topics.releases.likelihood import release_likelihood
from private_topics.releases.release import FitContext

CALLER = "private_log_likelihood"
LEAST_FLOOR, LARGEST_FLOOR = 0.001, 1_000.0


@dataclass(frozen=True)
class PrivateLikelihood:
    """A released log-likelihood per word, the standard deviation of its noise, and what it is private for."""

    log_likelihood: float
    noise: float
    privacy: PrivacyStatement

    @property
    def perplexity(self) -> float:
        return math.exp(-self.log_likelihood)


def private_log_likelihood(
    model: Any,
    X: Any,
    *,
    epsilon: float,
    delta: float,
    floor: float | None = None,
    groups: Any = None,
    public_model: bool = False,
    ledger: Any = None,
    sampler: str = "fast",
    noise_seed: int | None = None,
) -> PrivateLikelihood:
    """Release the mean log-likelihood per word of documents under a fitted model, with noise.

    Use it to compare released models on private documents. Every call spends (epsilon, delta) anew, on top of what
    the models cost: a grid of ten models scored this way costs ten fits and ten calls.

    Parameters
    ----------
    model : a fitted model with `components_` and `doc_topic_prior_`, released with a proved guarantee, or public. One
        for add-remove neighbours is refused: the number of documents is public here, and there it is not.
    X : word counts, one row per document; topic weights are inferred from the same words.
    floor : public; a document below `-floor` per word counts as `-floor`. None: twice the logarithm of the number of
        words, twice what equal probabilities score.
    groups : a label per document; units are then users, whose documents are averaged. Needed where the model
        protects users.
    public_model : say that a model without a privacy statement does not depend on private documents. Where there is
        a statement, it decides.
    """
    topics, prior = _checked_model(model, public_model)
    limit = 2.0 * math.log(max(topics.shape[1], 2)) if floor is None else floor
    if not is_number(limit) or not LEAST_FLOOR <= limit <= LARGEST_FLOOR:
        raise InputError(
            f"The 'floor' parameter of {CALLER} must be None or a number from {LEAST_FLOOR} to {LARGEST_FLOOR:,.0f}. "
            f"Got {floor!r} instead."
        )
    budget = PrivacyBudget(epsilon, delta)
    refuse_text(X, CALLER)
    blocks = as_blocks(X, caller=CALLER)
    if blocks.n_words != topics.shape[1]:
        raise InputError(f"The 'X' parameter of {CALLER} must have as many columns as the model has words.")
    account = FitAccount(ledger, {"epsilon": epsilon, "delta": delta, "floor": limit}, what="likelihood")
    run = PrivateRun(budget, sampler=sampler, noise_seed=noise_seed, reserve=account.reserve)
    corpus = open_corpus("local", blocks, groups)
    try:
        check_units(corpus)
        require_unit_of(getattr(model, "privacy_", None), corpus, CALLER)
        account.protects(*units_of(corpus, blocks, groups))
        account.note(n_words=corpus.n_words, n_units=corpus.n_units)
        warn_if_delta_large(budget.delta, corpus.n_units)
        context = FitContext(run, corpus, LIKELIHOOD_ALONE.releases, {}, len(topics))
        found = release_likelihood(context, topics, prior, float(limit))
        units = f"the number of {'users' if corpus.grouped else 'documents'} ({corpus.n_units:,})"
        statement = statement_of(
            run,
            grouped=corpus.grouped,
            n_units=corpus.n_units,
            configuration=LIKELIHOOD_ALONE.name,
            public=(units, f"the vocabulary of {corpus.n_words:,} words", "the model", "all settings of the call"),
            components="One number: the mean log-likelihood per word.",
        )
    finally:
        corpus.close()
    account.finish(lambda: hashlib.sha256(repr(found).encode()).hexdigest())
    return PrivateLikelihood(found.value, found.noise, statement)


def _checked_model(model: Any, public_model: bool) -> tuple[np.ndarray, np.ndarray]:
    if not hasattr(model, "components_") or not hasattr(model, "doc_topic_prior_"):
        raise InputError(f"The 'model' parameter of {CALLER} must be a fitted topic model.")
    statement = getattr(model, "privacy_", None)
    public_model = public_model and statement is None  # a statement goes before the caller's word
    if not public_model and (statement is None or not (statement.private and statement.proved)):
        raise PrivacyError(
            f"The 'model' parameter of {CALLER} was released without a proved guarantee: a number computed from it "
            "would have none either. If the model has no privacy statement and does not depend on private "
            "documents, say public_model=True."
        )
    if statement is not None and statement.relation == ADD_REMOVE:
        raise InputError(
            f"The 'model' parameter of {CALLER} must be for neighbours='replace' or 'zero-out': this one, for "
            f"'add-remove', keeps the number of {statement.unit}s private, and {CALLER} states it."
        )
    return sound_topics(model, CALLER)


def sound_topics(model: Any, caller: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the topics and the prior of a model; refuse what cannot be those of one: sums rely on the shapes."""
    topics, prior = (np.asarray(array, np.float64) for array in (model.components_, model.doc_topic_prior_))
    sound = sound_arrays({"components_": topics, "doc_topic_prior_": prior})
    if not sound or getattr(model, "n_features_in_", topics.shape[1]) != topics.shape[1]:
        raise InputError(
            f"The 'model' parameter of {caller} must hold a probability of each word for each topic, with sums of "
            "one, and a prior of one positive number for each topic."
        )
    return topics, prior
