"""Small changes of the code that can break the guarantee, made from its syntax tree, and what each of them affects.

A change replaces a piece of one file: a constant, an operator, a comparison, a condition, two arguments, a call that
is left out, a value that is not returned. It never moves a line, so that compiled kernels of other functions stay
valid. Texts, annotations, decorators and the arguments of errors are left alone.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cache

from stored import ROOT

LIBRARY = ROOT / "src" / "private_topics"
TARGETS = (
    "privacy/**/*.py", "releases/*.py", "sums/*.py", "engines/local.py", "engines/protocol.py", "corpus/counts/*.py",
    "corpus/words/vocabulary.py", "corpus/texts/source.py", "estimators/vocabularies.py", "fits/private.py",
    "fits/variational.py", "spectral/certificate.py", "bisection.py", "engines/sites/[!ft]*.py",
)  # fmt: skip
"""Modules that can break the guarantee, but for those of Spark and of the GPU, which need a cluster or a device.

Of the sites all but transport.py: it carries what is masked and signed, and is not trusted."""

OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
}  # fmt: skip
COMPARISONS = {
    ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
SWAPS = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "floor": "ceil", "ceil": "floor",
    "any": "all", "all": "any", "zeros": "ones", "ones": "zeros", "log1p": "expm1", "expm1": "log1p", "trunc": "ceil",
    "argmin": "argmax", "argmax": "argmin", "sqrt": "square",
}  # fmt: skip
LEFT_ALONE = ("isinstance", "getattr", "hasattr", "warn", "cast", "stage")  # calls whose arguments are not changed
SYMMETRIC = ("min", "max", "minimum", "maximum", "hypot", "array_equal")  # calls in which an order means nothing
DEFAULTS = {"float": "0.0", "int": "0", "str": '""'}


@dataclass(frozen=True)
class Mutant:
    """A change: the lines it is in, before and after, name it as long as they stand in the same function."""

    file: str
    function: str
    kind: str
    before: str
    after: str
    number: int = 1  # of several equal ones in the function
    start: int = 0
    stop: int = 0
    text: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.file, self.function, self.before, self.after, self.number

    @property
    def node(self) -> str:
        return f"{self.file}::{self.function}"

    def planted(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.stop :]


class _Places(ast.NodeVisitor):
    """Walks one file and collects (start, stop, replacement, kind, function)."""

    def __init__(self, source: bytes) -> None:
        self.source, self.found = source, []  # type: ignore[var-annotated]
        self.starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        self.names: list[str] = []
        self.inside, self.jitted = False, False
        self.returns = ""

    def begin(self, node: ast.AST) -> int:
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        return self.source[self.begin(node) : self.end(node)].decode()

    def note(self, kind: str, start: int, stop: int, text: str) -> None:
        lost = self.source[start:stop].count(b"\n") - text.count("\n")
        if lost >= 0 and self.source[start:stop].decode() != text:
            self.found.append((start, stop, text + "\n" * lost, kind, ".".join(self.names)))

    def between(self, kind: str, left: ast.AST, right: ast.AST, old: str, *new: str) -> None:
        """Replace the operator that stands between two operands."""
        start, stop = self.end(left), self.begin(right)
        gap = self.source[start:stop].decode()
        pattern = (
            r"(?<!\w)" + re.escape(old).replace(r"\ ", r"\s+") + r"(?!\w)" if old[0].isalpha() else re.escape(old)
        )
        for text in new:
            self.note(kind, start, stop, re.sub(pattern, text, gap, count=1))

    # -- what is named after what ------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if self.inside:  # a function inside a function belongs to it
            self._body(node)
            return
        kept = self.returns, self.jitted
        self.names.append(node.name)
        self.inside, self.jitted = True, is_jitted(node)
        self.returns = ast.unparse(node.returns) if node.returns else ""
        self._body(node)
        self.names.pop()
        self.inside, (self.returns, self.jitted) = False, kept

    def _body(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        if node.name != "__repr__":
            for statement in node.body:
                self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.names.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        if self.names:
            self.generic_visit(node)
            return
        target, value = node.targets[0], node.value  # outside of functions and classes: named after what it sets
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for name, part in pairs:
            self.names.append(next(one.id for one in ast.walk(name) if isinstance(one, ast.Name)))
            self.visit(part)
            self.names.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    # -- statements --------------------------------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.note("dropped call", self.begin(node), self.end(node), "pass")
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.note("dropped refusal", self.begin(node), self.end(node), "pass")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        if not self.jitted and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            value = f"not ({self.text(node.value)})" if self.returns == "bool" else DEFAULTS.get(self.returns, "None")
            self.note("returned default", self.begin(node), self.end(node), f"return {value}")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.note("dropped update", self.begin(node), self.end(node), "pass")
        if type(node.op) in OPERATORS:
            old, new = OPERATORS[type(node.op)]
            self.between("operator", node.target, node.value, f"{old}=", f"{new}=")
        self.generic_visit(node)

    def _condition(self, test: ast.expr) -> None:
        text = self.text(test)
        if text != "TYPE_CHECKING":
            self.note("condition", self.begin(test), self.end(test), f"(not ({text}))")

    def visit_If(self, node: ast.If) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._condition(test)
        self.generic_visit(node)

    # -- expressions -------------------------------------------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OPERATORS:
            self.between("operator", node.left, node.right, *OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            self.between("comparison", left, right, *COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between("condition", left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.note("removed not", self.begin(node), self.end(node), f"({self.text(node.operand)})")
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self.note("operator", self.begin(node), self.end(node), f"({self.text(node.operand)})")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SWAPS:
            stop = self.end(node.func)
            self.note("function", stop - len(name), stop, SWAPS[name])
        if name not in LEFT_ALONE:
            self._arguments(node, swapped=name not in SYMMETRIC)
            self.generic_visit(node)

    def _arguments(self, node: ast.Call, *, swapped: bool) -> None:
        if (
            swapped
            and len(node.args) > 1
            and not any(isinstance(argument, ast.Starred) for argument in node.args[:2])
        ):
            first, second = node.args[:2]
            gap = self.source[self.end(first) : self.begin(second)].decode()
            turned = self.text(second) + gap + self.text(first)
            self.note("swapped arguments", self.begin(first), self.end(second), turned)
        for keyword in node.keywords:
            if keyword.arg is not None:
                stop = self.end(keyword)
                stop += len(re.match(rb"\s*,?", self.source[stop:])[0])  # type: ignore[index]
                self.note("dropped argument", self.begin(keyword), stop, "")

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.note("constant", self.begin(node), self.end(node), str(not value))
        elif isinstance(value, int):
            self.note("constant", self.begin(node), self.end(node), str(value + 1))
        elif isinstance(value, float):
            self.note("constant", self.begin(node), self.end(node), repr(2.0 * value if value else 1.0))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are left alone."""


def is_jitted(node: ast.FunctionDef) -> bool:
    return any("njit" in ast.unparse(decorator) for decorator in node.decorator_list)


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """Every change of one file below the library."""
    places = _Places(source)
    places.visit(ast.parse(source))
    found, seen = [], Counter()  # type: ignore[var-annotated]
    for start, stop, text, kind, function in sorted(places.found):
        lines = source[: source.find(b"\n", stop)]
        head = source.rfind(b"\n", 0, start) + 1
        before = _shown(lines[head:])
        after = _shown(lines[head:start] + text.encode() + lines[stop:])
        mutant = Mutant(file, function, kind, before, after, 1, start, stop, text)
        seen[mutant.key] += 1
        found.append(replace(mutant, number=seen[mutant.key]))
    return found


def _shown(lines: bytes) -> str:
    """What a list shows of a place: its line without the comment, or the first and last of its lines."""
    told = [line.split("  # ")[0].strip() for line in lines.decode().splitlines() if line.strip()]
    return " … ".join(dict.fromkeys((*told[:1], *told[-1:])))


def files() -> list[str]:
    found = {path.relative_to(LIBRARY).as_posix() for pattern in TARGETS for path in LIBRARY.glob(pattern)}
    return sorted(name for name in found if not name.endswith("__init__.py"))


@cache
def all_mutants() -> tuple[Mutant, ...]:
    return tuple(mutant for file in files() for mutant in mutants_of(file, (LIBRARY / file).read_bytes()))


class Uses:
    """Which functions and constants of the library mention which: what a change may affect, by name alone."""

    def __init__(self) -> None:
        self.mentions: dict[str, set[str]] = {}
        self.jitted: set[str] = set()
        self.functions: set[str] = set()
        for path in sorted(LIBRARY.rglob("*.py")):
            file = path.relative_to(LIBRARY).as_posix()
            for name, node in _definitions(ast.parse(path.read_bytes())):
                inner = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
                inner |= {child.attr for child in ast.walk(node) if isinstance(child, ast.Attribute)}
                self.mentions.setdefault(f"{file}::{name}", set()).update(inner)
                if isinstance(node, ast.FunctionDef):
                    (self.jitted if is_jitted(node) else self.functions).add(f"{file}::{name}")

    def of(self, node: str) -> set[str]:
        name = _last(node)
        return {other for other, names in self.mentions.items() if name in names and other != node}

    def kernels(self, node: str) -> set[str]:
        """The compiled functions that hold the code, or the constant, of a node."""
        found, waiting = set(), [node]
        while waiting:
            here = waiting.pop()
            if here in found or not (here in self.jitted or is_constant(here)):
                continue
            found.add(here)
            waiting.extend(self.of(here))
        return found & self.jitted

    def python_users(self, node: str, ran: Container[str]) -> set[str]:
        """The functions of `ran` that run where a node does: itself, or those that mention what is not seen to run.

        Nobody sees constants, classes and compiled functions run, nor functions that are called at the import alone.
        """
        found: set[str] = set()
        seen: set[str] = set()
        waiting = [node]
        while waiting:
            here = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            if here in ran and here not in self.jitted:
                found.add(here)
            elif here in self.functions:
                waiting.extend(other for other in self.of(here) if other not in self.functions | self.jitted)
            else:
                waiting.extend(self.of(here))
                waiting.extend(other for other in self.functions if other.startswith(f"{here}."))  # its methods
        return found


def _last(node: str) -> str:
    return node.split("::")[1].split(".")[-1]


def is_constant(node: str) -> bool:
    name = node.split("::")[1]
    return "." not in name and name.strip("_")[:1].isupper() and name == name.upper()


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Functions, methods, classes without their methods, and assignments outside of functions, by name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                yield (f"{node.name}.{inner.name}" if isinstance(inner, ast.FunctionDef) else node.name), inner
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield name.id, node
