"""Random damage to valid files of every format, by hand: five minutes through the readers and `private_topics.load`.

    python attacks/fuzz_readers.py [--seconds 300] [--seed 0] [--out FILE]

Nothing may come out but documents, counts, labels, words, a model, or one of the documented errors, in one line and
without content. Anything else stops the run, names the seed of the case and leaves its file. A case that takes more
than ten seconds is reported too. Model files are damaged byte by byte, which their digest finds, and forged: values
of the header or of an array are exchanged and the digest, which has no key, is made anew. Whatever `load` takes must
show its topics and give a report.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from private_topics import PrivateSpectralLDA, PrivateVariationalLDA, SpectralLDA, load
from private_topics.corpus.counts.blocks import as_blocks, write_npz_block, write_parquet_block
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.texts.files import read_unit_labels
from private_topics.corpus.texts.readers import detect_format, open_texts
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList, read_word_list
from private_topics.errors import InputError, ModelFileError, PrivacyWarning
from private_topics.estimators.saving import read_model, write_model
from private_topics.estimators.texts import fit_texts
from private_topics.reports import write_report

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import options_of, tell

SECRET = "zzyzx"
SLOW_SECONDS = 10.0
TOKENS = (
    b'"',
    b"\n",
    b"\r\n",
    b"\0",
    b",",
    b"\t",
    b"{",
    b"[",
    b"\\u",
    b"\xff",
    b"\xed\xa0\x80",
    b"-1",
    b"1e9",
    b"9" * 25,
)
RECORD_BYTES = (20, 100, 5_000)
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 3, 2**70, 0.5, -1e300, 1e308, "", "x", "\ud800", SECRET, "9" * 5000, [], [[]], {}, {"a": 1},
)  # fmt: skip


def valid_files(folder: Path) -> dict[str, bytes]:
    """One valid file of each format, by name."""
    rng = np.random.default_rng(0)
    words = [SECRET, "Ärzte", "lung", 'say "hi"', "a,b", "two\nlines", "漢字"]
    rows = [{"text": " ".join(rng.choice(words, 12)), "who": f"w{n % 4}", "n": n} for n in range(40)]
    frame = pd.DataFrame(rows)
    counts = rng.poisson(0.7, (40, 9))
    jsonl = "\n".join(json.dumps(row, ensure_ascii=row["n"] % 2 == 0) for row in rows).encode()
    csv, tsv = (frame.to_csv(sep=separator, index=False).encode() for separator in ",\t")
    entries = [f"{d + 1} {w + 1} {counts[d, w]}" for d, w in zip(*np.nonzero(counts), strict=True)]
    sizes = (*counts.shape, len(entries))
    uci = "\n".join([*map(str, sizes), *entries]).encode()
    banner = "%%MatrixMarket matrix coordinate integer general\n% made here\n"
    mtx = (banner + " ".join(map(str, sizes)) + "\n" + "\n".join(entries)).encode()
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    write_npz_block(folder / "v.npz", counts)
    write_parquet_block(folder / "v.parquet", counts)
    models = saved_models(folder, counts, [(row["text"], row["who"]) for row in rows])
    labels = "".join(f"{row['who']}\n" for row in rows).encode()
    text = "\n".join(row["text"] for row in rows).encode()
    return {
        "a.jsonl": jsonl,
        "a.jsonl.gz": gzip.compress(jsonl),
        "a.csv": csv,
        "a.csv.gz": gzip.compress(csv),
        "a.tsv": tsv,
        "a.txt": text,
        "a.txt.gz": gzip.compress(text),
        "a.parquet": buffer.getvalue(),
        "counts.parquet": (folder / "v.parquet").read_bytes(),
        "counts.npz": (folder / "v.npz").read_bytes(),
        "docword.a.txt": uci,
        "docword.a.txt.gz": gzip.compress(uci),
        "a.mtx": mtx,
        "a.mtx.gz": gzip.compress(mtx),
        "labels.txt": labels,
        "labels.txt.gz": gzip.compress(labels),
        "words.txt": "".join(f"{word}\n" for word in (SECRET, "Ärzte", "lung", "漢字")).encode(),
        **models,
        **{f"forged.{name}": content for name, content in models.items()},
    }


def saved_models(folder: Path, counts: np.ndarray, texts: list[tuple[str, str]]) -> dict[str, bytes]:
    """A file of every kind of model; one was fitted to text and has words, a tokeniser and users."""
    settings = {"epsilon": 9.0, "delta": 1e-4, "noise_seed": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        models = {
            "plain.model": SpectralLDA(2).fit(counts),
            "private.model": PrivateSpectralLDA(2, **settings, refine_steps=1).fit(counts),
            "variational.model": PrivateVariationalLDA(2, **settings, steps=2).fit(counts),
            "text.model": fit_texts(
                PrivateSpectralLDA(2, **settings), texts, WordList("list", (SECRET, "lung", "hi", "say")), Tokeniser()
            ),
        }
    for name, model in models.items():
        model.save(folder / name)
    return {name: (folder / name).read_bytes() for name in models}


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A few random edits; half of the archives are damaged inside and packed again."""
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.5:
        return gzip.compress(damaged(gzip.decompress(content), rng))
    for _ in range(rng.integers(1, 6)):
        content = edited(content, rng)
    return content


def edited(content: bytes, rng: np.random.Generator) -> bytes:
    at, size = int(rng.integers(len(content) + 1)), int(rng.integers(1, 40))
    new = rng.bytes(size) if rng.random() < 0.5 else TOKENS[rng.integers(len(TOKENS))]
    before, after = content[:at], content[at:]
    flipped = bytes([after[0] ^ (1 << int(rng.integers(8)))]) + after[1:] if after else b""
    edits = (before, before + new + after, before + new + after[len(new) :], before + after[size:], before + flipped)
    return (*edits, before + content[at // 2 :])[rng.integers(len(edits) + 1)]


def forge(path: Path, rng: np.random.Generator) -> None:
    """Exchange values inside a model file and sign it anew, as anybody could who has read this library."""
    header, arrays = read_model(path)
    header = {name: value for name, value in header.items() if name not in ("sha256", "arrays")}
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.8:
            exchange(header, rng)
        else:
            name = sorted(arrays)[rng.integers(len(arrays))]
            arrays[name] = exchanged_array(arrays[name], rng)
    try:
        write_model(path, header, arrays)
    except ValueError:  # what JSON cannot write is no file
        path.write_bytes(b"")


def exchange(container: Any, rng: np.random.Generator) -> None:
    """A random value at a random depth of a header becomes a strange one, vanishes, or moves."""
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    if not keys:
        return
    key = keys[rng.integers(len(keys))]
    value = container[key]
    if isinstance(value, dict | list) and value and rng.random() < 0.8:
        exchange(value, rng)
    elif rng.random() < 0.15:
        del container[key]
    else:
        container[key] = STRANGE[rng.integers(len(STRANGE))]


def exchanged_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not array.size:
        return array
    changed = array.copy()
    with np.errstate(over="ignore"):
        changed.flat[rng.integers(array.size)] = (np.nan, np.inf, -1.0, 0.0, 1e308, 5e-324)[rng.integers(6)]
        single, twice = array.astype(np.float32), array * 2
    kinds = (changed, array[:0], array[..., None], array.T, single, array.ravel()[:1], twice)
    return kinds[rng.integers(len(kinds))]


def use(path: Path, rng: np.random.Generator) -> None:
    """Read a file as a user would, with random options."""
    if path.suffix == ".model":
        model = load(path)
        model.top_words(n=3)
        write_report(model, path.with_suffix(".html"), tokeniser=getattr(model, "tokeniser_", None), model_file=path)
        return
    if path.name.startswith("labels"):
        read_unit_labels(path)
        return
    if path.name.startswith("words"):
        read_word_list(path)
        return
    if path.name.startswith(("counts", "docword", "a.mtx")):
        for _ in as_blocks(path):
            pass
        return
    options = {"strict": bool(rng.integers(2)), "max_record_bytes": int(rng.choice(RECORD_BYTES))}
    if not path.name.startswith("a.txt") and rng.random() < 0.5:
        options["unit"] = "who"
    if detect_format(path) == "counts":
        return
    count_texts(open_texts(path, **options), ["lung", "ärzte"], n_jobs=1)  # type: ignore[arg-type]


def one_case(folder: Path, name: str, content: bytes, seed: int) -> str:
    """ "accepted", "refused", or the reason why this case is a failure."""
    rng = np.random.default_rng(seed)
    path = folder / name
    path.write_bytes(content if name.startswith("forged") else damaged(content, rng))
    if name.startswith("forged"):
        forge(path, rng)
    started = time.perf_counter()
    try:
        use(path, rng)
        outcome = "accepted"
    except (InputError, ModelFileError) as error:
        outcome = "refused"
        if SECRET in str(error) or "\n" in str(error) or not str(error):
            outcome = "a message with content, or not in one line"
    except BaseException as error:
        outcome = f"{type(error).__name__} came out"
    if time.perf_counter() - started > SLOW_SECONDS:
        outcome = f"took more than {SLOW_SECONDS:g} s"
    return outcome


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write the page there too")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-readers-"))
    files = valid_files(folder)
    outcomes: Counter[tuple[str, str]] = Counter()
    started, seed = time.monotonic(), options.seed * 10**9
    while time.monotonic() - started < options.seconds:
        for name, content in files.items():
            seed += 1
            outcome = one_case(folder, name, content, seed)
            outcomes[name, outcome] += 1
            if outcome not in ("accepted", "refused"):
                raise SystemExit(f"{name}, seed {seed}: {outcome}. The file is {folder / name}.")
    lines = ["# Random damage to files of every format, and forged models: what readers and `load` do with them", ""]
    lines += [f"`python attacks/fuzz_readers.py --seconds {options.seconds:g}`", ""]
    lines += ["| file | read | refused |", "|---|---|---|"]
    for name in files:
        lines.append(f"| `{name}` | {outcomes[name, 'accepted']:,} | {outcomes[name, 'refused']:,} |")
    total, seconds = sum(outcomes.values()), time.monotonic() - started
    lines += ["", f"{total:,} damaged or forged files in {seconds:.0f} s from seed {options.seed}: no failure."]
    tell("\n".join(lines), options.out)


if __name__ == "__main__":
    main()
