"""Errors of estimated motions against known motions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: Matrix from RAS to ITK's LPS coordinates, and back.
FLIP = np.diag([-1.0, -1.0, 1.0, 1.0])


def affine(parameters: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Convert ITK's twelve parameters and centre (LPS) to a 4×4 matrix in RAS mm."""
    matrix = np.eye(4)
    matrix[:3, :3] = parameters[:9].reshape(3, 3)
    matrix[:3, 3] = centre + parameters[9:12] - matrix[:3, :3] @ centre
    return FLIP @ matrix @ FLIP


def read(path: Path) -> np.ndarray:
    """Read all affines of an ITK text file as matrices in RAS mm, in order."""
    lines = [line.partition(":") for line in path.read_text().splitlines()]
    numbers = {key: [np.array(rest.split(), float) for name, _, rest in lines if name == key] for key in KEYS}
    return np.array([affine(*pair) for pair in zip(*numbers.values(), strict=True)])


KEYS = ("Parameters", "FixedParameters")


@dataclass
class Errors:
    """Errors of a motion correction: for each volume the mean over the brain, mm."""

    of_volumes: np.ndarray

    def __str__(self) -> str:
        """Mean, 95th percentile and largest error of the volumes as text, mm."""
        return f"mean {self.mean:.4f}, 95 % {self.most:.4f}, worst {self.worst:.4f} mm"

    @property
    def mean(self) -> float:
        """Mean error of the motion correction over all volumes, mm."""
        return float(self.of_volumes.mean())

    @property
    def most(self) -> float:
        """95th percentile of the motion correction's error over the volumes, mm."""
        return float(np.quantile(self.of_volumes, 0.95))

    @property
    def worst(self) -> float:
        """Error of the motion correction in the volume with the largest error, mm."""
        return float(self.of_volumes.max())


def between(found: np.ndarray, motions: np.ndarray, reference: int, points: np.ndarray) -> Errors:
    """Errors of found affines, which map the reference volume to each volume.

    `motions` are the true affines from the still head to each volume. Errors are means over `points` of the still head
    (RAS mm).
    """
    start = np.linalg.inv(motions[reference])
    at = points @ motions[reference][:3, :3].T + motions[reference][:3, 3]
    apart = [
        np.linalg.norm(at @ (one - true @ start)[:3, :3].T + (one - true @ start)[:3, 3], axis=1).mean()
        for one, true in zip(found, motions, strict=True)
    ]
    return Errors(np.array(apart))
