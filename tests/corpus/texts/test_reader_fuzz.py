"""Mutated files of every format: documents, counts or one of the documented errors, and no content in a message."""

import gzip
import tempfile
import tracemalloc
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from private_topics import SpectralLDA, load
from private_topics.corpus.counts.blocks import as_blocks, write_npz_block, write_parquet_block
from private_topics.corpus.texts.readers import open_texts
from private_topics.errors import InputError, ModelFileError

SECRET = "zzyzx"
ROWS = [(f"{SECRET} word {n}", f"who{n % 2}") for n in range(6)]
COUNTS = np.random.default_rng(0).poisson(1.0, (12, 5))
ENTRIES = [f"{d + 1} {w + 1} {COUNTS[d, w]}" for d, w in zip(*np.nonzero(COUNTS), strict=True)]


def jsonl():
    return "\n".join(f'{{"text": "{text}", "who": "{who}"}}' for text, who in ROWS).encode()


def table():
    return ("text,who\n" + "".join(f'"{text}",{who}\n' for text, who in ROWS)).encode()


def written(name, write):
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, name))
        return Path(folder, name).read_bytes()


@cache
def valid_files():
    texts = pa.table({"text": [text for text, _ in ROWS], "who": [who for _, who in ROWS]})
    uci = "\n".join(["12", "5", str(len(ENTRIES)), *ENTRIES]).encode()
    banner = f"%%MatrixMarket matrix coordinate integer general\n12 5 {len(ENTRIES)}\n"
    return {
        "a.jsonl": jsonl(),
        "a.jsonl.gz": gzip.compress(jsonl()),
        "a.csv": table(),
        "a.tsv.gz": gzip.compress(table().replace(b",", b"\t")),
        "a.txt": "\n".join(text for text, _ in ROWS).encode(),
        "a.parquet": written("a.parquet", lambda path: pq.write_table(texts, path)),
        "docword.a.txt": uci,
        "a.mtx": (banner + "\n".join(ENTRIES)).encode(),
        "a.npz": written("a.npz", lambda path: write_npz_block(path, COUNTS)),
        "counts.parquet": written("a.parquet", lambda path: write_parquet_block(path, COUNTS)),
        "model": written("model", SpectralLDA(2).fit(COUNTS).save),
    }


def use(path):
    """Read a file as a user would: texts, counts or a model."""
    if path.name == "model":
        load(path)
    elif path.name in ("docword.a.txt", "a.mtx", "a.npz", "counts.parquet"):
        for _ in as_blocks(path):
            pass
    else:
        with_unit = {"unit": "who"} if path.suffix != ".txt" else {}
        for options in ({}, with_unit, {"strict": True}):
            for text, _ in open_texts(path, max_record_bytes=200, **options):
                assert isinstance(text, str)


def refusal(path):
    """The message of a documented error, if there is one; any other error comes out."""
    try:
        use(path)
    except (InputError, ModelFileError) as error:
        return str(error)
    return ""


edits = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "insert", "double", "end"]),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=8) | st.sampled_from([b'"', b"\n", b"\0", b",", b"\xff" * 4, b"9" * 30]),
    ),
    min_size=1,
    max_size=4,
)


def mutated(content, changes):
    for kind, where, new in changes:
        at = int(where * len(content))
        if kind == "flip":
            content = content[:at] + new + content[at + len(new) :]
        elif kind == "cut":
            content = content[:at] + content[at + len(new) * 7 :]
        elif kind == "insert":
            content = content[:at] + new + content[at:]
        elif kind == "double":
            content = content[:at] + content
        else:
            content = content[:at]
    return content


@pytest.mark.parametrize(
    "name",
    [
        *("a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv.gz", "a.txt", "a.parquet"),
        *("docword.a.txt", "a.mtx", "a.npz", "counts.parquet", "model"),
    ],
)
def test_mutated_files(name):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(valid_files()[name])
        use(path)

        @given(edits)
        @settings(max_examples=60)
        def check(changes):
            path.write_bytes(mutated(valid_files()[name], changes))
            message = refusal(path)
            assert SECRET not in message
            assert "\n" not in message

        check()


def packed(path, parts, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def npz_parts(layout="csr"):
    with tempfile.TemporaryDirectory() as folder:
        sp.save_npz(Path(folder, "a.npz"), sp.csr_array(COUNTS).asformat(layout))
        with zipfile.ZipFile(Path(folder, "a.npz")) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def npy(header, content=b""):
    return b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header + content


@pytest.mark.parametrize("part", ["shape.npy", "data.npy"])
@pytest.mark.parametrize(
    "content",
    [
        npy(b"{'descr': '<i8', 'fortran_order': False, 'shape': (2,"),
        npy(b"{'descr': '(,)i8', 'fortran_order': False, 'shape': (2,), }", bytes(16)),
        npy(b"(" * 3_000),
        npy(b"  {\n {"),
        npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", np.array([np.inf, np.inf]).tobytes()),
        npy(b"{'descr': '<i8', 'fortran_order': False, 'shape': (0,), }"),
    ],
    ids=["open", "type", "deep", "blanks", "infinite", "empty"],
)
def test_arrays_that_cannot_be_read(tmp_path, part, content):
    """The checksums of the archive are right; what numpy, and Python's tokeniser below it, say is of many types."""
    packed(tmp_path / "a.npz", npz_parts() | {part: content})
    message = refusal(tmp_path / "a.npz")
    assert "a.npz" in message
    assert "\n" not in message


@pytest.mark.parametrize("method", [14, 12, 97], ids=["lzma", "bzip2", "unknown"])
def test_archives_packed_in_another_way(tmp_path, method):
    packed(tmp_path / "a.npz", npz_parts())
    content = (tmp_path / "a.npz").read_bytes()
    for mark, offset in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        pieces = content.split(mark)
        ends = [piece[: offset - 4] + method.to_bytes(2, "little") + piece[offset - 2 :] for piece in pieces[1:]]
        content = mark.join([pieces[0], *ends])
    (tmp_path / "a.npz").write_bytes(content)
    assert "cannot be read" in refusal(tmp_path / "a.npz")


def test_archives_with_a_password(tmp_path):
    packed(tmp_path / "a.npz", npz_parts())
    content = (tmp_path / "a.npz").read_bytes()
    for mark, offset in ((b"PK\3\4", 2), (b"PK\1\2", 4)):
        pieces = content.split(mark)
        content = mark.join([pieces[0], *(piece[:offset] + b"\1\0" + piece[offset + 2 :] for piece in pieces[1:])])
    (tmp_path / "a.npz").write_bytes(content)
    assert "cannot be read" in refusal(tmp_path / "a.npz")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "dia"])
@pytest.mark.parametrize("n_documents", [10**8, 10**10, 2**62])
def test_documents_that_take_no_bytes(tmp_path, layout, n_documents):
    """A file of a kilobyte could announce them; each needs a pointer, and those would be gigabytes."""
    shape = np.array([n_documents, 5]).tobytes()
    parts = npz_parts(layout)
    parts["shape.npy"] = parts["shape.npy"][: -len(shape)] + shape
    packed(tmp_path / "a.npz", parts)
    tracemalloc.start()
    message = refusal(tmp_path / "a.npz")
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()
    assert f"more than {2**26} documents" in message


@pytest.mark.parametrize(("packing", "refused"), [(zipfile.ZIP_DEFLATED, False), (zipfile.ZIP_BZIP2, True)])
def test_counts_that_unpack_far(tmp_path, packing, refused):
    """What numpy writes packs no further than 1,032 times, whatever it holds."""
    packed(tmp_path / "a.npz", npz_parts() | {"more.npy": bytes(2**24)}, compression=packing)
    assert (tmp_path / "a.npz").stat().st_size < 2**18
    assert ("more than 1032 times its size" in refusal(tmp_path / "a.npz")) == refused


def test_sizes_that_no_machine_has(tmp_path):
    """Announced, not there: refused before anything of that size is made."""
    path = tmp_path / "a.npz"
    write_npz_block(path, COUNTS)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    before, after = parts["data.npy"].split(b"(", 1)
    huge = b"(%d,), }" % 10**15
    parts["data.npy"] = before + huge.ljust(after.index(b"\n") + 1) + after[after.index(b"\n") :]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "cannot be read" in refusal(path)
    for name, header in (
        ("docword.a.txt", "{}\n3\n1\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n{} 3 1\n"),
    ):
        (tmp_path / name).write_text(header.format(10**17) + "1 1 1\n")
        assert "at most 2**31 - 1" in refusal(tmp_path / name)
        (tmp_path / name).write_text(header.format(10**9) + "1 1 1\n")
        tracemalloc.start()
        assert as_blocks(tmp_path / name).sample(100).shape[0] == 100
        assert tracemalloc.get_traced_memory()[1] < 2**26
        tracemalloc.stop()
        (tmp_path / name).write_text(header.format(10**6) + "1 1 1\n")
        assert refusal(tmp_path / name) == ""
