#!/usr/bin/env python3
"""Make each kind of HTML page from the example pair and the built-in head, and check the page in a headless Chromium.

    cargo build --release
    python3 scripts/pages_check.py

Each page must make no network request and print no error on the console. The main pictures must be visible without
script, and keys must work. Text must have sufficient contrast (WCAG 2 AA) in light and dark mode. A page must fit the
width of a phone and have at most 2.5 MB. Chromium and Playwright are installed if they are missing: Playwright into
.venv/, Chromium by apt-get (as root) or by Playwright.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import environment
from environment import REPOSITORY

REQUIREMENTS = REPOSITORY / "scripts" / "pages" / "requirements.txt"
EXAMPLES = REPOSITORY / "examples"
FIXED, MOVING = EXAMPLES / "icbm152_t1_2mm.nii.gz", EXAMPLES / "colin27_t1_2mm.nii.gz"
LABELS = EXAMPLES / "colin27_aal_2mm.nii.gz"
#: The built-in head in its packed format, and its grid: number of voxels, voxel size in mm, and position of the first
#: voxel.
HEAD = REPOSITORY / "crates" / "heads" / "template" / "head_t1.bin"
HEAD_SHAPE, HEAD_MM, HEAD_ORIGIN = (97, 115, 97), 2.0, (-96.5, -132.5, -78.5)
MOST_BYTES = 2_500_000
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}

#: A JavaScript function that returns, for each visible element with its own text: the text, its contrast with the
#: background, and the required contrast.
CONTRAST = """() => {
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor);
      if (a > 0.99) return [r, g, b];
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
    if (!own || !element.checkVisibility({ visibilityProperty: true }) || element.closest("script,style")) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize), heavy = Number(style.fontWeight) >= 600;
    const ink = element.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(parse(ink)), light(behind(element))].sort((x, y) => y - x);
    found.push([own.slice(0, 40), (a + 0.05) / (b + 0.05), size >= 24 || (heavy && size >= 18.66) ? 3 : 4.5]);
  }
  return found;
}"""

#: A JavaScript function that returns what the first picture frame (class `tile`) of an HTML report page shows: the
#: class names of its visible images and lines.
SHOWN = """() => [...document.querySelector(".tile").querySelectorAll("img,path")]
  .filter((e) => getComputedStyle(e).visibility === "visible").map((e) => e.getAttribute("class"))"""


def chromium() -> str | None:
    """The command of a Chromium on PATH, which is installed first if possible; None for Playwright's own Chromium."""
    names = ["chromium", "google-chrome", "google-chrome-stable"]
    find = lambda: next(filter(None, map(shutil.which, names)), None)  # noqa: E731
    if not find() and shutil.which("apt-get") and os.geteuid() == 0 and "debian" in Path("/etc/os-release").read_text():
        subprocess.run(["apt-get", "update", "-qq"], check=False, stdout=sys.stderr)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], check=False, stdout=sys.stderr)
    if not find():
        subprocess.run([sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"], check=True)
    return find()


def make_pages(program: Path, folder: Path) -> dict[str, Path]:
    """Make one HTML page of each kind with the program. Returns the paths of the pages by their kinds."""
    run = lambda *words: subprocess.run([program, *map(str, words)], check=True, capture_output=True)  # noqa: E731
    pages = {}
    run("register", "-f", FIXED, "-m", MOVING, "-o", folder / "pair_", "--preset", "fast", "--report")
    pages["register"] = folder / "pair_report.html"
    transforms = ["-t", folder / "pair_1Warp.nii.gz", "-t", folder / "pair_0GenericAffine.mat"]
    run("apply", "-i", MOVING, "-r", FIXED, "-o", folder / "applied.nii.gz", *transforms, "--report")
    pages["apply"] = folder / "applied_report.html"
    run("labels", "-f", FIXED, "-m", MOVING, "-l", LABELS, "-o", folder / "labelled_", "-t", "rigid", "--report")
    pages["labels"] = folder / "labelled_report.html"
    carried = ["--apply", folder / "labelled_0GenericAffine.mat", "-l", LABELS, "-r", FIXED]
    run("labels", *carried, "-o", folder / "carried_", "--report")
    pages["labels-apply"] = folder / "carried_report.html"
    atlas, fused = f"{MOVING}={LABELS}", ["-t", "rigid", "--report"]
    run("labels", "-f", FIXED, "-a", atlas, "-o", folder / "fused_", "--fusion", "majority", *fused)
    pages["labels-atlas"] = folder / "fused_report.html"
    other = f"{FIXED}={folder / 'labelled_Labels.nii.gz'}"
    run("labels", "--leave-one-out", "-a", atlas, "-a", other, "-o", folder / "scored_", *fused)
    pages["labels-scores"] = folder / "scored_report.html"
    (folder / "head.nii").write_bytes(built_in_head())
    run("brain", "-i", folder / "head.nii", "-o", folder / "brain.nii.gz", "--report")
    pages["brain"] = folder / "brain_report.html"
    # A table of subjects: the same two brains under several names, and one image of noise, which has no brain.
    (folder / "noise.nii").write_bytes(noise(gzip.decompress(MOVING.read_bytes())))
    rows = [f"sub-{n},{[MOVING, FIXED][n % 2]}" for n in range(1, 7)] + [f"sub-7,{folder / 'noise.nii'}"]
    (folder / "subjects.csv").write_text("\n".join(["subject,image", *rows]) + "\n")
    run("batch", "-f", FIXED, "-o", folder / "batch", folder / "subjects.csv", "-t", "rigid")
    pages["batch"] = folder / "batch" / "report.html"
    run("template", "-o", folder / "atlas", MOVING, FIXED, "--passes", "1", "--preset", "fast")
    pages["atlas"] = folder / "atlas" / "report.html"
    (folder / "series.nii").write_bytes(series(gzip.decompress(MOVING.read_bytes())))
    run("motion", "-i", folder / "series.nii", "-o", folder / "series_", "--report")
    pages["motion"] = folder / "series_report.html"
    return pages


def built_in_head() -> bytes:
    """The built-in head as bytes of a NIfTI file, unpacked as in crates/heads/src/brain/packed.rs."""
    nx, ny, nz = HEAD_SHAPE
    row, plane = nx + 1, (nx + 1) * (ny + 1)
    voxels, padded = bytearray(), [0] * (plane * (nz + 1))
    for n, difference in enumerate(zlib.decompress(HEAD.read_bytes())):
        at = (n // (nx * ny) + 1) * plane + (n // nx % ny + 1) * row + n % nx + 1
        one = padded[at - 1] + padded[at - row] + padded[at - plane]
        two = padded[at - 1 - row] + padded[at - 1 - plane] + padded[at - row - plane]
        padded[at] = ((2 * one - two) // 3 + difference) % 256
        voxels.append(padded[at])
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, nx, ny, nz, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 2, 8)
    struct.pack_into("<8f", header, 76, 1, *[HEAD_MM] * 3, 1, 1, 1, 1)
    struct.pack_into("<2f", header, 108, 352, 1)
    struct.pack_into("<h", header, 254, 1)
    for axis in range(3):
        line = [HEAD_MM * (axis == other) for other in range(3)]
        struct.pack_into("<4f", header, 280 + 16 * axis, *line, HEAD_ORIGIN[axis])
    header[344:348] = b"n+1\0"
    return bytes(header) + bytes(voxels)


def noise(nifti: bytes) -> bytes:
    """The bytes of a NIfTI file with the voxel bytes in random order."""
    header, voxels = nifti[:352], bytearray(nifti[352:])
    random.Random(1).shuffle(voxels)
    return header + bytes(voxels)


def series(nifti: bytes) -> bytes:
    """A series of six volumes, made of one NIfTI volume.

    Each volume is shifted by one more voxel along the first axis.
    """
    header, voxels = bytearray(nifti[:352]), nifti[352:]
    axes = list(struct.unpack_from("<8h", header, 40))
    (bits,) = struct.unpack_from("<h", header, 72)
    axes[0], axes[4] = 4, 6
    struct.pack_into("<8h", header, 40, *axes)
    step = bits // 8
    return bytes(header) + b"".join(voxels[n * step :] + voxels[: n * step] for n in range(6))


class Checked:
    """Collects the faults that are found in one HTML page."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path, self.wrong = name, path, []

    def expect(self, holds: bool, what: str) -> None:
        """Add the message `what` to the faults found on the HTML page if the condition `holds` is false."""
        if not holds:
            self.wrong.append(what)

    def watch(self, page: object) -> None:
        """Record the console messages, script errors and network requests of an HTML page as faults of the page."""
        page.on("console", lambda message: self.expect(message.type not in ("error", "warning"), f"console: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        page.on("request", lambda request: self.expect(
            request.url.startswith("data:") or request.url == self.path.as_uri(), f"request: {request.url[:80]}"))


def check(browser: object, name: str, path: Path, pictures: Path | None) -> list[str]:
    """Check one HTML page in the browser. Returns descriptions of its faults."""
    checked = Checked(name, path)
    size = path.stat().st_size
    checked.expect(size <= MOST_BYTES, f"{size} bytes, at most {MOST_BYTES} expected")
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport=DESK)
        page = context.new_page()
        checked.watch(page)
        page.goto(path.as_uri())
        texts = page.evaluate(CONTRAST)
        checked.expect(len(texts) > 10, f"only {len(texts)} texts")
        for text, ratio, needed in texts:
            checked.expect(ratio >= needed, f"{scheme}: `{text}` has a contrast of {ratio:.2f}, needs {needed}")
        if pictures:
            page.screenshot(path=pictures / f"{name}-{scheme}.png")
        if page.locator(".tile").count():
            check_viewer(checked, page)
        if page.locator("#table").count():
            check_table(checked, page)
        page.set_viewport_size(PHONE)
        wide = page.evaluate("document.documentElement.scrollWidth")
        checked.expect(wide <= PHONE["width"], f"{wide} pixels wide on a phone of {PHONE['width']}")
        if pictures:
            page.screenshot(path=pictures / f"{name}-{scheme}-phone.png")
        context.close()
    context = browser.new_context(java_script_enabled=False, viewport=DESK)
    page = context.new_page()
    checked.watch(page)
    page.goto(path.as_uri())
    main = page.locator("img.after, img.thumbnail, .gallery img")
    checked.expect(main.count() > 0 and main.first.is_visible(), "no main picture without script")
    checked.expect(page.locator("button:visible").count() == 0, "buttons that do nothing without script")
    context.close()
    return checked.wrong


def check_viewer(checked: Checked, page: object) -> None:
    """Check that keys and mouse clicks change the picture that an HTML report page shows."""
    shown = lambda: page.evaluate(SHOWN)  # noqa: E731
    first = shown()
    checked.expect("after" in first and "of-fixed" in first, f"shows {first} at first")
    steps = [("f", "fixed", "after"), ("f", "after", "fixed"), ("o", None, "of-fixed"), ("o", "of-fixed", None),
             ("p", "of-after", None)]
    if page.locator("#show-before").count():
        steps += [("b", "before", "after"), ("b", "after", "before")]
    if page.locator("#show-stretch").count():
        steps += [("j", "stretch", None), ("g", "lattice", "stretch"), ("a", "after", "lattice")]
    for key, there, gone in steps:
        page.keyboard.press(key)
        found = shown()
        checked.expect(there is None or there in found, f"key {key}: {there} is not shown, but {found}")
        checked.expect(gone is None or gone not in found, f"key {key}: {gone} is still shown: {found}")
    page.locator(".tile").first.click()
    checked.expect("fixed" in shown(), "a click on a picture does not show the fixed image")
    page.locator(".tile").first.click()
    # The page can also be used without letter keys: Tab reaches the radio buttons, and arrow keys change the choice.
    page.keyboard.press("Tab")
    page.locator("#show-after").focus()
    page.keyboard.press("ArrowDown")
    checked.expect("fixed" in shown(), "an arrow key does not move through the views")
    page.keyboard.press("a")
    page.keyboard.press(" ")
    changes = set()
    for _ in range(20):
        page.wait_for_timeout(75)
        changes.add("fixed" in shown())
        if len(changes) == 2:
            break
    checked.expect(len(changes) == 2, "the space bar does not alternate")


def check_table(checked: Checked, page: object) -> None:
    """Check that the table of subjects in an HTML report can be sorted and saved.

    Column headings sort the rows. The saved file contains the verdicts and notes that the reader has entered.
    """
    names = lambda: page.eval_on_selector_all("#table tbody tr", "rows => rows.map(row => row.dataset.name)")  # noqa: E731
    before = names()
    heading = page.locator("#table thead button").first
    heading.focus()
    page.keyboard.press("Enter")
    checked.expect(names() == sorted(before), f"not sorted by name: {names()}")
    page.keyboard.press("Enter")
    checked.expect(names() == sorted(before, reverse=True), "not sorted the other way")
    page.locator("#table select").first.select_option("bad")
    page.locator("#table input[type=text]").first.fill("a\tnote")
    with page.expect_download() as download:
        page.locator("#save").click()
    lines = Path(download.value.path()).read_text().splitlines()
    checked.expect(lines[0] == "subject\tverdict\tnote", f"the verdicts begin {lines[0]!r}")
    checked.expect(sum(line.endswith("\tbad\ta note") for line in lines) == 1, f"the verdict is not in {lines}")
    checked.expect(len(lines) == 1 + len(before), f"{len(lines)} lines of {len(before)} verdicts")


def main() -> None:
    """Make one HTML page of each kind and check it in the browser."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target" / "release" / "antsreg-gpu",
                        help="the program [target/release/antsreg-gpu]")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="keep pictures of the pages in a folder")
    options = parser.parse_args()
    if not options.program.exists():
        parser.error(f"{options.program} is missing: cargo build --release")
    environment.enter(REQUIREMENTS)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (exists only inside the environment)

    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    executable = chromium()
    began = time.monotonic()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = make_pages(options.program, Path(folder))
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for name, path in pages.items():
            found = check(browser, name, path, options.pictures)
            print(f"{name}: {path.stat().st_size / 1e6:.2f} MB, {'; '.join(found) or 'as expected'}")
            wrong += len(found)
        browser.close()
    print(f"{len(pages)} pages in {time.monotonic() - began:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
