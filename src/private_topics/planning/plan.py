"""Before touching the data: what a number of documents, an epsilon and a number of topics buy, and with which method.

From public numbers only, under the assumptions of `expected_errors`. Real topics are more uneven than the assumed
ones, so read it as an order of magnitude. With public knowledge of the words less is enough: `planning.informed`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from private_topics.bisection import smallest
from private_topics.errors import InputError
from private_topics.fits.informed import INFORMED
from private_topics.parameters import CONSTRAINTS, check, check_integer, check_positive
from private_topics.planning import informed
from private_topics.planning.constants import LENGTH, PRECISION
from private_topics.planning.evidence import topics_shown
from private_topics.planning.expected_errors import SEQUENTIAL, PlannedFit, expected_topics, refined, usual_split
from private_topics.planning.forecast import Outcome, best, outcomes, remarks, says_something, topics_and_error
from private_topics.planning.informed import PlannedRelease, Range
from private_topics.planning.limits import Limits, limits
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.neighbours import REPLACE, Neighbours
from private_topics.privacy.shares import NoiseShares
from private_topics.releases.candidates import usual_units_to_stand_out
from private_topics.releases.vocabulary import VOCABULARY_SHARE, WORDS_PER_UNIT, usual_units_needed

MOST = 2**63 - 1  # documents, words, topics
ENGLISH = "english"


@dataclass(frozen=True)
class Plan(PlannedFit):
    """A forecast. `expected_topics` is how many of the `n_components` asked for the model is expected to have.

    Where `informative` is False they are written without being the corpus's own.

    That is for the default: with public `knowledge` of the words, or the sequential release where that is None;
    `outcomes` has every configuration.
    """

    @property
    def expected_topics(self) -> int:
        return int(informed.topics_found(self).middle) if self.knowledge else expected_topics(self, SEQUENTIAL)

    @property
    def topic_range(self) -> tuple[int, int] | None:
        """The fewest and the most topics to expect of vectors that know the corpus; None without public knowledge."""
        found = informed.topics_found(self)
        return (int(found.low), int(found.high)) if self.knowledge else None

    @property
    def kept(self) -> Range | None:
        """What is kept of what a fit without privacy gains over exact word frequencies, in logarithms of perplexity.

        Below zero the model predicts worse than exact word frequencies would. None without public knowledge.
        """
        return informed.kept(self) if self.knowledge else None

    @property
    def releases(self) -> tuple[PlannedRelease, ...]:
        """Each release of the fit with public knowledge, its share and its noise; none where it is not used."""
        return informed.planned_releases(self) if self.knowledge else ()

    @property
    def informative(self) -> bool:
        """Whether the topics are expected to be the corpus's own: not where their error is that of any guess."""
        topics, error = topics_and_error(INFORMED.name if self.knowledge else SEQUENTIAL, self)
        return topics <= 1 or says_something(error)

    @property
    def shown_topics(self) -> int:
        """Forecast how many topics the documents would show beyond doubt, by the test that ends a fit."""
        return topics_shown(self, self.expected_topics)

    @property
    def enough(self) -> bool:
        """Whether all topics asked for are expected, and are the corpus's own."""
        return self.expected_topics >= self.n_components and self.informative

    @property
    def documents_needed(self) -> float:
        """Documents for all topics at this epsilon."""
        return smallest(lambda n: replace(self, n_documents=max(1, int(n))).enough, float(self.n_documents))

    @property
    def epsilon_needed(self) -> float:
        """Epsilon for all topics with these documents."""
        return smallest(lambda value: replace(self, epsilon=value).enough, self.epsilon)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What each configuration is expected to do: topics, their error, documents for all topics."""
        return outcomes(self)

    @property
    def best(self) -> Outcome | None:
        """The proved configuration that is expected to win; None where none tells topics apart."""
        return best(self.outcomes)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which of its own configurations the paper prefers here, remark by remark."""
        return remarks(self)

    @property
    def units_to_name_a_word(self) -> float:
        """Units that must share a word for a private vocabulary to name it, if each has as many words as are counted.

        At the default settings of a fit, without help from the noise; infinite where the budget has no room for it.
        """
        return usual_units_needed(PrivacyBudget(self.epsilon, self.delta), self.neighbours)[0]

    @property
    def limits(self) -> Limits:
        """Documents that any method needs: proved lower bounds (docs/limits.md)."""
        return limits(self)

    @property
    def impossible(self) -> str | None:
        """Why no method whatever finds the topics, where that is proved; None where it is not."""
        known = self.limits
        if self.n_documents < known.directions:
            who, needed, which = "any method, private or not", known.directions, "even topics that share no word"
        elif self.n_documents < known.private_directions:
            who, needed, which = "any method this private", known.private_directions, "if they share words in pairs"
        else:
            return None
        return (
            f"Impossible for {who}: with alpha0 = {self.alpha0:g} and {self.mean_length:g} words a document, "
            f"{self.n_components} topics need more than {_below(needed)} documents, {which}. That is proved "
            "(docs/limits.md)."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a private vocabulary needs, what is assumed of a large one, and which topics nobody can orient."""
        found, seen = [self._vocabulary_note], self.refined_words
        if seen < self.n_words:
            found.append(
                f"Of {self.n_words:,} words the refinement would see the {seen:,} most frequent, if frequencies fall "
                "as in Zipf's law; where all words are about as frequent, the topics are worse."
            )
        known = self.limits
        if self.n_documents < max(known.orientation, known.private_orientation):
            who, needed = " this private", known.private_orientation
            if self.n_documents < known.orientation:
                who, needed = ", private or not,", known.orientation
            found.append(
                f"No method{who} tells three topics that share their words from their mirror image with fewer than "
                f"{_below(needed)} documents, if their own words are twice as likely as on average. That is proved "
                "(docs/limits.md); only words of one topic alone can tell them apart."
            )
        return tuple(found)

    @property
    def _vocabulary_note(self) -> str:
        if self.shares is not None:
            return "Several sites need a public list of words: none can be released under their masks."
        if self.knowledge:
            return self._candidates_note
        sharing, fewest = usual_units_needed(PrivacyBudget(self.epsilon, self.delta), self.neighbours)
        if math.isinf(sharing):
            return "This budget has no room for a private vocabulary."
        here = ", as here," if self.n_documents < fewest else ""
        return (
            f"A private vocabulary names a word that about {sharing:,} units share, if each has {WORDS_PER_UNIT} "
            f"different words; with fewer than {fewest:,} units{here} it is refused."
        )

    @property
    def _candidates_note(self) -> str:
        all_words, none = usual_units_to_stand_out(PrivacyBudget(self.epsilon, self.delta))
        here = ", as here," if self.n_documents < none else ""
        return (
            f"A vocabulary chosen among public candidates takes {VOCABULARY_SHARE:.0%} of the budget from features "
            f"or refinement, which this forecast does not count, and keeps a word that about {all_words:,} units "
            f"share, if each has {WORDS_PER_UNIT} different candidates; with fewer than {none:,} units{here} no word "
            "stands out, and it is the first few of the list. A public list of words costs nothing."
        )

    @property
    def refined_words(self) -> int:
        """How many words the refinement is expected to see: the frequent ones of a large vocabulary."""
        if self.releases or not self.refine_steps:
            return self.n_words
        return refined(self, usual_split(self, SEQUENTIAL).refine)[0]

    @property
    def verdict(self) -> str:
        """One sentence: which configuration is expected to win."""
        winner = self.best
        if winner is None:
            cannot = "No configuration is expected to tell topics apart; the model would be the word frequencies."
            open_to_others = "Only these methods are known to fail: no proof says that every method must."
            return cannot if self.impossible else f"{cannot} {open_to_others}"
        if not winner.informative:
            return (
                "No configuration is expected to find the corpus's own topics; "
                f"{winner.name} would write {winner.topics}, with a relative error of {winner.error:.2g}."
            )
        said = f"Expected to win: {winner.name}, {winner.topics} topics with a relative error of {winner.error:.2g}."
        level = ", ".join(outcome.name for outcome in self.level)
        return f"{said} Level with it, as far as a forecast can tell: {level}." if level else said

    @property
    def _more(self) -> str:
        """What all topics asked for would take."""
        documents, epsilon = self.documents_needed, self.epsilon_needed
        more = "no number of documents" if math.isinf(documents) else f"about {_about(documents)} documents"
        weaker = "no epsilon" if math.isinf(epsilon) else f"epsilon {epsilon:.2g}"
        return f"{more} at this epsilon, or {weaker} with these documents"

    @property
    def _known(self) -> str:
        """What public knowledge changes, in a few words."""
        if not self.knowledge:
            return ""
        if not self.releases:
            return " So many documents need no public knowledge."
        found, without = informed.topics_found(self), replace(self, knowledge=None).expected_topics
        chance = "; with so little, noise decides whether the fit sees what the vectors know"
        between = f" ({found.low:g} to {found.high:g}{chance})" if found.low < found.high else ""
        kept = _kept(informed.kept(self))
        return f" That is with public knowledge{between}; without it about {without}. {kept}"

    @property
    def level(self) -> tuple[Outcome, ...]:
        """The proved configurations that the forecast cannot tell from the best one, by topics and by error."""
        winner = self.best
        if winner is None or winner.topics is None or winner.overall_error is None:
            return ()
        most, fewest = PRECISION * winner.overall_error, winner.topics / PRECISION
        others = (outcome for outcome in self.outcomes if outcome.proved and outcome.carries and outcome != winner)
        return tuple(each for each in others if (each.overall_error or 0.0) < most and (each.topics or 0) >= fewest)

    @property
    def _where(self) -> str:
        shares = self.shares
        return "" if shares is None else f" at {shares.sites} sites ({shares.honest} honest)"

    def __str__(self) -> str:
        found = f"about {self.expected_topics} of {self.n_components} topics."
        if not self.informative:
            found = (
                f"{self.expected_topics} topics can be written, but would not be the corpus's own: as forecast, they "
                "are uninformative."
            )
        if self.expected_topics > 1:
            found += f" The documents would show about {self.shown_topics} beyond doubt."
        head = (
            f"{self.n_documents:,} documents{self._where}, {self.n_words:,} words, epsilon {self.epsilon:g}, "
            f"delta {self.delta:g}: {found}{self._known}"
        )
        wanted = f"all {self.n_components}" if self.informative else "topics of its own"
        return head if self.enough else f"{head} For {wanted}: {self._more}."


def _kept(kept: Range) -> str:
    """In words: how far perplexity falls."""
    if kept.high <= 0.0:
        return "Held-out perplexity would be worse than that of exact word frequencies."
    gain = "what a fit without privacy gains over exact word frequencies"
    if kept.low < 0.0:
        return f"It would keep at most {kept.high:.0%} of {gain}, and may predict worse than they do."
    return f"It would keep {kept.low:.0%} to {kept.high:.0%} of {gain}."


def _about(number: float) -> str:
    """Two digits: a forecast has no more."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _below(number: float) -> str:
    """Two digits, rounded down: a bound stays one."""
    unit = 10 ** max(0, int(math.log10(max(1.0, number))) - 1)
    return f"{int(number // unit) * unit:,}"


def plan(
    n_documents: int,
    n_words: int,
    n_components: int,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    alpha0: float = 1.0,
    mean_length: float = LENGTH,
    neighbours: Neighbours = REPLACE,
    knowledge: str | None = None,
    sites: int | None = None,
    honest: int | None = None,
) -> Plan:
    """What these public numbers are expected to buy, and what more documents or a larger epsilon would.

    `knowledge`: "english" for a fit with the public word vectors that come with the package, as `fit` on the command
    line makes it of text in English; None for a fit without, as `PrivateSpectralLDA` makes it by default. `sites`:
    how many hold the documents, which are counted together, and draw the noise; `honest`: how many of them do not
    work for the coordinator, all if not given.
    """
    PrivacyBudget(epsilon, delta)
    check(CONSTRAINTS["neighbours"], neighbours, "neighbours", "plan")
    for name, value in (("n_documents", n_documents), ("n_words", n_words), ("n_components", n_components)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            raise InputError(f"The {name!r} parameter of plan must be an int in the range [1, 2**63). Got {value!r}.")
    for name, number in (("alpha0", alpha0), ("mean_length", mean_length)):
        check_positive(number, name, "plan")
    if knowledge not in (ENGLISH, None):
        raise InputError(f"The 'knowledge' parameter of plan must be {ENGLISH!r} or None. Got {knowledge!r} instead.")
    numbers = float(epsilon), float(delta), float(alpha0), float(mean_length)
    return Plan(
        n_documents, n_words, n_components, *numbers, neighbours=neighbours, knowledge=knowledge,
        shares=_shares(sites, honest),
    )  # fmt: skip


def _shares(sites: int | None, honest: int | None) -> NoiseShares | None:
    if sites is None and honest is not None:
        raise InputError("'honest' says how many of several sites are honest: give 'sites' too.")
    if sites is None:
        return None
    check_integer(sites, "sites", "plan", 2)
    assert sites is not None
    if honest is not None:
        check_integer(honest, "honest", "plan", 1)
    return NoiseShares(int(sites), int(sites if honest is None else honest))
