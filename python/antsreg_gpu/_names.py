"""Names of labels, from tables of other programs."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Union

from ._errors import InputError, MissingFileError

#: A line of ITK-SNAP's label descriptions: number, colour, opacity, two flags of visibility, name in quotes.
_SNAP = re.compile(r'^\s*(\d+)(?:\s+[\d.]+){6}\s+"(.*)"\s*$')
#: A line of FreeSurfer's colour table: number, name, colour.
_FREESURFER = re.compile(r"^\s*(\d+)\s+(\S+)(?:\s+\d+){3,4}\s*$")


def label_names(names: Union[str, os.PathLike[str], Mapping[int, str]]) -> dict[int, str]:
    """Names of labels.

    Parameters
    ----------
    names : path or mapping
        A table of BIDS (``.tsv`` or ``.csv`` with columns ``index`` and ``name``), a colour table of FreeSurfer, label
        descriptions of ITK-SNAP, or the names by label.

    Returns
    -------
    dict
        The names by label.

    Examples
    --------
    >>> label_names({17: "Left-Hippocampus"})
    {17: 'Left-Hippocampus'}
    """
    if isinstance(names, Mapping):
        return {int(label): str(name) for label, name in names.items()}
    path = Path(names)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise MissingFileError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: could not be read as a table of labels: {error}") from None
    found = _of_columns(text) or _of_lines(text)
    if not found:
        raise InputError(
            f"{path}: expected names of labels (BIDS's columns index and name, FreeSurfer's colour table or ITK-SNAP's "
            "label descriptions), found none"
        )
    return found


def _of_columns(text: str) -> dict[int, str]:
    """The names in a table with the columns ``index`` and ``name``; nothing for any other text."""
    first = text.split("\n", 1)[0]
    rows = csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in first else ",")
    if not {"index", "name"} <= set(rows.fieldnames or ()):
        return {}
    return {int(row["index"]): row["name"] for row in rows if (row["index"] or "").strip().isdecimal()}


def _of_lines(text: str) -> dict[int, str]:
    """The names in the lines of a colour table; lines of another form, such as comments, are left out."""
    matches = (_SNAP.match(line) or _FREESURFER.match(line) for line in text.splitlines())
    return {int(found[1]): found[2] for found in matches if found}
