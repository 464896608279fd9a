"""The documentation site: `make docs` builds it, offline, and takes every warning for an error."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "eulermeans"
author = "eulermeans developers"
copyright = "eulermeans developers; BSD-3-Clause"
version = release = installed_version("eulermeans")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "borrowed_pages",
]
exclude_patterns = [
    "_ext",
    "_pictures",
    "search.md",
]  # search.html is the page of the search field: borrowed below
templates_path = ["_templates"]
root_doc = "index"
nitpicky = True
suppress_warnings = ["config.cache"]  # sphinx-gallery's configuration holds a function, which can't be cached

# Markdown

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Pages of this site that are files elsewhere in the repository. The file in docs/ is a link to it, for those who
# read the repository itself.
borrowed_pages = {
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "how-it-works/the-search": "docs/search.md",
    "core": "src/core/README.md",
    "benchmarks/quality": "benchmarks/results/quality.md",
    "benchmarks/choosing-k": "benchmarks/results/choosing_k.md",
    "benchmarks/certificate": "benchmarks/results/certificate.md",
    "benchmarks/sizes": "benchmarks/results/sizes.md",
}

# API reference

autosummary_generate = True
autosummary_filename_map = {
    "eulermeans.Sweep": "eulermeans.Sweep-class"
}  # beside sweep, where case does not count
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types in words
default_role = "literal"  # single backticks in docstrings
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False
add_module_names = False
python_use_unqualified_type_names = True

# Gallery

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "abort_on_example_error": True,
    "min_reported_time": 0,
    "write_computation_times": False,
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib",),
    "default_thumb_file": str(HERE / "escape.png"),
}

# HTML

html_theme = "pydata_sphinx_theme"
html_title = "eulermeans"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"start": []}  # it has no pages below it
html_show_sourcelink = False
html_copy_source = False
html_domain_indices = False
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is
html_theme_options = {
    "logo": {"text": "eulermeans"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
