"""Errors of an estimated motion against the known motion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: ITK's coordinates from RAS.
FLIP = np.diag([-1.0, -1.0, 1.0, 1.0])


def affine(parameters: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """ITK's twelve parameters about a centre as a matrix of RAS mm."""
    matrix = np.eye(4)
    matrix[:3, :3] = parameters[:9].reshape(3, 3)
    matrix[:3, 3] = centre + parameters[9:12] - matrix[:3, :3] @ centre
    return FLIP @ matrix @ FLIP


def read(path: Path) -> np.ndarray:
    """The affine maps of a text file of ITK, in their order."""
    lines = [line.partition(":") for line in path.read_text().splitlines()]
    numbers = {key: [np.array(rest.split(), float) for name, _, rest in lines if name == key] for key in KEYS}
    return np.array([affine(*pair) for pair in zip(*numbers.values(), strict=True)])


KEYS = ("Parameters", "FixedParameters")


@dataclass
class Errors:
    """The mean error over the brain of each volume, mm."""

    of_volumes: np.ndarray

    def __str__(self) -> str:
        """Mean, 95th percentile and largest error in words, mm."""
        return f"mean {self.mean:.4f}, 95 % {self.most:.4f}, worst {self.worst:.4f} mm"

    @property
    def mean(self) -> float:
        """The mean over all volumes."""
        return float(self.of_volumes.mean())

    @property
    def most(self) -> float:
        """The 95th percentile over all volumes."""
        return float(np.quantile(self.of_volumes, 0.95))

    @property
    def worst(self) -> float:
        """The largest error of a volume."""
        return float(self.of_volumes.max())


def between(found: np.ndarray, motions: np.ndarray, reference: int, points: np.ndarray) -> Errors:
    """Maps from the reference volume to each, beside the known motions from the still head, over the head's points (RAS mm)."""
    start = np.linalg.inv(motions[reference])
    at = points @ motions[reference][:3, :3].T + motions[reference][:3, 3]
    apart = [
        np.linalg.norm(at @ (one - true @ start)[:3, :3].T + (one - true @ start)[:3, 3], axis=1).mean()
        for one, true in zip(found, motions, strict=True)
    ]
    return Errors(np.array(apart))
