"""The documentation: links lead somewhere, code of the guide runs, and every public name is in the reference."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import eulermeans
from eulermeans import plot

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FOLDERS = (DOCS, ROOT / "benchmarks", ROOT / "src", ROOT / "examples")
PAGES = sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in folder.rglob("*.md"))])
GUIDE = [DOCS / "start.md", *sorted((DOCS / "guide").glob("*.md"))]
FENCED = re.compile(r"^(`{3,}).*?^\1`*$", flags=re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"|<a [^>]*href=\"([^\"]+)\"")

by_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())


def prose(path: Path) -> str:
    """The text without blocks of code."""
    return FENCED.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The anchors of the headings, as Markdown on the web has them."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ +(.*?)$", prose(path), flags=re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


@by_page
def test_links_lead_somewhere(path):
    for groups in LINK.findall(prose(path)):
        target, _, anchor = next(filter(None, groups)).partition("#")
        if re.match(r"[a-z]+:", target):
            assert not target.startswith("http://"), target
            continue
        place = (path.parent / target).resolve() if target else path
        assert place.exists(), f"{target} does not exist"
        assert place.is_relative_to(ROOT), f"{target} is outside of the project"
        assert not anchor or anchor in anchors(place), f"{target}#{anchor}: there is no such heading"


def test_the_links_of_every_kind_are_seen():
    """Otherwise the test above would pass on pages it can't read."""
    text = prose(ROOT / "README.md")
    assert len(LINK.findall(text)) > 10
    assert "the-choices" in anchors(DOCS / "reproduction.md")


def test_every_page_is_in_a_table_of_contents():
    """A page that is in none has no way back."""
    listed = set()
    for path in DOCS.rglob("*.md"):
        for block in re.findall(
            r"^```\{toctree\}\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.M | re.S
        ):
            entries = re.findall(r"^(?:[^:\n].*<)?([\w./-]+)>?$", block, flags=re.M)
            listed |= {(path.parent / f"{entry}.md").resolve() for entry in entries}
    pages = {path.resolve() for path in DOCS.rglob("*.md")} - {DOCS / "index.md", DOCS / "search.md"}  # conf.py
    assert not pages - listed


def test_the_reference_has_every_public_name():
    reference = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    names = re.findall(r"^   (\w+)$", reference, flags=re.M)
    assert set(eulermeans.__all__) - {"plot", "__version__"} <= set(names)
    assert set(plot.__all__) <= set(names)


def code_of(path: Path) -> list[str]:
    """The blocks marked as `python`; those marked as `py` are not meant to run."""
    return re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("path", [path for path in GUIDE if code_of(path)], ids=lambda path: path.stem)
def test_the_code_of_the_guide_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    means = 5 * rng.standard_normal((5, 3))
    X = means[rng.integers(5, size=1000)] + rng.standard_normal((1000, 3))
    names = {"X": X, "X_new": X[:50] + 0.1, "batches": [X[first : first + 100] for first in range(0, 1000, 100)]}
    for block in code_of(path):
        exec(compile(block, str(path), "exec"), names)
    assert set(names) > {"X", "X_new", "batches"}


def test_the_pictures_of_the_algorithm_can_be_drawn_again(tmp_path):
    script = runpy.run_path(str(DOCS / "_pictures" / "how_it_works.py"))
    script["main"](tmp_path)
    plt.close("all")
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (DOCS / "how-it-works").glob("*.png")}


# The check of the built site


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools" / "check_site.py", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write_site(folder: Path, **bodies: str) -> None:
    for name, body in bodies.items():
        (folder / f"{name}.html").write_text(f'<html><body><a href="index.html">home</a>{body}</body></html>')
    (folder / "searchindex.js").write_text("EulerMeans certify")


def test_a_site_whose_links_are_right(tmp_path):
    write_site(tmp_path, index='<a href="page.html#place">page</a>', page='<h1 id="place">x</h1>')
    done = check(tmp_path)
    assert (done.returncode, done.stdout) == (0, "all links of the site are right\n")


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<a href="page.html#nowhere">x</a>', "index.html: page.html#nowhere leads to no place on that page"),
        ('<a href="gone.html">x</a><a href="page.html">x</a>', "index.html: gone.html leads nowhere"),
        ('<a href="page.html">x</a><img src="https://example.org/x.png">', "loads https://example.org/x.png"),
        ('<a href="page.html">x</a><img src="gone.png">', "index.html: gone.png leads nowhere"),
        ("", "page.html: no link leads to this page"),
    ],
)
def test_a_site_with_a_mistake(body, complaint, tmp_path):
    write_site(tmp_path, index=body, page="")
    done = check(tmp_path)
    assert done.returncode == 1
    assert complaint in done.stdout


def test_a_page_without_a_way_back(tmp_path):
    write_site(tmp_path, index='<a href="page.html">x</a>', page="")
    (tmp_path / "page.html").write_text("<p>lost</p>")
    assert "page.html: there is no way back to the first page" in check(tmp_path).stdout
