"""Registrations beside other work, by asyncio: a bounded number of calls at a time, each in a thread.

python examples/python/at_once.py FOLDER

A call releases the interpreter's lock while it computes, so that a server or a notebook stays responsive. On several
GPUs, or for hundreds of images, `register_many` and `batch` use the devices better.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import nibabel as nib

import antsreg_gpu

examples = Path(__file__).resolve().parents[1]
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "tutorial")
folder.mkdir(parents=True, exist_ok=True)


def half(name: str) -> nib.Nifti1Image:
    """Every second voxel of an example image, so that the example takes seconds."""
    image: nib.Nifti1Image = nib.Nifti1Image.from_filename(examples / name).slicer[::2, ::2, ::2]
    return image


async def registered(fixed: nib.Nifti1Image, moving: nib.Nifti1Image, name: str, places: asyncio.Semaphore) -> str:
    """Registers an image and writes the results. The event loop goes on meanwhile."""
    async with places:
        result = await asyncio.to_thread(antsreg_gpu.register, fixed, moving, "affine", preset="fast")
        await asyncio.to_thread(result.save, folder / f"{name}_")
    return f"{name}: correlation {result.record['similarity']['correlation']:.3f}"


async def heartbeat(beats: list[float]) -> None:
    """Work that must not wait for the registrations."""
    while True:
        beats.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.05)


async def main() -> None:
    """Registers two images to one, while other work continues."""
    fixed, other = half("icbm152_t1_2mm.nii.gz"), half("colin27_t1_2mm.nii.gz")
    beats: list[float] = []
    beside = asyncio.create_task(heartbeat(beats))
    places = asyncio.Semaphore(2)  # calls at a time
    for line in await asyncio.gather(registered(fixed, other, "a", places), registered(other, fixed, "b", places)):
        print(line)
    beside.cancel()
    print("the loop went on meanwhile:", len(beats) > 5)


asyncio.run(main())
