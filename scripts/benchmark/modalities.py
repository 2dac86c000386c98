#!/usr/bin/env python3
"""Run every registration of the benchmark section `multimodal`, with Python's own library alone.

    python3 scripts/benchmark/modalities.py DATA FOLDER --program target/release/antsreg-gpu --device cuda
    python3 scripts/benchmark.py DATA --only multimodal --registrations FOLDER

The registrations can run on a GPU machine without numpy, and the scoring on another machine without a GPU: FOLDER (a
few MB) is copied between them. Temporary copies of images are removed. Without --registrations, `benchmark.py` does
both steps.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import shlex
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SEED = 24
LARGEST_DEGREES = 30
LARGEST_MM = 30
REPEATS = 7

FIXED = "spgr"
MODALITIES = {"T2": "late", "PD": "erly"}
TRILINEAR = ("--histogram", "trilinear")
COSTS = {
    "nmi": ("--cost", "nmi"),
    "mi": ("--cost", "mi"),
    "cr": ("--cost", "cr"),
    "nmi, trilinear": ("--cost", "nmi", *TRILINEAR),
    "mi, trilinear": ("--cost", "mi", *TRILINEAR),
}
#: The two kinds of displaced copies of an image (with a changed header, or resampled on the same grid), each with the
#: costs by which the copies are registered.
KINDS = {"header": tuple(COSTS), "resampled": ("nmi", "mi", "cr")}
AFFINE_COSTS = ("cr", "mi", "nmi")
#: Name of the file that records the command line of the registrations.
COMMAND = "command.txt"
RIGID = ("-t", "rigid", "--no-warped")

#: Offsets of fields in a NIfTI-1 header, bytes.
DIMENSIONS, DATA_OFFSET, FORM_CODES, ROWS = 40, 108, 252, 280


@dataclass
class Runner:
    """Runs commands of the program under test, with a given device and number of threads."""

    data: Path
    folder: Path
    program: Path
    device: str
    threads: int
    workers: int
    transforms: int
    pairs: list[tuple[str, str]]

    def run(self, *words: str | Path) -> None:
        """Run one command and append its messages to a log file."""
        with (self.folder / "log.txt").open("a") as log:
            subprocess.run([self.program, *words, "--quiet"], check=True, stdout=log, stderr=log)

    def register(self, fixed: Path, moving: Path, prefix: Path, *options: str) -> None:
        """Register one moving image to one fixed image."""
        device = ["--device", self.device, "--threads", str(self.threads)]
        self.run("register", "-f", fixed, "-m", moving, "-o", f"{prefix}_", *device, *options)

    def batch(self, fixed: Path, moving: list[Path], output: Path, *options: str) -> None:
        """Register many moving images to one fixed image."""
        device = ["--device", self.device, "--threads", str(self.threads)]
        workers = ["--workers", str(self.workers)] if self.workers else []
        self.run("batch", *moving, "-f", fixed, "-o", output, "--no-report", *device, *workers, *options)


def everything(runner: Runner) -> None:
    """Run all registrations of the benchmark section `multimodal`, the smallest sets of registrations first."""
    patient = [runner.data / "multimodal" / f"p12_{name}.nii.gz" for name in ("FLAIR", "T1W")]
    runner.register(*patient, runner.folder / "p12", *RIGID, "--cost", "nmi")
    images = [runner.data / "sri24" / f"{name}.nii.gz" for name in (FIXED, MODALITIES["T2"])]
    for repeat in range(REPEATS):
        runner.register(*images, runner.folder / f"alone_{repeat}", *RIGID, "--cost", "nmi")
    for cost in AFFINE_COSTS:
        (runner.folder / "affine" / cost).mkdir(parents=True, exist_ok=True)
        for moving, fixed in runner.pairs:
            people = [runner.data / "oasis" / f"{person}_t1.nii.gz" for person in (fixed, moving)]
            prefix = runner.folder / "affine" / cost / f"{moving}_to_{fixed}"
            runner.register(*people, prefix, "-t", "affine", "--no-warped", "--cost", cost)
    known_transforms(runner)


def known_transforms(runner: Runner) -> None:
    """Displace SRI24's T2 and PD images by known transforms, and register them to its T1 image with every cost."""
    shift_and_turn = random.Random(SEED)
    fixed = runner.data / "sri24" / f"{FIXED}.nii.gz"
    _, voxel_to_world, shape = read(fixed)
    worlds = []
    for _ in range(runner.transforms):
        degrees = [shift_and_turn.uniform(-LARGEST_DEGREES, LARGEST_DEGREES) for _ in range(3)]
        shift = [shift_and_turn.uniform(-LARGEST_MM, LARGEST_MM) for _ in range(3)]
        worlds.append(about_centre(voxel_to_world, shape, degrees, shift))
    (runner.folder / "worlds.json").write_text(json.dumps(worlds))
    for kind, costs in KINDS.items():
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as temporary:
            jobs = [
                (modality, number, Path(temporary) / f"{modality}_{number}.nii")
                for modality in MODALITIES
                for number in range(runner.transforms)
            ]
            sources = {name: runner.data / "sri24" / f"{file}.nii.gz" for name, file in MODALITIES.items()}
            if kind == "header":
                loaded = {name: read(source) for name, source in sources.items()}
                for modality, number, path in jobs:
                    write_moved(*loaded[modality][:2], worlds[number], path)
            else:
                with ThreadPoolExecutor(max(runner.workers, 1)) as pool:
                    made = [
                        pool.submit(resample, runner, sources[modality], worlds[number], path)
                        for modality, number, path in jobs
                    ]
                    for one in made:
                        one.result()
            for name in costs:
                output = runner.folder / kind / folder_name(name)
                runner.batch(fixed, [path for *_, path in jobs], output, *RIGID, *COSTS[name])


def folder_name(cost: str) -> str:
    """Name of the folder with the affines that registrations with this cost function have found."""
    return cost.replace(", ", "_").replace(" ", "_")


def read(path: Path) -> tuple[bytes, list[list[float]], tuple[int, ...]]:
    """Read a NIfTI-1 file that has an sform: its bytes, its voxel-to-world matrix, and its shape."""
    content = gzip.decompress(path.read_bytes())
    if struct.unpack_from("<h", content, FORM_CODES + 2)[0] < 1:
        raise ValueError(f"{path} has no sform")
    rows = struct.unpack_from("<12f", content, ROWS)
    matrix = [list(rows[4 * row : 4 * row + 4]) for row in range(3)]
    return content, [*matrix, [0.0, 0.0, 0.0, 1.0]], struct.unpack_from("<3h", content, DIMENSIONS + 2)


def write_moved(content: bytes, voxel_to_world: list[list[float]], world: list[list[float]], path: Path) -> None:
    """Write a copy of the image with unchanged voxels, whose header is changed by a world transform."""
    moved = product(world, voxel_to_world)
    header = bytearray(content[: int(struct.unpack_from("<f", content, DATA_OFFSET)[0])])
    struct.pack_into("<2h", header, FORM_CODES, 0, 1)
    struct.pack_into("<12f", header, ROWS, *(element for row in moved[:3] for element in row))
    with path.open("wb") as file:
        file.write(header)
        file.write(memoryview(content)[len(header) :])


def resample(runner: Runner, source: Path, world: list[list[float]], path: Path) -> None:
    """Write a copy of the image resampled on its own grid after a world transform. Parts outside the grid are lost."""
    back = rigid_inverse(world)
    # ITK's files use LPS: x and y have opposite signs to RAS.
    signs = (-1, -1, 1)
    parameters = [signs[row] * signs[column] * back[row][column] for row in range(3) for column in range(3)]
    parameters += [signs[row] * back[row][3] for row in range(3)]
    transform = path.with_suffix(".txt")
    transform.write_text(
        "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
        f"Parameters: {' '.join(map(repr, parameters))}\nFixedParameters: 0 0 0\n"
    )
    runner.run("apply", "-i", source, "-r", source, "-t", transform, "-n", "linear", "-o", path)


def about_centre(
    voxel_to_world: list[list[float]], shape: tuple[int, ...], degrees: list[float], shift: list[float]
) -> list[list[float]]:
    """The rigid world transform x → R (x − c) + c + t, with the centre c of the image grid.

    R rotates about x, then y, then z.
    """
    x, y, z = (math.radians(angle) for angle in degrees)
    turn = product(about(2, z), product(about(1, y), about(0, x)))
    middle = [(count - 1) / 2 for count in shape] + [1.0]
    centre = [sum(a * b for a, b in zip(row, middle, strict=True)) for row in voxel_to_world[:3]]
    for row in range(3):
        turned = sum(turn[row][axis] * centre[axis] for axis in range(3))
        turn[row][3] = centre[row] + shift[row] - turned
    return turn


def about(axis: int, angle: float) -> list[list[float]]:
    """The 4×4 matrix of a rotation about one world axis."""
    matrix = [[float(row == column) for column in range(4)] for row in range(4)]
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix[first][first] = matrix[second][second] = math.cos(angle)
    matrix[first][second], matrix[second][first] = -math.sin(angle), math.sin(angle)
    return matrix


def product(first: list[list[float]], second: list[list[float]]) -> list[list[float]]:
    """The product of two 4×4 matrices."""
    return [[sum(row[k] * second[k][column] for k in range(4)) for column in range(4)] for row in first]


def rigid_inverse(world: list[list[float]]) -> list[list[float]]:
    """The inverse of a rigid transform, given as a 4×4 matrix."""
    turn = [[world[column][row] for column in range(3)] for row in range(3)]
    shift = [-sum(turn[row][k] * world[k][3] for k in range(3)) for row in range(3)]
    return [[*turn[row], shift[row]] for row in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the volumes")
    parser.add_argument("folder", type=Path, help="folder for the results")
    parser.add_argument("--program", type=Path, default=Path("target/release/antsreg-gpu"), help="(%(default)s)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of the program (%(default)s)")
    parser.add_argument("--workers", type=int, default=0, help="simultaneous registrations (default: that of batch)")
    parser.add_argument("--transforms", type=int, default=30, help="number of random transforms (%(default)s)")
    parser.add_argument("--pairs", default="1001-1000,1002-1000,1006-1002,1104-1007", help="(%(default)s)")
    typed = parser.parse_args()
    if not typed.program.is_file():
        parser.error(f"{typed.program} is missing: cargo build --release")
    pairs = [tuple(pair.split("-")) for pair in typed.pairs.split(",")]
    program, folder = typed.program.resolve(), typed.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    said = {typed.data: "DATA", typed.folder: "FOLDER"}
    words = [said.get(Path(word), word) for word in sys.argv[1:]]
    (folder / COMMAND).write_text(shlex.join(["python3", "scripts/benchmark/modalities.py", *words]))
    everything(Runner(typed.data, folder, program, typed.device, typed.threads, typed.workers, typed.transforms, pairs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
