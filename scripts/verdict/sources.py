"""The images that cases are made of, and the pairs among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Images by name: file below DATA, and the person, template or animal that it shows. Leave-one-out figures leave out all
#: images of one of these.
IMAGES = {
    **{f"oasis{n}": (f"oasis/{n}_t1", f"oasis{n}") for n in (1000, 1001, 1002, 1003, 1006, 1007, 1013, 1104)},
    "colin": ("templates/colin27_t1_1mm", "colin"),
    "mni_brain": ("templates/mni152_t1_1mm", "mni"),
    "sri_t1": ("sri24/spgr", "sri"),
    "sri_pd": ("sri24/erly", "sri"),
    "sri_t2": ("sri24/late", "sri"),
    "mni_t1": ("heads/mni2009c_2mm_T1", "mni"),
    "mni_t2": ("heads/mni2009c_2mm_T2", "mni"),
    "mni_pd": ("heads/mni2009c_2mm_PD", "mni"),
    "head_a": ("heads/head_a_t1", "head_a"),
    "head_a_pd": ("heads/head_a_pd", "head_a"),
    "p04": ("heads/p04_t1", "p04"),
    "p04_flair": ("heads/p04_flair", "p04"),
    "p12": ("heads/p12_t1", "p12"),
    "p12_flair": ("heads/p12_flair", "p12"),
    "s1": ("wholehead/pycortex_S1_T1", "s1"),
    "epi_t1": ("epi/a_t1_in_bold", "epi_a"),
    "epi_bold": ("epi/a_undistort", "epi_a"),
    "marmoset_t1": ("species/marmoset_t1", "marmoset"),
    "marmoset_t2": ("species/marmoset_t2", "marmoset"),
    "mouse_iso": ("species/mouse_iso", "mouse"),
    "mouse_qa": ("species/mouse_qa", "mouse"),
}

#: ITK affines (fixed → moving) of pairs of one person whose headers do not agree, below DATA.
AFFINES = {("p04_flair", "p04"): "heads/p04_t1_to_flair.txt", ("p12_flair", "p12"): "heads/p12_t1_to_flair.txt"}

BRAINS = [name for name in IMAGES if name.startswith("oasis")] + ["colin", "mni_brain"]
HEADS = ["mni_t1", "head_a", "p04", "p12", "s1"]
#: Images of one person or template in one space, of different contrasts.
CONTRASTS = [
    ("sri_t1", "sri_t2"),
    ("sri_t1", "sri_pd"),
    ("mni_t1", "mni_t2"),
    ("mni_t1", "mni_pd"),
    ("epi_t1", "epi_bold"),
    ("marmoset_t1", "marmoset_t2"),
    ("mouse_iso", "mouse_qa"),
]
SPECIES = ["marmoset_t1", "marmoset_t2", "mouse_iso", "mouse_qa"]


@dataclass(frozen=True)
class Kind:
    """A kind of case: how often it is made, and whether its result counts as a failure whatever it is."""

    name: str
    weight: float
    nonsense: bool = False


KINDS = [
    Kind("people", 5),
    Kind("rescan", 5),
    Kind("contrast", 4),
    Kind("wrong_start", 5),
    Kind("wrong_affine", 2),
    Kind("wrong_cost", 2),
    Kind("cut", 1.5),
    Kind("species", 1.5, nonsense=True),
    Kind("noise", 1, nonsense=True),
    Kind("phantom", 1, nonsense=True),
    Kind("mirrored", 1.5),
]


def rotation(rng: np.random.Generator, degrees: tuple[float, float]) -> np.ndarray:
    """Return a rotation about a random axis by an angle from a range, 3 × 3."""
    axis = rng.normal(size=3)
    x, y, z = axis / np.linalg.norm(axis)
    angle = np.radians(rng.uniform(*degrees))
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def rigid(turn: np.ndarray, centre: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return the map that turns about a centre, then shifts, 4 × 4."""
    move = np.eye(4)
    move[:3, :3] = turn
    move[:3, 3] = centre + shift - turn @ centre
    return move
