"""The report in a real browser: no errors, no requests, and everything visible on screens, phones and paper."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from browser import Browser, find_chromium
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eulermeans
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
    tried = eulermeans.sweep(few[:-1].transform(frame), "2:5", random_state=0)
    digits = rng.uniform(size=(300, 36)) * np.repeat([[0.3], [0.6], [1.0]], 100, axis=0)
    images = EulerMeans(3, random_state=0).fit(digits)
    told = {"ids": ids, "title": EVIL, "command": f"eulermeans {EVIL}", "sweep": tried}
    return {
        "few": report.write(few, frame, folder / "few.html", **told),
        "images": report.write(images, digits, folder / "images.html", image_shape="square"),
        "many": report.write(many, X, folder / "many.html", feature_names=names, name=f"{'x' * 300}.parquet"),
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("page", ["few", "many", "images"])
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
    # With a sweep there are its figure and the plane of the slider.
    assert len(figures) == {"few": 8, "many": 5, "images": 5}[page]
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
        const onCard = text => !text.closest('#figure-plane, #k-plane') || text.closest('[id*=tick]');
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


def place_of_row(browser, row, svg="#figure-plane svg"):
    """Where a row is in the window."""
    return browser.evaluate(
        f"""(() => {{
        const svg = document.querySelector({svg!r});
        svg.scrollIntoView({{block: 'center'}});
        const rows = JSON.parse(document.getElementById('page-data').textContent).rows;
        const place = new DOMPoint(rows.places[2 * {row}], rows.places[2 * {row} + 1]);
        const at = place.matrixTransform(svg.getScreenCTM());
        return [at.x, at.y];
        }})()"""
    )


def test_a_row_shows_its_values_and_its_cluster_on_hover(browser, pages):
    browser.open(pages["few"])
    iris = load_iris(as_frame=True).data
    lonely = int(np.argmax(((iris - iris.mean()) ** 2).sum(axis=1)))  # far from all others in the picture
    x, y = place_of_row(browser, lonely)
    browser.hover(x, y)
    tip = browser.evaluate("document.querySelector('.tip').innerText")
    assert tip.startswith(f"{EVIL} {lonely}"[:30])
    assert "cluster" in tip.splitlines()[0]
    shown = browser.evaluate("[...document.querySelectorAll('.tip td.n')].map(cell => Number(cell.textContent))")
    np.testing.assert_allclose(shown, iris.iloc[lonely])
    assert browser.evaluate("document.querySelectorAll('.tip img, .tip script').length") == 0
    assert browser.evaluate("document.title") != "broken"
    box = browser.evaluate(
        "(r => [r.left, r.top, r.right, r.bottom])(document.querySelector('.tip').getBoundingClientRect())"
    )
    assert min(box) >= 0
    assert box[2] <= 1280
    browser.hover(2, 2)
    assert browser.evaluate("document.querySelector('.tip').hidden")


def test_an_image_is_drawn_on_hover(browser, pages):
    browser.open(pages["images"], width=390, height=844)
    browser.hover(*place_of_row(browser, 0))
    drawn = browser.evaluate(
        """(() => {
        const canvas = document.querySelector('.tip canvas');
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return [canvas.width, canvas.height, new Set(pixels).size];
        })()"""
    )
    assert drawn[:2] == [6, 6]
    assert drawn[2] > 5


def test_the_slider_shows_the_clusters_of_each_k(browser, pages):
    browser.open(pages["few"])
    state = """(() => ({
        title: document.getElementById('k-title').textContent,
        centers: document.querySelectorAll('#k-plane text').length,
        colors: new Set(
            [...document.querySelectorAll('#k-plane > circle:not(.ring)')].map(c => c.getAttribute('fill'))).size,
        words: [...document.querySelectorAll('#k-clusters li')].map(item => item.textContent),
        row: document.querySelector('#k-table .chosen').dataset.k,
    }))()"""
    first = browser.evaluate(state)
    assert first["title"] == "K = 3 (this report)"
    slider = "document.getElementById('k-slider')"
    browser.evaluate(f"{slider}.value = 3; {slider}.dispatchEvent(new Event('input'))")
    moved = browser.evaluate(state)
    assert moved["title"] == "K = 5"
    assert moved["row"] == "5"
    for seen, k in ((first, 3), (moved, 5)):
        assert seen["centers"] == seen["colors"] == len(seen["words"]) == k
    assert EVIL[:30] in moved["words"][0]
    assert browser.evaluate("document.title") != "broken"
    browser.hover(*place_of_row(browser, 0, "#k-plane"))
    assert "cluster" in browser.evaluate("document.querySelector('.tip').innerText")


def test_tables_are_saved_as_csv_with_and_without_scripts(browser, pages, tmp_path):
    for scripts in (True, False):
        folder = tmp_path / str(scripts)
        folder.mkdir()
        browser.save_into(folder)
        browser.open(pages["few"], scripts=scripts)
        for name in ("clusters.csv", "centers.csv"):
            x, y = browser.middle_of(f"a[download='{name}']")
            browser.click(x, y)
            lines = browser.wait_for_file(folder / name).splitlines()
            assert len(lines) == 4
            assert lines[0].startswith("cluster,")
    browser.open(pages["few"])


def test_the_page_is_complete_without_scripts(browser, pages):
    browser.open(pages["few"], scripts=False)
    assert browser.complaints() == []
    assert browser.height_of("#k-table") > 100
    assert browser.height_of("#figure-sweep svg") > 200
    assert browser.height_of(".clusters tbody tr:nth-child(3)") > 20
    assert browser.height_of(".k-view") == 0  # the slider would do nothing
    browser.open(pages["few"])


def test_on_paper_nothing_is_collapsed(browser, pages):
    browser.open(pages["many"], width=794, media="print")
    hidden = "[...document.querySelectorAll('tbody tr')].filter(row => row.getClientRects().length === 0).length"
    assert browser.evaluate(hidden) == 0
    assert browser.evaluate("document.querySelector('.facts').getClientRects().length") > 0


def test_numbers_of_forty_clusters_do_not_overlap(browser, tmp_path):
    X = np.random.default_rng(0).standard_normal((2000, 5))
    model = EulerMeans(40, effort=0.05, random_state=0).fit(X)
    browser.open(report.write(model, X, tmp_path / "forty.html"))
    boxes = browser.evaluate(
        """[...document.querySelectorAll('#figure-plane svg text')].filter(t => t.closest('[id*=axes]')
            && !t.closest('[id*=axis]') && /^\\d+$/.test(t.textContent.trim()))
            .map(t => t.getBoundingClientRect()).map(r => [r.left, r.top, r.right, r.bottom])"""
    )
    assert len(boxes) == 40
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (one, other)


def test_more_clusters_are_shown_when_asked_for(browser, pages):
    browser.open(pages["many"])
    visible = "[...document.querySelectorAll('.clusters tbody tr')].filter(r => r.offsetHeight > 0).length"
    assert browser.evaluate(visible) == 40
    browser.evaluate("document.querySelector('#all-clusters').click()")
    assert browser.evaluate(visible) == 60


def shares_filled(pdf: bytes, folder: Path) -> list[float]:
    """How far down each page has anything on it, as a share of the page."""
    (folder / "page.pdf").write_bytes(pdf)
    subprocess.run(
        ["pdftoppm", "-r", "20", "-gray", folder / "page.pdf", folder / "page"], check=True, timeout=120
    )
    filled = []
    for file in sorted(folder.glob("page-*.pgm")):
        _, width, height, _, pixels = file.read_bytes().split(maxsplit=4)
        rows = np.frombuffer(pixels, np.uint8).reshape(int(height), int(width))
        filled.append((np.flatnonzero((rows < 200).any(axis=1)).max(initial=0) + 1) / int(height))
    return filled


@pytest.mark.parametrize("page", ["few", "images", "many"])
def test_no_printed_page_is_nearly_empty(page, browser, pages, tmp_path):
    if shutil.which("pdftoppm") is None:
        pytest.skip("no pdftoppm on this machine, which draws the pages: it comes with poppler-utils")
    browser.open(pages[page])
    pdf = browser.print()
    assert pdf.startswith(b"%PDF")
    filled = shares_filled(pdf, tmp_path)
    assert len(filled) >= 2
    assert min(filled) > 0.25, filled
