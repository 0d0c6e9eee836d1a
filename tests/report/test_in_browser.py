"""The report opened in headless Chromium, as a person meets it."""

import base64
import re
import shutil
from contextlib import contextmanager

import pytest

from smoothcert.analysis import read_results
from smoothcert.report.entry import entry_of
from smoothcert.report.page import render
from tests.report.nearest import certified
from tests.report.page import HOSTILE, write_page

selenium = pytest.importorskip("selenium", reason="selenium is not installed: pip install -e .[test]")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not here: apt install chromium chromium-driver"
)


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("report")).as_uri()


@pytest.fixture(scope="module")
def address_of_one(tmp_path_factory):
    """A page about one log that is whole."""
    folder = tmp_path_factory.mktemp("one")
    path = folder / "report.html"
    path.write_text(render([entry_of(read_results(certified(folder / "log.jsonl")), None, {})]), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser, address):
    yield from opened(browser, address)


@pytest.fixture
def page_of_one(browser, address_of_one):
    yield from opened(browser, address_of_one)


def opened(browser, address):
    browser.get("about:blank")
    browser.get_log("browser")
    browser.set_window_size(1280, 900)
    browser.get(address)
    yield browser
    assert browser.get_log("browser") == []  # after whatever the test did
    assert browser.title == "smoothcert report"  # a hostile name would have changed it


def all_of(page, selector):
    return page.find_elements("css selector", selector)


def one(page, selector):
    return page.find_element("css selector", selector)


def choose(page, selector, value):
    from selenium.webdriver.support.select import Select

    Select(one(page, selector)).select_by_value(value)


def test_curves_are_drawn_with_bands(page):
    for number in (1, 2, 3):
        line = one(page, f'[data-chart="curves"] .line[data-log="{number}"] path')
        assert line.get_attribute("d").count("L") > 100 and line.is_displayed()
        assert one(page, f'[data-chart="curves"] .band[data-log="{number}"] path').is_displayed()
    assert all_of(page, '[data-chart="p-a"] .line') and all_of(page, '[data-chart="training"] .line')
    assert any(HOSTILE in label.text for label in all_of(page, ".legend label"))


def test_every_chart_has_a_legend_and_axes_that_say_what_they_are(page):
    figures = all_of(page, "figure.chart")
    assert len(figures) >= 4
    for figure in figures:
        drawn = {g.get_attribute("data-log") for g in figure.find_elements("css selector", ".series")}
        named = {box.get_attribute("data-toggle") for box in figure.find_elements("css selector", ".legend input")}
        assert drawn == named != set()
        assert all(label.text for label in figure.find_elements("css selector", ".legend label"))
    assert all("ℓ₂ radius" in figure.text for figure in all_of(page, '[data-chart="curves"]'))
    colours = [
        one(page, f"{where}{number}{part}").value_of_css_property("stroke")
        for number in (0, 1)
        for where, part in ((".legend .log", " line"), (".plot .line.log", " path"))
    ]
    assert colours[0] == colours[1] != colours[2] == colours[3]


def test_toggling_a_method_hides_its_curve_and_no_other(page):
    box = one(page, '[data-toggle="1"]')
    box.click()
    hidden = all_of(page, '.series[data-log="1"]')
    assert len(hidden) >= 4 and not any(g.is_displayed() for g in hidden)
    assert all(g.is_displayed() for g in all_of(page, '[data-chart="curves"] .series[data-log="2"]'))
    box.send_keys(" ")  # by keyboard
    assert one(page, '[data-chart="curves"] .series[data-log="1"]').is_displayed()
    assert all(other.is_selected() for other in all_of(page, '[data-toggle="1"]'))  # the legends of all charts


def test_a_chart_is_read_by_keyboard_and_by_pointer(page):
    from selenium.webdriver import ActionChains, Keys

    chart = one(page, '[data-chart="curves"] svg')
    chart.send_keys(Keys.HOME)
    said = one(page, '[data-chart="curves"] .readout').text
    assert "at radius 0.000" in said and "%" in said and "n = 1,000" in said
    chart.send_keys(Keys.ARROW_RIGHT)
    assert "at radius 0.010" in one(page, '[data-chart="curves"] .readout').text
    ActionChains(page).move_to_element(one(page, '[data-chart="p-a"] svg')).perform()
    assert "correct" in one(page, '[data-chart="p-a"] .readout').text


def test_the_gallery_is_sorted_as_chosen(page):
    from selenium.webdriver.support.wait import WebDriverWait

    def radii():
        return [float(item.get_attribute("data-radius")) for item in all_of(page, "#gallery-list li")]

    largest = radii()
    assert len(largest) == 12 and largest == sorted(largest, reverse=True)
    sizes = ("naturalWidth", "naturalHeight")  # 0 while a busy machine still decodes it, and for ever if it is broken
    WebDriverWait(page, 20).until(lambda page: all(one(page, "#gallery-list img").get_property(size) for size in sizes))
    choose(page, "#gallery-order", "smallest")
    assert radii() == sorted(radii()) and max(radii()) < min(largest)
    choose(page, "#gallery-order", "abstained")
    assert set(radii()) == {0.0} and "said abstained" in one(page, "#gallery-list li").text
    choose(page, "#gallery-order", "wrong")
    assert radii() == sorted(radii(), reverse=True)
    assert "of 1,000" in one(page, "#gallery-list li").text
    choose(page, "#gallery-log", "2")  # no pictures there, and no votes
    assert not all_of(page, "#gallery-list img") and "votes not in the log" in one(page, "#gallery-list li").text


def follow(page, action):
    """The page answers a new address a moment later: wait until it has."""
    from selenium.webdriver.support.wait import WebDriverWait

    page.execute_script("arrived = false; addEventListener('hashchange', () => { arrived = true }, { once: true })")
    action()
    WebDriverWait(page, 20, poll_frequency=0.05).until(lambda page: page.execute_script("return arrived"))


def test_numbers_lead_to_their_rows(page):
    link = one(page, "#gallery-list a")
    line, radius = link.get_attribute("href").rpartition("-")[2], link.text.split()[1]
    follow(page, link.click)
    found = one(page, "#log-1 tr.found")
    assert found.is_displayed() and found.text.split()[0] == line and radius in found.text
    cell = one(page, '#accuracy a[href="#log-1-r-0.5"]')
    follow(page, lambda: page.execute_script("arguments[0].click()", cell))
    rows = all_of(page, "#log-1 tbody tr")
    assert rows and all(float(row.text.split()[4]) >= 0.5 and row.text.split()[5] == "yes" for row in rows)
    follow(page, lambda: page.execute_script("location.hash = 'log-3-abstained'"))
    rows = all_of(page, "#log-3 tbody tr")
    assert rows and all("abstained" in row.text for row in rows)


@contextmanager
def screen(page, width, height=900, theme="light", media="screen"):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    features = [{"name": "prefers-color-scheme", "value": theme}]
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    try:
        yield
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 1400])
def test_nothing_is_wider_than_the_screen(page, width, theme):
    with screen(page, width, theme=theme):
        page.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        for box in all_of(page, ".scroll"):  # a table may be, and then scrolls by itself
            assert box.rect["x"] >= 0 and box.rect["x"] + box.rect["width"] <= width
            assert box.value_of_css_property("overflow-x") == "auto"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_first_screen_says_what_is_promised(page_of_one, width, height, theme):
    page = page_of_one
    with screen(page, width, height, theme):
        texts = {".sentence": r"At least \d+\.\d % of the 10 selected fake test images keep their correct class under "}
        texts |= {
            ".seals": r"complete: 10 of 10 images.*sealed",
            ".promise": r"What a certificate promises\.[^}]*1 − α[^}]*Float noise",
        }
        for selector, text in texts.items():
            element = one(page, selector)
            assert re.search(text, element.text, re.S), element.text
            assert element.rect["y"] + element.rect["height"] <= height or selector == ".promise"
        assert one(page, ".promise").rect["y"] + 200 < height
        facts = one(page, ".card")
        assert width < 500 or facts.rect["y"] + facts.rect["height"] <= height
        for word in ("norm", "α", "votes n", "model SHA-256", "data fingerprint", "begun", "versions", "precision"):
            assert word in facts.text
        assert "smoothcert certify tests.report.nearest:Nearest --sigma 2.0" in facts.text


@pytest.mark.parametrize("width", [390, 1400])
def test_words_are_explained_under_the_pointer_and_by_focus(page_of_one, width):
    from selenium.webdriver import ActionChains

    page = page_of_one
    with screen(page, width):
        for at, term in enumerate(all_of(page, ".sentence .term, .seals .term, .facts .term")):
            tip = term.find_element("css selector", ".tip")
            assert not tip.is_displayed()
            if at:
                page.execute_script("arguments[0].focus()", term)
            else:
                ActionChains(page).move_to_element(term).perform()
            assert tip.is_displayed() and len(tip.text) > 20
            box = page.execute_script("const b = arguments[0].getBoundingClientRect(); return [b.left, b.right]", tip)
            assert box[0] >= 0 and box[1] <= width and box[1] - box[0] > 150
            assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_print_is_black_on_white_and_cuts_nothing(page):
    paper = 688  # A4 without its margins
    with screen(page, paper, theme="dark", media="print"):
        one(page, "#gallery")  # drawn again
        assert one(page, "body").value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"
        assert page.execute_script("return document.documentElement.scrollWidth") <= paper
        tables = [table for table in all_of(page, "table") if table.is_displayed()]
        assert len(tables) >= 4
        assert all(table.rect["x"] + table.rect["width"] <= paper + 1 for table in tables)
        assert not any(e.is_displayed() for e in all_of(page, "nav, button, select, .tip, .legend input"))
        assert all(line.is_displayed() for line in all_of(page, ".series.line path"))
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})["data"])
    assert pdf.startswith(b"%PDF") and 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12


def test_the_page_is_light_or_dark_as_preferred_or_chosen(page):
    def back():
        return one(page, "body").value_of_css_property("background-color")

    for preference, colour in (("light", "rgba(255, 255, 255, 1)"), ("dark", "rgba(20, 24, 29, 1)")):
        features = [{"name": "prefers-color-scheme", "value": preference}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        assert back() == colour
    one(page, "#theme").click()
    assert back() == "rgba(255, 255, 255, 1)"
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_everything_that_acts_has_a_name(page):
    page.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for element in all_of(page, "button, select, input, svg[role=img], img"):
        name = element.accessible_name
        assert name, element.get_attribute("outerHTML")[:200]
