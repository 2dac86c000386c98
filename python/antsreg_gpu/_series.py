"""Motion correction of image series."""

from __future__ import annotations

import html
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._errors import InputError, ResultWarning
from ._images import ImageLike, is_path, kind_of, made, parts, path_of, read
from ._kept import KeptSeries
from ._options import _json
from ._progress import log

#: Columns of the table ``motion.tsv`` that the command writes.
_COLUMNS = (
    *("trans_x", "trans_y", "trans_z", "rot_x", "rot_y", "rot_z"),
    *("framewise_displacement", "rmsd", "dvars", "std_dvars"),
)
#: Names of the transform models by their degrees of freedom.
_DOF = {3: "translation", 6: "rigid", 7: "similarity", 9: "scales", 12: "affine"}


class Series:
    """The result of a motion correction: the motion of the head in each volume, and the corrected series."""

    def __init__(self, native: _native.Series, kind: str = "") -> None:
        self._native = native
        #: The library whose images the result has; empty for nibabel.
        self._kind = kind
        self._table = np.array(native.table).reshape(-1, 10)

    def __reduce__(self) -> Any:
        """Pickles the result: motion, corrected series and mean. An unpickled result cannot write files."""
        return _unpickled, (KeptSeries.of(self._native, len(self)).__dict__, self._kind)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def affines(self) -> NDArray[np.float64]:
        """The affine of each volume, from points of the reference to points of the volume, N×4×4, RAS mm."""
        return np.array(self._native.affines)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Motion parameters of each volume, N×6: three translations, mm, then three rotations, radians.

        The translations are those of the reference's centre, in RAS. The rotations are about x, y and z.
        """
        return self._table[:, :6]

    @property
    def fd(self) -> NDArray[np.float64]:
        """Framewise displacement since the previous volume, mm (Power et al. 2012). NaN for the first volume."""
        return self._table[:, 6]

    @property
    def rmsd(self) -> NDArray[np.float64]:
        """Root mean squared displacement since the previous volume, mm. NaN for the first volume.

        The mean is over a sphere with a radius of 80 mm.
        """
        return self._table[:, 7]

    @property
    def dvars(self) -> NDArray[np.float64]:
        """DVARS of each volume. NaN for the first volume.

        DVARS is the root mean squared change of the corrected intensities since the previous volume.
        """
        return self._table[:, 8]

    @property
    def std_dvars(self) -> NDArray[np.float64]:
        """Standardised DVARS: DVARS divided by its expected value for noise alone. NaN for the first volume."""
        return self._table[:, 9]

    @property
    def table(self) -> Any:
        """The motion as a DataFrame of pandas, which must be installed: a row for each volume.

        The columns are those of the table ``motion.tsv`` that the command writes.
        """
        pandas: Any = importlib.import_module("pandas")
        return pandas.DataFrame(self._table, columns=list(_COLUMNS)).rename_axis("volume")

    @property
    def failed(self) -> list[tuple[int, str]]:
        """Volumes that could not be aligned: their numbers, counted from 0, and the reasons.

        Such a volume gets the transform of the previous volume.
        """
        return self._native.failed

    @property
    def mean(self) -> Any:
        """The mean of the corrected volumes, on the grid of the reference."""
        image = self._native.mean()
        return made(image.array, image.affine, self._kind)

    def corrected_volume(self, index: int) -> Any:
        """The corrected volume with the number ``index``, counted from 0."""
        image = self._native.corrected(range(len(self))[index])
        return made(image.array, image.affine, self._kind)

    @property
    def corrected(self) -> Any:
        """The corrected series, X×Y×Z×N, on the grid of the reference. Each access computes it anew."""
        first = self._native.corrected(0)
        voxels = np.empty((*first.array.shape, len(self)), dtype=np.float32, order="F")
        for index in range(len(self)):
            voxels[..., index] = self._native.corrected(index).array
        return made(voxels, first.affine, self._kind)

    def save(
        self,
        prefix: Union[str, os.PathLike[str]],
        *,
        corrected: bool = True,
        fsl: bool = False,
        report: bool = False,
    ) -> list[Path]:
        """Writes the files that ``antsreg-gpu motion`` writes.

        Parameters
        ----------
        prefix : str
            Beginning of all paths, with the folder: the motion table becomes ``prefixmotion.tsv``.
        corrected : bool
            Whether the corrected series is written.
        fsl : bool
            Whether the affines are also written as FSL's matrices, one file for each volume.
        report : bool
            Whether an HTML page for visual inspection is written.

        Returns
        -------
        list of paths
            Paths of the written files. Either all files are replaced or none.
        """
        return self._native.save(os.fspath(prefix), corrected, fsl, report)

    def __repr__(self) -> str:
        return f"Series({len(self)} volumes, mean framewise displacement {self._mean_fd():.3f} mm)"

    def _repr_html_(self) -> str:
        """An HTML table of the result, which notebooks display."""
        worst = int(np.nanargmax(self.fd)) if len(self) > 1 else 0
        rows = [
            ("Volumes", f"{len(self)}"),
            ("Framewise displacement", f"{self._mean_fd():.3f} mm on average"),
            ("Largest", f"{self.fd[worst]:.3f} mm, volume {worst} counted from 0"),
            *(("Failed", f"volume {index}: {why}") for index, why in self.failed),
        ]
        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        return f"<table>{cells}</table>"

    def _mean_fd(self) -> float:
        return float(self.fd[1:].mean()) if len(self) > 1 else 0.0


def _unpickled(kept: dict[str, Any], kind: str) -> Series:
    native: Any = KeptSeries(**kept)
    return Series(native, kind)


def register_series(
    series: ImageLike,
    reference: Union[str, int, ImageLike] = "middle",
    *,
    cost: str = "ncc",
    dof: int = 6,
    smoothing_sigmas_mm: tuple[float, ...] = (4.0, 2.0),
    device: str = "auto",
    keep_going: bool = False,
    progress: Union[None, bool, Callable[[int, int], object]] = None,
) -> Series:
    """Aligns every volume of a series to a reference, as the command ``antsreg-gpu motion`` does.

    Parameters
    ----------
    series : image
        A series of volumes: a path, a 4-D image of nibabel, or (array X×Y×Z×N, affine).
    reference : str, int or image
        ``"middle"`` (the volume in the middle), ``"mean"`` (the mean of the series after a first alignment), the number
        of a volume counted from 0, or an image.
    cost : str
        Cost function: ``"ncc"``, ``"lsq"``, ``"cr"`` or ``"nmi"``. Use ``"cr"`` or ``"nmi"`` for series whose contrast
        changes, such as diffusion.
    dof : int
        Degrees of freedom of each volume's affine: 3, 6, 7, 9 or 12.
    smoothing_sigmas_mm : tuple of float
        Standard deviation of the Gaussian smoothing on each level, coarse to fine, mm.
    device : str
        ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.
    keep_going : bool
        Whether the correction continues if a volume cannot be aligned (see `Series.failed`), instead of raising an
        exception.
    progress : bool or function
        True shows a line on standard error. A function is called with the number of aligned volumes and the number of
        all volumes; an exception in the function stops the correction.

    Returns
    -------
    Series
        The motion of each volume, and the corrected series.

    Examples
    --------
    >>> import numpy as np
    >>> x, y, z = np.indices((16, 16, 12)) - 7.0
    >>> ball = 100 * np.exp(-(x**2 / 12 + y**2 / 20 + z**2 / 8))
    >>> volumes = np.stack([ball, np.roll(ball, 1, axis=0), ball], axis=-1)
    >>> found = register_series((volumes, np.diag([3, 3, 3, 1])), reference=0, dof=3)
    >>> found.parameters[1, :3].round(0) + 0.0
    array([3., 0., 0.])
    """
    if dof not in _DOF:
        raise InputError(f"dof: expected 3, 6, 7, 9 or 12, found {dof}")
    options = {"cost": cost, "dof": _DOF[dof], "smoothing_sigmas_mm": [float(sigma) for sigma in smoothing_sigmas_mm]}
    name, volumes, repetition = _volumes(series)
    onto: Any = str(reference) if isinstance(reference, (str, int)) else reference
    if is_path(onto):
        onto = path_of(onto)
    elif not isinstance(onto, str):
        onto = read(onto, "the reference")
    told = _line if progress is True else progress or None
    found, note = _native.register_series(name, volumes, repetition, onto, _json(options), device, keep_going, told)
    log(note)
    for index, why in found.unlike:
        warnings.warn(f"{name}: volume {index}, counted from 0: {why}", ResultWarning, stacklevel=2)
    return Series(found, kind_of(series))


#: Motion correction by the name of the command.
motion = register_series


def _volumes(series: ImageLike) -> tuple[str, Optional[list[_native.Image]], float]:
    """The name of a series, its volumes if it is in memory, and the time between volumes in s (0 if unknown)."""
    if is_path(series):
        return path_of(series), None, 0.0
    array, affine, name = parts(series, "the series")
    if array.ndim != 4:
        raise InputError(f"{name}: expected a series with 4 axes, found {array.ndim} axes")
    volumes = [
        _native.Image.copy(np.asarray(array[..., index], dtype=np.float32), affine, name)
        for index in range(array.shape[3])
    ]
    return name, volumes, _repetition(series)


def _repetition(series: Any) -> float:
    """Time between the volumes of a series in memory, s; 0 if it is unknown."""
    zooms: Sequence[float] = getattr(getattr(series, "header", None), "get_zooms", tuple)()
    if kind_of(series):
        zooms = series.spacing if hasattr(series, "spacing") else series.GetSpacing()
    return float(zooms[3]) if len(zooms) > 3 else 0.0


def _line(aligned: int, of: int) -> None:
    """Shows the progress on one line of standard error."""
    sys.stderr.write(f"\raligned {aligned} of {of} volumes\033[K" + ("\n" if aligned == of else ""))
    sys.stderr.flush()
