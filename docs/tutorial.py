"""The tutorial's commands, run for its page: what is printed there was printed by them.

    python docs/tutorial.py          # writes docs/guide/tutorial.md
    python docs/tutorial.py --show   # prints the page instead

The page's words are in tutorial.txt. A paragraph that begins with `$ ` is a command: it is run in a temporary folder
where the corpora lie under short names, and what it prints follows it on the page.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from corpora import data_folder
from stored import ROOT, about

WORDS, PAGE = ROOT / "docs" / "tutorial.txt", ROOT / "docs" / "guide" / "tutorial.md"
CORPORA = {
    "abstracts.jsonl.gz": "medical_abstracts.public.jsonl.gz",
    "mail.jsonl.gz": "enron_email.train.jsonl.gz",
    "papers.jsonl.gz": "arxiv_abstracts.train.jsonl.gz",
}


def printed(command: str, folder: Path) -> str:
    """What a command prints, to standard output and standard error, as on a terminal."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=os.environ | {"PATH": path, "COLUMNS": "100"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    print(f"{done.returncode}  {command}", file=sys.stderr, flush=True)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join([*lines, *([f"[exit status {done.returncode}]"] if done.returncode else [])])


def page_of(text: str, folder: Path) -> str:
    """The page: its words, and each command with what it printed."""
    parts = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith("$ "):
            answer = printed(paragraph[2:], folder)
            parts.append(f"```text\n{paragraph}\n{answer}".rstrip() + "\n```")
        else:
            parts.append(paragraph)
    title, *rest = parts
    return "\n\n".join([title, about(), *rest]) + "\n"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="tutorial-") as name:
        for short, corpus in CORPORA.items():
            Path(name, short).symlink_to(data_folder() / corpus)
        page = page_of(WORDS.read_text(encoding="utf-8"), Path(name))
    if "--show" in sys.argv[1:]:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
    return int("[exit status 1]" in page)


if __name__ == "__main__":
    sys.exit(main())
