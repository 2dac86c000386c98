"""Interfaces of nipype for the verbs of the command ``antsreg-gpu`` that write files. nipype must be installed.

>>> from antsreg_gpu.nipype import Apply, Register
>>> register = Register(fixed="f.nii.gz", moving="m.nii.gz", cost="nmi", cc_radius=4)  # doctest: +SKIP
>>> found = register.run().outputs  # doctest: +SKIP
>>> apply = Apply(input="n.nii.gz", reference="f.nii.gz", transform=found.forward_transforms)  # doctest: +SKIP

Inputs have the names of the command's options, with ``_`` for ``-``, and ``from_`` for ``--from``. Their types and help
texts come from the command's own table of options, and the command checks their ranges. Files without a folder are
written into the working folder, as nipype expects.
"""

from __future__ import annotations

import importlib
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _native
from ._process import plain

_base: Any = importlib.import_module("nipype.interfaces.base")
_traits: Any = _base.traits

__all__ = [
    "Apply",
    "Batch",
    "Bias",
    "Brain",
    "Convert",
    "Jacobian",
    "Labels",
    "Motion",
    "Normalise",
    "Register",
    "Template",
]

#: Words for the values of options that are files to read.
_READ = ("IMAGE", "SERIES", "CSV")
#: Verbs whose images may be several channels, which one value lists with commas between their paths.
_WITH_CHANNELS = ("template", "batch", "normalise")


def _inputs(verb: str, **presets: str) -> Any:
    """The input specification of a verb: a trait for each argument. ``presets`` are names of outputs that have one."""
    found: dict[str, Any] = {"__module__": __name__, "__doc__": f"Inputs of ``antsreg-gpu {verb}``."}
    arguments = _native.arguments(verb)
    unnamed = sum(argument["position"] is not None for argument in arguments)
    for argument in arguments:
        name = argument["name"].replace("-", "_")
        metadata: dict[str, Any] = {"desc": argument["help"], "argstr": "%s"}
        if argument["position"] is not None:
            # Arguments that are no options stand behind the options, in their order.
            metadata["position"] = argument["position"] - unnamed - 1
        if name in presets:
            metadata["usedefault"] = True
        elif argument["required"]:
            metadata["mandatory"] = True
        name = "from_" if name == "from" else name
        found[name] = _trait(verb, argument, presets.get(name), metadata)
    return type(f"{verb.capitalize()}Inputs", (_base.CommandLineInputSpec,), found)


def _trait(verb: str, argument: Mapping[str, Any], preset: Any, metadata: dict[str, Any]) -> Any:
    kind = argument["kind"]
    if preset is not None:
        return _traits.Str(preset, **metadata)
    if argument["optional_value"]:
        value = _traits.Enum(*argument["choices"]) if kind == "choice" else _traits.Str()
        return _traits.Either(_traits.Bool(), value, **metadata)
    one: dict[str, Any] = {"flag": _traits.Bool, "number": _traits.Float, "whole": _traits.Int, "path": _base.File}
    if kind == "choice":
        value, made = _traits.Enum, argument["choices"]
    elif kind == "path" and argument["value_name"] in _READ and verb not in _WITH_CHANNELS:
        # A file that does not exist is refused before the command starts, and nipype follows changes of its content.
        if argument["several"]:
            return _base.InputMultiPath(_base.File(exists=True), **metadata)
        return _base.File(exists=True, **metadata)
    else:
        value, made = one.get(kind, _traits.Str), ()
    if argument["several"]:
        return _base.InputMultiObject(value(*made), **metadata)
    if kind in ("per-level", "text"):
        return _traits.Either(_traits.List(_traits.Float()), _traits.Float(), _traits.Str(), **metadata)
    return value(*made, **metadata)


def _outputs(verb: str, *files: str, **lists: str) -> Any:
    """The output specification of a verb: a file for each of ``files``, and lists with their descriptions."""
    found: dict[str, Any] = {"__module__": __name__, "__doc__": f"Outputs of ``antsreg-gpu {verb}``."}
    found |= {name: _base.File(desc=f"written file: {name.replace('_', ' ')}") for name in files}
    found |= {name: _traits.List(_traits.Str(), desc=desc) for name, desc in lists.items()}
    return type(f"{verb.capitalize()}Outputs", (_base.TraitedSpec,), found)


class _Verb(_base.CommandLine):  # type: ignore[misc]
    """A verb of the command. Subclasses say which files it writes."""

    #: The verb.
    _verb = ""
    #: Endings of output names behind the prefix ``output``, by the output's trait. Several stand for formats.
    _behind_prefix: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, **inputs: Any) -> None:
        program = "antsreg-gpu" if shutil.which("antsreg-gpu") else f"{shlex.quote(sys.executable)} -m antsreg_gpu"
        super().__init__(command=f"{program} {self._verb}", **inputs)

    @property
    def version(self) -> str:
        """Version of the package, which nipype's record of a run has."""
        return _native.VERSION

    def _run_interface(self, runtime: Any, correct_return_codes: tuple[int, ...] = (0,)) -> Any:
        done = super()._run_interface(runtime, correct_return_codes)
        # nipype itself leaves it to each interface to refuse an exit code.
        if done.returncode not in correct_return_codes:
            self.raise_exception(done)
        return done

    def _format_arg(self, name: str, trait_spec: Any, value: Any) -> Any:
        if trait_spec.position is not None:
            several = value if isinstance(value, list) else [value]
            return " ".join(shlex.quote(str(one)) for one in several)
        words = _native.words(self._verb, [(name, plain(value))])
        return " ".join(map(shlex.quote, words)) or None

    def _list_outputs(self) -> dict[str, Any]:
        found: dict[str, Any] = self.output_spec().trait_get()
        given = self.inputs.trait_get()
        for name in found:
            value = given.get(name)
            if isinstance(value, str):
                found[name] = _absolute(value)
        for name, endings in self._behind_prefix.items():
            paths = [_absolute(f"{given['output']}{ending}") for ending in endings]
            written = [path for path in paths if Path(path).exists()]
            if written:
                found[name] = written[0]
        return found


def _absolute(path: str) -> str:
    return str(Path.cwd() / path)


def _image(name: str) -> tuple[str, ...]:
    return (f"{name}.nii.gz", f"{name}.nii")


class Register(_Verb):
    """Registers a moving image to a fixed image (``antsreg-gpu register``)."""

    _verb = "register"
    input_spec = _inputs("register", output="registered_")
    output_spec = _outputs(
        "register",
        *("affine", "warp", "inverse_warp", "composite", "inverse_composite"),
        *("warped", "inverse_warped", "labels", "overlap", "record", "report"),
        forward_transforms="transforms that resample the moving image on the fixed grid, for Apply",
        inverse_transforms="transforms that resample the fixed image on the moving grid, for Apply",
    )
    _behind_prefix = {
        "affine": ("0GenericAffine.mat",),
        "warp": _image("1Warp"),
        "inverse_warp": _image("1InverseWarp"),
        "composite": ("Composite.h5",),
        "inverse_composite": ("InverseComposite.h5",),
        "warped": _image("Warped"),
        "inverse_warped": _image("InverseWarped"),
        "labels": _image("Labels"),
        "overlap": ("overlap.csv",),
        "record": ("record.json",),
        "report": ("report.html",),
    }

    def _list_outputs(self) -> dict[str, Any]:
        found = super()._list_outputs()
        has = {name: value for name, value in found.items() if _base.isdefined(value)}
        forward = [has[name] for name in ("warp", "affine") if name in has]
        inverse = [f"[{has['affine']},1]"] if "affine" in has else []
        inverse += [has["inverse_warp"]] if "inverse_warp" in has else []
        found["forward_transforms"] = [has["composite"]] if "composite" in has else forward
        found["inverse_transforms"] = [has["inverse_composite"]] if "inverse_composite" in has else inverse
        return found


class Apply(_Verb):
    """Applies transforms to an image, a label map, a series or points (``antsreg-gpu apply``)."""

    _verb = "apply"
    input_spec = _inputs("apply", output="applied.nii.gz")
    output_spec = _outputs("apply", "output")


class Bias(_Verb):
    """Corrects the shading of an image by N4 (``antsreg-gpu bias``)."""

    _verb = "bias"
    input_spec = _inputs("bias", output="corrected.nii.gz")
    output_spec = _outputs("bias", "output", "field")


class Brain(_Verb):
    """Extracts the brain from an image of a head (``antsreg-gpu brain``)."""

    _verb = "brain"
    input_spec = _inputs("brain", output="brain.nii.gz")
    output_spec = _outputs("brain", "output", "mask", "probability")


class Motion(_Verb):
    """Corrects the motion in a series (``antsreg-gpu motion``)."""

    _verb = "motion"
    input_spec = _inputs("motion", output="series_")
    output_spec = _outputs("motion", "corrected", "mean", "transforms", "table", "record", "report", "matrices")
    _behind_prefix = {
        "corrected": _image("corrected"),
        "mean": _image("mean"),
        "transforms": ("motion.txt",),
        "table": ("motion.tsv",),
        "record": ("record.json",),
        "report": ("report.html",),
        "matrices": ("motion.mat",),
    }


class Labels(_Verb):
    """Transfers labels to another image, of one or of several atlases (``antsreg-gpu labels``)."""

    _verb = "labels"
    input_spec = _inputs("labels", output="labelled_")
    output_spec = _outputs("labels", "labels", "overlap", "record", "report")
    _behind_prefix = {
        "labels": _image("Labels"),
        "overlap": ("overlap.csv",),
        "record": ("record.json",),
        "report": ("report.html",),
    }

    def _list_outputs(self) -> dict[str, Any]:
        found = super()._list_outputs()
        # The input `labels` is the map that is transferred, so that it is no output.
        written = [_absolute(f"{self.inputs.output}{ending}") for ending in self._behind_prefix["labels"]]
        found["labels"] = next((path for path in written if Path(path).exists()), _base.Undefined)
        return found


class Jacobian(_Verb):
    """Writes the Jacobian determinants of a warp (``antsreg-gpu jacobian``)."""

    _verb = "jacobian"
    input_spec = _inputs("jacobian", output="jacobian.nii.gz")
    output_spec = _outputs("jacobian", "output")


class Convert(_Verb):
    """Converts a transform to the format of another program (``antsreg-gpu convert``)."""

    _verb = "convert"
    input_spec = _inputs("convert")
    output_spec = _outputs("convert", "output")


class _Study(_Verb):
    """A verb that writes files of many subjects into a folder."""

    def _list_outputs(self) -> dict[str, Any]:
        found = super()._list_outputs()
        folder: Any = self.inputs.output
        if _base.isdefined(folder):
            whole = Path(_absolute(folder))
            found["output"] = str(whole)
            paths = sorted(path for path in whole.rglob("*") if path.is_file())
            found |= {name: str(whole / f"{name}{ending}") for name, ending in (("summary", ".csv"), ("report", ".html"))}
        else:
            start = Path(_absolute(str(self.inputs.prefix)))
            paths = sorted(path for path in start.parent.glob(f"{start.name}*") if path.is_file())
        found["files"] = [str(path) for path in paths]
        for name in ("summary", "report"):
            if not (isinstance(found[name], str) and Path(found[name]).exists()):
                found[name] = _base.Undefined
        return found


class Batch(_Study):
    """Registers many subjects to one fixed image (``antsreg-gpu batch``)."""

    _verb = "batch"
    input_spec = _inputs("batch", output="batch")
    output_spec = _outputs("batch", "output", "summary", "report", files="all written files")


class Normalise(_Study):
    """Brings raw scans of heads to a template (``antsreg-gpu normalise``)."""

    _verb = "normalise"
    input_spec = _inputs("normalise")
    output_spec = _outputs("normalise", "output", "summary", "report", files="all written files")


class Template(_Study):
    """Builds a template of many subjects (``antsreg-gpu template``)."""

    _verb = "template"
    input_spec = _inputs("template", output="template")
    output_spec = _outputs("template", "output", "summary", "report", "template", files="all written files")

    def _list_outputs(self) -> dict[str, Any]:
        found = super()._list_outputs()
        found["template"] = str(Path(found["output"]) / "template.nii.gz")
        return found
