# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Python for the guest, with no more of its library than what a test imports: all of it would take as long to unpack as a test."""

import os
import subprocess
from pathlib import Path

from litex_soc.build_cache import content_key
from scripts.debian_package import obtain
from sim.guest.builds import LINUX
from sim.pc.debian import needed

FORMAT = 6  # of what is made of Python
LISTED = '\nimport sys\nprint("\\n".join(m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)))\n'
# All that the command and the package import at any time, in functions too, as far as Debian's Python has it.
COMMAND = """
import ast, contextlib, encodings.ascii, encodings.utf_8, encodings.utf_8_sig, importlib, pathlib, pkgutil
import litepulse
names = set()
for module in pkgutil.walk_packages(litepulse.__path__, "litepulse."):
    for node in ast.walk(ast.parse(pathlib.Path(module.module_finder.find_spec(module.name).origin).read_text())):
        if isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    names |= {module.name} - {"litepulse.__main__"}
for name in sorted(names):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""


def libraries(tree, files):
    """{name: path below a tree} of all libraries that programs and libraries need."""
    found, wanted = {}, list(files)
    while wanted:
        for name in needed(wanted.pop()):
            if name not in found:
                found[name] = next(path for path in sorted(tree.rglob(name)) if path.is_file())
                wanted.append(found[name])
    return found


def python(name, imports, folders):
    """{name in the guest: path or bytes} of ./start, which is Python.

    name: of what is kept; imports: a program, all modules it imports are in the guest, compiled; folders: where it may import from besides
    Debian's Python, pyserial and python-can.
    """
    tree = obtain("python-pc").path
    (program,) = (path for path in (tree / "usr/bin").glob("python3.*") if not path.is_symlink())
    (home,) = (tree / "usr/lib").glob("python3.*")
    packages = tree / "usr/lib/python3/dist-packages"

    def make(folder):
        links = folder / "links"
        links.mkdir()
        all_of_it = libraries(tree, [program, *home.glob("lib-dynload/*.so")])
        for library, path in all_of_it.items():
            (links / library).symlink_to(path)
        command = [all_of_it["ld-linux-x86-64.so.2"], "--library-path", links, program, "-B", "-P", "-c"]
        env = {"PATH": os.defpath, "PYTHONHOME": str(tree / "usr"), "PYTHONPATH": ":".join(map(str, (*folders, packages)))}

        def run(code, *words):
            return subprocess.run([*command, code, *words], env=env, check=True, capture_output=True, text=True).stdout

        pairs = []
        for path in map(Path, sorted(set(run(imports + LISTED).split()))):
            target = folder / path.relative_to(next(top for top in (*folders, packages, home) if path.is_relative_to(top)))
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".py":
                pairs += [path, target.with_suffix(".pyc")]
            else:
                target.write_bytes(path.read_bytes())
        run("import py_compile, sys\nfor a, b in zip(sys.argv[1::2], sys.argv[2::2]): py_compile.compile(a, b, doraise=True)", *pairs)
        subprocess.run(["rm", "-r", links], check=True)

    sources = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    folder = LINUX.folder(f"pc-python-{name}", content_key(FORMAT, str(tree), imports, sources), make, "Python for the PC")
    files = {f"python/{path.relative_to(folder)}": path for path in folder.rglob("*") if path.is_file()}
    start = (
        "#!/bin/sh\nhere=$PWD\nexport PYTHONHOME=$here PYTHONPATH=$here/python:$here/python/lib-dynload PYTHONDONTWRITEBYTECODE=1\n"
        'exec libraries/ld-linux-x86-64.so.2 --library-path libraries ./program -S "$@"\n'
    )
    loaded = libraries(tree, [program, *folder.rglob("*.so")])
    return files | {f"libraries/{name}": path for name, path in loaded.items()} | {"program": program, "start": start.encode()}
