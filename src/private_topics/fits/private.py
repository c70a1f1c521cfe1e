"""One private fit from its settings to its statement: what estimators, the text pipeline and the audit share."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from sklearn.utils import check_random_state

from private_topics._version import __version__
from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.engines.protocol import Corpus, OfReleasedSize, open_corpus
from private_topics.engines.sites.site import Site
from private_topics.errors import InputError, NoWordsError, PrivacyError, PrivacyWarning
from private_topics.fits.fit import AROUND, BudgetSplit, Fit, PrivateModel
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.fits.tested import tested_model
from private_topics.knowledge.public import PublicKnowledge
from private_topics.knowledge.sources import KnowledgeSource
from private_topics.privacy.budget import PrivacyBudget, warn_if_delta_large
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE, Neighbours, gain
from private_topics.privacy.shares import NoiseShares
from private_topics.privacy.statement import PrivacyStatement, statement_of
from private_topics.progress import Progress
from private_topics.releases.evidence import EVIDENCE_SHARE
from private_topics.releases.release import FitContext
from private_topics.releases.units import MOST_UNITS, UNITS_SHARE, bound_on_units, release_units
from private_topics.releases.units_with_words import TEXTS_SHARE, release_units_with_words
from private_topics.spectral.topics import equal_eigenvalue
from private_topics.threads import limited_threads

KNOWN_OF_WORDS = "what is known of the words"
IN_KNOWLEDGE = "units whose documents went into the public knowledge: for them the guarantee is void"

_DIGEST = re.compile(r"\(SHA-256 ([0-9a-f]{64})\)")


def known_digests(public: Iterable[str]) -> list[str]:
    """The digests of the knowledge of words that a statement names as public."""
    return [digest for line in public if line.startswith(KNOWN_OF_WORDS) for digest in _DIGEST.findall(line)]


@dataclass(frozen=True)
class FitSettings:
    """The public settings of a private fit, checked before the corpus is read."""

    fit: Fit
    budget: PrivacyBudget
    n_topics: int
    alpha0: float
    refine_steps: int
    knowledge: PublicKnowledge | None
    split: BudgetSplit | None
    sampler: str
    noise_seed: int | None
    engine: str | Site
    n_jobs: int | None
    random_state: Any
    progress: Progress
    ledger: Any
    noted: dict[str, Any]
    """What a ledger notes in addition to the cost of the fit."""
    unused: str | None = None
    """Public knowledge that says nothing of the words, as a statement names it."""
    neighbours: Neighbours = REPLACE
    most_units: int = MOST_UNITS
    """What the number of units must not exceed, where it is not public."""
    keep: str | None = None
    """Which topics are returned: those "seen" in the corpus, or "all" with what is seen of them; None: no test."""
    of_texts: bool = False
    """Whether the corpus was counted from texts: the first release then asks whether there are any words."""

    def informed_by(
        self, knowledge: PublicKnowledge | None, source: PublicKnowledge | KnowledgeSource
    ) -> FitSettings:
        """With what `source` knows of the words, now that they are known; the sequential fit where it is too little.

        The words may have been paid for, so nothing is refused here.
        """
        if knowledge is not None and knowledge.tells_words_apart:
            return replace(self, knowledge=knowledge)
        split = None if self.split is None else self._without_features(self.split)
        named = f"the public knowledge {source.name!r} (SHA-256 {source.digest})"
        unused = f"{named}, which knows next to none of the words and is not used"
        return replace(self, fit=SEQUENTIAL, knowledge=None, split=split, unused=unused)

    def _without_features(self, split: BudgetSplit) -> BudgetSplit:
        """For the sequential fit: the default one where a split for public knowledge leaves its moments nothing."""
        if split["frame"] and split["tensor"]:
            return split.replace(refine=split["refine"] + split["features"], features=0.0)
        eigenvalue = equal_eigenvalue(self.n_topics, self.alpha0)
        return SEQUENTIAL.split(self.refine_steps, eigenvalue, None, **{name: split[name] for name in AROUND})

    def split_for(self, mu: float, n_units: int, n_words: int, vocabulary: float) -> BudgetSplit:
        """The default split of a fit over a corpus of this size; `vocabulary`: what a released one takes before."""
        fractions = self.fit.fractions
        if self.fit.fractions_for is not None:
            budget = mu * gain(self.neighbours) * n_units
            fractions = self.fit.fractions_for(budget, self.n_topics, n_words)
        eigenvalue = equal_eigenvalue(self.n_topics, self.alpha0)
        before = {
            "units": self.units_share,
            "texts": self.texts_share,
            "vocabulary": vocabulary,
            "evidence": self.evidence_share,
        }
        return self.fit.split(self.refine_steps, eigenvalue, fractions, **before)

    @property
    def units_share(self) -> float:
        """The part of the budget for the number of units; none where it is public."""
        if self.neighbours != ADD_REMOVE:
            return 0.0
        return UNITS_SHARE if self.split is None else self.split["units"]

    @property
    def texts_share(self) -> float:
        """The part of the budget for the number of units with words; none by default where counts are given."""
        if self.fit.adds_up:
            return 0.0
        if self.split is not None:
            return self.split["texts"]
        return TEXTS_SHARE if self.of_texts else 0.0

    @property
    def evidence_share(self) -> float:
        """The part of the budget for the test of the topics; a single topic needs none."""
        if self.keep is None or not self.fit.tested or self.n_topics == 1:
            return 0.0
        return EVIDENCE_SHARE if self.split is None else self.split["evidence"]

    @property
    def public(self) -> tuple[str, ...]:
        """What a statement names as publicly known of the words."""
        if self.knowledge is not None:
            return (f"{KNOWN_OF_WORDS}, {self.knowledge.description}",)
        return () if self.unused is None else (self.unused,)


@dataclass(frozen=True)
class PrivateFit:
    """A fit under way: its settings, its account with the ledger, its run. `over` opens a corpus to finish it on."""

    settings: FitSettings
    account: FitAccount
    run: PrivateRun
    n_units: int | None = None
    """The units of the corpus, if an earlier release of the run counted them: as they are public, or released."""
    vocabulary_share: float = 0.0
    """Of the budget, if that release was the vocabulary."""

    @classmethod
    def begin(cls, settings: FitSettings, *, threshold_delta: float = 0.0, **noted: Any) -> Self:
        """Nothing is charged before the first release."""
        account = FitAccount(settings.ledger, settings.noted | noted, neighbours=settings.neighbours)
        kind = {"threshold_delta": threshold_delta} if threshold_delta else {}
        run = settings.fit.run(
            settings.budget,
            reserve=account.reserve,
            sampler=settings.sampler,
            noise_seed=settings.noise_seed,
            **kind,
            **_relation(settings),
            **_shares(settings),
        )
        return cls(settings, account, run)

    def with_words(self, words: Sequence[str], n_units: int, share: float, source: KnowledgeSource | None) -> Self:
        """The rest of a fit whose first release named `words`, and counted units, for a `share` of the budget."""
        if not words:
            raise PrivacyError(
                "No word reaches the threshold of the private vocabulary, so there is nothing to fit; what was "
                "charged stays charged. Give a public word list, more documents or a larger epsilon."
            )
        settings = self.settings
        if source is not None:
            settings = settings.informed_by(source.align_released(words), source)
        return replace(self, settings=settings, n_units=n_units, vocabulary_share=share)

    @contextmanager
    def over(self, blocks: CountBlocks, groups: Any = None) -> Iterator[FitContext]:
        """The corpus as the engine sees it, with everything else that the fit needs."""
        settings = self.settings
        opened = open_corpus(settings.engine, blocks, groups)
        try:
            self._check_units(opened)
            self.account.protects(*units_of(opened, blocks, groups))
            if self.n_units is None:
                self.account.note(n_words=opened.n_words)
            corpus = self._counted(opened)
            warn_if_delta_large(settings.budget.delta, corpus.n_units)
            if self.n_units is None:
                self.account.note(n_units=corpus.n_units)
            context = FitContext(
                run=self.run,
                corpus=corpus,
                releases=settings.fit.releases,
                split=self._split(corpus),
                own_split=settings.split is not None,
                most_units=self._bound_on_units(),
                n_topics=settings.n_topics,
                alpha0=settings.alpha0,
                refine_steps=settings.refine_steps,
                knowledge=settings.knowledge,
                random_state=check_random_state(0 if settings.random_state is None else settings.random_state),
                progress=settings.progress,
            )
            if self.n_units is None and settings.texts_share:
                with self.account.stopped_by(NoWordsError, self.run):
                    release_units_with_words(context, settings.texts_share)
            yield context
        except BaseException:
            if isinstance(settings.engine, Site):
                settings.engine.end(failed=True)
            raise
        finally:
            opened.close()

    @property
    def release_number(self) -> Callable[[int], int] | None:
        """What makes the number of units public; None where it is."""
        return self.counted if self.settings.neighbours == ADD_REMOVE else None

    def counted(self, number: int) -> int:
        """How many units there are, for all to see: under add-remove this is a release, the first one of the run."""
        settings = self.settings
        if settings.neighbours != ADD_REMOVE:
            return number
        return release_units(self.run, number, settings.units_share, settings.most_units)

    def _counted(self, opened: Corpus) -> Corpus:
        """The corpus as the fit may see it."""
        if self.settings.neighbours != ADD_REMOVE:
            site = self.settings.engine
            return OfReleasedSize(opened, site.added_up(opened.n_units)) if isinstance(site, Site) else opened
        if isinstance(self.settings.engine, Site):
            require_promised(opened.n_units, self.settings.most_units)
        return OfReleasedSize(opened, self.counted(opened.n_units) if self.n_units is None else self.n_units)

    def _bound_on_units(self) -> int | None:
        settings = self.settings
        if settings.neighbours != ADD_REMOVE:
            return None
        return bound_on_units(self.run, settings.units_share, settings.most_units)

    def model(self, context: FitContext, vocabulary: str | None) -> tuple[PrivateModel, PrivacyStatement]:
        """Fit with the rest of the run's budget. `vocabulary` says what of it is public; None if nothing is."""
        settings, corpus = self.settings, context.corpus
        assert settings.fit.model is not None
        with limited_threads(settings.n_jobs):
            model = settings.fit.model(replace(context, learns=settings.evidence_share > 0.0))
            if settings.evidence_share:
                model = tested_model(context, model, settings.evidence_share, keep_all=settings.keep == "all")
        if isinstance(settings.engine, Site) and settings.engine.missing:
            warnings.warn(settings.engine.missing, PrivacyWarning, stacklevel=2)
        units = f"the number of {'users' if corpus.grouped else 'documents'} ({corpus.n_units:,})"
        if settings.neighbours == ADD_REMOVE:
            units = f"that there is at least one {'user' if corpus.grouped else 'document'}"
        statement = statement_of(
            self.run,
            grouped=corpus.grouped,
            n_units=corpus.n_units,
            configuration=settings.fit.name,
            reasons=settings.fit.reasons,
            public=(
                units,
                *([] if vocabulary is None else [vocabulary]),
                *settings.public,
                *([settings.engine.public] if isinstance(settings.engine, Site) else []),
                "all settings of the fit",
            ),
            not_covered=() if settings.knowledge is None else (IN_KNOWLEDGE,),
            components=f"Topics asked for: {settings.n_topics}; used: {len(model.topics)}; "
            f"directions above the noise: {model.above}.",
        )
        return model, statement

    def _split(self, corpus: Corpus) -> Any:
        settings, fit = self.settings, self.settings.fit
        if settings.split is not None or fit.adds_up:
            return settings.split or fit.fractions
        return settings.split_for(self.run.mu_total, corpus.n_units, corpus.n_words, self.vocabulary_share)

    def _check_units(self, corpus: Corpus) -> None:
        if self.settings.neighbours != ADD_REMOVE:
            check_units(corpus)
        knowledge = self.settings.knowledge
        if knowledge is not None and knowledge.n_words != corpus.n_words:
            raise InputError(
                f"The public knowledge is of {knowledge.n_words} words, the corpus has {corpus.n_words} columns: "
                "they must be the same."
            )
        public = self.settings.neighbours != ADD_REMOVE
        if public and self.n_units is not None and corpus.n_units != self.n_units:
            raise InputError("The corpus changed between two passes: it must give the same documents each time.")


def _relation(settings: FitSettings) -> dict[str, Any]:
    """For a run: what it calls neighbours. Runs of other fits know replaced units only."""
    return {} if settings.neighbours == REPLACE else {"neighbours": settings.neighbours}


def _shares(settings: FitSettings) -> dict[str, Any]:
    """For a run at one of several sites: how many there are, and how it adds up. The site learns what is agreed."""
    site = settings.engine
    if not isinstance(site, Site):
        return {}
    site.begin(repr(_agreed(settings)))
    return {"shares": shares_of(site), "exchange": site.exchange}


def shares_of(site: Site) -> NoiseShares:
    """How many sites draw the noise, and how many of them are honest."""
    return NoiseShares(len(site.directory.names), site.directory.honest)


def _agreed(settings: FitSettings) -> list[Any]:
    """The settings that must be the same at all sites; everything else of a fit follows from them."""
    split = None if settings.split is None else settings.split.as_dict()
    chosen = [settings.fit.name, settings.budget, settings.n_topics, settings.alpha0, settings.refine_steps, split]
    known = None if settings.knowledge is None else settings.knowledge.digest
    return [
        __version__,
        *chosen,
        known,
        settings.random_state,
        settings.neighbours,
        settings.most_units,
        settings.keep,
    ]


def require_promised(n_units: int, most_units: int) -> None:
    """A site keeps the bound by itself: the released number, which keeps it elsewhere, is what a coordinator says."""
    if n_units > most_units:
        raise PrivacyError(
            f"This site has more units than the 'most_units' parameter promises, {most_units:,}. Nothing was "
            "charged. All sites must agree on a larger one."
        )


def for_one_release(
    run: PrivateRun, opened: Corpus, fit: Fit, n_topics: int, account: FitAccount, most_units: int
) -> tuple[FitContext, float]:
    """Return what a run of one release may see of a corpus, and the part of the budget that is left for it."""
    share, corpus, bound = 1.0, opened, None
    if run.neighbours == ADD_REMOVE:
        share = 1.0 - UNITS_SHARE
        corpus = OfReleasedSize(opened, release_units(run, opened.n_units, UNITS_SHARE, most_units))
        bound = bound_on_units(run, UNITS_SHARE, most_units)
    else:
        check_units(opened)
    warn_if_delta_large(run.budget.delta, corpus.n_units)
    account.note(n_units=corpus.n_units)
    return FitContext(run, corpus, fit.releases, {}, n_topics, most_units=bound), share


@contextmanager
def opened_here(counts: CountBlocks, groups: Any) -> Iterator[Corpus]:
    """Open a corpus on this machine for as long as the block runs."""
    corpus = open_corpus("local", counts, groups)
    try:
        yield corpus
    finally:
        corpus.close()


def units_of(corpus: Corpus, blocks: CountBlocks, groups: Any) -> tuple[str, Any]:
    """What a ledger is told of the units: their kind, and the labels of users where this machine has them."""
    if not corpus.grouped:
        return "document", None
    given = groups is not None and groups is not getattr(blocks, "groups", None)
    return "user", groups if given else getattr(blocks, "unit_labels", None)


def check_units(corpus: Corpus) -> None:
    if corpus.n_units < 2:
        raise InputError("Found n_samples = 1: a private fit needs at least two documents, or users with groups.")


def require_unit_of(statement: PrivacyStatement | None, corpus: Corpus, caller: str) -> None:
    """Refuse documents as units where the model protects users: what is computed with it must not protect less."""
    if statement is not None and statement.unit == "user" and not corpus.grouped:
        raise PrivacyError(
            f"The model protects one user, and {caller} would protect one document. Nothing was charged: label the "
            "user of each document, as in the fit."
        )


def require_relation_of(statement: PrivacyStatement | None, neighbours: Neighbours, caller: str) -> None:
    """Refuse to state the number of units, which replaced and emptied ones leave public, where the model hides it."""
    if statement is not None and statement.relation == ADD_REMOVE and neighbours != ADD_REMOVE:
        raise InputError(
            f"The 'neighbours' parameter of {caller} must be 'add-remove', as in the fit: the model keeps the number "
            f"of {statement.unit}s private, and this release would state it. Got {neighbours!r} instead."
        )
