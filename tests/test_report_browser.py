"""The report in a real browser: no errors, no requests, and everything visible on screens, phones and paper."""

from __future__ import annotations

import numpy as np
import pytest
from browser import Browser, find_chromium
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eulermeans import EulerMeans, report

pytest.importorskip("matplotlib", reason="no matplotlib: it comes with eulermeans[plot]")
pytest.importorskip("jinja2", reason="no jinja2: it comes with eulermeans[plot]")

EVIL = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
WAYS = {  # to view the page
    "screen": {},
    "dark": {"dark": True},
    "phone": {"width": 390, "height": 844},
    "small phone": {"width": 320, "height": 568, "dark": True},
    "tablet": {"width": 800},
    "paper": {"width": 794, "media": "print"},
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    command = find_chromium()
    if command is None:
        pytest.skip("no Chromium on this machine: install chromium, or name one by EULERMEANS_CHROMIUM")
    started = Browser(command, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report on a few scaled rows with hostile names, and one on many clusters and features."""
    folder = tmp_path_factory.mktemp("pages")
    iris = load_iris(as_frame=True).data
    frame = iris.set_axis([f"{EVIL} {column}" for column in iris.columns], axis=1)
    ids = [f"{EVIL} {row}" for row in range(150)]
    few = make_pipeline(StandardScaler(), EulerMeans(3, n_init=3, random_state=0)).fit(frame)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 40)) + 4 * rng.integers(0, 4, (6000, 1))
    many = EulerMeans(60, effort=0.05, random_state=0).fit(X)
    names = [f"a_name_without_any_space_that_could_be_broken_{column}" for column in range(40)]
    return {
        "few": report.write(few, frame, folder / "few.html", ids=ids, title=EVIL, command=f"eulermeans {EVIL}"),
        "many": report.write(many, X, folder / "many.html", feature_names=names, name=f"{'x' * 300}.parquet"),
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("page", ["few", "many"])
def test_the_page_is_seen_whole_and_nothing_fails(page, way, browser, pages):
    browser.open(pages[page], **WAYS[way])
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.evaluate("document.title") != "broken"
    width = browser.evaluate("innerWidth")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    figures = browser.evaluate(
        "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect())"
        ".map(r => [r.width, r.height])"
    )
    assert len(figures) == {"few": 6, "many": 5}[page]
    assert all(size[0] > 150 and size[1] > 80 for size in figures)
    words = browser.evaluate(
        "[...document.querySelectorAll('figure svg text')].filter(t => t.getBoundingClientRect().width > 0).length"
    )
    assert words > 30


@pytest.mark.parametrize("dark", [False, True])
def test_words_in_pictures_stand_out_from_the_page(dark, browser, pages):
    browser.open(pages["few"], dark=dark)
    # Relative luminance as in WCAG, which wants a contrast ratio of 4.5 or more for text.
    ratios = browser.evaluate(
        """(() => {
        const light = (color) => {
            const [r, g, b] = color.match(/[\\d.]+/g).map(c => c / 255)
                .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
        const onCard = text => !text.closest('#figure-plane') || text.closest('[id*=tick]');
        const titles = [...document.querySelectorAll('figure:not(.wide) svg text')].filter(onCard);
        const card = getComputedStyle(document.querySelector('figure')).backgroundColor;
        const inPictures = titles.map(text => ratio(getComputedStyle(text).fill, card));
        const others = ['.lead', '.note', 'figcaption', 'td', '.serious b', '.up', '.down', '.quiet', 'summary']
            .flatMap(name => [...document.querySelectorAll(name)]).map(element => {
                let behind = element;
                while (/, 0\\)$/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
                return ratio(getComputedStyle(element).color, getComputedStyle(behind).backgroundColor);
            });
        return [inPictures.length, Math.min(...inPictures), others.length, Math.min(...others)];
        })()"""
    )
    assert ratios[0] > 10
    assert ratios[2] > 20
    assert min(ratios[1], ratios[3]) >= 4.5


def test_points_and_densities_are_painted(browser, pages):
    for page in ("few", "many"):
        browser.open(pages[page])
        painted = browser.evaluate(
            """(async () => {
            const source = document.querySelector('#figure-plane svg image').getAttribute('href');
            const image = new Image();
            image.src = source;
            await image.decode();
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
            return pixels.filter((value, place) => place % 4 === 3 && value > 0).length;
            })()"""
        )
        assert painted > 500


def test_clusters_are_cards_on_a_phone(browser, pages):
    browser.open(pages["few"], width=390, height=844)
    assert browser.evaluate("getComputedStyle(document.querySelector('.clusters td')).display") == "block"
    assert browser.evaluate(
        "(box => box.scrollWidth <= box.clientWidth)(document.querySelector('#clusters .scroll'))"
    )


def test_a_heading_sorts_the_table(browser, pages):
    browser.open(pages["many"])
    column = "[...document.querySelectorAll('.clusters tbody tr')].map(r => Number(r.cells[3].dataset.value))"
    heading = "document.querySelector('.clusters th:nth-child(4)')"
    browser.evaluate(f"{heading}.click()")
    assert browser.evaluate(column) == sorted(browser.evaluate(column), reverse=True)
    browser.evaluate(f"{heading}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter'}}))")
    assert browser.evaluate(column) == sorted(browser.evaluate(column))
    assert browser.evaluate(f"{heading}.getAttribute('aria-sort')") == "ascending"


def test_more_clusters_are_shown_when_asked_for(browser, pages):
    browser.open(pages["many"])
    visible = "[...document.querySelectorAll('.clusters tbody tr')].filter(r => r.offsetHeight > 0).length"
    assert browser.evaluate(visible) == 40
    browser.evaluate("document.querySelector('#all-clusters').click()")
    assert browser.evaluate(visible) == 60


def test_the_page_can_be_printed(browser, pages):
    browser.open(pages["few"])
    assert browser.print().startswith(b"%PDF")
