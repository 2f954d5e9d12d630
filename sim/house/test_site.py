# SPDX-License-Identifier: BSD-2-Clause
"""Links of every page; each page of docs/ has its place in the navigation; the API page has every public name; `make docs` builds a site
that asks for nothing from outside, and in headless Chromium it looks as it should."""

import functools
import html
import itertools
import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

import litepulse
from sim import browser
from sim.cocotb_rig import ROOT

DOCS = ROOT / "docs"
LISTED = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
PAGES = sorted(
    path
    for path in subprocess.run(LISTED, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    if path and (ROOT / path).is_file()
)
MARKDOWN = MarkdownIt("commonmark").enable("table")
# What a browser loads by itself when it shows a page.
LOADED = re.compile(r"<(?:script|img|source|iframe|video|audio|link(?![^>]*rel=\"(?:search|index|next|prev|canonical)\"))\b[^>]*>")
FOREIGN = re.compile(r"""(?:src|href|srcset)\s*=\s*["']?\s*(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import\s+["'](?:https?:)?//""")


def inline(text):
    """The tokens inside a page's paragraphs, headings and cells."""
    return [child for token in MARKDOWN.parse(text) if token.type == "inline" for child in token.children or ()]


@functools.cache  # many pages name the same ones
def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    tokens, found = MARKDOWN.parse(text), []
    for head, token in zip(tokens, tokens[1:]):
        if head.type == "heading_open":
            words = "".join(child.content for child in token.children or () if child.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
            found.append(f"{slug}-{sum(each == slug for each in found)}" if slug in found else slug)
    return {*found, *re.findall(r'<a (?:id|name)="([^"]+)">', text)}


def targets(text):
    """What the links and pictures of a page name."""
    tokens = inline(text)
    linked = [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]
    linked += [str(token.attrs["src"]) for token in tokens if token.type == "image"]
    return linked + re.findall(r'(?:src|srcset)="([^"]+)"', text)


def broken(name, text):
    """Those links of a page that lead nowhere."""
    found = []
    for target in targets(text):
        if re.match(r"(https?|mailto):", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        place = (ROOT / name).parent / path if path else ROOT / name
        if not place.resolve().is_relative_to(ROOT) or not place.exists():
            found.append(f"{name}: {target}: there is no such file")
        elif anchor and anchor not in anchors(place.read_text(encoding="utf-8") if path else text):
            found.append(f"{name}: {target}: there is no such heading")
    return found


@pytest.mark.parametrize("name", PAGES)
def test_links(name):
    assert broken(name, (ROOT / name).read_text(encoding="utf-8")) == []


def test_broken_links_are_noticed():
    text = (
        "# A head\n\n[a](#a-head) [b](#no-head) [c](docs/cli.md) [d](docs/none.md) [e](docs/cli.md#none) ![f](none.png) [g](https://x.org)"
    )
    assert [line.split(": ")[1] for line in broken("README.md", text)] == ["#no-head", "docs/none.md", "docs/cli.md#none", "none.png"]


def places(index):
    """The entries of the navigation in index.md."""
    blocks = [token.content for token in MARKDOWN.parse(index) if token.type == "fence" and token.info.strip() == "{toctree}"]
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]


def without_place(pages, index):
    """Pages of docs/ that no entry of the navigation names, and entries that name no page."""
    entries = places(index)
    lost = [page for page in pages if page != "index" and not any(fnmatch(page, entry) for entry in entries)]
    return lost, [entry for entry in entries if "*" not in entry and entry not in pages]


def test_every_page_has_a_place():
    pages = [name.removeprefix("docs/").removesuffix(".md") for name in PAGES if name.startswith("docs/")]
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    lost, unknown = without_place(pages, index)
    assert not lost, f"in no place of the navigation: add them to a toctree in docs/index.md: {lost}"
    assert not unknown, f"docs/index.md names pages that do not exist: {unknown}"


def test_the_api_page_has_every_name():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\.\. auto(?:function|class|data|exception):: (\w+)", text)) == sorted(litepulse.__all__)


def build(docs, site):
    """What Sphinx says, called as `make docs` calls it."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", site.with_suffix(".cache"), docs, site]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built here, as the one in build/ may be outdated."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = build(DOCS, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.full
@pytest.mark.seconds(60)
def test_the_site(site):
    """Every page is there, asks for nothing from outside, and its own links lead somewhere."""
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {f"{name.removeprefix('docs/').removesuffix('.md')}.html" for name in PAGES if name.startswith("docs/")} <= set(pages)
    for name, text in pages.items():
        assert not [tag for tag in LOADED.findall(text) if FOREIGN.search(tag)], f"{name} loads files from outside"
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            target = unquote(html.unescape(target))
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target) or not path and not anchor:
                continue
            place = (site / name).parent / path.partition("?")[0] if path else site / name
            assert place.exists(), f"{name}: {target}"
            assert not anchor or place.suffix != ".html" or re.search(rf'id="{re.escape(anchor)}"', place.read_text(encoding="utf-8")), (
                f"{name}: {target}"
            )
    for path in [*site.rglob("*.css"), *site.rglob("*.js")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*[\"']?(https?:)?//|@import\s+[\"'](https?:)?//|importScripts\(\s*[\"']https?:", text), path.name
    # Recipes stand first, and below their page; so do the boards' cards.
    first, *_ = re.findall(r'class="toctree-l1[^"]*"><a [^>]*href="([^"]+)"', pages["index.html"])
    nested = set(re.findall(r'class="toctree-l2[^"]*"><a [^>]*href="([^"]+)"', pages["index.html"]))
    assert first == "recipes/index.html" and nested == {
        f"{name.removeprefix('docs/').removesuffix('.md')}.html" for name in PAGES if re.match(r"docs/(recipes|boards)/(?!index)", name)
    }
    assert "Outcome" in pages["api.html"] and "floor" in pages["index.html"]
    # The light and the dark picture, one of which the theme shows.
    assert re.search(r'class="only-light"[^>]*demo\.png|demo\.png"[^>]*class="only-light"', pages["index.html"])
    assert "demo-dark.png" in pages["index.html"] and "<picture>" not in pages["index.html"]
    assert (site / "searchindex.js").stat().st_size > 100_000


# What a reader sees: nothing sticks out but what scrolls by itself, of two pictures one shows, and a search finds something.
LOOK = """() => {
  const seen = one => getComputedStyle(one).display !== "none";
  const wide = one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".table-wrapper, pre");
  const image = one => getComputedStyle(one).display !== "none" && one.naturalWidth > 0;
  return { width: document.documentElement.scrollWidth,
    wide: [...document.querySelectorAll("article *")].filter(wide).map(one => one.tagName + one.textContent.slice(0, 40)),
    paper: getComputedStyle(document.body).backgroundColor,
    text: getComputedStyle(document.querySelector("article p")).color,
    light: [...document.querySelectorAll("img.only-light")].filter(image).length,
    dark: [...document.querySelectorAll("img.only-dark")].filter(image).length,
    images: [...document.querySelectorAll("article img")].filter(seen).filter(one => !one.naturalWidth).length,
    results: document.querySelectorAll("ul.search li").length };
}"""
TYPICAL = ("index", "cli", "experiments", "registers", "api", "develop/testing")


def look_at(site, page, width, dark, query=""):
    """(errors, what LOOK found) of a page in Chromium, which resolves no name and so has no network."""
    place = site / f"{page}.html"
    text = place.read_text(encoding="utf-8").replace("<head>", f"<head>{browser.CATCH}", 1)
    if query:
        text = text.replace("<head>", f"<head><script>history.replaceState(null, '', '?q={query}')</script>", 1)
    look = place.with_name("look.html")
    look.write_text(text.replace("</body>", f"{browser.REPORT.format(look=LOOK)}</body>"), encoding="utf-8")
    output = re.search(r'<pre id="output">(.*?)</pre>', browser.run(place.parent, look, width, 900, dark, "--dump-dom"), re.DOTALL)
    assert output and output[1], "the page did not get as far as to be looked at"
    answer = json.loads(html.unescape(output[1]))
    return answer["errors"], answer["found"]


def brightness(colour):
    """0 to 255, of a colour as browsers write it."""
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3


@pytest.mark.full
@pytest.mark.seconds(15)
@pytest.mark.parametrize("page", TYPICAL)
def test_in_a_browser(site, page):
    """No error, no scrolling sideways, dark is dark, and of the pictures those of the scheme show."""
    assert browser.chromium(), "no Chromium: apt install chromium"
    pictures = (site / f"{page}.html").read_text(encoding="utf-8").count('class="only-light"')
    for width, dark in itertools.product((400, 1280), (False, True)):
        errors, found = look_at(site, page, width, dark)
        assert errors == [] and found["width"] <= width and found["wide"] == [] and found["images"] == 0, (width, dark, errors, found)
        assert (brightness(found["paper"]) < 60, brightness(found["text"]) > 150) == (dark, dark), found
        assert (found["light"], found["dark"]) == ((0, pictures) if dark else (pictures, 0)), found
    assert pictures > 0 or page not in ("index", "experiments")


@pytest.mark.full
@pytest.mark.seconds(5)
def test_the_search_needs_no_server(site):
    errors, found = look_at(site, "search", 1280, False, "responder")
    assert errors == [] and found["results"] > 5
    errors, found = look_at(site, "search", 1280, False, "nothingatallhasthisname")
    assert errors == [] and found["results"] == 0


@pytest.mark.full
@pytest.mark.seconds(5)
def test_a_page_that_needs_more_is_noticed(site):
    """A script from outside, and a line that no telephone has room for."""
    place = site / "simulator.html"
    text = place.read_text(encoding="utf-8")
    place.write_text(text.replace("<head>", '<head><script src="https://example.org/x.js"></script>', 1), encoding="utf-8")
    assert look_at(site, "simulator", 400, False)[0] == ["a file cannot be loaded"]
    place.write_text(text.replace("</article>", '<div style="width:2000px">x</div></article>', 1), encoding="utf-8")
    assert look_at(site, "simulator", 400, False)[1]["wide"] == ["DIVx"]
    place.write_text(text, encoding="utf-8")
