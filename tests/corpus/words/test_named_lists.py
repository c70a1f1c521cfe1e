"""Public word lists by name: fixed by the release of the package that ships them, recorded by name and digest."""

from __future__ import annotations

import sys
from importlib.metadata import version

import pytest

from private_topics import InputError
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import LANGUAGES, named_word_list

wordfreq = pytest.importorskip("wordfreq", reason="needs the extra 'words'")


def test_the_list_is_the_most_frequent_words_in_order() -> None:
    found = named_word_list("english", 500)
    assert list(found.words) == wordfreq.top_n_list("en", 500, wordlist="small")
    assert found.name == f"wordfreq {version('wordfreq')}, english, the 500 most frequent"
    assert found == named_word_list("english", 500)
    assert len(named_word_list("english")) == 10_000
    assert list(named_word_list("english", 10**6).words) == wordfreq.top_n_list("en", 10**6, wordlist="small")


@pytest.mark.skipif(version("wordfreq") != "3.1.1", reason="another release of wordfreq has other words")
def test_the_digest_is_the_one_of_the_pinned_release() -> None:
    listed = named_word_list("english", 3_000, usable=Tokeniser().usable)
    assert listed.digest == "3fa68590b598f2c88d23778031c487764d1f82478a258bf0a77457b2a7329ec8"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_list_that_its_tokeniser_can_use(language: str) -> None:
    tokeniser = Tokeniser(languages=(language,))
    listed = named_word_list(language, 2_000, usable=tokeniser.usable)
    assert len(listed) == 2_000
    assert tokeniser.usable(listed.words) == list(listed.words)
    assert not STOP_WORDS[language] & set(listed.words)


def test_an_unknown_name_and_an_absent_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="the names are dutch, english"):
        named_word_list("klingon")
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(InputError, match=r"pip install 'private-topics\[words\]'"):
        named_word_list("english")
