"""The demonstration: letters are made up, fitted as a user would fit them, and compared with the truth."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from private_topics.cli.fit_run import shown
from private_topics.cli.knowledge import knowledge_line
from private_topics.cli.models import marginal_of, write_model_report
from private_topics.cli.screen import Screen
from private_topics.cli.sources import vocabulary_of
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.made_up.letters import make_letters, topic_names, true_topics, write_letters
from private_topics.corpus.texts.readers import open_texts
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.estimators.private import PrivateSpectralLDA
from private_topics.estimators.texts import fit_texts
from private_topics.evaluation import (
    document_completion_perplexity,
    match_topics,
    topic_error_l1,
    topic_error_l2,
    unigram_perplexity,
)
from private_topics.knowledge.sources import open_knowledge
from private_topics.privacy.ledger.durable import DurableLedger

UNIT, CORPUS = "patient_id", "patient letters"
TOTAL_IN_RUNS = 2.0
"""The ledger's epsilon, in multiples of this run's; its delta leaves room for more runs."""
HELD_OUT_LETTERS, HELD_OUT_SEED = 2_000, 1_000_003
SHOWN_WORDS = 6


def run_demo(
    screen: Screen,
    folder: Path,
    letters: int,
    one_each: bool,
    epsilon: float,
    delta: float,
    seed: int,
    knowledge: str | None,
) -> None:
    """Letters, ledger, model and report into `folder`; the truth next to the estimate on standard output."""
    started = time.perf_counter()
    known = open_knowledge(knowledge)
    wanted = vocabulary_of(None, None, False, Tokeniser(), known)
    folder.mkdir(parents=True, exist_ok=True)
    source, model_file, report = folder / "letters.jsonl.gz", folder / "letters.model", folder / "report.html"
    names = topic_names()
    screen.say(f"Writing {letters:,} made-up letters about {len(names)} topics to {source} …")
    write_letters(source, letters, seed=seed, one_each=one_each)
    ledger = _new_ledger(folder / "budget.db", TOTAL_IN_RUNS * epsilon, 10.0 * delta)
    screen.say(f"Fitting with epsilon {epsilon:g}, delta {delta:g}; patients are protected, the vocabulary too …")
    screen.say(knowledge_line(known))
    model = PrivateSpectralLDA(len(names), epsilon=epsilon, delta=delta, ledger=ledger, random_state=0)
    with shown(screen, model, show_documents=False, informed=known is not None) as progress:
        fit_texts(model, open_texts(source, unit=UNIT), wanted, knowledge=known, progress=progress)
    model.save(model_file)
    words = [str(word) for word in model.feature_names_in_]
    truth = true_topics(words, model.tokeniser_)
    title = "Patient letters: a demonstration"
    write_model_report(model, report, model_file, ledger, truth=truth, truth_names=names, title=title)
    console = Console()
    console.print(_truth_table(model.components_, truth, words))
    console.print(_scores(model, truth, words))
    typer.echo(f"Report: {report}")
    screen.say(f"Done in {time.perf_counter() - started:.0f} s. Next: private-topics topics {model_file}; "
               f"private-topics budget show {folder / 'budget.db'}")  # fmt: skip


def _new_ledger(path: Path, epsilon: float, delta: float) -> DurableLedger:
    """The letters are drawn anew, so their budget is new too. Never do this with letters of real people."""
    path.unlink(missing_ok=True)
    DurableLedger.register(path, CORPUS, epsilon, delta, unit="user")
    return DurableLedger(path, CORPUS, label="demo")


def _truth_table(estimate: np.ndarray, truth: np.ndarray, words: list[str]) -> Table:
    """True topics in order, each with the matched estimate; words found in both are set in bold."""
    table = Table("topic", "true words", "estimated words", title="Truth and private estimate")
    table.add_column("L1 error", justify="right")
    for i, match in enumerate(match_topics(estimate, truth)):
        wanted = np.argsort(-truth[i], kind="stable")[:SHOWN_WORDS]
        if match < 0:
            table.add_row(topic_names()[i], _marked(wanted, wanted[:0], words), "not found", "")
            continue
        found = np.argsort(-estimate[match], kind="stable")[:SHOWN_WORDS]
        error = f"{topic_error_l1(estimate[match][None], truth[i][None]):.3f}"
        table.add_row(topic_names()[i], _marked(wanted, found, words), _marked(found, wanted, words), error)
    return table


def _marked(shown: np.ndarray, others: np.ndarray, words: list[str]) -> str:
    shared = set(others.tolist())
    return " ".join(f"[bold]{words[j]}[/bold]" if j in shared else f"[dim]{words[j]}[/dim]" for j in shown.tolist())


def _scores(model: PrivateSpectralLDA, truth: np.ndarray, words: list[str]) -> Table:
    """Scores against the truth, and on letters that the model has not seen."""
    unseen = [letter.text for letter in make_letters(HELD_OUT_LETTERS, seed=HELD_OUT_SEED)]
    counts = stack_rows(list(count_texts(unseen, words, model.tokeniser_)))
    scores = Table(box=None, show_header=False, padding=(0, 2))
    scores.add_row("words of the released vocabulary", f"{len(words):,}")
    scores.add_row("topic error (relative L2, matched)", f"{topic_error_l2(model.components_, truth):.4f}")
    scores.add_row("perplexity of unseen letters", f"{model.perplexity(counts):.1f}")
    scores.add_row("  by the true topics", f"{document_completion_perplexity(truth, counts):.1f}")
    scores.add_row("  by word frequencies alone", f"{unigram_perplexity(marginal_of(model), counts):.1f}")
    scores.add_row("epsilon left in the ledger", f"{model.ledger.remaining():.3g} of {model.ledger.total.epsilon:g}")
    return scores
