"""How good the topics are: on synthetic corpora against the truth, on real text by held-out perplexity."""

import numpy as np
import pytest

from private_topics import SpectralLDA, make_lda_corpus
from private_topics.evaluation import topic_error_l2, unigram_perplexity


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("n_words", "n_topics", "alpha0", "limit"), [(500, 5, 0.1, 0.006), (2000, 20, 1.0, 0.027)], ids=["easy", "hard"]
)
def test_spectral_topics_of_a_synthetic_corpus(n_words, n_topics, alpha0, limit, seed):
    X, topics, _ = make_lda_corpus(100_000, n_words, n_topics, alpha0=alpha0, mean_length=100, random_state=seed)
    model = SpectralLDA(n_topics, alpha0=alpha0, refine_steps=0, random_state=0).fit(X)
    assert topic_error_l2(model.components_, topics) <= limit


def test_alpha_of_a_synthetic_corpus():
    """Unequal topics: drop most documents of one topic, and its weight must come out smallest."""
    X, topics, alpha = make_lda_corpus(20_000, 100, 3, alpha0=0.2, random_state=0)
    weights = np.asarray(X @ topics.T)
    rare = weights.argmax(axis=1) == 0
    keep = ~rare | (np.arange(len(rare)) % 5 == 0)
    model = SpectralLDA(3, alpha0=0.2, refine_steps=0, random_state=0).fit(X[keep])
    matched = (model.components_ @ topics.T).argmax(axis=1)
    assert matched[model.doc_topic_prior_.argmin()] == 0
    assert model.doc_topic_prior_.min() < 0.5 * alpha[0]


def zipf_corpus(seed=0, n_documents=6000, n_words=1500, n_topics=12):
    """Text-like counts: Zipf word frequencies shared by all topics, short documents, unequal topics."""
    rng = np.random.default_rng(seed)
    base = 1.0 / np.arange(1, n_words + 1)
    topics = rng.gamma(0.15, size=(n_topics, n_words)) * base
    topics = 0.4 * base / base.sum() + 0.6 * topics / topics.sum(axis=1, keepdims=True)
    theta = rng.dirichlet(rng.uniform(0.02, 0.2, n_topics), n_documents)
    lengths = rng.geometric(1 / 60, n_documents)
    return np.array([rng.multinomial(n, p) for n, p in zip(lengths, theta @ topics, strict=True)])


@pytest.mark.slow
def test_refinement_improves_text_like_data():
    counts = zipf_corpus()
    train, test = counts[1000:], counts[:1000]
    scores = [SpectralLDA(12, refine_steps=steps, random_state=0).fit(train).perplexity(test) for steps in (0, 1)]
    assert scores[1] < min(scores[0], unigram_perplexity(train, test))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("corpus", "limit"), [("arxiv", 930), ("wikipedia", 845)])
def test_perplexity_of_real_text(real_counts, corpus, limit):
    train, test = real_counts(corpus)
    refined = SpectralLDA(n_components=25).fit(train).perplexity(test)
    assert refined <= limit
    start = SpectralLDA(n_components=25, refine_steps=0).fit(train).perplexity(test)
    assert refined < start < unigram_perplexity(train, test)
