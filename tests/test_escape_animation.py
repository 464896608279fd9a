"""The moving demo: it shows the real algorithm, as a GIF and as a page that needs nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from browser import Browser, find_chromium
from cli_running import run

from eulermeans.datasets import paper_gaussians
from eulermeans.oracles import memory_oracle
from eulermeans.paper import escape_animation
from eulermeans.paper.escape_demo import escape

pytest.importorskip("matplotlib", reason="no matplotlib: it comes with eulermeans[plot]")
pytest.importorskip("jinja2", reason="no jinja2: it comes with eulermeans[plot]")
Image = pytest.importorskip("PIL.Image", reason="no pillow: it comes with matplotlib")


@pytest.fixture(scope="module")
def moving():
    return escape_animation.record_escape(seed=0)


def test_it_shows_em_stuck_and_sbe_leaving(moving):
    demo = escape(seed=0)
    em, _, sbe = demo.paths
    stuck = moving.objectives[moving.n_em - 1]
    assert stuck == pytest.approx(em.objectives[-1], rel=1e-3)
    assert moving.objectives[: moving.n_em] == pytest.approx(em.objectives[: moving.n_em])
    assert moving.objectives[-1] == pytest.approx(sbe.objectives[-1], rel=0.02)
    assert moving.objectives[-1] < 0.75 * stuck
    methods = [frame.method for frame in moving.frames]
    assert methods == sorted(methods)  # first EM, then SBE
    assert {frame.n_objectives for frame in moving.frames} <= set(range(1, len(moving.objectives) + 1))


def test_inner_iterates_are_those_of_the_algorithm(moving):
    """y ← x − γ ∇φ(y), with γ = K in the first step, on mini-batches of 400 points."""
    start = next(frame.centers for frame in moving.frames if frame.method == "SBE")
    shown = next(frame.inner for frame in moving.frames if "step 1: the average" in frame.caption)
    oracle, rng = memory_oracle(paper_gaussians(0)), np.random.default_rng(0)
    iterate = start
    for seen in shown:
        iterate = start - 4 * oracle.minibatch(iterate, 400, rng).gradient(iterate)
        np.testing.assert_array_equal(seen, iterate)
    assert len(shown) == 9  # the last of the ten is not asked about


def test_a_gif_moves(moving, tmp_path):
    few = escape_animation.MovingEscape(moving.points, moving.frames[::9], moving.objectives, moving.n_em)
    path = tmp_path / "escape.gif"
    escape_animation.save_animation(few, path)
    with Image.open(path) as gif:
        assert gif.format == "GIF"
        assert gif.n_frames > 5
        assert gif.info["loop"] == 0
        first = np.asarray(gif.convert("RGB"))
        gif.seek(gif.n_frames - 1)
        assert (np.asarray(gif.convert("RGB")) != first).any()


def test_the_page_is_one_file_and_complete_without_scripts(moving, tmp_path):
    path = tmp_path / "escape.html"
    escape_animation.save_animation(moving, path)
    page = path.read_text(encoding="utf-8")
    assert len(page) < 300_000
    found: list[tuple[str, str | None]] = []

    class Attributes(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.extend(attrs)

    Attributes().feed(page)
    assert all(value.startswith("data:") for name, value in found if name in ("src", "href"))
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert len(data["frames"]) == len(moving.frames)
    assert page.count('class="center"') == 8  # where EM is stuck, and where SBE ends


def test_the_page_plays_in_a_browser(moving, tmp_path, tmp_path_factory):
    command = find_chromium()
    if command is None:
        pytest.skip("no Chromium on this machine: install chromium, or name one by EULERMEANS_CHROMIUM")
    path = tmp_path / "escape.html"
    escape_animation.save_animation(moving, path)
    browser = Browser(command, tmp_path_factory.mktemp("profile"))
    try:
        for width in (1280, 390):
            browser.open(path, width=width)
            assert browser.complaints() == []
            assert browser.requests() == []
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
            time = "document.getElementById('time')"
            last = len(moving.frames) - 1
            browser.evaluate(f"{time}.value = {last}; {time}.dispatchEvent(new Event('input'))")
            assert browser.evaluate("document.getElementById('caption').textContent") == moving.frames[-1].caption
            assert browser.evaluate("document.getElementById('play').textContent") == "Play"
            assert browser.evaluate("document.querySelectorAll('#centers circle').length") == 4
    finally:
        browser.close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("escape.mp4", "the suffix must be one of .gif, .html"),
        ("nowhere/escape.gif", "there is no folder nowhere"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(name, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run(capsys, "demo", "--animate", name)
    assert ended.code == 2
    assert message in " ".join(ended.err.split())
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_the_animation(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run(capsys, "demo", "--animate", "escape.html")
    assert ended.code == 0
    assert "Animation: escape.html" in ended.out
    assert (tmp_path / "escape.html").is_file()
    assert (tmp_path / "demo" / "escape.png").is_file()
