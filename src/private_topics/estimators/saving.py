"""One file per model: a zip of plain arrays and a JSON header, with a digest over both. Nothing in it is executed.

Loading checks names, types, sizes and the digest before a value is used; a file that is truncated, altered, of
another version, or of another program is refused with a `ModelFileError`. Writing is atomic. The bytes are a function
of the model alone: a clock in them would say how long a fit took.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError, ModelFileError
from private_topics.whole_files import ONLY_MINE, whole_file

if TYPE_CHECKING:
    from private_topics.estimators.base import TopicEstimator

MODEL_CLASSES = {
    "SpectralLDA": "private_topics.estimators.spectral",
    "PrivateSpectralLDA": "private_topics.estimators.private",
    "VariationalLDA": "private_topics.estimators.variational",
    "PrivateVariationalLDA": "private_topics.estimators.variational",
}
"""What `load` may make of a file: class names as `save` writes them, and where the classes are."""
FORMAT = "private-topics model"
VERSION, LARGEST_VERSION = 1, 1_000
HEADER = "header.json"
LARGEST_HEADER = 64 * 2**20
MOST_NESTED = 10**6  # lists and dicts of a header: an empty one takes two bytes in the file and sixty in memory
MOST_PARTS, LARGEST_DIRECTORY = 64, 2**16
END = struct.Struct("<4s4H2LH")  # of a zip without a comment
PLAIN_KINDS = "biuf"
NO_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold


def write_model(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write `header` (JSON) and `arrays` to `path`, replacing it only once everything is on disk."""
    with whole_file(path, mode=ONLY_MINE) as file:
        _write(file, header, arrays)


def file_digest_of(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of the file that `write_model` would write."""
    content = io.BytesIO()
    _write(content, header, arrays)
    return hashlib.sha256(content.getbuffer()).hexdigest()


def _write(file: BinaryIO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header = {"format": FORMAT, "version": VERSION, **header, "arrays": sorted(arrays)}
    header = json.loads(_json_bytes(header))
    header["sha256"] = model_digest(header, arrays)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_part(HEADER), _json_bytes(header))
        for name, array in sorted(arrays.items()):
            archive.writestr(_part(f"{name}.npy"), _npy_bytes(array))


def _part(name: str) -> zipfile.ZipInfo:
    """A part of the zip that says neither when nor on which system it was written."""
    part = zipfile.ZipInfo(name, NO_DATE)
    part.create_system, part.external_attr = 3, 0o600 << 16
    return part


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model written by `save`, as what it was saved from: `PrivateTopics`, or an estimator of counts."""
    model = load_estimator(path)
    if not (getattr(model, "_of_private_topics", False) and hasattr(model, "tokeniser_")):
        return model
    return import_module("private_topics.estimators.private_topics").PrivateTopics._around(model)


def load_estimator(path: str | os.PathLike[str]) -> TopicEstimator:
    """The estimator of counts in a model file, whoever saved it: what commands and reports work with."""
    header, arrays = read_model(path)
    name = header.get("class")
    if not isinstance(name, str) or name not in MODEL_CLASSES:
        raise ModelFileError(f"{path} holds a kind of model that this release does not know.")
    model: TopicEstimator = getattr(import_module(MODEL_CLASSES[name]), name)._from_parts(header, arrays, path)
    return model


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and arrays of a model file, after every check. A file that cannot be opened is an `OSError`."""
    with open(path, "rb") as file:
        try:
            header, arrays = _read(file)
            genuine = header.get("sha256") == model_digest(header, arrays)
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None
        except Exception:  # zip, JSON and numpy's reader raise a dozen types; all of them mean this
            raise ModelFileError(f"{path} is not a model file, or is truncated or corrupt.") from None
    if not genuine:
        raise ModelFileError(f"{path} was altered after it was written: its digest does not match its contents.")
    return header, arrays


def model_digest(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 over the header (without the digest itself) and every array with its name, type and shape."""
    digest = hashlib.sha256()
    body = {key: value for key, value in header.items() if key != "sha256"}
    digest.update(json.dumps(body, sort_keys=True, allow_nan=False).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _read(file: BinaryIO) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    present = os.fstat(file.fileno()).st_size
    _check_end(file, present)
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        stored = all(part.compress_type == zipfile.ZIP_STORED for part in parts)
        if not stored or sum(max(part.file_size, part.compress_size) for part in parts) > present:
            raise ModelFileError("a part has an impossible size.")
        header = _read_header(archive)
        names = header["arrays"]
        if sorted(part.filename for part in parts) != sorted({HEADER, *(f"{name}.npy" for name in names)}):
            raise ModelFileError("the file holds other parts than its header lists.")
        return header, {name: _read_array(archive, name, present) for name in names}


def _check_end(file: BinaryIO, present: int) -> None:
    """Check the last record of the zip before relying on it: a short directory of a few parts, nothing after it."""
    file.seek(max(0, present - END.size - 20))
    tail = file.read()
    mark, _, _, _, parts, size, _, comment = END.unpack(tail[-END.size :])
    moved = tail.startswith(b"PK\6\7") and present < 2**31  # a longer file may have its directory elsewhere
    if mark != b"PK\5\6" or comment or moved or parts > MOST_PARTS or size > LARGEST_DIRECTORY:
        raise ModelFileError("this file was not written by private-topics, or is truncated.")


def _read_header(archive: zipfile.ZipFile) -> dict[str, Any]:
    if archive.getinfo(HEADER).file_size > LARGEST_HEADER:
        raise ModelFileError("the header is too large to be genuine.")
    content = archive.read(HEADER)
    if content.count(b"[") + content.count(b"{") > MOST_NESTED:
        raise ModelFileError("the header is too large to be genuine.")
    header = json.loads(content)
    json.dumps(header, ensure_ascii=False).encode()  # refuses half a surrogate pair
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError("this file was not written by private-topics.")
    version = header.get("version")
    if version != VERSION:
        shown = int(version) if isinstance(version, int) and 0 <= version < LARGEST_VERSION else "unknown"
        raise ModelFileError(
            f"this model file has format version {shown}; this release reads version "
            f"{VERSION}. Load it with the release that wrote it, or fit again."
        )
    names = header.get("arrays")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelFileError("the list of arrays is damaged.")
    if len(names) != len(set(names)):
        raise ModelFileError("an array is listed twice.")
    return header


def _read_array(archive: zipfile.ZipFile, name: str, present: int) -> np.ndarray:
    """One array; its declared sizes are compared with the bytes present before anything is allocated."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.file_size > present:
        raise ModelFileError("an array has an impossible size.")
    content = io.BytesIO(archive.read(info))
    if np.lib.format.read_magic(content) != (1, 0):
        raise ModelFileError("an array is stored in another format.")
    shape, _, dtype = np.lib.format.read_array_header_1_0(content)
    if dtype.kind not in PLAIN_KINDS or math.prod(shape) * dtype.itemsize != info.file_size - content.tell():
        raise ModelFileError("an array has an impossible type or size.")
    content.seek(0)
    array: np.ndarray = np.load(content, allow_pickle=False)
    return array


def _json_bytes(header: dict[str, Any]) -> bytes:
    """Half a surrogate pair, which no UTF-8 text can hold, becomes a question mark."""
    return json.dumps(header, sort_keys=True, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")


def _npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def sound_arrays(arrays: dict[str, np.ndarray]) -> bool:
    """Whether the arrays can be those of a topic model."""
    components, prior = arrays["components_"], arrays["doc_topic_prior_"]
    return (
        components.ndim == 2
        and components.size > 0
        and components.dtype == np.float64
        and prior.shape == (len(components),)
        and prior.dtype == np.float64
        and bool(np.isfinite(components).all() and (components >= 0).all())
        and bool(np.isfinite(prior).all() and (prior > 0).all())
        and bool(np.allclose(components.sum(axis=1), 1.0))
    )


def checked_names(names: Any, n_words: int, path: Any) -> np.ndarray:
    if not isinstance(names, list) or len(names) != n_words or not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"{path} does not hold one name for each of its words.")
    return np.asarray(names, dtype=object)


def checked_tokeniser(settings: Any, path: Any) -> Tokeniser:
    try:
        return Tokeniser.from_dict(settings)
    except (InputError, TypeError):
        raise ModelFileError(f"{path} does not say how text becomes words in a way this release knows.") from None
