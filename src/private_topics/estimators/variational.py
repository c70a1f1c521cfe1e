"""`PrivateVariationalLDA` and `VariationalLDA`: online variational Bayes, with and without privacy.

They are baselines for comparison. The interface, the privacy statement and the model file are those of the spectral
estimators.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from private_topics.engines.local import LocalCorpus
from private_topics.errors import ModelFileError
from private_topics.estimators.base import TopicEstimator, unchanged_on_failure
from private_topics.estimators.private import refuse_text
from private_topics.fits.choice import VARIATIONAL
from private_topics.fits.private import check_units, units_of
from private_topics.fits.variational import (
    PlainMinibatches,
    PrivateMinibatches,
    Schedule,
    default_rate,
    online_topics,
    private_word_prior,
)
from private_topics.parameters import check_parameters, one_of
from private_topics.privacy.budget import PrivacyBudget, warn_if_delta_large
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.ledger.request import Request
from private_topics.privacy.statement import PrivacyStatement, statement_of
from private_topics.privacy.subsampling import SubsampledRun
from private_topics.progress import progress_of
from private_topics.threads import limited_threads


class VariationalLDA(TopicEstimator):
    """Latent Dirichlet allocation by online variational Bayes, without privacy.

    Parameters
    ----------
    n_components : number of topics.
    alpha0 : sum of the Dirichlet prior over topics.
    steps : minibatches in all.
    sampling_rate : probability with which a document is in a minibatch; None for one in ten, or about 1,000.
    offset, decay : minibatch t = 0, 1, … has weight (t + offset)^-decay in the running expected counts.
    word_prior : the Dirichlet prior of a word in a topic.
    n_jobs : threads; the result does not depend on it, except for rounding.
    random_state : seed of the first topics and of the minibatches.
    verbose : print each minibatch to standard error.

    Attributes
    ----------
    components_ : (n_components, n_words), rows are probabilities.
    doc_topic_prior_ : (n_components,), `alpha0` in equal parts.
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha0: float = 1.0,
        steps: int = 100,
        sampling_rate: float | None = None,
        offset: float = 1.0,
        decay: float = 0.7,
        word_prior: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.alpha0 = alpha0
        self.steps = steps
        self.sampling_rate = sampling_rate
        self.offset = offset
        self.decay = decay
        self.word_prior = word_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes it)
        """Learn topics from counts: a matrix (documents × words), an iterable of such blocks, or a path to them."""
        check_parameters(self)
        with unchanged_on_failure(self):
            corpus = LocalCorpus.of(self._corpus(X))
            schedule = _schedule(self, corpus.n_units, float(self.word_prior))
            random_state = check_random_state(0 if self.random_state is None else self.random_state)
            prior = np.full(int(self.n_components), float(self.alpha0) / int(self.n_components))
            with limited_threads(self.n_jobs):
                self.components_ = online_topics(
                    PlainMinibatches(corpus, prior, schedule.rate, random_state),
                    corpus.n_words,
                    len(prior),
                    schedule,
                    random_state,
                    progress_of(self.verbose, type(self).__name__),
                )
            self.doc_topic_prior_ = prior
        return self


class PrivateVariationalLDA(TopicEstimator):
    """Online variational Bayes with (epsilon, delta)-differential privacy for documents, or users, replaced.

    The vocabulary (the columns of X) and the number of documents are taken as public.

    Parameters
    ----------
    n_components : number of topics.
    epsilon, delta : the guarantee. Keep delta well below one over the number of units.
    alpha0 : sum of the Dirichlet prior over topics.
    steps : minibatches in all. Each is a noisy release; more of them mean more noise on each.
    sampling_rate : probability with which a unit is in a minibatch; None for one in ten, or about 1,000 units.
    offset, decay : minibatch t = 0, 1, … has weight (t + offset)^-decay in the running expected counts.
    clip : the norm to which larger expected counts of a document are scaled down; None scales all to norm one.
    word_prior : the Dirichlet prior of a word in a topic; None for a small part of the noise on an expected count.
    n_jobs : threads; the result does not depend on it.
    ledger : `DurableLedger` or `BudgetLedger` of the corpus, shared by all fits on it; or any object with
        `reserve(budget, **kind)`, which raises to refuse. There the epsilons of subsampled fits add up.
    noise_seed : fixed noise and minibatches, for tests only: the model then says `private=False`.
    neighbours : "replace", the only ones for which minibatches are proved.
    random_state : seed of the first topics, never of the noise or the minibatches.
    verbose : print each minibatch to standard error.

    Attributes
    ----------
    components_ : topics, post-processing of released values.
    doc_topic_prior_ : (n_components,), `alpha0` in equal parts.
    privacy_ : `PrivacyStatement`.
    sign_off_ : `Request`: who asked for the fit, who approved it and why, as the ledger was told; empty without.
    """

    _constraints: ClassVar = {"neighbours": one_of("replace")}
    sign_off_ = Request()

    def __init__(
        self,
        n_components: int = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        alpha0: float = 1.0,
        steps: int = 50,
        sampling_rate: float | None = None,
        offset: float = 1.0,
        decay: float = 0.7,
        clip: float | None = None,
        word_prior: float | None = None,
        n_jobs: int | None = None,
        ledger: Any = None,
        noise_seed: int | None = None,
        neighbours: str = "replace",
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.alpha0 = alpha0
        self.steps = steps
        self.sampling_rate = sampling_rate
        self.offset = offset
        self.decay = decay
        self.clip = clip
        self.word_prior = word_prior
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.noise_seed = noise_seed
        self.neighbours = neighbours
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes it)
        """Learn topics from counts over a public vocabulary. With `groups` (a label per document) units are users.

        Every fit spends its budget anew; pass a `ledger` to keep several fits within one total.
        """
        budget = PrivacyBudget(self.epsilon, self.delta)
        check_parameters(self)
        refuse_text(X, type(self).__name__)
        with unchanged_on_failure(self):
            blocks = self._corpus(X)
            account = FitAccount(self.ledger, {"estimator": type(self).__name__})
            corpus = LocalCorpus.of(blocks, groups)
            check_units(corpus)
            account.protects(*units_of(corpus, blocks, groups))
            if not corpus.blocks.in_memory:
                for _ in corpus.blocks:  # a minibatch is charged before it is read, and a malformed file is not
                    pass
            warn_if_delta_large(budget.delta, corpus.n_units)
            schedule = _schedule(self, corpus.n_units, 1.0 if self.word_prior is None else float(self.word_prior))
            account.note(**self._public_settings(corpus, schedule))
            run = SubsampledRun(
                budget,
                steps=schedule.steps,
                rate=schedule.rate,
                n_units=corpus.n_units,
                noise_seed=self.noise_seed,
                reserve=account.reserve,
            )
            prior = np.full(int(self.n_components), float(self.alpha0) / int(self.n_components))
            minibatches = PrivateMinibatches(run, corpus, prior, 0.0 if self.clip is None else float(self.clip))
            if self.word_prior is None:
                schedule = replace(schedule, word_prior=private_word_prior(minibatches.noise, schedule))
            with limited_threads(self.n_jobs):
                self.components_ = online_topics(
                    minibatches,
                    corpus.n_words,
                    len(prior),
                    schedule,
                    check_random_state(0 if self.random_state is None else self.random_state),
                    progress_of(self.verbose, type(self).__name__),
                )
            self.doc_topic_prior_ = prior
            self.privacy_ = _statement(run, corpus, grouped=corpus.unit is not None)
            self.sign_off_ = account.request
            account.finish(self._file_digest)
        return self

    def _public_settings(self, corpus: LocalCorpus, schedule: Schedule) -> dict[str, Any]:
        """What a ledger notes in addition to the cost of this fit."""
        names = ("n_components", "alpha0", "steps", "offset", "decay", "clip", "word_prior")
        public: dict[str, Any] = {"n_units": corpus.n_units, "n_words": corpus.n_words}
        public |= {name: getattr(self, name) for name in names} | {"sampling_rate": schedule.rate}
        return public | {"private": self.noise_seed is None}

    def _extra_header(self) -> dict[str, Any]:
        request = {"sign_off": self.sign_off_.said} if self.sign_off_ else {}
        return {"privacy": self.privacy_.to_dict(), **request}

    def _plain_parameters(self) -> dict[str, Any]:
        return super()._plain_parameters() | {"ledger": None}

    def _restore(self, header: dict[str, Any]) -> None:
        try:
            self.privacy_ = PrivacyStatement.from_dict(header["privacy"])
            self.sign_off_ = Request.from_dict(header.get("sign_off", {}))
        except (KeyError, TypeError, ValueError):
            raise ModelFileError("The model file's privacy statement is missing or damaged.") from None


def _statement(run: SubsampledRun, corpus: LocalCorpus, *, grouped: bool) -> PrivacyStatement:
    """The equal steps of the run as one line."""
    units = "users" if grouped else "documents"
    statement = statement_of(
        run,
        grouped=grouped,
        n_units=corpus.n_units,
        configuration=VARIATIONAL.name,
        public=(
            f"the number of {units} ({corpus.n_units:,})",
            f"the vocabulary of {corpus.n_words:,} words",
            f"all settings of the fit, but not which {units} were in a minibatch",
        ),
        components=f"Each of the {run.steps} minibatches holds each of the {units} with probability {run.rate:g}.",
    )
    steps = statement.releases
    line = replace(
        steps[0],
        name=f"{len(steps)} minibatches, rate {run.rate:g}",
        share=min(1.0, float(sum(step.share for step in steps))),
    )
    return replace(statement, releases=(line,))


def _schedule(estimator: Any, n_units: int, word_prior: float) -> Schedule:
    rate = default_rate(n_units) if estimator.sampling_rate is None else float(estimator.sampling_rate)
    return Schedule(int(estimator.steps), rate, float(estimator.offset), float(estimator.decay), word_prior)
