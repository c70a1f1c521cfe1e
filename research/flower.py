"""Several sites over a Flower federation, beside our own transport: seconds of a fit, packages, processes, threats.

    python research/flower.py --out research/results/flower.md

Five sites and a coordinator are processes on this machine, with TLS: once over a SuperLink and five SuperNodes with
node authentication and `--isolation process`, once over `engines/sites/transport.py`. Three minutes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from packaging.requirements import Requirement

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/cli"))

from clinic_support import HOST
from flower_support import Federation, is_open, until

from flower_threats import threat_table
from private_topics import PrivateSpectralLDA, Site, SiteCoordinator, SiteDirectory, SiteIdentity, make_lda_corpus
from private_topics.engines.sites.flower import FlowerCall, write_bundle
from private_topics.engines.sites.transport import SiteCall, SiteListener
from stored import options_of, tell

NAMES = [f"site-{number}" for number in range(5)]
DOCUMENTS, WORDS, TOPICS = 4_000, 500, 10
PATIENCE = 240.0
ABOUT = """
A fit has {rounds} rounds of three questions. A SuperNode looks for a question every three seconds
(`start_client_internal.py`), and that is where the time goes. Both were measured once.

**What Flower carries here.** The messages: keys, masks, noise and rounds are ours on either transport, since Flower's
secure aggregation rounds floats at random and expands masks from 32 bits (`secaggplus_utils.py`), with keys that the
SuperLink hands on unsigned. With `--isolation process` a SuperNode starts nothing itself; our site takes its tasks
and leaves the bundle of code unopened. For that it calls four functions of Flower that no page of its documentation
names (`pull_task_input`, `push_message`, `push_task_output` and the client of the Runtime API), so the extra
`flower` takes one minor version.

**By default** (`--isolation subprocess`) a SuperNode runs the code that the SuperLink hands it, next to the letters;
with `--trusted-entities` only code that the publisher's hub has signed. It must not be started so at a site.

**Who may ask.** A SuperLink without the enterprise plug-ins takes all callers of its Control API for one account
(`noop_auth_plugin.py`), at the port where sites call: whoever reaches it can start a coordinator. Sites believe a
coordinator in nothing that matters, so this costs a fit and what it charged, and tells totals with noise.

**Which.** Our own where nothing is there yet: one process fewer at each site, a tenth of the packages, nobody asks
but the owner of the certificate, and a lost site or coordinator is noticed at once. Flower's where a consortium has a
federation: its SuperLink, keys, certificates and people stay.
"""


def site(folder: Path, name: str, address: str, transport: str) -> None:
    """One site, in a process of its own."""
    directory = SiteDirectory.read(folder / "sites.json")
    number, root = directory.names.index(name), (folder / "root.pem").read_bytes()
    here = Site(SiteIdentity.read(folder / f"{name}.key"), directory, [str(word) for word in range(WORDS)])
    counts, _, _ = make_lda_corpus(DOCUMENTS, WORDS, TOPICS, random_state=0)
    settings = {"noise_seed": number, "sampler": "fast", "n_jobs": 1, "epsilon": 60.0}
    with FlowerCall(here, address) if transport == "flower" else SiteCall(here, address, root):
        PrivateSpectralLDA(TOPICS, engine=here, **settings).fit(counts[number :: len(directory.names)])


def started(folder: Path, address: dict[str, str], transport: str) -> list[subprocess.Popen]:
    command = [sys.executable, __file__, "--site", str(folder)]
    return [subprocess.Popen([*command, name, address[name], transport]) for name in NAMES]


def over_flower(folder: Path) -> float:
    federation = Federation(folder, NAMES)
    directory = prepared(folder)
    try:
        federation.superlink()
        for name in NAMES:
            federation.supernode(name)
        until(lambda: all(is_open(port) for port in federation.at.values()))
        sites = started(folder, {name: f"{HOST}:{port}" for name, port in federation.at.items()}, "flower")
        write_bundle(folder / "bundle", directory, wait=PATIENCE, patience=PATIENCE)
        with federation.run(folder / "bundle") as run:
            for line in run.stdout:
                if "sites are there" in line:
                    began = time.perf_counter()
                if "have finished" in line:
                    seconds = time.perf_counter() - began
        assert not any(process.wait() for process in sites)
        return seconds
    finally:
        federation.close()


def over_own(folder: Path) -> tuple[float, int]:
    Federation(folder, NAMES)  # the certificate
    directory = prepared(folder)
    certificate, key = (folder / "root.pem").read_bytes(), (folder / "root.key").read_bytes()
    with SiteListener(directory, f"{HOST}:0", certificate, key) as listener:
        sites = started(folder, dict.fromkeys(NAMES, f"{HOST}:{listener.port}"), "own")
        assert listener.wait(PATIENCE) == NAMES
        coordinator, began = SiteCoordinator(directory, listener.ask), time.perf_counter()
        coordinator.run()
        seconds = time.perf_counter() - began
    assert not any(process.wait() for process in sites)
    return seconds, coordinator.rounds


def prepared(folder: Path) -> SiteDirectory:
    known = {name: SiteIdentity.new(name) for name in NAMES}
    for name, identity in known.items():
        identity.write(folder / f"{name}.key")
    directory = SiteDirectory({name: one.public_key for name, one in known.items()}, len(NAMES) - 1)
    directory.write(folder / "sites.json")
    return directory


def needed_by(*names: str) -> set[str]:
    """All packages that these need, as they are installed here."""
    found, waiting = set(), [Requirement(name) for name in names]
    while waiting:
        one = waiting.pop()
        extras, name = one.extras or {""}, re.sub(r"[-_.]+", "-", one.name).lower()
        try:
            requires = map(Requirement, distribution(name).requires or [])
        except PackageNotFoundError:
            continue
        if name not in found:
            found.add(name)
            for need in requires:
                if not need.marker or any(need.marker.evaluate({"extra": extra}) for extra in extras):
                    waiting.append(need)
    return found


def table() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder, name) for name in ("first", "own", "flower")]
        for place in places:
            place.mkdir()
        over_own(places[0])  # compiles
        own, rounds = over_own(places[1])
        flower = over_flower(places[2])
    packages = [str(len(needed_by(one, "cryptography"))) for one in ("flwr", "grpcio")]
    rows = [
        (f"seconds of a fit, {WORDS} words and {TOPICS} topics", f"{flower:.0f}", f"{own:.1f}"),
        ("processes at every site", "a SuperNode and the fit", "the fit"),
        ("packages at every site", *packages),
        ("whose code a site runs", "its own", "its own"),
        ("who may ask the sites", "whoever reaches the SuperLink's port", "the certificate's owner"),
        ("a lost coordinator is noticed", "after the site's patience", "at once"),
    ]  # fmt: skip
    head = ("", f"SuperLink and SuperNodes, flwr {version('flwr')}", "our own, `transport.py`")
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * 3, *rows)]
    return [*lines, ABOUT.format(rounds=rounds)]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--site", nargs=4, metavar=("FOLDER", "NAME", "ADDRESS", "TRANSPORT"))
    options = parser.parse_args()
    if options.site:
        site(Path(options.site[0]), *options.site[1:])
        return
    tell("\n".join(["# Flower as a transport", "", *table(), *threat_table()]), options.out)


if __name__ == "__main__":
    main()
