# SPDX-License-Identifier: BSD-2-Clause
"""The documentation site, as Sphinx builds it (`make docs`). docs/develop/docs-site.md says how it works and why it is so."""

import builtins
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT / "sw"))

project = "LitePulse"
html_title = "LitePulse"
language = "en"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
highlight_language = "text"  # of indented blocks

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90

html_theme = "furo"
html_static_path = ["site"]
html_css_files = ["litepulse.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

LINK = re.compile(r"(?<!!)\[(?P<text>[^][]*)\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
UNDER = re.compile(r"(?m)^:under: (\S+)\n")
PLACE = re.compile(r"(?m)^(\S+\*)\n")
PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img src="(?P<light>[^"]+)" alt="(?P<alt>[^"]*)">\s*</picture>'
)


def as_start_page(readme):
    """Text of README.md with its paths as docs/ sees them."""

    def from_docs(path):
        return path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}"

    text = re.sub(r"(\]\()(?!https?:|#|mailto:)([^)\s]+)", lambda found: found[1] + from_docs(found[2]), readme)
    return re.sub(r'((?:src|srcset)=")([^"]+)', lambda found: found[1] + from_docs(found[2]), text)


def navigation(index, page="index"):
    """The toctrees of index.md for a page: the start page's, or those `:under:` another one. Places without pages are left out."""
    lists = re.findall(r"(?ms)^```\{toctree\}\n.*?^```\n", index.partition("\n# Navigation\n")[2])
    under = [(found[1] if (found := UNDER.search(each)) else "index", each) for each in lists]
    return "\n".join(
        PLACE.sub(lambda found: found[0] if any(DOCS.glob(f"{found[1]}.md")) else "", UNDER.sub("", each))
        for name, each in under
        if name == page
    )


def links_out_of_docs(text, folder):
    """Files of the repository are copied into the site, as Sphinx does with all but Markdown by itself. Of a folder the name stays."""

    def link(found):
        target = (folder / found["path"]).resolve()
        if target.is_dir():
            return found["text"]
        if target.suffix == ".md" and target.is_file() and not target.is_relative_to(DOCS):
            return f"{{download}}`{found['text'].replace('`', '')} <{found['path']}>`"
        return found[0]

    return LINK.sub(link, text)


def read_source(app, name, source):
    """The start page is README.md, with the navigation of index.md; pages below which others stand get their part of it."""
    if name == "index":
        app.env.note_dependency(str(ROOT / "README.md"))
        source[0] = as_start_page((ROOT / "README.md").read_text(encoding="utf-8")) + "\n" + navigation(source[0])
    elif nested := navigation((DOCS / "index.md").read_text(encoding="utf-8"), name):
        app.env.note_dependency(str(DOCS / "index.md"))
        source[0] += "\n" + re.sub(r"(?m)^(?=[^:`\n])", "/", nested)  # as from the top, wherever the page is
    source[0] = links_out_of_docs(source[0], (DOCS / name).parent)


class Pictures(SphinxTransform):
    """A <picture> becomes two images, of which the theme shows the one for its scheme; it has a switch, which a <picture> ignores."""

    default_priority = 100

    def apply(self, **kwargs):
        for raw in list(self.document.findall(nodes.raw)):
            pictures = list(PICTURE.finditer(raw.astext()))
            if pictures:
                raw.replace_self(
                    nodes.paragraph(
                        "",
                        "",
                        *(
                            nodes.image("", uri=found[scheme], alt=found["alt"], classes=[f"only-{scheme}"])
                            for found in pictures
                            for scheme in ("light", "dark")
                        ),
                    )
                )


class Builtins(SphinxTransform):
    """A type of Python's own is no link: Sphinx would look for an attribute of that name, and two classes have one called `bytes`."""

    default_priority = 100

    def apply(self, **kwargs):
        for link in list(self.document.findall(pending_xref)):
            if link["refdomain"] == "py" and link["reftarget"] in vars(builtins):
                link.replace_self(nodes.Text(link["reftarget"]))


ITEM = re.compile(r"(\w+)(?=(?: \([^)]*\))?(?:, \w+)*: )")


def as_markup(lines):
    """A docstring as reStructuredText: `name: text` lines, with what is indented below, become a list; examples become code."""
    out = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip()):
        if re.match(r"(from|import|with) ", paragraph):
            out += ["::", "", *(f"    {line}" for line in paragraph.splitlines()), ""]
            continue
        text = re.sub(r"`([^`]+)`", r"``\1``", paragraph)
        text = re.sub(r"(?<!\w)\*|\*(?!\w)|(?<=\w)_(?!\w)", lambda found: "\\" + found[0], text)
        text = re.sub(r"\b(?:tcp|remote):\w+:\w+", r"``\g<0>``", text)  # docutils would make links of them
        rows = text.splitlines()
        if out and ITEM.match(rows[0]):
            out += ["* " + ITEM.sub(r"**\1**", row, count=1) if ITEM.match(row) else "  " + row.strip() for row in rows]
        else:
            out += [row.strip() for row in rows]
        out.append("")
    return out


def read_docstring(app, what, name, obj, options, lines):
    lines[:] = as_markup(lines)


def setup(app):
    app.connect("source-read", read_source)
    app.connect("autodoc-process-docstring", read_docstring)
    app.add_transform(Pictures)
    app.add_transform(Builtins)
    return {"parallel_read_safe": True}
