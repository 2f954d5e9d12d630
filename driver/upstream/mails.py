# SPDX-License-Identifier: GPL-2.0-only
"""A series as mails, by git itself: `git am` takes them, `git send-email` sends them. The same series gives the same bytes."""

import os
import subprocess
import tempfile
from pathlib import Path

from driver.upstream import SeriesError
from driver.upstream.series import Person


def git(folder, *arguments, date="", person=None):
    """Output of git. With a date and a person it does not depend on the user's settings. Raises
    SeriesError."""
    env = {**os.environ, "LC_ALL": "C"}
    if person:
        env = {name: value for name, value in env.items() if not name.startswith("GIT_")}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for who in ("GIT_AUTHOR", "GIT_COMMITTER"):
            env |= {f"{who}_NAME": person.name, f"{who}_EMAIL": person.email, f"{who}_DATE": date}
    done = subprocess.run(["git", *map(str, arguments)], cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SeriesError(f"git {arguments[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return done.stdout


def sender(folder):
    """The `Person` of git's settings in a folder. Raises SeriesError."""
    found = {}
    for name in ("user.name", "user.email"):
        try:
            found[name] = git(folder, "config", name).strip()
        except (SeriesError, IndexError):
            found[name] = ""
        if not found[name]:
            raise SeriesError(f"git knows no {name}, which the mails are signed off with: git config {name} ...")
    return Person(found["user.name"], found["user.email"])


def date_of(driver):
    """The date of the latest commit of the driver's sources, which all patches have. Raises SeriesError."""
    try:
        date = git(driver, "log", "-1", "--format=%cI", "--", ".").strip()
    except SeriesError:
        date = ""
    if not date:
        raise SeriesError(f"{driver} is in no git repository: the patches have the date of its latest commit")
    return date


def write(everything, date, out):
    """Writes each series to a folder of its own below `out`, instead of mails that are there: {folder's name: paths of its mails}."""
    out = Path(out)
    with tempfile.TemporaryDirectory() as folder:
        options = {"date": date, "person": everything.person}
        folder, kernel = Path(folder), everything.kernel
        git(folder, "init", "-q", "-b", "series", **options)
        for path in {path for patch in everything.patches for path in patch.files}:
            if (kernel.tree / path).exists():
                place(folder, path, kernel.text(path))
        git(folder, "add", "-A", "-f", **options)
        git(folder, "commit", "-q", "--allow-empty", "-m", f"Linux {kernel.name}", **options)
        return {series.folder: write_one(series, folder, out / series.folder, options) for series in everything.series}


def write_one(series, repository, out, options):
    """Commits the patches of a series, and writes 0000-cover-letter.patch and a mail for each: their paths."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("[0-9][0-9][0-9][0-9]-*.patch"):
        old.unlink()
    for patch in series.patches:
        for path, text in patch.files.items():
            place(repository, path, text)
        git(repository, "add", "-A", "-f", **options)
        git(repository, "commit", "-q", "-s", "-m", patch.subject, "-m", patch.text, **options)
    people = [*(f"--to={one}" for one in series.to), *(f"--cc={one}" for one in series.cc)]
    git(repository, "format-patch", "-q", "-n", "--cover-letter", "--zero-commit", "--no-signature", "--full-index", "-M", *people,
        f"--subject-prefix={'RFC PATCH' if series.rfc else 'PATCH'}", "-o", out.resolve(), f"HEAD~{len(series.patches)}..",
        **options)  # fmt: skip
    found = sorted(out.glob("[0-9][0-9][0-9][0-9]-*.patch"))
    if len(found) != len(series.patches) + 1:
        raise SeriesError(f"git format-patch wrote {len(found)} files for {len(series.patches)} patches")
    cover = found[0].read_text(encoding="utf-8")
    cover = cover.replace("*** SUBJECT HERE ***", series.subject).replace("*** BLURB HERE ***", series.text)
    found[0].write_text(cover, encoding="utf-8")
    return found


def place(folder, path, text):
    """Writes a file below a folder; None takes it away."""
    target = folder / path
    if text is None:
        target.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
