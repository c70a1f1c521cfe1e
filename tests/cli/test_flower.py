"""Five sites over a Flower federation: a SuperLink and five SuperNodes as processes, with TLS and node keys.

What is asked and answered is the affair of other tests; here, that Flower carries it, that no code comes with it, and
what a kill does. A SuperNode looks for messages every three seconds, so one fit has several faults.
"""

from __future__ import annotations

import json
import signal
import time

import numpy as np
import pytest
from clinic_support import HOST, Clinics
from command_support import ran

pytest.importorskip("flwr")

from flower_support import Federation, is_open, until

from private_topics import load
from private_topics.engines.sites.transport import self_signed

PATIENCE, SILENCE = 12.0, 30.0
SENT = """from pathlib import Path
from flwr.clientapp import ClientApp
Path("{folder}", "ran").touch()
client = ClientApp()
"""
pytestmark = [pytest.mark.process, pytest.mark.xdist_group("flower")]


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    """A SuperLink and a SuperNode for each of five clinics."""
    made = Federation(tmp_path_factory.mktemp("federation"), [f"clinic-{number}" for number in range(1, 6)])
    made.superlink()
    for name in made.at:
        made.supernode(name)
    until(lambda: all(is_open(port) for port in made.at.values()))
    yield made
    made.close()


@pytest.fixture
def clinics(tmp_path, federation):
    made = []

    def make(honest, wait=60):
        made.append(Clinics(tmp_path, 5, honest))
        for name in made[0].names:
            made[0].begin(name, supernode=f"{HOST}:{federation.at[name]}", patience=SILENCE, wait=wait)
        return made[0]

    yield make
    made[0].close()


def coordinator(federation, clinics, kills=(), *, wait=60):
    """The bundle that `sites flower` writes, but with a coordinator that kills."""
    folder = clinics.folder / "coordinator"
    ran("sites", "flower", "--sites", clinics.folder / "sites.json", "-o", folder, "--wait", wait,
        "--patience", PATIENCE)  # fmt: skip
    bundle = folder / "pyproject.toml"
    assert [path.name for path in folder.iterdir()] == [bundle.name]
    text = bundle.read_text().replace("private_topics.engines.sites.flower:server", "flower_killing:server")
    bundle.write_text(text.replace("private_topics.engines.sites.flower:client", "sent:client"))
    (folder / "sent.py").write_text(SENT.format(folder=str(federation.folder)))
    federation.kills.write_text(json.dumps(list(kills)))
    return federation.run(folder)


def a_kill(process, kind, number, *, after=False):
    return {"process": process, "kind": kind, "round": number, "after": after}


def test_sites_killed_before_and_after_a_round_are_left_out_and_the_others_finish(federation, clinics):
    here = clinics(honest=3)
    processes = {name: process.pid for name, process in here.processes.items()}
    kills = [
        a_kill(processes["clinic-2"], "begin", 1),
        a_kill(processes["clinic-3"], "total", 2, after=True),
    ]
    with coordinator(federation, here, kills) as run:
        said = run.communicate()[0]
    until(
        lambda: all(process.poll() is not None for process in here.processes.values()), 20.0
    )  # nobody is waited for
    statuses, messages = here.statuses()
    assert "5 of 5 sites are there." in said
    assert all(f"{name} is left out: it was not heard in time." in said for name in ("clinic-2", "clinic-3"))
    assert "3 sites have finished, after 7 rounds, without clinic-2, clinic-3." in said
    finished = ["clinic-1", "clinic-4", "clinic-5"]
    assert statuses == {name: 0 if name in finished else -signal.SIGKILL for name in here.names}, messages
    models = [load(here.model(name)) for name in finished]
    assert all(np.array_equal(models[0].components_, model.components_) for model in models)
    assert models[0].privacy_.private
    assert [here.charged(name) for name in here.names] == [1, 0, 1, 1, 1]
    names = [release.name for release in models[0].privacy_.releases]
    assert len(names) == len(set(names))  # both were left out before anybody had sent
    assert not (federation.folder / "ran").exists()  # the code that came with the questions


def test_a_site_killed_in_a_round_is_left_out_and_a_coordinator_killed_after_the_last_leaves_whole_models(
    federation, clinics
):
    """The SuperNodes of the sites that were killed before still hold questions of that fit."""
    here = clinics(honest=4)
    kills = [a_kill(here.processes["clinic-4"].pid, "keys", 2), a_kill(0, "ended", None, after=True)]
    with coordinator(federation, here, kills) as run:
        statuses, messages = here.statuses()
        run.kill()
    finished = [name for name in here.names if name != "clinic-4"]
    assert statuses == {name: 0 if name in finished else -signal.SIGKILL for name in here.names}, messages
    models = [load(here.model(name)) for name in finished]
    assert all(np.array_equal(models[0].components_, model.components_) for model in models)
    assert models[0].privacy_.epsilon_spent <= 1.0
    names = [release.name for release in models[0].privacy_.releases]
    assert len(names) - len(set(names)) == 1  # that round was made again, and paid for
    assert [here.charged(name) for name in here.names] == [1] * 5


def test_a_coordinator_killed_in_a_round_ends_every_fit_and_what_was_charged_stays(federation, clinics):
    here = clinics(honest=4)
    with coordinator(federation, here, [a_kill(0, "keys", 1, after=True)]) as run:
        statuses, messages = here.statuses()
        run.kill()
    assert statuses == dict.fromkeys(here.names, 1)
    assert all("What was charged stays charged." in text for text in messages.values())
    assert not any("Traceback" in text for text in messages.values())
    assert not any(here.model(name).exists() for name in here.names)
    assert [here.charged(name) for name in here.names] == [1] * 5


def test_a_supernode_with_another_certificate_does_not_come_and_a_superlink_that_is_killed_costs_nothing(
    federation, clinics
):
    """The last: it takes the SuperLink along."""
    other, _ = self_signed(HOST)
    (federation.folder / "other.pem").write_bytes(other)
    federation.kill("supernode-clinic-5")
    federation.supernode("clinic-5", root="other.pem")
    here = clinics(honest=4, wait=10)
    with coordinator(federation, here, wait=2 * PATIENCE) as run:
        until(lambda: "clinic-1 is connected" in here.processes["clinic-1"].stderr.readline())
        time.sleep(PATIENCE)
        assert "CERTIFICATE_VERIFY_FAILED" in federation.log("supernode-clinic-5")
        federation.kill("superlink")  # it waits for the fifth site
        statuses, messages = here.statuses()
        run.kill()
    assert statuses == dict.fromkeys(here.names, 1)
    assert all("Nothing was heard of the coordinator" in messages[name] for name in here.names[:4])
    assert "No SuperNode answers" in messages["clinic-5"] or "is lost" in messages["clinic-5"]
    assert [here.charged(name) for name in here.names] == [0] * 5
