"""Saves figures as PNG files with a palette, which are smaller."""

import io
from pathlib import Path

import PIL.Image
from matplotlib.figure import Figure

COLOURS = 128


def save(figure: Figure, to: Path, dpi: int) -> None:
    """Write a figure and print the size of the file."""
    to.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi)
    PIL.Image.open(drawn).convert("RGB").quantize(COLOURS, dither=PIL.Image.Dither.NONE).save(to, optimize=True)
    print(f"{to}: {to.stat().st_size // 1024} KiB")
