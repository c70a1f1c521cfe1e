"""A Flower federation as transport, without its processes (tests/cli/test_flower.py): who is who, whose run it is."""

from __future__ import annotations

import json
import threading
import tomllib
from typing import ClassVar

import pytest
from site_support import directory_of, identities

pytest.importorskip("cryptography")
pytest.importorskip("flwr")

from flwr.app import ConfigRecord, Error, Message, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from private_topics.engines.sites.flower import FlowerAsk, FlowerCall, _content, _data, write_bundle
from private_topics.engines.sites.identities import SiteDirectory
from private_topics.engines.sites.messages import Greeting, greeted
from private_topics.engines.sites.site import Site
from private_topics.engines.sites.transport import self_signed
from private_topics.errors import EngineError, InputError

HERE = "127.0.0.1:1"


class Nodes(Grid):
    """Nodes by number, each a function from a question to its answer: bytes, an error, or None for silence."""

    lies: ClassVar = {}
    """What answers say of themselves."""

    def __init__(self, nodes):
        self.nodes, self.answers, self.pushed = nodes, {}, 0

    def get_node_ids(self):
        return list(self.nodes)

    def push_messages(self, messages):
        for message in messages:
            message.metadata.__dict__["_message_id"] = number = str(self.pushed)
            self.pushed += 1
            answer = self.nodes[message.metadata.dst_node_id](_data(message))
            if answer is not None:
                reply = answer if isinstance(answer, Error) else _content(answer)
                self.answers[number] = Message(reply, reply_to=message)
                self.answers[number].metadata.__dict__.update(self.lies)
            yield number

    def pull_messages(self, message_ids):
        return [self.answers[number] for number in list(message_ids) if number in self.answers]

    def create_message(self, *_, **__):
        raise AssertionError

    send_and_receive = run = set_run = create_message


@pytest.fixture(autouse=True)
def inside_a_run(monkeypatch):
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


@pytest.fixture
def known():
    return identities(3)


def asking(known, nodes, wait=2.0):
    return FlowerAsk(Nodes(nodes), directory_of(known, 3), wait=wait, patience=1.0)


def test_a_node_has_the_name_whose_key_it_has(known):
    first, second, _ = known.values()
    old = greeted(Greeting().question, second)
    nodes = {
        7: lambda data: greeted(data, first) or b"answer to " + data,
        8: lambda data: old,  # another one's signature of another number
        9: lambda data: b"garbage",
    }
    ask = asking(known, nodes, wait=0.5)
    assert ask.there == ["clinic-00"]
    assert ask({"clinic-00": b"question", "clinic-01": b"to nobody"}) == {"clinic-00": b"answer to question"}


def test_who_is_silent_or_given_up_has_no_answer(known):
    nodes = {
        number: lambda data, one=one, then=then: greeted(data, one) or then
        for number, (one, then) in enumerate(zip(known.values(), (None, Error(0), b"answer"), strict=True))
    }
    ask = asking(known, nodes)
    assert ask.there == list(known)
    assert ask(dict.fromkeys(known, b"question")) == {"clinic-02": b"answer"}


def test_a_message_that_the_superlink_does_not_take_ends_the_fit(known, monkeypatch):
    nodes = {number: lambda data, one=one: greeted(data, one) or b"" for number, one in enumerate(known.values())}
    ask = asking(known, nodes)
    monkeypatch.setattr(Nodes, "push_messages", lambda self, messages: [])
    with pytest.raises(EngineError, match="this size"):
        ask(dict.fromkeys(known, b"question"))


def test_an_answer_is_of_the_node_that_was_asked_whatever_it_says(known, monkeypatch):
    monkeypatch.setattr(Nodes, "lies", {"_src_node_id": 0, "_reply_to_message_id": "0"})
    nodes = {
        number: lambda data, one=one: greeted(data, one) or one.name.encode()
        for number, one in enumerate(known.values())
    }
    ask = asking(known, nodes)
    assert ask(dict.fromkeys(known, b"question")) == {name: name.encode() for name in known}


def test_what_is_no_message_silences_its_sender_alone(known, monkeypatch):
    first, second, third = known
    nodes = {
        number: lambda data, one=one: greeted(data, one) or b"answer" for number, one in enumerate(known.values())
    }
    ask = asking(known, nodes)
    pulled = Nodes.pull_messages

    def pull(self, message_ids):
        if any(int(number) % len(nodes) == 1 for number in message_ids):
            raise ValueError("no message")
        return pulled(self, message_ids)

    monkeypatch.setattr(Nodes, "pull_messages", pull)
    assert ask(dict.fromkeys(known, b"question")) == {first: b"answer", third: b"answer"}
    assert second not in ask(dict.fromkeys(known, b"question"))


@pytest.mark.parametrize("ends", ["before the question", "while it is answered"])
def test_a_site_knows_when_it_has_told_the_coordinator_that_the_fit_is_over(known, ends):
    site = Site(known["clinic-00"], directory_of(known, 3), ["word"])
    call = FlowerCall(site, HERE)
    call._said(1, Greeting().question)
    assert not site.is_end(b"")
    if ends == "before the question":
        site.end()
        assert site.is_end(call._said(1, b"begin"))
    else:
        thread = threading.Timer(0.2, site.end)
        thread.start()
        assert site.is_end(call._said(1, b"begin"))
    assert not site.is_end(call._said(1, Greeting().question))
    assert not site.is_end(call._said(2, b"of another run"))


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.0.0.1:abc", "http://127.0.0.1:1", "::1:9094", "127.0.0.1:80@elsewhere", "127.0.0.1:1/"],
)
def test_what_is_no_address_is_refused(known, address):
    site = Site(known["clinic-00"], directory_of(known, 3), ["word"])
    with pytest.raises(InputError, match="host:port"):
        FlowerCall(site, address)


@pytest.mark.parametrize("root", [b"no certificate", b"\xff\xfe"])
def test_what_is_no_certificate_is_refused(known, root):
    site = Site(known["clinic-00"], directory_of(known, 3), ["word"])
    with pytest.raises(InputError, match="no PEM"):
        FlowerCall(site, "supernode.example:9094", root)


def test_a_site_answers_the_run_that_greeted_last_before_the_fit_began(known):
    identity = known["clinic-00"]
    site = Site(identity, directory_of(known, 3), ["word"])
    asked = []
    site.answer = lambda data: asked.append(data) or b"answer"
    call = FlowerCall(site, HERE)
    assert call._said(1, b"left from another fit") == b""
    for run in (1, 2):
        greeting = Greeting()
        assert greeting.name_in(call._said(run, greeting.question), site.directory) == "clinic-00"
    assert call._said(1, b"too late") == b""
    assert call._said(2, b"first") == b"answer"
    assert call._said(3, Greeting().question)  # somebody else, while the fit runs
    assert call._said(3, b"from somebody else") == b""
    assert call._said(2, b"second") == b"answer"
    assert asked == [b"first", b"second"]


@pytest.mark.parametrize("address", ["192.0.2.1:9094", "supernode.example:9094"])
def test_a_supernode_on_another_machine_needs_a_certificate(known, address):
    site = Site(known["clinic-00"], directory_of(known, 3), ["word"])
    with pytest.raises(InputError, match="certificate"):
        FlowerCall(site, address)
    FlowerCall(site, address, self_signed("supernode.example")[0])


def test_a_bundle_holds_settings_and_no_code(known, tmp_path):
    directory = directory_of(known, 2)
    write_bundle(tmp_path / "bundle", directory, wait=5.0, patience=7.5)
    assert [path.name for path in (tmp_path / "bundle").iterdir()] == ["pyproject.toml"]
    app = tomllib.loads((tmp_path / "bundle" / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    assert SiteDirectory.parsed(json.loads(app["config"]["sites"])).digest == directory.digest
    assert (app["config"]["wait"], app["config"]["patience"]) == (5.0, 7.5)
    assert all(part.startswith("private_topics.") for part in app["components"].values())
    with pytest.raises(InputError, match="there already"):
        write_bundle(tmp_path, directory, wait=5.0, patience=7.5)


def test_a_message_of_another_kind_is_empty(known):
    for content in (RecordDict(), RecordDict({"message": ConfigRecord({"message": 1})})):
        assert _data(Message(content, 1, "query")) == b""
