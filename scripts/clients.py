#!/usr/bin/env python3
"""Run unmodified programs that call commands of ANTs and FSL ("clients") with antsreg-gpu in place of these commands.

Each part prints its results and fails if a client fails or gives a wrong result:

  settings    niworkflows with every settings file of niworkflows, smriprep, fmriprep, sdcflows and qsiprep
  spatial     niworkflows' SpatialNormalization: overlap of known labels, compared with real ANTs
  template    smriprep's init_register_template_wf
  extraction  niworkflows' init_brain_extraction_wf on a brain without skull: the mask must be the brain
  restrict    sdcflows' registration along one axis: displacements along the other axes must be 0
  nipype      nipype's interfaces: they must run, write the expected files, and give correct values
  functional  fMRIPrep's init_bold_hmc_wf and init_fsl_bbr_wf on simulated images with known transforms
  composites  .h5 files of antsreg-gpu read by ANTs, SimpleITK and nitransforms, and their files read by antsreg-gpu
  formats     images and transforms in the formats of other programs, read by nibabel, SimpleITK and nitransforms
  points      points, surfaces and tracts of all formats moved by apply, compared with nibabel, nitransforms and antspyx
  names       output files of antsRegistration, compared with real ANTs, for random command lines without iterations
  apply       output files of antsApplyTransforms, compared with real ANTs, for random command lines
  fusion      labels of antsJointFusion, compared with real ANTs
  commands    commands on single images and transforms, compared with real ANTs and with their definitions
  scripts     the real antsRegistrationSyN.sh and antsRegistrationSyNQuick.sh with most options; needs --scripts FOLDER
  pipelines   other real scripts of ANTs, such as antsBrainExtraction.sh; needs --scripts FOLDER

The clients are installed from PyPI into .venv/clients when first needed.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

PARTS = (
    "settings", "spatial", "template", "extraction", "restrict", "nipype", "functional", "composites", "formats", "points",
    "names", "apply", "fusion", "commands", "scripts", "pipelines",
)  # fmt: skip
#: Parts that run the real scripts of ANTs.
OF_SCRIPTS = {"scripts", "pipelines"}
REQUIREMENTS = environment.SCRIPTS / "clients" / "requirements.txt"


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], help="parts to run [default: all but scripts and pipelines]"
    )
    parser.add_argument("--program", type=Path, default=environment.REPOSITORY / "target" / "release" / "antsreg-gpu")
    parser.add_argument("--scripts", type=Path, metavar="FOLDER", help="folder of ANTs' scripts")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this text")
    parser.add_argument("--flavours", default="testing", help="of spatial: testing,fast,precise [default: testing]")
    parser.add_argument("--count", type=int, default=40, help="command lines of names and apply [default: 40]")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other command lines [default: 0]")
    parser.add_argument("--folder", type=Path, help="folder to work in, which stays [default: a temporary one]")
    typed = parser.parse_args()
    if not typed.program.exists():
        parser.error(f"{typed.program} is missing: cargo build --release")
    if not typed.scripts and (missing := OF_SCRIPTS & set(typed.parts)):
        parser.error(f"{', '.join(sorted(missing))}: needs --scripts FOLDER")
    typed.parts = typed.parts or [part for part in PARTS if part not in OF_SCRIPTS or typed.scripts]
    return typed


def main() -> int:
    """Run the chosen tests with clients. Returns 1 if a client fails or gives a wrong result."""
    typed = arguments()
    environment.enter(REQUIREMENTS)
    # Without this setting, nipype also prints the messages of commands that succeed.
    logging.getLogger("nipype").setLevel(logging.ERROR)
    typed.program = typed.program.resolve()
    typed.scripts = typed.scripts and typed.scripts.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (typed.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        links = folder / "links"
        subprocess.run([typed.program, "links", links], check=True, stdout=subprocess.DEVNULL)
        os.environ["PATH"] = f"{links}:{os.environ['PATH']}"
        # nipype chooses the names of some outputs by FSL's version, which it reads when it is imported.
        version = folder / "fsl" / "etc" / "fslversion"
        version.parent.mkdir(parents=True, exist_ok=True)
        version.write_text("6.0.7\n")
        os.environ["FSLDIR"] = str(folder / "fsl")
        from clients import parts

        os.environ |= {"FSLOUTPUTTYPE": "NIFTI_GZ", "NO_ET": "1", "NIPYPE_NO_ET": "1"}
        faults = []
        for part in typed.parts:
            print(f"\n{part}:", flush=True)
            place = folder / part
            place.mkdir(exist_ok=True)
            os.chdir(place)
            faults += parts.ALL[part](typed, place)
        os.chdir("/")
    print("\n" + ("\n".join(f"wrong: {fault}" for fault in faults) or "nothing wrong"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
