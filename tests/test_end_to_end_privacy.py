"""Raw text of two neighbouring corpora through the whole command, from the file to the report.

The released values of the first run are replayed in the second, as the adaptive composition theorem holds them fixed;
then every aggregate before noise, the weights of the vocabulary included, must lie within its declared sensitivity,
and all that is left behind (model, report, ledger, both streams) must be the same to the last byte. Every document
carries a word of its own, and every user a label of its own: neither may be found anywhere afterwards. Planted leaks
show that the comparison is not blind.

The noise is fresh. A marker has weight below 0.3 and the threshold is above 3, six standard deviations away: some
marker of the 2,250 is named in less than one run in 100,000.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from private_support import Entering, exceeds
from private_topics.cli import app
from private_topics.corpus.made_up.letters import make_letters
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.engines.local import LocalCorpus
from private_topics.estimators import vocabularies as pipeline
from private_topics.estimators.saving import load
from private_topics.privacy import mechanisms
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun, Query, Released, ReleasedWords
from private_topics.releases import vocabulary as private_vocabulary

LETTERS, EPSILON, DELTA, TOPICS = 1_500, 60.0, 1e-4, 3
REFINE_STEPS = 2
WHOLE_PATH = 2 + 9 + REFINE_STEPS + 1  # units with words, vocabulary, spectral start, refinement, evidence
UNINFORMED = ("--vocabulary", "private", "--knowledge", "none")
INFORMED = (
    "--epsilon",
    "20",
    "-k",
    "40",
)  # English knowledge and its words, the default, and a budget that needs them
MARKER = re.compile(r"zq[a-j]{6}q", re.IGNORECASE)
REPLACED = "user-zqaaaaaaq"


def marker(number: int) -> str:
    """A word that no other document has, of letters only."""
    return "zq" + "".join("abcdefghij"[int(digit)] for digit in f"{number:06d}") + "q"


def ordinary_records() -> list[dict[str, str]]:
    labels: dict[str, str] = {}
    records = []
    for number, letter in enumerate(make_letters(LETTERS, seed=5)):
        user = labels.setdefault(letter.patient, f"user-{marker(len(labels))}")
        records.append({"user": user, "text": f"{letter.text} {marker(number + 500_000)}"})
    return records


def neighbour(kind: str) -> list[dict[str, str]]:
    """The ordinary corpus with one user exchanged: other texts, another number of them."""
    others = [record for record in ordinary_records() if record["user"] != REPLACED]
    own = marker(999_999)
    texts = {
        "silent": [""],
        "of many words": [" ".join(marker(600_000 + number) for number in range(300)), own],
        "of one word": [f"queue {own} " * 5_000],
        "of many letters": [f"parking {own} invoice dinner" for _ in range(400)],
        "broken": [f"{own} pain discharge"],
    }[kind]
    records = [{"user": REPLACED, "text": text} for text in texts]
    if kind == "broken":
        records.append({"user": REPLACED, "no_text": own})
    return others[:700] + records + others[700:]


NEIGHBOURS = ("silent", "of many words", "of one word", "of many letters", "broken")
SILENT = ("silent",)


@dataclasses.dataclass
class Recorder:
    """What enters each release of a run; with `answers`, what comes out is theirs."""

    answers: list[Released] | None = None
    entering: list[Any] = dataclasses.field(default_factory=list)
    released: list[Released] = dataclasses.field(default_factory=list)

    def answer(self, released: Released) -> Released:
        if self.answers is not None:
            fixed = self.answers[len(self.released)]
            assert fixed.query == released.query, "the query itself depends on the corpus"
            extra = {"words": fixed.words, "threshold": fixed.threshold} if isinstance(fixed, ReleasedWords) else {}
            token = mechanisms._RELEASE_TOKEN
            released = type(fixed)(fixed.value.copy(), released.query, released.event, token, **extra)
        self.released.append(released)
        return released

    @contextmanager
    def installed(self) -> Iterator[None]:
        plain, words = PrivateRun.release, PrivateRun.release_words
        recorder = self

        def release(
            run: PrivateRun, query: Query, aggregate: Any, share: float, *, consume: bool = False
        ) -> Released:
            recorder.entering.append(Entering(query, np.array(aggregate), share))
            return recorder.answer(plain(run, query, aggregate, share, consume=consume))

        def release_words(
            run: PrivateRun, query: Query, weights: Mapping[str, int], share: float, **rest: Any
        ) -> Any:
            recorder.entering.append((query, dict(weights)))
            return recorder.answer(words(run, query, weights, share, **rest))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PrivateRun, "release", release)
            patch.setattr(PrivateRun, "release_words", release_words)
            yield


def run_command(folder: Path, records: list[dict[str, str]], recorder: Recorder, *more: str) -> dict[str, Any]:
    """Fit, report, show the topics and the budget; all that a reader could see."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    source, model, report, ledger = (str(folder / name) for name in ("in.jsonl", "model", "report.html", "budget.db"))
    Path(source).write_text("".join(json.dumps(record) + "\n" for record in records))
    DurableLedger.register(ledger, "letters", 2 * EPSILON, 10 * DELTA)
    call = CliRunner().invoke
    options = ["--unit", "user", "-k", TOPICS, "--epsilon", EPSILON, "--delta", DELTA, "--refine-steps", REFINE_STEPS,
               "--ledger", ledger, "--corpus", "letters", "--report", report, "--json", "-o", model]  # fmt: skip
    with recorder.installed():
        fitted = call(app, ["fit", source, *map(str, options), *(more or UNINFORMED)])
    assert fitted.exit_code == 0, fitted.output
    shown = call(app, ["topics", model, "-n", "400"])
    entries = DurableLedger(ledger, "letters").entries()
    return {
        "fit": fitted.output,
        "topics": shown.output,
        "model": Path(model).read_bytes(),
        "report": Path(report).read_text(encoding="utf-8"),
        "ledger": [(entry.label, entry.reservation, entry.settings, entry.state, entry.results) for entry in entries],
        "ledger file": Path(ledger).read_bytes(),
    }


def squared_distance(first: Mapping[str, int], second: Mapping[str, int]) -> int:
    return sum((first.get(word, 0) - second.get(word, 0)) ** 2 for word in first.keys() | second.keys())


def assert_within_sensitivity(first: Recorder, second: Recorder) -> int:
    """Every aggregate of two neighbours is as near as declared; how many of them differ at all."""
    assert len(first.entering) == len(second.entering)
    different = 0
    for one, other in zip(first.entering, second.entering, strict=True):
        if isinstance(one, tuple):
            query, distance = one[0], squared_distance(one[1], other[1])
            assert distance * Fraction(query.step) ** 2 <= Fraction(query.sensitivity) ** 2, "vocabulary: too far"
            different += distance > 0
        else:
            assert not exceeds(one, other), f"{one.query.name}: too far"
            different += not np.array_equal(one.aggregate, other.aggregate)
    return different


def assert_no_marker(left: dict[str, Any]) -> None:
    for part, value in left.items():
        text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
        assert MARKER.search(text) is None, f"a word or label of one unit stands in: {part}"


def assert_same(first: dict[str, Any], second: dict[str, Any]) -> None:
    for part in first:
        assert first[part] == second[part], f"depends on the corpus: {part}"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recorder, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("end-to-end") / "run"
    recorder = Recorder()
    return folder, recorder, run_command(folder, ordinary_records(), recorder)


def test_the_run_takes_the_whole_path(first: Any) -> None:
    folder, recorder, left = first
    names = [released.name for released in recorder.released]
    assert names[:2] == ["units with words", "vocabulary"]
    assert len(names) == WHOLE_PATH
    model = load(folder / "model")
    assert list(model.feature_names_in_) == list(recorder.released[1].words)
    assert len(model.feature_names_in_) > 100
    statement = json.loads(left["fit"][left["fit"].index("{") : left["fit"].rindex("}") + 1])["privacy"]
    assert [release["name"] for release in statement["releases"]] == names
    assert statement["unit"] == "user"
    assert statement["n_units"] == len({record["user"] for record in ordinary_records()})
    assert statement["proved"]
    assert statement["private"]
    assert statement["epsilon_spent"] <= EPSILON
    assert sum(release["share"] for release in statement["releases"]) <= 1.0
    assert not any("vocabulary" in fact for fact in statement["public"])
    assert len(left["ledger"]) == 1
    assert left["ledger"][0][2]["n_units"] == statement["n_units"]
    assert left["ledger"][0][4] == {"n_words": len(model.feature_names_in_)}
    assert left["ledger"][0][1].threshold_delta == pytest.approx(DELTA / 10)


def test_the_first_run_names_nobody(first: Any) -> None:
    assert_no_marker(first[2])


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_neighbouring_corpora_stay_within_every_sensitivity(first: Any, kind: str) -> None:
    folder, recorder, left = first
    second = Recorder(recorder.released)
    other = run_command(folder, neighbour(kind), second)
    told = WHOLE_PATH if kind in SILENT else WHOLE_PATH - 1  # whether there are words is the same of most
    assert assert_within_sensitivity(recorder, second) == told
    assert_same(left, other)
    assert_no_marker(other)


@pytest.fixture(scope="module")
def candidates(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Public candidates: words of other letters, and many that nobody uses."""
    words = {word for letter in make_letters(300, seed=9) for word in Tokeniser().words(letter.text)}
    unused = [marker(number).replace("q", "x") for number in range(2_000)]
    path = tmp_path_factory.mktemp("list") / "words.txt"
    path.write_text("".join(f"{word}\n" for word in [*sorted(words), *unused]))
    return "--knowledge", "none", "--vocabulary", f"candidates:{path}"


def test_with_candidates_neighbouring_corpora_stay_within_every_sensitivity(first: Any, candidates: Any) -> None:
    """A user of one word against one of many letters, none of whose own words is a candidate."""
    folder, recorder, second = first[0], Recorder(), Recorder()
    left = run_command(folder, neighbour("of one word"), recorder, *candidates)
    second.answers = recorder.released
    other = run_command(folder, neighbour("of many letters"), second, *candidates)
    assert [released.name for released in recorder.released][:3] == ["units with words", "candidate words", "unigram"]
    assert len(recorder.released) == WHOLE_PATH
    assert assert_within_sensitivity(recorder, second) == WHOLE_PATH - 1  # both users have words
    assert_same(left, other)
    for found in (left, other):
        assert_no_marker(found)
        assert found["ledger"][0][1].threshold_delta == 0.0


@pytest.mark.parametrize("kind", ["of one word", "of many letters"])
def test_with_public_knowledge_neighbouring_corpora_stay_within_every_sensitivity(first: Any, kind: str) -> None:
    """What is known of words is aligned to released words: with those fixed, nothing else of the corpus enters."""
    folder, recorder, second = first[0], Recorder(), Recorder()
    left = run_command(folder, ordinary_records(), recorder, *INFORMED)
    second.answers = recorder.released
    other = run_command(folder, neighbour(kind), second, *INFORMED)
    names = [released.name for released in recorder.released]
    assert names[:4] == ["units with words", "candidate words", "unigram", "public second norms"]
    assert assert_within_sensitivity(recorder, second) == len(names) - 1  # both users have words
    assert_same(left, other)
    for found in (left, other):
        assert_no_marker(found)
        assert found["ledger"][0][2]["knowledge"] == "english"


# -- planted leaks ---------------------------------------------------------------------------------------------------


def neighbouring_runs(first: Any, kind: str) -> list[Recorder]:
    """What enters the releases of a library that leaks, for the ordinary corpus and for a neighbour of it."""
    runs = [Recorder(first[1].released) for _ in range(2)]
    for recorder, records in zip(runs, (ordinary_records(), neighbour(kind)), strict=True):
        run_command(first[0], records, recorder)
    return runs


def test_an_unbounded_vocabulary_would_be_seen(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def unbounded(units: Any, most: int, weight: Any) -> dict[str, int]:
        totals: dict[str, int] = {}
        for unit in units:
            for word in unit:
                totals[word] = totals.get(word, 0) + weight(1)
        return totals

    monkeypatch.setattr(private_vocabulary, "union_weights", unbounded)
    with pytest.raises(AssertionError, match="vocabulary: too far"):
        assert_within_sensitivity(*neighbouring_runs(first, "of many words"))


def test_documents_taken_for_units_would_be_seen(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = LocalCorpus.__iter__

    def forgetful(self: LocalCorpus) -> Any:
        for part in honest(self):
            yield dataclasses.replace(part, share=np.ones_like(part.share))

    monkeypatch.setattr(LocalCorpus, "__iter__", forgetful)
    with pytest.raises(AssertionError, match="too far"):
        assert_within_sensitivity(*neighbouring_runs(first, "of many letters"))


def test_a_word_that_leaks_would_be_seen(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaky(run: Any, units: Any, **rest: Any) -> list[str]:
        seen: list[str] = []

        def watched() -> Iterator[Any]:
            for unit in units:
                seen.extend(unit)
                yield unit

        released = private_vocabulary.release_vocabulary(run, watched(), **rest)
        return sorted({*released, next(word for word in seen if MARKER.fullmatch(word))})

    monkeypatch.setattr(pipeline, "release_vocabulary", leaky)
    left = run_command(first[0], ordinary_records()[:300], Recorder())
    with pytest.raises(AssertionError, match="stands in"):
        assert_no_marker(left)


def test_a_number_on_the_screen_would_be_seen(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, recorder, left = first
    finish = FitAccount.finish

    def leaky(self: FitAccount, digest: Any) -> None:
        typer.echo(f"{len((folder / 'in.jsonl').read_bytes())} bytes", err=True)
        finish(self, digest)

    monkeypatch.setattr(FitAccount, "finish", leaky)
    other = run_command(folder, neighbour("silent"), Recorder(recorder.released))
    with pytest.raises(AssertionError, match="depends on the corpus: fit"):
        assert_same(left, other)
