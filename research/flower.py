"""Flower as the transport of several sites, beside our own: seconds, lines, packages, and whose code a site runs.

    python -m venv flower && flower/bin/pip install flwr '.[sites]'
    flower/bin/python research/flower.py --out research/results/flower.md

It needs an environment of its own, since Flower's pins and ours exclude each other; six minutes. Five sites and a
coordinator are processes on this machine, with TLS and node authentication: SuperNodes with their settings as they
come; lasting processes that speak to the SuperLink themselves (`flower_app/flower_adapter.py`); our own transport.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519
from packaging.requirements import Requirement

from flower_place import BIN, HERE, HOST, PATIENCE, QUESTIONS, SITES, place, ssh_public
from flower_threats import threat_table
from private_topics import SiteCoordinator
from private_topics.engines.sites.transport import SiteListener

sys.path.append(str(HERE.parent / "benchmarks"))

from stored import options_of, tell

QUESTIONS_A_FIT = 36  # 500 words and 10 topics: 12 rounds of three questions
TRANSPORT = HERE.parent / "src/private_topics/engines/sites/transport.py"
BUNDLE = ("flower_app/flower_adapter.py", "flower_app/asking.py", "flower_app/pyproject.toml")
OFTEN = {"every": 0.6}  # seconds: see ABOUT for how it was chosen
ABOUT = """
Fits and the killed site were measured once, questions eight times (SuperNodes: four). The Fleet API is asked every
0.6 s: of 0.1, 0.3 and 0.6, tried once each beside other work (70, 56 and 49 s a fit), the fastest, in Flower's
favour; the figure above is another run, and such runs differ by tens of seconds. For SuperNodes a fit is 36 times
the median question and no fit was run.

Flower's secure aggregation does not come into question: it rounds floats at random and expands masks from 32 bits
(`secaggplus_utils.py`), with keys that the SuperLink hands on unsigned. So Flower would carry our messages; keys,
masks, noise and rounds would be ours all the same.

**SuperNodes** sleep for three seconds between looks (`start_client_internal.py`) and start a process for each
question, so that another one would have to hold the fit. They run the bundle of code that the SuperLink hands them.
With `--trusted-entities` they run signed bundles only, and signatures come with bundles from the publisher's hub
(`control_handlers.py`); one from a folder is refused, as above. No setting has them run what the site has
installed.

**The Fleet API** without SuperNodes runs no code that was sent, and a fit takes about a minute: that would do. But
it takes modules outside of the documented interface, which have changed: gRPC up to 1.39
(`flwr.client.grpc_rere_client`), HTTP since 1.40 (`flwr.supernode.fleet_http_connection`). And a SuperLink without
the enterprise plug-ins takes all callers of its Control API for one account (`noop_auth_plugin.py`), at the port
where sites call. Whoever reaches it can register and remove sites, have the SuperLink run code, and ask the sites
as their coordinator, who then charge their ledgers (to remove them was read in the code; the rest is how the runs
above were started: with the certificate alone). Node authentication signs the time and not the message, and holds
for five minutes (`node_auth.py`). A site needs a second key for it, of another kind than the one with which it
signs.

**Kept**: our own, for safety. In lines it is *not* smaller: the adapter and its bundle have fewer, though starting
a SuperLink and registering keys would come on top. It is smaller in what a site must install and trust, a tenth of
the packages; nobody asks but the owner of the certificate; and it answers in milliseconds. What it leaves to others
(gRPC, TLS, `cryptography`) Flower leaves to them too. Flower has more people who look after it; of its Fleet API
they promise nothing.
"""


def of_supernodes() -> dict[str, Any]:
    with place() as here:
        here.superlink()
        here.supernodes()
        return here.asked(questions=4)


def of_pinned_supernodes() -> dict[str, Any]:
    """SuperNodes that run only what somebody whom they trust has signed."""
    with place() as here:
        trusted = ssh_public(ed25519.Ed25519PrivateKey.generate()).decode()
        (here.folder / "trusted.yaml").write_text(f"fpk_1: '{trusted}'\n", encoding="utf-8")
        here.superlink()
        here.supernodes("--trusted-entities", here.folder / "trusted.yaml")
        return here.asked(**OFTEN, questions=0)


def of_adapter(what: str) -> dict[str, Any]:
    with place() as here:
        here.superlink()
        here.sites("flower", what, here.port)
        found = here.asked(**OFTEN, directory=str(here.folder / "sites.json") if what == "fit" else "")
        if what != "fit":
            here.kill_one()
            found["killed"] = here.asked(**OFTEN, questions=0)["named"]
        return found


def of_own(what: str) -> dict[str, Any]:
    with place() as here, SiteListener(here.directory, f"{HOST}:0", here.certificate, here.key) as listener:
        here.sites("own", what, listener.port)
        listener.wait(PATIENCE)
        if what == "fit":
            coordinator, began = SiteCoordinator(here.directory, listener.ask), time.perf_counter()
            coordinator.run()
            return {"fit": time.perf_counter() - began, "rounds": coordinator.rounds}
        seconds = []
        for number in range(QUESTIONS + 1):
            if number == QUESTIONS:
                here.kill_one()
            began = time.perf_counter()
            answers = listener.ask(dict.fromkeys(here.directory.names, b"question"))
            seconds.append(time.perf_counter() - began)
            assert len(answers) == SITES - (number == QUESTIONS)
        return {"seconds": seconds[:-1], "killed": seconds[-1]}


def needed_by(*names: str) -> set[str]:
    """All packages that these need, as they are installed here."""
    found, waiting = set(), [Requirement(name) for name in names]
    while waiting:
        one = waiting.pop()
        extras = one.extras or {""}
        try:
            requires = distribution(one.name).requires or []
        except PackageNotFoundError:
            continue
        if canonical(one.name) not in found:
            found.add(canonical(one.name))
            needs = map(Requirement, requires)
            waiting += [
                need for need in needs if not need.marker or any(need.marker.evaluate({"extra": e}) for e in extras)
            ]
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def conflicts() -> list[str]:
    """What Flower wants of packages that we pin to another version."""
    lines = (HERE.parent / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    wanted = [one for one in map(Requirement, distribution("flwr").requires or []) if not one.marker]
    return [
        f"{one.name} {one.specifier} (ours {pinned[canonical(one.name)]})"
        for one in wanted
        if canonical(one.name) in pinned and pinned[canonical(one.name)] not in one.specifier
    ]


def lines_of(path: Path, up_to: str = "") -> int:
    text = path.read_text(encoding="utf-8")
    return text[: text.index(up_to) if up_to else None].count("\n")


def told(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2g} ({min(seconds):.2g} to {max(seconds):.2g})"


def table() -> list[str]:
    of_own("fit")  # compiles
    nodes, pinned, adapter, own = of_supernodes(), of_pinned_supernodes(), of_adapter("nothing"), of_own("nothing")
    adapted, owned = of_adapter("fit"), of_own("fit")
    answers = [json.loads(one) for one in nodes["answers"]]
    bundle = Path(answers[0]["code"]).parent.name
    processes = len({one["process"] for one in answers})
    lines = sum(lines_of(HERE / name) for name in BUNDLE)
    packages, few = len(needed_by("flwr")), len(needed_by("grpcio", "cryptography"))
    waiting = QUESTIONS_A_FIT * statistics.median(nodes["seconds"])
    fits = [f"{found['fit']:.1f} ({found['rounds']} rounds)" for found in (adapted, owned)]
    rows = [
        ("seconds of an empty question, median (range)", *(told(one["seconds"]) for one in (nodes, adapter, own))),
        ("seconds of a fit, 500 words and 10 topics", f"{waiting:.0f} of waiting", *fits),
        ("seconds until a killed site is given up", "", f"{adapter['killed']:.0f}", f"{own['killed']:.2g}"),
        ("processes that answered", f"{processes} for {len(answers)} answers", f"{SITES}", f"{SITES}"),
        ("code beside the letters", f"`{bundle}`, from the SuperLink", "the site's", "the site's"),
        ("who may ask the sites", "whoever reaches the port", "whoever reaches the port", "the certificate's owner"),
        ("what one without key or account was told", f'"{answers[0]["read"]}"', "what sites answer", "no such call"),
        ("the same, signed code only", f'"{pinned["errors"][0]}"', "", ""),
        (
            "lines of ours",
            "more: something must hold the fit",
            f"{lines}",
            f"{lines_of(TRANSPORT, 'def self_signed')}",
        ),
        ("packages at every site", f"{packages}", f"{packages}", f"{few}"),
        ("against `constraints.txt`", "; ".join(conflicts()), "the same", "nothing"),
    ]
    head = ("", f"SuperNodes, flwr {version('flwr')}", "its Fleet API, our process", "our own, `transport.py`")
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * 4, *rows)]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if not (BIN / "flower-superlink").exists():
        sys.exit(f"Flower is not installed beside {sys.executable}.\n\n{__doc__}")
    tell("\n".join(["# Flower as a transport", "", *table(), ABOUT, *threat_table()]), options.out)


if __name__ == "__main__":
    main()
