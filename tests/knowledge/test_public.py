"""Public knowledge of columns: alignment, sums, equality, and that nobody can change it."""

import copy
import hashlib
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from private_topics import PrivateSpectralLDA, PublicKnowledge, Tokeniser, make_lda_corpus
from private_topics.corpus.counts.counting import count_texts
from private_topics.errors import InputError
from private_topics.knowledge.npz_vectors import save_vectors
from private_topics.knowledge.public_texts import public_texts

WORDS = ["nurse", "ward", "algebra", "Doctor"]
TEXTS = ["The nurse on the ward.", "Nurse, ward and doctor!", "algebra of the ring", "a ring, algebra"] * 5


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "v.npz"
    save_vectors(
        path, ["ward", "doctor", "nurse"], [[1, 0], [3, 4], [0, 2]], [-1.0, -2.0, np.nan], notes={"name": "f"}
    )
    return path


def test_vectors_are_aligned_to_the_columns(file):
    known = PublicKnowledge.from_vectors(WORDS, file)
    np.testing.assert_allclose(known.vectors, [[0, 1], [1, 0], [0, 0], [0.6, 0.8]], rtol=1e-12)
    np.testing.assert_array_equal(known.log_frequencies, [np.nan, -1, np.nan, -2])
    assert (known.n_words, known.covered, known.name) == (4, 3, "f")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert known.digest == digest
    assert known.description == f"the public word vectors 'f' (SHA-256 {digest}), which know 3 of the 4 words"
    assert repr(known) == "<PublicKnowledge 'f': 3 of 4 words>"


def test_words_may_be_any_sequence_of_strings(file):
    known = PublicKnowledge.from_vectors(WORDS, file)
    assert PublicKnowledge.from_vectors(np.array(WORDS, dtype=object), file) == known
    assert PublicKnowledge.from_vectors(iter(WORDS), file) == known
    for words in ("nurse", [], ["nurse", 3], None, [b"nurse"]):
        with pytest.raises(InputError, match=r"The 'words' parameter of PublicKnowledge.from_vectors must be a list"):
            PublicKnowledge.from_vectors(words, file)


def test_knowing_no_word_is_an_error(file, tmp_path):
    with pytest.raises(InputError, match="'f' has a vector for none of the 1 columns"):
        PublicKnowledge.from_vectors(["verpleegkundige"], file)
    save_vectors(tmp_path / "zero.npz", ["nurse"], [[0.0, 0.0]])
    with pytest.raises(InputError, match="for none of"):
        PublicKnowledge.from_vectors(["nurse"], tmp_path / "zero.npz")
    with pytest.raises(InputError, match="for none of"):
        PublicKnowledge.from_counts(np.eye(4, dtype=int))
    with pytest.raises(InputError, match="for none of"):
        PublicKnowledge.from_texts(["the", "of"], TEXTS)


def test_a_sum_knows_what_both_know(file):
    words = [*WORDS, "ring"]
    a, b = PublicKnowledge.from_vectors(words, file), PublicKnowledge.from_texts(words, TEXTS)
    both = a + b
    np.testing.assert_array_equal(both.vectors, np.hstack([a.vectors, b.vectors]))
    for part in (a, b):
        lengths = np.linalg.norm(part.vectors, axis=1)
        np.testing.assert_allclose(lengths[part.vectors.any(axis=1)], 1)
    assert both.log_frequencies[1] == a.log_frequencies[1] == -1
    assert both.log_frequencies[0] == b.log_frequencies[0]
    assert (a.covered, b.covered, both.covered) == (3, 5, 5)
    assert both.name == "f + 20 public texts"
    assert both.digest == hashlib.sha256(f"{a.digest}\n{b.digest}\n".encode()).hexdigest()
    assert a.digest in both.description
    assert b.digest in both.description
    assert (a + b) + a == a + (b + a)
    assert a + b != b + a
    with pytest.raises(InputError, match="of 5 columns cannot be added to that of 2"):
        a + PublicKnowledge.from_vectors(WORDS[:2], file)
    with pytest.raises(TypeError):
        a + 1


def test_nobody_can_change_it(file):
    given = np.ones((2, 2))
    known = PublicKnowledge(given, np.zeros(2), (("n", "w", "d", 2),))
    given[:] = 5
    assert known.vectors.tolist() == [[1, 1], [1, 1]]
    for one in (known, PublicKnowledge.from_vectors(WORDS, file), pickle.loads(pickle.dumps(known))):
        for name in ("vectors", "log_frequencies"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(one, name)[0] = 1
            with pytest.raises(AttributeError):
                setattr(one, name, np.zeros(2))


def test_what_is_no_knowledge_is_refused():
    for vectors, frequencies in ((np.ones(3), np.ones(3)), (np.ones((3, 2)), np.ones(2)), ([[np.nan]], [0.0])):
        with pytest.raises(InputError, match="takes finite 'vectors'"):
            PublicKnowledge(vectors, frequencies, ())


def test_copies_and_clones_are_the_same_object(file):
    known = PublicKnowledge.from_vectors(WORDS, file)
    assert copy.deepcopy(known) is known is copy.copy(known)
    assert clone(known, safe=False) is known
    assert clone(PrivateSpectralLDA(ledger=known)).ledger is known  # any parameter that is kept as it is
    again = pickle.loads(pickle.dumps(known))
    assert again == known
    assert hash(again) == hash(known)
    assert again is not known


def test_equality_is_of_source_and_columns(file, tmp_path):
    known = PublicKnowledge.from_vectors(WORDS, file)
    assert known == PublicKnowledge.from_vectors(WORDS, file)
    assert known != PublicKnowledge.from_vectors(WORDS[::-1], file)
    assert known != "f"
    whole = file.read_bytes()
    other = tmp_path / "other.npz"
    save_vectors(
        other, ["ward", "doctor", "nurse"], [[1, 0], [3, 4], [0, 2]], [-1.0, -2.0, np.nan], notes={"name": "g"}
    )
    assert other.read_bytes() != whole
    assert known != PublicKnowledge.from_vectors(WORDS, other)


def test_counts_and_texts_give_the_same():
    words = ["nurse", "ward", "algebra", "ring", "doctor"]
    from_texts = PublicKnowledge.from_texts(words, TEXTS)
    counts = count_texts(TEXTS, words)
    from_counts = PublicKnowledge.from_counts(counts)
    np.testing.assert_array_equal(from_texts.vectors, from_counts.vectors)
    np.testing.assert_array_equal(from_texts.log_frequencies, from_counts.log_frequencies)
    assert from_counts.name == "20 public documents"
    assert from_counts == PublicKnowledge.from_counts(sp.csc_array(next(iter(counts))))
    assert from_counts.digest != PublicKnowledge.from_counts(2 * next(iter(counts)).toarray()).digest
    likeness = from_texts.vectors @ from_texts.vectors.T
    assert likeness[0, 1] > likeness[0, 2] + 0.5


def test_texts_are_counted_in_the_form_that_the_tokeniser_makes():
    words = ["Nurse", "WARD", "the", "algebra", "nurse", "well-known"]
    known = PublicKnowledge.from_texts(words, [(text, "unit") for text in TEXTS])
    assert known.vectors.any(axis=1).tolist() == [True, True, False, False, True, False]
    np.testing.assert_array_equal(known.vectors[0], known.vectors[4])
    kept = PublicKnowledge.from_texts(["the", "ward", "nurse"], TEXTS, tokeniser=Tokeniser(languages=()))
    assert np.isfinite(kept.log_frequencies).all()
    for texts in ("one text", [], [1, 2], None, {"a": 1}):
        with pytest.raises(InputError, match="Public texts must be"):
            PublicKnowledge.from_texts(words, texts)


def test_texts_split_elsewhere_have_another_digest():
    assert public_texts(["nurse", "ward"]).digest != public_texts(["nurs", "eward"]).digest
    assert public_texts(["nurse", "ward"]).digest != public_texts(["nurseward"]).digest
    assert public_texts(["nurse", "\ud800"]).digest == public_texts(iter(["nurse", ("\ud800", "unit")])).digest


def test_what_is_saved_comes_back(tmp_path):
    X = make_lda_corpus(400, 50, 4, alpha0=0.1, random_state=3)[0].tolil()
    X[:, 4] = 0
    words = [f"word{column}" for column in range(50)]
    known = PublicKnowledge.from_counts(X.tocsr())
    known.save(tmp_path / "v.npz", words, name="made up", licence="CC0")
    again = PublicKnowledge.from_vectors(words, tmp_path / "v.npz")
    np.testing.assert_allclose(again.vectors, known.vectors, atol=1e-6)
    np.testing.assert_allclose(again.log_frequencies, known.log_frequencies, atol=1e-5)
    assert again.covered == known.covered < 50
    assert np.isnan(again.log_frequencies[4])
    assert again.name == "made up"
    with pytest.raises(InputError, match="must hold 50 words"):
        known.save(tmp_path / "v.npz", words[:3], name="made up", licence="CC0")
