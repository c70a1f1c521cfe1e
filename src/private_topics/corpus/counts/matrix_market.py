"""MatrixMarket files of counts (`.mtx`, `.mtx.gz`): a banner, a size line, then entries as in a UCI file.

`%%MatrixMarket matrix coordinate integer general`, documents in rows, sorted by row: then a pass holds a chunk and a
block, never the matrix. `real` is read too where its values are whole numbers without a point.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from private_topics.corpus.counts.matrix import LARGEST_COUNT
from private_topics.corpus.counts.uci import BAD_CHARACTER, BAD_FIELDS, BAD_ORDER, PROBLEMS, UCIBlocks
from private_topics.errors import InputError

BANNER = re.compile(rb"%%MatrixMarket\s+matrix\s+coordinate\s+(integer|real)\s+general\s*", re.IGNORECASE)
SIZES = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})\s*")
MOST_COMMENT_READS = 1_000
HINTS = {
    PROBLEMS[BAD_CHARACTER]: "an entry is not a non-negative whole number",
    PROBLEMS[BAD_FIELDS]: "an entry does not hold a row, a column and a count",
    PROBLEMS[BAD_ORDER]: "its entries are not sorted by row; pass the matrix that scipy.io.mmread gives",
}


class MatrixMarketBlocks(UCIBlocks):
    """The rows of a MatrixMarket file, `block_documents` at a time; every pass reads it again."""

    def _header(self, file: BinaryIO) -> tuple[int, int, int]:
        if not BANNER.fullmatch(self._read(file, line=True)):
            raise self._problem("its first line must be '%%MatrixMarket matrix coordinate integer general'")
        sizes = SIZES.fullmatch(self._after_comments(file))
        if sizes is None:
            raise self._problem("it has no line with the numbers of rows, columns and entries")
        n_documents, n_words, n_entries = (int(size) for size in sizes.groups())
        if not 1 <= n_documents <= LARGEST_COUNT or not 1 <= n_words <= LARGEST_COUNT:
            raise self._problem("it must have at least 1 row and 1 column (and at most 2**31 - 1 of each)")
        return n_documents, n_words, n_entries

    def _after_comments(self, file: BinaryIO) -> bytes:
        in_comment = False
        for _ in range(MOST_COMMENT_READS):
            line = self._read(file, line=True)
            in_comment = in_comment or line.startswith(b"%") or not line.strip()
            if not in_comment:
                return line
            in_comment = not line.endswith(b"\n")
        return b""

    def _problem(self, what: str) -> InputError:
        return InputError(f"The MatrixMarket file {str(self.path)!r} cannot be used: {HINTS.get(what, what)}.")
