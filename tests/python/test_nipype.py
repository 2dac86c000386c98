"""Tests of the interfaces of nipype: each runs the command by nipype and returns the files that it wrote."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from conftest import Pair, command

# nipype asks a server for its latest version when it is imported.
os.environ.setdefault("NO_ET", "1")
nipype = pytest.importorskip("antsreg_gpu.nipype")

LEVELS: dict[str, Any] = {"shrink_factors": [2], "smoothing_sigmas": [1.0], "iterations": [4], "gradient_step": 0.25, "device": "cpu"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_registration_and_its_transforms(pair: Pair, folder: Path) -> None:
    register = nipype.Register(fixed=pair.fixed, moving=pair.moving, cost="nmi", no_search=True, **LEVELS)
    assert "--cost=nmi" in register.cmdline and "--no-search" in register.cmdline
    found = register.run().outputs
    words = ["--shrink-factors", "2", "--smoothing-sigmas", "1", "--iterations", "4", "--gradient-step", "0.25", "--cost", "nmi", "--no-search"]
    command("register", "-f", pair.fixed, "-m", pair.moving, "-o", folder / "c_", "--device", "cpu", *words)
    for path, name in ((found.warp, "1Warp.nii.gz"), (found.affine, "0GenericAffine.mat"), (found.warped, "Warped.nii.gz")):
        assert Path(path).read_bytes() == (folder / f"c_{name}").read_bytes(), name
    apply = nipype.Apply(input=pair.moving, reference=pair.fixed, transform=found.forward_transforms)
    again = nib.load(apply.run().outputs.output).get_fdata()
    assert np.allclose(again, nib.load(found.warped).get_fdata(), atol=1e-3 * again.max())
    back = nipype.Apply(input=pair.fixed, reference=pair.moving, transform=found.inverse_transforms, output="back.nii")
    assert np.allclose(
        nib.load(back.run().outputs.output).get_fdata(), nib.load(found.inverse_warped).get_fdata(), atol=1e-3 * again.max()
    )
    jacobian = nipype.Jacobian(**{nipype.Jacobian.input_spec().class_editable_traits()[0]: found.warp})
    assert jacobian.inputs.output == "jacobian.nii.gz"


def test_traits_are_the_options_of_the_command(pair: Pair) -> None:
    register = nipype.Register(fixed=pair.fixed, moving=pair.moving)
    for wrong in ({"cost": "mutual"}, {"cc_radius": "wide"}, {"fixed": "nothing.nii.gz"}, {"surprise": 1}):
        with pytest.raises(Exception, match=next(iter(wrong))):
            register.inputs.trait_set(**wrong)
            if "surprise" in wrong:
                nipype.Register(**wrong)
    assert "window" in register.inputs.trait("cc_radius").desc
    register.inputs.search_degrees = [30, 30, 60]
    register.inputs.report = True
    register.inputs.moving_lesion = [str(pair.moving), str(pair.moving)]
    line = register.cmdline
    assert "--search-degrees=30,30,60" in line and "--report" in line and line.count("--moving-lesion=") == 2


def test_a_failure_shows_the_message_of_the_command(pair: Pair, folder: Path) -> None:
    with pytest.raises(Exception, match="cc-radius"):
        nipype.Register(fixed=pair.fixed, moving=pair.moving, cc_radius=99).run()


def test_many_subjects(pair: Pair, folder: Path) -> None:
    batch = nipype.Batch(fixed=pair.fixed, subjects=[pair.moving, pair.fixed], **LEVELS)
    found = batch.run().outputs
    assert Path(found.summary) == folder / "batch" / "summary.csv" and Path(found.report).exists()
    assert sum(path.endswith("_record.json") for path in found.files) == 2


def test_other_verbs(pair: Pair, masks: Pair, folder: Path) -> None:
    bias = nipype.Bias(input=pair.fixed, mask=masks.fixed, iterations="2", device="cpu")
    assert Path(bias.run().outputs.output).exists()
    image = nib.load(pair.fixed)
    volumes = np.stack([image.get_fdata(dtype=np.float32)] * 3, axis=-1)
    nib.save(nib.Nifti1Image(volumes, image.affine), folder / "series.nii")
    motion = nipype.Motion(input=folder / "series.nii", dof=6, smoothing_sigmas_mm=[4.0], fsl=True, device="cpu")
    found = motion.run().outputs
    assert Path(found.corrected).exists() and Path(found.table).exists() and Path(found.matrices).is_dir()
    (folder / "a.txt").write_text("1 0 0 4\n0 1 0 0\n0 0 1 0\n0 0 0 1\n")
    convert = nipype.Convert(input="a.txt", output="b.lta", from_="fsl", fixed=pair.fixed, moving=pair.moving)
    assert Path(convert.run().outputs.output) == folder / "b.lta"
