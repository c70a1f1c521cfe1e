"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE",
        help="Text (.jsonl, .csv, .tsv, .txt, each also .gz; .parquet; a folder of .txt), or counts (.npz, .mtx, "
        "UCI docword.*.txt, a folder of blocks).",
        show_default=False,
    ),
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by `fit`.", show_default=False)]
Epsilon = Annotated[float, typer.Option(help="Privacy budget: 0.1 is strict, 1 usual, 10 weak.")]
Delta = Annotated[float, typer.Option(help="Keep it well below one over the number of units.")]
Alpha0 = Annotated[float, typer.Option(help="Sum of the Dirichlet prior over topics.")]
Field = Annotated[str, typer.Option(help="Field or column of the text.")]
Unit = Annotated[
    str | None,
    typer.Option(
        help="Field that names whom a text belongs to (a patient): then users are protected, not documents."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(help="jsonl, csv, tsv, parquet, lines, folder or counts; told by the name if not given."),
]
Encoding = Annotated[str, typer.Option(help="Encoding of the characters.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Stop at a broken record instead of taking it for an empty document.")
]
Languages = Annotated[
    list[str] | None,
    typer.Option(
        "--language",
        help="Drop the stop words of this language; repeatable; 'none' drops none. If not given: english, or the "
        "language of a list named by --vocabulary.",
    ),
]
MinLength = Annotated[int, typer.Option(help="Letters of the shortest word.")]
Stem = Annotated[bool, typer.Option("--stem", help="Take the plural s from English words.")]
VocabularySize = Annotated[
    int | None, typer.Option(min=1, help="At most so many words; of a named list, the most frequent.")
]
Engine = Annotated[
    str,
    typer.Option(help="Where the sums over the documents are computed: local, spark or gpu. The result is the same."),
]
Master = Annotated[
    str | None,
    typer.Option(
        help="With --engine spark: the cluster, such as spark://host:7077, yarn or local[4]. If not given: "
        "$PRIVATE_TOPICS_SPARK_MASTER, else what spark-submit or Spark's settings say.",
        show_default=False,
    ),
]
Jobs = Annotated[int | None, typer.Option(help="Threads; all cores if not given.")]
Ledger = Annotated[
    Path | None, typer.Option(help="Budget ledger that holds all runs on a corpus to one total; needs --corpus.")
]
Corpus = Annotated[str | None, typer.Option(help="Name of the corpus in the ledger (`budget register`).")]
Label = Annotated[str, typer.Option(help="Note beside this run in the ledger.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON to standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No messages and no progress.")]
