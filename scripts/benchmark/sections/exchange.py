"""Checks the exchange of transforms: ANTs applies those of antsreg-gpu, and antsreg-gpu applies those of ANTs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmark import scores
from benchmark.context import Context
from benchmark.images import read_image
from benchmark.report import Bars, Report

RANGE_SHARE = 0.001
VOXEL_SHARE = 0.999
MOVING, FIXED = "1001", "1000"


def exchange(context: Context) -> Report:
    """Apply the transforms of antsreg-gpu and ANTs, in both directions, with both programs."""
    report = Report(
        commands=[
            "antsreg-gpu apply -i MOVING -r FIXED -t p1Warp.nii.gz -t p0GenericAffine.mat -o OUT",
            "antsreg-gpu apply -i FIXED -r MOVING -t [p0GenericAffine.mat,1] -t p1InverseWarp.nii.gz -o OUT",
            "ants.apply_transforms(…, interpolator='linear') on the same files",
        ]
    )
    bars = report.bars()
    fixed, moving = context.data.t1(FIXED), context.data.t1(MOVING)
    ours = context.program.register(fixed, moving, "--preset", "default").prefix
    theirs = ants_registration(context, fixed, moving)
    for owner, prefix in (("our", ours), ("ANTs'", theirs)):
        forward = [f"{prefix}1Warp.nii.gz", f"{prefix}0GenericAffine.mat"]
        inverse = [f"{prefix}0GenericAffine.mat", f"{prefix}1InverseWarp.nii.gz"]
        compare(bars, context, f"{owner} transforms, moving → fixed", moving, fixed, forward, [False, False])
        compare(bars, context, f"{owner} transforms, fixed → moving", fixed, moving, inverse, [True, False])
    return report


def ants_registration(context: Context, fixed: Path, moving: Path) -> str:
    """Make transforms by a short SyN of ANTs. They need not be accurate."""
    import ants

    prefix = str(context.work / "ants_short_")
    ants.registration(
        ants.image_read(str(fixed)),
        ants.image_read(str(moving)),
        type_of_transform="SyN",
        reg_iterations=(20, 10, 0),
        outprefix=prefix,
        random_seed=1,
    )
    return prefix


def compare(
    bars: Bars, context: Context, name: str, image: Path, reference: Path, files: list[str], invert: list[bool]
) -> None:
    """Apply transforms with both programs and add a table row: the share of brain voxels on which they agree."""
    import ants

    target = ants.image_read(str(reference))
    expected = ants.apply_transforms(
        target, ants.image_read(str(image)), files, interpolator="linear", whichtoinvert=invert
    ).numpy()
    output = context.work / "applied.nii.gz"
    steps = [f"[{file},1]" if inverted else file for file, inverted in zip(files, invert, strict=True)]
    options = [word for step in steps for word in ("-t", step)]
    context.program.run("apply", "-i", image, "-r", reference, "-o", output, *options)
    # Both arrays have the memory order of the reference image, so their voxels correspond.
    applied = read_image(output).voxels
    brain = read_image(reference).brain()
    apart = scores.differences(expected, applied, brain)
    share = float(np.mean(apart <= RANGE_SHARE))
    what = f"{name}: voxels of the brain within {RANGE_SHARE:.1%} of the range"
    bars.add(what, f"≥ {VOXEL_SHARE:.1%}", f"{share:.3%}; largest {apart.max():.4%}", share >= VOXEL_SHARE)
