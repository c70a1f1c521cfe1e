"""What is pointed out in released words: names, stop words, markup, clauses."""

import pytest

from private_topics import InputError, Tokeniser, hints, possible_names
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.evaluation.released_words import known_names

CONTENT = ["patient", "heart", "pain", "nurse", "parking", "soup", "dinner", "ward", "surgery", "invoice"]


def test_names_are_marked_in_order():
    words = [["patient", "Maria", "john"], ["mohammed", "heart", "john", "anna_report"]]
    assert possible_names(words) == ["Maria", "john", "mohammed", "anna_report"]
    assert possible_names(CONTENT) == []
    with pytest.raises(InputError, match="'words' parameter of possible_names"):
        possible_names("maria")


def test_the_list_holds_names_in_one_form_and_few_ordinary_words():
    names = known_names()
    assert len(names) > 1_000
    assert all(Tokeniser(languages=(), min_length=2).words(name) == [name] for name in names)
    ordinary = {
        "will",
        "mark",
        "grace",
        "hope",
        "may",
        "rose",
        "bill",
        "frank",
        "grant",
        "rich",
        "art",
        "said",
    }
    assert not names & ordinary
    assert not names & (STOP_WORDS["english"] - {"don"})


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_of_a_language_are_noticed(language):
    stops = sorted(STOP_WORDS[language])[40:48]
    assert any(language.capitalize() in hint for hint in hints([CONTENT, stops]))


def test_markup_and_clauses_are_noticed():
    assert "nbsp" in hints([*CONTENT, "nbsp"])[0]
    assert "div" in hints([*CONTENT, "div", "span"])[0]
    assert hints([*CONTENT, "div"]) == []
    assert "segmented" in hints([*CONTENT, "患者昨天下午因为胸痛"])[0]


def test_nothing_is_said_of_good_words():
    assert hints(CONTENT) == []
    assert hints([]) == []
    many = [f"{word}{i}" for word in CONTENT for i in range(10)]
    assert hints([*many, "war", "die", "man"]) == []  # English, though German has these too
    assert hints([*many, "war", "die", "man", "und", "nicht", "aber"]) != []
