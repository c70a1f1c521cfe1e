"""Small valid inputs for the targets of `fuzz_targets.py`, and how a fuzzer may change those that have a grammar.

Where the input is JSON, values are exchanged for strange ones, for one another, or left out; where it is text,
letters are. All else is changed byte by byte by the fuzzer itself.
"""

from __future__ import annotations

import copy
import gzip
import html
import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics import PrivateSpectralLDA, PrivateVariationalLDA, SpectralLDA
from private_topics.audit.seal import BEGIN, END, SEAL, canonical, seal
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList
from private_topics.errors import PrivacyWarning
from private_topics.estimators.saving import read_model
from private_topics.estimators.texts import fit_texts

SECRET = "zzyzx"
COUNTS = np.random.default_rng(0).poisson(0.8, (8, 5))
LAYOUTS = ("csr", "csc", "coo", "bsr", "dia")
DEEP = "deep below"
STRANGE: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 3, 2**53 + 1, 2**70, 10**400, 0.5, 1e-300, -1e300, 1e308, float("nan"), float("inf"),
    "", "x", "\ud800", SECRET, "9" * 50, "a\nb", [], [[]], {}, {"a": 1}, DEEP,
)  # fmt: skip
TRICKY = (
    "aZ9 '-_.\t\n\0éÉßẞıİΣσςǅﬁ\u0301\u0345\u0308\u0390ΐ한\u1100\u1161\u11a8हि\u200d漢😀\ud800\U0001f1e6\U0010ffff"
)


def seeds_of(name: str, folder: Path) -> list[bytes]:
    """Valid inputs of a target; files that must be made on the way go to `folder`."""
    return MAKERS[name](folder)


# -- seeds -----------------------------------------------------------------------------------------------------------


def json_lines(_: Path) -> list[bytes]:
    records = [{"text": f"{SECRET} lung {n}", "who": f"w{n % 2}"} for n in range(3)]
    content = "\n".join(map(json.dumps, records)).encode()
    odd = '{"who": 3, "text": "Ärzte \\ud83d\\ude00"}\r\n\n{"text": "\\ud800 a", "who": "é", "n": [1e5]}\n'.encode()
    return [b"\0" + content, b"\x05" + content, b"\x0c" + content, b"\0\xef\xbb\xbf" + odd]


def tables(_: Path) -> list[bytes]:
    comma = f'text,who\n{SECRET},a\n"two\nlines",b\n"say ""hi""",a\n'.encode()
    semicolon, tab = b'"n";"text"\n1;"a;b"\n2;\n', b"text\twho\nlung\ta\n\tb\n"
    long = b'text,who\n"' + b"long\n" * 30 + b'",a\n"' + b"one" * 40 + b'",b\nlast,c\n'
    found = [b"\0" + comma, b"\x01" + comma, b"\x05" + comma, b"\x01" + semicolon, b"\x81" + tab, b"\x8d" + tab]
    return [*found, b"\x02" + long, b"\x0e" + long]


def text_lines(_: Path) -> list[bytes]:
    content = f"{SECRET} lung\n\nÄrzte\r\nlast".encode()
    return [b"\0" + content, b"\x09" + content, b"\0" + b"a" * 90 + b"\n" + b"short\n" * 20]


def neighbours(_: Path) -> list[bytes]:
    """Short and long records, with quotes, line ends and nulls, for each format."""
    records = [
        b'"two\n"lines|a',
        f"{SECRET}|w".encode(),
        b"",
        b"x" * 30 + b"\n" + b'"' * 9,
        b'{"text": "a"}',
        b"\0|\xff",
    ]
    return [bytes([flags]) + b"\n#\n".join(records) for flags in range(10)]


def archives(_: Path) -> list[bytes]:
    content = f'{{"text": "{SECRET}"}}\n{{"text": "lung"}}\n'.encode()
    named = io.BytesIO()
    with gzip.GzipFile("letters.jsonl", "wb", fileobj=named, mtime=0) as file:
        file.write(content)
    plain = gzip.compress(content, mtime=0)
    return [plain, plain + plain, named.getvalue(), gzip.compress(content, 0, mtime=0)]


def entries() -> list[str]:
    return [f"{d + 1} {w + 1} {COUNTS[d, w]}" for d, w in zip(*np.nonzero(COUNTS), strict=True)]


def docwords(_: Path) -> list[bytes]:
    body = entries()
    whole = "\n".join([*map(str, (*COUNTS.shape, len(body))), *body]).encode()
    return [whole, b"3\n2\n2\n1 2 7\n3 1 2147483647\n", b" 2\t\r\n1\r\n1\n\n2\t1 0\r\n", b"1\n1\n0\n"]


def markets(_: Path) -> list[bytes]:
    banner, body = "%%MatrixMarket matrix coordinate integer general\n", entries()
    whole = f"{banner}% made here\n\n{' '.join(map(str, (*COUNTS.shape, len(body))))}\n" + "\n".join(body)
    return [whole.encode(), f"{banner.lower().replace('integer', 'real')}3 2 1\n2 2 5\n".encode()]


def blocks(folder: Path) -> list[bytes]:
    """Every layout of scipy, as an archive and as its parts."""
    found = []
    for layout in LAYOUTS:
        for compressed in (False, True):
            path = folder / f"{layout}.npz"
            sp.save_npz(path, sp.csr_array(COUNTS).asformat(layout), compressed=compressed)
            found.append(path.read_bytes())
        with zipfile.ZipFile(folder / f"{layout}.npz") as archive:
            parts = [name.encode() + b"\0" + archive.read(name) for name in archive.namelist()]
        found.append(b"\n#\n".join(parts))
    return found


def lists(_: Path) -> list[bytes]:
    words = f"{SECRET}\nÄrzte\nlung\n漢字\n".encode()
    return [b"\0" + words, b"\0\xef\xbb\xbfone\r\ntwo", b"\x01" + words, b"\x01 a\nb \n\xef\xbb\xbf\na\n3"]


@cache
def _models() -> tuple[Any, ...]:
    settings = {"epsilon": 9.0, "delta": 1e-4, "noise_seed": 0}
    counts = np.random.default_rng(0).poisson(0.7, (40, 5))
    texts = [(f"{SECRET} lung hi say", f"w{n % 4}") for n in range(20)]
    words = WordList("list", (SECRET, "lung", "hi", "say"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return (
            SpectralLDA(2).fit(counts),
            PrivateSpectralLDA(2, **settings, refine_steps=1).fit(counts),
            PrivateVariationalLDA(2, **settings, steps=2).fit(counts),
            fit_texts(PrivateSpectralLDA(2, **settings), texts, words, Tokeniser(min_length=2)),
        )


def models(folder: Path) -> list[bytes]:
    """Header and arrays (name, type, shape, values) of each kind of model."""
    found = []
    for number, model in enumerate(_models()):
        path = folder / f"{number}.model"
        model.save(path)
        header, arrays = read_model(path)
        listed = [[name, array.dtype.str, array.shape, array.ravel().tolist()] for name, array in arrays.items()]
        found.append(json.dumps({"header": header, "arrays": listed}).encode())
    return found


def ledgers(_: Path) -> list[bytes]:
    """A total, and rows in the order of the table; `null` for a cost asks for the right one."""
    total = ["notes", 3.0, 1e-6, 0.01, "2026-01-01"]
    rows = [
        [
            "2026-01-02",
            SECRET,
            "gaussian",
            0.1,
            1e-8,
            0.0,
            None,
            '{"n_components": 5, "seed": null}',
            "reserved",
            "{}",
        ],
        ["2026-01-03", "", "concentrated", 0.2, 1e-8, 1e-9, None, "{}", "finished", '{"n_words": 289}'],
        ["2026-01-04", "", "approximate", 0.2, 1e-8, 0.0, None, "{}", "finished", "{}"],
        ["2026-01-05", "", "pure", 0.2, 1e-8, 0.0, None, "{}", "finished", "{}"],
    ]
    said = '{"who": "ana", "what": "fit", "library": "0.1.0", "unit": "user", "neighbours": "zero-out", "n_units": 3}'
    made = f'{{"digest": "{"0" * 64}"}}'
    bound = [["2026-01-06", "", "gaussian", 0.1, 1e-8, 0.0, None, said, "finished", made]]
    found = [{"corpus": total, "rows": some} for some in (rows, rows[:1], [])]
    found.append({"corpus": total, "rows": bound, "binding": ["user", "zero-out", f"{'0' * 16}:{'0' * 64}"]})
    return [json.dumps(books).encode() for books in found]


def audits(_: Path) -> list[bytes]:
    """Sealed content as JSON, and as it stands in a page of Markdown and of HTML."""
    release = {"name": "unigram", "attained": 0.99, "neighbours": ["empty", 'a "<rare>" & word'], "within": True}
    short = {"format": "private-topics audit 1", "audit": {"epsilon": 20.0, "text": SECRET}, "model_statement": None}
    long = {**short, "audit": {"epsilon": 20.0, "confidence": 0.9999, "releases": [release, release]}}
    found = [json.dumps({"sealed": content, "sha256": seal(content)}).encode() for content in (short, long)]
    for spelled in (canonical(long), html.escape(canonical(long))):
        found.append(f"<p>{SEAL} {seal(long)}</p>\n{BEGIN}\n{spelled}\n{END}\n".encode())
    return found


def texts(_: Path) -> list[bytes]:
    samples = ("The Patients' X-ray, Straße", "हिन्दी भाषा ΟΔΟΣ Mu\u0308nchen studies", "漢字 2021 covid19 ǅ İ")
    return [bytes([flags]) + text.encode() for text in samples for flags in (0, 1, 2, 3, 5, 8)]


MAKERS: dict[str, Callable[[Path], list[bytes]]] = {
    "model": models,
    "report": models,
    "ledger": ledgers,
    "audit": audits,
    "jsonl": json_lines,
    "table": tables,
    "lines": text_lines,
    "neighbours": neighbours,
    "gzip": archives,
    "docword": docwords,
    "mtx": markets,
    "npz": blocks,
    "lists": lists,
    "words": texts,
}


# -- changes ---------------------------------------------------------------------------------------------------------


def changed_json(data: bytes, rng: random.Random) -> bytes:
    """A value at any depth exchanged, rarely two; one of the errors in `UNCHANGEABLE` where that cannot be."""
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2))):
        exchange(tree, rng)
    text = json.dumps(tree)
    depth = rng.choice((rng.randint(850, 1000), 2_000))
    return text.replace(f'"{DEEP}"', "[" * depth + "]" * depth).encode()


def exchange(tree: Any, rng: random.Random) -> None:
    places = list(_places(tree))
    if not places:
        raise ValueError("nothing to exchange")
    container, key = rng.choice(places)
    choice = rng.random()
    if choice < 0.15:
        del container[key]
    elif choice < 0.35:
        other, other_key = rng.choice(places)
        container[key] = copy.deepcopy(other[other_key])
    elif choice < 0.45 and isinstance(container[key], str):
        container[key] = container[key] + rng.choice(TRICKY)
    elif choice < 0.6 and isinstance(container[key], int | float):
        container[key] = container[key] * rng.choice((-1, 0.5, 2, 10**6, 1e-6, 1e30))
    else:
        container[key] = copy.deepcopy(rng.choice(STRANGE))


def _places(tree: Any) -> Any:
    """Every (container, key) below `tree`."""
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _places(tree[key])


def changed_text(data: bytes, rng: random.Random) -> bytes:
    """Letters put in, taken out or exchanged behind the first byte."""
    letters = list(as_text(data[1:]))
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(letters))
        new = rng.choice(TRICKY) if rng.random() < 0.6 else chr(rng.randrange(0x110000))
        letters[start : start + rng.randint(0, 2)] = [new] * rng.choice((0, 1, 1, 2))
    return data[:1] + "".join(letters).encode("utf-8", "surrogatepass")


def as_text(data: bytes) -> str:
    """Any bytes as text; single surrogates stay what they are."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


UNCHANGEABLE = (ValueError, OverflowError, RecursionError)
GRAMMARS: dict[str, Callable[[bytes, random.Random], bytes]] = {"json": changed_json, "text": changed_text}
