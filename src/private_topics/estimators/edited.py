"""What a model says of the edits made after its release: how many, not which, and of which file."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from private_topics.errors import InputError, ModelFileError

LONGEST_LABEL = 200
LARGEST_COUNT = 2**31
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Edits:
    """Edits of a released model: post-processing, which needs no budget and keeps the guarantee.

    `released`: SHA-256 of the model file as it was released, which the ledger notes. `merged_topics` are those that
    were put together with another one.
    """

    released: str
    blocked_words: int = 0
    merged_topics: int = 0
    dropped_topics: int = 0
    renamed_topics: int = 0

    @property
    def text(self) -> str:
        """One sentence for a reader."""
        counts = [
            (self.blocked_words, "word", "blocked"),
            (self.merged_topics, "topic", "merged into others"),
            (self.dropped_topics, "topic", "dropped"),
            (self.renamed_topics, "topic", "named by hand"),
        ]
        made = [f"{n:,} {what}{'s' if n > 1 else ''} {done}" for n, what, done in counts if n]
        return f"Edited after the release, from released values alone: {', '.join(made) or 'nothing'}."

    def more(self, **counts: int) -> Self:
        """The same with more edits."""
        return replace(self, **{name: getattr(self, name) + count for name, count in counts.items()})


def checked_edits(stored: Any, path: Any) -> Edits:
    """Edits as a header holds them."""
    counts = {field.name for field in fields(Edits)} - {"released"}
    known = isinstance(stored, dict) and set(stored) == counts | {"released"}
    digest = stored["released"] if known else None
    if not isinstance(digest, str) or len(digest) != 64 or not set(digest) <= _HEX:
        raise ModelFileError(f"{path} does not say how the model was edited in a way this release knows.")
    if not all(type(stored[name]) is int and 0 <= stored[name] < LARGEST_COUNT for name in counts):
        raise ModelFileError(f"{path} holds an impossible number of edits.")
    return Edits(**stored)


def checked_labels(labels: Any, n_topics: int, path: Any) -> list[str | None]:
    """Labels as a header holds them: one for each topic, null where nobody gave one."""
    if not isinstance(labels, list) or len(labels) != n_topics:
        raise ModelFileError(f"{path} does not hold one label for each of its topics.")
    try:
        return [None if label is None else check_label(label, "load") for label in labels]
    except InputError:
        raise ModelFileError(f"{path} holds a label that is none.") from None


def check_label(label: Any, caller: str) -> str:
    """A label that fits on a line."""
    if not isinstance(label, str) or not label.strip() or len(label) > LONGEST_LABEL or not label.isprintable():
        raise InputError(
            f"A label given to {caller} must be a line of printable text of at most {LONGEST_LABEL} characters."
        )
    return label.strip()
