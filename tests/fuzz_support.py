"""Any value for any parameter of the public names and of the commands, and which answers are acceptable.

Acceptable is a result, an error of the library, the system's word on a file, or one of scikit-learn's own errors (an
unfitted model, a bad seed). All else, or a call that takes too long, is a finding. Numbers that ask for endless work
or memory (a million passes, a billion topics) are left out where the documentation allows them, and so are paths that
are none (Python's own errors say so).
"""

from __future__ import annotations

import contextlib
import io
import os
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from typer.main import get_command
from typer.testing import CliRunner

import private_topics
from hang_support import cpu_limit
from private_topics.cli import app
from private_topics.errors import EngineError, InputError, LedgerError, ModelFileError, PrivacyError
from private_topics.knowledge.public import PublicKnowledge
from private_topics.privacy.budget import PrivacyBudget

ACCEPTABLE = (InputError, PrivacyError, LedgerError, ModelFileError, EngineError, NotFittedError)
CALL_SECONDS = 60.0  # of computing
N_WORDS = 6

# -- values ----------------------------------------------------------------------------------------------------------

ODD: tuple[Any, ...] = (
    None, True, False, "", "x", "nan", "0.5", b"x", (), [], {}, [1.0], {"a": 1}, 1j, object, np.array([1.0, 2.0]),
    np.array(0.5), np.array([3]), Decimal("0.5"), Fraction(1, 2), float("nan"), float("inf"), -float("inf"), slice(1),
)  # fmt: skip
odd = st.sampled_from(ODD)
small_ints = st.sampled_from([1, 2, 3, 5, np.int64(2), np.int32(3)])
any_int = st.one_of(small_ints, st.sampled_from([0, -1, -5, 1.5, 2**70, -(2**70)]), odd)
bounded_int = st.one_of(small_ints, st.sampled_from([0, -1, 1.5]), odd)
any_float = st.one_of(
    st.sampled_from([0.5, 1.0, 3, 1e-6, np.float32(0.5), np.int64(1)]),
    st.sampled_from([0.0, -0.0, -1.0, 5e-324, 1e-300, 1e300, 1.7e308, 2**70, 10**400]),
    st.floats(),
    odd,
)
lengths = st.one_of(st.sampled_from([0.5, 3, 100.0, 0, -1, 5e-324, 1e10, 1e300, 10**400]), odd)
seeds = st.one_of(st.sampled_from([None, 0, 7, -1, 2**32, 2**70, np.int64(3), np.random.RandomState(0)]), odd)
words_of_odd_settings = st.sampled_from(
    ["fast", "exact", "local", "gpu", "proved", "published", "auto", "sequential"]
)
settings_words = st.one_of(words_of_odd_settings, st.sampled_from([1, 2, 3, 4, 5, -1]), odd)


def counts(rows: int = 30, words: int = N_WORDS, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 5, (rows, words))


def strange_corpora() -> list[Any]:
    good = counts()
    broken = sp.csr_array(good)
    broken.indices = broken.indices + 3
    frame = pd.DataFrame(good, columns=[f"w{j}" for j in range(N_WORDS)])
    fractional, negative, huge = good + 0.5, good - 3, good.astype(np.int64) + 2**40
    return [
        good, good.astype(float), good.astype(np.float16), good.astype(np.uint8), good.astype(bool), good.tolist(),
        sp.csr_array(good), sp.csc_matrix(good), sp.coo_array(good), sp.lil_matrix(good), sp.dok_array(good), broken,
        frame, frame.astype(pd.SparseDtype(int, 0)), frame.assign(w0="x"), frame.rename(columns={"w0": 3}),
        frame.iloc[:, ::-1], frame["w0"],
        [good, good[:2]], iter([good, good]), [good, good[:, :2]], [], [[]], [None], [good, None], (good,),
        fractional, negative, huge, np.where(good > 3, np.nan, good), np.where(good > 3, np.inf, good),
        good.astype(complex), good.astype(object), good.astype("U"), good.astype("S"), good.astype("M8[s]"),
        good.astype(">i2"), np.ma.masked_array(good, good > 2), np.asmatrix(good), good[0], good[0, 0], good[None],
        np.zeros((0, N_WORDS), int), np.zeros((3, 0), int), np.zeros((4, N_WORDS), int), np.ones((1, N_WORDS), int),
        np.full((4, N_WORDS), 2**31 - 1), np.ones((2, 2), int), np.ones((40, 1), int), np.zeros(3, [("a", int)]),
        "no/such/file.npz", "two words", Path("no/such/folder"), "", b"abc", "a\0b", ["a text", "another"], [["a"]],
        None, 3, 1.5, {}, {"a": 1}, {1, 2}, object(), range(5), good.__iter__(), lambda: good, type,
    ]  # fmt: skip


corpora = st.integers(0, len(strange_corpora()) - 1).map(lambda place: strange_corpora()[place])
mostly_counts = st.one_of(st.just(None).map(lambda _: counts()), corpora)
groups = st.one_of(
    st.none(),
    st.sampled_from([[0] * 30, list(range(30)), [n // 2 for n in range(30)], ["u"] * 29, ["u", None] * 15,
                     [float("nan")] * 30, np.arange(30.0), np.arange(30).reshape(5, 6), [[1]] * 30,
                     np.arange(30).astype("M8[D]"), [b"u"] * 30, [True] * 30, [1, "1"] * 15]),
    odd,
)  # fmt: skip


class RefusingLedger:
    """Anything with `reserve` is a ledger."""

    def reserve(self, budget: PrivacyBudget, **kind: Any) -> None:
        raise PrivacyError("nothing left")


ledgers = st.one_of(
    st.none(), st.builds(lambda: private_topics.BudgetLedger(5.0, 1e-3)), st.builds(RefusingLedger), odd
)
splits = st.one_of(
    st.none(),
    st.sampled_from(
        [
            private_topics.BudgetSplit(),
            private_topics.BudgetSplit(unigram=0, histograms=0, second=0, frame=0, tensor=0, refine=1.0),
        ]
    ),
    odd,
)

# -- what is called --------------------------------------------------------------------------------------------------


def knowledge_of(columns: int) -> PublicKnowledge:
    """Of as many columns; of few that are known, of vectors that are all the same, or of ordinary ones."""
    vectors = np.random.default_rng(columns).normal(size=(columns, 4))
    vectors[1 : columns % 3 * columns // 2] = vectors[0] if columns % 2 else 0.0
    origin = ("made up", "made-up vectors", "0" * 64, columns)
    return PublicKnowledge(vectors, np.full(columns, np.nan), (origin,))  # type: ignore[arg-type]


knowledges = st.one_of(st.none(), st.integers(1, 40).map(knowledge_of), st.sampled_from(["english", [], 3]))
PARAMETERS: dict[str, Any] = {
    "n_components": any_int, "alpha0": any_float, "epsilon": any_float, "delta": any_float, "steps": bounded_int,
    "refine_steps": bounded_int, "keep": settings_words, "engine": settings_words, "sampler": settings_words,
    "configuration": settings_words, "calibration": settings_words,
    "allow_unproved": st.sampled_from([False, True, None]), "budget_split": splits, "n_jobs": any_int,
    "knowledge": knowledges, "most_units": any_int,
    "neighbours": st.one_of(st.sampled_from(["zero-out", "add-remove"]), settings_words),
    "ledger": ledgers, "noise_seed": seeds, "random_state": seeds,
    "verbose": st.sampled_from([False, True, 0, 2, None, "x"]), "sampling_rate": any_float, "offset": any_float,
    "decay": any_float, "word_prior": any_float, "clip": any_float,
}  # fmt: skip
SMALL = {"n_components": 2, "refine_steps": 1, "steps": 2, "noise_seed": 0, "sampling_rate": 1.0}
ESTIMATORS = ("SpectralLDA", "PrivateSpectralLDA", "VariationalLDA", "PrivateVariationalLDA")
METHODS = ("transform", "perplexity", "score", "fit_transform")


def settings_of(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """A few parameters at odd values, the others small."""
    chosen = st.lists(st.sampled_from(names), max_size=3, unique=True)
    drawn = chosen.flatmap(lambda some: st.fixed_dictionaries({name: PARAMETERS[name] for name in some}))
    return drawn.map(lambda some: {name: SMALL[name] for name in names if name in SMALL} | some)


def call_estimator(kind: str, settings: dict[str, Any], X: Any, labels: Any, later: Any, method: str) -> None:
    """Fit, then use, save and load whatever came out."""
    model = getattr(private_topics, kind)(**settings)
    fitted = labels is None or not kind.startswith("Private")
    model.fit(X) if fitted else model.fit(X, groups=labels)
    with contextlib.suppress(*ACCEPTABLE):
        getattr(model, method)(later)
    model.top_words()
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"fuzz-{os.getpid()}.model"
    try:
        model.save(path)
        again = private_topics.load(path)
        assert np.array_equal(again.components_, model.components_)
    finally:
        path.unlink(missing_ok=True)


@st.composite
def estimator_calls(draw: st.DrawFn) -> Callable[[], None]:
    kind = draw(st.sampled_from(ESTIMATORS))
    settings = draw(settings_of(list(getattr(private_topics, kind)._get_param_names())))
    if draw(st.booleans()):
        X, labels = counts(), None
    else:
        X, labels = draw(mostly_counts), draw(groups)
    later, method = draw(mostly_counts), draw(st.sampled_from(METHODS))
    return Call(f"{kind}(**{settings!r})", lambda: call_estimator(kind, settings, X, labels, later, method))


@st.composite
def unfitted_calls(draw: st.DrawFn) -> Callable[[], None]:
    kind, method = draw(st.sampled_from(ESTIMATORS)), draw(st.sampled_from(METHODS[:3]))
    X = draw(corpora)
    return Call(f"{kind}().{method}", lambda: getattr(getattr(private_topics, kind)(), method)(X))


@st.composite
def function_calls(draw: st.DrawFn) -> Callable[[], None]:
    """`plan`, `BudgetSplit`, `make_lda_corpus`, `load`, `private_log_likelihood`."""
    which = draw(st.sampled_from(["plan", "BudgetSplit", "make_lda_corpus", "load", "replace", "likelihood"]))
    number = st.one_of(st.sampled_from([0.5, 1.0, 100.0]), any_float)
    if which == "plan":
        sizes = draw(st.tuples(any_int, any_int, any_int))
        known = st.sampled_from(["english", None, "none"])
        options = draw(optional(epsilon=number, delta=number, alpha0=number, mean_length=number, knowledge=known))
        return Call(f"plan(*{sizes!r}, **{options!r})", lambda: forecast(*sizes, **options))
    if which == "make_lda_corpus":
        sizes = draw(st.tuples(bounded_int, bounded_int, bounded_int))
        options = draw(optional(alpha0=any_float, mean_length=lengths, random_state=seeds))
        return Call(
            f"make_lda_corpus(*{sizes!r}, **{options!r})",
            lambda: private_topics.make_lda_corpus(*sizes, **options),
        )
    if which == "load":
        path = draw(paths)
        return Call(f"load({path!r})", lambda: private_topics.load(path))
    if which == "likelihood":
        X, labels = draw(mostly_counts), draw(groups)
        odd_options = {name: PARAMETERS[name] for name in ("ledger", "sampler", "noise_seed")}
        options = draw(optional(floor=any_float, public_model=st.booleans(), **odd_options))
        budget = {"epsilon": draw(number), "delta": draw(number)}
        return Call(
            f"private_log_likelihood(**{options!r}, **{budget!r})",
            lambda: private_topics.private_log_likelihood(_uniform_model(), X, groups=labels, **options, **budget),
        )
    names = list(private_topics.BudgetSplit().as_dict())
    fractions = draw(st.dictionaries(st.sampled_from([*names, "wrong"] if which == "replace" else names), any_float))
    if which == "replace":
        return Call(f"replace(**{fractions!r})", lambda: private_topics.BudgetSplit().replace(**fractions))
    return Call(f"BudgetSplit(**{fractions!r})", lambda: private_topics.BudgetSplit(**fractions))


def _uniform_model() -> private_topics.SpectralLDA:
    model = private_topics.SpectralLDA(2)
    model.components_, model.doc_topic_prior_ = np.full((2, N_WORDS), 1.0 / N_WORDS), np.full(2, 0.5)
    return model


def forecast(*sizes: Any, **options: Any) -> None:
    plan = private_topics.plan(*sizes, **options)
    text = (
        str(plan),
        plan.verdict,
        plan.outcomes,
        plan.remarks,
        plan.best,
        plan.level,
        plan.notes,
        plan.releases,
        plan.kept,
    )
    assert text


def optional(**strategies: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=strategies)


paths = st.sampled_from(["no/such.model", "", ".", Path("x"), "x" * 5_000, "plain.model", "ledger.db"])
names = st.one_of(st.sampled_from(["notes", "", "a\nb", "x" * 300, "\ud800", "'; --"]), odd)


@st.composite
def ledger_calls(draw: st.DrawFn) -> Callable[[], None]:
    """Both ledgers: registered, asked, charged."""
    epsilon, delta, set_aside = draw(any_float), draw(any_float), draw(st.one_of(st.just(0.01), any_float))
    budget = draw(st.one_of(st.just(PrivacyBudget(0.1, 1e-8)), odd))
    kind = draw(optional(exact=st.booleans(), guarantee=settings_words, threshold_delta=any_float))
    asked = draw(optional(delta=any_float))
    if draw(st.booleans()):
        text = f"BudgetLedger({epsilon!r}, {delta!r}, set_aside={set_aside!r}), {budget!r}, {kind!r}, {asked!r}"
        return Call(
            text,
            lambda: use(private_topics.BudgetLedger(epsilon, delta, set_aside=set_aside), budget, kind, asked),
        )
    path, name = draw(st.one_of(st.just("good"), paths)), draw(names)
    noted = draw(optional(settings=st.one_of(st.just({"a": 1}), odd)))
    text = f"DurableLedger {path!r}, {name!r}, {epsilon!r}, {delta!r}, {set_aside!r}, {budget!r}, {kind!r}, {noted!r}"
    return Call(text, lambda: registered(path, name, (epsilon, delta, set_aside), budget, kind | noted, asked))


def use(ledger: Any, budget: Any, kind: dict[str, Any], asked: dict[str, Any]) -> None:
    for _ in range(2):
        ledger.remaining(**asked)
        with contextlib.suppress(*ACCEPTABLE):
            ledger.reserve(budget, **kind)
        assert ledger.epsilon_spent >= 0
        assert ledger.total is not None
        assert isinstance(ledger.spent, tuple)


def registered(path: Any, name: Any, total: Any, budget: Any, kind: dict[str, Any], asked: dict[str, Any]) -> None:
    file = Path(os.environ.get("TMPDIR", "/tmp")) / f"fuzz-{os.getpid()}.db"
    try:
        epsilon, delta, set_aside = total
        where = file if path == "good" else path
        ledger = private_topics.DurableLedger.register(where, name, epsilon, delta, set_aside=set_aside)
        use(ledger, budget, kind, asked)
        ledger.entries()
        private_topics.DurableLedger.registered(where)
    finally:
        file.unlink(missing_ok=True)


class Call:
    """A call with a text that says it, so that a finding can be repeated."""

    def __init__(self, text: str, call: Callable[[], Any]) -> None:
        self.text, self.call = text, call

    def __call__(self) -> Any:
        return self.call()

    def __repr__(self) -> str:
        return self.text[:1_000]


# -- commands --------------------------------------------------------------------------------------------------------

VALUES = {
    "integer": ["1", "2", "3", "0", "-1", "x", "", "1.5", "99999999999999999999"],
    "float": ["0.5", "1", "0.001", "0", "-1", "nan", "inf", "1e308", "5e-324", "x", ""],
    "text": ["", "x", "private", "corpus", "list:english", "list:x", "english", "none", "lines", "counts", "utf-8",
             "utf-16", "fast", "exact", "local", "gpu", "notes", "text", "user", "a\nb", "2", "words.txt"],
}  # fmt: skip
FILES = ("texts.jsonl", "texts.csv", "lines.txt", "counts.npz", "words.txt", "labels.txt", "plain.model",
         "private.model", "ledger.db", "broken.npz", "empty.txt", "folder", "missing", "out", "out.html", "out.md",
         "folder/out.csv", "out.npy", "out.parquet", "", ".", "no/such/out")  # fmt: skip
CHEAP = {  # options whose usual values are long runs
    "documents": ["50", "200", "60", "0", "x"], "words": ["4", "20", "8", "0"], "letters": ["999", "x"],
    "trials": ["10", "20", "9"], "fits": ["10", "12", "x"], "refine_steps": ["0", "1", "2", "1", "-1"],
    "keep": ["seen", "all", "x"],
    "topics": ["1", "2", "3", "2", "0"], "master": ["x"], "documents_per_user": ["1", "2", "0"],
}  # fmt: skip
USUAL = ("documents", "words", "trials", "fits", "refine_steps", "topics")
LEFT_OUT = {"reproduce": ["--list"], "demo": ["--letters", "999"]}
"""Long runs: their refusals only."""


def lay_out(folder: Path) -> None:
    """Files of every kind that a command may be given."""
    texts = [f"heart lung pain doctor night number{n % 7}" for n in range(60)]
    records = [f'{{"text": "{text}", "user": "u{n % 20}"}}\n' for n, text in enumerate(texts)]
    (folder / "texts.jsonl").write_text("".join(records))
    (folder / "texts.csv").write_text("text,user\n" + "".join(f"{text},u\n" for text in texts))
    (folder / "lines.txt").write_text("\n".join(texts))
    (folder / "words.txt").write_text("heart\nlung\npain\ndoctor\nnight\nday\n")
    (folder / "labels.txt").write_text("".join(f"u{n % 9}\n" for n in range(30)))
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 not at all")
    (folder / "empty.txt").write_text("")
    (folder / "folder").mkdir(exist_ok=True)
    (folder / "folder" / "a.txt").write_text(texts[0])
    sp.save_npz(folder / "counts.npz", sp.csr_matrix(counts()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        private_topics.SpectralLDA(2).fit(counts()).save(folder / "plain.model")
        private_topics.PrivateSpectralLDA(2, epsilon=5.0).fit(counts()).save(folder / "private.model")
    private_topics.DurableLedger.register(folder / "ledger.db", "notes", 100.0, 1e-3)


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    command = get_command(app) if command is None else command
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
    else:
        for name, child in children.items():
            yield from commands(child, (*path, name))


COMMANDS = dict(commands())
OUTCOMES: Counter[str] = Counter()  # of the commands, by exit status


GOOD = {  # so that commands get beyond their first check
    "source": ["texts.jsonl", "counts.npz", "lines.txt"], "output": ["out"],
    "model": ["private.model", "plain.model"], "ledger": ["ledger.db"],
    "corpus": ["notes"], "epsilon": ["5"], "delta": ["0.001"], "alpha0": ["1"],
    "vocabulary": ["words.txt", "corpus"], "field": ["text"], "unit": ["user"], "unit_labels": ["labels.txt"],
    "encoding": ["utf-8"], "format": ["jsonl", "counts"], "sampler": ["fast"], "engine": ["local"], "jobs": ["1"],
    "language": ["english"], "min_length": ["3"], "report": ["out.html"], "mean_length": ["50"], "seed": ["3"],
    "configuration": ["sequential", "2"],
}  # fmt: skip


def good_argument_of(parameter: Any) -> st.SearchStrategy[str]:
    return st.sampled_from(GOOD.get(parameter.name) or CHEAP.get(parameter.name, ["1"])[:2])


def odd_argument_of(parameter: Any) -> st.SearchStrategy[str]:
    if parameter.name in CHEAP:
        return st.sampled_from(CHEAP[parameter.name])
    kind = parameter.type.name.split()[0]
    return st.sampled_from(FILES if kind == "path" else VALUES.get(kind, VALUES["text"]))


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command with what it needs and some options; up to two values are odd, or left out where they are needed."""
    path = draw(st.sampled_from([path for path in sorted(COMMANDS) if path[0] != "sites"]))
    if path[0] in LEFT_OUT:
        more = st.lists(st.sampled_from(["--quiet", "--seed", "x", "-1"]), max_size=2)
        return [*path, *LEFT_OUT[path[0]], *draw(more)]
    parameters = [parameter for parameter in COMMANDS[path].params if parameter.name not in ("help", "version")]
    strange = draw(st.lists(st.sampled_from([parameter.name for parameter in parameters]), max_size=2, unique=True))
    parts = list(path)
    for parameter in parameters:
        usual, is_odd = parameter.required or parameter.name in USUAL, parameter.name in strange
        if draw(st.integers(0, 9)) >= (8 if is_odd else 10 if usual else 1):
            continue
        if getattr(parameter, "is_flag", False):
            parts.append(parameter.opts[0])
            continue
        value = draw(odd_argument_of(parameter) if is_odd else good_argument_of(parameter))
        parts += [value] if parameter.param_type_name == "argument" else [parameter.opts[0], value]
    return parts


def call_command(arguments: list[str]) -> None:
    """Exit status 0, 1 or 2, and never an error that the command did not expect."""
    result = CliRunner().invoke(app, arguments)
    named = " ".join(arguments[:2]) if arguments[0] == "sites" else arguments[0]
    OUTCOMES[f"{named}: exit {result.exit_code}"] += 1
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 1, 2), f"exit status {result.exit_code}"
    assert "internal error" not in result.output, result.output
    assert "Traceback" not in result.output


@st.composite
def command_calls(draw: st.DrawFn) -> Callable[[], None]:
    arguments = draw(command_lines())
    return Call(f"private-topics {arguments!r}", lambda: call_command(arguments))


# -- judgement -------------------------------------------------------------------------------------------------------


def of_scikit_learn(error: Exception) -> bool:
    """A ValueError of scikit-learn's own check of a seed."""
    return any(frame.name == "check_random_state" for frame in traceback.extract_tb(error.__traceback__))


def judge(call: Callable[[], Any], seconds: float = CALL_SECONDS) -> str:
    """How a call ended: "result" or the name of its acceptable error; anything else is raised."""
    with cpu_limit(seconds), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                call()
            except (*ACCEPTABLE, OSError) as error:
                if isinstance(error, TimeoutError):
                    raise
                return type(error).__name__
            except ValueError as error:
                if of_scikit_learn(error):
                    return "ValueError of scikit-learn"
                raise
    return "result"
