"""Word vectors as `.npz`: round trips, what is refused, and bytes that depend on the content alone."""

import gzip
import hashlib
import io
import random
import zipfile

import numpy as np
import pytest

from private_topics.errors import InputError
from private_topics.knowledge import npz_vectors
from private_topics.knowledge.npz_vectors import save_vectors
from private_topics.knowledge.vector_files import read_vectors

WORDS = ["nurse", "ward", "bär"]
VECTORS = np.array([[3.0, 4.0], [0.5, -1.0], [0.0, 2.0]])
LOG = np.array([-1.5, np.nan, -3.0])


def test_floats_come_back(tmp_path):
    path = tmp_path / "v.npz"
    save_vectors(path, WORDS, VECTORS, LOG, notes={"name": "mine", "licence": "CC0"})
    found = read_vectors(path)
    assert (found.name, dict(found.notes)) == ("mine", {"name": "mine", "licence": "CC0"})
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    vectors, log, documents = found.look_up(["bär", "unknown", "NURSE", "ward"])
    assert documents is None
    np.testing.assert_allclose(vectors, [[0, 1], [0, 0], [0.6, 0.8], VECTORS[1] / np.sqrt(1.25)], rtol=1e-7)
    np.testing.assert_array_equal(log, [-3, np.nan, -1.5, np.nan])


@pytest.mark.parametrize("scale", [0.5, [0.5, 0.25]])
def test_integers_are_scaled(tmp_path, scale):
    path = tmp_path / "v.npz"
    codes = np.array([[100, -127], [3, 0], [0, 0]], dtype=np.int8)
    save_vectors(path, WORDS, codes, scale=scale)
    found = read_vectors(path)
    assert found.name == "v.npz"
    expected = codes * np.asarray(scale)
    expected[:2] /= np.linalg.norm(expected[:2], axis=1, keepdims=True)
    np.testing.assert_allclose(found.look_up(WORDS).vectors, expected, rtol=1e-12)
    assert np.isnan(found.look_up(WORDS).log_frequencies).all()


def test_what_numpy_writes_is_read(tmp_path):
    np.savez_compressed(
        tmp_path / "v.npz", words=np.array([*WORDS, "nurse"]), vectors=np.vstack([VECTORS, VECTORS[:1]])
    )
    found = read_vectors(tmp_path / "v.npz")
    assert found.words == tuple(WORDS)
    np.testing.assert_array_equal(found.look_up(["nurse"]).vectors, [[0.6, 0.8]])


def test_the_same_content_gives_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        save_vectors(tmp_path / name, WORDS, VECTORS, LOG, notes={"licence": "CC0"})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {part.date_time for part in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def packed(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed(words=np.array(WORDS)), "does not hold the arrays"),
        (packed(words=np.array(WORDS[:2]), vectors=VECTORS), "one row for each word"),
        (packed(words=np.array(WORDS), vectors=VECTORS.astype(int)), "of floats or int8"),
        (packed(words=np.array(WORDS), vectors=VECTORS[0]), "one row for each word"),
        (packed(words=np.array(WORDS), vectors=VECTORS[:, :0]), "1 to 10000 dimensions"),
        (packed(words=np.array(WORDS), vectors=VECTORS.astype(np.int8)), "a 'scale' of positive numbers"),
        (packed(words=np.array(WORDS), vectors=VECTORS, scale=np.array(1.0)), "and only with them"),
        (packed(words=np.array(WORDS), vectors=VECTORS.astype(np.int8), scale=np.array([1.0, -1])), "positive"),
        (packed(words=np.array(WORDS), vectors=VECTORS.astype(np.int8), scale=np.ones(3)), "a 'scale'"),
        (packed(words=np.array(WORDS), vectors=VECTORS * [1, np.nan]), "finite 'vectors'"),
        (packed(words=np.array(WORDS), vectors=VECTORS, log_frequencies=LOG[:2]), "one float for each word"),
        (packed(words=np.array(WORDS), vectors=VECTORS, log_frequencies=np.full(3, np.inf)), "one float for"),
        (packed(words=np.frombuffer(b"a\nb\n\xff", np.uint8), vectors=VECTORS), "strings or of UTF-8"),
        (packed(words=np.array([1, 2, 3]), vectors=VECTORS), "strings or of UTF-8"),
        (packed(words=np.array(WORDS, dtype=object), vectors=VECTORS), "unpickled"),
        (packed(words=np.array(WORDS), vectors=VECTORS, name=np.array(["a", "b"])), "'name' as one string"),
        (packed(words=np.array(WORDS), vectors=VECTORS)[:200], "damaged"),
        (b"PK\x03\x04 nothing of the kind", "damaged"),
    ],
)
def test_what_is_malformed_is_refused(tmp_path, content, message):
    path = tmp_path / "v.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_vectors(path)


def test_a_flipped_byte_is_another_digest_or_refused(tmp_path):
    path = tmp_path / "v.npz"
    save_vectors(path, WORDS, VECTORS)
    whole, digests = path.read_bytes(), set()
    for place in range(10, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            digests.add(read_vectors(path).digest)
        except InputError:
            continue
    assert hashlib.sha256(whole).hexdigest() not in digests


def test_a_damaged_file_is_read_or_refused(tmp_path):
    """Whatever bytes are changed, cut out or put in, nothing else is raised."""
    path, outcomes = tmp_path / "v.npz", set()
    save_vectors(path, WORDS, VECTORS, LOG, notes={"name": "mine"})
    text = b"3 2\nnurse 1 0.5\nward -1e-1 2\ndoctor 0 3.25\n"
    seeds, draws = (path.read_bytes(), gzip.compress(text, mtime=0), text, text[4:]), random.Random(0)
    for _ in range(600):
        content = bytearray(draws.choice(seeds))
        for _ in range(draws.randint(1, 3)):
            start = draws.randrange(len(content) + 1)
            stop = start + draws.choice([0, 1, 1, 1, 1, 1, 20])
            content[start:stop] = draws.choice([b"", b" ", b"\n", b"nan", draws.randbytes(1), draws.randbytes(1)])
        path.write_bytes(content)
        try:
            outcomes.add(len(read_vectors(path).look_up(WORDS).vectors))
        except InputError:
            outcomes.add("refused")
    assert outcomes == {3, "refused"}


def test_an_archive_with_an_unknown_compression_is_refused(tmp_path):
    path = tmp_path / "v.npz"
    save_vectors(path, WORDS, VECTORS)
    content = bytearray(path.read_bytes())
    directory = content.index(b"PK\x01\x02")
    content[directory + 10] = 77
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_vectors(path)


def test_an_archive_that_unpacks_too_far_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(npz_vectors, "LARGEST_TABLE_BYTES", 1_000)
    np.savez_compressed(tmp_path / "v.npz", words=np.array(WORDS), vectors=np.zeros((3, 1_000)))
    with pytest.raises(InputError, match="larger than 1000 bytes"):
        read_vectors(tmp_path / "v.npz")


@pytest.mark.parametrize(
    ("arguments", "notes"),
    [
        ((["a", "b"], VECTORS), None),
        ((["a", "b\nc", "d"], VECTORS), None),
        ((["a", "", "d"], VECTORS), None),
        (("abc", VECTORS), None),
        ((WORDS, np.full((3, 2), np.inf)), None),
        ((WORDS, VECTORS, LOG[:1]), None),
        ((WORDS, VECTORS), {"colour": "red"}),
        ((WORDS, VECTORS), {"licence": 3}),
    ],
)
def test_nothing_is_saved_that_could_not_be_read(tmp_path, arguments, notes):
    with pytest.raises(InputError):
        save_vectors(tmp_path / "v.npz", *arguments, notes=notes)
    assert list(tmp_path.iterdir()) == []
