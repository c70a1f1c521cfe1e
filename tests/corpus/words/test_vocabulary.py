"""Public word lists, and the words of each unit that a private selection may see."""

import hashlib
import itertools
import random
from fractions import Fraction

import pytest

from private_topics.corpus.words import vocabulary
from private_topics.corpus.words.vocabulary import (
    WordList,
    is_word,
    kept_words,
    read_word_list,
    union_weights,
    user_units,
)
from private_topics.errors import InputError
from private_topics.inference.carried import MOST_WORDS


def one(count):
    return 1


# -- public lists ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"apple\nb\xc3\xa4r\nzoo\n", b"apple\nb\xc3\xa4r\nzoo", b"\xef\xbb\xbfapple\r\nb\xc3\xa4r\r\nzoo\r\n"]
)
def test_a_list_is_read_and_named_by_its_digest(tmp_path, content):
    path = tmp_path / "fruit.txt"
    path.write_bytes(content)
    words = read_word_list(path)
    assert words.words == ("apple", "bär", "zoo")
    assert len(words) == 3
    assert words.name == "fruit.txt"
    assert words.digest == hashlib.sha256("apple\nbär\nzoo\n".encode()).hexdigest()
    assert read_word_list(path, name="fruit 2026").description == (
        f"the public word list 'fruit 2026' (3 words, SHA-256 {words.digest})"
    )


def test_the_digest_tells_lists_apart():
    lists = [("ab", "c"), ("a", "bc"), ("c", "ab"), ("ab",), ("ab", "c", "d")]
    assert len({WordList("list", words).digest for words in lists}) == len(lists)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "between 1"),
        (b"apple\n\nzoo\n", "Entry 2"),
        (b"apple\ntwo words\n", "Entry 2"),
        (b"apple\nzoo\napple\n", "twice"),
        (b"apple\ttree\n", "Entry 1"),
        (b"apple\x00\n", "Entry 1"),
        (b"\xff\xfe", "UTF-8"),
        (b"x" * 1001, "Entry 1"),
    ],
)
def test_broken_lists_are_refused(tmp_path, content, reason):
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=reason):
        read_word_list(path)


def test_what_is_no_list_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="Cannot read"):
        read_word_list(tmp_path / "missing.txt")
    with pytest.raises(InputError, match="Cannot read"):
        read_word_list(tmp_path)
    with pytest.raises(InputError, match="one string"):
        WordList("list", "apple")
    with pytest.raises(InputError, match="between 1"):
        WordList("list", ())
    (tmp_path / "large.txt").write_text("apple\n" * 10)
    monkeypatch.setattr(vocabulary, "LARGEST_LIST_BYTES", 10)
    with pytest.raises(InputError, match="larger"):
        read_word_list(tmp_path / "large.txt")
    monkeypatch.setattr(vocabulary, "MOST_LISTED_WORDS", 2)
    assert len(WordList("list", ("apple", "pear"))) == 2
    with pytest.raises(InputError, match="between 1 and 2 words"):
        WordList("list", ("apple", "pear", "plum"))


def test_a_list_has_no_more_words_than_the_proofs_allow():
    assert vocabulary.MOST_LISTED_WORDS <= MOST_WORDS == 2**23


@pytest.mark.parametrize("token", ["a b", "a\n", "", "a\u00a0b", "\ud800", "a\u200bb", "x" * 1001, 3, None, b"a"])
def test_what_is_no_word(token):
    assert not is_word(token)


# -- the words of a unit --------------------------------------------------------------------------------------------


def test_a_small_unit_keeps_its_words():
    assert set(kept_words(["b", "a", "b", "a b", "", "c\n"], 2)) == {"a", "b"}
    assert set(kept_words(iter([]), 2)) == set()


def test_a_large_unit_keeps_a_part_that_depends_on_the_set_alone():
    words = [f"w{number}" for number in range(300)]
    kept = set(kept_words(words, 40))
    assert len(kept) == 40
    assert kept < set(words)
    for seed in range(5):
        shuffled = words * 2
        random.Random(seed).shuffle(shuffled)
        assert set(kept_words(iter(shuffled), 40)) == kept


def test_no_word_is_dropped_everywhere():
    """Each of 200 units of 100 words keeps 50; a word is kept by about half of them. Binomial, six deviations."""
    times = dict.fromkeys((f"w{number}" for number in range(99)), 0)
    for unit in range(200):
        for word in kept_words([*times, f"only-{unit}"], 50):
            if word in times:
                times[word] += 1
    deviation = (200 * 0.25) ** 0.5
    assert max(abs(count - 100) for count in times.values()) < 6 * deviation


@pytest.mark.parametrize("unit", ["one text", b"one text", ["a", 3], ["a", None], [b"a"]])
def test_a_unit_is_an_iterable_of_strings(unit):
    with pytest.raises(InputError) as caught:
        union_weights([["fine"], unit], 10, one)
    assert "text" not in str(caught.value).replace("one text was given", "")


def test_weights_are_sums_over_units():
    units = [["a", "b", "a"], ["b"], [], ["c", "b", "d"]]
    weights = union_weights(iter(units), 10, lambda count: 60 // count)
    assert weights == {"a": 30, "b": 30 + 60 + 20, "c": 20, "d": 20}


# -- users ----------------------------------------------------------------------------------------------------------


def users_of(documents, groups, most):
    return sorted(sorted(unit) for unit in user_units(documents, groups, most))


def test_the_documents_of_a_user_are_one_unit():
    documents = [["a", "b"], ["c"], ["b", "d"], [], ["e"]]
    assert users_of(documents, [1, "x", 1, "empty", "x"], 10) == [[], ["a", "b", "d"], ["c", "e"]]


def test_the_words_of_a_user_do_not_depend_on_the_order_or_on_other_users():
    draw = random.Random(0)
    documents = [[f"w{draw.randrange(400)}" for _ in range(60)] for _ in range(40)]
    labels = [draw.choice("pqr") for _ in documents]
    whole = users_of(documents, labels, 30)
    assert [len(unit) for unit in whole] == [30, 30, 30]
    pairs = list(zip(documents, labels, strict=True))
    for seed in range(4):
        random.Random(seed).shuffle(pairs)
        assert users_of(*zip(*pairs, strict=True), 30) == whole
    alone = users_of(*zip(*[pair for pair in pairs if pair[1] == "p"], strict=True), 30)
    assert alone[0] in whole


@pytest.mark.parametrize(
    "groups", [[1, 2], [1, 2, 3, 4], [1, 2, None], [1, 2, float("nan")], [1, 2, 2.5], [1, 2, True]]
)
def test_labels_must_be_whole_and_plain(groups):
    with pytest.raises(InputError, match="one string or integer for each document"):
        users_of([["a"], ["b"], ["c"]], groups, 3)


def test_users_keep_bounded_memory(monkeypatch):
    """However many words a user has, no more than twice the limit is held after each document."""
    held = []
    original = vocabulary._first

    def watched(words, most, key):
        held.append(len(words))
        return original(words, most, key)

    monkeypatch.setattr(vocabulary, "_first", watched)
    documents = ([f"w{10 * number + k}" for k in range(10)] for number in range(200))
    (unit,) = user_units(documents, ["same"] * 200, 20)
    assert len(unit) == 20
    assert max(held) <= 2 * 20 + 10


def test_a_user_is_one_unit_however_many_users_there_are():
    """A user's documents may come first and last: nobody is given up in between, so that nobody counts twice."""
    others = 100_000
    documents = itertools.chain([["first"]], ([] for _ in range(others)), [["last"]])
    units = list(user_units(documents, itertools.chain(["same"], range(others), ["same"]), 10))
    assert len(units) == others + 1
    assert [sorted(unit) for unit in units if unit] == [["first", "last"]]


def test_exact_arithmetic_of_a_unit():
    """t words of weight floor(2^b / sqrt(t)) have norm at most one, in rational numbers."""
    from private_topics.privacy.set_union import word_weight

    for bits in (0, 3, 17, 40):
        for count in [*range(1, 200), 4096, 10**6]:
            weight = word_weight(count, 2.0**-bits)
            assert count * Fraction(weight, 2**bits) ** 2 <= 1
            assert count * Fraction(weight + 1, 2**bits) ** 2 > 1
    assert word_weight(3, 4.0) == 0
