#!/usr/bin/env python3
"""Draws the diagrams of the documents into docs/images: pipeline, spaces, levels, fold.

matplotlib is installed into .venv/scripts on the first run. The same version of matplotlib writes the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import environment

if __name__ == "__main__" and len(sys.argv) == 1:
    environment.enter()

INK, BLUE, RED, GREY = "#24292f", "#2f6fb0", "#c4472f", "#8b949e"
IMAGES = environment.REPOSITORY / "docs" / "images"


def main() -> None:
    """Draw all diagrams."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    import matplotlib

    matplotlib.use("svg")
    # Plot style: colours readable on light and dark pages, reproducible bytes, text stored as text.
    matplotlib.rcParams |= {"svg.hashsalt": "antsreg-gpu", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    for draw in (pipeline, spaces, levels, fold):
        figure = draw()
        path = IMAGES / f"{draw.__name__}.svg"
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight", facecolor="white")
        small(path)


def small(path: Path) -> None:
    """Round the coordinates in an SVG file to two decimals, which is enough for a diagram."""
    import re

    text = path.read_text()
    path.write_text(re.sub(r"(\d+\.\d{2})\d+", r"\1", text))


def canvas(width: float, height: float, panels: int = 1):  # noqa: ANN201
    """A figure whose panels have no axes."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, panels, figsize=(width, height), squeeze=False)
    for ax in axes[0]:
        ax.set_axis_off()
    return figure, list(axes[0])


def box(ax, x: float, y: float, text: str, colour: str = INK, width: float = 2.2) -> None:  # noqa: ANN001
    """Draw a box with text, centred at (x, y)."""
    from matplotlib.patches import FancyBboxPatch

    ax.add_patch(
        FancyBboxPatch((x - width / 2, y - 0.32), width, 0.64, "round,pad=0,rounding_size=0.08", fc="white", ec=colour, lw=1.3)
    )
    ax.text(x, y, text, ha="center", va="center", color=colour, size=8)


def arrow(ax, start: tuple[float, float], end: tuple[float, float], colour: str = GREY) -> None:  # noqa: ANN001
    """Draw an arrow between two points."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.2, "shrinkA": 0, "shrinkB": 0})


def pipeline():  # noqa: ANN201
    """Diagram of the steps of a registration, from input files to output files."""
    figure, (ax,) = canvas(9.6, 1.8)
    steps = [
        ("fixed and moving\nimage", INK),
        ("global search\n8, 4, 2, 1 mm", BLUE),
        ("SyN\nlevels 8, 4, 2, 1", BLUE),
        ("folds removed,\ninverses fitted", BLUE),
        ("images warped,\nscores", BLUE),
    ]
    for index, (text, colour) in enumerate(steps):
        box(ax, index * 2.6, 1, text, colour)
        if index:
            arrow(ax, (index * 2.6 - 1.48, 1), (index * 2.6 - 1.12, 1))
    outputs = {2.6: "0GenericAffine.mat", 7.8: "1Warp\n1InverseWarp", 10.4: "Warped, InverseWarped\nrecord, page"}
    for x, text in outputs.items():
        arrow(ax, (x, 0.66), (x, 0.2))
        ax.text(x, 0, text, ha="center", va="center", color=INK, family="monospace", size=8)
    ax.set(xlim=(-1.2, 11.8), ylim=(-0.3, 1.5))
    return figure


def spaces():  # noqa: ANN201
    """Diagram of one grid in four coordinate systems: voxel indices, RAS, LPS and FSL."""
    import numpy as np

    figure, axes = canvas(8.2, 2.5, 4)
    titles = ["voxel index", "world, RAS mm\n(NIfTI, here)", "world, LPS mm\n(ITK, ANTs)", "FSL mm, from the far\nend if right-handed"]
    directions = [("i", "j"), ("right", "anterior"), ("left", "posterior"), ("size · i", "size · j")]
    for ax, title, (first, second) in zip(axes, titles, directions, strict=True):
        world = title.startswith("world")
        turn = np.deg2rad(15 if world else 0)
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        for step in range(5):
            for line in ([[step, 0], [step, 4]], [[0, step], [4, step]]):
                points = (np.array(line) - 2) @ matrix.T
                ax.plot(*points.T, color=GREY, lw=0.6)
        origin = np.array([-2.0, -2.0]) if not world else np.zeros(2)
        sign = -1 if "LPS" in title else 1
        for vector, name, colour in (((1.7, 0), first, RED), ((0, 1.7), second, BLUE)):
            end = origin + sign * np.array(vector)
            arrow(ax, tuple(origin), tuple(end), colour)
            ax.text(*(end + sign * np.array(vector) * 0.35), name, color=colour, ha="center", va="center", size=8)
        ax.plot(*origin, "o", color=INK, ms=3)
        ax.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), aspect="equal")
        ax.set_title(title, color=INK, size=9)
    return figure


def levels():  # noqa: ANN201
    """Diagram of one intensity profile on the four levels of the deformable stage."""
    import numpy as np

    figure, axes = canvas(8.2, 1.8, 4)
    x = np.arange(160)
    random = np.random.default_rng(4)
    signal = np.where(np.abs(x - 80) < 60, 0.6 + 0.3 * np.sin(x / 5) * (np.abs(x - 80) > 20), 0) + 0.04 * random.standard_normal(160)
    for ax, (shrink, sigma, iterations) in zip(axes, [(8, 3, 100), (4, 2, 70), (2, 1, 50), (1, 0, 20)], strict=True):
        kernel = np.exp(-0.5 * (np.arange(-12, 13) / max(sigma, 1e-3)) ** 2)
        smooth = np.convolve(signal, kernel / kernel.sum(), "same")
        ax.step(x[::shrink], smooth[::shrink], where="mid", color=BLUE, lw=1)
        ax.set_title(f"shrink {shrink}, sigma {sigma}\n{iterations} iterations", color=INK, size=9)
        ax.set(ylim=(-0.2, 1.1))
    return figure


def fold():  # noqa: ANN201
    """Diagram of a fold in one cell that central differences do not detect."""
    import numpy as np

    figure, (ax, signs) = canvas(8.2, 2.6, 2)
    grid = np.stack(np.meshgrid(np.arange(7.0), np.arange(5.0), indexing="ij"), axis=-1)
    grid[3, 2, 0] += 1.25
    for line in [*grid, *grid.transpose(1, 0, 2)]:
        ax.plot(*line.T, color=GREY, lw=0.9)
    ax.fill(*np.array([grid[3, 1], grid[4, 1], grid[4, 2], grid[3, 2]]).T, color=RED, alpha=0.2, lw=0)
    ax.fill(*np.array([grid[3, 3], grid[4, 3], grid[4, 2], grid[3, 2]]).T, color=RED, alpha=0.2, lw=0)
    ax.plot(*grid[3, 2], "o", color=RED, ms=4)
    ax.set(aspect="equal")
    ax.set_title("one voxel passes its neighbour", color=INK, size=9)
    moved = grid[:, 2, 0]
    central, ahead = (moved[4] - moved[2]) / 2, moved[4] - moved[3]
    rows = [
        ("central difference at the voxel", f"({moved[4]:g} − {moved[2]:g}) / 2 = {central:g}", INK),
        ("difference to the next voxel", f"{moved[4]:g} − {moved[3]:g} = {ahead:g}", RED),
    ]
    for row, (what, value, colour) in enumerate(rows):
        signs.text(0, 0.72 - 0.4 * row, what, color=colour, size=9)
        signs.text(0, 0.58 - 0.4 * row, value, color=colour, family="monospace", size=9)
    signs.set(xlim=(0, 1), ylim=(0, 1))
    return figure


if __name__ == "__main__":
    main()
