"""Sphinx configuration: ``make docs`` builds the site in ``docs/_build/html``."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import magnet  # noqa: E402

project = "MAGnet"
author = "The MAGnet authors"
copyright = "the MAGnet authors"
version = release = magnet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # readers need no network either
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
root_doc = "index"
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "auto_examples/**/*.py.md5"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings say what an argument is
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
nitpicky = False
# labels that two generated pages share; citations of pages outside; pandas has no pickle-free cache
suppress_warnings = ["config.cache", "myst.xref_missing", "myst.header"]

html_theme = "pydata_sphinx_theme"
html_title = f"MAGnet {release}"
html_static_path = ["_static"]
html_css_files = ["magnet.css"]
html_js_files = ["sortable.js"]
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

from gallery import TwoThemes  # noqa: E402

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 10_000,
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": (TwoThemes(),),
    "reset_modules": ("matplotlib",),
    "backreferences_dir": None,
    "default_thumb_file": str(HERE / "digits.png"),
}
warnings.filterwarnings("ignore", category=UserWarning)
warnings.filterwarnings("ignore", category=DeprecationWarning)


def copy_results(app: Any) -> None:
    """The result pages, made from stored runs by ``magnet reproduce`` and the benchmarks, become pages of the site."""
    target = HERE / "results"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for path in sorted((HERE.parent / "results").iterdir()):
        if path.suffix in (".md", ".png", ".svg", ".csv") and path.name not in ("README.md", "runs.csv"):
            shutil.copyfile(path, target / path.name)
    index = (
        (HERE.parent / "results/README.md").read_text(encoding="utf-8").replace("[runs.csv](runs.csv)", "`runs.csv`")
    )
    pages = "\n".join(path.stem for path in sorted(target.glob("*.md")))
    (target / "index.md").write_text(f"{index}\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n", encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("config-inited", lambda app, config: copy_results(app))
