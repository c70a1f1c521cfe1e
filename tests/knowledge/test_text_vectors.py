"""Word vectors as text, in every shape that they come in, and what is refused, with the line."""

import gzip
import hashlib
import io

import numpy as np
import pytest

from hang_support import cpu_limit
from private_topics.errors import InputError
from private_topics.knowledge import table, text_vectors
from private_topics.knowledge.text_vectors import read_text_vectors
from private_topics.knowledge.vector_files import read_vectors

GLOVE = b"nurse 1 0.5\nward -1e-1 2\ndoctor 0 3.25\n"
VECTORS = np.array([[1, 0.5], [-0.1, 2], [0, 3.25]], dtype=np.float32)


def written(folder, content, name="vectors.txt"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        b"3 2\n" + GLOVE,
        b"\xef\xbb\xbf" + GLOVE,
        b"\xef\xbb\xbf3 2\n" + GLOVE,
        GLOVE.replace(b"\n", b"\r\n"),
        GLOVE.replace(b"\n", b"  \n"),
        GLOVE.replace(b" ", b"\t"),
        GLOVE.replace(b" ", b"  "),
        GLOVE.replace(b"\n", b"\n\n"),
        GLOVE[:-1],
        GLOVE + b"nurse 7 7\n",
        gzip.compress(GLOVE, mtime=0),
        gzip.compress(b"3 2\n" + GLOVE, mtime=0),
        gzip.compress(GLOVE[:20], mtime=0) + gzip.compress(GLOVE[20:], mtime=0),
    ],
)
def test_every_shape_is_read(tmp_path, content):
    path = written(tmp_path, content)
    found = read_vectors(path)
    assert list(found.rows) == ["nurse", "ward", "doctor"]
    np.testing.assert_array_equal(found.vectors[[found.rows[word] for word in found.rows]], VECTORS)
    assert found.digest == hashlib.sha256(content).hexdigest()
    assert found.name == "vectors.txt"


def test_words_with_spaces_are_read_from_the_right(tmp_path):
    content = GLOVE + b". . . 1 2\nat name@domain.com 3 4\n name@domain.com 5 6\nb\xc3\xa4r 7 8\n\xc2\x85 9 10\n"
    found = read_vectors(written(tmp_path, content))
    assert list(found.rows)[3:] == [". . .", "at name@domain.com", "name@domain.com", "bär", "\x85"]
    assert found.vectors[3:].tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GLOVE + b"short 1\n", "Line 4 of the word vectors .*vectors.txt does not hold a word and 2 numbers"),
        (GLOVE + b"long 1 2 3\n", "Line 4 .* does not hold a word and 2 numbers"),
        (GLOVE + b"\n1 2\n", "Line 5 .* does not hold a word and 2 numbers"),
        (b"3 2\nnurse 1 2\nward 1 x\ndoctor 1 2\n", "Line 3 .* something else than finite numbers"),
        (GLOVE + b"odd 1 2x\n", "Line 4 .* something else than finite numbers"),
        (GLOVE + b"odd 1 nan\n", "Line 4 .* something else than finite numbers"),
        (GLOVE + b"odd inf 1\nward 1 2\n", "Line 4 .* something else than finite numbers"),
        (GLOVE + b"odd 1 1e39\n", "Line 4 .* something else than finite numbers"),
        (GLOVE + b"b\xe4r 1 2\n", "Line 4 .* is not UTF-8"),
        (b"4 2\n" + GLOVE, "announce 4 words in line 1, but hold 3"),
        (b"2 2\n" + GLOVE, "announce 2 words in line 1, but hold 3"),
        (b"3 3\n" + GLOVE, "Line 2 .* does not hold a word and 3 numbers"),
        (b"3 0\n" + GLOVE, "not in a known format"),
        (b"3 99999999\n" + GLOVE, "not in a known format"),
        (b"nurse\nward\n", "not in a known format"),
        (b"", "hold no vector"),
        (b"\n\n", "hold no vector"),
        (b"0 2\n", "hold no vector"),
        (b"2 2\nnurse " + np.array([1, 2], "<f4").tobytes() + b"\n", "not text. Binary files"),
        (gzip.compress(b"1 2\nnurse " + np.array([1, 2], "<f4").tobytes(), mtime=0), "not text. Binary files"),
        (GLOVE.decode().encode("utf-16"), "not text"),
        (gzip.compress(GLOVE, mtime=0)[:-9], "damaged or truncated"),
        (gzip.compress(GLOVE, mtime=0)[:20] + b"xxxx", "damaged or truncated"),
    ],
)
def test_what_is_malformed_is_refused(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_vectors(written(tmp_path, content))


def test_a_folder_and_nothing_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"Cannot read the word vectors .*Is a directory"):
        read_vectors(tmp_path)
    with pytest.raises(InputError, match=r"Cannot read the word vectors .*No such file"):
        read_vectors(tmp_path / "missing.txt")


@pytest.mark.parametrize("size", [1, 7, 16, 40])
def test_lines_may_end_anywhere_in_a_chunk(monkeypatch, size):
    class Short(io.BytesIO):
        def read(self, count=-1):
            return super().read(min(count, size))

    monkeypatch.setattr(text_vectors, "CHUNK_BYTES", 64)
    many = b"".join(b"word%d %d %d\n" % (n, n, -n) for n in range(50))
    rows, vectors = read_text_vectors(Short(b"50 2\n" + many), "f")
    assert rows == {f"word{n}": n for n in range(50)}
    assert vectors.tolist() == [[n, -n] for n in range(50)]
    with pytest.raises(InputError, match="Line 52 of the word vectors f does not"):
        read_text_vectors(Short(b"51 2\n" + many + b"x 1\n"), "f")
    with pytest.raises(InputError, match="Line 52 of the word vectors f is longer than 64 bytes"):
        read_text_vectors(Short(b"51 2\n" + many + b"x" * 200), "f")


def test_sizes_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(text_vectors, "MOST_VECTORS", 2)
    with pytest.raises(InputError, match="too large: at most 2 words"):
        read_vectors(written(tmp_path, GLOVE))


def test_a_broken_line_among_the_first_does_not_set_the_dimension(tmp_path):
    with pytest.raises(InputError, match=r"Line 1 .* does not hold a word and 2 numbers"):
        read_vectors(written(tmp_path, b"short 1\n" + GLOVE))


def test_a_large_file_is_read_line_after_line(tmp_path):
    """A time that grows with the square of its lines would be hours."""
    numbers = np.random.default_rng(0).normal(size=(20_000, 50)).round(5)
    lines = [f"w{n} {' '.join(map(str, row))}\n" for n, row in enumerate(numbers.tolist())]
    path = written(tmp_path, "".join(lines).encode())
    with cpu_limit(60.0):
        found = read_vectors(path)
    np.testing.assert_array_equal(found.vectors, numbers.astype(np.float32))


def test_forms_of_a_word():
    found = table.VectorTable(
        "t", "d", table.first_rows(["Paris", "nurse", "strasse", "ba\u0308r"]), np.eye(4, dtype=np.float32)
    )
    words = ["Paris", "paris", "NURSE", "Stra\u00dfe", "b\u00e4r", "B\u00c4R", "unknown"]
    assert [found.row_of(word) for word in words] == [0, -1, 1, 2, 3, 3, -1]
