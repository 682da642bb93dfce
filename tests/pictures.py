"""Pictures of the main pages for docs/: both languages, at phone, tablet and desk size.

    python -m tests.pictures [NAME ...]        scenes of tests/scenes.py; else the main ones; also `make pictures`

Starts the product on a scratch database of its own, as `make run` does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright

from benchmarks.site import ROOT, scratch_database, server
from tests.scenes import MAIN, PASSWORDS, SCENES, Scene

FOLDER: Final = ROOT / "docs" / "pictures"
#: Not that of the benchmarks, which may run meanwhile.
SCRATCH: Final = ROOT / "var" / "pictures"
SIZES: Final = {
    "phone": ViewportSize(width=390, height=844),
    "tablet": ViewportSize(width=1024, height=768),
    "desk": ViewportSize(width=1440, height=900),
}
LANGUAGES: Final = ("en", "th")
QUIET: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
)


def take(browser: Browser, base: str, scenes: list[Scene]) -> None:
    """Take every picture; the room is lit in English and dim in Thai, so that both themes are seen."""
    for size, viewport in SIZES.items():
        for language in LANGUAGES:
            for user in ("", *PASSWORDS):
                wanted = [scene for scene in scenes if scene.user == user]
                context = browser.new_context(
                    viewport=viewport, color_scheme="light" if language == "en" else "dark", has_touch=size != "desk"
                )
                page = context.new_page()
                if user and wanted:
                    page.goto(f"{base}/login/")
                    page.fill("[name=username]", user)
                    page.fill("[name=password]", PASSWORDS[user])
                    page.press("[name=password]", "Enter")
                    expect(page.locator("[name=username]")).to_have_count(0)
                context.add_cookies([{"name": "django_language", "value": language, "url": base}])
                for scene in wanted:
                    page.goto(base + scene.address)
                    expect(page.locator(scene.waits_for).first).to_be_visible()
                    page.evaluate("document.fonts.ready")
                    path = FOLDER / f"{scene.name}-{size}-{language}.png"
                    page.screenshot(path=path)
                    with Image.open(path) as picture:  # flat colours: a palette takes a third of the room
                        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
                    small.save(path, optimize=True)
                    print(path.relative_to(ROOT))
                context.close()


def main(names: list[str]) -> None:
    scenes = [scene for scene in SCENES if scene.name in (names or MAIN)]
    unknown = set(names) - {scene.name for scene in SCENES}
    if unknown:
        raise SystemExit(f"no such scene: {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in SCENES)}")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Install Chromium, or name it in CHROMIUM.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with scratch_database("sqlite", SCRATCH) as environment:
        subprocess.run([sys.executable, "-m", "tests.pictures", "--arrange"], cwd=ROOT, env=environment, check=True)
        with server(environment) as (host, port, _cpu), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=str(Path(chromium)), args=list(QUIET))
            take(browser, f"http://{host}:{port}", scenes)
            browser.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--arrange"]:
        os.environ["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
        import django

        django.setup()
        from tests.scenes import arrange

        arrange()
    else:
        main(sys.argv[1:])
