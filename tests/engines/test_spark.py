"""Corpora of a Spark cluster: texts, counts, units, input that cannot be used; the command line; the guide."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from engine_support import N_WORDS, counts, fitted, frame_of, refuse_to_tokenise, sent_by, shuffled, users
from typer.testing import CliRunner

from hang_support import HANG
from private_topics import SpectralLDA
from private_topics.cli import app
from private_topics.corpus.counts.blocks import write_parquet_block
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.made_up.letters import make_letters, write_letters
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList
from private_topics.engines.spark import corpus as engine
from private_topics.engines.spark import session as spark_session
from private_topics.engines.spark.corpus import SparkCorpus, SparkCounts
from private_topics.engines.spark.session import session
from private_topics.errors import EngineError, InputError

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
WORDS = ["blood", "café", "heart", "night", "pain", "plan", "sleep", "ward"]
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "spark.md"


# -- texts and counts ------------------------------------------------------------------------------------------------


def documents():
    """Texts of two words each and more, some with none, by users with several."""
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice([*WORDS, "and", "Of"], size)) for size in generator.integers(0, 40, 300)]
    texts[3], texts[4] = "", "CAFE\u0301 Cafe\u0301, café!"
    return texts, [f"u{number}" for number in generator.integers(0, 60, 300)]


@pytest.mark.parametrize("unit", [None, "patient"])
def test_texts_are_counted_on_the_executors_as_they_are_here(spark, unit):
    texts, patients = documents()
    tokeniser = Tokeniser(min_length=4)
    frame = spark.createDataFrame([*zip(texts, patients, strict=True)], "note string, patient string").repartition(5)
    held = SparkCounts.of_texts(frame, WORDS, tokeniser, text="note", unit=unit)
    model = fitted(held, engine="spark", n_components=2)
    local = fitted(
        count_texts(texts if unit is None else zip(texts, patients, strict=True), WORDS, tokeniser), n_components=2
    )
    assert np.array_equal(model.components_, local.components_)
    assert model.privacy_ == local.privacy_
    assert list(model.feature_names_in_) == WORDS
    assert model.tokeniser_ == local.tokeniser_ == tokeniser


def test_a_missing_text_is_an_empty_document_and_a_word_list_is_made_usable(spark):
    frame = spark.createDataFrame([("Heart, heart and ward",), (None,), ("nothing listed",)], "text string")
    held = SparkCounts.of_texts(frame, WordList("mine", ("Heart", "and", "heart-ward", "ward")))
    assert held.columns == ["heart", "ward"]
    assert sorted(map(tuple, np.vstack([block.toarray() for block in held]).tolist())) == [(0, 0), (0, 0), (2, 1)]
    with closing(SparkCorpus.of(held)) as corpus:
        assert corpus.n_units == 3
    with pytest.raises(InputError, match="tokeniser never makes"):
        SparkCounts.of_texts(frame, ["Heart"])


def test_labels_of_one_user_are_one_unit(spark):
    """Blanks, Unicode form and type do not make two units of one."""
    labels = [" cafe\u0301", "caf\u00e9 ", "7", " 7"]
    frame = spark.createDataFrame(
        [([0], [3], label) for label in labels], "indices array<int>, counts array<int>, u string"
    )
    with closing(SparkCorpus.of(SparkCounts.of_counts(frame, 1, unit="u"))) as corpus:
        assert corpus.n_units == 2


def test_parquet_blocks_are_read_by_spark(spark, tmp_path):
    for number in range(3):
        write_parquet_block(tmp_path / f"{number}.parquet", counts()[number::3])
    held = SparkCounts.of_counts(spark.read.parquet(str(tmp_path)), columns=[f"word{i:03}" for i in range(N_WORDS)])
    model = fitted(held, engine="spark")
    assert np.array_equal(model.components_, fitted(counts()).components_)
    assert model.feature_names_in_[7] == "word007"


def test_a_frame_can_be_read_through_the_driver(spark):
    """By an estimator without privacy; with units only the engine that knows them may."""
    held = SparkCounts.of_counts(frame_of(spark, 3), N_WORDS)
    assert np.array_equal(np.vstack([block.toarray() for block in held]), counts()[shuffled()].toarray())
    assert SpectralLDA(3, alpha0=0.1, refine_steps=0).fit(held).components_.shape == (3, N_WORDS)
    with pytest.raises(InputError, match="engine='spark'"):
        fitted(SparkCounts.of_counts(frame_of(spark, 3), N_WORDS, unit="user"))


def test_blocks_of_the_driver_go_out_in_bounded_pieces(spark, monkeypatch):
    monkeypatch.setattr(spark_session, "SHIPMENT_BYTES", 20_000)
    monkeypatch.setattr(engine, "PIECE_ENTRIES", 500)
    sent = sent_by(monkeypatch)
    model = fitted(counts(), users(), engine="spark")
    pieces = [[piece.part.block for piece in shipment] for shipment, _ in sent]
    assert len(pieces) == 3
    assert max(block.nnz for shipment in pieces for block in shipment) <= 500
    assert max(sum(8 * block.nnz for block in shipment) for shipment in pieces) <= 20_000 + 8 * 500
    with closing(SparkCorpus.of(SparkCounts.of_counts(frame_of(spark, 2), N_WORDS))) as corpus:
        assert corpus.sent is None
    assert np.array_equal(model.components_, fitted(counts(), users()).components_)


# -- input that cannot be used ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (([1, N_WORDS], [1, 1], "a"), "point outside its shape"),
        (([-1], [1], "a"), "point outside its shape"),
        (([1], [-8765], "a"), "non-negative"),
        (([1], [0.5], "a"), "integer counts"),
        (([1, 2], [1], "a"), "equally long"),
        (([1], None, "a"), "must hold an array"),
        (([1, None], [1, 1], "a"), "missing values"),
        (([1], [1], None), "has no unit"),
        (([1], [1], "  "), "has no unit"),
    ],
)
def test_a_bad_row_is_an_input_error(spark, row, message, capfd):
    rows = [([0], [1.0], "b"), (row[0], None if row[1] is None else [float(c) for c in row[1]], row[2])]
    frame = spark.createDataFrame(rows, "indices array<int>, counts array<double>, user string")
    with pytest.raises(InputError, match=message) as raised:
        fitted(SparkCounts.of_counts(frame, N_WORDS, unit="user"), engine="spark")
    assert raised.value.__context__ is None
    assert "8765" not in str(raised.value) + "".join(capfd.readouterr())
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_bad_frames_are_refused_at_once(spark):
    frame = frame_of(spark, 2)
    for arguments, message in [
        ((frame, 0), "n_words"),
        ((frame, None), "n_words"),
        (([[1, 2]], 3), "Spark DataFrame"),
        ((frame.withColumnRenamed("counts", "c"), 3), "'counts' of arrays of numbers"),
    ]:
        with pytest.raises(InputError, match=message):
            SparkCounts.of_counts(*arguments)
    with pytest.raises(InputError, match="'counts' of strings or integers"):
        SparkCounts.of_counts(frame, 3, unit="counts")
    with pytest.raises(InputError, match="'user' of arrays of integers"):
        SparkCounts.of_counts(frame, 3, words="user")
    with pytest.raises(InputError, match="name the column"):
        fitted(SparkCounts.of_counts(frame, N_WORDS), users(), engine="spark")
    with pytest.raises(InputError, match="empty"):
        fitted(SparkCounts.of_counts(frame.limit(0), N_WORDS), engine="spark")


def test_an_error_of_spark_is_translated(spark, tmp_path):
    """A file that vanished: Spark's message, which names it, is not passed on."""
    write_parquet_block(tmp_path / "gone.parquet", counts())
    frame = spark.read.parquet(str(tmp_path))
    (tmp_path / "gone.parquet").unlink()
    with pytest.raises(EngineError) as raised:
        fitted(SparkCounts.of_counts(frame, N_WORDS), engine="spark")
    assert raised.value.__context__ is None
    assert "gone" not in str(raised.value)


# -- sessions, command line, guide -----------------------------------------------------------------------------------


def test_the_session_that_is_there_is_used(spark):
    assert session() is spark
    with pytest.raises(InputError, match="another master"):
        session("local[1]")


def test_the_command_line_fits_on_the_cluster(spark, tmp_path, monkeypatch):
    """From a compressed file; the driver cuts none of its texts into words."""
    refuse_to_tokenise(monkeypatch)
    write_letters(tmp_path / "letters.jsonl.gz", 2_000, seed=1)
    words = sorted({word for letter in make_letters(300, seed=1) for word in Tokeniser().words(letter.text)})
    Path(tmp_path, "words.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    command = ["fit", str(tmp_path / "letters.jsonl.gz"), "-k", "3", "--epsilon", "20", "--unit", "patient_id"]
    command += ["--vocabulary", str(tmp_path / "words.txt"), "-o", str(tmp_path / "m.model"), "--json", "-q"]
    result = CliRunner().invoke(app, [*command, "--engine", "spark", "--refine-steps", "1"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    patients = {letter.patient for letter in make_letters(2_000, seed=1)}
    assert (found["privacy"]["unit"], found["privacy"]["n_units"]) == ("user", len(patients))
    assert found["words"] == len(words)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
    for options, message in [
        (["--master", "local[2]"], "--master"),
        (["--engine", "cloud"], "--engine"),
        (["--engine", "spark", "--no-privacy"], "contradicts"),
    ]:
        refused = CliRunner().invoke(app, [*command, *options])
        assert refused.exit_code == 2
        assert message in refused.output


def test_the_command_line_starts_a_session_at_a_master(spark_is_there, tmp_path):
    write_parquet_block(tmp_path / "block.parquet", counts())
    command = [
        str(Path(sys.executable).with_name("private-topics")),
        "fit",
        str(tmp_path / "block.parquet"),
        "-k",
        "2",
        "-q",
    ]
    command += ["--engine", "spark", "--master", "local[1]", "--epsilon", "5", "--refine-steps", "0", "--json"]
    run = subprocess.run([*command, "-o", str(tmp_path / "m.model")], capture_output=True, text=True, timeout=HANG)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["privacy"]["n_units"] == counts().shape[0]


def test_the_guide_runs(spark, tmp_path, monkeypatch):
    """The Python of docs/guide/spark.md, in order, on the cluster."""
    monkeypatch.chdir(tmp_path)
    letters = list(make_letters(1_500, seed=1))
    rows = [(letter.text, letter.patient) for letter in letters]
    spark.createDataFrame(rows, "text string, patient_id string").write.parquet(str(tmp_path / "letters.parquet"))
    write_parquet_block(tmp_path / "blocks.parquet", counts())
    words = sorted({word for text, _ in rows[:200] for word in Tokeniser().words(text)})
    Path("words.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    namespace: dict[str, object] = {"spark": spark, "n_words": N_WORDS}
    for number, code in enumerate(blocks, start=1):
        code = re.sub(r'"(\w+\.parquet)"', f'"{tmp_path}/\\1"', code)  # Java keeps the folder it was started in
        exec(compile(code, f"spark.md, block {number}", "exec"), namespace)
