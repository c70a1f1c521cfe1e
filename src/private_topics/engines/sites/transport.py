"""Messages over gRPC and TLS: each site keeps one call to the coordinator open, on which it is asked and answers.

TLS shows the coordinator's certificate to the sites; a site shows who it is by signing a fresh number with the key
that stands in the file of all keys. Neither protects the integers: these are masked, and every answer is signed. The
coordinator sends no code and no settings: what a site computes it has from its own command.
"""

from __future__ import annotations

import os
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from private_topics.engines.sites.identities import SiteDirectory
from private_topics.engines.sites.messages import Greeting, patience_for
from private_topics.engines.sites.site import LOST, Site
from private_topics.errors import EngineError, InputError, require

METHOD = "/private_topics.Sites/Talk"
LARGEST_MESSAGE = 1 << 28
"""Bytes: the pairs of 8,000 words. Anybody who finds the port can send one."""
HELLO_SECONDS = 10.0
"""Who has not said by then who it is must go: every call takes a thread of the coordinator."""
EVERY = 0.5
"""Seconds between two looks whether a coordinator is there, and between two words on who is."""
_NUMBER_BYTES = 8
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/]+):([0-9]{1,5})")
_PROXIES = "grpc_proxy", "https_proxy", "http_proxy"
_OPTIONS = [
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    ("grpc.max_send_message_length", LARGEST_MESSAGE),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.so_reuseport", 0),  # else two coordinators share a port, and the sites are split between them
]


def _grpc() -> Any:
    require("grpc", "Several sites need the package grpcio", "sites")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # errors are told in our own words
    import grpc

    return grpc


class _Line:
    """The open call of one site, at the coordinator: what to send, and whether it still stands."""

    def __init__(self) -> None:
        self.outbox: queue.Queue[bytes | None] = queue.Queue()
        self.open = True


class SiteListener:
    """The coordinator's side: an `ask` for `SiteCoordinator`.

    address : where to listen, such as "0.0.0.0:7600"; with port 0 any free one, see `port`.
    certificate, key : of the coordinator, PEM. Sites are given the certificate, or that of its issuer.
    patience : how many seconds a site may take for an answer, its pass over its documents included.
    """

    def __init__(
        self, directory: SiteDirectory, address: str, certificate: bytes, key: bytes, *, patience: float = 600.0
    ) -> None:
        grpc = _grpc()
        from concurrent.futures import ThreadPoolExecutor

        _check_pair(certificate, key)
        self.directory, self.patience = directory, patience
        self._lines: dict[str, _Line] = {}
        self._answers: dict[str, bytes] = {}
        self._number = 0
        self._news = threading.Condition()
        workers = ThreadPoolExecutor(2 * len(directory.names) + 4, thread_name_prefix="site")
        self._server = grpc.server(workers, options=_OPTIONS)
        handler = grpc.stream_stream_rpc_method_handler(self._talk)
        service, method = METHOD.strip("/").split("/")
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
        try:
            self.port = self._server.add_secure_port(address, grpc.ssl_server_credentials([(key, certificate)]))
        except RuntimeError:
            raise InputError(f"The coordinator cannot listen at {address!r}: is the port in use?") from None

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: Any) -> None:
        with self._news:
            for line in self._lines.values():
                line.outbox.put(None)
        self._server.stop(5.0).wait()

    def wait(self, timeout: float, say: Callable[[str], None] = lambda _: None) -> list[str]:
        """The sites that are there, as soon as all are, or after so many seconds. `say` is told of who comes."""
        end, seen = time.monotonic() + timeout, None
        while True:
            with self._news:
                there = self._there()
                if there == seen:
                    self._news.wait(max(0.0, min(EVERY, end - time.monotonic())))
                    there = self._there()
            missing = [name for name in self.directory.names if name not in there]
            if there != seen:
                waiting = f", without {', '.join(missing)}" if missing else ""
                say(f"{len(there)} of {len(self.directory.names)} sites are there{waiting}.")
            if not missing or time.monotonic() >= end:
                return there
            seen = there

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        """What each site answers; none of those that are gone, or take too long."""
        with self._news:
            self._number, self._answers = self._number + 1, {}
            asked = [name for name in messages if name in self._there()]
            for name in asked:
                self._lines[name].outbox.put(self._number.to_bytes(_NUMBER_BYTES, "big") + messages[name])
            patience = patience_for(messages, self.patience)
            self._news.wait_for(lambda: set(asked) & set(self._there()) <= set(self._answers), patience)
            return dict(self._answers)

    def _there(self) -> list[str]:
        return [name for name in self.directory.names if name in self._lines and self._lines[name].open]

    def _talk(self, answers: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """One call: who is it? Then everything that is to be sent, while another thread reads the answers."""
        greeting = Greeting()
        deadline = threading.Timer(HELLO_SECONDS, context.cancel)
        deadline.daemon = True
        deadline.start()
        yield bytes(_NUMBER_BYTES) + greeting.question
        try:
            name = greeting.name_in(next(answers, b"")[_NUMBER_BYTES:], self.directory)
        finally:
            deadline.cancel()
        if name is None:
            context.abort(_grpc().StatusCode.UNAUTHENTICATED, "not a site of the directory")
        assert name is not None  # abort raises
        line = _Line()
        with self._news:
            begun = self._number > 0 and name in self._lines
            if not begun:  # a site that starts again before the first question takes its own place
                if name in self._lines:
                    self._lines[name].outbox.put(None)
                self._lines[name] = line
                self._news.notify_all()
        if begun:
            context.abort(_grpc().StatusCode.ALREADY_EXISTS, "this site takes part already, or has")
        threading.Thread(target=self._read, args=(name, line, answers), daemon=True).start()
        while (item := line.outbox.get()) is not None:
            yield item

    def _read(self, name: str, line: _Line, answers: Iterator[bytes]) -> None:
        try:
            for data in answers:
                with self._news:
                    number = int.from_bytes(data[:_NUMBER_BYTES], "big")
                    if number == self._number and self._lines[name] is line:  # else it is late, or from a call before
                        self._answers.setdefault(name, data[_NUMBER_BYTES:])
                    self._news.notify_all()
        except Exception:  # the call is broken: whatever the reason, the site is gone
            pass
        finally:
            with self._news:
                line.open = False
                line.outbox.put(None)
                self._news.notify_all()


class SiteCall:
    """A site's side: answers the coordinator, in a thread of its own, while the fit runs.

    address : of the coordinator, "host:port". root : its certificate, or that of its issuer, PEM.
    """

    def __init__(self, site: Site, address: str, root: bytes, *, wait: float = 60.0) -> None:
        self.site, self.address, self.root, self.wait = site, address, root, wait
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise InputError(f"The address of a coordinator must be 'host:port'. Got {address!r} instead.")
        self._host, self._port = found[1].strip("[]"), int(found[2])
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            self._tls.load_verify_locations(cadata=root.decode("ascii"))
        except (ssl.SSLError, ValueError):
            raise InputError("The certificate of the coordinator is no PEM.") from None
        self._tls.verify_flags = ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        self._tls.set_alpn_protocols(["h2"])
        self._outbox: queue.Queue[bytes | None] = queue.Queue()
        self._thread = threading.Thread(target=self._listen, daemon=True, name="coordinator")

    def __enter__(self) -> Self:
        grpc = _grpc()
        if not any(os.environ.get(name) for name in _PROXIES):  # through which only gRPC finds its way
            self._find()
        self._channel = grpc.secure_channel(
            self.address, grpc.ssl_channel_credentials(root_certificates=self.root), options=_OPTIONS
        )
        try:
            grpc.channel_ready_future(self._channel).result(timeout=self.wait)
        except grpc.FutureTimeoutError:
            self._channel.close()
            raise EngineError(
                f"No coordinator with the expected certificate answers at {self.address!r} within {self.wait:g} "
                "seconds. Nothing was charged."
            ) from None
        self._thread.start()
        return self

    def _find(self) -> None:
        """Wait until the coordinator is there, with its certificate: gRPC would not say what is wrong."""
        end = time.monotonic() + self.wait
        while True:
            try:
                with (
                    socket.create_connection((self._host, self._port), timeout=max(1.0, self.wait)) as line,
                    self._tls.wrap_socket(line, server_hostname=self._host),
                ):
                    return
            except ssl.SSLCertVerificationError as error:
                raise InputError(
                    f"The coordinator at {self.address!r} shows another certificate than the one given, or one for "
                    f"another host: {error.verify_message}. Nothing was charged."
                ) from None
            except OSError as error:
                if time.monotonic() >= end:
                    raise EngineError(
                        f"No coordinator answers at {self.address!r} within {self.wait:g} seconds "
                        f"({error.strerror or type(error).__name__}). Nothing was charged."
                    ) from None
            time.sleep(EVERY)

    def __exit__(self, kind: Any, *_: Any) -> None:
        """The coordinator is told that the fit is over before the call ends."""
        self.site.end(failed=True)  # says nothing new where it has ended
        self._thread.join(self.wait if kind is None else 1.0)
        self._outbox.put(None)
        self._channel.close()

    def _listen(self) -> None:
        grpc, why = _grpc(), LOST
        try:
            for data in self._channel.stream_stream(METHOD)(iter(self._outbox.get, None)):
                number, message = data[:_NUMBER_BYTES], data[_NUMBER_BYTES:]
                self._outbox.put(number + self.site.answer(message))
        except grpc.RpcError as error:
            why = _REFUSED.get(error.code().name, LOST)
        except EngineError:
            pass
        finally:
            self.site.hang_up(why)


_REFUSED = {
    "UNAUTHENTICATED": "The coordinator does not know this site: its file of sites has another key for it, or none.",
    "ALREADY_EXISTS": "This site takes part in the fit already, or had begun to: start it again with the next fit.",
}


def _check_pair(certificate: bytes, key: bytes) -> None:
    """Refuse what is no certificate with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        of = x509.load_pem_x509_certificate(certificate).public_key()
    except ValueError:
        raise InputError("The coordinator's certificate is no PEM.") from None
    try:
        own = load_pem_private_key(key, None).public_key()
    except (TypeError, ValueError):
        raise InputError("The coordinator's private key is no PEM, or has a password.") from None
    if of != own:
        raise InputError("The coordinator's private key is not the one of its certificate.")


def _as_ascii(host: str) -> str:
    try:
        name = host.encode("idna").decode("ascii")
    except UnicodeError:
        name = ""
    if not re.fullmatch(r"[A-Za-z0-9-]+([.][A-Za-z0-9-]+)*", name):
        raise InputError(f"The host must be a name or an address, without a port. Got {host!r} instead.")
    return name


def self_signed(host: str, days: int = 365) -> tuple[bytes, bytes]:
    """A certificate for a coordinator at this host name, and its private key, PEM."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "private-topics coordinator")])
    try:
        alternative: x509.GeneralName = x509.IPAddress(ip_address(host))
    except ValueError:
        alternative = x509.DNSName(_as_ascii(host))
    now = datetime.fromtimestamp(time.time(), UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private
