"""The word vectors in the package: size, licence, sense, and that they need nothing else."""

import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

from private_topics import PublicKnowledge, Tokeniser
from private_topics.corpus.words.vocabulary import is_word
from private_topics.knowledge.shipped import SHIPPED, shipped
from private_topics.knowledge.sources import open_knowledge

LARGEST_BYTES = {"english": 6_500_000, "english-documents": 3_000_000}
FEWEST_WORDS = {"english": 50_000, "english-documents": 12_000}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_file_is_small_and_says_where_it_comes_from(name):
    content = files("private_topics.knowledge").joinpath(SHIPPED[name]).read_bytes()
    assert len(content) < LARGEST_BYTES[name]
    found = shipped(name)
    assert found.name == name
    assert "CC BY-SA 4.0" in found.notes["licence"]
    assert "SHA-256" in found.notes["origin"]
    assert found.notes["build"].startswith("python research/build_english.py")
    assert shipped(name) is found


def test_the_sources_are_credited():
    assert all(part in shipped("english").notes["licence"] for part in ("GloVe", "Public Domain Dedication", "Speer"))
    assert all(part in shipped("english-documents").notes["licence"] for part in ("Wikipedia", "authors", "changed"))


@pytest.mark.parametrize("name", SHIPPED)
def test_words_are_words_and_numbers_are_whole(name):
    found = shipped(name)
    assert len(found.words) == len(found.vectors) >= FEWEST_WORDS[name]
    assert all(is_word(word) and word == word.lower() for word in found.words)
    assert found.log_frequencies is not None
    frequencies = found.log_frequencies.astype(float)
    assert (np.diff(frequencies) <= 0).all(), "the most frequent come first"
    assert -20 < frequencies.min() < frequencies.max() < -2
    assert np.exp(frequencies).sum() < 1.001
    assert found.vectors.any(axis=1).mean() > 0.99


@pytest.mark.parametrize("make", [PublicKnowledge.english, PublicKnowledge.english_documents])
def test_like_words_have_like_vectors(make):
    triples = [
        *(("nurse", "doctor", "algebra"), ("guitar", "album", "enzyme"), ("goal", "football", "theorem")),
        *(("church", "bishop", "software"), ("protein", "enzyme", "senate"), ("election", "senate", "guitar")),
    ]
    for word, like, unlike in triples:
        vectors = make([word, like, unlike]).vectors
        assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1, (word, like, unlike)


def test_most_words_of_ordinary_text_are_known():
    words = ["patient", "letter", "hospital", "treatment", "pain", "weekly", "appointment", "kidney", "zzyzxq"]
    known = PublicKnowledge.english(words)
    assert known.covered == len(words) - 1
    assert np.isnan(known.log_frequencies).tolist() == [False] * (len(words) - 1) + [True]
    assert f"which know {len(words) - 1} of the {len(words)} words" in known.description
    np.testing.assert_allclose(np.linalg.norm(known.vectors[:-1], axis=1), 1)


@pytest.mark.process
def test_neither_a_network_nor_wordfreq_is_needed():
    code = (
        "import sys, socket\n"
        "sys.modules['wordfreq'] = None\n"
        "def refused(*arguments, **named): raise AssertionError('a connection')\n"
        "socket.socket = socket.create_connection = refused\n"
        "from private_topics import PublicKnowledge\n"
        "words = ['nurse', 'doctor']\n"
        "print((PublicKnowledge.english(words) + PublicKnowledge.english_documents(words)).covered)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr


@pytest.mark.parametrize("name", SHIPPED)
def test_nearly_all_singulars_of_the_words_have_a_vector_too(name):
    source = open_knowledge(name)
    words = Tokeniser(stemmer="s").usable(source.words[::5])
    assert (np.abs(source.align(words).vectors).sum(axis=1) > 0).mean() > 0.98
