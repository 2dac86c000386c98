#!/usr/bin/env python3
"""Measures the Python package on an NVIDIA GPU: speed, memory, time to stop after Ctrl-C, and use with PyTorch.

The files that the package writes must have the same bytes as those of the command `antsreg-gpu`.

DATA holds the images fixed.nii.gz and moving.nii.gz at 1 mm; --fixed and --moving name other images. The script needs
the package, nibabel, PyTorch for some parts, and FireANTs for the part `peer`. It prints a line for each figure and, at the end, all figures as JSON.
The exit code is 1 if an acceptance limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable

FIGURES: dict[str, Any] = {}
MISSED: list[str] = []


def main() -> int:
    """Run the requested measurements of the Python package. Returns 1 if an acceptance limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=Path(), metavar="DATA")
    parser.add_argument("--fixed", type=Path, help="the fixed image [default: DATA/fixed.nii.gz]")
    parser.add_argument("--moving", type=Path, help="the moving image [default: DATA/moving.nii.gz]")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default="", help="comma-separated list of the parts to run: " + ", ".join(PARTS))
    parser.add_argument("--repeat", type=int, default=20, help="number of timed registrations; the median is printed")
    parser.add_argument("--many", type=int, default=500, help="number of registrations in the part `memory`")
    arguments = parser.parse_args()
    fixed = arguments.fixed or arguments.data / "fixed.nii.gz"
    moving = arguments.moving or arguments.data / "moving.nii.gz"
    wanted = [name for name in arguments.only.split(",") if name] or list(PARTS)
    for name in wanted:
        try:
            PARTS[name](arguments, fixed, moving)
        except ImportError as missing:
            print(f"{name}: left out, {missing}", flush=True)
    print(json.dumps({"figures": FIGURES, "missed": MISSED}, indent=2))
    return 1 if MISSED else 0


def tell(name: str, value: float, unit: str, most: float | None = None, least: float | None = None) -> None:
    """Print and store a measured value, and record whether it misses its acceptance limit."""
    bar = f" (at most {most})" if most is not None else f" (at least {least})" if least is not None else ""
    FIGURES[name] = value
    missed = (most is not None and value > most) or (least is not None and value < least)
    if missed:
        MISSED.append(name)
    print(f"{name}: {value:.4g} {unit}{bar}{' MISSED' if missed else ''}", flush=True)


def load(path: Path) -> tuple[Any, Any]:
    """Load an image as an array in single precision, with its voxel-to-world matrix."""
    import nibabel
    import numpy

    image: Any = nibabel.load(path)
    return numpy.asarray(image.dataobj, dtype=numpy.float32), image.affine


def seconds_of(run: Callable[[], Any], repeat: int) -> float:
    """The median time of a call after a first call that is not counted, s."""
    run()
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def speed(arguments: argparse.Namespace, fixed: Path, moving: Path) -> None:
    """Measure the time of registrations from numpy arrays, one by one and by `register_many`."""
    import antsreg_gpu

    f, m, device = load(fixed), load(moving), arguments.device

    def both_warps(found: antsreg_gpu.Registration) -> None:
        assert found.warp is not None and found.inverse_warp is not None

    tell("from numpy, a pair", seconds_of(lambda: both_warps(antsreg_gpu.register(f, m, device=device)), arguments.repeat), "s", 0.13)
    prepared = antsreg_gpu.Fixed(f, device=device)
    tell("from numpy, fixed prepared", seconds_of(lambda: both_warps(prepared.register(m)), arguments.repeat), "s")
    for count, least in ((3 * arguments.repeat, None), (10 * arguments.repeat, 20.0)):
        began = time.perf_counter()
        for found in antsreg_gpu.register_many(f, [m] * count, device=device):
            both_warps(found)
        tell(f"register_many of {count}", count / (time.perf_counter() - began), "pairs/s, with its start", least=least)


def tensors(arguments: argparse.Namespace, fixed: Path, moving: Path) -> None:
    """Measure the time of registrations with GPU tensors, and compare the results with those from main memory."""
    import numpy
    import torch

    import antsreg_gpu

    device, pair = torch.device(arguments.device), (load(fixed), load(moving))
    f, m = ((torch.as_tensor(array, device=device), affine) for array, affine in pair)

    def run() -> antsreg_gpu.Registration:
        found = antsreg_gpu.register(f, m, output="device")
        warps = [torch.from_dlpack(array) for array in (found.on_device.warp, found.on_device.inverse_warp)]
        assert all(warp.device == device and warp.shape == (*f[0].shape, 3) for warp in warps)
        torch.cuda.synchronize(device)
        return found

    tell("from and to tensors, a pair", seconds_of(run, arguments.repeat), "s", 0.095)
    prepared = antsreg_gpu.Fixed(f)
    tell("from tensors, fixed prepared", seconds_of(lambda: prepared.register(m, output="device"), arguments.repeat), "s")
    ours, theirs = run(), antsreg_gpu.register(*pair, device=arguments.device)
    kept = ours.on_device
    results = {"warp": theirs.warp, "inverse_warp": theirs.inverse_warp, "warped": theirs.warped.dataobj}
    for name, expected in {**results, "inverse_warped": theirs.inverse_warped.dataobj}.items():
        found = torch.from_dlpack(getattr(kept, name)).cpu().numpy()
        tell(f"{name} on the GPU, numbers that differ", int((found != numpy.asarray(expected)).sum()), "", 0)
    # The input is still being written on another CUDA stream while the registration is called.
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late = antsreg_gpu.register((f[0] * 1.0, f[1]), (m[0] * 1.0, m[1]), output="device")
        again = torch.from_dlpack(late.on_device.warp)
        del late
        differ = int((again.cpu().numpy() != theirs.warp).sum())
    tell("warp by way of another stream, numbers that differ", differ, "", 0)
    fetched = ours.warp
    assert fetched is not None and theirs.warp is not None
    tell("warp fetched later, numbers that differ", int((fetched != theirs.warp).sum()), "", 0)


def same(arguments: argparse.Namespace, fixed: Path, moving: Path) -> None:
    """Check that `save` writes the same files as the command `antsreg-gpu register`."""
    import antsreg_gpu

    program = Path(sys.executable).parent / "antsreg-gpu"
    with tempfile.TemporaryDirectory() as folder:
        for preset in ("fast", "default", "best", "smooth", "multimodal"):
            words = ["register", "-f", fixed, "-m", moving, "-o", f"{folder}/c_", "--device", arguments.device]
            subprocess.run([program, *words, "--preset", preset], check=True, capture_output=True)
            antsreg_gpu.register(fixed, moving, preset=preset, device=arguments.device).save(f"{folder}/p_")
            differing = [
                path.name
                for path in Path(folder).glob("p_*")
                if path.suffix != ".json" and path.read_bytes() != (path.parent / path.name.replace("p_", "c_", 1)).read_bytes()
            ]
            print(f"{preset}: {'differ: ' + ', '.join(differing) if differing else 'the same bytes'}", flush=True)
            tell(f"{preset}, files that differ", len(differing), "files", 0)


def memory(arguments: argparse.Namespace, fixed: Path, moving: Path) -> None:
    """Measure the growth of host and device memory over many registrations."""
    import torch

    import antsreg_gpu

    (f, affine), (m, other) = load(fixed), load(moving)

    def coarse(array: Any, matrix: Any) -> tuple[Any, Any]:
        matrix = matrix.copy()
        matrix[:3, :3] *= 2
        return array[::2, ::2, ::2].copy(), matrix

    pair = coarse(f, affine), coarse(m, other)

    def held() -> tuple[int, int]:
        free, total = torch.cuda.mem_get_info(torch.device(arguments.device))
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE"), total - free

    for _ in range(20):
        antsreg_gpu.register(*pair, device=arguments.device)
    before = held()
    for _ in range(arguments.many):
        antsreg_gpu.register(*pair, device=arguments.device)
    after = held()
    tell(f"host memory gained by {arguments.many}", (after[0] - before[0]) / 1e6, "MB", 20.0)
    tell(f"device memory gained by {arguments.many}", (after[1] - before[1]) / 1e6, "MB", 20.0)
    antsreg_gpu.release_devices()
    tell("device memory given back", (after[1] - held()[1]) / 1e6, "MB")


def beside(arguments: argparse.Namespace, fixed: Path, moving: Path) -> None:
    """Check that PyTorch training gives the same bits with and without registrations between the training steps."""
    import torch

    import antsreg_gpu

    torch.use_deterministic_algorithms(True)
    pair, device = (load(fixed), load(moving)), torch.device(arguments.device)
    reference = antsreg_gpu.register(*pair, preset="fast", device=arguments.device).affine

    def train(between: Callable[[], None]) -> Any:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).to(device)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
        data = torch.randn(64, 256, device=device)
        for _ in range(10):
            optimiser.zero_grad()
            model(data).square().mean().backward()
            optimiser.step()
            between()
        return torch.cat([parameter.detach().flatten().cpu() for parameter in model.parameters()])

    def register() -> None:
        current = torch.cuda.current_device()
        found = antsreg_gpu.register(*pair, preset="fast", device=arguments.device)
        assert (found.affine == reference).all(), "other bits beside PyTorch"
        assert torch.cuda.current_device() == current, "another current device"

    alone = train(lambda: None)
    tell("weights that differ beside us", int((train(register) != alone).sum()), "weights", 0)
    with torch.cuda.stream(torch.cuda.Stream(device)):
        tell("weights that differ, on a stream", int((train(register) != alone).sum()), "weights", 0)


def peer(arguments: argparse.Namespace, fixed: Path, moving: Path) -> None:
    """Measure FireANTs and this package in the same process: time, and correlation of the registered images.

    FireANTs runs with the settings of its documentation: affine, then greedy or SyN with local cross-correlation.
    """
    import numpy
    import torch
    from fireants.io import BatchedImages, Image
    from fireants.registration.affine import AffineRegistration
    from fireants.registration.greedy import GreedyRegistration
    from fireants.registration.moments import MomentsRegistration
    from fireants.registration.syn import SyNRegistration

    import antsreg_gpu

    images = [BatchedImages([Image.load_file(str(path), device=arguments.device)]) for path in (fixed, moving)]
    still = images[0]().detach().cpu().numpy().ravel()
    scales, options = [4, 2, 1], {"cc_kernel_size": 5, "optimizer": "Adam"}

    def fireants(deformable: type, **more: Any) -> Any:
        moments = MomentsRegistration(fixed_images=images[0], moving_images=images[1], scale=4.0, moments=1)
        moments.optimize()
        start = moments.get_affine_init().detach()
        affine = AffineRegistration(scales, [200, 100, 50], *images, init_rigid=start, optimizer_lr=3e-3, **options)
        affine.optimize()
        found = deformable(
            scales=scales,
            iterations=[200, 100, 25],
            fixed_images=images[0],
            moving_images=images[1],
            optimizer_lr=0.5,
            deformation_type="compositive",
            smooth_grad_sigma=1,
            init_affine=affine.get_affine_matrix().detach(),
            **options,
            **more,
        )
        found.optimize()
        warped = found.evaluate(*images)
        torch.cuda.synchronize()
        return warped

    pair = load(fixed), load(moving)
    runs: dict[str, Callable[[], Any]] = {
        "antsreg-gpu": lambda: antsreg_gpu.register(*pair, device=arguments.device).warped.dataobj,
        "antsreg-gpu, best": lambda: antsreg_gpu.register(*pair, preset="best", device=arguments.device).warped.dataobj,
        "FireANTs, greedy": lambda: fireants(GreedyRegistration),
        "FireANTs, SyN": lambda: fireants(SyNRegistration),
    }
    for name, run in runs.items():
        tell(f"{name}, a pair", seconds_of(run, 3), "s")
        warped = run()
        warped = warped.detach().cpu().numpy() if isinstance(warped, torch.Tensor) else numpy.asarray(warped).T
        expected = still if name.startswith("Fire") else pair[0][0].T.ravel()
        tell(f"{name}, correlation", float(numpy.corrcoef(warped.ravel(), expected)[0, 1]), "")


def stops(arguments: argparse.Namespace, fixed: Path, moving: Path) -> None:
    """Measure the seconds from Ctrl-C, and from an exception in the callback, to the end of the call."""
    import antsreg_gpu

    pair = load(fixed), load(moving)
    slow: dict[str, Any] = {
        "levels": {"iterations": [10**6], "shrink_factors": [1], "smoothing_sigmas": [0.0]},
        "syn": {"convergence": {"window": 50000, "threshold": 0.0}},
    }
    antsreg_gpu.register(*pair, "rigid", device=arguments.device)
    raised: list[float] = []

    def stop(report: antsreg_gpu.Report) -> None:
        if report.stage == "syn" and report.iteration == 20:
            raised.append(time.perf_counter())
            raise InterruptedError

    try:
        antsreg_gpu.register(*pair, device=arguments.device, progress=stop, **slow)
    except InterruptedError:
        tell("from an exception to the end", time.perf_counter() - raised[0], "s", 0.5)
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(1.0, interrupt).start()
    try:
        # The registration is repeated, because a fast device may finish the first registration before the interrupt.
        while True:
            antsreg_gpu.register(*pair, device=arguments.device, **slow)
    except KeyboardInterrupt:
        tell("from Ctrl-C to the end", time.perf_counter() - sent[0], "s", 0.5)


PARTS = {"speed": speed, "tensors": tensors, "same": same, "memory": memory, "beside": beside, "peer": peer, "stops": stops}

if __name__ == "__main__":
    sys.exit(main())
