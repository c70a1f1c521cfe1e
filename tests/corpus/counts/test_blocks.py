"""Blocks: every kind of corpus gives the same counts at every pass, and bad ones are refused."""

import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_support import DENSE, assert_quiet, assert_same, corpora, write_uci
from private_topics.corpus.counts import block_source
from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.blocks import (
    FolderBlocks,
    IterableBlocks,
    MatrixBlocks,
    UCIBlocks,
    as_blocks,
    write_npz_block,
    write_parquet_block,
)
from private_topics.corpus.counts.layout import ranks_of
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.errors import InputError

WRITERS = {".npz": write_npz_block, ".parquet": write_parquet_block}

# One matrix


@settings(deadline=None)
@given(corpora, st.integers(1, 15))
def test_matrix_blocks_are_the_matrix(dense, height):
    corpus = MatrixBlocks(dense, block_documents=height)
    assert corpus.in_memory
    assert_same(corpus, dense)
    assert max(block.shape[0] for block in corpus) == min(height, len(dense))


def test_matrix_blocks_are_views():
    corpus = MatrixBlocks(DENSE, block_documents=2)
    assert all(np.shares_memory(b.data, corpus.counts.data) for b in corpus if b.nnz)


def test_matrix_sample_is_spread_over_the_rows():
    numbers = np.arange(1, 1001)[:, None]
    sample = MatrixBlocks(numbers).sample(100).toarray()[:, 0]
    assert 80 <= len(sample) <= 120
    assert (np.diff(sample) > 0).all()
    assert sample[0] == 1
    assert sample[-1] == 1000
    assert np.histogram(sample, bins=10, range=(1, 1000))[0].min() >= 5
    for asked in (1000, 5000):
        np.testing.assert_array_equal(MatrixBlocks(numbers).sample(asked).toarray(), numbers)


# Iterables


class Repeatable:
    def __init__(self, *passes):
        self.passes, self.n_started = passes, 0

    def __iter__(self):
        self.n_started += 1
        yield from self.passes[min(self.n_started, len(self.passes)) - 1]


@settings(deadline=None)
@given(corpora, st.integers(1, 5))
def test_iterable_blocks_are_the_corpus(dense, height):
    blocks = [sp.csr_array(dense[i : i + height]) for i in range(0, len(dense), height)]
    assert_same(IterableBlocks(blocks), dense)
    assert_same(as_blocks(tuple(blocks)), dense)
    assert_same(as_blocks(Repeatable(blocks)), dense)


def test_blocks_without_documents_are_skipped():
    assert_same(IterableBlocks([np.zeros((0, 4)), DENSE, np.zeros((0, 4))]), DENSE)


@pytest.mark.parametrize(
    "once", [lambda: (DENSE for _ in range(2)), lambda: iter([DENSE]), lambda: map(abs, [DENSE])]
)
def test_a_generator_is_refused(once):
    with pytest.raises(InputError, match=r"more than once.*Pass a list of blocks.*__iter__"):
        as_blocks(once())


def test_a_second_pass_with_other_documents_is_refused():
    fewer, more = ([DENSE], [DENSE[:2]]), ([DENSE], [DENSE, DENSE])
    for first, second in (fewer, more):
        corpus = IterableBlocks(Repeatable(first, first, second))  # the first start only asks for the width
        assert sum(len(block.indptr) - 1 for block in corpus) == len(DENSE)
        with pytest.raises(InputError, match="changed between two passes"):
            list(corpus)


def test_an_incomplete_pass_does_not_fix_the_number_of_documents():
    corpus = IterableBlocks(Repeatable([DENSE, DENSE]))
    next(iter(corpus))
    assert corpus.n_documents is None
    assert_same(corpus, np.vstack([DENSE, DENSE]))


def test_a_block_of_another_width_is_refused():
    corpus = IterableBlocks([DENSE, DENSE[:, :3]])
    with pytest.raises(InputError, match="different number of words"):
        list(corpus)
    with pytest.raises(InputError, match="different number of words"):
        corpus.sample(10)
    with pytest.raises(InputError, match="different number of words"):
        list(IterableBlocks(Repeatable([DENSE], [DENSE[:, :3]])))


def test_no_corpus_gives_a_block_of_another_width():
    """Whatever a subclass yields: a kernel would write outside its arrays."""

    class Uneven(CountBlocks):
        n_words = 4

        def _blocks(self):
            yield from map(validate_counts, (DENSE, np.hstack([DENSE, DENSE])))

    with pytest.raises(InputError, match="different number of words"):
        list(Uneven())


def test_a_bad_block_names_the_caller():
    with pytest.raises(InputError, match="Negative values in data passed to transform"):
        list(IterableBlocks([DENSE, -DENSE], caller="transform"))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (Repeatable([]), r"0 sample\(s\).*no block"),
        (Repeatable([np.array([[-1]])]), "Negative values in data"),
        (Repeatable([["a"]]), "Expected 2D array"),
    ],
)
def test_unusable_first_blocks(blocks, message):
    with pytest.raises(InputError, match=message):
        as_blocks(blocks)


def test_only_blocks_without_documents_are_refused():
    corpus = IterableBlocks([np.zeros((0, 4))])
    with pytest.raises(InputError, match=r"0 sample\(s\)"):
        list(corpus)
    with pytest.raises(InputError, match=r"0 sample\(s\)"):
        corpus.sample(3)


def test_high_blocks_are_cut(monkeypatch):
    monkeypatch.setattr(block_source, "LARGEST_BLOCK_DOCUMENTS", 2)
    corpus = IterableBlocks([DENSE, DENSE[:1]])
    assert [block.shape[0] for block in corpus] == [2, 2, 1, 1]
    assert_same(corpus, np.vstack([DENSE, DENSE[:1]]))


def test_blocks_of_many_entries_are_cut(monkeypatch):
    """32 bits number the entries of a block; how many there are is private, so that it may not end a fit."""
    counts = np.triu(np.ones((6, 6), int))[::-1]  # 1 to 6 different words
    monkeypatch.setattr(block_source, "LARGEST_BLOCK_ENTRIES", 5)
    corpus = MatrixBlocks(counts)
    assert [block.shape[0] for block in corpus] == [2, 1, 1, 1, 1]
    assert_same(corpus, counts)
    monkeypatch.setattr(block_source, "LARGEST_BLOCK_DOCUMENTS", 1)
    assert [block.shape[0] for block in corpus] == [1] * 6


def test_samples_of_iterables():
    blocks = [np.full((50, 1), i) for i in range(1, 101)]
    spread = IterableBlocks(blocks).sample(160).toarray()[:, 0]
    assert len(spread) == 160
    assert len(set(spread)) == 16
    assert {1, 100} <= set(spread)
    assert IterableBlocks(blocks).sample(16).shape[0] == 16
    first = IterableBlocks(Repeatable(blocks)).sample(75).toarray()[:, 0]
    np.testing.assert_array_equal(first, [1] * 50 + [2] * 25)


# Folders


@pytest.mark.parametrize("suffix", WRITERS)
@settings(deadline=None, max_examples=30)
@given(dense=corpora, height=st.integers(1, 5))
def test_folder_round_trip(suffix, dense, height):
    with tempfile.TemporaryDirectory() as folder:
        for number, start in enumerate(range(0, len(dense), height)):
            WRITERS[suffix](Path(folder, f"part-{number:03}{suffix}"), dense[start : start + height])
        Path(folder, "_SUCCESS").touch()
        corpus = as_blocks(folder)
        assert isinstance(corpus, FolderBlocks)
        assert not corpus.in_memory
        assert_same(corpus, dense)


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_block_without_documents_and_a_single_file(tmp_path, suffix):
    WRITERS[suffix](tmp_path / f"b{suffix}", DENSE)
    WRITERS[suffix](tmp_path / f"a{suffix}", np.zeros((0, 4)))
    assert_same(FolderBlocks(tmp_path), DENSE)
    assert_same(as_blocks(tmp_path / f"b{suffix}"), DENSE)
    np.testing.assert_array_equal(FolderBlocks(tmp_path).sample(100).toarray(), DENSE)
    np.testing.assert_array_equal(FolderBlocks(tmp_path / f"b{suffix}").sample(100).toarray(), DENSE)


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_npz_blocks_of_scipy(tmp_path, layout, compressed):
    sp.save_npz(tmp_path / "a.npz", sp.csr_matrix(DENSE.astype(float)).asformat(layout), compressed=compressed)
    assert_same(as_blocks(str(tmp_path)), DENSE)


@pytest.mark.parametrize(("largest", "fits"), [(10**5, True), (10**5 - 1, False)])
def test_an_npz_block_has_so_many_documents(tmp_path, monkeypatch, largest, fits):
    """A shape costs nothing in the file, and eight bytes for each document in memory."""
    write_npz_block(tmp_path / "b.npz", sp.csr_array((10**5, 3), dtype=np.int32))
    sp.save_npz(tmp_path / "a.npz", sp.coo_array((10**5, 3), dtype=np.int32))
    monkeypatch.setattr("private_topics.corpus.counts.folder.LARGEST_NPZ_DOCUMENTS", largest)
    if fits:
        assert sum(block.shape[0] for block in FolderBlocks(tmp_path)) == 2 * 10**5
        write_npz_block(tmp_path / "b.npz", sp.csr_array((10**5, 3), dtype=np.int32))
    else:
        assert_quiet(lambda: list(FolderBlocks(tmp_path)), f"more than {largest} documents")
        assert_quiet(lambda: write_npz_block(tmp_path / "b.npz", sp.csr_array((10**5, 3))), "at most")


@pytest.mark.parametrize("words", [0, 10**5])
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_what_one_document_says_does_not_decide_whether_an_npz_block_is_read(tmp_path, layout, words):
    """Empty documents pack a thousandfold, one with many words packs the file less far: both files are read."""
    entries = np.random.default_rng(0).integers(1, 9, words), (np.zeros(words, np.int64), np.arange(words))
    block = sp.coo_array(entries, shape=(10**7, 10**5)).asformat(layout)
    sp.save_npz(tmp_path / "a.npz", block)
    assert sum(block.shape[0] for block in FolderBlocks(tmp_path)) == 10**7


@pytest.mark.parametrize("suffix", WRITERS)
def test_folder_sample_looks_at_evenly_spaced_files(tmp_path, suffix):
    for i in range(1, 41):
        WRITERS[suffix](tmp_path / f"{i:02}{suffix}", np.full((20, 1), i))
    sample = FolderBlocks(tmp_path).sample(64).toarray()[:, 0]
    assert len(sample) == 64
    assert len(set(sample)) == 16
    assert {1, 40} <= set(sample)


def test_large_parquet_files_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("private_topics.corpus.counts.folder.LARGEST_BLOCK_DOCUMENTS", 2)
    write_parquet_block(tmp_path / "a.parquet", DENSE)
    assert [block.shape[0] for block in FolderBlocks(tmp_path)] == [2, 2, 1]
    assert_same(FolderBlocks(tmp_path), DENSE)


def test_folders_that_are_none(tmp_path):
    with pytest.raises(InputError, match=r"No \*.npz or \*.parquet blocks"):
        as_blocks(tmp_path)
    for suffix, write in WRITERS.items():
        write(tmp_path / f"a{suffix}", DENSE)
    with pytest.raises(InputError, match=r"Both \*.npz and \*.parquet"):
        as_blocks(tmp_path)
    for missing in ("nowhere", "nowhere.npz", "nowhere.txt"):
        with pytest.raises(InputError, match=r"no file.*nowhere"):
            as_blocks(tmp_path / missing)
    (tmp_path / "notes.md").touch()
    with pytest.raises(InputError, match=r"cannot read.*notes\.md"):
        as_blocks(tmp_path / "notes.md")


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_file_of_another_width_is_named(tmp_path, suffix):
    WRITERS[suffix](tmp_path / f"a{suffix}", DENSE)
    WRITERS[suffix](tmp_path / f"b{suffix}", DENSE[:, :3])
    with pytest.raises(InputError, match=f"b{suffix}.*different number of words"):
        list(FolderBlocks(tmp_path))


@pytest.mark.parametrize("position", ["a", "b"])
@pytest.mark.parametrize("damage", ["empty", "text", "half", "flipped"])
@pytest.mark.parametrize("suffix", WRITERS)
def test_a_damaged_file_is_named(tmp_path, suffix, damage, position):
    for name in "ab":
        WRITERS[suffix](tmp_path / f"{name}{suffix}", DENSE)
    path = tmp_path / f"{position}{suffix}"
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 4 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 4)
    path.write_bytes(
        {
            "empty": b"",
            "text": b"secret" * 50,
            "half": content[: len(content) // 2],
            "flipped": bytes(flipped),
        }[damage]
    )
    with pytest.raises(InputError, match=rf"{position}\{suffix}") as caught:
        list(FolderBlocks(tmp_path))
    assert "secret" not in str(caught.value)


def test_npz_files_are_never_unpickled(tmp_path):
    np.savez(
        tmp_path / "a.npz",
        shape=(5, 4),
        format="csr",
        data=np.array([{}], dtype=object),
        indices=[0],
        indptr=[0],
    )
    with pytest.raises(InputError, match=r"a\.npz.*cannot be read"):
        list(FolderBlocks(tmp_path))
    np.savez(tmp_path / "a.npz", shape=np.array([{}, {}], dtype=object))
    with pytest.raises(InputError, match=r"a\.npz.*cannot be read"):
        FolderBlocks(tmp_path)


class Trap:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize("position", ["a", "b"])
def test_a_shape_that_is_code_is_not_run(tmp_path, monkeypatch, position, default):
    """The width is read from the first file, the size of what follows from every one.

    What numpy does unless it is told does not matter: it ran code until version 1.16.3.
    """
    monkeypatch.setattr(np, "load", partial(np.load, allow_pickle=default))
    blocks, sprung = tmp_path / "blocks", tmp_path / "sprung"
    blocks.mkdir()
    write_npz_block(blocks / "a.npz", DENSE)
    np.savez(blocks / f"{position}.npz", shape=np.array([Trap(sprung), 4], dtype=object))
    with pytest.raises(InputError, match=rf"{position}\.npz.*cannot be read"):
        list(FolderBlocks(blocks))
    assert not sprung.exists()


@pytest.mark.parametrize(
    ("indices", "counts", "metadata"),
    [
        ([[0], [1, 2]], [[1], [1, 2]], {}),
        ([[0], [1, 2]], [[1], [1, 2]], {"n_words": "many"}),
        ([[0], [1, 2]], [[1], [1]], {"n_words": "4"}),
        ([[0], None], [[1], None], {"n_words": "4"}),
        ([[0], [None]], [[1], [1]], {"n_words": "4"}),
        ([0, 1], [1, 2], {"n_words": "4"}),
        ([["a"]], [[1]], {"n_words": "4"}),
    ],
)
def test_parquet_of_another_layout(tmp_path, indices, counts, metadata):
    table = pa.table({"indices": indices, "counts": counts}).replace_schema_metadata(metadata)
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet.*cannot be read"):
        list(FolderBlocks(tmp_path))


@pytest.mark.parametrize(
    ("indices", "counts", "message"),
    [([[4]], [[1]], "malformed"), ([[0]], [[-1]], "Negative"), ([[0]], [[0.5]], "frac")],
)
def test_bad_counts_in_a_file_name_the_file(tmp_path, indices, counts, message):
    table = pa.table({"indices": indices, "counts": counts}).replace_schema_metadata({"n_words": "4"})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=message) as caught:
        list(FolderBlocks(tmp_path))
    assert "a.parquet" in str(caught.value)


def test_parquet_of_truth_values_counts_them(tmp_path):
    """Arrow packs them into bits, which no array can share."""
    table = pa.table({"indices": [[0, 2], [1]], "counts": [[True, True], [True]]})
    pq.write_table(table.replace_schema_metadata({"n_words": "3"}), tmp_path / "a.parquet")
    (block,) = FolderBlocks(tmp_path)
    np.testing.assert_array_equal(block.toarray(), [[1, 0, 1], [0, 1, 0]])


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    write_parquet_block(tmp_path / "a.parquet", DENSE)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"private-topics\[parquet\]"):
        FolderBlocks(tmp_path)


@pytest.mark.parametrize("write", WRITERS.values())
def test_writers_want_their_suffix(tmp_path, write):
    with pytest.raises(InputError, match="must be named"):
        write(tmp_path / "a.bin", DENSE)


# Words of a block


def test_ranks_number_the_selected_words():
    assert ranks_of(np.array([1, 4]), 5).tolist() == [-1, 0, -1, -1, 1]
    assert ranks_of(np.arange(5), 5) is None


# Dispatch


def test_dispatch(tmp_path):
    one = MatrixBlocks(DENSE)
    assert as_blocks(one) is one
    for matrix in (DENSE, DENSE.tolist(), list(DENSE), sp.coo_array(DENSE), pd.DataFrame(DENSE)):
        corpus = as_blocks(matrix)
        assert isinstance(corpus, MatrixBlocks)
        assert_same(corpus, DENSE)
    for blocks in ([DENSE], [sp.csr_array(DENSE)], (pd.DataFrame(DENSE),)):
        assert isinstance(as_blocks(blocks), IterableBlocks)
    assert isinstance(as_blocks(str(write_uci(tmp_path / "docword.txt.gz", DENSE))), UCIBlocks)


@pytest.mark.parametrize("X", [[], None, 7, b"abc", {1: 2}, [1, 2], sp.coo_array([1, 2])])
def test_things_that_are_no_corpus(X):
    with pytest.raises(InputError, match="Expected 2D array"):
        as_blocks(X)


@pytest.mark.parametrize("X", [np.array([[0.5]]), [np.array([[0.5]])], iter([DENSE]), "nowhere", __file__])
def test_whoever_took_the_corpus_is_named(X):
    with pytest.raises(InputError, match="count_everything"):
        as_blocks(X, caller="count_everything")


@pytest.mark.parametrize("make", [lambda n: MatrixBlocks(DENSE, n), lambda n: UCIBlocks("x.txt", n)])
def test_block_documents_is_checked(make):
    with pytest.raises(InputError, match=r"'block_documents' parameter of .* Got 0 instead"):
        make(0)
