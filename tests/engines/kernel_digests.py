"""Which GPU kernels were checked on a GPU: their digests, so that a machine without one sees that a kernel changed.

    make gpu-check                                                 on a machine with a GPU: checks, then records
    python tests/engines/kernel_digests.py --record [--unchecked]

A digest is of what a file does: of Python the syntax tree without docstrings, of CUDA the lines without comments and
blanks. Listed are the kernels, the code that launches them, and the code of this machine whose integers they repeat.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "src" / "private_topics"
RECORDED = Path(__file__).with_name("checked_kernels.txt")
TWINS = (
    "corpus/counts/layout.py",
    "inference/fold_in.py",
    "inference/lanes.py",
    "sums/cross_moment.py",
    "sums/frame_second.py",
    "sums/moments.py",
    "sums/norms.py",
    "sums/parts.py",
    "sums/quantised.py",
    "sums/unit_sums.py",
)
UNCHECKED = "NOT CHECKED on a GPU since the kernels were recorded: run `make gpu-check` on a machine that has one."
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def digests(library: Path = LIBRARY) -> dict[str, str]:
    """Of each file, by its path below the library."""
    kernels = sorted(
        path.relative_to(library).as_posix() for path in (library / "engines" / "gpu").glob("*.[cp][uy]")
    )
    return {name: digest(name, (library / name).read_text(encoding="utf-8")) for name in (*kernels, *TWINS)}


def digest(name: str, text: str) -> str:
    said = repr(plain_tree(ast.parse(text))) if name.endswith(".py") else plain_lines(text)
    return hashlib.sha256(said.encode()).hexdigest()


def plain_tree(node: Any) -> Any:
    """A syntax tree without places and docstrings; empty fields are left out, since versions of Python add some."""
    if isinstance(node, ast.AST):
        fields = ((name, plain_tree(value)) for name, value in ast.iter_fields(node))
        return type(node).__name__, [(name, value) for name, value in fields if value not in (None, "None", [])]
    if isinstance(node, list):
        return [plain_tree(item) for item in node if not is_text(item)]
    return repr(node)


def is_text(statement: Any) -> bool:
    """A string that stands alone: a docstring."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def plain_lines(text: str) -> str:
    """The lines of a CUDA file without comments and without blanks around and between."""
    lines = (" ".join(line.split()) for line in COMMENT.sub(" ", text).splitlines())
    return "\n".join(line for line in lines if line)


def recorded(text: str) -> tuple[str, dict[str, str]]:
    """Where the kernels were checked, and their digests."""
    first, *lines = text.splitlines()
    return first, {name: found for found, name in (line.split() for line in lines)}


def record(checked: str) -> None:
    lines = [checked, *(f"{found}  {name}" for name, found in digests().items())]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def device() -> str:
    """The GPU and the state of the repository; an error without one."""
    sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
    from private_topics.engines.gpu.device import cupy
    from stored import about

    name = cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()
    return f"Checked on one {name}. {about()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the digests of the kernels of today")
    parser.add_argument("--unchecked", action="store_true", help="without a GPU; the record says so")
    options = parser.parse_args()
    if options.record:
        record(UNCHECKED if options.unchecked else device())
    for name, found in digests().items():
        print(f"{found}  {name}")


if __name__ == "__main__":
    main()
