"""Writes and runs docs/guide/notebook.ipynb: the made-up letters of the demonstration, from Python.

pip install -c constraints.txt -e '.[notebook]'
private-topics demo
python docs/notebook.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "guide" / "notebook.ipynb"
CELLS = (
    """# Topics of private letters, in a notebook

The letters are made up: `private-topics demo` wrote them. Run the cells from the folder where it ran. With letters of
real people, what a cell shows of `letters` itself stays with you; what it shows of `model` may be published.""",
    """import pandas as pd

from private_topics import PrivateTopics, plan, reliability, write_report

letters = pd.read_json("build/demo/letters.jsonl.gz", lines=True)
letters.columns.tolist(), len(letters), letters["patient_id"].nunique()""",
    """What can be expected follows from public numbers: how many patients there are, and what is asked for.""",
    """print(plan(letters["patient_id"].nunique(), 1_000, 9, epsilon=1.0))""",
    """`unit` protects patients with all their letters. A ledger would keep several fits within one total; without
one, every call of `fit` spends its budget anew.""",
    """model = PrivateTopics(n_topics=9, epsilon=1.0, delta=1e-6)
model.fit(letters, text="text", unit="patient_id")""",
    """How far can each topic be trusted? The noise is known, so the fit can be repeated with fresh noise on made-up
documents like the released topics. That needs no letters and costs no budget.""",
    """trust = reliability(model)
pd.DataFrame(
    {
        "share": [f"{topic.share:.0%}" for topic in model.topics_],
        "comes again": [f"{share:.0%}" for share in trust.topics],
        "words": [" ".join(word.word for word in topic.words[:6]) for topic in model.topics_],
    },
    index=[topic.label for topic in model.topics_],
)""",
    """Each word's probability has an interval, too: here of the topic that is surest to come again.""",
    """surest = model.topics_[trust.topics.argmax()]
pd.DataFrame([vars(word) for word in surest.words]).set_index("word").round(4)""",
    """Proportions of letters are a data frame with the index of the input. They say what each letter is about, so
they are **not** covered by the guarantee: keep them where the letters are.""",
    """model.transform(letters.head(1_000)).shape""",
    """What was released, and what it cost, for the person who signs.""",
    """print(model.privacy_.table())
write_report(model, "report.html", reliability=trust)""",
)


def main() -> int:
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook()
    for number, text in enumerate(CELLS):
        is_code = number % 2 == 1 and number > 0
        book.cells.append((nbformat.v4.new_code_cell if is_code else nbformat.v4.new_markdown_cell)(text))
        book.cells[-1]["id"] = f"cell-{number}"
    NotebookClient(book, timeout=600, resources={"metadata": {"path": str(Path.cwd())}}).execute()
    for cell in book.cells:
        cell["metadata"] = {}
    nbformat.write(book, OUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
