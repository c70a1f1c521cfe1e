"""`private-topics audit`: tables, JSON, pages, exit status, and no corpus that has to be protected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from private_topics import PrivateSpectralLDA, make_lda_corpus
from private_topics.audit import verify
from private_topics.cli import app
from private_topics.corpus.made_up.letters import make_letters
from private_topics.privacy.randomness import NoiseStream

SMALL = ["--epsilon", "20", "--delta", "1e-5", "-k", "2", "--alpha0", "0.2", "--refine-steps", "1", "--jobs", "1",
         "--trials", "40", "--fits", "10"]  # fmt: skip
MADE_UP = ["--documents", "400", "--words", "24"]


def called(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def test_a_synthetic_corpus_is_audited(tmp_path):
    page = tmp_path / "audit.html"
    done = called(*SMALL, *MADE_UP, "--report", page)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Release\tDistance / sensitivity\tε claimed\tε at least")
    assert lines[1].startswith("unigram\t")
    assert any(line.startswith("all releases together\t20.000\t") for line in lines)
    assert "among 400 documents over 24 words. The corpus: made up." in done.stdout
    assert "found nothing against the claims of a fit with these settings" in done.stdout
    digest = lines[-1].split()[-1]
    assert called("--check", page, "--seal", digest).exit_code == 0
    assert "by the seal that it states itself" in called("--check", page).output
    wrong = called("--check", page, "--seal", "0" * 64)
    assert wrong.exit_code == 1
    assert "is not what was sealed" in wrong.output
    assert list(tmp_path.iterdir()) == [page]


def test_json_is_sealed_and_settings_come_from_a_model(tmp_path):
    counts = make_lda_corpus(400, 24, 2, random_state=0)[0]
    settings = {"epsilon": 15.0, "delta": 1e-5, "alpha0": 0.3, "refine_steps": 1}
    PrivateSpectralLDA(2, **settings).fit(counts).save(tmp_path / "model")
    done = called("--model", tmp_path / "model", "--jobs", 1, "--trials", 10, "--fits", 10, *MADE_UP, "--json", "-q",
                  "--report", tmp_path / "report.html")  # fmt: skip
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["sealed"]["model_statement"]["epsilon"] == facts["sealed"]["audit"]["settings"]["epsilon"] == 15.0
    assert facts["sealed"]["audit"]["settings"]["n_components"] == 2
    (tmp_path / "audit.json").write_text(done.stdout)
    assert verify(tmp_path / "audit.json", facts["sha256"])
    assert verify(tmp_path / "report.html", facts["sha256"]), "the section stands in the report of the model"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('<section id="audit"') == page.count('<li><a href="#audit"') == page.count('id="sign-off"') == 1


def test_a_corpus_must_be_public(tmp_path):
    np.savez(tmp_path / "x.npz", a=1)
    done = called("--corpus", tmp_path / "x.npz", *SMALL)
    assert done.exit_code == 2
    assert "--corpus-is-public" in done.output
    for contradiction in (["--synthetic"], ["--documents", "100"], ["--words", "9"], ["--documents-per-user", "3"]):
        both = called("--corpus", tmp_path / "x.npz", "--corpus-is-public", *contradiction)
        assert both.exit_code == 2
    assert called("--vocabulary", "words.txt").exit_code == 2
    assert called("--configuration", "5").exit_code == 2


def test_a_public_corpus_of_text(tmp_path):
    letters = list(make_letters(300, seed=1))
    lines = [json.dumps({"text": letter.text, "patient": letter.patient}) for letter in letters]
    (tmp_path / "letters.jsonl").write_text("\n".join(lines))
    words = sorted({word for letter in letters for word in letter.text.lower().split() if word.isalpha()})[:200:5]
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in words))
    given = ["--corpus", tmp_path / "letters.jsonl", "--corpus-is-public"]
    assert "needs a public list" in called(*given, *SMALL).output
    options = [*given, "--vocabulary", tmp_path / "words.txt", "--unit", "patient"]
    done = called(*options, *SMALL, "--report", tmp_path / "audit.md")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "audit.md").read_text(encoding="utf-8")
    assert "| unit | user |" in page
    assert "The corpus: letters.jsonl, taken as public." in page
    assert verify(tmp_path / "audit.md")
    assert not any(Path(path).suffix in (".npz", ".npy") for path in tmp_path.iterdir())


def test_counts_take_no_vocabulary(tmp_path):
    import scipy.sparse as sp

    sp.save_npz(tmp_path / "x.npz", make_lda_corpus(300, 24, 2, random_state=0)[0])
    given = ["--corpus", tmp_path / "x.npz", "--corpus-is-public"]
    assert "neither --vocabulary" in called(*given, "--vocabulary", "list:english", *SMALL).output
    assert called(*given, *SMALL, "-q").exit_code == 0


def test_a_failed_audit_ends_with_status_one(monkeypatch, tmp_path):
    exact = NoiseStream.rounded_gaussian
    monkeypatch.setattr(NoiseStream, "rounded_gaussian", lambda self, count, ratio: exact(self, count, 0.5 * ratio))
    done = called(*SMALL, *MADE_UP, "--report", tmp_path / "audit.html")
    assert done.exit_code == 1
    assert "FAILED: " in done.stdout
    assert "The audit FAILED" in done.stdout
    assert "FAILED" in (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_a_terminal_sees_a_table(monkeypatch, capsys):
    from rich.console import Console

    from private_topics.cli import audit_run
    from private_topics.reports import audit as section

    shown: list[Console] = []

    def terminal() -> Console:
        import io

        shown.append(Console(file=io.StringIO(), force_terminal=True, width=140))
        return shown[-1]

    monkeypatch.setattr(audit_run, "Console", terminal)
    cells = ("unigram", "1.0", "1", "0", "1", "FAILED: beyond the sensitivity")
    context = {"releases": [cells], "whole": [], "trouble": [], "headline": "h", "confidence": "1", "seal": "s"}
    context |= {"scope": section.Scope([], ["What was attacked."], ["What was not."])}
    monkeypatch.setattr(audit_run, "audit_context", lambda content: context)
    audit_run.print_result({})
    text = shown[0].file.getvalue()  # type: ignore[attr-defined]
    assert "unigram" in text
    assert "\x1b[1;31mFAILED" in text
    assert section.HEADS[0] in text
    assert capsys.readouterr().out.splitlines()[:2] == ["What was attacked.", "What was not."]
