"""Measures of registrations: label overlap, folds, inverse consistency, distances, correlation."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from benchmark.images import Image, Mapping, Warp, carry, transform, voxel_indices


def mean_jaccard(target: np.ndarray, carried: np.ndarray, labels: list[int]) -> float:
    """Mean Jaccard index over the labels of two label maps on one grid."""
    size = max(int(target.max()), int(carried.max()), max(labels)) + 1
    both = np.bincount(target[target == carried], minlength=size)
    either = np.bincount(target.ravel(), minlength=size) + np.bincount(carried.ravel(), minlength=size) - both
    return float(np.mean(both[labels] / np.maximum(either[labels], 1)))


def carried_jaccard(fixed_labels: Image, moving_labels: Image, mapping: Mapping, labels: list[int]) -> float:
    """Mean Jaccard index after nearest-neighbour resampling of the moving labels on the fixed grid."""
    return mean_jaccard(fixed_labels.voxels, carry(moving_labels, fixed_labels, mapping, order=0), labels)


def jacobian_determinant(warp: Warp) -> np.ndarray:
    """Jacobian determinant of x + u(x) at each voxel of a warp u, by central differences."""
    by_index = np.stack(np.gradient(warp.displacement, axis=(0, 1, 2)), axis=-1)
    by_world = by_index @ np.linalg.inv(warp.voxel_to_world[:3, :3]).astype(np.float32)
    by_world += np.eye(3, dtype=np.float32)
    return np.linalg.det(by_world)


@dataclass
class Shape:
    """Folds of a warp inside the brain, and its smallest Jacobian determinant."""

    folded: int
    folded_at_a_corner: int
    smallest_determinant: float


def folds_at_a_corner(warp: Warp, brain: np.ndarray) -> np.ndarray:
    """For each brain voxel, whether a warp folds there, by one-sided differences.

    A voxel counts as folded if one of the eight combinations of one-sided differences has a determinant that is not
    positive. The warp is trilinear inside each cell (a box with eight voxels as corners), so these are the Jacobian
    determinants that the eight cells around a voxel have at this voxel.
    """
    index = np.argwhere(brain)
    to_voxel = np.linalg.inv(warp.voxel_to_world[:3, :3]).astype(np.float32)
    here = warp.displacement[brain]
    steps = []
    for axis, sign in itertools.product(range(3), (1, -1)):
        there = index.copy()
        there[:, axis] = np.clip(there[:, axis] + sign, 0, brain.shape[axis] - 1)
        steps.append(sign * (warp.displacement[tuple(there.T)] - here))
    folded = np.zeros(len(index), dtype=bool)
    for sides in itertools.product((0, 1), repeat=3):
        by_index = np.stack([steps[2 * axis + side] for axis, side in enumerate(sides)], axis=-1)
        folded |= np.linalg.det(by_index @ to_voxel + np.eye(3, dtype=np.float32)) <= 0
    return folded


def shape_inside(warp: Warp, brain: np.ndarray) -> Shape:
    """Number of folded voxels and the smallest Jacobian determinant of a warp inside a brain mask."""
    determinant = jacobian_determinant(warp)[brain]
    corners = int(np.count_nonzero(folds_at_a_corner(warp, brain)))
    return Shape(int(np.count_nonzero(determinant <= 0)), corners, float(determinant.min()))


def round_trip_voxels(there: Warp, back: Warp, brain: np.ndarray) -> np.ndarray:
    """Inverse consistency: how far the warp and then the inverse warp move each voxel of the mask, in voxels."""
    start = transform(there.voxel_to_world, voxel_indices(brain))
    step = there.displacement[brain].astype(float)
    error = step + back.at(start + step)
    return np.linalg.norm(error @ np.linalg.inv(there.voxel_to_world[:3, :3]).T, axis=1)


def distance_mm(fixed: Image, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distance between the two points to which two affines map each voxel of the fixed brain, mm."""
    points = transform(fixed.voxel_to_world, voxel_indices(fixed.brain()))
    return np.linalg.norm(transform(first, points) - transform(second, points), axis=1)


def correlation(first: np.ndarray, second: np.ndarray, mask: np.ndarray) -> float:
    """Pearson's correlation of two images inside a mask."""
    return float(np.corrcoef(first[mask].astype(float), second[mask].astype(float))[0, 1])


def differences(first: np.ndarray, second: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Absolute difference of two images at each voxel of a mask, divided by the range of the first image."""
    return np.abs(first[mask].astype(float) - second[mask].astype(float)) / float(np.ptp(first))


def normalised_mutual_information(first: np.ndarray, second: np.ndarray, bins: int = 64) -> float:
    """Normalised mutual information (H(X) + H(Y)) / H(X, Y) of two images on one grid.

    The histogram bins cover each image's range from the 2nd to the 98th percentile.
    """
    places = []
    for image in (first, second):
        low, high = np.percentile(image, [2, 98])
        share = (image.ravel().astype(float) - low) / (high - low)
        places.append(np.clip((bins * share).astype(int), 0, bins - 1))
    joint = np.bincount(places[0] * bins + places[1], minlength=bins * bins).reshape(bins, bins) / places[0].size

    def entropy(shares: np.ndarray) -> float:
        some = shares[shares > 0]
        return float(-np.sum(some * np.log(some)))

    return (entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0))) / entropy(joint)
