"""tools/index_readme.py: the README without relative paths, as an index of packages shows it."""

from __future__ import annotations

import importlib.util
import re
from importlib.metadata import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "https://example.org/group/project"
TEXT = """\
# Title

![a picture](docs/a.png)

[a page](docs/a.md), [an anchor](#title), [a site](https://example.org/), `[code](a.md)` and <a href="b.md">b</a>.
<img src="docs/b.png" width="5"> [![linked](docs/c.svg)](docs/c.md)

```
![code](a.png)
```
"""


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("index_readme", ROOT / "tools" / "index_readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def relative_paths(text: str) -> list[str]:
    """What links and images outside of code lead to, without whole addresses and anchors."""
    text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"\]\(([^)]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    return [one or other for one, other in found if not re.match(r"https?:|#|mailto:", one or other)]


def test_without_an_address_links_are_text_and_images_are_left_out(tool):
    made = tool.index_readme(TEXT, None, "1.2.0")
    assert relative_paths(TEXT)
    assert not relative_paths(made)
    assert "a page, [an anchor](#title), [a site](https://example.org/), `[code](a.md)` and b." in made
    assert "picture" not in made
    assert "linked" not in made
    assert "```\n![code](a.png)\n```" in made


def test_with_an_address_paths_lead_to_the_tag(tool):
    made = tool.index_readme(TEXT, SOURCE + "/", "1.2.0")
    assert not relative_paths(made)
    assert f"![a picture]({SOURCE}/raw/v1.2.0/docs/a.png)" in made
    assert f"[a page]({SOURCE}/blob/v1.2.0/docs/a.md)" in made
    assert f'<img src="{SOURCE}/raw/v1.2.0/docs/b.png" width="5">' in made
    assert f'<a href="{SOURCE}/blob/v1.2.0/b.md">b</a>' in made
    assert f"[![linked]({SOURCE}/raw/v1.2.0/docs/c.svg)]({SOURCE}/blob/v1.2.0/docs/c.md)" in made
    assert "`[code](a.md)`" in made


def test_between_two_tags_paths_lead_to_the_newest_commit(tool):
    assert f"({SOURCE}/raw/HEAD/docs/a.png)" in tool.index_readme(TEXT, SOURCE, "1.2.0+g1a2b3c4")


@pytest.mark.parametrize("source", [None, SOURCE])
def test_the_readme_of_this_project_has_no_relative_path_left(tool, source):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    made = tool.index_readme(text, source, "0.1.0")
    assert not relative_paths(made)
    assert re.findall(r"^#+ .*$", made, re.MULTILINE) == re.findall(r"^#+ .*$", text, re.MULTILINE)


def test_the_installed_package_has_such_a_readme():
    described = metadata("eulermeans")
    assert described["Description-Content-Type"] == "text/markdown"
    assert described["Description"].startswith("# eulermeans")
    assert not relative_paths(described.get_payload())
