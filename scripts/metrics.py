#!/usr/bin/env python3
"""Measure the accuracy of SyN's metrics and channels, on images with a known warp and on pairs of real images.

    cargo build --release
    python3 scripts/metrics.py DATA --device cuda --figures docs/figures.json

DATA holds sri24/, oasis/ and multimodal/ as docs/metrics.md says. Only Python is needed: points are mapped by
`antsreg-gpu apply --points` (which scripts/benchmark.py checks), distances are computed here.
"""

import argparse
import datetime
import gzip
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator

from docs.figures import save

PAIRS = (("1000", "1001"), ("1002", "1007"))


def displacement(x: float, y: float, z: float) -> tuple[float, float, float]:
    """A smooth displacement of up to 5 mm, at a point of SRI24 (RAS mm). It decreases to 0 outside the brain."""

    def wave(millimetres: float, wavelength: float, phase: float = 0.0) -> float:
        return math.sin(2 * math.pi * millimetres / wavelength + phase)

    distance = ((x + 119) / 95) ** 2 + ((y - 108) / 105) ** 2 + ((z - 75) / 90) ** 2
    fade = 1 / (1 + math.exp((distance - 1.2) * 8))
    return (
        fade * (2.2 * wave(y, 70, 0.3) * wave(z, 80, 1.0) + 1.5 * wave(x + y, 55)),
        fade * (2.2 * wave(z, 65, 0.8) * wave(x, 75) + 1.5 * wave(y - z, 60, 2.0)),
        fade * (2.2 * wave(x, 72, 1.7) * wave(y, 68, 0.5) + 1.5 * wave(z + x, 58, 1.0)),
    )


def write_truth(path: pathlib.Path) -> None:
    """Write the known displacement of SRI24's brain as an ITK warp on a grid of 4 mm."""
    shape, step, origin = (62, 62, 42), 4.0, (-242.0, -2.0, -4.0)
    components: list[list[float]] = [[], [], []]
    for k in range(shape[2]):
        for j in range(shape[1]):
            for i in range(shape[0]):
                ras = displacement(origin[0] + step * i, origin[1] + step * j, origin[2] + step * k)
                # ITK's displacement vectors are in LPS, so x and y change sign.
                for values, sign, value in zip(components, (-1, -1, 1), ras, strict=True):
                    values.append(sign * value)
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 5, *shape, 1, 3, 1, 1)
    struct.pack_into("<3h", header, 68, 1007, 16, 32)
    struct.pack_into("<8f", header, 76, 1, step, step, step, 1, 1, 1, 1)
    struct.pack_into("<2f", header, 108, 352, 1)
    header[123] = 2
    struct.pack_into("<2h", header, 252, 1, 1)
    struct.pack_into("<3f", header, 268, *origin)
    for row in range(3):
        line = [step if column == row else 0.0 for column in range(3)]
        struct.pack_into("<4f", header, 280 + 16 * row, *line, origin[row])
    header[344:348] = b"n+1\0"
    values = [value for component in components for value in component]
    path.write_bytes(bytes(header) + struct.pack(f"<{len(values)}f", *values))


def voxels(path: pathlib.Path) -> memoryview:
    """The stored voxel values of a NIfTI volume."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    kind = {2: "B", 4: "h", 8: "i", 16: "f", 64: "d", 512: "H"}[struct.unpack_from("<h", raw, 70)[0]]
    count = math.prod(struct.unpack_from("<3h", raw, 42))
    start = int(struct.unpack_from("<f", raw, 108)[0])
    return memoryview(raw)[start : start + count * struct.calcsize(kind)].cast(kind)


def brain_points(image: pathlib.Path) -> list[tuple[int, int, int]]:
    """Points at every third brain voxel of SRI24 along each axis, RAS mm."""
    values, n = voxels(image), 240
    grid = ((i, j, k) for k in range(0, 155, 3) for j in range(0, n, 3) for i in range(0, n, 3))
    return [(-i, j, k) for i, j, k in grid if values[(k * n + j) * n + i] > 0]


def normalised_information(a: pathlib.Path, b: pathlib.Path) -> float:
    """Normalised mutual information of two volumes on one grid, from every seventh voxel.

    The 64 bins cover the range between the quantiles 0.005 and 0.995.
    """

    def binned(path: pathlib.Path) -> list[int]:
        values = voxels(path)[::7].tolist()
        ordered = sorted(values)
        low, high = (ordered[int(share * len(ordered))] for share in (0.005, 0.995))
        return [min(63, max(0, int((value - low) / (high - low) * 64))) for value in values]

    def entropy(counts: Counter) -> float:
        total = counts.total()
        return -sum(n / total * math.log(n / total) for n in counts.values())

    first, second = binned(a), binned(b)
    joint = entropy(Counter(zip(first, second, strict=True)))
    return (entropy(Counter(first)) + entropy(Counter(second))) / joint


class Bench:
    """The program under test with its device, the data folder, and a folder for temporary files."""

    def __init__(self, program: str, device: str, data: pathlib.Path, folder: pathlib.Path) -> None:
        self.program, self.device, self.data, self.folder = program, device, data, folder

    def run(self, verb: str, *arguments: object) -> None:
        """Run a command of the program; raise an error if it fails."""
        subprocess.run([self.program, verb, "--quiet", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    def register(self, *arguments: object) -> dict:
        """Register a pair. Returns the JSON record of the registration."""
        prefix = self.folder / "p_"
        outputs = ("--format", "nii", "--no-warped", "--device", self.device, "-o", prefix)
        self.run("register", *outputs, *arguments)
        return json.loads((self.folder / "p_record.json").read_text())

    def distances(self, points: list[tuple[int, int, int]], *transforms: pathlib.Path) -> list[float]:
        """Sorted distances by which a sequence of transforms moves points, mm."""
        start, end = self.folder / "start.csv", self.folder / "end.csv"
        start.write_text("x,y,z\n" + "".join(f"{x},{y},{z}\n" for x, y, z in points))
        chain = [word for transform in transforms for word in ("-t", transform)]
        self.run("apply", "--coordinates", "ras", "--points", start, "-o", end, *chain)
        carried = [list(map(float, line.split(","))) for line in end.read_text().splitlines()[1:]]
        return sorted(math.dist(a, b) for a, b in zip(points, carried, strict=True))


def row(*cells: object) -> list[str]:
    """Format cells as a row of a table."""
    return [str(cell) for cell in cells]


def folded(record: dict) -> int:
    """Number of voxels folded by the warp or its inverse."""
    return sum(record["jacobian"][warp]["folded"] for warp in ("warp", "inverse_warp"))


def known_warp(bench: Bench) -> Iterator[list[str]]:
    """Table rows for SRI24's images, warped by the known displacement and registered."""
    sri, warped, truth = bench.data / "sri24", bench.folder, bench.folder / "truth.nii"
    write_truth(truth)
    for name, how in (("spgr", "linear"), ("late", "linear"), ("lpba40", "generic-label")):
        image = sri / f"{name}.nii.gz"
        bench.run("apply", "-i", image, "-r", image, "-o", warped / f"{name}.nii", "-t", truth, "-n", how)
    t1, t2 = ((sri / f"{name}.nii.gz", warped / f"{name}.nii") for name in ("spgr", "late"))
    points = brain_points(t1[0])
    yield row("images", "metric", "mean, mm", "median", "95 %", "mean Jaccard", "folded")

    def residual(distances: list[float]) -> list[str]:
        share = [distances[int(share * len(distances))] for share in (0.5, 0.95)]
        return [f"{value:.2f}" for value in (sum(distances) / len(distances), *share)]

    yield row("as they are", "", *residual(bench.distances(points, truth)), "", "")
    labels = ("--fixed-labels", sri / "lpba40.nii.gz", "--moving-labels", warped / "lpba40.nii")
    for name, metric, fixed, moving, further in (
        ("T1 ← T2", "cc", t1[0], t2[1], None),
        ("T1 ← T2", "mattes", t1[0], t2[1], None),
        ("T1 ← T2, T2 ← T1", "mattes", t1[0], t2[1], (t2[0], t1[1])),
        ("T1 ← T1", "mattes", *t1, None),
        ("T1 ← T1", "cc", *t1, None),
        ("T2 ← T2", "cc", *t2, None),
        ("T1 ← T1, T2 ← T2", "cc", *t1, t2),
    ):
        channel = ("--channel", f"{further[0]},{further[1]}") if further else ()
        options = ("-t", "syn-only", "--metric", metric, *channel)
        record = bench.register("-f", fixed, "-m", moving, *options, *labels)
        found = residual(bench.distances(points, bench.folder / "p_1Warp.nii", truth))
        yield row(name, metric, *found, f"{record['overlap']['mean_jaccard']:.4f}", folded(record))


def people(bench: Bench) -> Iterator[list[str]]:
    """Table rows for pairs of subjects, registered by affine and SyN."""
    oasis = bench.data / "oasis"
    yield row("fixed ← moving", "metric", "mean Jaccard", "folded", "SyN, s")
    for fixed, moving in PAIRS:
        labels = [f"--{side}-labels={oasis}/{n}_labels.nii.gz" for side, n in (("fixed", fixed), ("moving", moving))]
        images = ("-f", oasis / f"{fixed}_t1.nii.gz", "-m", oasis / f"{moving}_t1.nii.gz")
        for metric in ("cc", "mattes"):
            scored = ("--label-list", oasis / "common_labels.txt", *labels)
            record = bench.register(*images, "--metric", metric, *scored)
            overlap, seconds = record["overlap"]["mean_jaccard"], record["seconds"]["syn"]
            yield row(f"{fixed} ← {moving}", metric, f"{overlap:.4f}", folded(record), f"{seconds:.2f}")


def patient(bench: Bench) -> Iterator[list[str]]:
    """Table rows for a patient's FLAIR and T1 images, registered from a given affine."""
    folder = bench.data / "multimodal"
    flair, t1, affine = (folder / f"p12_{name}" for name in ("FLAIR.nii.gz", "T1W.nii.gz", "T1W_to_FLAIR.txt"))
    warped = bench.folder / "warped.nii"
    yield row("FLAIR ← T1", "NMI", "folded")
    for metric in (None, "cc", "mattes"):
        chain: tuple[object, ...] = ("-t", affine)
        record = None
        if metric:
            images = ("-f", flair, "-m", t1, "-t", "syn-only", "--initial-transform", affine)
            record = bench.register(*images, "--metric", metric)
            chain = ("-t", bench.folder / "p_1Warp.nii", *chain)
        bench.run("apply", "-i", t1, "-r", flair, "-o", warped, *chain)
        information = normalised_information(flair, warped)
        yield row(metric or "affine", f"{information:.4f}", folded(record) if record else "")


def shown(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Print each row of a results table when it has been measured."""
    for line in rows:
        print(" | ".join(line), file=sys.stderr)
        yield line


def main() -> int:
    """Measure the accuracy of SyN's metrics. Print the tables, or write them into the JSON file of figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--program", default="target/release/antsreg-gpu")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--figures", type=pathlib.Path, metavar="FILE.json", help="write the figures into this file")
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.program).is_file():
        parser.error(f"{arguments.program} is missing: cargo build --release")
    for needed in ("sri24", "oasis", "multimodal"):
        if not (arguments.data / needed).is_dir():
            parser.error(f"{arguments.data} has no folder {needed}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.program, arguments.device, arguments.data, pathlib.Path(folder))
        found = [list(shown(section(bench))) for section in (known_warp, people, patient)]
        record = json.loads((bench.folder / "p_record.json").read_text())
    device = record["device"]
    section = {
        "tables": [{"columns": columns, "rows": rows} for columns, *rows in found],
        "run": {
            "version": f"{record['program']} {record['version']}",
            "date": datetime.date.today().isoformat(),
            "machine": device.get("name", device.get("kind", "cpu")),
            "command": f"python3 scripts/metrics.py DATA --device {arguments.device}",
        },
    }
    if arguments.figures:
        save(arguments.figures, "metrics", section)
    else:
        print(json.dumps(section, ensure_ascii=False, indent=1))
    return 0


sys.exit(main())
