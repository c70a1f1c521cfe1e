"""Phrases of a public list count as one word."""

import numpy as np
import pytest

from private_topics.corpus.counts.counting import count_texts, distinct_words
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList, with_phrases

LISTED = ("heart failure", "Congestive Heart Failure", "shortness of breath", "x-ray", "aspirin")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Acute heart failure.", ["acute", "heart_failure"]),
        ("congestive heart failure", ["congestive_heart_failure"]),
        ("congestive heart-failure", ["congestive_heart_failure"]),
        ("heart\n failure", ["heart_failure"]),
        ("heart, failure of the heart", ["heart", "failure", "heart"]),  # a comma is between them
        ("shortness of breath", ["shortness_of_breath"]),  # stop words may be inside
        ("X-rays of the X ray", ["rays", "x_ray"]),
        ("the heart failure heart failure", ["heart_failure", "heart_failure"]),
        ("aspirin", ["aspirin"]),
        ("heart", ["heart"]),
        ("heart_failure", ["heart_failure"]),
    ],
)
def test_the_longest_phrase_is_taken(text, words):
    tokeniser = Tokeniser(phrases=LISTED)
    assert tokeniser.words(text) == words
    [(found, _)] = distinct_words([text], tokeniser)
    assert set(found) == set(words)


def test_with_a_stemmer_both_numbers_match():
    tokeniser = Tokeniser(phrases=("blood cultures", "heart failure", "blood culture"), stemmer="s")
    assert tokeniser.words("blood culture, heart failures") == ["blood_cultures", "heart_failure"]
    assert tokeniser.usable(["blood_culture", "Heart-Failure", "heart attack"]) == ["blood_cultures", "heart_failure"]


def test_phrases_do_not_cross_documents():
    counts = count_texts(["the heart", "failure heart failure"], ["failure", "heart", "heart_failure"],
                         Tokeniser(phrases=LISTED))  # fmt: skip
    np.testing.assert_array_equal(next(iter(counts)).toarray(), [[0, 1, 0], [1, 0, 1]])


def test_a_document_s_words_do_not_depend_on_its_neighbours():
    """The texts of a chunk stand in one buffer: a phrase across two of them would mix two units."""
    tokeniser = Tokeniser(phrases=LISTED)
    texts = ["congestive", "heart failure", "congestive heart", "failure", "", "heart", "failure"]
    together = [set(words) for words, _ in distinct_words(texts, tokeniser)]
    assert together == [set(tokeniser.words(text)) for text in texts]


def test_phrases_can_be_stop_words():
    assert Tokeniser(phrases=LISTED, stop_words=("heart_failure",)).words("heart failure") == []


def test_phrases_join_a_public_list():
    words = WordList("mine", ("heart", "heart_failure"))
    joined = with_phrases(words, Tokeniser(phrases=LISTED))
    assert joined.words == ("heart", "heart_failure", "congestive_heart_failure", "shortness_of_breath", "x_ray")
    assert joined.name == "mine and 3 phrases"
    assert with_phrases(words, Tokeniser()) is words


def test_settings_of_before_are_read_where_they_mean_the_same():
    before = Tokeniser().to_dict() | {"version": 1}
    del before["phrases"], before["segmented"]
    assert Tokeniser.from_dict(before) == Tokeniser()
    with pytest.raises(ValueError, match="to_dict"):
        Tokeniser.from_dict(before | {"stemmer": "s"})  # cut other endings then
