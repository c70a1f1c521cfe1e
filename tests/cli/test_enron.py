"""The command a new user would try, on real mail, in a process of its own: of the mail it prints released words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import private_topics

pytestmark = pytest.mark.process

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
MAIL = Path(os.environ.get("PRIVATE_TOPICS_DATA", BESIDE)) / "enron_email.train.jsonl.gz"
FIT = [
    r"Fitting PrivateSpectralLDA to enron_email\.train\.jsonl\.gz, protecting documents\. "
    r"Vocabulary: a private one, paid from the budget\.",
    r"Reading the field 'text' \(--field\), utf-8 \(--encoding\), without the stop words of english \(--language\)\. "
    r"What cannot be read counts as empty: `private-topics check` looks at a file beforehand\.",
    r"Public knowledge: english \(SHA-256 [0-9a-f]{64}\); the guarantee covers no text that went into it\.",
    r"(?:warning: At this budget the model carries \d+ of the 10 topics asked for; [a-zA-Z_.,;: ]+\n)?"
    r"(?:warning: The documents show \d+ of the \d+ topics that the fit made, [a-z]+ [a-zA-Z=\(\)'\-,;: ]+\.\n)?"
    r"Wrote (\d+) topics? over ([\d,]+) words to enron\.model\.",
    r"\(3, 1e-06\)-differential privacy for 15,232 documents, proved; epsilon spent 3\.",
    r"No ledger: what this run spent is added to no total\. [a-zA-Z -]+\.",
    r"\d+ of \d+ topics are seen in the texts beyond doubt\. Together the topics make words that were held back "
    r"\d+ % easier to foretell than word frequencies do\.",
]
LOOKED_AT = re.compile(
    r"^hint: [a-zA-Z ]+ are among the top words \(([\w, ]+?)(?: and \d+ more)?\): [a-zA-Z ,-]+\.\n"
    r"|^hint: Markup is among the top words \(([\w, ]+?)(?: and \d+ more)?\): [a-z ]+\.\n"
    r"|^look: does any word name a person\? A public list knows ([\w, ]+?)(?: and [\d,]+ more)?\. "
    r"Words are left out by: private-topics edit --block-words\n",
    re.MULTILINE,
)
"""What is said of released words; the groups are words."""


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not MAIL.exists(), reason=f"needs the corpus {MAIL.name} in shared/data")
def test_fit_on_mail_prints_nothing_of_it(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("private-topics"), "fit", MAIL, "--topics", "10", "--epsilon", "3"]
    command += ["--delta", "1e-6", "--vocabulary", "private", "-o", "enron.model"]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    said, looked_at = LOOKED_AT.sub("", done.stderr), LOOKED_AT.findall(done.stderr)
    assert re.fullmatch("\n".join(FIT[:3]) + "\n" + FIT[3] + "\n?" + "\n".join(FIT[4:]) + "\n", said), said
    assert [file.name for file in tmp_path.iterdir()] == ["enron.model"]
    model = private_topics.load(tmp_path / "enron.model")
    assert model.privacy_.private
    assert model.privacy_.proved
    assert model.privacy_.n_units == 15_232
    assert 100 < model.n_features_in_ < 5_000
    quoted = {word for groups in looked_at for group in groups for word in group.split(", ") if word}
    assert quoted <= set(model.feature_names_in_)
    assert quoted  # real mail names people
