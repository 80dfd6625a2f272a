"""Screenshots of the report of the demo graph for README and docs, with a headless browser.

python benchmarks/report_picture.py     (needs Chromium, its driver and selenium; writes docs/images/report*.png)
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from confgcn import RunRequest, train
from confgcn.runs.report import write_report

IMAGES = Path(__file__).parent.parent / "docs" / "images"
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")
NODE = 549  # index of a paper whose neighbours have different labels
SIZE = (1240, 2050)


def main() -> None:
    """Train, write the report and take the screenshots."""
    with tempfile.TemporaryDirectory() as scratch:
        train(RunRequest("demo", out=Path(scratch) / "run"), notify=print)
        page, _ = write_report(Path(scratch) / "run")
        browser = webdriver.Chrome(options=_options(), service=Service(shutil.which("chromedriver")))
        try:
            browser.set_window_size(*SIZE)
            browser.get(page.as_uri())
            _wait(browser)
            browser.save_screenshot(str(IMAGES / "report.png"))
            browser.get(f"{page.as_uri()}?#node={NODE}")
            _wait(browser)
            browser.find_element(By.ID, "explorer").screenshot(str(IMAGES / "report_explorer.png"))
        finally:
            browser.quit()


def _wait(browser: webdriver.Chrome) -> None:
    WebDriverWait(browser, 10).until(lambda b: b.find_element(By.TAG_NAME, "body").get_attribute("data-ready"))


def _options() -> webdriver.ChromeOptions:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for word in OPTIONS:
        options.add_argument(word)
    return options


if __name__ == "__main__":
    main()
