"""What is publicly known of the words that are the columns of a corpus: their vectors and their frequencies.

It is taken as public: the guarantee of a private fit says nothing about documents that went into it. Whoever
gives a file or texts vouches that they would be the same without the private corpus.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError
from private_topics.knowledge.cooccurrence import log_frequencies
from private_topics.knowledge.npz_vectors import save_vectors
from private_topics.knowledge.public_texts import counts_digest, of_counts, public_texts, validated
from private_topics.knowledge.shipped import shipped
from private_topics.knowledge.table import Found, checked_words
from private_topics.knowledge.vector_files import read_vectors

FEWEST_KNOWN, SMALLEST_KNOWN = 10, 0.1  # columns with a vector, and their part of all
SMALLEST_DIFFERENCE = 1e-3  # of vectors of length one


class Content(Protocol):
    """Something that has been opened and digested, and knows words: a `VectorTable`, `PublicTexts`."""

    @property
    def name(self) -> str: ...
    @property
    def what(self) -> str: ...
    @property
    def digest(self) -> str: ...
    def look_up(self, words: Sequence[str]) -> Found: ...


class Origin(NamedTuple):
    """Where vectors come from: a name, what a statement calls it, the SHA-256 of its content, the words it knows."""

    name: str
    what: str
    digest: str
    covered: int


@dataclass(frozen=True, eq=False, repr=False)
class PublicKnowledge:
    """Public word vectors and frequencies for the columns of a corpus.

    Made by `english`, `english_documents`, `from_vectors`, `from_counts` and `from_texts`; `a + b` knows what both
    know. It cannot be changed, so `sklearn.base.clone` keeps it.

    Attributes
    ----------
    vectors : columns × rank. A row has length one, or is zero where there is no vector. In a sum the rows of both
        stand side by side.
    log_frequencies : natural logarithm of the relative frequency in the public source, NaN where it is unknown. In a
        sum the first that knows a word decides; mind that one source may count all words of its texts, another
        those of the columns only.
    origins : where it comes from, one entry for each source.
    documents : counts of the public documents that it was made of, over the columns; None where there are none. A
        file that `save` writes has none.
    """

    vectors: np.ndarray
    log_frequencies: np.ndarray
    origins: tuple[Origin, ...]
    documents: sp.csr_array | None = None

    def __post_init__(self) -> None:
        vectors = np.array(self.vectors, dtype=np.float64, order="C")
        log_frequencies = np.array(self.log_frequencies, dtype=np.float64)
        if vectors.ndim != 2 or log_frequencies.shape != vectors.shape[:1] or not np.isfinite(vectors).all():
            raise InputError(
                "PublicKnowledge takes finite 'vectors', one row for each column, and as many 'log_frequencies'."
            )
        for name, array in (("vectors", vectors), ("log_frequencies", log_frequencies)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if self.documents is not None and self.documents.shape[1] != len(vectors):
            raise InputError("The 'documents' of PublicKnowledge must have one column for each row of 'vectors'.")
        object.__setattr__(self, "origins", tuple(Origin(*origin) for origin in self.origins))

    @classmethod
    def english(cls, words: Iterable[str]) -> Self:
        """What the package knows of English words: GloVe vectors of 50,000 words, and their frequencies."""
        return cls.aligned(shipped("english"), words, "PublicKnowledge.english")

    @classmethod
    def english_documents(cls, words: Iterable[str]) -> Self:
        """The same from whole documents: which English words stand in the same encyclopaedia articles."""
        return cls.aligned(shipped("english-documents"), words, "PublicKnowledge.english_documents")

    @classmethod
    def from_vectors(cls, words: Iterable[str], path: str | os.PathLike[str]) -> Self:
        """From a file of word vectors: word2vec or GloVe text, gzipped or not, or what `save` wrote."""
        return cls.aligned(read_vectors(path), words, "PublicKnowledge.from_vectors")

    @classmethod
    def from_counts(cls, X_public: Any) -> Self:
        """From the counts of a public corpus over the same columns."""
        counts = validated(X_public)
        name = f"{counts.shape[0]:,} public documents"
        return cls._of(name, f"word vectors from {name}", counts_digest(counts), of_counts(counts))

    @classmethod
    def from_texts(cls, words: Iterable[str], texts: Iterable[Any], *, tokeniser: Tokeniser | None = None) -> Self:
        """From public texts, in which the columns are counted as `tokeniser` (None: `Tokeniser()`) finds them."""
        return cls.aligned(public_texts(texts, tokeniser), words, "PublicKnowledge.from_texts")

    @classmethod
    def aligned(cls, content: Content, words: Iterable[str], caller: str) -> Self:
        """What an opened source knows of the words of the columns."""
        found = content.look_up(checked_words(words, caller))
        return cls._of(content.name, content.what, content.digest, found)

    @classmethod
    def known(cls, content: Content, words: Sequence[str]) -> Self | None:
        """The same for words that a run released; None where the source knows none of them."""
        found = content.look_up(words)
        return cls._of(content.name, content.what, content.digest, found) if found.vectors.any() else None

    @classmethod
    def _of(cls, name: str, what: str, digest: str, found: Found) -> Self:
        covered = int(found.vectors.any(axis=1).sum())
        if not covered:
            raise InputError(
                f"The public knowledge {name!r} has a vector for none of the {len(found.vectors):,} columns: "
                "it is of another language, or too small."
            )
        return cls(found.vectors, found.log_frequencies, (Origin(name, what, digest, covered),), found.documents)

    @property
    def n_words(self) -> int:
        """Number of columns."""
        return len(self.vectors)

    @property
    def covered(self) -> int:
        """Number of columns that have a vector."""
        return int(self.vectors.any(axis=1).sum())

    @property
    def tells_words_apart(self) -> bool:
        """Whether enough columns have a vector, and not all the same: else a fit learns nothing from it."""
        known = self.vectors[self.vectors.any(axis=1)]
        enough = len(known) >= max(FEWEST_KNOWN, SMALLEST_KNOWN * self.n_words)
        return enough and bool(np.ptp(known, axis=0).max() > SMALLEST_DIFFERENCE)

    @property
    def all_log_frequencies(self) -> np.ndarray:
        """Columns × sources: `log_frequencies`, and beside them those in the documents where these are not all."""
        if self.documents is None or len(self.origins) == 1:
            return self.log_frequencies[:, None]
        return np.column_stack([self.log_frequencies, log_frequencies(self.documents)])

    @property
    def name(self) -> str:
        """The names of the sources."""
        return " + ".join(origin.name for origin in self.origins)

    @property
    def digest(self) -> str:
        """SHA-256 of the source (a file's is that of its bytes); in a sum, of the digests of the sources."""
        return joint_digest([origin.digest for origin in self.origins])

    @property
    def description(self) -> str:
        """A phrase for a privacy statement."""
        return " and ".join(
            f"{origin.what} (SHA-256 {origin.digest}), which know {origin.covered:,} of the {self.n_words:,} words"
            for origin in self.origins
        )

    def save(self, path: str | os.PathLike[str], words: Iterable[str], *, name: str, licence: str) -> None:
        """Write what is known of the columns, whose words are `words`, to a file for `from_vectors`.

        A sum is written as one source. Single precision is kept.
        """
        listed = checked_words(words, "PublicKnowledge.save")
        if len(listed) != self.n_words:
            raise InputError(f"The 'words' parameter of PublicKnowledge.save must hold {self.n_words:,} words.")
        known = np.flatnonzero(self.vectors.any(axis=1) | ~np.isnan(self.log_frequencies))
        notes = {"name": name, "licence": licence, "origin": self.description}
        kept = [listed[row] for row in known]
        save_vectors(path, kept, self.vectors[known], self.log_frequencies[known], notes=notes)

    def __add__(self, other: object) -> PublicKnowledge:
        if not isinstance(other, PublicKnowledge):
            return NotImplemented
        if other.n_words != self.n_words:
            raise InputError(
                f"Public knowledge of {self.n_words:,} columns cannot be added to that of {other.n_words:,}."
            )
        vectors = np.hstack([self.vectors, other.vectors])
        unknown = np.isnan(self.log_frequencies)
        frequencies = np.where(unknown, other.log_frequencies, self.log_frequencies)
        both = [known.documents for known in (self, other) if known.documents is not None]
        documents = stack_rows(both) if both else None
        return PublicKnowledge(vectors, frequencies, self.origins + other.origins, documents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKnowledge) and (
            self.digest == other.digest
            and np.array_equal(self.vectors, other.vectors)
            and np.array_equal(self.log_frequencies, other.log_frequencies, equal_nan=True)
        )

    def __hash__(self) -> int:
        return hash((self.digest, self.n_words))

    def __copy__(self) -> PublicKnowledge:
        return self

    def __deepcopy__(self, memo: object) -> PublicKnowledge:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.vectors, self.log_frequencies, self.origins, self.documents)

    def __repr__(self) -> str:
        return f"<PublicKnowledge {self.name!r}: {self.covered:,} of {self.n_words:,} words>"


def joint_digest(digests: Sequence[str]) -> str:
    """The digest of one source, or SHA-256 of those of several, one per line."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()
