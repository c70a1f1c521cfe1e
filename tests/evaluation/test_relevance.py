"""Relevance and lift against their definitions, and topics found by a word."""

import numpy as np
import pytest

from private_topics import InputError, SpectralLDA, Tokeniser, find_topics, lift, relevance

TOPICS = np.array([[0.5, 0.3, 0.2, 0.0], [0.5, 0.0, 0.1, 0.4]])
PRIOR = np.array([3.0, 1.0])
OVERALL = np.array([0.5, 0.225, 0.175, 0.1])


def model() -> SpectralLDA:
    made = SpectralLDA(2)
    made.components_, made.doc_topic_prior_, made.n_features_in_ = TOPICS.copy(), PRIOR.copy(), 4
    made.feature_names_in_ = np.array(["patient", "heart", "aorta", "soup"], dtype=object)
    return made


def test_relevance_is_the_published_formula():
    with np.errstate(divide="ignore"):
        wanted = 0.6 * np.log(TOPICS) + 0.4 * np.log(TOPICS / OVERALL)
    shown = TOPICS > 0
    np.testing.assert_allclose(relevance(TOPICS, PRIOR, 0.6)[shown], wanted[shown])
    np.testing.assert_allclose(relevance(TOPICS, PRIOR, 0.0)[shown], np.log((TOPICS / OVERALL)[shown]))
    np.testing.assert_allclose(relevance(TOPICS, PRIOR, 1.0)[shown], np.log(TOPICS[shown]))
    assert (relevance(TOPICS, PRIOR, 0.6)[~shown] < -200).all()


def test_lift_is_a_ratio_and_zero_where_there_is_nothing():
    np.testing.assert_allclose(lift(TOPICS, 7 * PRIOR), TOPICS / OVERALL)
    assert lift([[1.0, 0.0]], [1.0]).tolist() == [[1.0, 0.0]]


def test_top_words_by_relevance():
    assert model().top_words(n=3) == [["patient", "heart", "aorta"], ["patient", "soup", "aorta"]]
    assert model().top_words(n=2, relevance=0.0) == [["heart", "aorta"], ["soup", "patient"]]
    assert model().top_words(n=2, relevance=0.6)[1] == ["soup", "patient"]
    for wrong in (-0.1, 1.1, "0.6", None, True, float("nan")):
        with pytest.raises(InputError, match="'relevance' parameter of top_words"):
            model().top_words(relevance=wrong)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.inf]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(InputError, match="'weights' parameter of relevance"):
        relevance(TOPICS, weights)


def test_topics_of_a_word():
    found = find_topics(model(), "aorta")
    assert [topic.topic for topic in found] == [0, 1]
    assert found[0].part == pytest.approx(0.15 / 0.175)
    assert found[0].probability == pytest.approx(0.2)
    assert [topic.topic for topic in find_topics(model(), "soup")] == [1]
    assert find_topics(model(), "unheard") == []
    assert find_topics(model(), "Hearts") == []
    made = model()
    made.tokeniser_ = Tokeniser(stemmer="s")
    assert [topic.topic for topic in find_topics(made, "Hearts")] == [0]
