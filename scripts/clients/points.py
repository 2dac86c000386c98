"""Points, surfaces and tracts moved by `apply`, compared point by point with other programs.

Each file is written with noise for points, moved by a warp and an affine map, and read again, by nibabel where it reads
the format. nitransforms and antspyx map the same points.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import ants
import nibabel as nib
import nitransforms
import numpy as np
import pandas as pd
from nibabel import gifti
from nibabel.freesurfer import read_geometry, write_geometry
from nibabel.streamlines import ArraySequence, TckFile, Tractogram, TrkFile

#: Largest accepted distance of points, mm.
APART_MM = 1e-3
LPS = np.array([-1.0, -1.0, 1.0])
SHAPE = (24, 26, 22)
#: Voxel-to-world map (RAS mm) of the warp's grid, which is oblique. ITK wants axes at right angles.
TURN, _ = np.linalg.qr(np.array([[-1.0, 0.1, 0.0], [0.1, 1.0, -0.1], [0.05, 0.1, 1.0]]))
TURN = TURN * np.sign(np.diag(TURN)) * np.array([-1.0, 1.0, 1.0])
AFFINE = np.eye(4)
AFFINE[:3, :3] = TURN * np.array([3.9, 4.1, 4.0])
AFFINE[:3, 3] = -AFFINE[:3, :3] @ (np.array(SHAPE) - 1) / 2 + [1.0, -2.0, 3.0]

#: Metadata of a surface of FreeSurfer in GIfTI: the centre and the axes of its volume.
VOLUME = {"C_R": 5.5, "C_A": -20.25, "C_S": 11.0, "X_R": -1, "X_A": 0, "X_S": 0, "Y_R": 0, "Y_A": 0, "Y_S": -1}
VOLUME |= {"Z_R": 0, "Z_A": 1, "Z_S": 0}

Reader = Callable[[Path], np.ndarray]
Writer = Callable[[Path, np.ndarray], None]


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Move points of each format, and return the faults."""
    random = np.random.default_rng(51)
    points = random.uniform(-30, 30, (1000, 3)).astype("float32").astype(float)
    transforms(random)
    expected = mapped(points)
    faults = []
    for name, (writer, reader, options) in formats().items():
        given, moved = folder / name, folder / f"moved_{name}"
        writer(given, points)
        words = ["apply", "-i", given, "-o", moved, "-t", "warp.nii.gz", "-t", "affine.txt", *options]
        done = subprocess.run([typed.program, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            faults.append(f"{name}: {done.stderr}")
            continue
        start = np.abs(reader(given) - points).max()
        distance = np.linalg.norm(reader(moved) - expected, axis=1).max()
        print(f"{name}: {distance:.2g} mm", flush=True)
        # Half a unit in the last place of positions of 16 bits is 1/64 mm.
        if not distance < (0.06 if "float16" in name else APART_MM) or not start < 0.03:
            faults.append(
                f"{name}: {distance} mm from where nitransforms and antspyx map the points, {start} mm before"
            )
    faults += kept(folder)
    print(f"{len(faults)} faults", flush=True)
    return faults


def transforms(random: np.random.Generator) -> None:
    """Write a warp and an affine map, as ITK stores them."""
    grid = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), -1).astype(float)
    vectors = np.stack([4 * np.sin(grid @ random.uniform(-0.3, 0.3, 3)) for _ in range(3)], -1)
    image = nib.Nifti1Image(vectors[:, :, :, None].astype("float32"), AFFINE)
    image.header.set_intent("vector")
    nib.save(image, "warp.nii.gz")
    affine = np.eye(4)
    affine[:3] = [[1.05, 0.1, 0.02, 6.0], [-0.08, 0.93, 0.1, -4.0], [0.05, -0.1, 1.1, 9.0]]
    nib.save(nib.Nifti1Image(np.zeros(SHAPE, "uint8"), AFFINE), "grid.nii.gz")
    nitransforms.linear.Affine(affine, reference="grid.nii.gz").to_filename("affine.txt", fmt="itk")


def mapped(points: np.ndarray) -> np.ndarray:
    """The points (RAS mm) mapped by nitransforms and antspyx, which must agree."""
    field = nib.load("warp.nii.gz")
    deltas = np.squeeze(np.asarray(field.dataobj)).astype(float) * LPS
    # nitransforms interpolates fields by splines of order 3, so the trilinear rule is applied to its field here.
    warp = nitransforms.nonlinear.DenseFieldTransform(deltas, is_deltas=True, reference="grid.nii.gz")
    index = nib.affines.apply_affine(np.linalg.inv(AFFINE), points)
    inside = trilinear(np.asarray(warp._deltas), index)
    affine = nitransforms.linear.load("affine.txt", fmt="itk", reference="grid.nii.gz")
    by_nitransforms = affine.map(points + inside)
    table = pd.DataFrame(points * LPS, columns=["x", "y", "z"])
    moved = ants.apply_transforms_to_points(3, table, ["warp.nii.gz", "affine.txt"])
    by_antspyx = moved[["x", "y", "z"]].to_numpy() * LPS
    distance = np.linalg.norm(by_nitransforms - by_antspyx, axis=1).max()
    if distance > APART_MM:
        raise ValueError(f"nitransforms and antspyx are {distance} mm apart")
    return by_antspyx


def trilinear(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Vectors between voxels."""
    low = np.floor(index).astype(int)
    share = index - low
    found = np.zeros_like(index)
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, share, 1 - share), axis=1)
        found += weight[:, None] * values[tuple((low + corner).T)]
    return found


def formats() -> dict[str, tuple[Writer, Reader, list[str]]]:
    """A writer and a reader (RAS mm) of each format, by the name of a file, with options of the program."""
    found: dict[str, tuple[Writer, Reader, list[str]]] = {
        "p.csv": (write_csv(LPS), read_csv(LPS), []),
        "ras.csv": (write_csv(1), read_csv(1), ["--coordinates", "ras"]),
        "p.json": (write_json, read_json, []),
        "t.tck": (write_tracts(TckFile), read_tracts, []),
        "t.trk": (write_trk("RAS"), read_tracts, []),
        "order.trk": (write_trk("LAS"), read_tracts, []),
        "reference.trk": (write_trk("RAS"), read_tracts, ["-r", "grid.nii.gz"]),
        "stored.trx": (write_trx("float32", zipfile.ZIP_STORED), read_trx, []),
        "packed.trx": (write_trx("float64", zipfile.ZIP_DEFLATED), read_trx, []),
        "float16.trx": (write_trx("float16", zipfile.ZIP_DEFLATED), read_trx, []),
        "scanner.surf.gii": (write_gifti("NIFTI_XFORM_SCANNER_ANAT", {}), read_gifti, []),
        "volume.surf.gii": (write_gifti("NIFTI_XFORM_UNKNOWN", VOLUME), read_gifti, []),
        "lh.white": (write_freesurfer, read_freesurfer, []),
    }
    for world, signs in {"RAS": 1, "LPS": LPS}.items():
        found[f"{world}.fcsv"] = (write_fcsv(world, signs), read_fcsv(signs), [])
        found[f"{world}.mrk.json"] = (write_markups(world, signs), read_markups(signs), [])
        found[f"{world}.vtk"] = (write_vtk(world, signs), read_vtk(signs), [])
        found[f"{world}.ply"] = (write_ply(world, signs), read_ply(signs), [])
    return found


def write_csv(signs: np.ndarray | int) -> Writer:
    """Make a writer of tables."""
    return lambda path, points: pd.DataFrame(points * signs, columns=["x", "y", "z"]).to_csv(path, index=False)


def read_csv(signs: np.ndarray | int) -> Reader:
    """Make a reader of tables."""
    return lambda path: pd.read_csv(path)[["x", "y", "z"]].to_numpy() * signs


def write_json(path: Path, points: np.ndarray) -> None:
    """Write a list of points."""
    path.write_text(json.dumps((points * LPS).tolist()))


def read_json(path: Path) -> np.ndarray:
    """Read a list of points."""
    return np.array(json.loads(path.read_text())) * LPS


def write_fcsv(world: str, signs: np.ndarray | int) -> Writer:
    """Make a writer of Slicer's tables."""

    def write(path: Path, points: np.ndarray) -> None:
        head = f"# Markups fiducial file version = 4.11\n# CoordinateSystem = {world}\n# columns = id,x,y,z,label\n"
        rows = [f'{n},{x},{y},{z},"a, {n}"' for n, (x, y, z) in enumerate((points * signs).tolist())]
        path.write_text(head + "\n".join(rows) + "\n")

    return write


def read_fcsv(signs: np.ndarray | int) -> Reader:
    """Make a reader of Slicer's tables."""
    return lambda path: np.loadtxt(path, delimiter=",", usecols=(1, 2, 3)) * signs


def write_markups(world: str, signs: np.ndarray | int) -> Writer:
    """Make a writer of Slicer's markups."""

    def write(path: Path, points: np.ndarray) -> None:
        controls = [{"id": str(n), "position": point} for n, point in enumerate((points * signs).tolist())]
        markup = {"type": "Fiducial", "coordinateSystem": world, "controlPoints": controls}
        path.write_text(json.dumps({"markups": [markup]}))

    return write


def read_markups(signs: np.ndarray | int) -> Reader:
    """Make a reader of Slicer's markups."""

    def read(path: Path) -> np.ndarray:
        controls = json.loads(path.read_text())["markups"][0]["controlPoints"]
        return np.array([control["position"] for control in controls]) * signs

    return read


def tractogram(points: np.ndarray) -> Tractogram:
    """Streamlines of several lengths, with a number for each point and for each streamline."""
    parts = np.split(points.astype("float32"), [3, 4, 100, 999])
    values = ArraySequence([part[:, :1] for part in parts])
    return Tractogram(
        parts,
        data_per_streamline={"length": [[len(part)] for part in parts]},
        data_per_point={"value": values},
        affine_to_rasmm=np.eye(4),
    )


def write_tracts(kind: type) -> Writer:
    """Make a writer of tracts."""

    def write(path: Path, points: np.ndarray) -> None:
        tracts = tractogram(points)
        if kind is TckFile:
            tracts = Tractogram(tracts.streamlines, affine_to_rasmm=np.eye(4))
        kind(tracts).save(str(path))

    return write


def write_trk(order: str) -> Writer:
    """Make a writer of TrackVis' tracts in a grid whose voxels run to the right, or to the left."""

    def write(path: Path, points: np.ndarray) -> None:
        affine = AFFINE @ np.diag([-1, 1, 1, 1]) if order == "RAS" else AFFINE
        header = {
            "voxel_to_rasmm": affine.astype("float32"),
            "voxel_sizes": nib.affines.voxel_sizes(affine).astype("float32"),
            "dimensions": np.array(SHAPE, "int16"),
            "voxel_order": order,
        }
        TrkFile(tractogram(points), header).save(str(path))

    return write


def read_tracts(path: Path) -> np.ndarray:
    """Read tracts by nibabel."""
    return nib.streamlines.load(path).streamlines.get_data().astype(float)


def write_freesurfer(path: Path, points: np.ndarray) -> None:
    """Write a surface of FreeSurfer."""
    volume = {
        "head": np.array([2, 0, 20], "int32"),
        "valid": "1  # volume info valid",
        "filename": "orig.mgz",
        "volume": np.array([256, 256, 256]),
        "voxelsize": np.ones(3),
        "xras": np.array([-1.0, 0, 0]),
        "yras": np.array([0, 0, -1.0]),
        "zras": np.array([0, 1.0, 0]),
        "cras": np.array([5.5, -20.25, 11.0]),
    }
    write_geometry(path, points - volume["cras"], np.array([[0, 1, 2]]), volume_info=volume)


def read_freesurfer(path: Path) -> np.ndarray:
    """Read a surface of FreeSurfer by nibabel."""
    points, _, volume = read_geometry(path, read_metadata=True)
    return points + volume["cras"]


def write_gifti(space: str, volume: dict[str, float]) -> Writer:
    """Make a writer of surfaces in GIfTI."""

    def write(path: Path, points: np.ndarray) -> None:
        meta = gifti.GiftiMetaData({f"VolGeom{name}": str(value) for name, value in volume.items()})
        codes = nib.nifti1.xform_codes
        system = gifti.GiftiCoordSystem(codes[space], codes["NIFTI_XFORM_TALAIRACH"], 2 * np.eye(4))
        given = (points - centre(volume)).astype("float32")
        array = gifti.GiftiDataArray(given, "NIFTI_INTENT_POINTSET", meta=meta, coordsys=system)
        faces = gifti.GiftiDataArray(np.array([[0, 1, 2]], "int32"), "NIFTI_INTENT_TRIANGLE")
        nib.save(gifti.GiftiImage(darrays=[array, faces]), path)

    return write


def centre(volume: dict[str, float]) -> np.ndarray:
    """Where the origin of a surface lies in the world, mm."""
    return np.array([float(volume.get(f"C_{axis}", 0)) for axis in "RAS"])


def read_gifti(path: Path) -> np.ndarray:
    """Read a surface by nibabel."""
    array = nib.load(path).get_arrays_from_intent("NIFTI_INTENT_POINTSET")[0]
    return array.data.astype(float) + centre(
        {name.removeprefix("VolGeom"): value for name, value in array.meta.items()}
    )


def write_trx(kind: str, method: int) -> Writer:
    """Make a writer of TRX."""

    def write(path: Path, points: np.ndarray) -> None:
        header = {
            "DIMENSIONS": SHAPE,
            "VOXEL_TO_RASMM": AFFINE.tolist(),
            "NB_VERTICES": len(points),
            "NB_STREAMLINES": 1,
        }
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("header.json", json.dumps(header))
            archive.writestr(f"positions.3.{kind}", points.astype(kind).tobytes())
            archive.writestr("offsets.uint32", np.array([0, len(points)], "uint32").tobytes())

    return write


def read_trx(path: Path) -> np.ndarray:
    """Read the positions of TRX."""
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.startswith("positions"))
        kind = name.rsplit(".", 1)[1]
        return np.frombuffer(archive.read(name), kind).reshape(-1, 3).astype(float)


def write_vtk(world: str, signs: np.ndarray | int) -> Writer:
    """Make a writer of VTK's legacy format, of text for RAS and binary for LPS."""

    def write(path: Path, points: np.ndarray) -> None:
        form = "ASCII" if world == "RAS" else "BINARY"
        head = f"# vtk DataFile Version 4.2\n3D Slicer output. SPACE={world}\n{form}\nDATASET POLYDATA\n"
        head += f"POINTS {len(points)} float\n"
        if form == "ASCII":
            body = "\n".join(" ".join(map(repr, point)) for point in points.tolist()).encode() + b"\n"
        else:
            body = (points * signs).astype(">f4").tobytes() + b"\n"
        path.write_bytes(head.encode() + body + b"VERTICES 1 2\n")

    return write


def read_vtk(signs: np.ndarray | int) -> Reader:
    """Make a reader of VTK's legacy format."""

    def read(path: Path) -> np.ndarray:
        lines = path.read_bytes().split(b"\n", 5)
        count = int(lines[4].split()[1])
        if lines[2] == b"ASCII":
            return np.array(lines[5].split()[: 3 * count], float).reshape(-1, 3) * signs
        return np.frombuffer(lines[5], ">f4", 3 * count).reshape(-1, 3).astype(float) * signs

    return read


def write_ply(world: str, signs: np.ndarray | int) -> Writer:
    """Make a writer of PLY, of text for RAS and binary for LPS."""

    def write(path: Path, points: np.ndarray) -> None:
        form = "ascii" if world == "RAS" else "binary_little_endian"
        head = f"ply\nformat {form} 1.0\ncomment SPACE={world}\nelement vertex {len(points)}\nproperty uchar red\n"
        head += "".join(f"property double {axis}\n" for axis in "xyz") + "end_header\n"
        rows = (points * signs).tolist()
        if form == "ascii":
            body = "".join(f"7 {x} {y} {z}\n" for x, y, z in rows).encode()
        else:
            body = b"".join(struct.pack("<Bddd", 7, *row) for row in rows)
        path.write_bytes(head.encode() + body)

    return write


def read_ply(signs: np.ndarray | int) -> Reader:
    """Make a reader of PLY."""

    def read(path: Path) -> np.ndarray:
        head, body = path.read_bytes().split(b"end_header\n", 1)
        if b"ascii" in head:
            return np.array(body.split(), float).reshape(-1, 4)[:, 1:] * signs
        rows = np.frombuffer(body, np.dtype([("red", "u1"), ("at", "<f8", 3)]))
        return rows["at"] * signs

    return read


def kept(folder: Path) -> list[str]:
    """Whether data for each point and each streamline are as before."""
    before, after = (nib.streamlines.load(folder / name).tractogram for name in ("t.trk", "moved_t.trk"))
    same = np.array_equal(before.data_per_point["value"].get_data(), after.data_per_point["value"].get_data())
    same &= np.array_equal(before.data_per_streamline["length"], after.data_per_streamline["length"])
    header = nib.streamlines.load(folder / "moved_reference.trk").header
    placed = np.allclose(header["voxel_to_rasmm"], AFFINE, atol=1e-4) and tuple(header["dimensions"]) == SHAPE
    return ([] if same else ["t.trk: data of points or streamlines changed"]) + (
        [] if placed else ["reference.trk: its grid is not that of the reference"]
    )
