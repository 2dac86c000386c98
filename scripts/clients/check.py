#!/usr/bin/env python3
"""Run the real clients of ANTs' commands, unchanged, on this program.

Each part prints a table and fails if a client gets something wrong:

  settings   every settings file of niworkflows, smriprep, fmriprep, sdcflows and qsiprep: ran, refused by name, or wrong
  spatial    niworkflows' SpatialNormalization: overlap of known labels beside that of real ANTs
  restrict   sdcflows' registration along one axis: nothing moves along the others
  nipype     nipype's Registration and RegistrationSynQuick: outputs lie where nipype looks
  names      files of antsRegistration beside those of real ANTs, for generated command lines without iterations
  scripts    the real antsRegistrationSyN.sh and Quick (--scripts FOLDER), every -t
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

PARTS = ("settings", "spatial", "restrict", "nipype", "names", "scripts")


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="parts to run [default: all but scripts]")
    parser.add_argument("--program", type=Path, default=environment.REPOSITORY / "target" / "release" / "antsreg-gpu")
    parser.add_argument("--scripts", type=Path, metavar="FOLDER", help="folder of ANTs' scripts")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this text")
    parser.add_argument("--flavours", default="testing", help="of spatial: testing,fast,precise [default: testing]")
    parser.add_argument("--count", type=int, default=40, help="command lines of names [default: 40]")
    parser.add_argument("--folder", type=Path, help="folder to work in, which stays [default: a temporary one]")
    return parser.parse_args()


def main() -> int:
    """Run the parts; 1 if a client gets something wrong."""
    typed = arguments()
    if not typed.program.exists():
        sys.exit(f"error: {typed.program} is missing: cargo build --release")
    environment.enter()
    typed.program = typed.program.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (typed.folder or Path(temporary)).resolve()
        links = folder / "links"
        subprocess.run([typed.program, "links", links], check=True, stdout=subprocess.DEVNULL)
        os.environ["PATH"] = f"{links}:{os.environ['PATH']}"
        os.environ.setdefault("NO_ET", "1")
        os.environ.setdefault("NIPYPE_NO_ET", "1")
        import parts

        wanted = typed.parts or [part for part in PARTS if part != "scripts"]
        faults = [fault for part in wanted for fault in getattr(parts, part)(typed, folder)]
    print("\n".join(f"wrong: {fault}" for fault in faults) if faults else "\nnothing wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
