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
from private_topics.fits.private import check_units, units_of
from private_topics.privacy.budget import PrivacyBudget, is_number, warn_if_delta_large
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.statement import PrivacyStatement, statement_of
from private_topics.releases.likelihood import LIKELIHOOD, release_likelihood
from private_topics.releases.release import FitContext

CALLER = "private_log_likelihood"


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
    model : a fitted model with `components_` and `doc_topic_prior_`, released privately or public.
    X : word counts, one row per document; topic weights are inferred from the same words.
    floor : public; a document below `-floor` per word counts as `-floor`. None: twice the logarithm of the number of
        words, twice what equal probabilities score.
    groups : a label per document; units are then users, whose documents are averaged.
    public_model : say that a model without a privacy statement does not depend on private documents.
    """
    topics, prior = _checked_model(model, public_model)
    limit = 2.0 * math.log(max(topics.shape[1], 2)) if floor is None else floor
    if not is_number(limit) or not 0.0 < limit < math.inf:
        raise InputError(
            f"The 'floor' parameter of {CALLER} must be a positive number or None. Got {floor!r} instead."
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
        account.protects(*units_of(corpus, blocks, groups))
        account.note(n_words=corpus.n_words, n_units=corpus.n_units)
        warn_if_delta_large(budget.delta, corpus.n_units)
        context = FitContext(run, corpus, (LIKELIHOOD,), {"likelihood": 1.0}, len(topics))
        found = release_likelihood(context, topics, prior, float(limit))
        units = f"the number of {'users' if corpus.grouped else 'documents'} ({corpus.n_units:,})"
        statement = statement_of(
            run,
            grouped=corpus.grouped,
            n_units=corpus.n_units,
            configuration="log-likelihood",
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
    if not public_model and not getattr(getattr(model, "privacy_", None), "private", False):
        raise PrivacyError(
            f"The 'model' parameter of {CALLER} was not released privately: a number computed from it would not "
            "be private. If the model does not depend on private documents, say public_model=True."
        )
    return np.asarray(model.components_, np.float64), np.asarray(model.doc_topic_prior_, np.float64)
