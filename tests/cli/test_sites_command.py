"""`private-topics sites`: keys, a coordinator and sites as processes over TLS, and what a kill does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clinic_support import COMMAND, HOST, WORDS, Clinics
from command_support import ran, run
from dying_coordinator import LAST_ROUND

from hang_support import FOREVER, HANG, until

pytest.importorskip("cryptography")
pytest.importorskip("grpc")

from private_topics import load
from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.messages import unpacked
from private_topics.engines.sites.transport import SiteListener, self_signed
from private_topics.errors import EngineError, InputError

DYING = Path(__file__).with_name("dying_coordinator.py")
NAMES = ["clinic-1", "clinic-2", "clinic-3"]


@pytest.fixture
def clinics(tmp_path, monkeypatch):
    monkeypatch.setattr("private_topics.engines.sites.transport.HELLO_SECONDS", FOREVER)
    made = Clinics(tmp_path)
    yield made
    made.close()


def killing(listener, clinics, name, round_number, kind, *, after):
    """`ask`, but one site is killed before, or after, it is asked a certain thing in a certain round."""
    seen = {"round": -1, "killed": False}

    def ask(messages):
        first = unpacked(next(iter(messages.values())), "begin", "keys", "total", "stop")
        if first.kind == "begin":
            seen["round"] = first.number("round")
        due = first.kind == kind and seen["round"] == round_number and not seen["killed"]
        if due and not after:
            clinics.kill(name)
        answers = listener.ask(messages)
        if due and after:
            clinics.kill(name)
        seen["killed"] |= due
        return answers

    return ask


def coordinated(clinics, wrapped=lambda listener: listener.ask):
    """The coordinator here, the sites as processes."""
    with SiteListener(clinics.directory, f"{HOST}:0", clinics.certificate, clinics.key, patience=FOREVER) as listener:
        for name in NAMES:
            clinics.start(name, listener.port)
        assert listener.wait(HANG) == NAMES
        coordinator = SiteCoordinator(clinics.directory, wrapped(listener))
        try:
            coordinator.run()
            problem = None
        except EngineError as error:
            problem = error
    return coordinator, problem, *clinics.statuses()


@pytest.mark.process
@pytest.mark.parametrize(
    ("round_number", "kind", "after", "paid"),
    [(1, "begin", False, 0), (2, "keys", False, 1), (2, "keys", True, 1), (2, "total", True, 1)],
    ids=["before a round", "in a round", "after it has sent", "after a round"],
)
def test_a_site_that_is_killed_is_left_out_and_the_others_finish(clinics, round_number, kind, after, paid):
    coordinator, problem, statuses, messages = coordinated(
        clinics, lambda listener: killing(listener, clinics, "clinic-2", round_number, kind, after=after)
    )
    assert problem is None
    assert coordinator.left == ["clinic-2"]
    assert statuses == {"clinic-1": 0, "clinic-2": -signal.SIGKILL, "clinic-3": 0}, messages
    models = [load(clinics.model(name)) for name in ("clinic-1", "clinic-3")]
    assert np.array_equal(models[0].components_, models[1].components_)
    assert models[0].privacy_.private
    assert models[0].privacy_.epsilon_spent <= 1.0
    names = [release.name for release in models[0].privacy_.releases]
    assert len(names) - len(set(names)) == int(kind == "keys" and not after)
    assert not clinics.model("clinic-2").exists()
    assert [clinics.charged(name) for name in NAMES] == [1, paid, 1]


@pytest.mark.process
def test_a_coordinator_that_is_killed_ends_every_fit_and_what_was_charged_stays(clinics):
    command = [sys.executable, str(DYING), str(clinics.folder), "all have sent"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as coordinator:
        port = int(coordinator.stdout.readline())
        for name in NAMES:
            clinics.start(name, port)
        statuses, messages = clinics.statuses()
    assert coordinator.returncode == -signal.SIGKILL
    assert set(statuses.values()) == {1}
    assert all("What was charged stays charged." in text for text in messages.values())
    assert not any("Traceback" in text for text in messages.values())
    assert not any(clinics.model(name).exists() for name in NAMES)
    assert [clinics.charged(name) for name in NAMES] == [1, 1, 1]


@pytest.mark.process
def test_a_coordinator_that_is_killed_before_the_first_round_costs_nothing(clinics):
    folder = clinics.folder
    command = [*COMMAND, "sites", "coordinate", "--sites", str(folder / "sites.json"), "--listen", f"{HOST}:0"]
    command += ["--certificate", str(folder / "root.pem"), "--key", str(folder / "root.key"), "--wait", str(FOREVER)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as coordinator:
        port = int(coordinator.stderr.readline().split("port ")[1].split()[0])
        for name in NAMES[:2]:  # it waits for the third
            clinics.start(name, port)
        for process in clinics.processes.values():
            assert "waits for" in process.stderr.readline()
            assert "is connected, one of 3 sites" in process.stderr.readline()
        coordinator.kill()
    statuses, messages = clinics.statuses()
    assert statuses == {"clinic-1": 1, "clinic-2": 1}
    lost = "The connection to the coordinator is lost. Nothing was charged."
    assert all(lost in text for text in messages.values())
    assert [clinics.charged(name) for name in NAMES] == [0, 0, 0]


@pytest.mark.process
@pytest.mark.parametrize(("when", "whole"), [("one has heard", NAMES[:1]), ("all have ended", NAMES)])
def test_a_coordinator_that_is_killed_after_the_last_round_leaves_whole_models_or_none(clinics, when, whole):
    """Who has heard the last sums needs nobody any more; who has not ends without a model. All are charged once."""
    command = [sys.executable, str(DYING), str(clinics.folder), when]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as coordinator:
        port = int(coordinator.stdout.readline())
        for name in NAMES:
            clinics.start(name, port)
        statuses, messages = clinics.statuses()
    assert coordinator.returncode == -signal.SIGKILL
    assert statuses == {name: 0 if name in whole else 1 for name in NAMES}, messages
    assert [clinics.model(name).exists() for name in NAMES] == [name in whole for name in NAMES]
    models = [load(clinics.model(name)) for name in whole]
    assert all(np.array_equal(model.components_, models[0].components_) for model in models)
    assert all(len(model.privacy_.releases) == LAST_ROUND for model in models)
    lost = [messages[name] for name in NAMES if name not in whole]
    assert all("lost. What was charged stays charged." in text and "Traceback" not in text for text in lost)
    assert [clinics.charged(name) for name in NAMES] == [1, 1, 1]


@pytest.mark.process
def test_a_site_that_is_restarted_in_a_fit_is_left_out_and_pays_once(clinics):
    """It has forgotten what was agreed: it begins at the first round, where nobody else is."""
    again = []

    def restarting(listener):
        def ask(messages):
            first = unpacked(next(iter(messages.values())), "begin", "keys", "total", "stop")
            if first.kind == "begin" and first.number("round") == 3 and not again:
                clinics.kill("clinic-2")
                clinics.processes.pop("clinic-2").communicate()
                until(lambda: "clinic-2" not in listener._there())
                clinics.start("clinic-2", listener.port)
                again.append(clinics.processes["clinic-2"].wait(HANG))
            return listener.ask(messages)

        return ask

    coordinator, problem, statuses, messages = coordinated(clinics, restarting)
    assert again == [1]
    assert problem is None
    assert coordinator.left == ["clinic-2"]
    assert statuses == {"clinic-1": 0, "clinic-2": 1, "clinic-3": 0}, messages
    assert "had begun to: start it again with the next fit. Nothing was charged." in messages["clinic-2"]
    assert "2 of 3 sites have taken part to the end, without clinic-2." in messages["clinic-1"]
    assert not clinics.model("clinic-2").exists()
    assert [clinics.charged(name) for name in NAMES] == [1, 1, 1]
    names = [release.name for release in load(clinics.model("clinic-1")).privacy_.releases]
    assert len(names) == len(set(names))  # it was left out before anybody had sent


@pytest.mark.process
def test_every_site_must_give_the_same_alpha0_and_the_model_has_it(clinics):
    with SiteListener(clinics.directory, f"{HOST}:0", clinics.certificate, clinics.key, patience=FOREVER) as listener:
        for name, alpha0 in zip(NAMES, (0.25, 0.25, 0.5), strict=True):
            clinics.start(name, listener.port, alpha0=alpha0)
        assert listener.wait(HANG) == NAMES
        coordinator = SiteCoordinator(clinics.directory, listener.ask)
        coordinator.run()
    statuses, messages = clinics.statuses()
    assert coordinator.left == ["clinic-3"]
    assert statuses == {"clinic-1": 0, "clinic-2": 0, "clinic-3": 1}, messages
    assert "This site was left out: its vocabulary, settings" in messages["clinic-3"]
    assert [clinics.charged(name) for name in NAMES] == [1, 1, 0]
    for name in NAMES[:2]:
        model = load(clinics.model(name))
        assert model.alpha0 == 0.25
        assert model.doc_topic_prior_.sum() == pytest.approx(0.25)


@pytest.mark.process
def test_a_wrong_certificate_and_another_vocabulary(clinics):
    """One site trusts another certificate and never comes; of the others one has other words: too few are left."""
    other, _ = self_signed(HOST)
    (clinics.folder / "other.pem").write_bytes(other)
    (clinics.folder / "more.txt").write_text("".join(f"{word}\n" for word in [*WORDS, "letter"]))
    with SiteListener(clinics.directory, f"{HOST}:0", clinics.certificate, clinics.key, patience=FOREVER) as listener:
        clinics.start("clinic-1", listener.port)
        clinics.start("clinic-2", listener.port, vocabulary=clinics.folder / "more.txt")
        clinics.start("clinic-3", listener.port, root=clinics.folder / "other.pem")
        until(lambda: listener.wait(0.0) == NAMES[:2])
        with pytest.raises(EngineError, match="1 of 3 sites are left and 2 are needed"):
            SiteCoordinator(clinics.directory, listener.ask).run()
    statuses, messages = clinics.statuses()
    assert set(statuses.values()) == {1}
    assert "another certificate than the one given" in messages["clinic-3"]
    assert "Nothing was charged." in messages["clinic-1"]
    left_out = [text for text in messages.values() if "This site was left out: its vocabulary, settings" in text]
    assert len(left_out) == 1
    assert "Nothing was charged." in left_out[0]
    assert [clinics.charged(name) for name in NAMES] == [0, 0, 0]


def test_keys_and_the_file_of_all_sites(tmp_path):
    lines = []
    for name in ("a", "b"):
        lines.append(ran("sites", "identity", name, "-o", tmp_path / f"{name}.key").stdout.strip())
    assert [line.split("=")[0] for line in lines] == ["a", "b"]
    assert os.stat(tmp_path / "a.key").st_mode & 0o077 == 0
    made = ran("sites", "directory", *lines, "--honest", "2", "-o", tmp_path / "sites.json")
    directory = SiteDirectory.read(tmp_path / "sites.json")
    assert made.stdout.strip() == directory.digest.hex()
    assert directory.keys["a"] == SiteIdentity.read(tmp_path / "a.key").public_key
    ran("sites", "certificate", HOST, "-o", tmp_path / "c.pem", "--key", tmp_path / "c.key")
    assert os.stat(tmp_path / "c.key").st_mode & 0o077 == 0
    SiteListener(directory, f"{HOST}:0", (tmp_path / "c.pem").read_bytes(), (tmp_path / "c.key").read_bytes())


def test_files_that_exist_are_not_replaced(tmp_path):
    """A key lost so is lost for good."""
    key = tmp_path / "a.key"
    printed = [ran("sites", "identity", name, "-o", tmp_path / f"{name}.key").stdout.strip() for name in ("a", "b")]
    before = key.read_text()
    for command in (
        ["directory", *printed, "--honest", "1", "-o", key],
        ["certificate", HOST, "-o", key, "--key", tmp_path / "new.key"],
        ["certificate", HOST, "-o", tmp_path / "new.pem", "--key", key],
        ["identity", "a", "-o", key],
    ):
        assert "xists" in run("sites", *command).output
    assert (
        "no such folder"
        in run("sites", "certificate", HOST, "-o", tmp_path / "no" / "c.pem", "--key", tmp_path / "new.key").output
    )
    assert key.read_text() == before
    assert not (tmp_path / "new.key").exists()
    assert not (tmp_path / "new.pem").exists()


@pytest.mark.parametrize(("honest", "warned"), [("1", False), ("2", True)])
def test_where_all_must_be_honest_a_curious_site_is_warned_of(tmp_path, honest, warned):
    printed = [ran("sites", "identity", name, "-o", tmp_path / f"{name}.key").stdout.strip() for name in ("a", "b")]
    done = ran("sites", "directory", *printed, "--honest", honest, "-o", tmp_path / "sites.json")
    assert ("a single curious site" in done.stderr) == warned


def test_a_file_of_sites_that_is_missing_or_no_json(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        SiteDirectory.read(tmp_path / "sites.json")
    (tmp_path / "sites.json").write_text("no")
    with pytest.raises(InputError, match="is not JSON"):
        SiteDirectory.read(tmp_path / "sites.json")


@pytest.mark.process
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "2.5"}, "left for a run at delta 1e-06, and this one takes 2.5. Nothing was charged."),
        ({"unit": "patient"}, "patient"),
        ({"neighbours": "add-remove"}, "neighbours='replace', and this fit is private for neighbours='add-remove'"),
        ({"topics": "0"}, "topics"),
    ],
    ids=lambda value: None if isinstance(value, str) else "-".join(value),
)
def test_what_a_site_would_refuse_later_is_refused_before_it_connects(clinics, given, message):
    """Else the others might have paid. There is no coordinator here, and nobody waits for one."""
    clinics.start("clinic-1", 1, **given)
    statuses, messages = clinics.statuses()
    assert statuses["clinic-1"] != 0
    assert message in " ".join(messages["clinic-1"].split())
    assert "No coordinator" not in messages["clinic-1"]
    assert clinics.charged("clinic-1") == 0


@pytest.mark.process
@pytest.mark.parametrize("odd", [False, True], ids=["all refuse", "one goes on anyway"])
def test_a_hopeless_fit_is_refused_by_all_sites_before_anything_is_charged(clinics, odd):
    """Where one was told to go on, it is found to differ before that."""
    with SiteListener(clinics.directory, f"{HOST}:0", clinics.certificate, clinics.key, patience=FOREVER) as listener:
        for name in NAMES:
            clinics.start(name, listener.port, topics=9, epsilon=0.01, anyway=odd and name == "clinic-2")
        listener.wait(HANG)
        coordinator = SiteCoordinator(clinics.directory, listener.ask)
        with pytest.raises(EngineError):
            coordinator.run()
    statuses, messages = clinics.statuses()
    assert set(statuses.values()) == {1}
    refused = [name for name in NAMES if "Refused before anything was charged." in messages[name]]
    assert refused == ([name for name in NAMES if not odd or name != "clinic-2"])
    assert ("This site was left out: its vocabulary, settings" in messages["clinic-2"]) == odd
    assert [clinics.charged(name) for name in NAMES] == [0, 0, 0]


def test_a_site_replaces_no_model_that_was_paid_for(tmp_path):
    (tmp_path / "model").write_text("paid for")
    (tmp_path / "root").write_text("a certificate")
    nowhere = [tmp_path / name for name in ("letters.jsonl", "model", "sites.json", "key", "words", "root")]
    named = zip(("--output", "--sites", "--identity", "--vocabulary", "--root"), nowhere[1:], strict=True)
    options = [part for pair in named for part in pair]
    done = run("sites", "fit", nowhere[0], *options, "--coordinator", "a:1")
    assert "what a budget was spent on is not replaced" in done.output
    assert (tmp_path / "model").read_text() == "paid for"
    done = run("sites", "fit", nowhere[0], *options, "--coordinator", "a:1", "--force")
    assert "not replaced" not in done.output
    assert done.exit_code != 0  # there are no letters
