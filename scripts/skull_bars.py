#!/usr/bin/env python3
"""Measure how often a head or a brain is taken for the other, on changed copies of heads.

    scripts/skull_bars.py DATA [--variations N] [--seed N] [--only NAME] [--device DEVICE] [--program PROGRAM]

Each head of DATA is changed at random: resampled to thick slices, cropped, without its face, with bright or dark fat,
with air set to zero, with noise, shaded. If its brain mask is known, the brain is changed too: with tissue left around
it, cropped to its box, with noise, in thick slices. Each image is registered to the brain of the template, without a
search; the record tells whether its brain was extracted. That must be so for heads, and must not be so for brains. The
exit code is 1 if a decision is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

# Image in DATA, and the mask of its brain if it is known.
HEADS = [
    ("heads/mni2009c_2mm_T1", "heads/mni2009c_2mm_brainmask"),
    ("heads/mni2009c_2mm_T2", "heads/mni2009c_2mm_brainmask"),
    ("heads/mni2009c_2mm_PD", "heads/mni2009c_2mm_brainmask"),
    ("heads/p04_t1", "heads/p04_t1_brainmask"),
    ("heads/p04_flair", "heads/p04_flair_brainmask"),
    ("heads/p12_t1", "heads/p12_t1_brainmask"),
    ("heads/p12_flair", "heads/p12_flair_brainmask"),
    ("heads/head_a_t1", None),
    ("heads/head_a_pd", None),
    ("wholehead/pycortex_S1_T1", None),
    ("epi/a_t1_in_bold", "epi/a_mask"),
]
#: Finest voxel size of the changed copies, mm.
FINEST_MM = 2.5


class Head:
    """A head on a coarse grid: its voxels, their size in mm, the mask of its object and of its brain."""

    def __init__(self, data: Path, image: str, mask: str | None) -> None:
        import nibabel as nib
        import numpy as np
        from scipy import ndimage

        def read(name: str):
            return nib.as_closest_canonical(nib.squeeze_image(nib.load(data / f"{name}.nii.gz")))

        read_image = read(image)
        steps = [max(1, round(FINEST_MM / size)) for size in read_image.header.get_zooms()[:3]]
        every = tuple(slice(None, None, step) for step in steps)
        self.affine = read_image.affine @ np.diag([*steps, 1])
        self.voxels = np.asarray(read_image.dataobj, dtype=np.float32)[every]
        self.size = np.linalg.norm(self.affine[:3, :3], axis=0)
        self.brain = np.asarray(read(mask).dataobj)[every] > 0 if mask else None
        above = self.voxels[self.voxels > self.voxels.min()]
        self.bright = float(np.quantile(above, 0.98))
        self.object = ndimage.binary_fill_holes(self.voxels > 0.1 * self.bright)

    def changed_head(self, random):
        """A changed copy of the head: voxels, affine and the names of the changes."""
        import numpy as np
        from scipy import ndimage

        voxels, affine, names = self.voxels.copy(), self.affine.copy(), []
        inside = np.argwhere(self.object)
        low, high = np.percentile(inside, 1, axis=0), np.percentile(inside, 99, axis=0)
        place = [(n - a) / (b - a) for n, a, b in zip(np.indices(voxels.shape), low, high, strict=True)]
        if random.random() < 0.4:
            depth = ndimage.distance_transform_edt(self.object, sampling=self.size)
            voxels[(depth > 0) & (depth < 8)] *= (fat := random.choice([0.2, 0.5, 2, 4]))
            names.append(f"fat times {fat}")
        if random.random() < 0.4:
            voxels[(place[1] > random.uniform(0.55, 0.7)) & (place[2] < random.uniform(0.3, 0.5))] = 0
            names.append("no face")
        if random.random() < 0.3:
            voxels[~self.object] = 0
            names.append("air zero")
        if random.random() < 0.3:
            voxels *= np.exp(random.uniform(-1, 1) * (place[random.integers(3)] - 0.5))
            names.append("shaded")
        if random.random() < 0.3:
            voxels += np.abs(random.normal(0, 0.04 * self.bright, voxels.shape))
            names.append("noise")
        if random.random() < 0.5:
            axis, away = random.integers(3), random.uniform(10, 40)
            count = int(away / self.size[axis])
            start = int(low[axis]) + count if random.random() < 0.5 and axis != 1 else 0
            stop = voxels.shape[axis] if start else int(high[axis]) - count
            part = [slice(None)] * 3
            part[axis] = slice(start, stop)
            voxels = voxels[tuple(part)]
            affine[:3, 3] += affine[:3, axis] * start
            names.append(f"cropped by {away:.0f} mm along {axis}")
        return (*thick(voxels, affine, random, names), names)

    def changed_brain(self, random):
        """A changed copy of the brain: voxels, affine and the names of the changes."""
        import numpy as np
        from scipy import ndimage

        names = []
        kept = self.brain
        if random.random() < 0.5:
            around = random.uniform(1, 5)
            kept = ndimage.distance_transform_edt(~kept, sampling=self.size) <= around
            names.append(f"{around:.1f} mm around the brain")
        voxels, affine = np.where(kept, self.voxels, 0), self.affine.copy()
        if random.random() < 0.3:
            found = np.argwhere(kept)
            low, high = found.min(axis=0), found.max(axis=0) + 1
            voxels = voxels[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
            affine[:3, 3] += affine[:3, :3] @ low
            names.append("cropped to its box")
        if random.random() < 0.3:
            voxels = voxels + np.abs(random.normal(0, 0.005 * self.bright, voxels.shape))
            names.append("noise")
        return (*thick(voxels, affine, random, names), names)


def thick(voxels, affine, random, names: list[str]):
    """Average slices to a thickness of 4 to 6 mm along a random axis, in some cases."""
    import numpy as np

    if random.random() < 0.3:
        axis = int(random.integers(3))
        count = max(1, round(random.uniform(4, 6) / np.linalg.norm(affine[:3, axis])))
        whole = voxels.shape[axis] // count * count
        shape = [*voxels.shape[:axis], whole // count, count, *voxels.shape[axis + 1 :]]
        voxels = voxels[tuple(slice(whole if n == axis else None) for n in range(3))].reshape(shape).mean(axis + 1)
        affine = affine.copy()
        affine[:3, 3] += affine[:3, axis] * (count - 1) / 2
        affine[:3, axis] *= count
        names.append(f"thick along {axis}")
    return voxels, affine


def is_extracted(typed: argparse.Namespace, template: Path, image: Path, folder: Path) -> bool:
    """Whether the program extracts the brain of an image that is registered to the template's brain."""
    prefix = folder / "found_"
    command = [typed.program, "register", "-f", template, "-m", image, "-o", prefix, "--device", typed.device]
    command += ["-t", "rigid", "--no-search", "--finest-mm", "8", "--no-warped", "--quiet"]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    brains = json.loads(prefix.with_name("found_record.json").read_text())["brains"]
    return brains[1] is not None


def main() -> None:
    """Judge all changed copies and report wrong decisions."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, metavar="DATA", help="folder with the folders heads, wholehead and epi")
    made.add_argument("--variations", type=int, default=50, metavar="N", help="copies of each head [default: 50]")
    made.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the changes [default: 1]")
    made.add_argument("--only", help="measure only heads whose names contain this text")
    made.add_argument("--device", default="auto", help="device [default: auto]")
    program = environment.REPOSITORY / "target" / "release" / "antsreg-gpu"
    made.add_argument("--program", type=Path, default=program, help="the program")
    typed = made.parse_args()
    environment.enter()
    import nibabel as nib
    import numpy as np

    faults = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        head = Head(typed.data, *HEADS[0])
        template = folder / "template.nii"
        nib.save(nib.Nifti1Image(np.where(head.brain, head.voxels, 0), head.affine), template)
        for number, (name, mask) in enumerate(HEADS):
            if typed.only and typed.only not in name:
                continue
            head, wrong, count = Head(typed.data, name, mask), 0, 0
            for variation in range(typed.variations):
                random = np.random.default_rng([typed.seed, number, variation])
                of_brain = head.brain is not None and variation % 2 == 1
                voxels, affine, names = head.changed_brain(random) if of_brain else head.changed_head(random)
                image = folder / "image.nii"
                nib.save(nib.Nifti1Image(np.ascontiguousarray(voxels, dtype=np.float32), affine), image)
                count += 1
                if is_extracted(typed, template, image, folder) == of_brain:
                    wrong += 1
                    what = "brain taken for a head" if of_brain else "head not recognised"
                    faults.append(f"{name} {variation}: {what}: {', '.join(names) or 'unchanged'}")
                    print(faults[-1], flush=True)
            print(f"{name}: {count - wrong} of {count} right", flush=True)
    if faults:
        sys.exit(f"{len(faults)} wrong decisions")


if __name__ == "__main__":
    main()
