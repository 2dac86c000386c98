#!/usr/bin/env python3
"""Draw comments and messages at random, for a reader who has not seen the code.

    scripts/prose/draw.py --seed 2411 --count 60 [FOLDER…]

The texts are the comment blocks of Rust, CUDA and Python files, the docstrings of Python, and the string literals of
Rust outside tests that have at least four words. Left out are texts of fewer than three words, and texts that are data:
the string literals of the files in `DATA`, and attributes of Rust in Python files, such as `#[unsafe(no_mangle)]`.
Every text has the same probability. The same seed and the same files give the same list.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ["crates", "python", "scripts", "tests", "tools", "workflows"]
#: For each file type, a pattern for a line that holds only a comment: indentation and comment mark, then the text.
LINE = {
    ".rs": re.compile(r"^(\s*(?:///|//!|//))(?!/) ?(.*)$"),
    ".cu": re.compile(r"^(\s*//[/!]?) ?(.*)$"),
    ".py": re.compile(r"^(\s*#:?)(?![!\[]) ?(.*)$"),
}
LINE[".cuh"] = LINE[".cu"]
#: Files whose string literals are data, not texts: the start inputs of fuzz tests are command lines.
DATA = ["crates/fuzz/src/seeds.rs"]
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.|\\\n)*)"')
WORD = re.compile(r"[A-Za-zÀ-ž]{2,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="folders of the repository")
    parser.add_argument("--seed", type=int, default=2411)
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    texts = [text for path in files(args.folders or FOLDERS) for text in texts_of(path)]
    drawn = random.Random(args.seed).sample(texts, min(args.count, len(texts)))
    for number, (place, text) in enumerate(drawn, 1):
        print(f"{number}. {text}\n   ({place})")
    print(f"{len(drawn)} of {len(texts)} texts", file=sys.stderr)


def files(folders: list[str]) -> list[Path]:
    """The files with comments that git tracks in these folders, in alphabetical order."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [REPOSITORY / name for name in sorted(listed.stdout.splitlines()) if Path(name).suffix in LINE]


def texts_of(path: Path) -> Iterator[tuple[str, str]]:
    """The comments, docstrings and messages of a source file, each with the file's name and line number."""
    source = path.read_text()
    found = list(blocks(source, LINE[path.suffix]))
    if path.suffix == ".py":
        found += docstrings(source)
    name = path.relative_to(REPOSITORY).as_posix()
    if path.suffix == ".rs" and "tests" not in path.parts[-3:] and path.name != "tests.rs" and name not in DATA:
        found += literals(source)
    for line, text in sorted(found):
        if len(WORD.findall(text)) >= 3:
            yield f"{name}:{line}", " ".join(text.split())


def blocks(source: str, comment: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The comment blocks of a source: successive comment lines with the same mark and indentation."""
    mark, start, parts = "", 0, list[str]()
    for number, line in enumerate([*source.splitlines(), ""], 1):
        found = comment.match(line)
        if parts and (not found or found[1] != mark):
            yield start, " ".join(parts)
            parts = []
        if found:
            mark, start = found[1], start if parts else number
            parts.append(found[2])


def docstrings(source: str) -> list[tuple[int, str]]:
    """The docstrings in the source text of a Python module: of the module itself, its classes and its functions."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [(getattr(node, "lineno", 1), ast.get_docstring(node) or "") for node in nodes]


def literals(source: str) -> list[tuple[int, str]]:
    """The string literals of a Rust source that have at least four words. Tests and comments are left out."""
    code = source.split("#[cfg(test)]")[0]
    code = re.sub(r"//[^\n]*", "", code)
    found = [(code.count("\n", 0, match.start()) + 1, match[1]) for match in LITERAL.finditer(code)]
    joined = [(line, re.sub(r"\\\n\s*", "", text)) for line, text in found]
    return [(line, text) for line, text in joined if sum(map(bool, map(WORD.match, text.split()))) >= 4]


if __name__ == "__main__":
    main()
