"""`sites demo`: made-up clinics on this machine, each a process with its own letters; alone, and together."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from private_topics.cli.models import write_model_report
from private_topics.cli.screen import Screen
from private_topics.corpus.made_up.letters import topic_names, true_topics, write_letters
from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.transport import SiteListener, self_signed
from private_topics.errors import EngineError
from private_topics.estimators.saving import load
from private_topics.evaluation import topic_error_l2
from private_topics.knowledge.sources import open_knowledge
from private_topics.privacy.ledger.durable import DurableLedger

COMMAND = [sys.executable, "-c", "from private_topics.cli import main; main()"]
UNIT, WORDS, HOST = "patient_id", 1_500, "127.0.0.1"


def run_sites_demo(
    screen: Screen, folder: Path, sites: int, honest: int, letters: int, epsilon: float, delta: float
) -> None:
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"clinic-{number + 1}" for number in range(sites)]
    screen.say(f"Writing {letters:,} made-up letters for each of {sites} clinics to {folder} …")
    directory = _prepared(folder, names, honest, letters, epsilon, delta)
    screen.say(f"{names[0]} alone, epsilon {epsilon:g} …")
    one = folder / f"{names[0]}-alone.model"
    subprocess.run([*COMMAND, "fit", *_common(folder, names[0], epsilon, delta), "-o", str(one)], check=True)
    screen.say(f"All {sites} together: a coordinator and {sites} processes; any {honest} honest clinics suffice …")
    _together(screen, folder, names, directory, epsilon, delta)
    _show(folder, names, one)
    screen.say(f"Done in {time.perf_counter() - started:.0f} s.")


def _prepared(
    folder: Path, names: list[str], honest: int, letters: int, epsilon: float, delta: float
) -> SiteDirectory:
    """Letters, keys, ledgers, the list of words and the coordinator's certificate, each where its owner has it."""
    known = open_knowledge("english")
    assert known is not None
    assert known.word_list is not None
    (folder / "words.txt").write_text(
        "".join(f"{word}\n" for word in known.word_list.words[:WORDS]), encoding="utf-8"
    )
    keys = {}
    for number, name in enumerate(names):
        write_letters(folder / f"{name}.jsonl.gz", letters, seed=number, one_each=True)
        for file in (folder / f"{name}.key", folder / f"{name}.db"):
            file.unlink(missing_ok=True)
        identity = SiteIdentity.new(name)
        identity.write(folder / f"{name}.key")
        keys[name] = identity.public_key
        DurableLedger.register(folder / f"{name}.db", name, 3.0 * epsilon, 10.0 * delta, unit="user")
    directory = SiteDirectory(keys, honest)
    directory.write(folder / "sites.json")
    return directory


def _common(folder: Path, name: str, epsilon: float, delta: float) -> list[str]:
    return [
        str(folder / f"{name}.jsonl.gz"), "--unit", UNIT, "--topics", str(len(topic_names())),
        "--epsilon", str(epsilon), "--delta", str(delta), "--vocabulary", str(folder / "words.txt"),
        "--knowledge", "english", "--ledger", str(folder / f"{name}.db"), "--corpus", name, "--quiet",
    ]  # fmt: skip


def _together(
    screen: Screen, folder: Path, names: list[str], directory: SiteDirectory, epsilon: float, delta: float
) -> None:
    certificate, key = self_signed(HOST)
    (folder / "coordinator.pem").write_bytes(certificate)
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1"}  # one machine has to do for all clinics
    processes: list[subprocess.Popen[bytes]] = []
    with SiteListener(directory, f"{HOST}:0", certificate, key) as listener:
        for name in names:
            command = [*COMMAND, "sites", "fit", *_common(folder, name, epsilon, delta)]
            command += ["-o", str(folder / f"{name}.model"), "--sites", str(folder / "sites.json")]
            command += ["--identity", str(folder / f"{name}.key"), "--root", str(folder / "coordinator.pem")]
            command += ["--coordinator", f"{HOST}:{listener.port}"]
            processes.append(subprocess.Popen(command, env=environment))
        screen.say(f"{len(listener.wait(120.0))} clinics are connected.")
        coordinator = SiteCoordinator(directory, listener.ask)
        coordinator.run()
        screen.say(f"{coordinator.rounds} rounds; but for the number of patients nobody saw a sum without noise.")
    if any(process.wait(60.0) for process in processes):
        raise EngineError("A clinic has failed.")


def _show(folder: Path, names: list[str], alone: Path) -> None:
    """Truth, one clinic alone and all together; and a report."""
    table = Table("", "topics", "topic error (relative L2, matched)", "words of the topics found")
    for label, path in ((f"{names[0]} alone", alone), (f"{len(names)} clinics", folder / f"{names[0]}.model")):
        model = load(path)
        words = [str(word) for word in model.feature_names_in_]
        truth = true_topics(words, model.tokeniser_)
        top = [" ".join(words[j] for j in np.argsort(-topic)[:4]) for topic in model.components_]
        error = f"{topic_error_l2(model.components_, truth):.3f}"
        table.add_row(label, str(len(model.components_)), error, "\n".join(top))
    Console().print(table)
    ledger = DurableLedger(folder / f"{names[0]}.db", names[0])
    report = folder / "report.html"
    write_model_report(
        model, report, folder / f"{names[0]}.model", ledger, truth=truth, truth_names=topic_names(),
        title=f"Letters of {len(names)} clinics: a demonstration",
    )  # fmt: skip
    typer.echo(f"Report: {report}")
