"""Figures that were measured: docs/figures.json holds each once, with version, date, machine and command; documents show them.

A section of that file is shown between two comments of a document, and is written there by ``docs_check.py figures --update``:

    <!-- begin affine -->
    …
    <!-- end affine -->

A section has tables, and the run that measured them. A cell may take its number from another section: ``{syn/1001→1000,
default/seconds}`` is the cell of that section in the row that begins with these words, and in the column of that name.
Tables outside such comments may not hold decimal numbers, unless ``<!-- no figures: REASON -->`` stands before the table.
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
#: Documents in docs/history are not changed.
PAGES = ["README.md", "docs/*.md", ":!docs/history"]
#: The fields that every run must have.
RUN = ("version", "date", "machine", "command")

BLOCK = re.compile(r"^<!-- begin (?P<name>\S+) -->\n(?P<shown>.*?)^<!-- end (?P=name) -->$", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(?:^<!-- no figures: (?P<reason>.+) -->\n)?(?P<table>(?:^\|.*\n)+)", re.MULTILINE)
REFERENCE = re.compile(r"\{([^{}/]+)/([^{}/]+)/([^{}/]+)\}")
NUMBER = re.compile(r"\d\.\d")

Section = dict[str, Any]


class Fault(Exception):
    """Something that is wrong with the figures or with a document."""


def check(update: bool = False) -> int:
    """Compare the documents with the figures, or write the figures into them; 1 if they differ."""
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
    """All sections, checked."""
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
    """Put one section into the file of figures."""
    sections = json.loads(path.read_text()) if path.exists() else {}
    sections[name] = section
    path.write_text(dump(sections))


def dump(sections: dict[str, Section]) -> str:
    """The file of figures as text: a line for each row of a table."""
    text = json.dumps(sections, ensure_ascii=False, indent=1)
    rows = re.compile(r"\[\s*((?:\"(?:[^\"\\]|\\.)*\",\s*)*\"(?:[^\"\\]|\\.)*\")\s*\]")
    return rows.sub(lambda found: "[" + re.sub(r"\",\s*\n\s*\"", '", "', found[1]) + "]", text) + "\n"


def fill(text: str, sections: dict[str, Section], shown: set[str]) -> str:
    """A document with the figures of every block."""

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in sections:
            raise Fault(f"docs/figures.json has no section {name}")
        shown.add(name)
        return f"<!-- begin {name} -->\n{render(sections, name)}\n<!-- end {name} -->"

    return BLOCK.sub(block, text)


def render(sections: dict[str, Section], name: str) -> str:
    """The tables of a section in Markdown, and how they were measured unless the document says so itself."""
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
    """One cell of a section: in the row whose first cells are these words, joined by commas."""
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
    """The other sections from which a section takes cells."""
    return {found[0] for table in section["tables"] for row in table["rows"] for found in REFERENCE.findall(" ".join(row))}


def unknown(text: str) -> list[str]:
    """Rows of tables with numbers that are not from the file of figures."""
    code = re.compile(r"`[^`]*`")
    return [
        f"not from docs/figures.json: {line}"
        for found in TABLE.finditer(text)
        if not found["reason"]
        for line in found["table"].splitlines()
        if NUMBER.search(code.sub("", line))
    ]
