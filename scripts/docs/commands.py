"""Checks the commands in documents: each ``sh`` block is run in a temporary folder, or only parsed if it cannot be run.

The blocks of a page run one after another in one folder, which contains a link to examples/. Comments before a block
say what the block needs:

    <!-- files: fixed.nii.gz = examples/icbm152_t1_2mm.nii.gz, … -->   links to files of the repository, for the page
    <!-- not run: REASON -->       the next block is only parsed
    <!-- nothing run: REASON -->   all following blocks of the page are only parsed
    <!-- prints -->                before a ``text`` block, which shows the output of the block before; … stands for any
                                   text, and a line that is only … for any lines

``cargo run --release --`` is replaced by the program under test. In blocks that are only parsed, command lines of
`antsreg-gpu` must be valid, and options of scripts must occur in their help.
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

import built
from environment import REPOSITORY

from docs.site import tracked

#: Documents to check. Documents in docs/history are left out, because they contain commands of earlier versions.
PAGES = ["*.md", ":!docs/history", ":!third_party", ":!.github", ":!crates"]
UNDERSTANDS = built.example("understands")
PYTHON = REPOSITORY / ".venv" / "python" / "bin" / "python"

MARKED = re.compile(
    r"^<!-- (?P<mark>files|nothing run|not run|prints)(?:: (?P<rest>.*?))? -->$"
    r"|^```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
#: Keywords and built-in commands of the shell that code blocks of documents use. Their arguments are not checked.
BUILT_IN = {"export", "cd", "set"}
#: Programs that the shell blocks of documents may run, because these programs write only inside the temporary folder.
RUNNABLE = BUILT_IN | {
    "antsreg-gpu", "antsRegistration", "antsApplyTransforms", "c3d_affine_tool", "flirt",
    "cat", "head", "ls", "mkdir", "printf",
}  # fmt: skip
#: Commands of ANTs whose arguments are checked. Those of FSL look for their input files, so they are not checked.
CHECKED = {
    "antsRegistration", "antsRegistrationSyN.sh", "antsRegistrationSyNQuick.sh", "antsApplyTransforms",
    "antsJointLabelFusion.sh", "N4BiasFieldCorrection",
}  # fmt: skip
#: Programs that shell blocks of documents call and that are not part of this repository. Their arguments are not
#: checked.
FOREIGN = {
    "cp", "pip", "apptainer", "snakemake", "python3", "python", "pdoc", "cargo", "timeout", "rm", "cargo-mutants",
    "mcflirt", "CreateJacobianDeterminantImage", "LabelOverlapMeasures", "antsBrainExtraction.sh",
    "antsMultivariateTemplateConstruction2.sh",
}  # fmt: skip


@dataclass
class Block:
    """A fenced block of shell commands or Python code in a document."""

    page: str
    line: int
    language: str
    code: str
    not_run: str | None = None
    prints: str | None = None

    @property
    def place(self) -> str:
        """Name of the document and line of the block."""
        return f"{self.page}:{self.line}"


@dataclass
class Page:
    """A document: its code blocks, and the repository files that are linked into the folder in which the blocks run."""

    name: str
    files: dict[str, str] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)


def check(only: list[str]) -> int:
    """Run or parse the code blocks of all documents, or only of the documents `only`. Returns 1 if a block fails."""
    pages = [parse(name, (REPOSITORY / name).read_text()) for name in only or tracked(*PAGES)]
    built.build()
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
    """Read the code blocks of a document, and the HTML comments that say how to run each block."""
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
    """Run or parse the code blocks of a document. Returns descriptions of the faults."""
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
    """Run a code block of a document. Returns a description of the fault; None if the block succeeds."""
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
        program.symlink_to(built.PROGRAM)
    (folder / "target").mkdir(exist_ok=True)
    code = served(block.code)
    words = [PYTHON, "-c", code] if block.language == "python" else ["bash", "-euo", "pipefail", "-c", code]
    # HOME is the temporary folder, so that no file of the user is read or written.
    home = {"HOME": str(folder), "PATH": f"{commands}:/usr/bin:/bin", "MPLBACKEND": "agg"}
    variables = {name: value for name, value in os.environ.items() if name.startswith(("LANG", "LC_"))} | home
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=variables, check=False)
    if done.returncode:
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    if block.prints is not None and not agrees(block.prints, done.stdout + done.stderr):
        return f"printed something else than the page shows:\n{done.stdout}{done.stderr}"
    return None


def served(code: str) -> str:
    """A code block of a document, in which `cargo run` is replaced by the program under test."""
    return code.replace("cargo run --release -- ", "antsreg-gpu ")


def agrees(shown: str, printed: str) -> bool:
    """Whether the output of a command matches the output that the document shows.

    In the document, … stands for any text.
    """
    lines = []
    for line in shown.strip().splitlines():
        whole = line.strip() == "…"
        lines.append(r"(?:.*\n)*?" if whole else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n")
    return re.fullmatch("".join(lines), "".join(f"{line.rstrip()}\n" for line in printed.strip().splitlines())) is not None


def check_words(block: Block) -> str | None:
    """Parse the commands of a code block that cannot be run. Returns a description of the fault, if there is one."""
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
    """The words of each command in a shell block of a document.

    Variable assignments before a command and redirections are left out.
    """
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
    """Check a command without running it. Returns a description of the fault, if there is one."""
    program = words[0]
    if program == "antsreg-gpu" or (program in CHECKED and len(words) > 1):
        done = subprocess.run([UNDERSTANDS, *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)
        return (done.stderr or "not understood") if done.returncode else None
    script = REPOSITORY / (words[1] if program in {"python3", "python"} and len(words) > 1 else program)
    if script.is_file() and script.is_relative_to(REPOSITORY):
        return check_script(script, words)
    if program in RUNNABLE | FOREIGN:
        return None
    return "no such script or program is known"


def check_script(script: Path, words: list[str]) -> str | None:
    """Check that a script knows the options of a command line.

    Returns the options that occur neither in its help nor in its source.
    """
    text = script.read_text()
    if script.suffix == ".py":
        text += subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=False).stdout
    options = [word.split("=")[0] for word in words if word.startswith("--") and word != "--"]
    missing = [option for option in options if option not in text]
    return f"{script.name} has no option {', '.join(missing)}" if missing else None
