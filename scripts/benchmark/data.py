"""Paths of the brain images that the benchmark registers, and the pairs of brains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """A moving and a fixed brain of OASIS, with the lowest acceptable mean Jaccard index for each stage.

    The limits for the affine stage are the values of FLIRT (where FLIRT was not run, slightly below those of ANTs). The
    limits for the whole registration are the values of antsRegistrationSyN.sh with CC.
    """

    moving: str
    fixed: str
    affine_bar: float
    syn_bar: float

    @property
    def name(self) -> str:
        """Name of the pair in tables. On the command line, --pairs uses a hyphen instead of the arrow."""
        return f"{self.moving}→{self.fixed}"


PAIRS = [
    Pair("1001", "1000", 0.272, 0.4955),
    Pair("1002", "1000", 0.286, 0.5010),
    Pair("1006", "1002", 0.286, 0.4851),
    Pair("1104", "1007", 0.287, 0.4773),
]


@dataclass(frozen=True)
class Data:
    """The folder of the test volumes."""

    folder: Path

    def t1(self, person: str) -> Path:
        """Path of the skull-stripped T1 image of a subject of OASIS."""
        return self.folder / "oasis" / f"{person}_t1.nii.gz"

    def labels(self, person: str) -> Path:
        """Path of the manual label map of a subject of OASIS."""
        return self.folder / "oasis" / f"{person}_labels.nii.gz"

    def common_labels(self) -> list[int]:
        """Numbers of the labels that the manual label maps of all OASIS subjects contain."""
        return [int(word) for word in (self.folder / "oasis" / "common_labels.txt").read_text().split()]

    def mindboggle(self) -> Path:
        """Path of another image of subject 1000, whose voxel axes have another orientation."""
        return self.folder / "mindboggle" / "atlas_1_t1weighted_brain.nii.gz"

    def flirt(self, pair: Pair) -> Path:
        """Path of the matrix that FLIRT computed for a pair."""
        return self.folder / "reference" / f"flirt_{pair.moving}_to_{pair.fixed}.mat"

    def sri24(self, name: str) -> Path:
        """Path of one of the aligned images of the atlas SRI24: spgr (T1), late (T2), erly (PD)."""
        return self.folder / "sri24" / f"{name}.nii.gz"

    def multimodal(self, name: str) -> Path:
        """Path of a file of the patient with T1 and FLAIR images, such as p12_T1W.nii.gz."""
        return self.folder / "multimodal" / name
