# SPDX-License-Identifier: BSD-2-Clause
"""Pages in headless Chromium: what a script says that looks at them, and pictures of them."""

import html
import json
import os
import re
import shutil
import subprocess

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# Nothing is resolved: a page that asks for anything from outside has an error.
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND")
SECONDS = 120
# Chromium makes no window as narrow as a telephone, so the page is shown in a frame.
FRAME = '<!DOCTYPE html><body style="margin:0"><iframe src="{page}" style="border:0;width:{width}px;height:{height}px"></iframe>{script}'
LISTEN = """<pre id="output"></pre><script>
addEventListener("message", event => { document.getElementById("output").textContent = JSON.stringify(event.data); });
</script>"""
CATCH = """<script>window.ERRORS = []; addEventListener("error", event => ERRORS.push(event.message || "a file cannot be loaded"), true);
addEventListener("unhandledrejection", event => ERRORS.push(String(event.reason)));</script>"""
REPORT = """<script>addEventListener("load", () => setTimeout(() => parent.postMessage({{ errors: ERRORS, found: ({look})() }}, "*"), 500));
</script>"""


def chromium():
    """Path of the browser; None if there is none."""
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


def run(folder, page, width, height, dark, *words):
    """What Chromium prints that shows the page in a frame of this size."""
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(page=html.escape(page.name), width=width, height=height, script=LISTEN), encoding="utf-8")
    command = [
        chromium(),
        *OPTIONS,
        f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--virtual-time-budget=20000",
        f"--window-size={max(width, 500)},{height}",
        *words,
        frame.as_uri(),
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        env={**os.environ, "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
    )
    return done.stdout


def look_at(text, look, folder, width=1200, height=900, dark=False):
    """(errors of the page, what the JavaScript function `look` returned there).

    text: of the page; folder: an empty one to work in
    """
    page = folder / "page.html"
    text = text.replace("<head>", f"<head>{CATCH}", 1)
    page.write_text(text.replace("</body>", f"{REPORT.format(look=look)}</body>"), encoding="utf-8")
    output = re.search(r'<pre id="output">(.*?)</pre>', run(folder, page, width, height, dark, "--dump-dom"), re.DOTALL)
    assert output and output[1], "the page did not get as far as to be looked at"
    answer = json.loads(html.unescape(output[1]))
    return answer["errors"], answer["found"]


def screenshot(text, picture, folder, width=1200, height=900, dark=False):
    """A picture of the top of the page."""
    page = folder / "page.html"
    page.write_text(text, encoding="utf-8")
    run(folder, page, width, height, dark, f"--screenshot={picture}")
