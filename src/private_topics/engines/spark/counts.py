"""A corpus on the executors. From a Spark DataFrame: counts as arrays, or texts that the executors cut into words.

The parts are made once, on the executors, and kept there. With a column of units the documents of a unit are brought
together (one shuffle) and counted in the same pass that reads them: a document's share is one over that count.
"""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NoReturn, Self

import scipy.sparse as sp

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList
from private_topics.engines.spark import tasks
from private_topics.engines.spark.session import classic, translated
from private_topics.errors import InputError

SCHEMA = "part binary"
INTEGERS, NUMBERS = ("tinyint", "smallint", "int", "bigint"), ("float", "double")


class UnitsOnCluster:
    """Stands in for the labels of the documents, which are known only where the documents are."""

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise InputError("The units of this corpus are known only on the cluster: fit it with engine='spark'.")


class ClusterCounts(CountBlocks):
    """Counts whose parts are made on the executors; `SparkCorpus.of` takes them from there.

    Attributes
    ----------
    columns : the words, where they were given (an estimator takes its feature names from here); else None.
    tokeniser : the settings the words were made with; None for counts.
    groups : None where units are documents.
    """

    columns: list[str] | None = None
    tokeniser: Tokeniser | None = None
    groups: UnitsOnCluster | None = None

    @abstractmethod
    def parts(self) -> Any:
        """The parts as an RDD of `tasks.Held`."""

    def _blocks(self) -> Iterator[sp.csr_array]:
        """All documents through the driver, a partition at a time; `engine="spark"` never asks for it."""
        parts = translated("read", lambda: self.parts().toLocalIterator())
        while (held := translated("read", lambda: next(parts, None))) is not None:
            if isinstance(held, str):
                raise InputError(held)
            yield held.part.block


class SparkCounts(ClusterCounts):
    """Counts on a cluster, to `fit` with `engine="spark"`; make it by `of_counts` or `of_texts`.

    The frame must give the same rows whenever Spark reads it: no random sample or `limit` without an order.
    """

    def __init__(self, frame: Any, n_words: int, grouped: bool) -> None:
        self.frame, self.n_words = frame, n_words
        self.groups = UnitsOnCluster() if grouped else None

    @classmethod
    def of_counts(
        cls,
        frame: Any,
        n_words: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        words: str = "indices",
        counts: str = "counts",
        unit: str | None = None,
    ) -> Self:
        """Counts in two columns of arrays, a row for each document: such as blocks by `write_parquet_block`.

        Parameters
        ----------
        frame : the DataFrame.
        n_words : size of the vocabulary; or give `columns`, the words themselves. Both are public.
        words, counts : columns of arrays: the words' numbers, from 0, and how often each occurs.
        unit : column of strings or integers that says who a document belongs to; None where units are documents.
        """
        if columns is not None:
            n_words = len(columns)
        if isinstance(n_words, bool) or not isinstance(n_words, int) or n_words < 1:
            raise InputError("SparkCounts.of_counts needs 'n_words', an int of at least 1, or 'columns', the words.")
        _check_column(frame, words, tuple(f"array<{kind}>" for kind in INTEGERS), "arrays of integers")
        _check_column(frame, counts, tuple(f"array<{kind}>" for kind in (*INTEGERS, *NUMBERS)), "arrays of numbers")
        rows = _selected(frame, {"indices": words, "counts": counts}, unit)
        held = partial(tasks.counted_rows, n_words=n_words, grouped=unit is not None)
        made = cls(rows.mapInArrow(tasks.held_batches(held), SCHEMA), n_words, unit is not None)
        made.columns = None if columns is None else list(columns)
        return made

    @classmethod
    def of_texts(
        cls,
        frame: Any,
        vocabulary: WordList | Sequence[str],
        tokeniser: Tokeniser | None = None,
        *,
        text: str = "text",
        unit: str | None = None,
    ) -> Self:
        """Texts in a column of strings, counted over a public vocabulary on the executors.

        Parameters
        ----------
        frame : the DataFrame; a missing text is an empty document.
        vocabulary : public words; entries of a `WordList` that the tokeniser does not accept as words are left out.
        tokeniser : how text becomes words; None for the default.
        text, unit : columns of the text and, where users are units, of their labels.
        """
        tokeniser = Tokeniser() if tokeniser is None else tokeniser
        listed = columns_of(vocabulary, tokeniser)
        _check_column(frame, text, ("string",), "strings")
        rows = _selected(frame, {"text": text}, unit)
        held = partial(tasks.text_rows, vocabulary=listed, tokeniser=tokeniser, grouped=unit is not None)
        made = cls(rows.mapInArrow(tasks.held_batches(held), SCHEMA), len(listed), unit is not None)
        made.columns, made.tokeniser = listed, tokeniser
        return made

    def parts(self) -> Any:
        return self.frame.rdd.map(_unpacked)


def columns_of(vocabulary: WordList | Sequence[str], tokeniser: Tokeniser) -> list[str]:
    """The words to count; those that the executors would refuse are refused here."""
    listed = tokeniser.usable(vocabulary.words) if isinstance(vocabulary, WordList) else vocabulary
    count_texts([""], listed, tokeniser).close()
    return list(listed)


def _unpacked(row: Any) -> tasks.Held:
    held: tasks.Held = pickle.loads(row[0])
    return held


def _check_column(frame: Any, name: str, kinds: tuple[str, ...], wanted: str) -> None:
    if not hasattr(frame, "dtypes") or not hasattr(frame, "sparkSession"):
        raise InputError("SparkCounts takes a Spark DataFrame.")
    classic(frame.sparkSession)
    if dict(frame.dtypes).get(name) not in kinds:
        raise InputError(f"The DataFrame must have a column {name!r} of {wanted}.")


def _selected(frame: Any, named: dict[str, str], unit: str | None) -> Any:
    """The columns under our names; with a unit also its key, its documents, and whether the row is its first."""
    from pyspark.sql import Window, functions
    from pyspark.sql.types import BinaryType

    def column(name: str) -> Any:
        return functions.col(f"`{name.replace('`', '``')}`")

    chosen = [column(name).alias(ours) for ours, name in named.items()]
    if unit is None:
        return frame.select(*chosen)
    _check_column(frame, unit, ("string", *INTEGERS), "strings or integers")
    key = functions.udf(lambda label: tasks.unit_key(label), BinaryType())(column(unit)).alias("key")
    same = Window.partitionBy("key")
    return frame.select(*chosen, key).select(
        *named,
        "key",
        functions.count(functions.lit(1)).over(same).alias("size"),
        (functions.row_number().over(same.orderBy("key")) == 1).alias("first"),
    )
