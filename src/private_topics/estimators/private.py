"""`PrivateSpectralLDA`: the estimator whose fit is differentially private on every path."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from private_topics.engines.opening import ENGINES, open_corpus
from private_topics.engines.protocol import Corpus
from private_topics.errors import InputError, ModelFileError, PrivacyError
from private_topics.estimators.base import MODEL_CLASSES, TopicEstimator, unchanged_on_failure
from private_topics.fits.choice import AUTOMATIC, Choice, Settings, default_split
from private_topics.fits.sequential import Spectrum
from private_topics.parameters import check_parameters, check_units
from private_topics.privacy.budget import BudgetSplit, warn_if_delta_large
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.statement import PrivacyStatement, statement_of
from private_topics.progress import stage_printer
from private_topics.threads import limited_threads


class PrivateSpectralLDA(TopicEstimator):
    """Latent Dirichlet allocation with (epsilon, delta)-differential privacy for documents, or users, replaced.

    The vocabulary (the columns of X) and the number of documents are taken as public.

    Parameters
    ----------
    n_components : number of topics asked for; where the budget carries fewer, the model uses fewer and says so.
    epsilon, delta : the guarantee. Keep delta well below one over the number of units. Configuration 1 also takes
        delta=0, for vocabularies of a few hundred words.
    alpha0 : sum of the Dirichlet prior over topics.
    configuration : "sequential"; or 1, 2, 3, 4, where the noise goes in the published method;
        or "auto", which picks among the proved ones.
    calibration : "proved"; or "published", the published sensitivities and composition; or "published-analytic", the
        same with the smallest Gaussian noise for each release. The last two are not proved, and the model says so.
    allow_unproved : opt-in that an unproved calibration needs.
    refine_steps : private refinement steps after the spectral start, with the sequential configuration.
    budget_split : `BudgetSplit`, the named shares of the releases; None for the default, in which the share of the
        refinement goes to the spectral stage where refine_steps is 0. Where epsilon adds up (published calibrations,
        delta=0) the fractions are fixed.
    sampler : "fast" (rounded Gaussian) or "exact" (OpenDP's discrete Gaussian, slow).
    engine : where the sums over the documents are computed: "local"; "spark", on a cluster (extra `spark`); "gpu"
        (extra `gpu`). Noise is added here, and the result does not depend on the engine.
    n_jobs : threads; the result does not depend on it.
    ledger : `DurableLedger` or `BudgetLedger` of the corpus, shared by all fits on it; or any object with
        `reserve(budget, **kind)`, which raises to refuse.
    noise_seed : fixed noise, for tests only: the model then says `private=False`.
    random_state : seed of the tensor method's restarts, never of the noise.
    verbose : print each stage to standard error.

    Attributes
    ----------
    components_, doc_topic_prior_ : topics and prior, post-processing of released values.
    privacy_ : `PrivacyStatement`.
    supported_components_ : directions of the second moment that stand above the noise.
    spectrum_ : eigenvalues of the released second moment and the edge of its noise; None where the configuration has
        no such release.
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
        choice = self._check_privacy_parameters()
        refuse_text(X, type(self).__name__)
        with unchanged_on_failure(self), closing(self._private_corpus(X, groups)) as corpus:
            account = FitAccount(self.ledger, self._public_settings(corpus))
            run = self._run(choice, account.reserve)
            self._fit_in(run, choice, corpus, f"the vocabulary of {corpus.n_words:,} words")
            account.finish()
        return self

    def _private_corpus(self, X: Any, groups: Any) -> Corpus:
        corpus = open_corpus(self.engine, self._corpus(X), groups)
        try:
            check_units(corpus.n_units)
            warn_if_delta_large(float(self.delta), corpus.n_units, stacklevel=4)
        except BaseException:
            corpus.close()
            raise
        return corpus

    def _run(self, choice: Choice, reserve: Callable[..., None] | None, **kind: Any) -> PrivateRun:
        budget = choice.budget(self.epsilon, self.delta)
        return choice.run(budget, reserve, sampler=self.sampler, noise_seed=self.noise_seed, **kind)

    def _fit_in(self, run: PrivateRun, choice: Choice, corpus: Corpus, vocabulary: str | None) -> None:
        """Fit with what `run` has left. `vocabulary` says which one is public; None where `run` released it."""
        settings = Settings(
            n_topics=int(self.n_components),
            alpha0=float(self.alpha0),
            refine_steps=int(self.refine_steps),
            split=self.budget_split,
            random_state=check_random_state(0 if self.random_state is None else self.random_state),
            progress=stage_printer(self.verbose, type(self).__name__),
        )
        with limited_threads(self.n_jobs):
            model = choice.configured(run, corpus, settings).fit()
        self.components_ = model.topics
        self.doc_topic_prior_ = model.alpha
        self.supported_components_ = model.supported
        self.spectrum_ = model.spectrum
        self.privacy_ = statement_of(
            run,
            grouped=corpus.grouped,
            n_units=corpus.n_units,
            configuration=choice.name,
            reasons=choice.reasons,
            public=self._public_facts(corpus, vocabulary),
            components=f"Topics asked for: {self.n_components}; used: {len(model.topics)}; "
            f"directions above the noise: {model.supported}.",
        )

    def _check_privacy_parameters(self) -> Choice:
        """Refuse before the corpus is read and before any noise is drawn."""
        name = type(self).__name__
        choice = Choice.of(
            self.configuration,
            self.calibration,
            allow_unproved=bool(self.allow_unproved),
            delta=self.delta,
            caller=name,
        )
        choice.budget(self.epsilon, self.delta)
        if choice.reasons and self.ledger is not None:
            raise PrivacyError(
                f"calibration={self.calibration!r} has no proved cost, so a ledger cannot account for it. "
                "Pass ledger=None for an experiment on a corpus that needs no protection."
            )
        if not isinstance(self.engine, str) or self.engine not in ENGINES:
            raise InputError(
                f"The 'engine' parameter of {name} must be one of {tuple(ENGINES)}. Got {self.engine!r} instead."
            )
        if not isinstance(self.sampler, str):
            raise InputError(
                f"The 'sampler' parameter of {name} must be 'fast' or 'exact'. Got {self.sampler!r} instead."
            )
        if self.engine != "local" and not choice.any_engine:
            raise InputError(
                f"engine={self.engine!r} runs configuration='sequential', 2, 3 and 4, proved. Use 'local'."
            )
        if self.budget_split is not None:
            if not isinstance(self.budget_split, BudgetSplit):
                raise InputError(f"The 'budget_split' parameter of {name} must be None or a BudgetSplit.")
            choice.check_split(self.budget_split, refined=bool(self.refine_steps))
        check_parameters(self)
        return choice

    def _public_settings(self, corpus: Corpus) -> dict[str, Any]:
        """What a ledger notes beside the cost of this fit."""
        names = ("n_components", "alpha0", "configuration", "calibration", "refine_steps", "sampler")
        public = {"estimator": type(self).__name__, "n_units": corpus.n_units, "n_words": corpus.n_words}
        return public | {name: getattr(self, name) for name in names} | {"private": self.noise_seed is None}

    def _public_facts(self, corpus: Corpus, vocabulary: str | None) -> tuple[str, ...]:
        units = f"the number of {'users' if corpus.grouped else 'documents'} ({corpus.n_units:,})"
        return (units, *([] if vocabulary is None else [vocabulary]), "all settings of the fit")

    def _extra_header(self) -> dict[str, Any]:
        return {
            "privacy": self.privacy_.to_dict(),
            "supported_components": int(self.supported_components_),
            "spectrum": None if self.spectrum_ is None else asdict(self.spectrum_),
            "budget_split": (self._usual_split() if self.budget_split is None else self.budget_split).as_dict(),
        }

    def _plain_parameters(self) -> dict[str, Any]:
        parameters = super()._plain_parameters()
        parameters["ledger"] = parameters["budget_split"] = None  # objects: the split is stored beside
        return parameters

    def _restore(self, header: dict[str, Any]) -> None:
        try:
            self.privacy_ = PrivacyStatement.from_dict(header["privacy"])
            self.supported_components_ = int(header["supported_components"])
            self.spectrum_ = _spectrum_from(header.get("spectrum"))
            split = BudgetSplit(**header["budget_split"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ModelFileError("The model file's privacy statement is missing or damaged.") from None
        self.budget_split = None if split == self._usual_split() else split

    def _usual_split(self) -> BudgetSplit:
        """What stands for None in a file, whatever the configuration."""
        return default_split(AUTOMATIC, self.refine_steps)


def _spectrum_from(stored: Any) -> Spectrum | None:
    return None if stored is None else Spectrum(tuple(map(float, stored["eigenvalues"])), float(stored["noise_edge"]))


def refuse_text(X: Any, caller: str) -> None:
    """Raw text has no public vocabulary: counting it would read one off the private corpus."""
    if _holds_text(X):
        raise PrivacyError(
            f"{caller}.fit takes word counts over a public vocabulary, not raw text: a vocabulary read off "
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


MODEL_CLASSES["PrivateSpectralLDA"] = PrivateSpectralLDA
