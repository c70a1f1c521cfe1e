"""The targets of the coverage-guided fuzzer: they run on their seeds and on changed ones, and see what is wrong."""

import importlib.util
import random
import sys

import pytest

import fuzz_coverage
import fuzz_targets
from fuzz_references import plain_entries, plain_market, plain_words
from fuzz_seeds import GRAMMARS, SECRET, UNCHANGEABLE, seeds_of
from fuzz_targets import TARGETS, judged
from private_topics.errors import InputError

CHANGES = 25


def changed(name, seed, rng):
    grammar = GRAMMARS.get(TARGETS[name].grammar)
    if grammar is not None:
        try:
            return grammar(seed, rng)
        except UNCHANGEABLE:
            pass
    at = rng.randrange(len(seed))
    return seed[:at] + rng.randbytes(rng.randint(0, 3)) + seed[at + rng.randint(0, 3) :]


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(name, tmp_path):
    seeds = seeds_of(name, tmp_path)
    assert seeds
    assert {judged(name, seed, tmp_path) for seed in seeds} == {"read"}


@pytest.mark.parametrize("name", TARGETS)
def test_changed_seeds_are_read_or_refused(name, tmp_path):
    """A fixed few of what the fuzzer makes without end; there are refusals among them."""
    rng, seeds = random.Random(name), seeds_of(name, tmp_path)
    outcomes = {judged(name, changed(name, rng.choice(seeds), rng), tmp_path) for _ in range(CHANGES)}
    assert "refused" in outcomes or name in ("words", "neighbours")


@pytest.mark.parametrize("message", ["", f"a record says {SECRET}", "two\nlines"])
def test_what_a_message_may_not_be(message, tmp_path, monkeypatch):
    def refuse(*_):
        raise InputError(message)

    monkeypatch.setitem(TARGETS, "lines", fuzz_targets.Target(refuse))
    with pytest.raises(AssertionError, match="message"):
        judged("lines", b"", tmp_path)


def test_other_errors_come_out(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz_targets, "verify", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judged("audit", b"{}", tmp_path)


@pytest.mark.parametrize(
    ("name", "broken", "data"),
    [
        ("docword", "triplets", b"2\n2\n1\n1 2 7\n"),
        ("mtx", "triplets", b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 7\n"),
        ("lines", "open_texts", b"\0a\nb\n"),
        ("jsonl", "open_texts", b'\0{"text": "a"}\n{"text": "b"}\n'),
        ("table", "open_texts", b"\x01text\na\nb\n"),
        ("lists", "read_unit_labels", b"\x01a\nb\n"),
    ],
)
def test_a_reader_that_forgets_is_seen(name, broken, data, tmp_path, monkeypatch):
    """Each comparison can fail: a reader that loses its last entry, text or label does not agree."""
    real = getattr(fuzz_targets, broken)

    def forgets(*arguments, **options):
        found = real(*arguments, **options)
        if broken == "triplets":
            found.popitem()
            return found
        return list(found)[:-1] if broken == "open_texts" else found[:-1]

    assert judged(name, data, tmp_path) == "read"
    monkeypatch.setattr(fuzz_targets, broken, forgets)
    with pytest.raises(AssertionError):
        judged(name, data, tmp_path)


NEIGHBOURS = [b"\n#\n".join([b"other", b'"a\nb"', b"second"]), b"\n#\n".join([b"x" * 90, b"first", b"second"])]


@pytest.mark.parametrize("data", NEIGHBOURS)
@pytest.mark.parametrize("flags", range(len(fuzz_targets.WRITERS)))
def test_a_record_that_ends_the_reading_or_changes_others_is_seen(flags, data, tmp_path, monkeypatch):
    data = bytes([flags]) + data
    assert judged("neighbours", data, tmp_path) == "read"
    real = fuzz_targets.open_texts
    reads = iter([lambda found: found, lambda found: found[:-1]])
    monkeypatch.setattr(fuzz_targets, "open_texts", lambda *given, **named: next(reads)(list(real(*given, **named))))
    with pytest.raises(AssertionError, match="number of documents"):
        judged("neighbours", data, tmp_path)
    reads = iter([lambda found: found, lambda found: [*found[:-1], ("changed", None)]])
    with pytest.raises(AssertionError, match="what others say"):
        judged("neighbours", data, tmp_path)

    def refuse(*_, **__):
        raise InputError("it is longer than others")

    monkeypatch.setattr(fuzz_targets, "open_texts", refuse)
    with pytest.raises(AssertionError, match="ends the reading"):
        judged("neighbours", data, tmp_path)


def test_references_on_small_files():
    assert plain_entries(b"2\n3\n2\n1 3 4\n\n1 3 1\n") == {(0, 2): 5}
    for wrong in (
        b"2\n3\n1\n3 1 1\n",
        b"2\n3\n2\n1 1 1\n",
        b"2\n3\n2\n2 1 1\n1 1 1\n",
        b"2\n3\n1\n1 1 1 1\n",
        b"2\n3\n",
    ):
        assert plain_entries(wrong) is None
    banner = b"%%MatrixMarket matrix coordinate integer general\n"
    assert plain_market(banner + b"% c\n\n1 1 1\n1 1 3\n") == {(0, 0): 3}
    assert plain_market(banner.replace(b"integer", b"complex") + b"1 1 0\n") is None
    assert plain_words("Él 2 la\u0301", "lower", True) == ["él", "2", "lá"]


LOG = """318 functions are watched.
#4\tINITED cov: 163 ft: 209 corp: 4/402b exec/s: 0 rss: 291Mb
#1024\tpulse  cov: 190 ft: 260 corp: 11/1340b lim: 104 exec/s: 341 rss: 292Mb
#2048\tNEW    cov: 201 ft: 290 corp: 12/1400b lim: 104 exec/s: 341 rss: 292Mb L: 80/104 MS: 1 EraseBytes-
"""
FAILED = """
 === Uncaught Python exception: ===
ValueError: Out of range float values are not JSON compliant
Traceback (most recent call last):
  File "seal.py", line 57, in verify
==1== ERROR: libFuzzer: fuzz target exited
Test unit written to /dev/shm/fuzz/crash-0a
"""


def test_what_the_fuzzer_printed():
    fine = fuzz_coverage.outcome_of("audit", LOG, 0, 4.0, (2000, 40, 8))
    assert (fine.inputs, fine.seeds, fine.reached, fine.features, fine.finding) == (2048, 163, 201, 290, "")
    assert fine.row == "| audit | 2,048 | 512 | 2,000 | 40 | 8 | 163 | 201 | 290 | none |"
    assert fine.row.count(" | ") == fuzz_coverage.HEAD.splitlines()[0].count(" | ")
    failed = fuzz_coverage.outcome_of("audit", LOG + FAILED, 77, 4.0, (2000, 40, 8))
    assert failed.finding == "ValueError: Out of range float values are not JSON compliant (/dev/shm/fuzz/crash-0a)"
    slow = fuzz_coverage.outcome_of("audit", LOG + "==1== ERROR: libFuzzer: timeout after 11 seconds\n", 70, 4.0, ())
    assert slow.finding == "timeout after 11 seconds"
    assert fuzz_coverage.outcome_of("audit", "ImportError: no\n", 1, 4.0, ()).finding == "ImportError: no"


def test_what_is_watched():
    """The library's functions, not those that numba compiles: changed, these could not be compiled."""
    names = {f"{one.__module__}.{one.__name__}" for one in fuzz_coverage.functions_of(fuzz_coverage.WATCHED)}
    assert {"private_topics.corpus.counts.entry_files._header", "fuzz_references.plain_words"} <= names
    assert (
        not {
            "private_topics.corpus.counts.entry_files._parse_lines",
            "private_topics.corpus.words.scanning._find_words",
        }
        & names
    )


def test_without_the_fuzzer(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["fuzz_coverage.py"])
    assert fuzz_coverage.main() == 2
    assert "[fuzz]" in capsys.readouterr().err
