"""The report in a real browser: it shows the predictions, nodes can be opened, no foreign code runs."""

from __future__ import annotations

import csv
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.load import load_graph
from confgcn.report.page import render
from confgcn.runs.report import write_report
from confgcn.runs.request import RunRequest
from confgcn.runs.train import train

selenium = pytest.importorskip("selenium", reason="needs selenium: pip install 'confgcn[dev]'")

pytestmark = pytest.mark.slow

OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--window-size=1280,900"),
    "--force-prefers-reduced-motion",  # a page that is still scrolling cannot be clicked
)
HOSTILE = (
    "</script><script>window.__fired=1</script>",
    '"><img src=x onerror="window.__fired=1">',
    "{{7*7}}",
    "javascript:window.__fired=1",
    "' onmouseover='window.__fired=1",
    "<svg onload=window.__fired=1>",
    "שלום",
)
MOST_BYTES = 5_000_000
READY_SECONDS, CLICK_SECONDS = 3.0, 0.2  # of the processor
MOST_DRAWN, MOST_DRAWN_ON_A_PHONE = 24, 10  # neighbours


class Page:
    """A browser on one page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, file: Path) -> None:
        self.driver.get("about:blank")
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(file.as_uri())
        self.wait("document.body.dataset.ready === 'yes'")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: str, seconds: float = 1200.0) -> None:
        deadline = time.monotonic() + seconds
        while not self.run(f"return Boolean({condition})"):
            assert time.monotonic() < deadline, f"what the test waits for did not happen: {condition}"
            time.sleep(0.02)

    def processor_seconds(self) -> float:
        """Of the page's main thread since it was opened."""
        found = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float({metric["name"]: metric["value"] for metric in found}["TaskDuration"])

    def text(self, css: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", css))

    def texts(self, css: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        return [str(text) for text in self.run(script, css)]

    def find(self, css: str) -> Any:
        return self.driver.find_element("css selector", css)

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def search(self, name: str) -> None:
        from selenium.webdriver.common.keys import Keys

        field = self.find("#search")
        field.clear()
        field.send_keys(name, Keys.ENTER)
        self.wait(f"document.querySelector('#selected').textContent === {json.dumps(name)}")

    @property
    def hash(self) -> str:
        return str(self.run("return location.hash"))

    def drawn(self) -> list[str]:
        """The names of the neighbours in the picture."""
        script = "return [...document.querySelectorAll('#view a')].map(a => a.ariaLabel.split(':')[0])"
        return [str(name) for name in self.run(script)]

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> set[str]:
        """Every address that the page requested."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return {url for url in sent if not url.startswith("data:")}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("needs a browser and its driver: apt install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = browser
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = Chrome(options=options, service=Service(driver))
    started.set_script_timeout(1200)
    started.set_page_load_timeout(1200)
    yield Page(started)
    started.quit()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "demo"
    train(RunRequest("demo", overrides={"epochs": 20}, out=path), notify=lambda _: None)
    write_report(path)
    return path


@pytest.fixture(scope="module")
def rows(run: Path) -> dict[str, dict[str, str]]:
    with (run / "predictions.csv").open(newline="") as stream:
        return {row["node"]: row for row in csv.DictReader(stream)}


@pytest.fixture
def opened(page: Page, run: Path) -> Iterator[Page]:
    """The page of the run, and afterwards: no errors, and no network requests."""
    file = run / "report.html"
    page.open(file)
    yield page
    assert page.complaints() == []
    assert {url.partition("#")[0] for url in page.requests()} == {file.as_uri()}


def neighbours(name: str) -> set[str]:
    graph = load_graph("demo")
    node = graph.node_names.index(name)
    edges = graph.neighbours
    return {graph.node_names[u] for u in edges.indices[edges.rows == node].tolist()}


def test_a_searched_node_shows_what_was_predicted(opened: Page, rows: dict[str, dict[str, str]]) -> None:
    opened.search("1129208")
    row = rows["1129208"]
    assert opened.text("#label") == row["label"]
    assert opened.text("#probability") == f"{100 * float(row['probability']):.1f} %"
    assert set(opened.drawn()) == neighbours("1129208")
    assert opened.drawn()[0] == row["most_influential_neighbour"]
    names, values = opened.texts("#facts dt"), opened.texts("#facts dd")
    facts = dict(zip(names, values, strict=True))
    assert facts["prediction set"].split(", ") == row["set"].split("|")
    assert facts["accepted"].startswith(row["accepted"])
    bars = opened.texts("#facts tbody tr")
    assert len(bars) == 7
    for label in (row["label"], "Theory"):
        (place,) = [number for number, bar in enumerate(bars) if label in bar]
        probability, mu, precision = opened.texts(f"#facts tbody tr:nth-child({place + 1}) .gauge span")
        assert probability == f"{100 * float(row[f'probability_{label}']):.1f} %"
        assert float(mu) == pytest.approx(float(row[f"mu_{label}"]), rel=0.01, abs=1e-4)
        assert float(precision) == pytest.approx(float(row[f"precision_{label}"]), rel=0.01)


def test_a_click_opens_a_neighbour_and_back_and_home_return(opened: Page, rows: dict[str, dict[str, str]]) -> None:
    home = opened.text("#selected")
    opened.search("1129208")
    first = opened.hash
    link = opened.find("#view a")
    target = link.get_attribute("data-node")
    name = opened.drawn()[0]
    link.click()
    opened.wait(f"location.hash === '#node={target}'")
    opened.wait(f"document.querySelector('#selected').textContent === {json.dumps(name)}")
    assert opened.text("#label") == rows[name]["label"]
    assert set(opened.drawn()) <= neighbours(name)
    assert len(opened.drawn()) == min(MOST_DRAWN, len(neighbours(name)))
    opened.driver.back()
    opened.wait("document.querySelector('#selected').textContent === '1129208'")
    assert opened.hash == first
    opened.driver.forward()
    opened.wait(f"document.querySelector('#selected').textContent === {json.dumps(name)}")
    opened.find("#home").click()
    opened.wait(f"document.querySelector('#selected').textContent === {json.dumps(home)}")


def test_everything_can_be_reached_by_keys(opened: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    opened.run("document.getElementById('search').focus()")
    opened.press("112")
    opened.wait("!document.getElementById('suggestions').hidden")
    offered = opened.texts("#suggestions li bdi")
    assert len(offered) == 8
    assert all(name.startswith("112") for name in offered)
    opened.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert opened.find("#search").get_attribute("aria-activedescendant") == "option1"
    opened.press(Keys.ENTER)
    opened.wait(f"document.querySelector('#selected').textContent === {json.dumps(offered[1])}")
    assert opened.run("return document.getElementById('suggestions').hidden")
    opened.press(Keys.TAB, Keys.TAB)
    focused = opened.run("return document.activeElement.getAttribute('data-node')")
    assert focused is not None
    assert opened.run("return !document.querySelector('.tip').hidden")
    opened.press(Keys.ENTER)
    opened.wait(f"location.hash === '#node={focused}'")
    opened.wait("document.activeElement.classList.contains('centre')")
    assert opened.run("return document.getElementById('status').textContent").startswith(opened.text("#selected"))


def test_names_in_the_tables_open_the_explorer(opened: Page) -> None:
    link = opened.find("#nodes td a")
    name = link.text
    opened.run("arguments[0].click()", link)
    opened.wait(f"document.querySelector('#selected').textContent === {json.dumps(name)}")
    assert opened.text("#selected") == name
    opened.wait("Math.abs(document.getElementById('explorer').getBoundingClientRect().top) < innerHeight / 2")


def test_dark_and_light_can_be_chosen(opened: Page) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    before = opened.run(background)
    opened.find("#theme").click()
    after = opened.run(background)
    assert before != after
    opened.find("#theme").click()
    assert opened.run(background) == before


def test_at_the_width_of_a_phone_nothing_sticks_out(opened: Page) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    opened.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        opened.search("35")
        opened.wait(f"document.querySelectorAll('#view a').length === {MOST_DRAWN_ON_A_PHONE}")
        assert opened.run("return document.documentElement.scrollWidth") <= 390
        assert "of 168 neighbours drawn" in opened.text("#view .more")
    finally:
        opened.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_hostile_names_are_text_and_run_nothing(page: Page, page_numbers: Callable[..., Any], tmp_path: Path) -> None:
    numbers = page_numbers(HOSTILE, HOSTILE[:3], [(0, n) for n in range(1, len(HOSTILE))], graph=HOSTILE[0])
    file = tmp_path / "hostile.html"
    file.write_bytes(render(numbers)[0])
    page.open(file)
    assert page.text("h1") == HOSTILE[0]
    for place, name in enumerate(HOSTILE):
        page.run(f"location.hash = '#node={place}'")
        page.wait(f"document.querySelector('#selected').textContent === {json.dumps(name)}")
        page.run("document.querySelectorAll('#view a').forEach(a => a.focus())")
    page.find("#search").send_keys("fired")
    page.wait("document.querySelectorAll('#suggestions li').length > 3")
    assert page.run("return typeof window.__fired") == "undefined"
    assert page.run("return document.images.length") == 0
    assert page.run("return document.scripts.length") == 2
    assert page.complaints() == []
    assert {url.partition("#")[0] for url in page.requests()} == {file.as_uri()}


def test_a_page_without_confidences_and_with_many_classes_works(
    page: Page, page_numbers: Callable[..., Any], tmp_path: Path
) -> None:
    numbers = page_numbers(
        [f"n{i}" for i in range(30)], [f"class {i}" for i in range(30)], [(0, n) for n in range(1, 30)]
    )
    for name in ("mu_by_class", "precision_by_class", "self_influence", "evidence", "set", "accepted", "novelty"):
        numbers["nodes"][name] = None
    numbers["neighbours"]["influence"] = None
    file = tmp_path / "plain.html"
    file.write_bytes(render(numbers)[0])
    page.open(file)
    page.search("n0")
    assert len(page.drawn()) == MOST_DRAWN
    assert "18 less probable labels" in page.text("#facts")
    assert page.complaints() == []


def test_twenty_thousand_nodes_are_small_and_quick(
    page: Page, page_numbers: Callable[..., Any], tmp_path: Path
) -> None:
    random = np.random.default_rng(1)
    pairs = np.unique(np.sort(random.integers(0, 20_000, (101_000, 2)), axis=1), axis=0)
    edges = pairs[pairs[:, 0] != pairs[:, 1]][:100_000]
    names = [f"node-{number:08d}" for number in range(20_000)]
    content, left_out = render(page_numbers(names, [f"class {c}" for c in range(10)], edges.tolist()))
    assert left_out == []
    assert len(content) < MOST_BYTES
    file = tmp_path / "large.html"
    file.write_bytes(content)
    page.open(file)
    ready = page.processor_seconds()
    assert 0 < ready < READY_SECONDS
    page.run(
        "const link = document.querySelector('#view a');"
        "link.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));"
        "return new Promise(done => addEventListener('hashchange', () => requestAnimationFrame(done), {once: true}))"
    )
    assert page.processor_seconds() - ready < CLICK_SECONDS
    page.search("node-00012345")
    assert page.complaints() == []
