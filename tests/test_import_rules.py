"""Who may import whom: the path of the data is the folder listing, and noise comes from one place only."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "private_topics"
FREE = {"errors", "_version", "bisection"}  # anybody may import these
ALLOWED = {  # a new package or module states here what it may import
    "errors": set(),
    "_version": set(),
    "bisection": set(),
    "threads": set(),
    "progress": set(),
    "parameters": set(),
    "whole_files": set(),
    "corpus": {"threads"},
    "spectral": set(),
    "knowledge": {"corpus", "whole_files"},
    "inference": {"corpus", "spectral", "threads"},
    "sums": {"corpus", "inference", "spectral", "threads"},
    "privacy": {"threads"},
    "paper": {"privacy", "spectral"},
    "engines": {"corpus", "sums", "inference", "threads", "progress"},
    "releases": {"corpus", "sums", "spectral", "knowledge", "engines", "privacy", "progress", "threads"},
    "fits": {"corpus", "sums", "inference", "spectral", "privacy", "engines", "releases", "paper"}
    | {"knowledge", "threads", "progress"},
    "planning": {"fits", "inference", "releases", "paper", "privacy", "parameters", "spectral"},
    "evaluation": {"corpus"},
    "estimators": {"corpus", "inference", "engines", "privacy", "releases", "fits", "evaluation", "planning"}
    | {"knowledge", "whole_files", "parameters", "threads", "progress"},
    "checking": {"corpus", "planning", "privacy", "progress", "releases"},
    "reports": {"paper", "fits", "planning", "evaluation", "privacy", "audit", "whole_files"},
    "audit": {"corpus", "engines", "fits", "releases", "privacy", "estimators", "knowledge", "progress"}
    | {"evaluation", "parameters", "whole_files"},
    "paper/experiments": {"corpus", "engines", "evaluation", "privacy", "releases", "fits", "estimators", "paper"}
    | {"spectral", "threads"},
    "cli": {"corpus", "fits", "evaluation", "privacy", "estimators", "engines", "planning", "reports", "audit"}
    | {"knowledge", "paper/experiments", "progress", "whole_files", "checking"},
    "__init__": {"corpus", "engines", "evaluation", "privacy", "fits", "planning", "estimators", "audit", "reports"}
    | {"knowledge", "progress"},
}
RANDOMNESS = "private_topics.privacy.randomness"
NOISE_SOURCES = {"randomgen", "secrets", "random", "opendp"}
DRAWN_FROM = {"_stream", "_draw"}
"""What of a run draws noise."""
RUNS = {"privacy/mechanisms": "PrivateRun", "privacy/shares": "SharedRun", "privacy/subsampling": "SubsampledRun"}


def imported_names(source: str, module: str) -> set[str]:
    """Dotted names of everything imported anywhere in `source`, relative imports and names in strings resolved."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = ["private_topics", *module.split("/")[:-1]]
            base = parents[: len(parents) + 1 - node.level] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            names |= {prefix} | {f"{prefix}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"private_topics(\.\w+)+", str(node.value)):
            names.add(node.value)  # for `import_module`
    return names


def imported_packages(source: str, module: str) -> set[str]:
    """What of the library a module imports: packages, and modules beside them."""
    names = imported_names(source, module)
    ours = {unit_of(name.split(".")[1:]) for name in names if name.startswith("private_topics.")}
    if "private_topics" in names and module != "__init__":  # `from private_topics import X`
        ours |= {"__init__"}
    return {name for name in ours if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()}


def draws(source: str) -> set[str]:
    """The classes in which noise is drawn from a run; "" outside of any."""
    tree, found = ast.parse(source), set()
    classes = {
        id(node): kind.name for kind in ast.walk(tree) if isinstance(kind, ast.ClassDef) for node in ast.walk(kind)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in DRAWN_FROM:
            found.add(classes.get(id(node), ""))
    return found


def unit_of(parts: list[str]) -> str:
    """What a module belongs to: its package. The paper's experiments run fits, its theory is used by them."""
    return "paper/experiments" if parts[:2] == ["paper", "experiments"] else parts[0]


def violations(source: str, module: str) -> list[str]:
    """What `module` (a path below the package, without .py) imports or uses against the rules."""
    package = unit_of(module.split("/"))
    names = imported_names(source, module)
    used = {ast.unparse(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)} | names
    ours = imported_packages(source, module)
    found = [f"{module} imports {name}" for name in sorted(ours - ALLOWED[package] - FREE - {package})]
    if module not in ("privacy/mechanisms", "privacy/randomness") and any(n.startswith(RANDOMNESS) for n in names):
        found.append(f"{module} imports the noise generator")
    if module != "privacy/randomness" and {name.split(".")[0] for name in names} & NOISE_SOURCES:
        found.append(f"{module} imports a source of noise")
    if package == "privacy" and any(name.startswith(("np.random", "numpy.random")) for name in used):
        found.append(f"{module} uses numpy.random")
    if draws(source) - {RUNS.get(module)}:
        found.append(f"{module} draws noise, and is no run")
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_keeps_the_rules(path):
    module = path.relative_to(SOURCE).with_suffix("").as_posix()
    assert violations(path.read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("spectral/topics", "from private_topics.corpus.counts.matrix import validate_counts"),
        ("spectral/topics", "import private_topics.sums.parts"),
        ("spectral/topics", "from ..sums import parts"),
        ("sums/parts", "from private_topics.privacy import budget"),
        ("sums/parts", "def late():\n    from private_topics.privacy.budget import BudgetSplit"),
        ("privacy/ledger/in_memory", "from private_topics.corpus.counts.blocks import as_blocks"),
        ("privacy/ledger/in_memory", "from private_topics.spectral import whitening"),
        ("knowledge/public", "from private_topics.releases.vocabulary import release_vocabulary"),
        ("corpus/words/tokens", "from private_topics.knowledge.public import PublicKnowledge"),
        ("privacy/accountant", "from private_topics.privacy.randomness import NoiseStream"),
        ("privacy/accountant", "from . import randomness"),
        ("privacy/mechanisms", "import numpy as np\nnoise = np.random.default_rng(0).normal()"),
        ("privacy/mechanisms", "from numpy.random import default_rng"),
        ("fits/sequential", "from private_topics.privacy.randomness import NoiseStream"),
        ("fits/sequential", "from randomgen import ChaCha"),
        ("fits/sequential", "import opendp.prelude as dp"),
        ("fits/plain", "from private_topics.estimators.base import SpectralLDA"),
        ("fits/plain", "from private_topics import SpectralLDA"),
        ("evaluation/recovery", "from private_topics import cli"),
        ("estimators/base", "from private_topics.spectral.topics import simplex_rows"),
        ("fits/sequential", "noise = context.run._stream.words(3)"),
        ("releases/moments", "def noisy(run, event):\n    return run._draw(event)"),
        ("privacy/subsampling", "def toss(run):\n    return run._stream.coins(3, 1)"),
        ("fits/sequential", "import importlib\nimportlib.import_module('private_topics.privacy.randomness')"),
    ],
)
def test_a_planted_violation_is_caught(module, source):
    assert violations(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("spectral/topics", "from private_topics.errors import InputError\nfrom . import whitening"),
        ("privacy/mechanisms", "from private_topics.privacy.randomness import NoiseStream"),
        (
            "fits/sequential",
            "from private_topics.sums import unit_sums\nfrom private_topics.privacy import budget",
        ),
    ],
)
def test_what_is_allowed_is_let_through(module, source):
    assert violations(source, module) == []


# -- what pages say of imports ---------------------------------------------------------------------------------------


def real_imports() -> dict[str, set[str]]:
    """What every package imports of the others, but for what anybody may."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        module = path.relative_to(SOURCE).with_suffix("").as_posix()
        package = unit_of(module.split("/"))
        found[package] |= imported_packages(path.read_text(encoding="utf-8"), module) - FREE - {package}
    return dict(found)


def page(name: str) -> str:
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_nothing_is_allowed_that_nobody_needs():
    assert real_imports() == ALLOWED


def test_contributing_lists_what_packages_import():
    names = r"`\w+`(?:, `\w+`)*(?: and `\w+`)?"
    listed = re.findall(rf"`(\w+)` imports (nothing|{names})(?=[;:.])", page("CONTRIBUTING.md"))
    told = {package: set(re.findall(r"`(\w+)`", what)) for package, what in listed}
    assert sorted(told) == ["corpus", "inference", "knowledge", "privacy", "spectral", "sums"]
    assert told == {package: real_imports()[package] for package in told}
    assert "Everybody may import `errors`, `bisection` and `_version`." in page("CONTRIBUTING.md")
    assert {"errors", "bisection", "_version"} == FREE


def test_sums_and_privacy_are_imported_together_where_pages_say_so():
    assert {package for package, used in real_imports().items() if {"sums", "privacy"} <= used} == {
        "releases",
        "fits",
    }
    assert "only `releases` and `fits` import both `sums` and `privacy`" in page("CONTRIBUTING.md")
    assert "sums and noise meet in `releases` and `fits` only" in page("README.md")


def test_what_sits_on_top_is_imported_by_nothing_below():
    top = {"estimators", "audit", "reports", "cli"}
    users = {package for package, used in real_imports().items() if used & top} - top
    assert users == {"__init__", "paper/experiments"}
    assert real_imports()["paper/experiments"] & top == {"estimators"}
    assert "`estimators`, `audit`, `reports` and `cli` sit on top: nothing else imports them, except" in page(
        "CONTRIBUTING.md"
    )


def test_who_draws_noise_is_who_pages_say():
    drawing = {
        path.relative_to(SOURCE).with_suffix("").as_posix(): kinds
        for path in SOURCE.rglob("*.py")
        if (kinds := draws(path.read_text(encoding="utf-8")))
    }
    assert drawing == {module: {kind} for module, kind in RUNS.items()}
    for module in RUNS:
        assert f"`{module}.py`" in page("CONTRIBUTING.md")
    assert "only a run (`PrivateRun`, and its kinds for minibatches and sites) draws noise" in page("SECURITY.md")
    assert "is released with noise by a run (`PrivateRun`)" in page("docs/guide/guarantee.md")


# -- sums and noise meet in one place --------------------------------------------------------------------------------

OWN_SUMS = {"fits/published", "fits/variational"}  # which add up themselves: one is not proved, one draws minibatches
PUBLIC = {"n_units", "n_words", "grouped"}


def looks_at_the_corpus(source: str) -> list[str]:
    """Where a module asks an engine for a total, or takes more than public numbers from a corpus."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            on_corpus = ast.unparse(node.value).split(".")[-1] == "corpus"
            if node.attr == "total" or (on_corpus and node.attr not in PUBLIC | {"close"}):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.For | ast.comprehension) and ast.unparse(node.iter).split(".")[-1] == "corpus":
            found.append(f"for … in {ast.unparse(node.iter)}")
    return found


@pytest.mark.parametrize("package", ["releases", "fits"])
def test_no_fit_sees_a_sum_without_noise(package):
    for path in sorted((SOURCE / package).glob("*.py")):
        module = path.relative_to(SOURCE).with_suffix("").as_posix()
        if module not in OWN_SUMS | {"fits/plain"}:
            assert looks_at_the_corpus(path.read_text(encoding="utf-8")) == [], module


@pytest.mark.parametrize(
    "source",
    [
        "exact = context.corpus.total(NormedCounts(3, 1.0))",
        "exact = corpus.total(unit_sum)",
        "blocks = self.corpus.blocks",
        "lengths = [part.lengths for part in context.corpus]",
        "for part in corpus:\n    pass",
    ],
)
def test_a_planted_look_at_the_corpus_is_caught(source):
    assert looks_at_the_corpus(source)
