"""The made-up letters: what is called the truth is what the letters say."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest

from private_topics.corpus.made_up import letters
from private_topics.corpus.made_up.letters import (
    CLOSES,
    OPENINGS,
    make_letters,
    topic_names,
    true_topics,
    write_letters,
)
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError

TOKENISER = Tokeniser()


def test_the_truth_is_what_sentences_of_a_topic_say() -> None:
    """Mean counts over 4,000 sentences of each topic lie within five standard errors of the truth, word by word.

    About 400 words in all: beyond it by chance once in 4,000 seeds, and the seed is fixed.
    """
    sentences_each = 4_000
    topics = np.repeat(np.arange(len(topic_names())), sentences_each)
    sentences = letters._sentences(topics, np.random.default_rng(0))
    for i, gaps in enumerate(letters.TOPICS.values()):
        expected = letters._expected_sentence(gaps, TOKENISER)
        own = sentences[i * sentences_each : (i + 1) * sentences_each]
        words = sorted(expected)
        found = [TOKENISER.words(sentence) for sentence in own]
        counts = np.array([[sentence.count(word) for word in words] for sentence in found])
        assert {word for sentence in found for word in sentence} == set(words)
        error = counts.std(axis=0) / np.sqrt(len(counts)) + 1e-3
        np.testing.assert_array_less(np.abs(counts.mean(axis=0) - [expected[word] for word in words]), 5.0 * error)


def test_the_truth_over_some_words() -> None:
    words = ["queue", "soup", "explained", "dear", "absent"]
    truth = true_topics([*words, "nurse", "date", "pain", "home", "parking", "invoice", "floor"])
    assert truth.shape == (len(topic_names()), 12)
    np.testing.assert_allclose(truth.sum(axis=1), 1.0)
    assert truth[:, 4].max() == 0.0
    assert np.flatnonzero(truth[:, 1]).tolist() == [topic_names().index("food")]
    assert (truth[:, 2] > 0).all()
    with pytest.raises(InputError, match="no word of some topic"):
        true_topics(["soup"])


def test_letters_are_reproducible_and_belong_to_patients(tmp_path: Any) -> None:
    first, again = list(make_letters(400, seed=3)), list(make_letters(400, seed=3))
    assert first == again
    assert first != list(make_letters(400, seed=4))
    patients = {letter.patient for letter in first}
    assert 120 < len(patients) < 280
    for letter in first:
        assert letter.text.startswith(OPENINGS)
        assert any(close in letter.text for close in CLOSES)
    write_letters(tmp_path / "letters.jsonl.gz", 400, seed=3)
    with gzip.open(tmp_path / "letters.jsonl.gz", "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    assert [(record["text"], record["patient_id"]) for record in records] == [
        (letter.text, letter.patient) for letter in first
    ]
    with pytest.raises(InputError, match="count"):
        list(make_letters(0))
