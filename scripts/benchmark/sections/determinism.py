"""Checks that a registration gives the same bytes in every run and with any number of threads."""

from __future__ import annotations

from pathlib import Path

from benchmark.context import Context
from benchmark.report import Report

MOVING, FIXED = "1001", "1000"
FILES = ["0GenericAffine.mat", "1Warp.nii.gz", "1InverseWarp.nii.gz", "Warped.nii.gz", "InverseWarped.nii.gz"]


def determinism(context: Context) -> Report:
    """Run a registration twice with all threads and once with one thread, and compare the files."""
    report = Report(
        commands=[
            f"antsreg-gpu register -f {FIXED}_t1.nii.gz -m {MOVING}_t1.nii.gz -o PREFIX_ --threads {threads}"
            for threads in (context.program.threads, 1)
        ]
    )
    bars = report.bars()
    arguments = (context.data.t1(FIXED), context.data.t1(MOVING), "--preset", "default")
    first = context.program.register(*arguments).prefix
    again = context.program.register(*arguments, again="again").prefix
    single = context.program.register(*arguments, threads=1).prefix
    for name, other in (("two runs", again), (f"1 thread and {context.program.threads}", single)):
        same = sum(Path(first + file).read_bytes() == Path(other + file).read_bytes() for file in FILES)
        bars.add(f"{name}: files with the same bytes", f"{len(FILES)} of {len(FILES)}", f"{same}", same == len(FILES))
    return report
