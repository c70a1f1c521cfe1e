"""Model files and ledgers made by somebody hostile: refused, without running code and without using up the memory.

The digests of both kinds of file have no key, so a stranger can make them right; `signed` and `resigned` do.
More on forged values: tests/estimators/test_model_file.py, tests/privacy/ledger/test_durable_ledger.py.
"""

import io
import json
import sqlite3
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

import private_topics
from hang_support import cpu_limit
from private_topics import ModelFileError, SpectralLDA, make_lda_corpus
from private_topics.cli import app
from private_topics.errors import LedgerError
from private_topics.estimators.saving import model_digest, read_model
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.ledger.file import digest

MEGABYTE = 2**20
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
FORBIDDEN = {"pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect"}

watched: list[str] = []
watching = [False]


def _hook(event, arguments):
    if watching[0]:
        watched.append(event)


sys.addaudithook(_hook)


@pytest.fixture
def no_code():
    """Nothing that runs code, starts a process or connects may happen inside."""
    watched.clear()
    watching[0] = True
    yield
    watching[0] = False
    assert not FORBIDDEN & set(watched)


def refused(read, error, *, megabytes):
    """`read` fails with `error` and has taken little memory (what Python counts) and time."""
    tracemalloc.start()
    try:
        with cpu_limit(60.0), pytest.raises(error) as caught:
            read()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes * MEGABYTE
    assert "\n" not in str(caught.value)


# -- models ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def genuine(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "genuine.model"
    SpectralLDA(2, refine_steps=0).fit(make_lda_corpus(200, 20, 2, random_state=0)[0]).save(path)
    return path


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def signed(genuine, path, changes, *, compression=zipfile.ZIP_STORED, times=1):
    header, arrays = read_model(genuine)
    header |= changes
    header["sha256"] = model_digest(header, arrays)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, array in arrays.items():
            for _ in range(times):
                archive.writestr(f"{name}.npy", npy(array))
    return path


def test_a_file_signed_anew_is_read(genuine, tmp_path, no_code):
    """So what follows is refused for what it says, not for how it was made."""
    model = private_topics.load(signed(genuine, tmp_path / "m", {"more": [[], {}]}))
    assert np.array_equal(model.components_, private_topics.load(genuine).components_)


def test_a_header_that_unpacks_to_a_gigabyte(genuine, tmp_path, no_code):
    """Sixty kilobytes that unpack to sixty megabytes of empty lists, which would be a gigabyte of objects."""
    header, arrays = read_model(genuine)
    text = json.dumps(header)[:-1] + ', "more": [' + "[]," * (20 * 10**6) + "[]]}"
    with zipfile.ZipFile(tmp_path / "m", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", text)
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", npy(array))
    del text
    assert (tmp_path / "m").stat().st_size < 0.2 * MEGABYTE
    refused(lambda: private_topics.load(tmp_path / "m"), ModelFileError, megabytes=2)


def test_a_header_of_a_million_lists(genuine, tmp_path, no_code):
    signed(genuine, tmp_path / "m", {"more": [[]] * (10**6 + 1)})
    refused(lambda: private_topics.load(tmp_path / "m"), ModelFileError, megabytes=10)


def test_a_directory_of_many_parts(tmp_path, no_code):
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        for number in range(20_000):
            archive.writestr(str(number), b"")
    refused(lambda: private_topics.load(tmp_path / "m"), ModelFileError, megabytes=2)


def test_a_directory_moved_elsewhere(genuine, tmp_path, no_code):
    """The locator of a zip of more than 2^31 bytes overrules the last record; short files may not have one."""
    content = genuine.read_bytes()
    (tmp_path / "m").write_bytes(content[:-22] + b"PK\6\7" + bytes(16) + content[-22:])
    refused(lambda: private_topics.load(tmp_path / "m"), ModelFileError, megabytes=2)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("listed", "times"), [(30, 1), (30, 30), (10**5, 1), (1, 2)])
def test_one_array_named_many_times(genuine, tmp_path, listed, times, no_code):
    names = ["components_", "doc_topic_prior_"] * listed
    signed(genuine, tmp_path / "m", {"arrays": names}, times=times)
    refused(lambda: private_topics.load(tmp_path / "m"), ModelFileError, megabytes=40)


def test_array_headers_that_are_programs(genuine, tmp_path, no_code):
    header = json.dumps(read_model(genuine)[0])
    for text in ("__import__('os').system('true')", "(" * 9000, "{'descr': '<f8', 'shape': (" + "9" * 5000 + ",)}"):
        content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
        with zipfile.ZipFile(tmp_path / "m", "w") as archive:
            archive.writestr("header.json", header)
            archive.writestr("components_.npy", content)
            archive.writestr("doc_topic_prior_.npy", content)
        refused(lambda: private_topics.load(tmp_path / "m"), ModelFileError, megabytes=20)


def test_words_that_would_steer_the_terminal(genuine, tmp_path):
    signed(genuine, tmp_path / "m", {"feature_names": [f"{ESCAPE}{number}\n" for number in range(20)]})
    shown = CliRunner().invoke(app, ["topics", str(tmp_path / "m")])
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output
    assert len(shown.output.splitlines()) == 2


# -- ledgers ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path):
    ledger = DurableLedger.register(tmp_path / "budget.db", "notes", 3.0, 1e-6)
    ledger.reserve(PrivacyBudget(0.1, 1e-8), settings={"estimator": "mine"})
    return ledger


def resigned(path, column, value):
    """Change a cell of the only row and make all digests right again."""
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE reservation SET {column} = ?", (value,))
    total = connection.execute("SELECT name, epsilon, delta, set_aside, time FROM corpus").fetchone()
    fields = "time, label, guarantee, epsilon, delta, threshold_delta, rho, settings"
    row = connection.execute(f"SELECT {fields} FROM reservation").fetchone()
    last = digest(digest(*total), *row)
    connection.execute("UPDATE reservation SET digest = ?", (last,))
    connection.execute("UPDATE corpus SET last = ?", (last,))
    connection.commit()
    connection.close()


def test_a_ledger_signed_anew_is_read(ledger, no_code):
    resigned(ledger.path, "settings", '{"estimator": "theirs"}')
    assert ledger.entries()[0].settings == {"estimator": "theirs"}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("settings", '{"more": [' + "[]," * 3_000 + "[]]}"),
        ("settings", '{"more": "' + "x" * 20_000 + '"}'),
        ("settings", '{"more": "' + "x" * 5_000_000 + '"}'),
        ("results", '{"more": {"deep": ' + "[" * 3_000 + "]" * 3_000 + "}}"),
        ("label", "x" * 100_000),
        ("label", "x" * 50_000_000),
        ("time", "x" * 1_000),
    ],
    ids=lambda value: value[:30],
)
def test_rows_of_any_size_and_depth(ledger, column, value, no_code):
    resigned(ledger.path, column, value)
    refused(ledger.entries, LedgerError, megabytes=2)
    refused(lambda: ledger.reserve(PrivacyBudget(0.1, 1e-8)), LedgerError, megabytes=2)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON reservation BEGIN SELECT load_extension('evil'); END",
        "CREATE VIEW v AS SELECT load_extension('evil')",
        "CREATE TABLE more (x DEFAULT (writefile('evil', 'x')))",
        "CREATE INDEX i ON reservation (hex(zeroblob(100000000)))",
    ],
)
def test_programs_in_the_tables(ledger, statement, no_code, tmp_path):
    connection = sqlite3.connect(ledger.path)
    if statement.startswith("CREATE INDEX"):
        connection.execute("DELETE FROM reservation")
    connection.execute(statement)
    connection.commit()
    connection.close()
    refused(ledger.entries, LedgerError, megabytes=2)
    refused(lambda: ledger.reserve(PrivacyBudget(0.1, 1e-8)), LedgerError, megabytes=2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["budget.db"]


def test_a_recursive_view_under_the_name_of_a_table(tmp_path, no_code):
    """It would never end if it were asked."""
    connection = sqlite3.connect(tmp_path / "budget.db")
    connection.execute(f"PRAGMA application_id = {0x70744C67}")
    connection.execute("PRAGMA user_version = 2")
    endless = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS name FROM n"
    for name in ("corpus", "reservation"):
        connection.execute(f"CREATE VIEW {name} AS {endless}")
    connection.commit()
    connection.close()
    refused(lambda: DurableLedger(tmp_path / "budget.db", "notes"), LedgerError, megabytes=2)


def test_a_file_that_declares_more_pages_than_it_has(ledger, tmp_path, no_code):
    content = bytearray((tmp_path / "budget.db").read_bytes())
    content[28:32] = (2**31 - 1).to_bytes(4, "big")
    content[24:28] = content[92:96]  # the size counts only where both counters agree
    (tmp_path / "budget.db").write_bytes(bytes(content))
    refused(ledger.entries, LedgerError, megabytes=2)


def test_another_programs_database_in_another_journal_mode_is_left_alone(tmp_path):
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE corpus (name TEXT)")
    connection.commit()
    connection.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(LedgerError, match="not a budget ledger"):
        DurableLedger.register(tmp_path / "other.db", "notes", 1.0, 1e-6)
    assert (tmp_path / "other.db").read_bytes() == before


def test_labels_that_would_steer_the_terminal(ledger):
    resigned(ledger.path, "label", ESCAPE)
    resigned(ledger.path, "settings", json.dumps({"estimator": ESCAPE}))
    shown = CliRunner().invoke(app, ["budget", "show", ledger.path])
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output
    assert "\x07" not in shown.output
