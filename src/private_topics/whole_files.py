"""Files that are complete or absent: written next to their destination, synced, then moved onto it.

A full disk, an interrupt or a crash leaves the previous file, or none. A crash may also leave a hidden file
`.name.*`, which nothing reads.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from private_topics.errors import InputError

ONLY_MINE, AS_USUAL = 0o600, 0o666
"""Who may read the file: its owner, or anyone the umask allows."""


@contextmanager
def whole_file(path: str | os.PathLike[str], *, mode: int = AS_USUAL) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends without an error.

    A link is followed. A pipe or a device cannot be replaced and is written to as it is.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open(target, "wb") as file:
            yield file
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if mode != ONLY_MINE:
                os.chmod(temporary, mode & ~_umask())
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(target)
        raise
    _sync_folder(target.parent)


def write_whole_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8, with the line ends that `text` has."""
    with whole_file(path) as file:
        file.write(encoded(text))


def encoded(text: str) -> bytes:
    """Return UTF-8; refuse what has none."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(
            "A title, name or date has half of a surrogate pair, which no file of text can hold."
        ) from None


def _umask() -> int:
    """The umask can only be read by setting it."""
    before = os.umask(0o077)
    os.umask(before)
    return before


def _sync_folder(folder: Path) -> None:
    """The file is complete; where folders cannot be synced, a power failure may bring the old one back."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
