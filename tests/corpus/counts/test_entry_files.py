"""Files with one line per entry: what was written is read, at every pass, and bad files are refused."""

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_support import DENSE, SECRET, assert_quiet, assert_same, corpora, write_bytes, write_uci
from private_topics.corpus.counts import entry_files
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.entry_files import MatrixMarketBlocks, UCIBlocks
from private_topics.errors import InputError


@pytest.mark.parametrize("name", ["docword.a.txt", "docword.a.txt.gz"])
@settings(deadline=None, max_examples=30)
@given(dense=corpora, height=st.integers(1, 15), chunk=st.integers(1, 40))
def test_uci_round_trip(name, dense, height, chunk):
    before, entry_files.ENTRY_CHUNK_BYTES = entry_files.ENTRY_CHUNK_BYTES, chunk
    try:
        with tempfile.TemporaryDirectory() as folder:
            corpus = UCIBlocks(write_uci(Path(folder, name), dense), block_documents=height)
            assert corpus.n_documents == len(dense)
            assert_same(corpus, dense)
            np.testing.assert_array_equal(corpus.sample(3).toarray(), dense[:3])
    finally:
        entry_files.ENTRY_CHUNK_BYTES = before


@pytest.mark.parametrize("newline", ["\n", "\r\n", " \n", "\n\n"])
def test_uci_line_ends(tmp_path, newline):
    path = write_uci(tmp_path / "docword.txt", DENSE)
    header, body = path.read_text().split("\n", 3)[:3], path.read_text().split("\n", 3)[3]
    path.write_text("\n".join(header) + "\n" + body.replace("\n", newline), newline="")
    assert_same(as_blocks(path), DENSE)
    path.write_bytes(path.read_bytes().rstrip())  # no newline at the end
    assert_same(as_blocks(path), DENSE)


@pytest.mark.parametrize("name", ["docword.txt", "a.mtx"])
def test_numbers_may_stand_apart_by_tabs(tmp_path, name):
    sizes = "2\n3\n2\n" if name == "docword.txt" else BANNER + "2\t3\t2\n"
    path = write_bytes(tmp_path / name, (sizes + "1\t3\t4\n\t2 \t1\t 5\t\n").encode())
    assert_same(as_blocks(path), np.array([[0, 0, 4], [5, 0, 0]]))


def test_uci_words_in_any_order_and_repeated(tmp_path):
    path = tmp_path / "docword.txt"
    path.write_text("2\n3\n3\n1 3 1\n1 1 2\n1 3 4\n")
    assert_same(as_blocks(path), np.array([[2, 0, 5], [0, 0, 0]]))


def test_truncated_or_damaged_gzip(tmp_path):
    dense = np.random.default_rng(0).poisson(1, (300, 40))
    path = write_uci(tmp_path / "docword.txt.gz", dense)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:5], b"2\n3\n0\n", content[:-8] + bytes(8)):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="truncated or damaged"):
            list(UCIBlocks(path))


def test_uci_header_changed_between_passes(tmp_path):
    corpus = UCIBlocks(write_uci(tmp_path / "docword.txt", DENSE))
    write_uci(tmp_path / "docword.txt", DENSE[:3])
    with pytest.raises(InputError, match="header changed"):
        list(corpus)


@pytest.mark.parametrize("words", [0, 5_000])
@pytest.mark.parametrize("name", ["docword.txt", "docword.txt.gz", "a.mtx"])
def test_what_one_document_says_does_not_decide_whether_a_file_is_read(tmp_path, name, words):
    """Nine million documents of which none or one holds a word: there is no limit by the size of the file."""
    sizes = BANNER + f"9000000 6000 {words}\n" if name == "a.mtx" else f"9000000\n6000\n{words}\n"
    content = (sizes + "".join(f"5 {word} 1\n" for word in range(1, words + 1))).encode()
    path = write_bytes(tmp_path / name, content)
    found = [(block.shape[0], block.nnz) for block in as_blocks(path)]
    assert np.sum(found, axis=0).tolist() == [9_000_000, words]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_matrix_market(tmp_path, name, kind):
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, sp.csr_array(DENSE.astype(kind)), comment="made here\n" + "x" * 1000)
    path = write_bytes(tmp_path / name, buffer.getvalue())
    for height in (1, 3, 100):
        corpus = MatrixMarketBlocks(path, height)
        assert corpus.n_documents == len(DENSE)
        assert_same(corpus, DENSE)


UCI, MARKET = "docword.bad.txt", "bad.mtx"
BANNER = "%%MatrixMarket matrix coordinate integer general\n"
BAD = {
    "UCI, empty": (UCI, "", "first three lines"),
    "UCI, two header lines": (UCI, "2\n3\n", "first three lines"),
    "UCI, header with text": (UCI, "2\nx\n1\n1 1 1\n", "first three lines"),
    "UCI, header on one line": (UCI, "2 3 1\n1 1 1\n", "first three lines"),
    "UCI, negative header": (UCI, "2\n-3\n1\n1 1 1\n", "first three lines"),
    "UCI, no documents": (UCI, "0\n3\n0\n", "at least 1 document"),
    "UCI, no words": (UCI, "1\n0\n0\n", "at least 1 document and 1 word"),
    "UCI, two fields": (UCI, "2\n3\n1\n1 1\n", "three numbers"),
    "UCI, four fields": (UCI, "2\n3\n1\n1 1 1 1\n", "three numbers"),
    "UCI, seven fields": (UCI, "2\n3\n2\n1 1 1 1 1 1 1\n1 1 1\n", "three numbers"),
    "UCI, letters": (UCI, f"2\n3\n1\n1 {SECRET} 1\n", "not a digit"),
    "UCI, minus": (UCI, "2\n3\n1\n1 1 -1\n", "not a digit"),
    "UCI, fraction": (UCI, "2\n3\n1\n1 1 1.5\n", "not a digit"),
    "UCI, document 0": (UCI, "2\n3\n1\n0 1 1\n", "document id"),
    "UCI, document too large": (UCI, "2\n3\n1\n3 1 1\n", "document id"),
    "UCI, word 0": (UCI, "2\n3\n1\n1 0 1\n", "word id"),
    "UCI, word too large": (UCI, "2\n3\n1\n1 4 1\n", "word id"),
    "UCI, count too large": (UCI, "2\n3\n1\n1 1 2147483648\n", "larger than"),
    "UCI, number past 64 bits": (UCI, "2\n3\n1\n1 1 18446744073709551617\n", "larger than"),
    "UCI, wrong order": (UCI, "2\n3\n2\n2 1 1\n1 1 1\n", "ascending order"),
    "UCI, too few entries": (UCI, "2\n3\n2\n1 1 1\n", "ends early"),
    "UCI, too many entries": (UCI, "2\n3\n1\n1 1 1\n1 2 1\n", "more entries"),
    "UCI, endless line": (UCI, "2\n3\n1\n" + "1" * 1000, "too long"),
    "MatrixMarket, empty": (MARKET, "", "first line"),
    "MatrixMarket, no banner": (MARKET, "4 4 1\n1 1 1\n", "first line"),
    "MatrixMarket, pattern": (MARKET, BANNER.replace("integer", "pattern") + "1 1 1\n1 1\n", "first line"),
    "MatrixMarket, symmetric": (
        MARKET,
        "%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 1\n",
        "first line",
    ),
    "MatrixMarket, array": (MARKET, "%%MatrixMarket matrix array integer general\n1 1\n1\n", "first line"),
    "MatrixMarket, comments only": (MARKET, BANNER + "%\n" * 2000, "numbers of rows"),
    "MatrixMarket, sizes": (MARKET, BANNER + f"1 {SECRET} 1\n1 1 1\n", "numbers of rows"),
    "MatrixMarket, no rows": (MARKET, BANNER + "0 1 0\n", "at least 1 row"),
    "MatrixMarket, fraction": (MARKET, BANNER + "1 1 1\n1 1 1.5\n", "whole number"),
    "MatrixMarket, negative": (MARKET, BANNER + "1 1 1\n1 1 -1\n", "whole number"),
    "MatrixMarket, text": (MARKET, BANNER + f"1 1 1\n1 1 {SECRET}\n", "whole number"),
    "MatrixMarket, outside": (MARKET, BANNER + "1 1 1\n1 2 1\n", "word id"),
    "MatrixMarket, two fields": (MARKET, BANNER + "1 1 1\n1 1\n", "a row, a column and a count"),
    "MatrixMarket, by column": (MARKET, BANNER + "2 2 2\n2 1 1\n1 2 1\n", "sorted by row"),
    "MatrixMarket, short": (MARKET, BANNER + "2 2 2\n1 1 1\n", "ends early"),
}


@pytest.mark.parametrize("chunk", [3, 1 << 20])
@pytest.mark.parametrize(("name", "text", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_named_and_not_quoted(tmp_path, monkeypatch, name, text, message, chunk):
    monkeypatch.setattr(entry_files, "ENTRY_CHUNK_BYTES", chunk)
    path = write_bytes(tmp_path / name, text.encode())
    assert_quiet(lambda: list(as_blocks(path)), message)
    with pytest.raises(InputError, match=name):
        list(as_blocks(path))
