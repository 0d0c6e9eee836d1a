"""The report as a file: complete, self-contained, and nothing from a log taken for markup."""

import json
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from smoothcert.errors import InputError
from smoothcert.report import page as report
from smoothcert.report.entry import Entry
from smoothcert.report.page import render
from tests.analysis.made import curve_about, random_results
from tests.report.page import HOSTILE, write_page


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("report")).read_text("utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def payload(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])


def test_the_page_loads_nothing(html, page):
    assert not [a for tag, a in page.tags if tag in ("script", "img", "iframe", "object") and "src" in a]
    assert {a["href"] for tag, a in page.tags if tag == "link"} == {"data:,"}
    assert not re.search(r"@import|url\(", html)
    assert all(a["href"].startswith("#") for tag, a in page.tags if tag == "a")


def test_a_hostile_name_stays_a_name(html, page):
    assert HOSTILE not in html and [tag for tag, _ in page.tags].count("script") == 2
    assert not any("onerror" in a for _, a in page.tags)
    assert payload(html)["logs"][1]["name"] == HOSTILE
    assert "{{ 7*7 }}" in "".join(page.text)


def test_every_link_leads_somewhere(html, page):
    ids = {a["id"] for _, a in page.tags if "id" in a}
    logs = payload(html)["logs"]
    for target in {a["href"][1:] for tag, a in page.tags if tag == "a"}:
        made = re.fullmatch(r"log-(\d+)-(r-[\d.]+|wrong|abstained)", target)  # followed by the page's script
        assert target in ids or (made and int(made[1]) <= len(logs)), target
    for log in logs:  # those of the gallery, made by the script
        assert all(at < len(log["rows"]["line"]) for chosen in log["gallery"].values() for at in chosen)


def test_reduced_and_incomplete_are_said_beside_every_number(page):
    text = " ".join("".join(page.text).split())
    assert "Incomplete: 9 images are not certified yet" in text
    assert "Reduced: 129 of 10,000 test images, 1,000 of 100,000 votes" in text
    assert text.count("incomplete") >= 5 and text.count("reduced") >= 5
    assert "n = 1,000, α = 0.001" in text and "n and α not stated" in text
    assert "beside table 6, Gaussian, σ=0.50" in text and "Gaussian + Consistency (λ=5), σ=0.50" in text


def test_numbers_of_the_page_are_those_of_the_log(html):
    log = payload(html)["logs"][0]
    made = random_results(120, name="run")
    at = round(0.5 / log["step"])
    assert log["accuracy"][at] == pytest.approx((made.correct & (made.radius >= 0.5)).mean(), abs=1e-5)
    assert log["low"][at] < log["accuracy"][at] < log["high"][at]
    shown = log["rows"]["radius"]
    assert len(shown) == 120 and all(0 <= r - s < 1.1e-6 for r, s in zip(made.radius, shown, strict=True))
    order = [shown[i] for i in log["gallery"]["largest"]]
    assert order == sorted(order, reverse=True) and len(order) == 12
    assert all(log["rows"]["predict"][i] == -1 for i in log["gallery"]["abstained"])


def test_a_large_log_is_sampled_and_says_so(monkeypatch):
    monkeypatch.setattr(report, "MOST_ROWS", 50)
    html = render([Entry(random_results(1000))])
    assert "an even sample of 50 of 1,000 rows" in html
    log = payload(html)["logs"][0]
    assert 50 <= len(log["rows"]["line"]) <= 50 + 48 and log["images"] == 1000


def test_logs_of_one_name_are_told_apart():
    names = [log["name"] for log in payload(render([Entry(random_results()), Entry(random_results(seed=1))]))["logs"]]
    assert names == ["x", "x (2)"]
    with pytest.raises(InputError, match="at least one"):
        render([])


def test_a_curve_log_is_shown_without_an_acr():
    html = render([Entry(random_results(about=curve_about(0.25, 0.5))), Entry(random_results(seed=1))])
    assert "no ACR: radii known on a grid only" in html and html.count("–</a>") >= 2


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_meets_wcag_aa_in_light_and_dark():
    css = (resources.files("smoothcert.report") / "html" / "report.css").read_text()
    themes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r"\{([^{}]*--back:[^{}]*)\}", css)
    ]
    assert len(themes) == 3 and themes[1] == themes[2]  # dark by choice is dark by preference
    for t in themes:
        for back in (t["back"], t["raised"]):
            assert all(contrast(t[ink], back) >= 4.5 for ink in ("ink", "soft", "link"))
            assert all(contrast(t[f"c{i}"], back) >= 4.5 for i in range(7))  # also names in the readout
        for word in ("mark", "good", "bad"):
            assert contrast(t[word], t[f"{word}-back"]) >= 4.5
