"""Pictures of the report, for the README and for those who change it: `python docs/screenshots.py`.

Takes the report of the demonstration (`private-topics demo`, made-up letters), or another page, through Chromium:
wide, narrow, dark, with the controls used, and on paper. `--readme` writes docs/images/report.png instead, and
`--axe axe.min.js` runs that checker of accessibility (the npm package axe-core) and prints what it finds.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "reports"))
import browser_support  # noqa: E402

README_PICTURE = ROOT / "docs" / "images" / "report.png"
README_SIZE = (1280, 1180)
COLOURS = 64
LOOKED_FOR = "pain"


def picture(browser: browser_support.Browser, path: Path, whole: bool = False) -> None:
    """What the window shows, or the whole page."""
    settings: dict[str, Any] = {}
    if whole:
        width, height = browser.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        settings = {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
        }
    path.write_bytes(base64.b64decode(browser.send("Page.captureScreenshot", **settings)["data"]))


def take_all(browser: browser_support.Browser, page: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in {"wide": {}, "dark": {"dark": True}, "narrow": {"width": 390, "height": 844}}.items():
        browser.open(page, **options)
        picture(browser, folder / f"{name}.png", whole=True)
    browser.open(page)
    browser.set("rank", 0.3)
    browser.set("find", LOOKED_FOR)
    for part in ("map", "topics", "compare"):
        browser.evaluate(f"document.getElementById('{part}').scrollIntoView({{ behavior: 'instant' }})")
        picture(browser, folder / f"used_{part}.png")
    browser.open(page)
    pdf = browser.send("Page.printToPDF", preferCSSPageSize=True)["data"]
    (folder / "paper.pdf").write_bytes(base64.b64decode(pdf))


def take_for_readme(browser: browser_support.Browser, page: Path) -> None:
    """The top of the report, in few colours, so that it is small."""
    browser.open(page, width=README_SIZE[0], height=README_SIZE[1])
    with tempfile.TemporaryDirectory() as folder:
        picture(browser, Path(folder) / "top.png")
        top = Image.open(io.BytesIO((Path(folder) / "top.png").read_bytes())).convert("RGB")
    top.quantize(COLOURS, dither=Image.Dither.NONE).save(README_PICTURE, optimize=True)


def run_axe(browser: browser_support.Browser, page: Path, axe: Path) -> int:
    """Print what it finds; returns how much of it is serious. The page's policy would stop it, so it is lifted."""
    browser.send("Page.setBypassCSP", enabled=True)
    serious = 0
    for options in ({}, {"dark": True}, {"width": 390}):
        browser.open(page, **options)
        browser.evaluate(axe.read_text(encoding="utf-8") + ";0")
        found = (
            "axe.run().then(result => JSON.stringify(result.violations.map(v => [v.impact, v.id, v.nodes[0].html])))"
        )
        for impact, name, element in json.loads(browser.evaluate(found)):
            print(f"{impact}\t{name}\t{options}\t{element[:120]}")
            serious += impact in ("serious", "critical")
    print(f"axe: {serious} serious findings")
    return serious


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=ROOT / "build/demo/report.html", help="the page to take")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/pictures", help="where the pictures go")
    parser.add_argument("--readme", action="store_true", help="write docs/images/report.png instead")
    parser.add_argument("--axe", type=Path, help="axe.min.js of the npm package axe-core")
    chosen = parser.parse_args()
    program = browser_support.program()
    if program is None or not chosen.page.exists():
        raise SystemExit(
            "Needs Chromium on the PATH, and the page: private-topics demo writes build/demo/report.html."
        )
    with tempfile.TemporaryDirectory() as profile, browser_support.running(program, Path(profile)) as browser:
        page = chosen.page.resolve()
        if chosen.axe:
            raise SystemExit(run_axe(browser, page, chosen.axe) > 0)
        if chosen.readme:
            take_for_readme(browser, page)
        else:
            take_all(browser, page, chosen.folder)


if __name__ == "__main__":
    main()
