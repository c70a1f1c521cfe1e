"""A model for other programs: plain JSON, CSV or Parquet of its topics, or what pyLDAvis draws from.

Only released values go out: topics, prior, the statement. pyLDAvis also asks for documents, their lengths and the
frequency of each word; those of the corpus are private, so it gets one made-up document instead, whose topics are the
topics' shares and whose words are those that the model expects. Its picture is then the one of the released values.
"""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from private_topics.corpus.texts.parquet import arrow
from private_topics.errors import InputError
from private_topics.estimators.topic_list import topics_of
from private_topics.evaluation.labels import word_names
from private_topics.evaluation.relevance import shares_of
from private_topics.whole_files import whole_file, write_whole_text

FORMATS = ("json", "csv", "parquet", "pyldavis")
MADE_UP_LENGTH = 1_000_000
"""Words of the document that pyLDAvis is given: its bars are in units of this."""


def export_topics(model: Any, path: str | os.PathLike[str], *, format: str | None = None, n_words: int = 50) -> None:
    """Write the topics of a fitted model to a file for other programs: released values only.

    Parameters
    ----------
    model : any fitted model of this package.
    path : the file; written whole or not at all.
    format : "json", topics with their words, and the privacy statement; "csv" or "parquet" (extra `parquet`), a
        table with a row for each word of each topic; "pyldavis", the arguments of `pyLDAvis.prepare` as JSON. None:
        by the file's name, `.json`, `.csv` or `.parquet`.
    n_words : words per topic, most probable first; pyLDAvis gets all.
    """
    check_is_fitted(model)
    file = Path(path)
    chosen = file.suffix.removeprefix(".") if format is None else format
    if chosen not in FORMATS:
        raise InputError(
            f"The 'format' parameter of export_topics must be one of {FORMATS}, or None for a name that ends in "
            f".json, .csv or .parquet. Got {format!r} instead."
        )
    if chosen == "parquet":
        _write_parquet(model, file, n_words)
    elif chosen == "csv":
        write_whole_text(file, _as_csv(_rows(model, n_words)))
    else:
        content = pyldavis_arguments(model) if chosen == "pyldavis" else topics_as_dict(model, n_words)
        write_whole_text(file, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")


def topics_as_dict(model: Any, n_words: int = 50) -> dict[str, Any]:
    """The topics and what is guaranteed, as JSON types."""
    statement = getattr(model, "privacy_", None)
    return {
        "topics": [asdict(topic) for topic in topics_of(model, n_words)],
        "privacy": None if statement is None else statement.to_dict(),
        "statement": None if statement is None else statement.text,
    }


def pyldavis_arguments(model: Any) -> dict[str, Any]:
    """What `pyLDAvis.prepare(**arguments)` takes, from released values only: no document and no count of the corpus.

    There is one made-up document of `MADE_UP_LENGTH` words, with the shares of the topics. Words to which every topic
    gives a probability of zero are left out, since pyLDAvis divides by it.
    """
    check_is_fitted(model)
    shares = shares_of(model.doc_topic_prior_)
    expected = shares @ model.components_
    kept = expected > 0
    names = word_names(model)
    components = model.components_[:, kept]
    return {
        "topic_term_dists": (components / components.sum(axis=1, keepdims=True)).tolist(),
        "doc_topic_dists": [shares.tolist()],
        "doc_lengths": [MADE_UP_LENGTH],
        "vocab": [name for name, is_kept in zip(names, kept, strict=True) if is_kept],
        "term_frequency": (MADE_UP_LENGTH * expected[kept]).tolist(),
    }


def _rows(model: Any, n_words: int) -> list[dict[str, Any]]:
    """A row for each word of each topic."""
    return [
        {"topic": topic.number, "label": topic.label, "share": topic.share, "reliability": topic.reliability}
        | {"rank": rank, **asdict(word)}
        for topic in topics_of(model, n_words)
        for rank, word in enumerate(topic.words, start=1)
    ]


def _as_csv(rows: list[dict[str, Any]]) -> str:
    """Columns that are empty, as those of a reliability that nobody asked for, are left out."""
    filled = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, filled, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _write_parquet(model: Any, path: Path, n_words: int) -> None:
    pyarrow = arrow()
    rows = _rows(model, n_words)
    number, text, real = pyarrow.int64(), pyarrow.string(), pyarrow.float64()
    kinds = {"topic": number, "label": text, "share": real, "reliability": real, "rank": number, "word": text}
    kinds |= {"probability": real, "low": real, "high": real}
    statement = getattr(model, "privacy_", None)
    noted = {} if statement is None else {"privacy statement": statement.text}
    schema = pyarrow.schema(list(kinds.items()), metadata=noted)
    with whole_file(path) as file:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), file)
