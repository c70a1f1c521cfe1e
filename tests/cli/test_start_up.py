"""A command that only prints its help loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

HEAVY = {"numba", "sklearn", "scipy", "numpy", "jinja2", "dp_accounting", "opendp", "pandas"}
PROGRAM = """
import sys
from private_topics.cli import main
sys.argv = ["private-topics", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], *([name, "--help"] for name in ("fit", "report", "budget", "plan", "audit"))],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.strip()
    assert not HEAVY & set(done.stderr.split())


def test_the_test_would_see_it() -> None:
    program = PROGRAM.replace("import sys\n", "import sys, private_topics\nprivate_topics.SpectralLDA\n", 1)
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True)
    assert {"numba", "sklearn"} <= set(done.stderr.split())


def test_public_names_are_there_at_first_use() -> None:
    program = (
        "import private_topics, pickle\n"
        "assert set(private_topics.__all__) <= set(dir(private_topics))\n"
        "assert all(getattr(private_topics, name) is not None for name in private_topics.__all__)\n"
        "assert private_topics.errors.InputError is private_topics.InputError\n"
        "assert private_topics.evaluation.match_topics\n"
        "from private_topics import *\n"
        "assert pickle.loads(pickle.dumps(PrivateSpectralLDA(3))).n_components == 3\n"
        "try:\n    private_topics.nothing\n"
        "except AttributeError as error:\n    assert 'nothing' in str(error)\n"
        "else:\n    raise SystemExit(1)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_kind_of_model_is_known_to_whoever_imports_load_alone(tmp_path) -> None:
    """`load` knows the classes of modules that nobody has imported yet."""
    from private_topics import PrivateVariationalLDA, make_lda_corpus

    X = make_lda_corpus(200, 20, 2, random_state=0)[0]
    PrivateVariationalLDA(2, epsilon=5.0, delta=1e-5, steps=1, noise_seed=0).fit(X).save(tmp_path / "model")
    program = "import sys; from private_topics import load; print(type(load(sys.argv[1])).__name__)"
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "model"], capture_output=True, text=True)
    assert done.stdout.strip() == "PrivateVariationalLDA"
