"""Images and transforms in the formats of other programs, exchanged with nibabel, SimpleITK and nitransforms.

Images are compared voxel by voxel and at the corners of their grids, transforms at 1000 points, both ways.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
from pathlib import Path

import h5py
import nibabel as nib
import nitransforms
import numpy as np
import SimpleITK as sitk

#: Largest accepted distance of positions: headers of NIfTI-1 and MGH store single precision. mm.
ROUNDING_MM = 1e-4
#: Largest accepted distance of points that two readers of a transform map, mm.
APART_MM = 1e-3
SHAPE = (7, 6, 5)
#: Storage types of each format.
TYPES = {
    "mgh": ("uint8", "int16", "uint16", "int32", "float32"),
    "nii": ("uint8", "int16", "int32", "float32", "float64"),
    "": ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"),
}
FLIP = np.diag([-1.0, -1.0, 1.0, 1.0])


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Exchange images and transforms, and return the faults."""
    faults = images(typed.program, folder) + nrrd_spaces(typed.program) + affines(typed.program) + warps(typed.program)
    print(f"{len(faults)} faults", flush=True)
    return faults


def run(program: Path, *words: str | Path) -> None:
    """Run antsreg-gpu; an error has its messages."""
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(map(str, words))}: {done.stderr}")


def grids() -> dict[str, np.ndarray]:
    """Voxel-to-world maps (RAS mm) of several orientations."""
    sizes, origin = np.array([1.0, 1.25, 2.5]), np.array([-20.5, 31.0, 8.25])
    a, b = 0.3, -0.7
    turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    turn = turn @ np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    axes = {"RAS": np.eye(3), "LPS": np.diag([-1, -1, 1]), "ASL": np.array([[0, 0, -1], [1, 0, 0], [0, 1, 0]]), "oblique": turn}
    axes["oblique, reflected"] = turn @ np.diag([-1, 1, 1])
    made = {}
    for name, directions in axes.items():
        made[name] = np.eye(4)
        made[name][:3, :3], made[name][:3, 3] = directions * sizes, origin
    return made


def write(path: Path, voxels: np.ndarray, affine: np.ndarray) -> None:
    """Write an image by the reference writer of its format."""
    if path.suffix in (".mgh", ".mgz"):
        nib.save(nib.MGHImage(voxels, affine), path)
    elif path.name == "two.nii.gz":
        nib.save(nib.Nifti2Image(voxels, affine), path)
    elif path.suffix in (".nii", ".gz"):
        image = nib.Nifti1Image(voxels, affine)
        image.set_data_dtype(voxels.dtype)
        nib.save(image, path)
    else:
        image = sitk.GetImageFromArray(voxels.T)
        lps = FLIP @ affine
        sizes = np.linalg.norm(lps[:3, :3], axis=0)
        image.SetSpacing(sizes.tolist())
        image.SetDirection((lps[:3, :3] / sizes).ravel().tolist())
        image.SetOrigin(lps[:3, 3].tolist())
        sitk.WriteImage(image, str(path), useCompression=path.stem.endswith("packed"))


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read voxels and the voxel-to-world map (RAS) by the reference reader of a format."""
    if path.suffix in (".mgh", ".mgz", ".nii", ".gz"):
        image = nib.load(path)
        return np.asarray(image.dataobj), image.affine
    image = sitk.ReadImage(str(path))
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * np.array(image.GetSpacing())
    affine[:3, 3] = image.GetOrigin()
    return sitk.GetArrayFromImage(image).T, FLIP @ affine


def apart(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> str:
    """What differs in two images; nothing if they are equal."""
    if one[0].shape != other[0].shape or not np.array_equal(one[0].astype(float), other[0].astype(float)):
        return "voxels differ"
    corners = np.array([[*index, 1] for index in itertools.product(*((0, n) for n in SHAPE))]).T
    distance = np.linalg.norm((one[1] - other[1]) @ corners, axis=0).max()
    return "" if distance < ROUNDING_MM else f"corners are {distance} mm apart"


def images(program: Path, folder: Path) -> list[str]:
    """Images of every format, type and orientation, both ways. antsreg-gpu copies them by `apply` without transforms."""
    faults = []
    names = ["a.mgh", "a.mgz", "two.nii.gz", "a.nrrd", "packed.nrrd", "a.nhdr", "a.mha", "packed.mha", "a.mhd", "packed.mhd"]
    everywhere = itertools.chain(
        ((name, "int16", grid) for name in names for grid in grids()),
        ((name, kind, "oblique") for name in names for kind in TYPES.get(name.split(".")[1][:3].replace("mgz", "mgh"), TYPES[""])),
    )
    count = 0
    for name, kind, grid in dict.fromkeys(everywhere):
        affine = grids()[grid]
        low = 0 if kind.startswith("u") else -60
        voxels = (np.arange(np.prod(SHAPE)).reshape(SHAPE, order="F") % 120 + low).astype(kind)
        theirs, ours, back = folder / name, folder / "ours.nii.gz", folder / ("back" + name[name.index(".") :])
        write(theirs, voxels, affine)
        run(program, "apply", "-i", theirs, "-r", theirs, "-o", ours, "-n", "nearest")
        run(program, "apply", "-i", ours, "-r", ours, "-o", back, "-n", "nearest")
        expected = (voxels, affine)
        for what, found in {"read": read(ours), "written": read(back)}.items():
            count += 1
            if fault := apart(expected, found):
                faults.append(f"{name} {kind} {grid}, {what} by us: {fault}")
    print(f"{count} images compared", flush=True)
    return faults


def nrrd_spaces(program: Path) -> list[str]:
    """Headers of NRRD that SimpleITK does not write, as it reads them: other spaces, no space, big-endian."""
    voxels = np.arange(24, dtype=">i2")
    directions = "space directions: (0,2,0) (-3,0,0) (0,0,4)\nspace origin: (5,6,7)\n"
    heads = {
        "RAS": f"space: right-anterior-superior\n{directions}",
        "LAS": f"space: LAS\n{directions}",
        "unknown": f"space dimension: 3\n{directions}",
        "spacings": "spacings: 2 3 4\n",
        "axis mins": "spacings: 2 3 4\naxis mins: 1 2 3\n",
    }
    faults = []
    for name, head in heads.items():
        start = f"NRRD0004\ntype: short\ndimension: 3\nsizes: 2 3 4\nendian: big\nencoding: raw\n{head}\n"
        path = Path("space.nrrd")
        path.write_bytes(start.encode() + voxels.tobytes())
        run(program, "apply", "-i", path, "-r", path, "-o", "space.nii.gz", "-n", "nearest")
        if fault := apart(read(path), read(Path("space.nii.gz"))):
            faults.append(f"NRRD, {name}: {fault}")
    return faults


def some_affine(random: np.random.Generator) -> np.ndarray:
    """An affine map at random: turns of up to 1 radian, scales from 0.8 to 1.2."""
    affine = np.eye(4)
    turn, _ = np.linalg.qr(np.eye(3) + 0.4 * random.uniform(-1, 1, (3, 3)))
    affine[:3, :3] = turn @ np.diag(random.uniform(0.8, 1.2, 3)) + 0.1 * random.uniform(-1, 1, (3, 3))
    affine[:3, 3] = random.uniform(-40, 40, 3)
    return affine


def affines(program: Path) -> list[str]:
    """Affine maps, both ways: ours read by nitransforms, nitransforms' read by us."""
    random = np.random.default_rng(1)
    points = random.uniform(-100, 100, (1000, 3))
    spaces = list(grids().values())
    faults = []
    ends = {"fs": ("lta", "t.lta"), "afni": ("afni", "t.aff12.1D"), "fsl": ("fsl", "t.mat"), "X5": ("x5", "t.x5")}
    for fmt, (ours, name) in ends.items():
        for number in range(3):
            # AFNI's matrices are for images that are not oblique.
            fixed, moving = (0, 1 + number % 2) if fmt == "afni" else (number, 4 - number)
            for which, at in {"f.nii.gz": fixed, "m.nii.gz": moving}.items():
                write(Path(which), np.zeros(SHAPE, "uint8"), spaces[at])
            true = nitransforms.linear.Affine(some_affine(random), reference="f.nii.gz")
            true.to_filename("theirs.txt", fmt="itk")
            images = ["-f", "f.nii.gz", "-m", "m.nii.gz"]
            run(program, "convert", "theirs.txt", name, "--to", ours, *images)
            options = {} if fmt == "X5" else {"moving": "m.nii.gz"}
            found = nitransforms.linear.load(name, fmt=fmt, reference="f.nii.gz", **options)
            true.to_filename(name, fmt=fmt, **options)
            run(program, "convert", name, "ours.txt", "--from", ours, *(images if fmt == "fsl" else []))
            back = nitransforms.linear.load("ours.txt", fmt="itk", reference="f.nii.gz")
            for what, read_back in {"written": found, "read": back}.items():
                distance = np.linalg.norm(read_back.map(points) - true.map(points), axis=1).max()
                if distance > APART_MM:
                    faults.append(f"affine {fmt}, {what} by us: {distance} mm")
    # Matrices of MRtrix and NiftyReg are the map from fixed to moving in RAS, as their manuals say.
    run(program, "convert", "theirs.txt", "t.txt", "--to", "mrtrix")
    given = nitransforms.linear.load("theirs.txt", fmt="itk", reference="f.nii.gz")
    # nitransforms holds it in single precision.
    if not np.allclose(np.loadtxt("t.txt"), given.matrix, rtol=1e-6, atol=1e-6):
        faults.append("affine mrtrix, written by us")
    return faults


def warps(program: Path) -> list[str]:
    """Warps: ours mapped by nitransforms and by the definition of each format, with SimpleITK's map of ITK's field."""
    random = np.random.default_rng(2)
    affine = grids()["oblique, reflected"]
    write(Path("f.nii.gz"), np.zeros(SHAPE, "uint8"), affine)
    vectors = random.uniform(-9, 9, (*SHAPE, 3)).astype("float32")
    positions = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), -1) @ affine[:3, :3].T + affine[:3, 3]
    lps = nib.Nifti1Image((vectors * [-1, -1, 1])[:, :, :, None].astype("float32"), affine)
    lps.header.set_intent("vector")
    nib.save(lps, "itk.nii.gz")
    faults = []

    def compare(what: str, found: np.ndarray, expected: np.ndarray) -> None:
        distance = np.abs(found - expected).max()
        if not distance < APART_MM:
            faults.append(f"warp {what}: {distance} mm")

    absolute = {"mrtrix": (*SHAPE, 3), "spm": (*SHAPE, 1, 3), "niftyreg": (*SHAPE, 1, 3)}
    for name, shape in absolute.items():
        run(program, "convert", "itk.nii.gz", f"{name}.nii.gz", "--to", name)
        image = nib.load(f"{name}.nii.gz")
        if image.shape != shape:
            faults.append(f"warp {name}: shape {image.shape}")
            continue
        compare(name, np.asarray(image.dataobj).reshape(*SHAPE, 3), positions + vectors)
        field = nitransforms.nonlinear.DenseFieldTransform(image.dataobj, is_deltas=False, reference="f.nii.gz")
        compare(f"{name} by nitransforms", field.map(positions.reshape(-1, 3)), (positions + vectors).reshape(-1, 3))
        run(program, "convert", f"{name}.nii.gz", "back.nii.gz", "--from", name, "--to", "itk")
        compare(f"{name} back", np.asarray(nib.load("back.nii.gz").dataobj), np.asarray(lps.dataobj))
    run(program, "convert", "itk.nii.gz", "disp.nii.gz", "--to", "niftyreg-disp")
    disp = nib.load("disp.nii.gz")
    compare("niftyreg-disp", np.asarray(disp.dataobj)[:, :, :, 0], vectors)
    if disp.header["intent_p1"] != 1 or disp.header["intent_name"] != b"NREG_TRANS":
        faults.append("warp niftyreg-disp: its header")
    run(program, "convert", "itk.nii.gz", "w.x5")
    with h5py.File("w.x5") as file:
        group = file["TransformGroup/0"]
        if file.attrs["Format"] != "X5" or group.attrs["Type"] != "nonlinear":
            faults.append("warp x5: its attributes")
    x5 = nitransforms.nonlinear.DenseFieldTransform.from_filename("w.x5", fmt="X5")
    compare("x5 by nitransforms", x5.map(positions.reshape(-1, 3)), (positions + vectors).reshape(-1, 3))
    nitransforms.io.x5.to_filename("theirs.x5", [x5.to_x5()])
    run(program, "convert", "theirs.x5", "back.nii.gz")
    compare("x5 of nitransforms", np.asarray(nib.load("back.nii.gz").dataobj), np.asarray(lps.dataobj))
    for name in ("w.nrrd", "w.mha"):
        run(program, "convert", "itk.nii.gz", name)
        read_by_itk = sitk.GetArrayFromImage(sitk.ReadImage(name))
        compare(f"{name} by SimpleITK", read_by_itk.transpose(2, 1, 0, 3), vectors * [-1, -1, 1])
        sitk.WriteImage(sitk.ReadImage(name), f"again{name}")
        run(program, "convert", f"again{name}", "back.nii.gz")
        compare(f"{name} of SimpleITK", np.asarray(nib.load("back.nii.gz").dataobj), np.asarray(lps.dataobj))
    return faults
