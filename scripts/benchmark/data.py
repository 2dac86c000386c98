"""Where the volumes are, and the pairs that are registered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """Moving person, fixed person, and the mean Jaccard that other programs reach on them.

    The bars are those that FLIRT reached (or, where FLIRT was not run, just under ANTs) for the affine stage, and those
    of antsRegistrationSyN.sh with CC for the whole registration.
    """

    moving: str
    fixed: str
    affine_bar: float
    syn_bar: float

    @property
    def name(self) -> str:
        """The name of the pair in tables; on the command line --pairs takes a hyphen instead of the arrow."""
        return f"{self.moving}→{self.fixed}"


PAIRS = [
    Pair("1001", "1000", 0.272, 0.4955),
    Pair("1002", "1000", 0.286, 0.5010),
    Pair("1006", "1002", 0.286, 0.4851),
    Pair("1104", "1007", 0.287, 0.4773),
]


@dataclass(frozen=True)
class Data:
    """The folder of volumes."""

    folder: Path

    def t1(self, person: str) -> Path:
        """The skull-stripped T1 of an OASIS person."""
        return self.folder / "oasis" / f"{person}_t1.nii.gz"

    def labels(self, person: str) -> Path:
        """The manual labels of an OASIS person."""
        return self.folder / "oasis" / f"{person}_labels.nii.gz"

    def common_labels(self) -> list[int]:
        """The labels that all persons have."""
        return [int(word) for word in (self.folder / "oasis" / "common_labels.txt").read_text().split()]

    def mindboggle(self) -> Path:
        """Person 1000 again, stored in another orientation."""
        return self.folder / "mindboggle" / "atlas_1_t1weighted_brain.nii.gz"

    def flirt(self, pair: Pair) -> Path:
        """FLIRT's own matrix for a pair."""
        return self.folder / "reference" / f"flirt_{pair.moving}_to_{pair.fixed}.mat"

    def sri24(self, name: str) -> Path:
        """One of the aligned images of SRI24: spgr (T1), late (T2), erly (PD)."""
        return self.folder / "sri24" / f"{name}.nii.gz"

    def multimodal(self, name: str) -> Path:
        """A file of the patient with T1 and FLAIR: p12_T1W.nii.gz and others."""
        return self.folder / "multimodal" / name
