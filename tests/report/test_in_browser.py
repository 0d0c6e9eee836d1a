"""The report opened in headless Chromium, as a person meets it."""

import shutil

import pytest

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


@pytest.fixture
def page(browser, address):
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
        line = one(page, f'[data-chart="curves"] [data-log="{number}"] .line')
        assert line.get_attribute("d").count("L") > 100 and line.is_displayed()
        assert one(page, f'[data-chart="curves"] [data-log="{number}"] .band').is_displayed()
    assert all_of(page, '[data-chart="p-a"] .line') and all_of(page, '[data-chart="training"] .line')
    assert any(HOSTILE in label.text for label in all_of(page, ".toggles label"))


def test_toggling_a_method_hides_its_curve_and_no_other(page):
    box = one(page, '[data-toggle="1"]')
    box.click()
    hidden = all_of(page, '.series[data-log="1"]')
    assert len(hidden) >= 4 and not any(g.is_displayed() for g in hidden)
    assert all(g.is_displayed() for g in all_of(page, '[data-chart="curves"] .series[data-log="2"]'))
    box.send_keys(" ")  # by keyboard
    assert one(page, '[data-chart="curves"] .series[data-log="1"]').is_displayed()


def test_a_chart_is_read_by_keyboard_and_by_pointer(page):
    from selenium.webdriver import ActionChains, Keys

    chart = one(page, '[data-chart="curves"] svg')
    chart.send_keys(Keys.HOME)
    said = one(page, '[data-chart="curves"] .readout').text
    assert "at radius 0.000" in said and "%" in said and "n = 1,000" in said
    chart.send_keys(Keys.ARROW_RIGHT)
    assert "at radius 0.005" in one(page, '[data-chart="curves"] .readout').text
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


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
