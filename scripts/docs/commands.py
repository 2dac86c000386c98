"""The commands that documents show: each ``sh`` block is run in a scratch folder, or checked where it cannot be run.

A page's blocks run one after the other in one folder, which holds a link to examples/. What a block needs stands before it:

    <!-- files: fixed.nii.gz = examples/icbm152_t1_2mm.nii.gz, … -->   links to files of the repository, for the page
    <!-- not run: REASON -->       the next block: words are checked by the parsers, nothing is run
    <!-- nothing run: REASON -->   the same for all blocks that follow on the page
    <!-- prints -->                before a ``text`` block: what the block before printed; … stands for any text, and a line
                                   of … for any lines

``cargo run --release --`` runs the program that is tested. In blocks that are not run, the words of `antsreg-gpu` must be a
command line that it understands, and options of scripts must be in their help.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from environment import REPOSITORY

from docs.site import tracked

#: Documents in docs/history keep commands of earlier versions.
PAGES = ["*.md", ":!docs/history", ":!third_party", ":!.github", ":!crates"]
PROGRAM = REPOSITORY / "target" / "debug" / "antsreg-gpu"
UNDERSTANDS = PROGRAM.parent / "examples" / "understands"
PYTHON = REPOSITORY / ".venv" / "python" / "bin" / "python"

MARKED = re.compile(
    r"^<!-- (?P<mark>files|nothing run|not run|prints)(?:: (?P<rest>.*?))? -->$"
    r"|^```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
#: Keywords and built-in commands of the shell.
BUILT_IN = {"export", "cd", "set"}
#: Programs that may be run: those that write nothing outside the scratch folder.
RUNNABLE = BUILT_IN | {"antsreg-gpu", "antsRegistration", "antsApplyTransforms", "cat", "head", "ls", "mkdir"}
#: Programs of others, and of this repository's environments, whose words are not checked.
FOREIGN = {"cp", "pip", "apptainer", "snakemake", "python3", "python", "pdoc", "cargo", "timeout", "rm", "cargo-mutants"}


@dataclass
class Block:
    """A fenced block of commands, or of Python."""

    page: str
    line: int
    language: str
    code: str
    not_run: str | None = None
    prints: str | None = None

    @property
    def place(self) -> str:
        """Page and line."""
        return f"{self.page}:{self.line}"


@dataclass
class Page:
    """The blocks of a document, and the files that they find."""

    name: str
    files: dict[str, str] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)


def check(only: list[str]) -> int:
    """Run or check every block, or those of some pages; 1 if one fails."""
    pages = [parse(name, (REPOSITORY / name).read_text()) for name in only or tracked(*PAGES)]
    build = ["cargo", "build", "--quiet", "--locked", "--package", "antsreg-cli", "--bins", "--examples"]
    if subprocess.run(build, cwd=REPOSITORY, check=False).returncode:
        return 1
    failures = 0
    for page in pages:
        for fault in run_page(page):
            failures += 1
            print(fault, file=sys.stderr)
    blocks = [block for page in pages for block in page.blocks]
    run = sum(block.not_run is None for block in blocks)
    print(f"commands: {run} blocks run, {len(blocks) - run} checked, {failures} failed")
    return 1 if failures else 0


def parse(name: str, text: str) -> Page:
    """The blocks of a page with their marks."""
    page = Page(name)
    not_run: str | None = None
    nothing_run: str | None = None
    prints = False
    for found in MARKED.finditer(text):
        mark, rest, language = found["mark"], found["rest"], found["language"]
        if mark == "files":
            page.files |= dict(pair.split(" = ") for pair in " ".join(rest.split()).split(", "))
        elif mark == "not run":
            not_run = rest
        elif mark == "nothing run":
            nothing_run = rest
        elif mark == "prints":
            prints = True
        elif language in {"sh", "python"}:
            line = text.count("\n", 0, found.start()) + 1
            page.blocks.append(Block(name, line, language, found["code"], not_run or nothing_run))
            not_run = None
        elif prints and page.blocks:
            page.blocks[-1].prints = found["code"]
            prints = False
    return page


def run_page(page: Page) -> list[str]:
    """Run the blocks of a page; what is wrong with them."""
    faults = []
    with tempfile.TemporaryDirectory(prefix="antsreg-docs-") as temporary:
        folder = Path(temporary)
        (folder / "examples").symlink_to(REPOSITORY / "examples")
        for target, source in page.files.items():
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            (folder / target).symlink_to(REPOSITORY / source)
        for block in page.blocks:
            began = time.monotonic()
            fault = check_words(block) if block.not_run is not None else run(block, folder)
            if block.not_run is None:
                print(f"  {block.place}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
            if fault:
                faults.append(f"{block.place}: {fault}")
    return faults


def run(block: Block, folder: Path) -> str | None:
    """Run a block; what is wrong with it."""
    if block.language == "python" and not PYTHON.exists():
        return f"needs the Python package in {PYTHON.parents[1]}: run scripts/python_check.py first"
    if block.language == "sh":
        others = {words[0] for words in commands_of(served(block.code))} - RUNNABLE
        if others:
            return f"runs {', '.join(sorted(others))}: put '<!-- not run: REASON -->' before it"
    commands = folder / ".commands"
    commands.mkdir(exist_ok=True)
    program = commands / "antsreg-gpu"
    if not program.exists():
        program.symlink_to(PROGRAM)
    (folder / "target").mkdir(exist_ok=True)
    code = served(block.code)
    words = [PYTHON, "-c", code] if block.language == "python" else ["bash", "-euo", "pipefail", "-c", code]
    # The scratch folder is the home as well: nothing of the user's is read or written.
    home = {"HOME": str(folder), "PATH": f"{commands}:/usr/bin:/bin", "MPLBACKEND": "agg"}
    variables = {name: value for name, value in os.environ.items() if name.startswith(("LANG", "LC_"))} | home
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=variables, check=False)
    if done.returncode:
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    if block.prints is not None and not agrees(block.prints, done.stdout + done.stderr):
        return f"printed something else than the page shows:\n{done.stdout}{done.stderr}"
    return None


def served(code: str) -> str:
    """A block with the program that is tested in the place of one that Cargo would build."""
    return code.replace("cargo run --release -- ", "antsreg-gpu ")


def agrees(shown: str, printed: str) -> bool:
    """Whether the text that a page shows is what was printed."""
    lines = []
    for line in shown.strip().splitlines():
        whole = line.strip() == "…"
        lines.append(r"(?:.*\n)*?" if whole else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n")
    return re.fullmatch("".join(lines), "".join(f"{line.rstrip()}\n" for line in printed.strip().splitlines())) is not None


def check_words(block: Block) -> str | None:
    """What is wrong with the commands of a block that is not run."""
    if block.language == "python":
        try:
            compile(block.code, block.place, "exec")
        except SyntaxError as error:
            return str(error)
        return None
    for command in commands_of(served(block.code)):
        fault = check_command(command)
        if fault:
            return f"{shlex.join(command)}: {fault}"
    return None


def commands_of(code: str) -> list[list[str]]:
    """The words of each command, without variables that are set before it and without what follows a redirection."""
    commands = []
    code = re.sub(r"<<'(\w+)'.*?^\1$", "", code, flags=re.DOTALL | re.MULTILINE)
    # In documents the character … stands for omitted words.
    for line in code.replace("\\\n", " ").splitlines():
        for part in re.split(r"\s(?:&&|\|\||\|)\s", line):
            words = [word for word in shlex.split(part, comments=True) if word != "…"]
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words:
                commands.append(words)
    return commands


def check_command(words: list[str]) -> str | None:
    """What is wrong with one command, as far as it can be seen without running it."""
    program = words[0]
    if program == "antsreg-gpu":
        done = subprocess.run([UNDERSTANDS, *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)
        return (done.stderr or "not understood") if done.returncode else None
    script = REPOSITORY / (words[1] if program in {"python3", "python"} and len(words) > 1 else program)
    if script.is_file() and script.is_relative_to(REPOSITORY):
        return check_script(script, words)
    if program in RUNNABLE | FOREIGN:
        return None
    return "no such script or program is known"


def check_script(script: Path, words: list[str]) -> str | None:
    """Options of a script that its help, or its text, does not have."""
    text = script.read_text()
    if script.suffix == ".py":
        text += subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=False).stdout
    options = [word.split("=")[0] for word in words if word.startswith("--") and word != "--"]
    missing = [option for option in options if option not in text]
    return f"{script.name} has no option {', '.join(missing)}" if missing else None
