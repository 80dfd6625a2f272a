"""Settings of the documentation site: ``make docs`` builds it into build/docs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import confgcn

project = "ConfGCN"
author = "The ConfGCN developers"
version = release = confgcn.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx_copybutton"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "ConfGCN"
html_static_path: list[str] = []

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force" if os.environ.get("CONFGCN_DOCS_NOTEBOOKS") else "off"
nb_execution_timeout = 600
nb_merge_streams = True
nb_execution_in_temp = True  # the tutorial writes files
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where confgcn is

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_preserve_defaults = True
autodoc_mock_imports: list[str] = []
napoleon_numpy_docstring = False


def _write_command_line(_: object) -> None:
    """The pages of the command line come from the commands themselves."""
    words = [sys.executable, "-m", "typer", "confgcn.cli.main", "utils", "docs", "--name", "confgcn"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    heading = "# Command line\n\nEvery command and option, written from the program.\n\n"
    body = text.partition("**Usage**")[2]
    Path(__file__).with_name("reference").joinpath("command_line.md").write_text(f"{heading}**Usage**{body}")


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _write_command_line)  # type: ignore[attr-defined]
