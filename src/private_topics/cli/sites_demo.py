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
from private_topics.corpus.made_up.letters import FOUND, topic_names, true_topics, write_letters
from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.transport import SiteListener, self_signed
from private_topics.errors import EngineError
from private_topics.estimators.saving import load_estimator
from private_topics.evaluation import match_topics, topic_error_l2
from private_topics.knowledge.sources import open_knowledge
from private_topics.privacy.ledger.durable import DurableLedger

COMMAND = [sys.executable, "-c", "from private_topics.cli import main; main()"]
UNIT, WORDS, HOST = "patient_id", 1_000, "127.0.0.1"
TOTAL_IN_RUNS, SHOWN_WORDS = 4.0, 3


def run_sites_demo(
    screen: Screen, folder: Path, sites: int, honest: int, letters: int, epsilon: float, delta: float
) -> None:
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"clinic-{number + 1}" for number in range(sites)]
    screen.say(f"Writing {letters:,} made-up letters for each of {sites} clinics to {folder} …")
    directory = _prepared(folder, names, honest, letters, epsilon, delta)
    models = {}
    for knowledge, heading in (("none", f"{names[0]} alone"), ("english", f"{names[0]} alone, public word vectors")):
        screen.say(f"{heading}, epsilon {epsilon:g} …")
        models[heading] = folder / f"{names[0]}-alone-{knowledge}.model"
        fit = ["fit", *_common(folder, names[0], epsilon, delta), "--knowledge", knowledge, "--anyway"]
        if subprocess.run([*COMMAND, *fit, "-o", str(models[heading]), "--force"]).returncode:
            raise EngineError(f"The fit of {names[0]} alone has failed.")
    screen.say(f"All {sites} together: a coordinator and {sites} processes; any {honest} honest clinics suffice …")
    _together(screen, folder, names, directory, epsilon, delta)
    models[f"{sites} clinics together"] = folder / f"{names[0]}.model"
    _show(folder, names, models)
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
        DurableLedger.register(folder / f"{name}.db", name, TOTAL_IN_RUNS * epsilon, 10.0 * delta, unit="user")
    directory = SiteDirectory(keys, honest)
    directory.write(folder / "sites.json")
    return directory


def _common(folder: Path, name: str, epsilon: float, delta: float) -> list[str]:
    return [
        str(folder / f"{name}.jsonl.gz"), "--unit", UNIT, "--topics", str(len(topic_names())),
        "--epsilon", str(epsilon), "--delta", str(delta), "--vocabulary", str(folder / "words.txt"),
        "--ledger", str(folder / f"{name}.db"), "--corpus", name, "--quiet",
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
            command += ["-o", str(folder / f"{name}.model"), "--force", "--sites", str(folder / "sites.json")]
            command += ["--identity", str(folder / f"{name}.key"), "--root", str(folder / "coordinator.pem")]
            command += ["--coordinator", f"{HOST}:{listener.port}"]
            processes.append(subprocess.Popen(command, env=environment))
        there = listener.wait(1.0)
        while len(there) < len(names) and not any(process.poll() for process in processes):
            there = listener.wait(1.0)
        screen.say(f"{len(there)} clinics are connected.")
        coordinator = SiteCoordinator(directory, listener.ask)
        coordinator.run()
        screen.say(f"{coordinator.rounds} rounds; but for the number of patients nobody saw a sum without noise.")
    if any(process.wait() for process in processes):
        raise EngineError("A clinic has failed.")


def _show(folder: Path, names: list[str], models: dict[str, Path]) -> None:
    """Each true topic with the words that each fit found for it, and a report on the last."""
    table = Table("true topic", *models, title="Leading words of the topics found")
    rows: list[list[str]] = [[name] for name in [*topic_names(), "topics fitted", "true topics found", "topic error"]]
    for path in models.values():
        model = load_estimator(path)
        words = [str(word) for word in model.feature_names_in_]
        truth = true_topics(words, model.tokeniser_)
        match = match_topics(model.components_, truth, within=FOUND)
        for row, place in zip(rows, match.tolist(), strict=False):
            leading = np.argsort(-model.components_[place], kind="stable")[:SHOWN_WORDS]
            row.append("–" if place < 0 else " ".join(words[j] for j in leading))
        rows[-3].append(str(len(model.components_)))
        rows[-2].append(f"{np.count_nonzero(match >= 0)} of {len(truth)}")
        rows[-1].append(f"{topic_error_l2(model.components_, truth):.3f}")
    for number, row in enumerate(rows, start=1):
        table.add_row(*row, end_section=number == len(topic_names()))
    Console().print(table)
    ledger = DurableLedger(folder / f"{names[0]}.db", names[0])
    report = folder / "report.html"
    write_model_report(
        model, report, path, ledger, truth=truth, truth_names=topic_names(),
        title=f"Letters of {len(names)} clinics: a demonstration",
    )  # fmt: skip
    typer.echo(f"Report: {report}")
