"""Makes the images of one case, and scores its result."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import volume
from .sources import AFFINES, BRAINS, CONTRASTS, HEADS, IMAGES, KINDS, SPECIES, Kind, rigid, rotation
from .volume import Volume


@dataclass
class Case:
    """A registration to be run: the images, the options, and the true map from fixed to moving points, 4 × 4."""

    number: int
    kind: Kind
    names: tuple[str, str]
    fixed: Volume
    moving: Volume
    options: list[str]
    truth: np.ndarray | None
    note: str = ""
    start: np.ndarray | None = None
    #: Whether the registration without the changes of this case gives the truth.
    needs_reference: bool = False
    header: np.ndarray = field(default_factory=lambda: np.eye(4))


class Store:
    """The images of DATA, read once."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.kept: dict[str, Volume] = {}

    def image(self, name: str) -> Volume:
        """Return an image, with voxels of at least some 2 mm in a human, its values finite."""
        if name not in self.kept:
            path = self.data / (IMAGES[name][0] + ".nii.gz")
            least = {"marmoset": 0.3, "mouse": 0.08}.get(IMAGES[name][1], 1.3)
            found = volume.halved(volume.read(path), least)
            self.kept[name] = found.with_voxels(np.nan_to_num(found.voxels))
        return self.kept[name]

    def centred(self, name: str) -> Volume:
        """Return an image whose centre of mass lies at the world's origin: headers of different people barely meet."""
        image = self.image(name)
        return image.moved(rigid(np.eye(3), np.zeros(3), -centre(image)))

    def affine(self, fixed: str, moving: str) -> np.ndarray:
        """Return the true map of a pair of one person, 4 × 4: the identity, or that of a file of ITK."""
        if (fixed, moving) not in AFFINES:
            return np.eye(4)
        lines = (self.data / AFFINES[fixed, moving]).read_text().splitlines()
        numbers = {line.split(":")[0]: np.array(line.split(":")[1].split(), float) for line in lines if ":" in line and "ransform" not in line.split(":")[0]}
        values, middle = numbers["Parameters"], numbers["FixedParameters"][:3]
        matrix = values[:9].reshape(3, 3)
        flip = np.diag([-1.0, -1.0, 1.0])
        affine = np.eye(4)
        affine[:3, :3] = flip @ matrix @ flip
        affine[:3, 3] = flip @ (values[9:12] + middle - matrix @ middle)
        return affine


def objects(image: Volume) -> np.ndarray:
    """Return the indices of the voxels that are brighter than air, n × 3."""
    low, high = np.percentile(image.voxels[::2, ::2, ::2], [1, 99])
    return np.argwhere(image.voxels > low + 0.1 * (high - low))


def centre(image: Volume) -> np.ndarray:
    """Return the centre of the object, world mm."""
    return image.to_world[:3, :3] @ objects(image).mean(0) + image.to_world[:3, 3]


def extent(image: Volume) -> float:
    """Return the longest side of the box around the object, mm."""
    indices = objects(image)
    return float((np.ptp(indices, 0) * image.sizes).max())


def disturbed(rng: np.random.Generator, image: Volume) -> Volume:
    """Return an image with noise, a bias field and a curved intensity scale, as another scan would have."""
    top = np.percentile(image.voxels, 99)
    voxels = np.clip(image.voxels, 0, None) / top
    voxels = voxels ** rng.uniform(0.8, 1.25)
    voxels = voxels * (1 + rng.uniform(0, 0.5) * (volume.smooth_noise(rng, voxels.shape, 4) - 0.5))
    sigma = rng.uniform(0.0, 0.06)
    noise = rng.normal(0, sigma, (2, *voxels.shape)).astype(np.float32)
    # Noise of magnitude images: that of a complex number.
    return image.with_voxels((1000 * np.hypot(voxels + noise[0], noise[1])).astype(np.float32))


def same_contrast(rng: np.random.Generator) -> list[str]:
    """Return a model and metrics for images of one contrast."""
    model = ["rigid", "affine", "syn"][rng.choice(3, p=[0.25, 0.3, 0.45])]
    cost = str(rng.choice(["cr", "cr", "nmi", "ncc"]))
    return ["-t", model, "--cost", cost]


def any_contrast(rng: np.random.Generator) -> list[str]:
    """Return a model and metrics for images of two contrasts."""
    model = ["rigid", "affine", "syn"][rng.choice(3, p=[0.4, 0.3, 0.3])]
    return ["-t", model, "--cost", str(rng.choice(["nmi", "nmi", "mi"])), *(["--metric", "mattes"] if model == "syn" else [])]


def make(store: Store, number: int, seed: int) -> Case:
    """Make one case; it depends on the seed and the number alone."""
    rng = np.random.default_rng([seed, number])
    weights = np.array([kind.weight for kind in KINDS])
    kind = KINDS[rng.choice(len(KINDS), p=weights / weights.sum())]
    group = BRAINS if rng.random() < 0.65 else HEADS
    first, second = (str(name) for name in rng.choice(group, 2, replace=False))
    truth: np.ndarray | None = None
    options = same_contrast(rng)
    needs_reference = True
    is_pair_of_one = kind.name in ("rescan", "contrast", "mirrored", "wrong_cost") or (
        kind.name not in ("people", "noise", "phantom") and rng.random() < 0.4
    )
    if is_pair_of_one:
        needs_reference = False
        if kind.name in ("contrast", "wrong_cost") or (kind.name == "wrong_start" and rng.random() < 0.3):
            pairs = [*CONTRASTS, *AFFINES]
            first, second = pairs[rng.choice(len(pairs))]
            truth = store.affine(first, second)
            options = any_contrast(rng)
        else:
            second = first
            truth = np.eye(4)
    if kind.name == "species":
        first, second = str(rng.choice([*BRAINS, *HEADS])), str(rng.choice(SPECIES))
        if rng.random() < 0.5:
            first, second = second, first
        options = same_contrast(rng) if rng.random() < 0.5 else any_contrast(rng)
    fixed, moving = store.image(first), store.image(second)
    if needs_reference or kind.nonsense:
        fixed, moving = store.centred(first), store.centred(second)
    if kind.name == "species":
        # The animal's header is enlarged, so that the sizes do not betray it.
        scale = extent(fixed) / extent(moving)
        moving = moving.moved(np.diag([scale, scale, scale, 1.0]))
    if first == second or rng.random() < 0.5:
        fixed, moving = disturbed(rng, fixed), disturbed(rng, moving)
    note = ""
    size = extent(moving)
    # The header of the moving image is turned and shifted.
    degrees = (0.0, 30.0) if kind.name != "wrong_start" else (20.0, 180.0)
    share = 0.1 if kind.name != "wrong_start" else 0.3
    header = rigid(rotation(rng, degrees), centre(moving), rng.uniform(-share, share, 3) * size)
    start = None
    if kind.name == "wrong_start":
        options += ["--no-search", "--initial-transform", "headers"]
    if kind.name == "wrong_affine":
        # A deformable stage from a wrong affine: a turn, shift and scale of some per cent.
        much = rng.uniform(0.1, 1.0)
        scale = np.diag(np.exp(much * rng.uniform(-0.25, 0.25, 3)))
        turn = rotation(rng, (0, 40 * much)) @ scale
        wrong = rigid(turn, centre(fixed), much * rng.uniform(-0.15, 0.15, 3) * size)
        start = header @ (np.eye(4) if truth is None else truth) @ wrong
        metric = ["--metric", "mattes"] if "mattes" in options else []
        options = ["-t", "syn-only", *metric]
    if kind.name == "wrong_cost":
        model = str(rng.choice(["rigid", "affine", "syn"]))
        options = ["-t", model, "--cost", str(rng.choice(["ncc", "lsq"]))]
    if kind.name == "cut":
        # What lies beyond a plane through the middle of one image is lost.
        normal = rotation(rng, (0, 180)) @ np.array([0.0, 0, 1])
        which = rng.random() < 0.5
        image = moving if which else fixed
        indices = np.stack(np.meshgrid(*[np.arange(n) for n in image.voxels.shape], indexing="ij"), -1)
        middle = objects(image).mean(0)
        beyond = ((indices - middle) * image.sizes) @ normal > rng.uniform(-0.15, 0.2) * size
        image = image.with_voxels(np.where(beyond, 0, image.voxels))
        fixed, moving = (fixed, image) if which else (image, moving)
        note = "moving" if which else "fixed"
    if kind.name == "noise":
        voxels = rng.random(moving.voxels.shape, dtype=np.float32)
        if rng.random() < 0.6:
            voxels = volume.smooth_noise(rng, voxels.shape, int(rng.integers(4, 30)))
        if rng.random() < 0.5:
            voxels = voxels * (moving.voxels > np.percentile(moving.voxels, 60))
        moving = moving.with_voxels(1000 * voxels)
    if kind.name == "phantom":
        moving = phantom(rng, moving)
    if kind.name == "mirrored":
        moving = moving.with_voxels(moving.voxels[::-1])
    return Case(number, kind, (first, second), fixed, moving.moved(header), options, truth, note, start, needs_reference, header)


def phantom(rng: np.random.Generator, like: Volume) -> Volume:
    """Return ellipsoids and boxes of random brightness on the grid of an image, as large as its object."""
    shape = np.array(like.voxels.shape)
    indices = np.stack(np.meshgrid(*[np.arange(n) for n in shape], indexing="ij"), -1)
    middle, side = objects(like).mean(0), np.ptp(objects(like), 0)
    voxels = np.zeros(like.voxels.shape, np.float32)
    for n in range(int(rng.integers(1, 7))):
        at = (indices - middle - (0 if n == 0 else 1) * rng.uniform(-0.3, 0.3, 3) * side) / side
        radius = rng.uniform(0.35, 0.55) if n == 0 else rng.uniform(0.05, 0.25)
        inside = np.abs(at).max(-1) < radius if rng.random() < 0.4 else (at**2).sum(-1) < radius**2
        voxels[inside] = rng.uniform(100, 1000)
    return like.with_voxels(voxels + rng.normal(0, 8, voxels.shape).astype(np.float32).clip(0))


def itk_affine(path: Path, affine: np.ndarray) -> None:
    """Write an affine (RAS, fixed → moving) as a text file of ITK."""
    flip = np.diag([-1.0, -1.0, 1.0])
    matrix, shift = flip @ affine[:3, :3] @ flip, flip @ affine[:3, 3]
    numbers = " ".join(f"{value:.9g}" for value in [*matrix.ravel(), *shift])
    path.write_text(
        "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
        f"Parameters: {numbers}\nFixedParameters: 0 0 0\n"
    )


def registered(program: str, case: Case, folder: Path, options: list[str]) -> tuple[dict, np.ndarray] | None:
    """Run a registration. Return its record, and where it maps points of the fixed object, n × 3; `None` if refused."""
    folder.mkdir(exist_ok=True)
    for name, image in (("fixed", case.fixed), ("moving", case.moving)):
        volume.write(folder / f"{name}.nii", image)
    start = []
    if case.start is not None and "syn-only" in options:
        itk_affine(folder / "start.txt", case.start)
        start = ["--initial-transform", str(folder / "start.txt")]
    words = [program, "register", "-f", str(folder / "fixed.nii"), "-m", str(folder / "moving.nii")]
    words += ["-o", f"{folder}/r", "--no-warped", "--format", "nii", "--brain", "none", *options, *start]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    record = folder / "rrecord.json"
    if done.returncode != 0 or not record.exists():
        return None
    found = json.loads(record.read_text())
    record.unlink()
    return found, mapped(case, found, folder / "r1Warp.nii")


def points(image: Volume) -> np.ndarray:
    """Return some 2000 points of the object, voxel indices, n × 3."""
    indices = objects(image)
    return indices[:: max(1, len(indices) // 2000)]


def mapped(case: Case, found: dict, warp: Path) -> np.ndarray:
    """Return where a result maps the points of the fixed object, world mm, n × 3."""
    indices = points(case.fixed)
    at = indices @ case.fixed.to_world[:3, :3].T + case.fixed.to_world[:3, 3]
    if warp.exists():
        field_ = volume.read(warp).voxels.reshape(*case.fixed.voxels.shape, 3)
        at = at + field_[tuple(indices.T)] * np.array([-1.0, -1.0, 1.0])
        warp.unlink()
    affine = np.array(found["affine_ras"])
    return at @ affine[:, :3].T + affine[:, 3]
