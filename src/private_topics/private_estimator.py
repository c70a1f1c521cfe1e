"""`PrivateSpectralLDA`: the estimator whose fit is differentially private on every path."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from private_topics.configurations.private_corpus import PrivateCorpus
from private_topics.configurations.sequential import Sequential
from private_topics.errors import InputError, ModelFileError, PrivacyError
from private_topics.estimators import MODEL_CLASSES, TopicEstimator, check_parameters
from private_topics.privacy.budget import BudgetSplit, PrivacyBudget, warn_if_delta_large
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.statement import PrivacyStatement, statement_of
from private_topics.progress import stage_printer
from private_topics.threads import limited_threads

CONFIGURATIONS = ("sequential", "auto")


class PrivateSpectralLDA(TopicEstimator):
    """Latent Dirichlet allocation with (epsilon, delta)-differential privacy for documents, or users, replaced.

    The vocabulary (the columns of X) and the number of documents are taken as public.

    Parameters
    ----------
    n_components : number of topics asked for; where the budget carries fewer, the model uses fewer and says so.
    epsilon, delta : the guarantee. Keep delta well below one over the number of units.
    alpha0 : sum of the Dirichlet prior over topics.
    configuration : "sequential" or "auto", which picks it.
    calibration : "proved".
    allow_unproved : opt-in that an unproved calibration needs.
    refine_steps : private refinement steps after the spectral start.
    budget_split : `BudgetSplit`, the named shares of the releases; None for the default.
    sampler : "fast" (rounded Gaussian) or "exact" (OpenDP's discrete Gaussian, slow).
    engine : "local".
    n_jobs : threads; the result does not depend on it.
    ledger : `BudgetLedger` shared by all fits on one corpus, or any object with `reserve(budget)`.
    noise_seed : fixed noise, for tests only: the model then says `private=False`.
    random_state : seed of the tensor method's restarts, never of the noise.
    verbose : print each stage to standard error.

    Attributes
    ----------
    components_, doc_topic_prior_ : topics and prior, post-processing of released values.
    privacy_ : `PrivacyStatement`.
    supported_components_ : directions of the second moment that stand above the noise.
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        alpha0: float = 1.0,
        configuration: Any = "sequential",
        calibration: str = "proved",
        allow_unproved: bool = False,
        refine_steps: int = 4,
        budget_split: BudgetSplit | None = None,
        sampler: str = "fast",
        engine: str = "local",
        n_jobs: int | None = None,
        ledger: Any = None,
        noise_seed: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.alpha0 = alpha0
        self.configuration = configuration
        self.calibration = calibration
        self.allow_unproved = allow_unproved
        self.refine_steps = refine_steps
        self.budget_split = budget_split
        self.sampler = sampler
        self.engine = engine
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.noise_seed = noise_seed
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Learn topics from counts over a public vocabulary. With `groups` (a label per document) units are users.

        Every fit spends its budget anew; pass a `ledger` to hold several fits to one total.
        """
        self._check_privacy_parameters()
        check_parameters(self)
        _refuse_text(X)
        corpus = PrivateCorpus.of(self._corpus(X), groups)
        if corpus.n_units < 2:
            raise InputError("Found n_samples = 1: a private fit needs at least two documents, or users with groups.")
        warn_if_delta_large(float(self.delta), corpus.n_units)
        split = BudgetSplit() if self.budget_split is None else self.budget_split
        run = PrivateRun(
            PrivacyBudget(self.epsilon, self.delta),
            sampler=self.sampler,
            noise_seed=self.noise_seed,
            reserve=None if self.ledger is None else self.ledger.reserve,
        )
        with limited_threads(self.n_jobs):
            model = Sequential(
                run=run,
                split=split,
                corpus=corpus,
                n_topics=int(self.n_components),
                alpha0=float(self.alpha0),
                refine_steps=int(self.refine_steps),
                random_state=check_random_state(0 if self.random_state is None else self.random_state),
                progress=stage_printer(self.verbose, type(self).__name__),
            ).fit()
        self.components_ = model.topics
        self.doc_topic_prior_ = model.alpha
        self.supported_components_ = model.supported
        self.privacy_ = statement_of(
            run,
            grouped=groups is not None,
            n_units=corpus.n_units,
            configuration="sequential",
            public=self._public_facts(corpus, groups is not None),
            components=f"Topics asked for: {self.n_components}; used: {len(model.topics)}; "
            f"directions above the noise: {model.supported}.",
        )
        return self

    def _check_privacy_parameters(self) -> None:
        """Refuse before the corpus is read and before any noise is drawn."""
        PrivacyBudget(self.epsilon, self.delta)
        name = type(self).__name__
        if self.calibration == "published":
            if not self.allow_unproved:
                raise PrivacyError(
                    "calibration='published' uses the published method's sensitivities, which are not proved. "
                    "Use calibration='proved', or pass allow_unproved=True for an experiment that stays in house."
                )
            raise InputError(f"This release of {name} has calibration='proved' only.")
        if self.calibration != "proved":
            raise InputError(
                f"The 'calibration' parameter of {name} must be 'proved' or 'published'. "
                f"Got {self.calibration!r} instead."
            )
        if self.configuration not in CONFIGURATIONS:
            raise InputError(
                f"The 'configuration' parameter of {name} must be one of {CONFIGURATIONS}. "
                f"Got {self.configuration!r} instead."
            )
        if self.engine != "local":
            raise InputError(f"The 'engine' parameter of {name} must be 'local'. Got {self.engine!r} instead.")
        if self.budget_split is not None and not isinstance(self.budget_split, BudgetSplit):
            raise InputError(f"The 'budget_split' parameter of {name} must be None or a BudgetSplit.")
        if self.budget_split is not None and min(_spectral_shares(self.budget_split)) <= 0:
            raise PrivacyError("BudgetSplit needs positive fractions for unigram, histograms, second, frame, tensor.")
        if self.refine_steps and self.budget_split is not None and self.budget_split.refine <= 0:
            raise PrivacyError("refine_steps > 0 needs a positive 'refine' fraction in the BudgetSplit.")

    def _public_facts(self, corpus: PrivateCorpus, grouped: bool) -> tuple[str, ...]:
        facts = [
            f"the number of {'users' if grouped else 'documents'} ({corpus.n_units:,})",
            f"the vocabulary of {corpus.n_words:,} words",
            "all settings of the fit",
        ]
        return tuple(facts)

    def _extra_header(self) -> dict[str, Any]:
        return {
            "privacy": self.privacy_.to_dict(),
            "supported_components": int(self.supported_components_),
            "budget_split": (BudgetSplit() if self.budget_split is None else self.budget_split).as_dict(),
        }

    def _plain_parameters(self) -> dict[str, Any]:
        parameters = super()._plain_parameters()
        parameters["ledger"] = parameters["budget_split"] = None  # objects: the split is stored beside
        return parameters

    def _restore(self, header: dict[str, Any]) -> None:
        try:
            self.privacy_ = PrivacyStatement.from_dict(header["privacy"])
            self.supported_components_ = int(header["supported_components"])
            split = BudgetSplit(**header["budget_split"])
        except (KeyError, TypeError, ValueError):
            raise ModelFileError("The model file's privacy statement is missing or damaged.") from None
        self.budget_split = None if split == BudgetSplit() else split


def _refuse_text(X: Any) -> None:
    """Raw text has no public vocabulary: counting it would read one off the private corpus."""
    if _holds_text(X):
        raise PrivacyError(
            "PrivateSpectralLDA.fit takes word counts over a public vocabulary, not raw text: a vocabulary read off "
            "the private corpus would leak it. Count with a public word list, for example "
            "CountVectorizer(vocabulary=words).transform(texts)."
        )


def _holds_text(X: Any) -> bool:
    """Whether `X` is an array, frame or list (of lists) of strings; a path to counts is not."""
    if isinstance(X, str | bytes):
        return len(X.split()) > 1 and not os.path.exists(X)
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "US" or (X.dtype == object and X.size > 0 and _holds_word(X.ravel()[0]))
    return isinstance(X, list | tuple) and len(X) > 0 and _holds_word(X[0])


def _holds_word(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len(value) > 0 and _holds_word(value[0])
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "US"
    return isinstance(value, str | bytes)


def _spectral_shares(split: BudgetSplit) -> tuple[float, ...]:
    return split.unigram, split.histograms, split.second, split.frame, split.tensor


MODEL_CLASSES["PrivateSpectralLDA"] = PrivateSpectralLDA
