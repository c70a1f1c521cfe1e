"""Words of texts: any script, one normal form, public lists, and a compiled path that agrees with the plain one."""

import json
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from private_topics.corpus.words.scanning import SEED, _find_words, number_words
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.corpus.words.tokens import Tokeniser, character_classes
from private_topics.errors import InputError

PLAIN = Tokeniser(min_length=1, languages=())
tokenisers = st.builds(
    Tokeniser,
    case=st.sampled_from(["lower", "casefold", "keep"]),
    min_length=st.integers(1, 4),
    digits=st.booleans(),
    languages=st.sampled_from([(), ("english",), ("german", "french")]),
    stop_words=st.sampled_from([(), ("Straße", "ΣΑΣ")]),
    stemmer=st.sampled_from([None, "s"]),
    phrases=st.sampled_from([(), ("a z", "z-Z a", "a a a", "漢字 a", "é 한", "a"), ("as a",)]),
    segmented=st.booleans(),
)
TRICKY = "aZ9 '-_.\t\n\0éÉßẞıİΣσςǅﬁ\u0301\u0345\u0308\u0390ΐ한\u1100\u1161हिन्दी\u200d漢字😀\ud800\U0001f1e6\U0010ffff"
texts = st.text(st.one_of(st.sampled_from(TRICKY), st.characters(), st.characters(max_codepoint=127)), max_size=60)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Patient's X-ray: no.7", ["the", "patient", "s", "x", "ray", "no"]),
        ("Straße in München", ["straße", "in", "münchen"]),
        ("Mu\u0308nchen", ["münchen"]),  # decomposed: the same word
        ("ΟΔΟΣ οδός", ["οδος", "οδός"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # vowel signs are marks, and belong to the word
        ("Привет, мир!", ["привет", "мир"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("\u0301abc", ["abc"]),  # no word begins with a mark
        ("l'eau d’été", ["l", "eau", "d", "été"]),
        ("snake_case covid19", ["snake", "case", "covid"]),
        ("", []),
        ("… 123 😀", []),
    ],
)
def test_what_a_word_is(text, words):
    assert PLAIN.words(text) == words


def test_case_is_a_choice():
    assert Tokeniser(languages=(), case="casefold").words("Straße ΟΔΟΣ") == ["strasse", "οδοσ"]
    assert Tokeniser(languages=(), case="keep").words("Apple apple") == ["Apple", "apple"]
    assert Tokeniser(case="keep").words("The Apple") == ["Apple"]


def test_digits_lengths_and_own_stop_words():
    assert Tokeniser(digits=True).words("covid19 2021 x1") == ["covid19", "2021"]
    assert Tokeniser(min_length=2, max_length=4, languages=()).words("a bb cccc ddddd") == ["bb", "cccc"]
    assert Tokeniser(stop_words=("Ärzte", "x-ray")).words("Die ÄRZTE fehlen") == ["die", "fehlen"]


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_are_words_in_normal_form(language):
    words = STOP_WORDS[language]
    assert 200 <= len(words) <= 400
    assert all(PLAIN.words(word) == [word] for word in words)
    assert Tokeniser(languages=(language,), min_length=1).words(" ".join(words).title()) == []


SAMPLES = {
    "english": "The doctors didn't find what they were looking for in the left lung",
    "german": "Die Ärzte haben nicht gefunden, wonach sie in der linken Lunge suchten",
    "french": "Les médecins n'ont pas trouvé ce qu'ils cherchaient dans le poumon gauche",
    "spanish": "Los médicos no han encontrado lo que buscaban en el pulmón izquierdo",
    "italian": "I medici non hanno trovato quello che cercavano nel polmone sinistro",
    "portuguese": "Os médicos não encontraram o que procuravam no pulmão esquerdo",
    "dutch": "De artsen hebben niet gevonden wat ze in de linkerlong zochten",
}
CONTENT = {
    "english": ["doctors", "find", "looking", "left", "lung"],
    "german": ["ärzte", "gefunden", "wonach", "linken", "lunge", "suchten"],
    "french": ["médecins", "trouvé", "cherchaient", "poumon", "gauche"],
    "spanish": ["médicos", "encontrado", "buscaban", "pulmón", "izquierdo"],
    "italian": ["medici", "trovato", "cercavano", "polmone", "sinistro"],
    "portuguese": ["médicos", "encontraram", "procuravam", "pulmão", "esquerdo"],
    "dutch": ["artsen", "gevonden", "linkerlong", "zochten"],
}


@pytest.mark.parametrize("language", STOP_WORDS)
def test_what_is_left_of_a_sentence(language):
    assert Tokeniser(languages=(language,)).words(SAMPLES[language]) == CONTENT[language]


def test_stems_that_are_stop_words_or_short_are_dropped():
    assert Tokeniser(stemmer="s", stop_words=("lung",)).words("lungs oxen heart hearts") == ["heart", "heart"]


@given(texts, tokenisers)
@example("\ud800a\u0301", PLAIN)
@settings(max_examples=300)
def test_the_compiled_path_is_the_plain_one(text, tokeniser):
    found = number_words([text, "", text + "x"], tokeniser)
    for document, written in enumerate([text, "", text + "x"]):
        numbers = found.numbers[found.pointers[document] : found.pointers[document + 1]]
        words = [tokeniser.kept(found.different[number].decode()) for number in numbers]
        assert [word for word in words if word is not None] == tokeniser.words(written)
    assert len(set(found.different)) == len(found.different)


@given(st.text(st.characters(max_codepoint=127), max_size=80), tokenisers)
@settings(max_examples=200)
def test_the_ascii_path_is_the_unicode_path(text, tokeniser):
    beside_a_letter = tokeniser.words(text + " \u4e00")  # one other character sends the whole text the long way
    alone = tokeniser.kept("\u4e00")
    assert tokeniser.words(text) == (beside_a_letter if alone is None else beside_a_letter[:-1])


@given(texts, tokenisers)
@settings(max_examples=300)
def test_words_are_their_own_words(text, tokeniser):
    """So that a vocabulary made of words can be counted again."""
    for word in tokeniser.words(text):
        assert tokeniser.words(word) == [word]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["lower", "casefold"])
def test_every_single_letter_is_its_own_word(case):
    tokeniser = Tokeniser(case=case, min_length=1, languages=(), digits=True, segmented=True)
    everything = " ".join(map(chr, range(0x110000)))
    words = set(tokeniser.words(everything))
    again = tokeniser.words(" ".join(sorted(words)))
    assert set(again) == words
    assert len(words) > 100_000


@given(texts)
def test_canonically_equal_texts_have_equal_words(text):
    assert PLAIN.words(unicodedata.normalize("NFD", text)) == PLAIN.words(text)
    assert PLAIN.words(unicodedata.normalize("NFC", text)) == PLAIN.words(text)


def test_many_different_words_grow_the_table():
    words = [a + b + c for a in "abcdefghijklmnop" for b in "qrstuvwxyz" for c in "abcdé" * 10]
    texts = [" ".join(words), " ".join(reversed(words))]
    many = [f"w{chr(97 + i % 26)}{''.join(chr(97 + int(d)) for d in str(i))}" for i in range(60_000)]
    found = number_words([*texts, " ".join(many)], PLAIN)
    assert found.different == [word.encode() for word in dict.fromkeys(words + many)]
    assert len(found.different) > 60_000
    np.testing.assert_array_equal(found.numbers[: len(words)], found.numbers[len(words) : 2 * len(words)][::-1])


def test_positions_reach_beyond_a_text_of_two_gigabytes():
    """With 32 bits a word behind 2**31 bytes would be looked for elsewhere in the text."""
    found, _ = _find_words(np.frombuffer(b"ab cd", np.uint8), np.array([5]), character_classes(False), SEED)
    assert found.starts.tolist() == [0, 3]
    assert found.stops.tolist() == [2, 5]
    assert min(np.iinfo(positions.dtype).max for positions in (found.starts, found.stops)) > 2**48


def test_classes_are_the_categories():
    classes = character_classes(False)
    for character in "aß漢\u0301\u0902 5_-'\ud800":
        wanted = {"L": 1, "M": 2}.get(unicodedata.category(character)[0], 0)
        assert classes[ord(character)] == wanted
    assert character_classes(True)[ord("5")] == 1
    assert character_classes(True)[ord("²")] == 0


@given(tokenisers)
def test_settings_survive_json(tokeniser):
    assert Tokeniser.from_dict(json.loads(json.dumps(tokeniser.to_dict()))) == tokeniser


@pytest.mark.parametrize(
    "change",
    [
        {"version": 3},
        {"phrases": "heart failure"},
        {"segmented": 1},
        {"more": 1},
        {"languages": "english"},
        {"languages": ["latin"]},
        {"min_length": "3"},
        {"case": 1},
    ],
)
def test_damaged_settings_are_refused(change):
    with pytest.raises(InputError):
        Tokeniser.from_dict(Tokeniser().to_dict() | change)
    with pytest.raises(InputError):
        Tokeniser.from_dict(None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("case", "upper"), ("min_length", 0), ("min_length", True), ("max_length", 2000), ("digits", 1)),
        *(("languages", "english"), ("languages", ("klingon",)), ("stop_words", (1,)), ("stemmer", "porter")),
        *(("phrases", "heart failure"), ("phrases", (1,)), ("segmented", None)),
    ],
)
def test_bad_parameters(name, value):
    with pytest.raises(InputError, match=f"'{name}' parameter of Tokeniser"):
        Tokeniser(**{name: value})


def test_usable_words():
    assert Tokeniser(stemmer="s").usable(["Lungs", "lung", "the", "New York", "x", "Straße"]) == ["lung", "straße"]
