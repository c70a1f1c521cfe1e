"""The vocabulary that a fit releases is attacked: honest releases pass; planted leaks, all of them real bugs, do not.

Noise seeds are fixed. With them unfixed, an honest audit fails at most once in 10,000.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from private_topics import InputError, PrivateSpectralLDA, WordList, make_lda_corpus
from private_topics.audit import AuditResult, NamedColumns, ReleaseAudit, audit_privacy
from private_topics.audit.lonely import attack_lonely_words
from private_topics.audit.neighbours import Base, extreme_units
from private_topics.audit.recording import Audited, EnteringWords, record, replay
from private_topics.audit.sensitivity import Family
from private_topics.corpus.words import vocabulary as words_of_units
from private_topics.estimators import vocabularies
from private_topics.estimators.private import settings_of
from private_topics.estimators.vocabularies import CandidateVocabulary, PrivateVocabulary
from private_topics.privacy import mechanisms
from private_topics.privacy.randomness import NoiseStream
from private_topics.privacy.set_union import threshold_steps

SETTINGS: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-3, "alpha0": 0.2, "refine_steps": 1, "n_jobs": 1}
USED, LONELY = tuple(f"used{number}" for number in range(30)), tuple(f"lonely{number}" for number in range(12))
PRIVATE = NamedColumns(USED + LONELY, PrivateVocabulary(most_words_per_unit=20))
CANDIDATES = NamedColumns(
    (*USED, *LONELY, "other0", "other1"),
    CandidateVocabulary(WordList("public", USED + LONELY), most_words_per_unit=20),
)
KINDS = pytest.mark.parametrize("columns", [PRIVATE, CANDIDATES], ids=["private", "candidates"])


def corpus(columns: NamedColumns) -> sp.csr_array:
    counts = make_lda_corpus(600, len(USED), 2, alpha0=0.2, mean_length=40, random_state=0)[0]
    return sp.csr_array((counts.data, counts.indices, counts.indptr), shape=(600, len(columns.names)))


def model(**settings: Any) -> PrivateSpectralLDA:
    return PrivateSpectralLDA(2, **SETTINGS | {"noise_seed": 1} | settings)


def release_of_words(
    columns: NamedColumns, groups: Any = None, trials: int = 400, **settings: Any
) -> tuple[ReleaseAudit, AuditResult]:
    result = audit_privacy(model(**settings), corpus(columns), groups=groups, words=columns, trials=trials, fits=10)
    return result.releases[0], result


@contextmanager
def noise_scaled(factor: float) -> Iterator[None]:
    exact = NoiseStream.rounded_gaussian
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NoiseStream, "rounded_gaussian", lambda self, count, ratio: exact(self, count, factor * ratio))
        yield


@cache
def honest(columns: NamedColumns) -> AuditResult:
    return release_of_words(columns)[1]


# -- a sound program -------------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.statistical
def test_an_honest_vocabulary_passes_and_the_attack_is_sharp(columns):
    result = honest(columns)
    words = result.releases[0]
    assert result.passed, (result.trouble, [part for part in result.parts if not part.passed])
    assert words.name in ("vocabulary", "candidate words")
    assert words.attained == pytest.approx(1.0, abs=1e-6)
    assert 0.2 * words.epsilon < words.epsilon_bound <= words.epsilon
    assert abs(words.noise - 1.0) < 0.02
    assert words.noise_draws > 10_000
    assert [release.name for release in result.releases[1:3]] == ["unigram", "second norms"]
    assert {"words of nobody else", "every name once"} <= set(result.neighbours)
    assert result.settings["n_words"] == result.statement["releases"][1]["coordinates"]


@pytest.mark.statistical
def test_lonely_words_are_hidden_as_claimed_and_no_better():
    lonely = honest(PRIVATE).releases[0].lonely
    assert lonely is not None
    assert 0.9 < lonely.computed <= 1.0
    assert 0.3 * lonely.allowed < lonely.at_least <= lonely.allowed
    assert honest(CANDIDATES).releases[0].lonely is None, "there is no threshold to break"


@KINDS
@pytest.mark.statistical
def test_users_are_units_of_the_vocabulary_too(columns):
    words, result = release_of_words(columns, np.arange(600) // 3, trials=10, epsilon=60.0)
    assert result.passed, (result.trouble, [part for part in result.parts if not part.passed])
    assert words.attained == pytest.approx(1.0, abs=1e-6)
    assert any(name.startswith("user: words of nobody else") for name in result.neighbours)


@KINDS
@pytest.mark.statistical
@pytest.mark.parametrize("neighbours", ["zero-out", "add-remove"])
def test_vocabularies_of_every_relation_pass(columns, neighbours):
    """An emptied or removed unit moves the weights by one, and the release claims no more."""
    _, result = release_of_words(columns, trials=100, neighbours=neighbours)
    assert result.passed, (result.trouble, [part for part in result.parts if not part.passed])
    words = next(one for one in result.releases if one.name in ("vocabulary", "candidate words"))
    assert words.sensitivity == pytest.approx(1.0)
    assert words.attained == pytest.approx(1.0, abs=1e-6)
    assert (result.releases[0].name == "number of units") == (neighbours == "add-remove")


# -- planted faults --------------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.statistical
def test_half_the_noise_is_found(columns):
    with noise_scaled(0.5):
        words, result = release_of_words(columns)
    assert not result.passed
    assert words.mu_bound > words.mu, "the game alone accuses it"
    assert not words.noise_as_recorded
    assert words.within


@pytest.mark.statistical
@pytest.mark.parametrize("fault", ["one word per unit", "a deviation less"])
def test_a_threshold_that_is_too_low_is_found(fault, monkeypatch):
    """As if a unit had one word: every one of many lonely words then has the whole of delta. Or without a margin."""

    def low(most_words: int, step: float, ratio: float, threshold_delta: float) -> int:
        if fault == "one word per unit":
            return threshold_steps(1, step, ratio, threshold_delta)
        return threshold_steps(most_words, step, ratio, threshold_delta) - int(ratio)

    monkeypatch.setattr(mechanisms, "threshold_steps", low)
    lonely = lonely_words()
    assert lonely.at_least > lonely.allowed
    assert not lonely.passed
    assert fault == "one word per unit" or lonely.computed > 1.5, "where noise is small one word decides"


def test_a_threshold_that_is_slightly_too_low_is_computed(monkeypatch):
    monkeypatch.setattr(mechanisms, "threshold_steps", lambda *given: threshold_steps(*given) - 2_000)
    lonely = lonely_words(trials=10)
    assert 1.0 < lonely.computed < 1.5
    assert not lonely.passed


def lonely_words(trials: int = 400) -> Any:
    base, audited = Base.of(corpus(PRIVATE)), Audited(settings_of(model()), PRIVATE)
    fitted, run = record(audited, *base.replaced([base.first_unit()]))
    units = extreme_units(base, fitted, PRIVATE)
    chosen = {name: units[name] for name in ("empty", "a word of nobody else, often", "words of nobody else")}
    entering = {name: replay(audited, run.seen, *base.replaced([unit]))[1] for name, unit in chosen.items()}
    family = Family.of(tuple(released.event for _, released in run.seen), entering)
    members = [member[0] for member in family.members.values()]
    assert all(isinstance(member, EnteringWords) for member in members)
    return attack_lonely_words(members, run.seen[0][1], trials=trials, level=1e-5, seed=3)  # type: ignore[arg-type]


@KINDS
def test_words_that_weigh_too_much_are_found(columns, monkeypatch):
    """Each word of a unit has the weight that a single one may have."""
    for name in ("union_weights", "candidate_weights"):
        exact = getattr(words_of_units, name)

        def heavy(*given: Any, exact: Any = exact) -> Any:
            return exact(*given[:-1], lambda count: given[-1](1))

        for module in ("releases.vocabulary", "releases.candidates"):
            monkeypatch.setattr(f"private_topics.{module}.{name}", heavy, raising=False)
    words, result = release_of_words(columns, trials=10)
    assert not words.within
    assert words.attained > 2.0
    assert not result.passed


@KINDS
def test_a_user_who_counts_as_several_units_is_found(columns, monkeypatch):
    monkeypatch.setattr(
        vocabularies, "user_units", lambda documents, groups, most: ((list(words)) for words in documents)
    )
    monkeypatch.setattr("private_topics.fits.private.PrivateFit._check_units", lambda *given: None)
    words, _ = release_of_words(columns, np.arange(600) // 3, trials=10, epsilon=60.0)
    assert not words.within
    assert words.attained > 10.0


def test_words_chosen_by_exact_weights_are_found(monkeypatch):
    """What is kept depends on the corpus and not on released numbers alone."""
    exact = vocabularies.release_candidates

    def leaky(run: Any, units: Any, candidates: Any, **limits: Any) -> list[str]:
        kept = [list(unit) for unit in units]
        words = exact(run, kept, candidates, **limits)
        return sorted({*words, *(word for unit in kept for word in unit)})

    monkeypatch.setattr(vocabularies, "release_candidates", leaky)
    monkeypatch.setattr("private_topics.fits.private.PrivateFit._check_units", lambda *given: None)
    monkeypatch.setattr(vocabularies._Counted, "number", 600, raising=False)
    base, audited = Base.of(corpus(CANDIDATES)), Audited(settings_of(model()), CANDIDATES)
    fitted, run = record(audited, *base.replaced([base.first_unit()]))
    unit = extreme_units(base, fitted, CANDIDATES)["words of nobody else"]
    with pytest.raises(Exception, match="depends on the corpus"):
        replay(audited, run.seen, *base.replaced([unit]))


# -- refusals --------------------------------------------------------------------------------------------------------


def test_columns_and_names_must_agree():
    with pytest.raises(InputError, match="names for a corpus"):
        audit_privacy(model(), corpus(CANDIDATES), words=PRIVATE)
    with pytest.raises(InputError, match="must be different"):
        NamedColumns(("one", "one"), PrivateVocabulary())
    with pytest.raises(InputError, match="first columns"):
        NamedColumns(("one", "two"), CandidateVocabulary(WordList("public", ("two",))))
