"""Commands of one of several sites, with any values; the coordinator and the sites that they need are there."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import private_topics
from fuzz_support import CALL_SECONDS, CHEAP, COMMANDS, GOOD, Call, call_command, odd_argument_of
from hang_support import SOON
from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.transport import SiteListener, self_signed

HOST = "127.0.0.1"
NEW, PAIR, HERE = "NEW", "PAIR", "HERE"
"""In a command line: a file that is not there yet, a site with its key, and the coordinator's address."""
OF_SITES: dict[str, list[str]] = {
    "name": ["c", "site-1"], "host": [HOST, "localhost"], "days": ["1", "365"], "output": [NEW], "key": ["root.key"],
    "certificate": ["root.pem"], "sites": ["sites.json"], "honest": ["1", "2"], "listen": [HERE],
    "source": ["texts.jsonl"], "identity": ["a.key"], "coordinator": [HERE], "root": ["root.pem"],
    "vocabulary": ["words.txt"],
    "knowledge": ["none"], "ledger": ["ledger.db"], "wait": ["2"], "patience": ["5"],
}  # fmt: skip
ODD_OF_SITES = {
    "wait": ["0", "0.1", "x", "-1", ""], "patience": ["0.1", "0", "x", "-1"],
    "coordinator": [f"{HOST}:1", "x", "", ":", HERE],
    "listen": [f"{HOST}:0", "x", "", f"{HOST}:99999", ":"],
    "honest": ["0", "3", "-1", "x"], "days": ["0", "x", "99999999999"], "host": ["", "a b", "ä", "x" * 300, "\0"],
    "name": ["", "a=b", "x" * 300, "ä", "\n", "\ud800"],
    "sites": ["a.key", "empty.txt", "missing", "folder", "root.pem"],
    "alpha0": ["0.5", "0", "nan", "1e300"], "neighbours": ["add-remove", "zero-out", "x"],
}  # fmt: skip
WANTED = (
    "coordinator",
    "root",
    "knowledge",
    "ledger",
    "corpus",
    "wait",
    "patience",
    "anyway",
    "epsilon",
    "delta",
    "topics",
)
"""Options of the sites that are usually given: else they wait long, charge nothing, or refuse what is hopeless."""
NEVER_LEFT_OUT = ("wait", "patience", "listen")
PAIRS = [
    [PAIR + "a", PAIR + "b"],
    [PAIR + "a", PAIR + "a"],
    [PAIR + "a"],
    ["a=b", "="],
    ["\0"],
    [PAIR + "a", "b=" + "0" * 64],
]
SITE_COMMANDS = sorted(path for path in COMMANDS if path[0] == "sites" and path[1] != "demo")
"""The demonstration starts processes and takes minutes: tests/cli/test_sites_demo.py."""


def lay_out_sites(folder: Path) -> None:
    """Keys and ledgers of two sites, and the coordinator's certificate."""
    known = {name: SiteIdentity.new(name) for name in ("a", "b")}
    for name, identity in known.items():
        identity.write(folder / f"{name}.key")
    SiteDirectory({name: one.public_key for name, one in known.items()}, 1).write(folder / "sites.json")
    private_topics.DurableLedger.register(folder / "ledger-b.db", "notes", 100.0, 1e-3)
    for name, text in zip(("root.pem", "root.key"), self_signed(HOST), strict=True):
        (folder / name).write_bytes(text)


@st.composite
def site_command_lines(draw: st.DrawFn) -> tuple[list[str], bool]:
    """A command of one of several sites; up to two values are odd. Also whether none is."""
    path = draw(st.sampled_from(SITE_COMMANDS))
    parameters = [parameter for parameter in COMMANDS[path].params if parameter.name != "help"]
    names = [parameter.name for parameter in parameters]
    strange, more = (draw(st.one_of(st.just([]), st.lists(st.sampled_from(names), max_size=2))) for _ in range(2))
    parts = list(path)
    for parameter in parameters:
        name, is_odd = parameter.name, parameter.name in strange
        given = name in NEVER_LEFT_OUT or parameter.required or name in (*WANTED, *more)
        if not given or (is_odd and name not in NEVER_LEFT_OUT and draw(st.integers(0, 4)) == 0):
            continue
        if getattr(parameter, "is_flag", False):
            parts.append(parameter.opts[0])
        elif parameter.nargs == -1:
            parts += draw(st.sampled_from(PAIRS if is_odd else PAIRS[:1]))
        else:
            usual_values = OF_SITES.get(name) or GOOD.get(name) or CHEAP.get(name, ["1"])[:2]
            if path[1] == "certificate" and name == "key":
                usual_values = [NEW]
            odd_values = st.sampled_from(ODD_OF_SITES[name]) if name in ODD_OF_SITES else odd_argument_of(parameter)
            value = draw(odd_values if is_odd else st.sampled_from(usual_values))
            parts += [value] if parameter.param_type_name == "argument" else [parameter.opts[0], value]
    return parts, not strange


_new_names = itertools.count()


def filled_in(arguments: list[str], address: str) -> list[str]:
    """A command line with new names, keys and the coordinator's address."""
    filled = []
    for part in arguments:
        if part.startswith(PAIR):
            name = part.removeprefix(PAIR)
            part = f"{name}={SiteIdentity.read(Path(f'{name}.key')).public_key.hex()}"
        filled.append(f"new-{next(_new_names)}" if part == NEW else part.replace(HERE, address))
    return filled


def call_sites(arguments: list[str], whole: bool) -> None:
    """The command, and, where it needs them, the coordinator and the other sites of its fit, in threads."""
    if arguments[1] == "fit" and HERE in arguments:
        with coordinator() as address, site(arguments, "b", address):
            call_command(filled_in(arguments, address))
    elif arguments[1] == "coordinate" and whole:
        address = f"{HOST}:{free_port()}"
        fit = [
            "sites",
            "fit",
            "texts.jsonl",
            "-o",
            NEW,
            "--sites",
            "sites.json",
            "--identity",
            "a.key",
            "--root",
            "root.pem",
        ]
        fit += [
            "--coordinator",
            HERE,
            "--vocabulary",
            "words.txt",
            "--knowledge",
            "none",
            "--topics",
            "1",
            "--wait",
            "5",
        ]
        with site(fit, "a", address), site(fit, "b", address):
            call_command(filled_in(arguments, address))
    else:
        call_command(filled_in(arguments, f"{HOST}:{free_port()}"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def in_thread(work: Callable[[], Any]) -> Iterator[None]:
    """Work that goes on meanwhile, whose own failure is nobody's business."""

    def attempt() -> None:
        with contextlib.suppress(Exception, SystemExit):
            work()

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(CALL_SECONDS)


@contextlib.contextmanager
def coordinator() -> Iterator[str]:
    """The coordinator of the laid-out sites: its address."""
    known, over = SiteDirectory.read(Path("sites.json")), threading.Event()
    certificate, key = (Path(name).read_bytes() for name in ("root.pem", "root.key"))

    def add_up() -> None:
        with listener:  # closed at the end of the fit: then the sites need not wait
            while len(listener.wait(SOON)) < len(known.names) and not over.is_set():
                pass
            SiteCoordinator(known, listener.ask).run()

    listener = SiteListener(known, f"{HOST}:0", certificate, key, patience=5.0)
    with in_thread(add_up):
        try:
            yield f"{HOST}:{listener.port}"
        finally:
            over.set()


def site(arguments: list[str], name: str, address: str) -> contextlib.AbstractContextManager[None]:
    """The same fit at another site."""
    own = {"a.key": f"{name}.key", "ledger.db": "ledger-b.db"} if name == "b" else {}
    given = filled_in([own.get(part, part) for part in arguments], address)
    return in_thread(lambda: COMMANDS["sites", "fit"].main(given[2:], standalone_mode=False))


@st.composite
def site_calls(draw: st.DrawFn) -> Callable[[], None]:
    arguments, whole = draw(site_command_lines())
    return Call(f"private-topics {arguments!r}", lambda: call_sites(arguments, whole))
