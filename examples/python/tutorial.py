"""The tutorial of docs/python.md as a script: registers the example pair and draws it.

python examples/python/tutorial.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import nibabel as nib
import numpy as np
from nilearn import plotting

import antsreg_gpu

examples = Path(__file__).resolve().parents[1]
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "tutorial")
folder.mkdir(parents=True, exist_ok=True)


def half(path: Path) -> nib.Nifti1Image:
    """Every second voxel of an image, so that the tutorial takes seconds."""
    image: nib.Nifti1Image = nib.Nifti1Image.from_filename(path).slicer[::2, ::2, ::2]
    return image


# 1. Images of nibabel in, a registration out.
fixed = half(examples / "icbm152_t1_2mm.nii.gz")
moving = half(examples / "colin27_t1_2mm.nii.gz")
result = antsreg_gpu.register(fixed, moving, preset="fast")
print(result)
similarity = result.record["similarity"]
print(f"correlation {similarity['correlation_at_start']:.3f} at the start, {similarity['correlation']:.3f} now")

# 2. Arrays: the affine is 4×4, the warp X×Y×Z×3, both RAS mm, from fixed to moving.
assert result.warp is not None
print("the longest displacement:", np.linalg.norm(result.warp, axis=-1).max().round(1), "mm")

# 3. Pictures.
view = plotting.plot_anat(result.warped, title="moving, on the fixed grid")
view.add_contours(fixed, levels=[60.0], colors="red", linewidths=0.5)
view.savefig(str(folder / "warped.png"))
view.close()
assert result.jacobian is not None
plotting.plot_stat_map(result.jacobian, bg_img=fixed, output_file=str(folder / "jacobian.png"), title="determinants")

# 4. Labels and points through the same transforms.
def thirds(image: nib.Nifti1Image) -> tuple[np.ndarray, np.ndarray]:
    """Labels by intensity: the darker, middle and brighter thirds of the head."""
    voxels = image.get_fdata()
    return np.digitize(voxels, [1.0, *np.quantile(voxels[voxels > 1.0], [1 / 3, 2 / 3])]), image.affine


labels = thirds(moving)
carried = result.apply(labels, interpolation="generic-label")
print("mean Dice:", round(antsreg_gpu.overlap(carried, thirds(fixed)).mean.dice, 3))
print("a fixed point in the moving image:", result.transform_points([[0.0, -20.0, 10.0]])[0].round(1))

# 5. The files of the command, under ANTs' names.
for path in result.save(folder / "pair_"):
    print(path.name)

# 6. Many images to one: prepared once, some read while others are computed.
for number, found in enumerate(antsreg_gpu.register_many(fixed, [moving, fixed], preset="fast")):
    print(number, round(found.record["similarity"]["correlation"], 3))

# 7. Files of many subjects, as the command `batch` writes them, and a table of the outcomes.
for name, image in (("fixed", fixed), ("moving", moving)):
    antsreg_gpu.write_image(folder / f"{name}.nii.gz", image)
study = antsreg_gpu.batch(folder / "fixed.nii.gz", [folder / "moving.nii.gz"], folder / "batch", preset="fast")
print(study.table[["status", "correlation"]])

# 8. ANTsPy's functions on this engine.
import antsreg_gpu.ants as ants  # noqa: E402

mytx = ants.registration(fixed, moving, "Affine")
print(sorted(mytx))
