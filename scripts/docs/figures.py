"""Checks the measured figures in documents against docs/figures.json.

The file holds each figure once, with version, date, machine and command of its measurement. ``docs_check.py figures
--update`` writes a section of the file into a document, between two comments:

    <!-- begin affine -->
    …
    <!-- end affine -->

A section has tables, and the conditions of their measurement. A cell may refer to another section: ``{syn/1001→1000,
default/seconds}`` is the cell of section `syn` in the row that begins with 1001→1000 and default, in the column
`seconds`. Tables outside such comments may not contain decimal numbers, unless ``<!-- no figures: REASON -->`` stands
before the table.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from environment import REPOSITORY

from docs.site import tracked

FIGURES = REPOSITORY / "docs" / "figures.json"
#: Documents to check. Documents in docs/history are left out, because they are not changed any more, and docs/papers.md,
#: because a test compares it with docs/papers.json.
PAGES = ["README.md", "docs/*.md", ":!docs/history", ":!docs/papers.md"]
#: Fields that every section of docs/figures.json must have: the conditions of its measurement.
RUN = ("version", "date", "machine", "command")

BLOCK = re.compile(r"^<!-- begin (?P<name>\S+) -->\n(?P<shown>.*?)^<!-- end (?P=name) -->$", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(?:^<!-- no figures: (?P<reason>.+) -->\n)?(?P<table>(?:^\|.*\n)+)", re.MULTILINE)
REFERENCE = re.compile(r"\{([^{}/]+)/([^{}/]+)/([^{}/]+)\}")
NUMBER = re.compile(r"\d\.\d")

Section = dict[str, Any]


class Fault(Exception):
    """Raised for a fault in docs/figures.json or in a table of a document."""


def check(update: bool = False) -> int:
    """Compare the tables in the documents with the measured values in docs/figures.json, or update the tables.

    Returns 1 if they differ.
    """
    faults: list[str] = []
    try:
        sections = load()
    except Fault as fault:
        print(f"figures: {fault}", file=sys.stderr)
        return 1
    shown: set[str] = set()
    for name in tracked(*PAGES):
        path = REPOSITORY / name
        text = path.read_text()
        try:
            filled = fill(text, sections, shown)
        except Fault as fault:
            faults.append(f"{name}: {fault}")
            continue
        if filled != text and update:
            path.write_text(filled)
        elif filled != text:
            faults.append(f"{name}: a table differs from docs/figures.json: scripts/docs_check.py figures --update")
        faults += [f"{name}: {line}" for line in unknown(BLOCK.sub("", text))]
    hidden = sections.keys() - shown - {other for section in sections.values() for other in referred(section)}
    faults += [f"docs/figures.json: no document shows {name}" for name in sorted(hidden)]
    print("\n".join(f"figures: {fault}" for fault in faults) or f"figures: {len(sections)} sections", file=sys.stderr)
    return 1 if faults else 0


def load() -> dict[str, Section]:
    """Read the measured values in docs/figures.json and check that every section has the required fields."""
    sections: dict[str, Section] = json.loads(FIGURES.read_text())
    for name, section in sections.items():
        missing = [key for key in RUN if not section.get("run", {}).get(key)]
        if missing:
            raise Fault(f"docs/figures.json: {name}: the run lacks {', '.join(missing)}")
        for table in section["tables"]:
            if any(len(row) != len(table["columns"]) for row in table["rows"]):
                raise Fault(f"docs/figures.json: {name}: a row has not as many cells as there are columns")
    return sections


def save(path: Path, name: str, section: Section) -> None:
    """Write one section of measured values into the file of figures (docs/figures.json)."""
    sections = json.loads(path.read_text()) if path.exists() else {}
    sections[name] = section
    path.write_text(dump(sections))


def dump(sections: dict[str, Section]) -> str:
    """The file of figures as text, with one line for each table row."""
    text = json.dumps(sections, ensure_ascii=False, indent=1)
    rows = re.compile(r"\[\s*((?:\"(?:[^\"\\]|\\.)*\",\s*)*\"(?:[^\"\\]|\\.)*\")\s*\]")
    return rows.sub(lambda found: "[" + re.sub(r"\",\s*\n\s*\"", '", "', found[1]) + "]", text) + "\n"


def fill(text: str, sections: dict[str, Section], shown: set[str]) -> str:
    """The text of a document, with every table between figure comments generated anew from docs/figures.json."""

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in sections:
            raise Fault(f"docs/figures.json has no section {name}")
        shown.add(name)
        return f"<!-- begin {name} -->\n{render(sections, name)}\n<!-- end {name} -->"

    return BLOCK.sub(block, text)


def render(sections: dict[str, Section], name: str) -> str:
    """A section of docs/figures.json in Markdown: its tables, then the conditions of the measurement.

    The conditions are left out if the document states them.
    """
    section = sections[name]
    parts = []
    for table in section["tables"]:
        if table.get("hidden"):
            continue
        columns = table["columns"]
        rows = [[REFERENCE.sub(lambda found: cell(sections, *found.groups()), text) for text in row] for row in table["rows"]]
        lines = [columns, ["---"] * len(columns), *rows]
        parts.append("\n".join(re.sub(r"\|  (?=\|)", "| ", f"| {' | '.join(cells)} |") for cells in lines))
    run = section["run"]
    if run.get("shown", True):
        details = [f"#   {line}" for line in run.get("calls", [])]
        parts += [f"{run['version']}, {run['machine']}, {run['date']}:"]
        parts += ["\n".join(["```sh", run["command"], *details, "```"])]
    return "\n\n".join(parts)


def cell(sections: dict[str, Section], name: str, row: str, column: str) -> str:
    """The text of one table cell of a section of docs/figures.json.

    The cell is given by its section, the first cells of its row (joined by commas), and its column.
    """
    found = [
        cells[table["columns"].index(column)]
        for table in sections.get(name, {"tables": []})["tables"]
        if column in table["columns"]
        for cells in table["rows"]
        if ", ".join(cells).replace("*", "").startswith(f"{row}, ")
    ]
    if len(found) != 1:
        raise Fault(f"{{{name}/{row}/{column}}} names {len(found)} cells of docs/figures.json, not one")
    return found[0]


def referred(section: Section) -> set[str]:
    """Names of other sections of docs/figures.json to which table cells of a section refer."""
    return {found[0] for table in section["tables"] for row in table["rows"] for found in REFERENCE.findall(" ".join(row))}


def unknown(text: str) -> list[str]:
    """Rows with decimal numbers in tables that are not generated from docs/figures.json."""
    code = re.compile(r"`[^`]*`")
    return [
        f"not from docs/figures.json: {line}"
        for found in TABLE.finditer(text)
        if not found["reason"]
        for line in found["table"].splitlines()
        if NUMBER.search(code.sub("", line))
    ]
