"""Who is there: a fresh number, signed by the key that stands in the file of all keys."""

from __future__ import annotations

import pytest
from site_support import directory_of, identities

pytest.importorskip("cryptography")

from private_topics.engines.sites.identities import SiteIdentity
from private_topics.engines.sites.messages import Greeting, Message, greeted

KNOWN = identities(3)
DIRECTORY = directory_of(KNOWN, 3)
ONE = KNOWN["clinic-01"]


def test_who_signs_the_number_is_known_by_name():
    greeting = Greeting()
    assert greeting.name_in(greeted(greeting.question, ONE), DIRECTORY) == "clinic-01"


def test_every_greeting_has_another_number():
    assert len({Greeting().question for _ in range(100)}) == 100


def test_an_answer_to_another_greeting_is_no_answer():
    assert Greeting().name_in(greeted(Greeting().question, ONE), DIRECTORY) is None


@pytest.mark.parametrize("name", ["clinic-01", "clinic-09"])
def test_a_name_without_its_key_is_no_answer(name):
    greeting = Greeting()
    assert greeting.name_in(greeted(greeting.question, SiteIdentity.new(name)), DIRECTORY) is None


def test_a_signature_of_something_else_is_no_answer():
    greeting = Greeting()
    assert greeting.name_in(Message("key", {"site": "clinic-01", "nonce": 1}).signed(ONE), DIRECTORY) is None
    assert all(greeting.name_in(data, DIRECTORY) is None for data in (b"", b"x", b"x" * 200))


def test_only_a_greeting_is_greeted():
    assert greeted(Message("begin", {"nonce": "00"}).packed(), ONE) is None
    assert greeted(Message("hello").packed(), ONE) is None
    assert greeted(Message("hello", {"nonce": "anything else to sign"}).packed(), ONE) is None
    assert greeted(b"", ONE) is None
