#!/usr/bin/env python3
"""Check on small volumes that the workflows write the same bytes as the single commands.

The workflows are that of `atlas` (a template) and that of `normalise` (derivatives of 24 scans, divided among 3 jobs).

The table of subjects begins with a byte order mark and names one subject only by its file; the name of the folder
contains a blank. The workflow must read this table and quote this name correctly. A table that the program refuses must
stop the workflow.

Needs cargo. Snakemake goes into an environment of its own, .venv/atlas. With --profile slurm the
workflow runs on a Slurm cluster that exists already; scripts/slurm_check.sh sets up such a cluster.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import built
import environment
from environment import REPOSITORY

WORKFLOW = REPOSITORY / "workflows" / "atlas"
REQUIREMENTS = WORKFLOW / "requirements.txt"
ENVIRONMENT = environment.folder(REQUIREMENTS)
WORK = REPOSITORY / "target" / "workflow-check"

# Few iterations are enough, because only the bytes of files are compared.
OPTIONS = [
    *("--shrink-factors", "3x2x1", "--smoothing-sigmas", "1x0x0", "--iterations", "10x10x5"),
    *("--finest-mm", "4", "--search-degrees", "30"),
]
PASSES = 2
# The second row of the table of subjects has an empty name, so the name of this subject is made from its file's name.
TABLE = "\ufeffsubject,image,labels\ns0,s0.nii.gz,s0_labels.nii.gz\n,s1.nii.gz,s1_labels.nii.gz\ns2,s2.nii.gz,s2_labels.nii.gz\n"
STEPS = "the steps"
SCANS = 24


def main() -> int:
    """Build the program, run the Snakemake workflows and the single commands, and compare the files that they write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="local", help="a folder of workflows/atlas/profiles, or a path")
    parser.add_argument("--snakemake", nargs=argparse.REMAINDER, default=[], help="further arguments of snakemake")
    arguments = parser.parse_args()
    environment.make(REQUIREMENTS)
    built.build()
    program = built.PROGRAM
    shutil.rmtree(WORK, ignore_errors=True)
    run(built.example("brains"), WORK, cwd=REPOSITORY)
    (WORK / "subjects.csv").write_text(TABLE)
    (WORK / "refused.csv").write_text(TABLE + "# no subject,s0.nii.gz,\n")
    options = ["--passes", PASSES, *OPTIONS]
    began = time.monotonic()
    run(program, "template", "subjects.csv", "-o", "whole", *options, "--device", "cpu", "--quiet", cwd=WORK)
    print(f"one-machine command: {time.monotonic() - began:.1f} s", flush=True)
    began = time.monotonic()
    profile = WORKFLOW / "profiles" / arguments.profile

    def workflow(table: str) -> list[object]:
        """The command line of Snakemake for this table of subjects."""
        return [
            *(ENVIRONMENT / "bin" / "snakemake", "--snakefile", WORKFLOW / "Snakefile", "--directory", WORK),
            *("--profile", profile if profile.is_dir() else arguments.profile, "--quiet", "all"),
            *("--config", f"subjects={table}", f"output={STEPS}", f"program={program}", f"passes={PASSES}"),
            *("device=cpu", "threads=2", f"options={OPTIONS!r}".replace("'", '"')),
            *arguments.snakemake,
        ]

    if succeeds(*workflow("refused.csv"), cwd=WORK):
        print("a table that the program refuses does not stop the workflow")
        return 1
    run(*workflow("subjects.csv"), cwd=WORK)
    print(f"workflow, profile {arguments.profile}: {time.monotonic() - began:.1f} s", flush=True)
    whole, steps = digests(WORK / "whole"), digests(WORK / STEPS)
    differing = [name for name in sorted(whole.keys() | steps.keys()) if whole.get(name) != steps.get(name)]
    print(f"{len(whole)} files of the one-machine command, {len(differing)} of which the workflow has otherwise")
    for name in differing:
        print(f"  {name}")
    return 1 if differing or not whole else normalise(program, options=arguments.snakemake)


def normalise(program: Path, options: list[str]) -> int:
    """Compare the derivatives of a single command with those of the workflow, which divides the scans among jobs.

    Returns 1 if they differ.
    """
    table = ["subject,image,mask", *(f"n{n:02},s{n % 3}.nii.gz,s{n % 3}_labels.nii.gz" for n in range(SCANS))]
    (WORK / "scans.csv").write_text("\n".join(table) + "\n")
    own = ["--template", "s0.nii.gz", "--no-bias", *OPTIONS]
    quiet = ["--device", "cpu", "--quiet"]
    run(program, "normalise", "scans.csv", "-o", "normalised", *own, *quiet, cwd=WORK)
    folder = REPOSITORY / "workflows" / "normalise"
    words = [
        *(ENVIRONMENT / "bin" / "snakemake", "--snakefile", folder / "Snakefile", "--directory", WORK),
        *("--profile", WORKFLOW / "profiles" / "local", "--quiet", "all", "--config", 'scans=["scans.csv"]'),
        *("output=shares", f"program={program}", "shards=3", "device=cpu", "threads=2"),
        *(f"options={own!r}".replace("'", '"'), *options),
    ]
    run(*words, cwd=WORK)
    whole, shares = ({name: digest for name, digest in digests(WORK / folder).items() if not told(name)}
                     for folder in ("normalised", "shares"))  # fmt: skip
    differing = [name for name in sorted(whole.keys() | shares.keys()) if whole.get(name) != shares.get(name)]
    print(f"{len(whole)} derivatives of one command, {len(differing)} of which the shares have otherwise")
    for name in differing:
        print(f"  {name}")
    return 1 if differing or len(whole) < SCANS else 0


def told(name: str) -> bool:
    """Whether the output file with this name contains times or command lines, which differ between runs."""
    return name.endswith(".html") or name.startswith("logs/") or name == "summary.csv"


def run(*command: object, cwd: Path) -> None:
    """Run a command. Raise an error if it fails."""
    subprocess.run([str(word) for word in command], cwd=cwd, check=True, env=variables())


def succeeds(*command: object, cwd: Path) -> bool:
    """Run a command. Returns whether it succeeds; its error messages are not shown."""
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, env=variables(), capture_output=True, check=False).returncode == 0


def variables() -> dict[str, str]:
    """Environment variables for commands: PATH begins with the folder of Snakemake's virtual environment."""
    return os.environ | {"PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"}


def digests(folder: Path) -> dict[str, str]:
    """Digests (SHA-256) of the files of a template, except of files that contain paths or times.

    Left out are hidden files, the plan (paths) and the record (times).
    """
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    skipped = {"atlas.json", "record.json"}
    named = {str(name): path for name, path in files.items() if not any(part.startswith(".") for part in name.parts)}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in named.items() if name not in skipped}


if __name__ == "__main__":
    sys.exit(main())
