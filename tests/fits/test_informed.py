"""The fit with public knowledge: what it finds, what it costs where the vectors know nothing, what it refuses."""

from __future__ import annotations

import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from private_support import captured_releases
from private_topics import (
    BudgetSplit,
    InputError,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PublicKnowledge,
    SpectralLDA,
    make_lda_corpus,
)
from private_topics.evaluation import topic_error_l2
from private_topics.fits import informed as informed_fit
from private_topics.fits.informed import (
    FEW,
    INFORMED,
    MANY,
    fractions_for,
    left_alone,
    topics_of_documents,
    words_enough,
)
from private_topics.knowledge.shipped import comes_with_the_package, shipped

N_WORDS, N_TOPICS = 400, 5


@cache
def corpus():
    return make_lda_corpus(8_000, N_WORDS, N_TOPICS, alpha0=0.3, mean_length=60, random_state=0)


@cache
def few():
    """As many documents as need knowledge of so many words."""
    return corpus()[0][:4_000]


@cache
def known() -> PublicKnowledge:
    """From other documents about the same topics."""
    return PublicKnowledge.from_counts(corpus()[0][:2_000])


def unknown() -> PublicKnowledge:
    vectors = np.random.default_rng(0).normal(size=(N_WORDS, 40))
    return PublicKnowledge(vectors, np.full(N_WORDS, np.nan), [("other", "other vectors", "0" * 64, N_WORDS)])


def fitted(X, knowledge=None, epsilon=1.0, **settings):
    settings = {"alpha0": 0.3, "noise_seed": 1, "random_state": 0} | settings
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return PrivateSpectralLDA(N_TOPICS, epsilon=epsilon, knowledge=knowledge, **settings).fit(X)


def released(X, knowledge, **settings):
    with captured_releases() as seen:
        model = fitted(X, knowledge, **settings)
    return [value.name for _, value in seen], model


def test_a_small_corpus_has_topics_where_it_had_one():
    X, topics, _ = corpus()
    small = X[2_000:3_500]
    without, informed = fitted(small), fitted(small, known())
    assert len(without.components_) < N_TOPICS
    assert len(informed.components_) == N_TOPICS
    assert topic_error_l2(informed.components_, topics) < 0.5
    assert informed.perplexity(X[7_000:]) < 0.9 * without.perplexity(X[7_000:])


def test_vectors_that_know_nothing_are_left_alone():
    """After the look the releases are those of the sequential fit, and nothing else."""
    split = BudgetSplit(**MANY)  # so few words need no knowledge: a split of one's own asks for it nevertheless
    names, model = released(corpus()[0], unknown(), epsilon=3.0, budget_split=split)
    assert names[:3] == ["unigram", "public second norms", "public second moment 1"]
    assert "second norms" in names[3:5]
    assert not any(name.startswith("features") for name in names)
    assert model.perplexity(corpus()[0]) < 1.1 * fitted(corpus()[0], epsilon=3.0).perplexity(corpus()[0])


@pytest.mark.slow
def test_where_noise_hides_what_vectors_know_those_of_the_package_are_used():
    """So few documents of English words: other vectors are left alone about as often as not, these hardly ever."""
    table = shipped("english")
    words = [word for word in table.words if len(word) > 3][: 5 * N_WORDS : 5]
    english = PublicKnowledge.english(words)
    same = PublicKnowledge(english.vectors, english.log_frequencies, [("a file", "word vectors", "0" * 64, N_WORDS)])
    draw = np.random.default_rng(0)
    alike = (english.vectors @ draw.normal(size=(english.vectors.shape[1], N_TOPICS))).argmax(axis=1)
    topics = np.where(np.arange(N_TOPICS)[:, None] == alike, 1.0, 0.15)
    X = np.array(
        [draw.multinomial(60, row / row.sum()) for row in draw.dirichlet(np.full(N_TOPICS, 0.3), 1_000) @ topics]
    )
    used = {}
    for knowledge in (english, same):
        models = [fitted(X, knowledge, noise_seed=seed) for seed in range(12)]
        used[knowledge.name] = sum(any(r.name == "features 1" for r in m.privacy_.releases) for m in models)
    assert used["english"] >= 10
    assert used["a file"] < used["english"] - 2


def test_only_the_vectors_of_the_package_come_with_it():
    words = list(shipped("english").words[:300])
    english = PublicKnowledge.english(words)
    assert comes_with_the_package(english)
    assert comes_with_the_package(PublicKnowledge.english_documents(words) + english)
    (origin,) = english.origins
    assert not comes_with_the_package(
        PublicKnowledge(english.vectors, english.log_frequencies, [origin._replace(digest="0" * 64)])
    )
    assert not comes_with_the_package(
        PublicKnowledge(english.vectors, english.log_frequencies, [origin._replace(name="mine")])
    )
    assert not comes_with_the_package(None)


def test_vectors_that_know_the_corpus_are_used():
    names, _ = released(few(), known())
    assert "second norms" not in names
    assert names.count("features 1") == 1


@pytest.mark.parametrize("epsilon", [1.0, 100.0])
def test_a_budget_that_needs_no_vectors_is_spent_as_without_them(epsilon):
    """Many words need a larger one than few."""
    X = corpus()[0]
    names, _ = released(X, known(), epsilon=epsilon)
    assert names == released(X, None, epsilon=epsilon)[0]


@pytest.mark.slow
def test_a_vocabulary_of_words_that_hardly_occur_needs_no_vectors(monkeypatch):
    """Released frequencies say so. The rest of the budget is spent as without vectors; one's own split keeps them."""
    X, _, _ = make_lda_corpus(20_000, 60, N_TOPICS, alpha0=0.3, mean_length=60, random_state=0)
    X.resize((20_000, 2_000))
    vectors = np.random.default_rng(0).normal(size=(2_000, 40))
    knowledge = PublicKnowledge(vectors, np.full(2_000, np.nan), [("other", "other vectors", "0" * 64, 2_000)])
    names, model = released(X, knowledge)
    assert names[:2] == ["unigram", "second norms"]
    assert not any(name.startswith(("public", "features")) for name in names)
    assert len(model.components_) == N_TOPICS
    assert 0.97 < sum(line.share for line in model.privacy_.releases) <= 1.0 + 1e-9
    names, _ = released(X, knowledge, budget_split=BudgetSplit(**MANY))
    assert "public second norms" in names
    carried = informed_fit.sequential.carried_topics
    monkeypatch.setattr(informed_fit.sequential, "carried_topics", lambda noise: min(carried(noise), N_TOPICS - 1))
    names, _ = released(X, knowledge)
    assert "public second norms" in names, "without vectors a topic would be lost"


def test_how_much_budget_needs_no_vectors():
    assert words_enough(1_500.0 * 25, 25, 3_000)
    assert not words_enough(1_400.0 * 25, 25, 3_000)
    assert words_enough(2_000.0, 9, 460)
    assert not words_enough(2_000.0, 9, 470)
    assert not words_enough(200.0, 9, 20)


@pytest.mark.parametrize("vectors", [np.ones((N_WORDS, 3)), np.eye(N_WORDS)[:, :1]], ids=["all equal", "one word"])
def test_degenerate_vectors_give_a_model(vectors):
    knowledge = PublicKnowledge(vectors, np.full(N_WORDS, np.nan), [("odd", "odd vectors", "0" * 64, N_WORDS)])
    model = fitted(corpus()[0][:1_000], knowledge)
    assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("refine_steps", [0, 1, 3])
def test_refinement_steps(refine_steps):
    names, model = released(few(), known(), refine_steps=refine_steps)
    assert sum(name.startswith("refinement") for name in names) in (0, refine_steps)
    assert "features 4" in names
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)


@pytest.mark.parametrize("knowledge", [known, unknown], ids=["known", "unknown"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 100.0])
def test_no_more_than_the_budget_is_spent_and_hardly_less(epsilon, knowledge):
    model = fitted(corpus()[0], knowledge(), epsilon=epsilon)
    assert model.privacy_.epsilon_spent <= epsilon
    total = sum(line.share for line in model.privacy_.releases)
    assert 0.97 < total <= 1.0 + 1e-9


@pytest.mark.parametrize(("epsilon", "looks"), [(1.0, 2), (3.0, 1)])
def test_looks_at_vectors_that_are_given_up_on_are_charged(epsilon, looks):
    split = INFORMED.split(4).replace(features=0.3, refine=0.155)
    names, model = released(corpus()[0], unknown(), epsilon=epsilon, budget_split=split)
    assert left_alone(names)
    assert sum(name.startswith("public second moment") for name in names) == looks
    assert 0.97 < sum(line.share for line in model.privacy_.releases) <= 1.0 + 1e-9


@pytest.mark.parametrize("budget", [1.0, 300.0, 3_000.0, 1e4, 1e6])
@pytest.mark.parametrize("n_topics", [1, 5, 100])
def test_fractions_are_a_split(budget, n_topics):
    split = BudgetSplit(**fractions_for(budget, n_topics, 3_000))
    assert (split.features == 0) == words_enough(budget, n_topics, 3_000)


def test_fractions_go_from_features_to_counts():
    sizes = [fractions_for(budget, 25, 3_000) for budget in (100.0, 5_000.0, 7_000.0, 1e4, 3e4)]
    assert sizes[0] == FEW
    assert sizes[-1] == pytest.approx(MANY)
    refine = [size["refine"] for size in sizes]
    assert refine == sorted(refine)


def test_a_split_of_ones_own():
    split = INFORMED.split(4).replace(features=0.3, refine=0.155)
    names, model = released(corpus()[0], known(), budget_split=split)
    assert "features 1" in names
    assert "refinement 1" in names
    assert sum(line.share for line in model.privacy_.releases) == pytest.approx(1.0, abs=0.02)
    with pytest.raises(PrivacyError, match="'refine' or 'features'"):
        fitted(corpus()[0], known(), budget_split=BudgetSplit(refine=0.0, second=0.855))


def test_a_split_with_the_usual_unigram_releases_it_once():
    """The look takes all of it, and nothing is left to release it again."""
    split = BudgetSplit(features=0.3, refine=BudgetSplit().refine - 0.3)
    names, model = released(corpus()[0], known(), budget_split=split)
    assert "features 1" in names
    assert "unigram again" not in names
    assert sum(line.share for line in model.privacy_.releases) == pytest.approx(1.0, abs=0.02)


def test_what_is_refused():
    X = corpus()[0]
    with pytest.raises(InputError, match="400 words"):
        fitted(X[:, :300], known())
    with pytest.raises(InputError, match="None or a PublicKnowledge"):
        fitted(X, knowledge="english")
    with pytest.raises(InputError, match="belongs to configuration='sequential'"):
        fitted(X, known(), configuration=2)


def test_no_more_words_than_the_proofs_have_rows_for():
    """docs/proofs/frame_second.md: at most 2^21, before anything is asked of the corpus."""
    with pytest.raises(InputError, match="at most 2097152 words"):
        informed_fit.model(SimpleNamespace(n_words=2**21 + 1, n_topics=2))  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="progress"):
        informed_fit.model(SimpleNamespace(n_words=2**21, n_topics=2))  # type: ignore[arg-type]


def test_clone_keeps_the_knowledge():
    model = PrivateSpectralLDA(knowledge=known())
    assert clone(model).knowledge is known()


def shifted(X, n_columns: int):
    """Documents of other topics: each word stands where another did."""
    return X[:, np.roll(np.arange(n_columns), 57)]


def test_public_documents_of_the_same_kind_are_as_good_as_their_own_topics():
    """So few private documents that nothing can be learnt from them but what the public ones said."""
    X, topics, _ = corpus()
    public = SpectralLDA(N_TOPICS, alpha0=0.3, random_state=0).fit(X[:2_000])
    model = fitted(X[2_000:2_400], known(), keep="untested")
    assert model.perplexity(X[7_000:]) < 1.05 * public.perplexity(X[7_000:])
    assert topic_error_l2(model.components_, topics) < 0.3


@pytest.mark.slow
def test_public_documents_of_another_kind_are_not_believed():
    """Their vectors, beside good ones, do no harm, and their topics are not taken for those of the corpus."""
    X = corpus()[0]
    other = PublicKnowledge.from_counts(shifted(X[:2_000], N_WORDS))
    vectors = PublicKnowledge(known().vectors, known().log_frequencies, known().origins)
    with_other = fitted(X[2_000:], vectors + other, epsilon=0.5)
    assert with_other.perplexity(X[7_000:]) < 1.03 * fitted(X[2_000:], vectors, epsilon=0.5).perplexity(X[7_000:])


def test_few_public_documents_have_no_topics():
    context = SimpleNamespace(knowledge=PublicKnowledge.from_counts(corpus()[0][:50]), n_topics=N_TOPICS)
    assert topics_of_documents(context) is None
    context.knowledge = known()
    topics, shares = topics_of_documents(context)
    assert topics.shape == (N_TOPICS, N_WORDS)
    assert shares.sum() == pytest.approx(1.0)
