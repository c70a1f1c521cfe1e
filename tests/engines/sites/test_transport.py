"""gRPC and TLS between a coordinator and sites: who is let in, what is late, what is lost."""

from __future__ import annotations

import queue
import threading
from contextlib import ExitStack

import numpy as np
import pytest
from site_support import directory_of, identities

from hang_support import FOREVER, HANG, ended, until

pytest.importorskip("cryptography")
pytest.importorskip("grpc")

import grpc

from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteIdentity
from private_topics.engines.sites.messages import Message
from private_topics.engines.sites.site import Site
from private_topics.engines.sites.transport import METHOD, SiteCall, SiteListener, self_signed
from private_topics.errors import EngineError, InputError

HOST = "127.0.0.1"
CERTIFICATE, KEY = self_signed(HOST)
WORDS = ["word"]


@pytest.fixture
def place(monkeypatch):
    """A coordinator that listens, and the sites that it knows; each can be connected."""
    monkeypatch.setattr("private_topics.engines.sites.transport.HELLO_SECONDS", FOREVER)

    class Place:
        def __init__(self, count=3, honest=3):
            self.known = identities(count)
            self.directory = directory_of(self.known, honest)
            self.listener = SiteListener(self.directory, f"{HOST}:0", CERTIFICATE, KEY, patience=FOREVER)
            listening.append(self.listener.__enter__())

        def site(self, name, identity=None):
            return Site(identity or self.known[name], self.directory, WORDS, patience=FOREVER)

        def connected(self, name, root=CERTIFICATE, wait=FOREVER):
            site = self.site(name)
            call = SiteCall(site, f"{HOST}:{self.listener.port}", root, wait=wait)
            stack.push(lambda *_: site.end())
            stack.enter_context(call)
            return site, call

        def known_as(self, *names):
            """Wait until these have said who they are, and nobody else."""
            until(lambda: self.listener.wait(0.0) == list(names))

    listening = []
    with ExitStack() as stack:
        yield Place
        for listener in listening:  # sites wait for the coordinator to end
            listener.__exit__()


def exchanged(site, values):
    """In a thread: the sum over all sites, or the error."""
    found = []

    def work():
        try:
            found.append(site.exchange(lambda: b"", values.size, lambda _: values))
        except EngineError as error:
            found.append(error)
        site.end()

    thread = threading.Thread(target=work)
    thread.start()
    return thread, found


@pytest.mark.parametrize("size", [3, 2_000_000])
def test_sums_come_over_the_network(place, size):
    here = place()
    sites = {name: here.connected(name)[0] for name in here.known}
    assert here.listener.wait(HANG) == list(here.known)
    values = {name: np.arange(size) * (place + 1) for place, name in enumerate(sites)}
    running = {name: exchanged(site, values[name]) for name, site in sites.items()}
    SiteCoordinator(here.directory, here.listener.ask).run()
    for thread, found in running.values():
        thread.join(HANG)
        assert np.array_equal(found[0], sum(values.values()))


def test_another_certificate_is_not_trusted(place):
    here = place()
    other, _ = self_signed(HOST)
    with pytest.raises(InputError, match="another certificate than the one given"):
        ended(lambda: here.connected("clinic-00", root=other))  # nobody waits for it to change
    assert here.listener.wait(0.0) == []


def test_a_certificate_for_another_host_is_not_trusted():
    certificate, key = self_signed("coordinator.example")
    known = identities(2)
    directory = directory_of(known, 2)
    site = Site(known["clinic-00"], directory, WORDS)
    with (
        SiteListener(directory, f"{HOST}:0", certificate, key) as listener,
        pytest.raises(InputError, match="for another host: IP address mismatch"),
        SiteCall(site, f"{HOST}:{listener.port}", certificate, wait=HANG),
    ):
        pass


@pytest.mark.parametrize("name", ["clinic-01", "stranger"])
def test_who_cannot_sign_for_a_site_is_not_let_in(place, name):
    here = place()
    site = here.site("clinic-00")
    site.identity = SiteIdentity.new(name)  # says the name, has not the key
    with SiteCall(site, f"{HOST}:{here.listener.port}", CERTIFICATE, wait=HANG):
        with pytest.raises(EngineError, match=r"does not know this site.* Nothing was charged[.]"):
            site.exchange(lambda: b"", 1, lambda _: np.zeros(1, np.int64))
        assert here.listener.wait(0.0) == []


def test_who_says_nothing_takes_no_place_from_the_sites(place, monkeypatch):
    """As many calls as the coordinator has threads, none of which says who it is; a site comes; their time ends."""
    over = []

    class Timer(threading.Thread):
        """Over when the test says so."""

        def __init__(self, _, function):
            super().__init__(target=function)
            self.cancel = lambda: None

        def start(self):
            over.append(super().start)

    here = place()
    monkeypatch.setattr(threading, "Timer", Timer)
    credentials = grpc.ssl_channel_credentials(root_certificates=CERTIFICATE)
    with grpc.secure_channel(f"{HOST}:{here.listener.port}", credentials) as channel:
        silent = [
            channel.stream_stream(METHOD)(iter(queue.Queue().get, None)) for _ in range(2 * len(here.known) + 4)
        ]
        until(lambda: len(over) == len(silent))
        here.connected("clinic-00")
        for end in list(over):
            end()
        here.known_as("clinic-00")
        for call in silent:
            call.cancel()


def test_a_late_answer_is_no_answer_to_the_next_question(place):
    here = place()
    site, _ = here.connected("clinic-00")
    late = threading.Event()

    def slow(data, timeout=None):
        late.wait(HANG)
        return b"answer to " + data

    here.known_as("clinic-00")
    site.answer = slow
    here.listener.patience = 0.3
    assert here.listener.ask({"clinic-00": b"first"}) == {}
    here.listener.patience = FOREVER
    threading.Timer(0.1, late.set).start()
    assert here.listener.ask({"clinic-00": b"second"}) == {"clinic-00": b"answer to second"}


def test_of_two_answers_the_first_counts_and_the_second_is_no_answer_to_the_next_question(place):
    here = place()
    site, call = here.connected("clinic-00")

    def twice(data, timeout=None):
        number = here.listener._number.to_bytes(8, "big")
        call._outbox.put(number + b"first answer to " + data)
        return b"second answer to " + data

    here.known_as("clinic-00")
    site.answer = twice
    for question in (b"one", b"two", b"three"):
        assert here.listener.ask({"clinic-00": question}) == {"clinic-00": b"first answer to " + question}


def test_a_site_that_goes_is_not_waited_for(place):
    here = place()
    site, call = here.connected("clinic-00")
    here.known_as("clinic-00")
    site.answer = lambda data, timeout=None: call._channel.close() or b""
    questions = {"clinic-00": b"question", "clinic-01": b"was never there"}
    assert ended(lambda: here.listener.ask(questions)) == {}


def test_a_coordinator_that_goes_ends_the_fit_of_every_site(place):
    here = place()
    sites = [here.connected(name)[0] for name in here.known]
    here.known_as(*here.known)
    running = [exchanged(site, np.zeros(2, np.int64)) for site in sites]
    here.listener._server.stop(0)
    for thread, found in running:
        thread.join(HANG)
        assert isinstance(found[0], EngineError)
        assert "lost" in str(found[0])


def test_messages_that_are_no_answers_do_no_harm(place):
    here = place()
    site, _ = here.connected("clinic-00")
    here.known_as("clinic-00")
    site.answer = lambda data, timeout=None: b""
    assert here.listener.ask({"clinic-00": Message("begin").packed()}) == {"clinic-00": b""}


def test_where_nobody_can_listen():
    known = identities(2)
    with pytest.raises(InputError, match="cannot listen"):
        SiteListener(directory_of(known, 2), "203.0.113.1:1", CERTIFICATE, KEY)


def test_two_coordinators_do_not_share_a_port(place):
    here = place()
    with pytest.raises(InputError, match="is the port in use"):
        SiteListener(here.directory, f"{HOST}:{here.listener.port}", CERTIFICATE, KEY)


@pytest.mark.parametrize(
    ("certificate", "key", "message"),
    [
        (b"none", KEY, "certificate is no PEM"),
        (KEY, CERTIFICATE, "certificate is no PEM"),
        (CERTIFICATE, b"none", "private key is no PEM"),
        (CERTIFICATE, self_signed(HOST)[1], "not the one of its certificate"),
    ],
)
def test_a_coordinator_needs_a_certificate_and_its_key(certificate, key, message):
    known = identities(2)
    with pytest.raises(InputError, match=message):
        SiteListener(directory_of(known, 2), f"{HOST}:0", certificate, key)


@pytest.mark.parametrize("address", ["localhost", "localhost:", "localhost:abc", "https://localhost:1", "a:b:1", ""])
def test_an_address_without_a_port_is_refused_at_once(place, address):
    here = place()
    with pytest.raises(InputError, match="'host:port'"):
        SiteCall(here.site("clinic-00"), address, CERTIFICATE)


@pytest.mark.parametrize("root", [b"", b"none", "Zertifikat für alle".encode()])
def test_what_is_no_certificate_is_refused_at_once(place, root):
    here = place()
    with pytest.raises(InputError, match="is no PEM"):
        SiteCall(here.site("clinic-00"), f"{HOST}:1", root)


def test_a_coordinator_that_is_not_there_costs_nothing(place):
    here = place()
    call = SiteCall(here.site("clinic-00"), f"{HOST}:1", CERTIFICATE, wait=0.1)
    with pytest.raises(
        EngineError, match=r"No coordinator answers at '127.0.0.1:1' within 0.1 .*Nothing was charged"
    ):
        call.__enter__()


def test_where_a_proxy_is_set_grpc_looks_for_the_coordinator(place, monkeypatch):
    """The proxy is not there, and the coordinator cannot be reached past it."""
    here = place()
    monkeypatch.setenv("grpc_proxy", f"http://{HOST}:1")
    with pytest.raises(EngineError, match=r"No coordinator with the expected certificate .*Nothing was charged[.]"):
        here.connected("clinic-00", wait=1.0)
    monkeypatch.setenv("no_grpc_proxy", HOST)
    here.connected("clinic-00")
    here.known_as("clinic-00")


def test_a_second_start_of_a_site_does_not_end_the_first(place):
    """Once it was asked something: before that, a site that starts again takes its own place."""
    here = place()
    first, _ = here.connected("clinic-00")
    here.known_as("clinic-00")
    second, _ = here.connected("clinic-00")
    with pytest.raises(EngineError, match="lost"):
        first.exchange(lambda: b"", 1, lambda _: np.zeros(1, np.int64))
    second.answer = lambda data, timeout=None: b"answer"
    assert here.listener.ask({"clinic-00": b"question"}) == {"clinic-00": b"answer"}
    third, _ = here.connected("clinic-00")
    with pytest.raises(EngineError, match=r"takes part in the fit already.* Nothing was charged[.]"):
        third.exchange(lambda: b"", 1, lambda _: np.zeros(1, np.int64))
    assert here.listener.ask({"clinic-00": b"question"}) == {"clinic-00": b"answer"}


def test_a_stop_is_not_waited_for_as_long_as_an_answer(place, monkeypatch):
    monkeypatch.setattr("private_topics.engines.sites.messages.FAREWELL", 0.2)
    here = place()
    site, _ = here.connected("clinic-00")
    here.known_as("clinic-00")
    over = threading.Event()
    site.answer = lambda data, timeout=None: over.wait(HANG) and b""
    assert ended(lambda: here.listener.ask({"clinic-00": Message("stop", {"why": "late"}).packed()})) == {}
    over.set()


def test_the_coordinator_says_who_is_there_and_who_is_missing(place):
    here, said = place(), []
    here.connected("clinic-01")
    here.known_as("clinic-01")
    assert here.listener.wait(0.0, said.append) == ["clinic-01"]
    assert said[-1] == "1 of 3 sites are there, without clinic-00, clinic-02."
    for name in ("clinic-00", "clinic-02"):
        here.connected(name)
    assert here.listener.wait(HANG, said.append) == list(here.known)
    assert said[-1] == "3 of 3 sites are there."


@pytest.mark.parametrize("host", ["localhost:7600", "a b", "", ".", "a..b", "x" * 300])
def test_a_certificate_is_for_a_host(host):
    with pytest.raises(InputError, match="must be a name or an address"):
        self_signed(host)


def test_a_certificate_for_a_host_with_umlauts():
    x509 = pytest.importorskip("cryptography.x509")
    found = x509.load_pem_x509_certificate(self_signed("klinik-köln.example")[0])
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["xn--klinik-kln-lcb.example"]
