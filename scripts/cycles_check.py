#!/usr/bin/env python3
"""Finds source files of a crate that use each other in a circle.

A file uses another one if it names an item that the other one defines, in a `use` line or in a path. A name that was
re-exported counts for the file that defines it, so a `mod.rs` that only re-exports its children uses none of them.
A module and its own child count as any two files do. Tests do not count.

    scripts/cycles_check.py              all crates; exit code 1 if there is a circle
    scripts/cycles_check.py study core   these crates, with the names in each circle
    scripts/cycles_check.py --except lab all crates but these
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Module = tuple[str, ...]

ITEM = re.compile(
    r"^(?:pub(?:\([^)]*\))? )?(?:default |unsafe |async |const |extern \"C\" )*"
    r"(?:struct|enum|trait|fn|type|const|static|union) (?:mut )?(\w+)",
    re.M,
)
MACRO = re.compile(r"^macro_rules! (\w+)", re.M)
USE = re.compile(r"^[ ]*(?:pub(?:\([^)]*\))? )?use ([^;]+);", re.M)
PATH = re.compile(r"(?<![\w:])(?:\w+::)+\w+")
TEST = re.compile(r"^#\[cfg\((?:all\()?test\b[^\n]*\n(?:#\[[^\n]*\n)*(?:pub(?:\([^)]*\))? )?mod (\w+)( \{\n.*?^\}|;)", re.M | re.S)


def without_tests(text: str) -> tuple[str, set[str]]:
    """Removes comments, strings and test modules. Returns the rest, and the names of test modules in other files."""
    text = re.sub(r"//[^\n]*", "", text)
    outside = {found[1] for found in TEST.finditer(text) if found[2] == ";"}
    text = TEST.sub("", text)
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', text), outside


def branches(tree: str) -> list[tuple[list[str], str]]:
    """Expands a `use` tree to paths, each with the name under which the file knows its end."""
    tree = " ".join(tree.split())
    opening = tree.find("{")
    if opening < 0:
        path, _, alias = tree.partition(" as ")
        parts = path.strip().split("::")
        if parts[-1] == "self":
            parts = parts[:-1]
        return [(parts, alias.strip() or parts[-1])]
    before, inner = tree[:opening], tree[opening + 1 : tree.rindex("}")]
    pieces, depth, start = [], 0, 0
    for place, letter in enumerate(inner + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            pieces.append(inner[start:place])
            start = place + 1
    return [branch for piece in pieces if piece.strip() for branch in branches(before + piece.strip())]


class Crate:
    """The modules of a crate: what each defines, what it imports, and which paths it contains."""

    def __init__(self, source: Path):
        self.files: dict[Module, Path] = {}
        self.text: dict[Module, str] = {}
        tests: set[Module] = set()
        for file in sorted(source.rglob("*.rs")):
            parts = file.relative_to(source).with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            self.text[module], outside = without_tests(file.read_text())
            self.files[module] = file
            tests |= {(*module, name) for name in outside}
        for module in [module for module in self.files if any(module[: len(test)] == test for test in tests)]:
            del self.files[module], self.text[module]
        self.items = {module: {*ITEM.findall(text), *MACRO.findall(text)} for module, text in self.text.items()}
        self.imports = {
            module: {name: path for tree in USE.findall(text) for path, name in branches(tree) if name != "*"}
            for module, text in self.text.items()
        }
        self.globs = {
            module: [path[:-1] for tree in USE.findall(text) for path, name in branches(tree) if name == "*"]
            for module, text in self.text.items()
        }

    def find(self, module: Module, path: list[str], seen: frozenset = frozenset()) -> tuple[Module, str | None] | None:
        """The module and the item to which a path leads in a module; `None` for paths that leave the crate."""
        if (module, tuple(path)) in seen:
            return None
        seen |= {(module, tuple(path))}
        head, rest = path[0], path[1:]
        if head == "crate":
            return self.walk((), rest, seen)
        if head == "self":
            return self.walk(module, rest, seen)
        if head == "super":
            return self.walk(module[:-1], rest, seen)
        return self.walk(module, path, seen)

    def walk(self, module: Module, path: list[str], seen: frozenset) -> tuple[Module, str | None] | None:
        """Follows a path whose first name is looked up inside `module`."""
        if not path:
            return module, None
        head, rest = path[0], path[1:]
        if head == "super":
            return self.walk(module[:-1], rest, seen)
        if head in self.items.get(module, ()):
            return module, head
        if (*module, head) in self.files:
            return self.walk((*module, head), rest, seen)
        imported = self.imports.get(module, {}).get(head)
        if imported:
            return self.find(module, imported + rest, seen)
        for glob in self.globs.get(module, ()):
            is_own = glob and (glob[0] in ("crate", "self", "super") or (*module, glob[0]) in self.files)
            found = self.find(module, glob + path, seen) if is_own else None
            if found:
                return found
        return None

    def edges(self) -> dict[Module, dict[Module, set[str]]]:
        """For each file, the files that it uses, and the names of what it uses of them."""
        uses: dict[Module, dict[Module, set[str]]] = {module: {} for module in self.files}
        for module, text in self.text.items():
            body = USE.sub("", text)
            words = set(re.findall(r"\w+", body))
            paths = [path for name, path in self.imports[module].items() if name in words or name == "_"]
            paths += [found.split("::") for found in PATH.findall(body)]
            for path in paths:
                found = self.find(module, path)
                if found and found[1] and found[0] != module:
                    uses[module].setdefault(found[0], set()).add(found[1])
        return uses


def circles(uses: dict[Module, dict[Module, set[str]]]) -> list[list[Module]]:
    """The strongly connected components of more than one file."""

    def reached(start: Module, of: dict) -> set[Module]:
        seen, waiting = {start}, [start]
        while waiting:
            for further in of[waiting.pop()]:
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)
        return seen

    backwards: dict[Module, set[Module]] = {module: set() for module in uses}
    for module, others in uses.items():
        for other in others:
            backwards[other].add(module)
    found, left = [], set(uses)
    while left:
        start = min(left)
        circle = reached(start, uses) & reached(start, backwards)
        left -= circle
        if len(circle) > 1:
            found.append(sorted(circle))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crates", nargs="*", metavar="CRATE", help="crates to check [default: all]")
    parser.add_argument("--except", nargs="+", default=[], metavar="CRATE", dest="left_out", help="crates left out")
    typed = parser.parse_args()
    left_out, wanted = typed.left_out, typed.crates
    count, failed = 0, 0
    for source in sorted([*ROOT.glob("crates/*/src"), *ROOT.glob("tools/*/src")]):
        if source.parent.name in left_out or (wanted and source.parent.name not in wanted):
            continue
        crate = Crate(source)
        uses = crate.edges()
        count += len(uses)
        for circle in circles(uses):
            failed += 1
            names = ["::".join(module) or "lib" for module in circle]
            print(f"{source.parent.relative_to(ROOT)}: {len(circle)} files use each other in a circle: {', '.join(names)}")
            for module in circle if wanted else []:
                for other in sorted(set(uses[module]) & set(circle)):
                    print(f"    {'::'.join(module)} → {'::'.join(other)}: {', '.join(sorted(uses[module][other]))}")
    print(f"{count} files, {failed} circles")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
