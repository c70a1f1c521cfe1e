"""Texts to counts: what CountVectorizer counts, the same for any number of threads, kept for every later pass."""

import itertools
import threading
import time
from collections import Counter
from itertools import tee

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from hang_support import HANG
from private_topics import PrivateSpectralLDA, SpectralLDA
from private_topics.corpus.counts import counting
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.counting import CountedTexts, count_texts, distinct_words
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.texts.readers import open_texts
from private_topics.corpus.words import tokens
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import union_weights, user_units
from private_topics.errors import InputError

WORDS = ["patient", "lung", "heart", "ärzte", "straße", "pain", "left", "fever"]
ANY = Tokeniser(min_length=1, languages=())
some_words = st.sampled_from([*WORDS, "Patient", "LUNG", "other", "the", "x"])
word_lists = st.lists(st.lists(some_words, max_size=8), min_size=1, max_size=30)


def small_blocks(monkeypatch, height=8, chunk=3):
    monkeypatch.setattr(counting, "BLOCK_DOCUMENTS", height)
    monkeypatch.setattr(counting, "CHUNK_DOCUMENTS", chunk)


def dense(counts):
    return stack_rows(list(counts)).toarray()


def sample_texts(n=500, seed=0):
    rng = np.random.default_rng(seed)
    vocabulary = [*WORDS, "unknown", "Ünknown", "the"]
    return [" ".join(rng.choice(vocabulary, rng.integers(0, 40))) for _ in range(n)]


@given(word_lists, st.integers(1, 3))
@settings(max_examples=60)
def test_counts_are_a_counters(documents, n_jobs):
    counts = count_texts([" ".join(words) for words in documents], WORDS, ANY, n_jobs=n_jobs)
    for row, words in zip(dense(counts), documents, strict=True):
        counted = Counter(word.lower() for word in words)
        assert row.tolist() == [counted[word] for word in WORDS]


def test_the_same_as_count_vectorizer():
    texts = sample_texts()
    wanted = CountVectorizer(vocabulary=WORDS, token_pattern=r"[^\W\d_]+").transform(texts).toarray()
    np.testing.assert_array_equal(dense(count_texts(texts, WORDS, ANY)), wanted)


@pytest.mark.parametrize("stemmer", [None, "s"])
def test_the_result_does_not_depend_on_the_threads(monkeypatch, stemmer):
    small_blocks(monkeypatch)
    texts = sample_texts(100)
    results = []
    for n_jobs in (1, 2, 7):
        monkeypatch.setattr(counting, "resolve_threads", lambda jobs: jobs)
        counts = count_texts(texts, WORDS, Tokeniser(stemmer=stemmer), n_jobs=n_jobs)
        blocks = list(counts)
        assert [block.shape[0] for block in blocks] == [8] * 12 + [4]
        results.append((blocks, list(distinct_words(texts, n_jobs=n_jobs))))
    for blocks, words in results[1:]:
        for block, first in zip(blocks, results[0][0], strict=True):
            for name in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(block, name), getattr(first, name))
        assert words == results[0][1]


def test_blocks_are_cut_by_position_alone(monkeypatch):
    """A document of another length moves no other document to another place."""
    small_blocks(monkeypatch)
    monkeypatch.setattr(counting, "CHUNK_CHARACTERS", 200)
    texts = sample_texts(50)
    before = list(count_texts(texts, WORDS))
    after = list(count_texts([*texts[:20], "pain " * 1000, *texts[21:]], WORDS))
    assert [b.shape for b in before] == [b.shape for b in after]
    for block, (one, two) in enumerate(zip(before, after, strict=True)):
        changed = np.flatnonzero((one.toarray() != two.toarray()).any(axis=1))
        assert changed.tolist() == ([20 % 8] if block == 20 // 8 else [])


def test_blocks_are_canonical_and_kept():
    reads = []

    class Once:
        def __iter__(self):
            reads.append(1)
            yield from sample_texts(60)

    counts = count_texts(Once(), WORDS)
    assert isinstance(counts, CountedTexts)
    assert as_blocks(counts) is counts
    assert counts.in_memory
    assert (counts.n_documents, counts.n_words, counts.columns) == (60, len(WORDS), WORDS)
    first = next(iter(counts))
    assert (first.indices.dtype, first.indptr.dtype, first.data.dtype) == (np.int32, np.int64, np.int32)
    np.testing.assert_array_equal(dense(counts), dense(counts))
    assert counts.sample(10).shape == (10, len(WORDS))
    assert len(reads) == 1


def test_large_counts_go_to_a_folder_and_it_goes_away(monkeypatch, tmp_path):
    small_blocks(monkeypatch)
    texts = sample_texts(100)
    wanted = dense(count_texts(texts, WORDS))
    for limit in (0, 1000, 3000):
        counts = count_texts(texts, WORDS, memory_bytes=limit, folder=tmp_path)
        assert not counts.in_memory
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o077 == 0
        assert len(list(folder.iterdir())) == 13
        for _ in range(2):
            np.testing.assert_array_equal(dense(counts), wanted)
        assert counts.sample(20).shape[1] == len(WORDS)
        with counts:
            pass
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(InputError, match="closed"):
            list(counts)
    counts = count_texts(texts, WORDS, memory_bytes=0, folder=tmp_path)
    del counts
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_reading_leaves_no_folder_and_no_thread(monkeypatch, tmp_path):
    small_blocks(monkeypatch)

    def texts():
        yield from sample_texts(100)
        raise InputError("the file is truncated")

    n_threads = threading.active_count()
    with pytest.raises(InputError, match="truncated"):
        count_texts(texts(), WORDS, memory_bytes=0, folder=tmp_path)
    assert threading.active_count() == n_threads
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_fails_ends_the_run(monkeypatch):
    small_blocks(monkeypatch)
    monkeypatch.setattr(counting, "resolve_threads", lambda jobs: 2)
    real, calls = counting.number_words, []

    def failing(texts, tokeniser):
        calls.append(1)
        if len(calls) == 3:
            raise MemoryError
        return real(texts, tokeniser)

    monkeypatch.setattr(counting, "number_words", failing)
    n_threads = threading.active_count()
    for function in (lambda: count_texts(sample_texts(), WORDS), lambda: list(distinct_words(sample_texts()))):
        calls.clear()
        with pytest.raises(MemoryError):
            function()
        assert len(calls) < 12
    assert threading.active_count() == n_threads


def test_several_chunks_are_counted_at_a_time(monkeypatch):
    small_blocks(monkeypatch, height=6)
    monkeypatch.setattr(counting, "resolve_threads", lambda jobs: 2)
    real, both = counting.number_words, threading.Barrier(2, timeout=HANG)

    def together(texts, tokeniser):
        both.wait()  # for another thread that counts
        return real(texts, tokeniser)

    monkeypatch.setattr(counting, "number_words", together)
    assert sum(block.shape[0] for block in count_texts(sample_texts(12), WORDS)) == 12


def test_only_a_few_chunks_are_read_ahead(monkeypatch):
    small_blocks(monkeypatch, chunk=1)
    monkeypatch.setattr(counting, "resolve_threads", lambda jobs: 2)
    n_read, n_done, furthest = 0, 0, 0
    real = counting.number_words

    def slow(texts, tokeniser):
        nonlocal n_done
        time.sleep(0.001)
        n_done += 1
        return real(texts, tokeniser)

    def texts():
        nonlocal n_read, furthest
        for text in sample_texts(100):
            n_read += 1
            furthest = max(furthest, n_read - n_done)
            yield text

    monkeypatch.setattr(counting, "number_words", slow)
    count_texts(texts(), WORDS)
    assert furthest <= 5


# Units


def test_units_become_groups(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [("lung", "b"), ("pain", "a"), ("pain", "b")]
    path.write_text("\n".join(f'{{"text": "{text}", "who": "{who}"}}' for text, who in rows))
    counts = count_texts(open_texts(path, unit="who"), WORDS)
    assert counts.groups.tolist() == [0, 1, 0]
    assert count_texts(open_texts(path), WORDS).groups is None
    with pytest.raises(InputError, match="all documents have a unit or none"):
        count_texts([("lung", "a"), ("pain", None)], WORDS)
    with pytest.raises(InputError, match="all documents have a unit or none"):
        count_texts([("lung", None), ("pain", "a")], WORDS)


@given(word_lists, st.booleans())
@settings(max_examples=60)
def test_distinct_words_are_the_sets(documents, by_unit):
    units = [f"u{len(words) % 3}" if by_unit else None for words in documents]
    found = list(distinct_words(list(zip(map(" ".join, documents), units, strict=True)), n_jobs=1))
    assert [unit for _, unit in found] == units
    for (words, _), document in zip(found, documents, strict=True):
        assert len(set(words)) == len(words)
        assert set(words) == set(Tokeniser().words(" ".join(document)))


def test_distinct_words_are_stems():
    found = distinct_words(["Lungs lung hearts", "the", ("Lung", None)], Tokeniser(stemmer="s"))
    assert [(sorted(words), unit) for words, unit in found] == [
        (["heart", "lung"], None),
        ([], None),
        (["lung"], None),
    ]


def test_distinct_words_feed_the_selection_of_a_vocabulary():
    pairs = [("lung pain", "a"), ("pain", "b"), ("fever lung", "a"), ("the", "c")]
    documents, labels = tee(distinct_words(pairs))
    units = list(user_units((words for words, _ in documents), (unit for _, unit in labels), most=10))
    assert [sorted(words) for words in units] == [["fever", "lung", "pain"], ["pain"], []]
    assert union_weights(units, 10, lambda size: 6 // size) == {"fever": 2, "lung": 2, "pain": 8}


def test_stems_are_counted_together(monkeypatch):
    monkeypatch.setattr(counting, "MOST_REMEMBERED_STEMS", 1)
    counts = count_texts(["Lungs lung LUNGS hearts", "xs"], ["heart", "lung"], Tokeniser(stemmer="s"))
    assert dense(counts).tolist() == [[1, 3], [0, 0]]


def test_a_word_is_brought_to_its_stem_once(monkeypatch):
    """However many chunks it stands in: a stemmer is far slower than counting."""
    small_blocks(monkeypatch)
    made = Counter()
    monkeypatch.setattr(tokens, "singular", lambda word: made.update([word]) or word)
    text = " ".join("".join(letters) for letters in itertools.product("abcde", repeat=4))
    count_texts(10 * [text], ["lung"], Tokeniser(stemmer="s", languages=()), n_jobs=1)
    assert len(made) > 600
    assert max(count for word, count in made.items() if word != "lung") == 1


@pytest.mark.parametrize(("most", "documents"), [(29, 3), (30, 3), (31, 4)])
def test_documents_of_one_length_make_chunks_of_one_size(most, documents):
    """A chunk ends with the document that fills it, whichever came before."""
    chunks = list(counting.in_chunks(12 * ["0123456789"], 1000, most))
    assert [len(chunk.texts) for chunk in chunks] == 12 // documents * [documents]


# An estimator takes them


@pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")
def test_fit_from_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\n".join(sample_texts(300)).encode() + b"\nbroken \xff\n")
    with count_texts(open_texts(path), WORDS, memory_bytes=0, folder=tmp_path) as spilled:
        counts = count_texts(open_texts(path), WORDS)
        matrix = dense(counts)
        expected = SpectralLDA(2, random_state=0).fit(matrix)
        for corpus in (counts, spilled):
            model = SpectralLDA(2, random_state=0).fit(corpus)
            np.testing.assert_allclose(model.components_, expected.components_)
            assert list(model.feature_names_in_) == WORDS
        private = PrivateSpectralLDA(2, epsilon=50.0, noise_seed=1).fit(counts)
        same = PrivateSpectralLDA(2, epsilon=50.0, noise_seed=1).fit(matrix)
        np.testing.assert_array_equal(private.components_, same.components_)


@pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")
def test_fit_for_users():
    pairs = [(text, f"user {number % 60}") for number, text in enumerate(sample_texts(300))]
    counts = count_texts(pairs, WORDS)
    model = PrivateSpectralLDA(2, epsilon=50.0, noise_seed=1).fit(counts)
    assert (model.privacy_.unit, model.privacy_.n_units) == ("user", 60)
    same = PrivateSpectralLDA(2, epsilon=50.0, noise_seed=1).fit(counts, groups=counts.groups)
    np.testing.assert_array_equal(model.components_, same.components_)


# Bad input


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [([], "is empty"), ("lung", "list of strings"), ([1], "list of strings"), (["lung", "lung"], "a word twice")]
    + [([word], "never makes") for word in ("Lung", "left lung", "the", "", "x", "A\u0308rzte", "covid19")],
)
def test_vocabularies_that_cannot_be_counted(vocabulary, message):
    with pytest.raises(InputError, match=message):
        count_texts(["a text"], vocabulary)


def test_a_public_list_is_made_usable():
    tokeniser = Tokeniser()
    vocabulary = tokeniser.usable(["Lung", "left lung", "the", "A\u0308rzte", "lung"])
    assert vocabulary == ["lung", "ärzte"]
    assert dense(count_texts(["Lung ärzte"], vocabulary, tokeniser)).tolist() == [[1, 1]]


@pytest.mark.parametrize("item", [None, b"lung", 5, ("lung", 5.5), ("lung", "a", "b"), ["lung", "a"], (None, "a")])
def test_things_that_are_no_texts(item):
    with pytest.raises(InputError, match="Texts must be strings"):
        count_texts(["lung", item], WORDS)


def test_no_documents_and_bad_jobs():
    with pytest.raises(InputError, match="no documents"):
        count_texts([], WORDS)
    assert list(distinct_words([])) == []
    for n_jobs in (0, "2", 1.5):
        with pytest.raises(InputError, match="'n_jobs' parameter"):
            count_texts(["x"], WORDS, n_jobs=n_jobs)
        with pytest.raises(InputError, match="'n_jobs' parameter"):
            distinct_words(["x"], n_jobs=n_jobs)


def test_empty_documents_only():
    counts = count_texts(["", "the"], WORDS)
    assert dense(counts).sum() == 0
    assert list(distinct_words(["", "the"])) == [([], None), ([], None)]
