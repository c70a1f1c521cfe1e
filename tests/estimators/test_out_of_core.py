"""Corpora that are not one matrix: the same model from blocks, and as many passes as stated."""

import gzip

import numpy as np
import pytest

from private_topics import SpectralLDA, make_lda_corpus
from private_topics.corpus.counts.blocks import write_npz_block, write_parquet_block

HEIGHT = 700


@pytest.fixture(scope="module")
def counts():
    return make_lda_corpus(3000, 200, 4, alpha0=0.5, mean_length=50, random_state=1)[0]


def blocks_of(counts):
    return [counts[start : start + HEIGHT] for start in range(0, counts.shape[0], HEIGHT)]


def write_uci(path, counts):
    lines = [str(counts.shape[0]), str(counts.shape[1]), str(counts.nnz)]
    coo = counts[:].tocoo()  # a slice: scipy's tocoo wants both index arrays of one type
    lines += [f"{d + 1} {w + 1} {c}" for d, w, c in zip(*coo.coords, coo.data, strict=True)]
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines) + "\n")


def make_source(kind, counts, folder):
    if kind == "list":
        return blocks_of(counts)
    if kind == "UCI":
        write_uci(folder / "docword.test.txt.gz", counts)
        return folder / "docword.test.txt.gz"
    write = write_npz_block if kind == "npz" else write_parquet_block
    for i, block in enumerate(blocks_of(counts)):
        write(folder / f"block{i:02d}.{kind}", block)
    return str(folder)


@pytest.mark.parametrize("kind", ["list", "npz", "parquet", "UCI"])
def test_blocks_give_the_model_of_the_matrix(counts, kind, tmp_path):
    expected = SpectralLDA(4, refine_steps=0, random_state=0).fit(counts)
    found = SpectralLDA(4, refine_steps=0, random_state=0).fit(make_source(kind, counts, tmp_path))
    np.testing.assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.doc_topic_prior_, expected.doc_topic_prior_, rtol=0, atol=1e-10)


def test_blocks_of_a_large_vocabulary():
    """More words than the spectral stage takes: their choice rests on a sample, here the whole small corpus."""
    counts = make_lda_corpus(2000, 1500, 3, alpha0=0.5, mean_length=60, random_state=2)[0]
    expected = SpectralLDA(3, refine_steps=0, random_state=0).fit(counts)
    found = SpectralLDA(3, refine_steps=0, random_state=0).fit(blocks_of(counts))
    np.testing.assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-10)
    assert found.components_.shape == (3, 1500)


def test_refined_blocks_are_about_as_good(counts):
    """Batches differ between sources, so refined topics differ a little; their quality does not."""
    train, test = counts[500:], counts[:500]
    whole = SpectralLDA(4, random_state=0).fit(train)
    blocks = SpectralLDA(4, random_state=0).fit(blocks_of(train))
    assert blocks.perplexity(test) == pytest.approx(whole.perplexity(test), rel=0.01)


class CountingBlocks:
    """Blocks that count how often they are asked for, and how often they are read to the end."""

    def __init__(self, blocks):
        self.blocks, self.started, self.finished = blocks, 0, 0

    def __iter__(self):
        self.started += 1
        yield from self.blocks
        self.finished += 1


@pytest.mark.parametrize("refine_steps", [0, 1, 3])
def test_number_of_passes(counts, refine_steps):
    """Two passes and one for each refinement step; the peek at the first block for the width is not a pass."""
    source = CountingBlocks(blocks_of(counts))
    SpectralLDA(4, refine_steps=refine_steps, random_state=0).fit(source)
    assert source.finished == 2 + refine_steps
    assert source.started == source.finished + 1


def test_a_large_vocabulary_looks_at_a_sample_too():
    """Above 1,000 words a sample of at most 50,000 documents chooses the words of the spectral stage."""
    counts = make_lda_corpus(600, 1500, 2, mean_length=40, random_state=2)[0]
    source = CountingBlocks([counts[:300], counts[300:]])
    SpectralLDA(2, refine_steps=1, random_state=0).fit(source)
    assert source.finished <= 2 + 1 + 1


def test_one_block_at_a_time(counts):
    """No pass holds more than a few blocks: each is given back before many others are made."""
    alive, most = [0], [0]

    class Block(type(counts)):
        def __del__(self):
            alive[0] -= 1

    class Fresh:
        def __iter__(self):
            for start in range(0, counts.shape[0], 100):
                part = counts[start : start + 100]
                alive[0] += 1
                most[0] = max(most[0], alive[0])
                yield Block((part.data.copy(), part.indices.copy(), part.indptr.copy()), shape=part.shape)

    SpectralLDA(4, random_state=0).fit(Fresh())
    assert 1 <= most[0] <= 4
