"""The report as a file: complete, self-contained, and nothing from a log taken for markup."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest

from smoothcert.errors import InputError
from smoothcert.recipes import RECIPES, to_dict
from smoothcert.report import page as report
from smoothcert.report.entry import Entry
from smoothcert.report.page import render
from tests.analysis.made import ABOUT, curve_about, random_results
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
    assert not re.search(r"@import|url\((?!#)|xlink|https?://(?!www.w3.org/2000/svg\b)", html)
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
    assert "INCOMPLETE: 120 of 129 images" in text
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


def test_less_than_the_paper_is_said_of_its_own_recipes_only():
    some = {**ABOUT, "data": {"name": "mnist", "split": "test", "images": 10000, "fingerprint": "x"}}
    some |= {"selection": {"every": 50, "start": 0, "stop": None}, "selected": 200}
    recipe = to_dict(RECIPES["mnist/gaussian/0.50"])
    html = render([Entry(random_results(about=some | {"recipe": recipe}))])
    assert ">reduced<" in html and "Beside the paper" in html and 'href="#paper"' in html
    html = render([Entry(random_results(about=some))])
    assert "educed" not in html.partition("<script")[0].partition("</style>")[2] and "paper" not in words(html).lower()


def words(html):
    """What a person reads: neither style nor script."""
    return re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", html, flags=re.S)


GRID = {"kind": "grid_gaussian", "sigma": 0.5}


def everything(name="/home/me/nets/net.onnx", data="/mnt/my data/cats", **environment):
    """A log that states all there is, with the paths of a machine wherever a path can stand."""
    about = {
        "model": {"name": name, "variant": "folded", "sha256": "ab" * 32, "source": "/home/me/nets/net.onnx"},
        "imported": {"source": "/home/me/nets/net.onnx"},
        "data": {"name": data, "split": "test", "images": 400, "fingerprint": "cd" * 32},
        "selection": {"every": 2, "start": 0, "stop": None},
        "selected": 200,
        "seed": 5,
        "device": "cpu",
        "precision": "bfloat16",
    }
    made = random_results(about=ABOUT | about)
    return Entry(replace(made, environment=environment, path=Path("/home/me/runs/a/certify.jsonl")))


def test_what_the_result_rests_on_is_all_there():
    html = render([everything(started="2026-01-02T03:04:05Z", torch="2.13.0", smoothcert="0.1.0", python={"a": 1})])
    text = " ".join(words(html).split())
    for said in (
        "norm How",
        "Gaussian, σ = 0.5, in floats",
        "0.001 for each image",
        "1,000 after n₀ = 100",
        "CERTIFY, single bound",
        "cats, test: 200 of 400, every 2nd",
        "cd" * 32,
        "net.onnx (folded)",
        "ab" * 32,
        "bfloat16, on cpu",
        "2026-01-02 03:04:05 UTC",
        "smoothcert 0.1.0, torch 2.13.0",
        "certify.jsonl",
        "smoothcert certify RUN --sigma 0.5 --dataset cats",
        "Float noise: this assumes ideal noise",
    ):
        assert said in text, said
    assert "Grid noise" not in text
    assert "Grid noise" in render([Entry(random_results(about={**ABOUT, "noise": GRID}))])


def test_no_folder_of_the_machine_and_no_dictionary_is_in_the_page(html):
    page = render(
        [everything(started="2026", python={"a": 1}), everything(name=r"C:\me\net.onnx", data=r"\\srv\me\cats")]
    )
    for text in (page, html):
        assert not re.search(r"/(home|mnt|root|tmp|Users)\b|[A-Z]:\\|\\\\|srv", text.replace("\\\\u003", ""))
        assert not re.search(r"\{['&]|&#39;: ", words(text))


def test_what_a_log_says_of_itself_is_text():
    evil = replace(everything(HOSTILE, HOSTILE, started=HOSTILE, torch=HOSTILE), training=[{HOSTILE: 1.0, "loss": 2.0}])
    html = render([evil], title=HOSTILE)
    assert HOSTILE not in html and [tag for tag, _ in Page(html).tags].count("script") == 2
    assert not any("onerror" in a for _, a in Page(html).tags)


def test_every_word_that_needs_it_is_explained(html, page):
    explained = [a["aria-describedby"] for _, a in page.tags if "aria-describedby" in a]
    assert len(set(explained)) > 12 and {a["id"] for _, a in page.tags if "id" in a} >= set(explained)
    assert all(a["tabindex"] == "0" for _, a in page.tags if a.get("class") == "term")


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
