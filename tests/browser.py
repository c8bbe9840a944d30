"""A browser without a screen, for tests of the report's page."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no browser: chromium and chromedriver are not installed"
)
# Without a graphics card WebGL is drawn by software.
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader "
    "--no-first-run --disable-quic --disable-background-networking --disable-component-update "
    "--disable-sync --window-size=1400,900"
)


@contextmanager
def opened(folder: Path, *, webgl: bool = True):
    """A driver whose downloads go to `folder`."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS.split():
        if webgl or ("angle" not in flag and "swiftshader" not in flag):
            options.add_argument(flag)
    if not webgl:
        options.add_argument("--disable-3d-apis")
    options.add_argument(f"--user-data-dir={folder / 'profile'}")
    options.add_experimental_option(
        "prefs",
        {
            "download.default_directory": str(folder / "downloads"),
            # a second file without being asked
            "profile.default_content_setting_values.automatic_downloads": 1,
        },
    )
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def go(driver, path: Path, place: str = "#/") -> None:
    """Open a page by its file, wait for the map, and go to a place in it."""
    driver.get("about:blank")
    driver.get(f"{path.as_uri()}{place}")
    until(driver, "return document.documentElement.classList.contains('app')")


def until(driver, condition: str, *arguments, seconds: float = 30.0):
    """What a script returns, as soon as it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = driver.execute_script(condition, *arguments)
        if found:
            return found
        time.sleep(0.05)
    text = driver.execute_script("return document.getElementById('page').innerText.slice(0, 2000)")
    raise AssertionError(f"never true: {condition} {arguments}\n{text}\n{complaints(driver)}")


def click(driver, text: str, within: str = "#page") -> None:
    """Click the first button, link or tab with this text, as soon as it is there."""
    until(
        driver,
        """const found = [...document.querySelectorAll(arguments[1] + ' :is(button, a, summary)')]
             .find((one) => [one.innerText.trim(), one.getAttribute('aria-label')].includes(arguments[0]));
           found?.click(); return Boolean(found);""",
        text,
        within,
    )


def shown(driver, text: str) -> None:
    """Wait until the page says so."""
    until(driver, "return document.getElementById('page').innerText.includes(arguments[0])", text)


def complaints(driver) -> list[str]:
    """Errors on the console; drivers without a graphics card also tell of their own slowness."""
    return [
        entry["message"]
        for entry in driver.get_log("browser")
        if entry["level"] in ("SEVERE", "WARNING") and "GL Driver Message" not in entry["message"]
    ]


def requests(driver) -> list[str]:
    """What was asked of the network; files, and what the page holds itself, are not."""
    found = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            address = message["params"]["request"]["url"]
            if not address.startswith(("file:", "data:", "blob:", "about:", "chrome:")):
                found.append(address)
    return found


def violations(driver) -> list[str]:
    """What axe-core finds against the rules of accessible pages that is serious."""
    from axe_core_python.selenium import Axe

    found = Axe().run(driver)["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} {node.get('any', [{}])[:1]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
