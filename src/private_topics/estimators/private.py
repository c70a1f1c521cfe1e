"""`PrivateSpectralLDA`: the estimator whose fit is differentially private on every path."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from private_topics.engines.sites.site import Site
from private_topics.errors import InputError, ModelFileError, PrivacyError
from private_topics.estimators.base import TopicEstimator, unchanged_on_failure
from private_topics.estimators.notebook import NotebookView
from private_topics.fits.choice import AUTOMATIC, chosen_fit, comes_after
from private_topics.fits.fit import BudgetSplit, Fit, Spectrum
from private_topics.fits.private import FitSettings, PrivateFit
from private_topics.knowledge.public import PublicKnowledge
from private_topics.knowledge.sources import KnowledgeSource
from private_topics.parameters import check_parameters
from private_topics.privacy.ledger.request import Request
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE, Neighbours
from private_topics.privacy.statement import PrivacyStatement
from private_topics.progress import progress_of
from private_topics.releases.evidence import Evidence
from private_topics.releases.units import MOST_UNITS

PRIVATE_TOPICS = "PrivateTopics"


class PrivateSpectralLDA(NotebookView, TopicEstimator):
    """Latent Dirichlet allocation with (epsilon, delta)-differential privacy for documents, or users.

    The vocabulary (the columns of X) and the number of documents are taken as public; the latter is not with
    neighbours="add-remove".

    Parameters
    ----------
    n_components : number of topics asked for; if the budget carries fewer, the model uses fewer and says so.
    epsilon, delta : the guarantee. Keep delta well below one over the number of units. Configuration 1 also takes
        delta=0, for vocabularies of a few hundred words.
    alpha0 : sum of the Dirichlet prior over topics.
    configuration : "sequential"; or 1, 2, 3, 4, where the noise goes in the published method;
        or "auto", which picks one of the proved ones.
    calibration : "proved"; or "published", the published sensitivities and composition; or "published-analytic", the
        same with the smallest Gaussian noise for each release. The last two are not proved, and the model says so.
    allow_unproved : opt-in that an unproved calibration needs.
    refine_steps : private refinement steps after the spectral start, with the sequential configuration.
    budget_split : `BudgetSplit`, the named shares of the releases; None for the default, in which the share of the
        refinement goes to the spectral stage where refine_steps is 0. Where epsilon adds up (published calibrations,
        delta=0) the fractions are fixed. A vocabulary that `fit_texts` releases takes a tenth, from the refinement.
    keep : which topics are returned: those that the documents show ("seen"), on words that the fit has not learnt
        from, the others joined with those most alike; or "all" of them, marked; or "untested" ones, without a test.
        None for "seen", with the sequential configuration, unless a `budget_split` leaves nothing for the test.
    knowledge : `PublicKnowledge` of the words, aligned to the columns of X; with the sequential configuration.
    neighbours : what the guarantee compares: corpora of which one unit is replaced by any other ("replace"), emptied
        ("zero-out") or added or removed ("add-remove"). The first is the strongest and needs the most noise; the last
        two need less by a factor of √2 or 2, and their epsilon means less by as much. With "add-remove" the number of
        units is not public: it is released first, for a hundredth of the budget. With the sequential configuration.
    most_units : with "add-remove", a public number that the units do not exceed; 4,000,000 if None. It sets the
        digits that a sum has; a corpus that turns out larger is refused after it was charged.
    sampler : "fast" (rounded Gaussian) or "exact" (OpenDP's discrete Gaussian, slow).
    engine : where the sums over the documents are computed: "local"; "spark", on a cluster (extra `spark`); "gpu"
        (extra `gpu`). Noise is added here, and the result does not depend on the engine. Or a `Site`: this corpus
        is one of several whose sums are added up under masks (extra `sites`; with sampler="exact").
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
    sign_off_ : `Request`: who asked for the fit, who approved it and why, as the ledger was told; empty without.
    supported_components_ : how many topics the directions above the noise can tell apart: as many; with public
        knowledge of words, where these are directions around the mean, one more.
    evidence_ : `Evidence` for the topics, where they were tested and the model has more than one; else None.
    spectrum_ : eigenvalues of the released second moment and the edge of its noise; None where the configuration has
        no such release.
    """

    sign_off_ = Request()
    evidence_: Evidence | None = None
    _of_private_topics = False
    """Whether `PrivateTopics` fits it: then its file, whose digest the ledger notes, says so and `load` makes one."""

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
        keep: str | None = None,
        knowledge: PublicKnowledge | None = None,
        neighbours: Neighbours = REPLACE,
        most_units: int | None = None,
        sampler: str = "fast",
        engine: str | Site = "local",
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
        self.keep = keep
        self.knowledge = knowledge
        self.neighbours = neighbours
        self.most_units = most_units
        self.sampler = sampler
        self.engine = engine
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.noise_seed = noise_seed
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes it)
        """Learn topics from counts over a public vocabulary. With `groups` (a label per document) units are users.

        Every fit spends its budget anew; pass a `ledger` to keep several fits within one total.
        """
        settings = settings_of(self)
        refuse_text(X, type(self).__name__)
        return fit_in(self, PrivateFit.begin(settings), X, groups)

    def _extra_header(self) -> dict[str, Any]:
        request = {"sign_off": self.sign_off_.said} if self.sign_off_ else {}
        return {
            **request,
            **({"interface": PRIVATE_TOPICS} if self._of_private_topics else {}),
            "privacy": self.privacy_.to_dict(),
            "supported_components": int(self.supported_components_),
            "spectrum": None if self.spectrum_ is None else asdict(self.spectrum_),
            **({} if self.evidence_ is None else {"evidence": self.evidence_.to_dict()}),
            "budget_split": (self.budget_split or self._usual_split()).as_dict(),
        }

    def _plain_parameters(self) -> dict[str, Any]:
        parameters = super()._plain_parameters()
        parameters["ledger"] = parameters["budget_split"] = None  # objects: the split is stored separately
        if isinstance(self.engine, Site):
            parameters["engine"] = "local"
        return parameters

    def _restore(self, header: dict[str, Any]) -> None:
        try:
            self.privacy_ = PrivacyStatement.from_dict(header["privacy"])
            self.sign_off_ = Request.from_dict(header.get("sign_off", {}))
            self.supported_components_ = int(header["supported_components"])
            self.spectrum_ = _spectrum_from(header.get("spectrum"))
            stored = header.get("evidence")
            self.evidence_ = None if stored is None else Evidence.from_dict(stored, len(self.components_))
            split = BudgetSplit(**header["budget_split"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ModelFileError("The model file's privacy statement is missing or damaged.") from None
        self.budget_split = None if split == self._usual_split() else split
        tested = any(comes_after(line.name) for line in self.privacy_.releases)
        sequential = self.configuration in ("sequential", "auto")
        if sequential and self.keep is None and not tested and len(self.components_) > 1:
            self.keep = "untested"  # by a split of its own, or by a version that had no test
        self._of_private_topics = header.get("interface") == PRIVATE_TOPICS

    def _usual_split(self) -> BudgetSplit:
        """What represents None in a file, whatever the configuration."""
        return AUTOMATIC.split(self.refine_steps)


def settings_of(model: PrivateSpectralLDA, source: KnowledgeSource | None = None) -> FitSettings:
    """The settings of a fit, checked: refuse before the corpus is read and before any noise is drawn.

    `source`: public knowledge that is to be aligned later, once the words are known, and named beforehand.
    """
    name = type(model).__name__
    if model.knowledge is not None and not isinstance(model.knowledge, PublicKnowledge):
        raise InputError(f"The 'knowledge' parameter of {name} must be None or a PublicKnowledge.")
    known = model.knowledge if source is None else source
    fit = chosen_fit(
        model.configuration,
        model.calibration,
        allow_unproved=bool(model.allow_unproved),
        delta=model.delta,
        informed=known is not None,
        caller=name,
    )
    budget = fit.budget(model.epsilon, model.delta)
    if fit.reasons and model.ledger is not None:
        raise PrivacyError(
            f"calibration={model.calibration!r} has no proved cost, so a ledger cannot account for it. "
            "Pass ledger=None for an experiment on a corpus that needs no protection."
        )
    check_parameters(model)
    if model.engine != "local" and not fit.any_engine:
        raise InputError(f"engine={model.engine!r} runs configuration='sequential', 2, 3 and 4, proved. Use 'local'.")
    _check_sites(model, fit, name)
    _check_neighbours(model, fit, name)
    if model.keep in ("seen", "all") and not fit.tested:
        raise InputError(
            f"The 'keep' parameter of {name} belongs to configuration='sequential': the topics of the others are not "
            f"tested. Got configuration={model.configuration!r} instead."
        )
    if model.budget_split is not None:
        if not isinstance(model.budget_split, BudgetSplit):
            raise InputError(f"The 'budget_split' parameter of {name} must be None or a BudgetSplit.")
        fit.check_split(model.budget_split, refined=bool(model.refine_steps))
        if model.neighbours == ADD_REMOVE and not model.budget_split["units"] > 0:
            raise PrivacyError(
                "neighbours='add-remove' needs a fraction for the number of units: pass budget_split=None, or "
                "BudgetSplit(units=…, …)."
            )
        if model.keep in ("seen", "all") and not model.budget_split["evidence"] > 0:
            raise PrivacyError(
                f"keep={model.keep!r} needs a fraction for the test of the topics: pass budget_split=None, or "
                "BudgetSplit(evidence=…, …)."
            )
        if model.keep == "untested" and model.budget_split["evidence"] > 0:
            raise PrivacyError("keep='untested' tests no topics: a BudgetSplit must leave nothing for evidence.")
    noted = ("n_components", "alpha0", "configuration", "calibration", "refine_steps", "sampler", "keep")
    settings = FitSettings(
        fit=fit,
        budget=budget,
        n_topics=int(model.n_components),
        alpha0=float(model.alpha0),
        refine_steps=int(model.refine_steps),
        knowledge=None,
        split=model.budget_split,
        keep=_kept(model, fit),
        sampler=model.sampler,
        noise_seed=model.noise_seed,
        engine=model.engine,
        n_jobs=model.n_jobs,
        random_state=model.random_state,
        progress=progress_of(model.verbose, name),
        ledger=model.ledger,
        noted={"estimator": name}
        | {parameter: getattr(model, parameter) for parameter in noted}
        | ({} if known is None else {"knowledge": known.name, "knowledge_sha256": known.digest})
        | {"private": model.noise_seed is None},
        neighbours=model.neighbours,
        most_units=MOST_UNITS if model.most_units is None else int(model.most_units),
    )
    return settings.informed_by(known, known) if isinstance(known, PublicKnowledge) else settings


def _kept(model: PrivateSpectralLDA, fit: Fit) -> str | None:
    """Return which topics a fit keeps; None where it does not test them."""
    if model.keep is not None:
        return None if model.keep == "untested" else model.keep
    paid = model.budget_split is None or model.budget_split["evidence"] > 0
    return "seen" if fit.tested and paid else None


def _check_sites(model: PrivateSpectralLDA, fit: Fit, name: str) -> None:
    if not isinstance(model.engine, Site):
        return
    if not fit.any_sites:
        raise InputError(f"Several sites run configuration='sequential'. Got {model.configuration!r} instead.")
    if model.sampler != ("exact" if model.noise_seed is None else "fast"):
        raise InputError(
            f"The 'sampler' parameter of {name} must be 'exact' for several sites: shares of noise are discrete "
            f"Gaussian. Got {model.sampler!r} instead."
        )
    if model.random_state is not None and not isinstance(model.random_state, int):
        raise InputError(f"The 'random_state' parameter of {name} must be None or an int for several sites.")


def _check_neighbours(model: PrivateSpectralLDA, fit: Fit, name: str) -> None:
    if model.neighbours != REPLACE and not fit.any_neighbours:
        raise InputError(
            f"neighbours={model.neighbours!r} belongs to configuration='sequential': the other configurations are "
            f"proved for replaced units. Got configuration={model.configuration!r} instead."
        )
    if model.most_units is not None and model.neighbours != ADD_REMOVE:
        raise InputError(
            f"The 'most_units' parameter of {name} belongs to neighbours='add-remove': otherwise the number of units "
            "is public."
        )


def fit_in(
    model: PrivateSpectralLDA, fit: PrivateFit, X: Any, groups: Any = None, vocabulary: str | None = None
) -> PrivateSpectralLDA:
    """Finish a fit that has begun; `vocabulary` says what is public of one that is more than the columns of `X`."""
    with unchanged_on_failure(model), fit.over(model._corpus(X), groups) as context:
        if vocabulary is None and fit.n_units is None:
            vocabulary = f"the vocabulary of {context.n_words:,} words"
        found, statement = fit.model(context, vocabulary)
        model.components_ = found.topics
        model.doc_topic_prior_ = found.alpha
        model.supported_components_ = found.supported
        model.spectrum_ = found.spectrum
        model.evidence_ = found.evidence
        model.privacy_ = statement
        model.sign_off_ = fit.account.request
        fit.account.finish(model._file_digest)
    return model


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
