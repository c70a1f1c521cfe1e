"""Arguments and options of the commands, each defined once; those that go together, as groups.

A group is a dataclass whose fields are options. A command marked `grouped` takes it as one parameter; where it has
only some of the options, they are named: `Annotated[Group, "one", "another"]`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from private_topics.cli.word_options import WORDS, BlockWords, Words

__all__ = ["BlockWords"]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer should see it: each group replaced by its options."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    shown: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        kind: Any = getattr(parameter.annotation, "__origin__", parameter.annotation)
        options = [parameter]
        if hasattr(kind, "__dataclass_fields__"):
            named = getattr(parameter.annotation, "__metadata__", ())
            inside = inspect.signature(kind, eval_str=True).parameters
            options = [inside[option] for option in named or inside]
            groups[name] = kind, [option.name for option in options]
        shown += [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]

    @wraps(command)
    def called(**given: Any) -> None:
        for name, (kind, options) in groups.items():
            given[name] = kind(**{option: given.pop(option) for option in options})
        command(**given)

    called.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return called


def _seed(help: str) -> Any:
    return Option(min=0, max=2**32 - 1, help=help)


# the model, and what it is fitted to

Source = Annotated[
    Path,
    Argument(
        metavar="SOURCE",
        help="Text (.jsonl, .csv, .tsv, .txt, each also .gz; .parquet; a folder of .txt), or counts (.npz, .mtx, "
        "UCI docword.*.txt, a folder of blocks).",
    ),
]
ModelPath = Annotated[Path, Argument(metavar="MODEL", help="A file written by `fit`.")]
ModelOutput = Annotated[Path, Option("--output", "-o", help="Model file to write.")]
Force = Annotated[bool, Option("--force", help="Replace an output file that exists.")]
Anyway = Annotated[
    bool,
    Option("--anyway", help="Fit even where `plan` expects one topic or hardly any word of these public numbers."),
]
Keep = Annotated[
    str | None,
    Option(
        metavar="seen|all|untested",
        help="Which topics to keep, tested on words that the fit has not seen: those 'seen' in the texts (the "
        "default), or 'all', marked. Or 'untested': all, without that test.",
    ),
]
Topics = Annotated[int, Option("--topics", "-k", min=1, help="Number of topics.")]
Epsilon = Annotated[float, Option(help="Privacy budget: 0.1 is strict, 1 usual, 10 weak.")]
Delta = Annotated[float, Option(help="Keep it well below one over the number of units.")]
EpsilonIfPrivate = Annotated[
    float | None, Option(help="Privacy budget: 0.1 is strict, 1 usual, 10 weak. 1 if not given.")
]
DeltaIfPrivate = Annotated[float | None, Option(help="Well below one over the number of units. 1e-6 if not given.")]
Neighbours = Annotated[
    str,
    Option(
        metavar="replace|zero-out|add-remove",
        help="What the guarantee compares: corpora of which one unit is replaced by any other, emptied, or added or "
        "removed. The last two need less noise, and their epsilon promises less. With add-remove the number of units "
        "is not public: it is released first.",
    ),
]
NeighboursOfModel = Annotated[
    str | None,
    Option(
        metavar="replace|zero-out|add-remove",
        help="What the guarantee compares, as in `fit`; that of the model if not given.",
    ),
]
MostUnits = Annotated[
    int | None,
    Option(min=1, help="With --neighbours add-remove: the corpus has no more units; 4,000,000 if not given."),
]
Reliability = Annotated[
    bool, Option("--reliability", help="Say how often topics and words come out again with fresh noise: 12 refits.")
]
NoPrivacy = Annotated[bool, Option("--no-privacy", help="Fit without any guarantee.")]
Alpha0 = Annotated[float, Option(help="Sum of the Dirichlet prior over topics.")]
RefineStepsOrUsual = Annotated[
    int | None, Option(min=0, help="Refinement passes; 4 if not given, 1 without privacy.")
]
Sampler = Annotated[str, Option(help="Noise: 'fast', or 'exact' (slow).")]
Engine = Annotated[
    str, Option(help="Where the sums over the documents are computed: local, spark or gpu. The result is the same.")
]
Master = Annotated[
    str | None,
    Option(
        help="With --engine spark: the cluster, such as spark://host:7077, yarn or local[4]. If not given: "
        "$PRIVATE_TOPICS_SPARK_MASTER, else what spark-submit or Spark's settings say."
    ),
]
PlannedSites = Annotated[int | None, Option(min=2, help="How many sites hold the documents; see `sites`.")]
PlannedHonest = Annotated[int | None, Option(min=1, help="How many of the sites are honest; all if not given.")]
Jobs = Annotated[int | None, Option(help="Threads; all cores if not given.")]
FitSeed = Annotated[int, _seed("Seed of the tensor method's restarts; the noise has no seed.")]
AuditSeed = Annotated[int, _seed("Seed of the synthetic corpus and the restarts; the noise has no seed.")]
LettersSeed = Annotated[int, _seed("Seed of the letters; the noise has no seed.")]
PaperSeed = Annotated[int, _seed("Seed of corpora and noise.")]

# words and texts

Vocabulary = Annotated[
    str | None,
    Option(
        help="A file with a public list of words, one per line; 'list:english' (or another language): its most "
        "frequent words, a public list too; 'private': words that many units use, paid from the budget; "
        "'candidates': those words of a public list that many units use, paid from the budget too: of the words that "
        "--knowledge names, else of the list of the first --language, or with 'candidates:FILE' of your own. The "
        "default: 'candidates' where --knowledge names words, else 'private'; "
        "'corpus': taken from the corpus, the default with --no-privacy. For counts: a file with the names of the "
        "columns."
    ),
]
PublicVocabulary = Annotated[str | None, Option(help="For text: a file with one word per line, or 'list:english'.")]
VocabularySize = Annotated[
    int | None,
    Option(
        min=1, help="Maximum number of words; of a named list, the most frequent; of candidates, 3,000 if not given."
    ),
]


@dataclass(frozen=True)
class Known:
    """What is publicly known of words; it costs no privacy."""

    knowledge: Annotated[
        list[str] | None,
        Option(
            metavar="english|english-documents|FILE|none",
            help="Public word vectors: those that come with the package, or a file of your own; repeatable. Nothing "
            "that was made from the private texts. If not given: english for private fits of text in English, "
            "without --stem; else none. Counts need --vocabulary, which names their columns.",
        ),
    ] = None
    public_corpus: Annotated[
        Path | None,
        Option(help="Public texts of the same field: knowledge too. None of the private texts may be in it."),
    ] = None


@dataclass(frozen=True)
class Reading(Words):
    """How a file is read, who its documents belong to, and how its texts become words."""

    field: Annotated[str, Option(help="Field or column of the text.")] = "text"
    unit: Annotated[
        str | None,
        Option(help="Field that names who a text belongs to (a patient): then users are protected, not documents."),
    ] = None
    unit_labels: Annotated[
        Path | None,
        Option(
            help="For counts: a text file with one label per document, a line each, that says who it belongs to. "
            "Then users are protected, not documents."
        ),
    ] = None
    format: Annotated[
        str | None, Option(help="jsonl, csv, tsv, parquet, lines, folder or counts; by the name if not given.")
    ] = None
    encoding: Annotated[str, Option(help="Character encoding.")] = "utf-8"
    strict: Annotated[
        bool,
        Option(
            "--strict",
            help="Stop at a broken record instead of treating it as an empty document. Private fits refuse it: "
            "that they stop would tell that there is one.",
        ),
    ] = False


ReadingOfText = Annotated[Reading, "field", "unit", "format", "encoding", *WORDS, "strict"]
ReadingOfIds = Annotated[Reading, "field", "format", "encoding"]
ReadingForModel = Annotated[Reading, "field", "format", "encoding", "strict"]
Tokenising = Annotated[Reading, *WORDS]
ReadingForShares = Annotated[Reading, "field", "unit", "format", "encoding"]


# what is charged, and what is written

Report = Annotated[Path | None, Option(help="Write an HTML report too.")]
Json = Annotated[bool, Option("--json", help="Write the result as JSON to standard output.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No messages and no progress.")]


@dataclass(frozen=True)
class Output:
    """What goes to standard output and standard error."""

    as_json: Json = False
    quiet: Quiet = False


IdsKey = Annotated[
    Path | None,
    Option(
        envvar="PRIVATE_TOPICS_IDS_KEY",
        help="The file with the secret key of the users' ids, where the ledger has those registered.",
    ),
]


@dataclass(frozen=True)
class Charged:
    """The ledger of a corpus, and the note for the run."""

    ledger: Annotated[Path | None, Option(help="Budget ledger for all runs on a corpus; needs --corpus.")] = None
    corpus: Annotated[str | None, Option(help="Name of the corpus in the ledger (`budget register`).")] = None
    label: Annotated[str, Option(help="Note for this run in the ledger.")] = ""
    who: Annotated[
        str | None,
        Option(help="Who runs it, as the ledger notes. If not given: $PRIVATE_TOPICS_WHO, else the login name."),
    ] = None
    ids_key: IdsKey = None
    requested_by: Annotated[str, Option(help="Who asked for it: noted in the ledger and in the model.")] = ""
    approved_by: Annotated[str, Option(help="Who approved it: noted there too.")] = ""
    reason: Annotated[str, Option(help="What it is for: noted there too.")] = ""

    @property
    def request(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ("requested_by", "approved_by", "reason")}


LedgerOfCorpus = Annotated[Charged, "ledger", "corpus"]

# for audits only

AuditedModel = Annotated[
    Path | None,
    Option(
        help="Take settings, unit and vocabulary size from this model file, compare its releases with those "
        "attacked, and seal its statement too."
    ),
]
AuditedKnowledge = Annotated[
    list[str] | None,
    Option(
        "--knowledge",
        metavar="FILE",
        help="With --model: the public word vectors that its statement names, where they do not come with the "
        "package; repeatable.",
    ),
]
AuditedPublicCorpus = Annotated[
    Path | None, Option("--public-corpus", help="With --model: the public texts that its statement names.")
]


@dataclass(frozen=True)
class AuditCorpus:
    """The corpus of an audit: a public one, or the sizes of one that is made up."""

    corpus: Annotated[
        Path | None, Option(help="A PUBLIC corpus of text or counts, as `fit` takes it; needs --corpus-is-public.")
    ] = None
    corpus_is_public: Annotated[
        bool,
        Option(
            "--corpus-is-public",
            help="The corpus needs no protection. An audit spends no budget and shows what it measures.",
        ),
    ] = False
    synthetic: Annotated[bool, Option("--synthetic", help="Make up a corpus: the default.")] = False
    documents: Annotated[
        int | None,
        Option(
            min=50,
            help="Documents of a synthetic corpus; if not given, enough for all topics, or for the model's releases.",
        ),
    ] = None
    words: Annotated[
        int | None, Option(min=4, help="Vocabulary of a synthetic corpus; if not given, 200 or the model's.")
    ] = None
    documents_per_user: Annotated[
        int | None,
        Option(
            min=1,
            help="Of a synthetic corpus: above 1, users are the units, not documents. If not given, 1; 3 with a "
            "model whose units are users.",
        ),
    ] = None

    @property
    def sizes(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in ("documents", "words", "documents_per_user")}


@dataclass(frozen=True)
class AuditedSettings:
    """The settings whose claims are attacked."""

    topics: Topics = 10
    epsilon: Epsilon = 1.0
    delta: Delta = 1e-6
    alpha0: Alpha0 = 1.0
    refine_steps: Annotated[int, Option(min=0, help="Refinement passes.")] = 4
    configuration: Annotated[str, Option(help="sequential, 1, 2, 3 or 4.")] = "sequential"


@dataclass(frozen=True)
class Games:
    """How often each game is played, and how sure the whole audit should be."""

    trials: Annotated[int, Option(min=10, help="Trials of each game against released values.")] = 1_000
    fits: Annotated[int, Option(min=10, help="Fits for the game against the final model.")] = 100
    confidence: Annotated[float, Option(help="Probability that no true claim fails by chance.")] = 0.9999


@dataclass(frozen=True)
class SealedPage:
    """The page to write, or one to check."""

    report: Annotated[
        Path | None, Option(help="Write the sealed section, .html or .md; with --model, the report with it.")
    ] = None
    check: Annotated[Path | None, Option(help="Only recompute the seal of such a page.")] = None
    seal: Annotated[str | None, Option(help="With --check: the SHA-256 noted elsewhere.")] = None
