"""Word vectors as `.npz`: the array `vectors` and its words, and what else is known of them. Nothing is unpickled.

    words            an array of strings, or the words in UTF-8, one per line, as an array of bytes
    vectors          words × dimension: floats, or int8 to be multiplied by `scale`
    scale            one number, or one for each dimension; only with int8
    log_frequencies  natural logarithms of relative frequencies, NaN where unknown; may be missing
    name, licence, origin, build   strings, which may be missing

The same content gives the same bytes: dates in the archive are fixed. Integers are stored dimension by dimension:
those of one are alike, and pack better.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from private_topics.errors import InputError
from private_topics.knowledge.table import (
    LARGEST_DIMENSION,
    LARGEST_TABLE_BYTES,
    MOST_VECTORS,
    VectorTable,
    checked_words,
    first_rows,
)
from private_topics.whole_files import whole_file

NOTES = ("name", "licence", "origin", "build")
LONGEST_NOTE = 10_000
FIXED_DATE = (1980, 1, 1, 0, 0, 0)


def read_npz_vectors(content: bytes, file: str, digest: str) -> VectorTable:
    """The table that the bytes of an `.npz` file hold; `file` is what messages call it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(part.file_size for part in archive.infolist()) > LARGEST_TABLE_BYTES:
                raise _refused(file, f"is larger than {LARGEST_TABLE_BYTES} bytes")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files if name in KNOWN}
    except InputError:
        raise
    except Exception:  # a damaged archive makes zipfile and numpy raise almost anything
        raise _refused(file, "is damaged, or holds objects that would have to be unpickled") from None
    return _table(found, file, digest)


def save_vectors(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: Any,
    log_frequencies: Any = None,
    *,
    scale: Any = None,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write word vectors to an `.npz` file that can be named as public knowledge.

    Parameters
    ----------
    path : the file; an existing one is replaced.
    words, vectors, log_frequencies : one row each; the last may be missing. Floats are kept in single precision.
    scale : what int8 vectors are to be multiplied by: a number, or one for each dimension.
    notes : strings for the file: its "name", which a privacy statement will show, "licence", "origin", "build".
    """
    listed = checked_words(words, "save_vectors")
    arrays = {"words": np.frombuffer("\n".join(listed).encode(), np.uint8), "vectors": np.asarray(vectors)}
    integers = arrays["vectors"].dtype == np.int8
    arrays["vectors"] = np.asfortranarray(vectors) if integers else arrays["vectors"].astype(np.float32)
    if scale is not None:
        arrays["scale"] = np.asarray(scale, dtype=np.float32)
    if log_frequencies is not None:
        kept = np.asarray(log_frequencies)
        arrays["log_frequencies"] = kept if kept.dtype == np.float16 else kept.astype(np.float32)
    for name, text in (notes or {}).items():
        if name not in NOTES or not isinstance(text, str):
            raise InputError(f"The 'notes' parameter of save_vectors must be strings under the names {NOTES}.")
        arrays[name] = np.array(text)
    if any("\n" in word or not word for word in listed):
        raise InputError("The 'words' parameter of save_vectors must hold no empty word and no line feed.")
    _table(arrays, os.fspath(path), "")
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in sorted(arrays.items()):
            part = zipfile.ZipInfo(f"{name}.npy", FIXED_DATE)
            part.compress_type, part.create_system, part.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            written = io.BytesIO()
            np.lib.format.write_array(written, np.asarray(array), version=(1, 0), allow_pickle=False)
            archive.writestr(part, written.getvalue(), compresslevel=9)


KNOWN = ("words", "vectors", "scale", "log_frequencies", *NOTES)


def _table(arrays: Mapping[str, np.ndarray], file: str, digest: str) -> VectorTable:
    if not {"words", "vectors"} <= arrays.keys():
        raise _refused(file, "does not hold the arrays 'words' and 'vectors'")
    words, vectors = _words(arrays["words"], file), arrays["vectors"]
    integers = vectors.dtype == np.int8
    if vectors.ndim != 2 or not (integers or vectors.dtype.kind == "f") or len(vectors) != len(words):
        raise _refused(file, "must hold 'vectors' of floats or int8, one row for each word")
    if not 1 <= len(words) <= MOST_VECTORS or not 1 <= vectors.shape[1] <= LARGEST_DIMENSION:
        raise _refused(file, f"must hold 1 to {MOST_VECTORS} words and 1 to {LARGEST_DIMENSION} dimensions")
    scale = arrays.get("scale")
    if integers != (scale is not None) or (scale is not None and not _is_scale(scale, vectors.shape[1])):
        raise _refused(file, "must hold with int8 vectors, and only with them, a 'scale' of positive numbers")
    if not np.isfinite(vectors).all():
        raise _refused(file, "must hold finite 'vectors'")
    log_frequencies = arrays.get("log_frequencies")
    if log_frequencies is not None and not (
        log_frequencies.dtype.kind == "f"
        and log_frequencies.shape == (len(words),)
        and not np.isinf(log_frequencies).any()
    ):
        raise _refused(file, "must hold one float for each word as 'log_frequencies'")
    notes = {name: _note(arrays[name], name, file) for name in NOTES if name in arrays}
    name = notes.get("name") or os.path.basename(file)
    return VectorTable(name, digest, first_rows(words), vectors, scale, log_frequencies, notes)


def _words(array: np.ndarray, file: str) -> list[str]:
    if array.ndim == 1 and array.dtype.kind == "U":
        return list(map(str, array.tolist()))
    if array.ndim == 1 and array.dtype == np.uint8:
        try:
            return array.tobytes().decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            pass
    raise _refused(file, "must hold 'words' as an array of strings or of UTF-8 bytes, one word per line")


def _is_scale(scale: np.ndarray, dimension: int) -> bool:
    shaped = scale.dtype.kind == "f" and scale.shape in ((), (dimension,))
    return shaped and bool(np.isfinite(scale).all() and (scale > 0).all())


def _note(array: np.ndarray, name: str, file: str) -> str:
    if array.dtype.kind != "U" or array.ndim != 0 or array.itemsize > 4 * LONGEST_NOTE:
        raise _refused(file, f"must hold {name!r} as one string of at most {LONGEST_NOTE} characters")
    return str(array)


def _refused(file: str, problem: str) -> InputError:
    return InputError(f"The file of word vectors {file} {problem}.")
