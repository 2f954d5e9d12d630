# SPDX-License-Identifier: BSD-2-Clause
"""A Debian archive for tests: packages, lists signed by a throw-away key, and a mirror that can be stale, slow or gone."""

import base64
import gzip
import hashlib
import re
import shutil
import struct
import subprocess
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

SHA512, RSA = 10, 1  # as OpenPGP numbers them
STALL = "stall"  # a mirror that sends half of a file and then nothing more


def crc24(data):
    """The checksum of OpenPGP's text form."""
    value = 0xB704CE
    for byte in data:
        value ^= byte << 16
        for _ in range(8):
            value = value << 1 ^ (0x1864CFB if value & 0x800000 else 0)
    return value & 0xFFFFFF


def packet(tag, body):
    """A packet of OpenPGP."""
    return bytes([0x80 | tag << 2 | 2]) + struct.pack(">I", len(body)) + body


def number(value):
    """A number of OpenPGP."""
    return struct.pack(">H", value.bit_length()) + value.to_bytes((value.bit_length() + 7) // 8, "big")


class Key:
    """An OpenPGP key, made and used with openssl: gpg is not among what the tests need."""

    def __init__(self, folder):
        self.secret = folder / "key.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.secret, "2048"], check=True, capture_output=True)
        result = subprocess.run(["openssl", "rsa", "-in", self.secret, "-noout", "-modulus"], check=True, capture_output=True, text=True)
        modulus = int(result.stdout.strip().split("=")[1], 16)
        made = int(time.time()) - 86400
        self.public = struct.pack(">BIB", 4, made, RSA) + number(modulus) + number(65537)
        self.fingerprint = hashlib.sha1(b"\x99" + struct.pack(">H", len(self.public)) + self.public).digest()
        name = b"Test <test@example.org>"
        about = b"\x99" + struct.pack(">H", len(self.public)) + self.public + b"\xb4" + struct.pack(">I", len(name)) + name
        self.keyring = folder / "keyring.gpg"
        self.keyring.write_bytes(packet(6, self.public) + packet(13, name) + self.signature(0x13, about, made, b"\x02\x1b\x03"))

    def signature(self, kind, data, when, more=b""):
        """A signature packet over data."""
        hashed = b"\x05\x02" + struct.pack(">I", when) + more + b"\x16\x21\x04" + self.fingerprint
        head = bytes([4, kind, RSA, SHA512]) + struct.pack(">H", len(hashed)) + hashed
        whole = data + head + b"\x04\xff" + struct.pack(">I", len(head))
        command = ["openssl", "dgst", "-sha512", "-sign", self.secret]
        signed = subprocess.run(command, input=whole, check=True, capture_output=True).stdout
        others = b"\x09\x10" + self.fingerprint[-8:]
        start = hashlib.sha512(whole).digest()[:2]
        return packet(2, head + struct.pack(">H", len(others)) + others + start + number(int.from_bytes(signed, "big")))

    def sign(self, text):
        """The text with a signature around it, as InRelease has it."""
        lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
        signed = self.signature(0x01, "\r\n".join(lines).encode(), int(time.time()))
        armour = base64.encodebytes(signed).decode() + "=" + base64.b64encode(crc24(signed).to_bytes(3, "big")).decode()
        return (
            "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n"
            + "\n".join(lines)
            + f"\n-----BEGIN PGP SIGNATURE-----\n\n{armour}\n-----END PGP SIGNATURE-----\n"
        )


class Archive:
    """An archive below a folder; `publish` writes the lists of what has been made."""

    def __init__(self, folder, key):
        self.folder, self.key = folder, key
        self.suites = {}  # suite: [paths of packages]
        (folder / "pool").mkdir(parents=True, exist_ok=True)

    def copy(self, folder):
        """The same archive in another folder."""
        shutil.copytree(self.folder, folder)
        archive = Archive(folder, self.key)
        archive.suites = {suite: [folder / path.relative_to(self.folder) for path in paths] for suite, paths in self.suites.items()}
        return archive

    def make(self, suite, name, version, files=None, depends="", source=""):
        """A binary package in the pool and in a suite; by default it has a file with its version."""
        tree = self.folder / "work" / name
        shutil.rmtree(tree, ignore_errors=True)
        for path, content in (files if files is not None else {f"usr/share/{name}/version": version.encode()}).items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(content)
        (tree / "DEBIAN").mkdir(parents=True)
        lines = [f"Package: {name}", f"Version: {version}", "Architecture: amd64", "Maintainer: none <none@example.org>"]
        lines += [*([f"Depends: {depends}"] if depends else []), "Description: test", ""]
        (tree / "DEBIAN" / "control").write_text("\n".join(lines))
        path = self.folder / "pool" / f"{name}_{re.sub('[^0-9a-z.-]', '_', version)}_amd64.deb"
        subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", tree, path], check=True, capture_output=True)
        self.suites.setdefault(suite, []).append(path)
        return path

    def publish(self, signed=True):
        """Writes the lists of all suites. That of binary-all is stale, as it is on some mirrors for hours."""
        for suite, packages in self.suites.items():
            entries = []
            for path in packages:
                data = path.read_bytes()
                control = subprocess.run(["dpkg-deb", "-f", path], check=True, capture_output=True, text=True).stdout.strip()
                entries.append(f"{control}\nFilename: pool/{path.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n")
            folder, sums = self.folder / "dists" / suite, []
            text = "\n".join(entries).encode()
            for place in ("main/binary-amd64/Packages", "main/binary-all/Packages"):
                for name, data in ((place, text), (f"{place}.gz", gzip.compress(text))):
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(data if "binary-all" not in name else b"stale")
                    sums.append(f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}\n")
            release = (
                f"Suite: {suite}\nCodename: {suite}\nArchitectures: all amd64\nNo-Support-for-Architecture-all: Packages\n"
                f"Components: main\nDate: {formatdate(usegmt=True).replace('GMT', 'UTC')}\nSHA256:\n{''.join(sums)}"
            )
            (folder / "Release").write_text(release)
            (folder / "InRelease").unlink(missing_ok=True)
            if signed:
                (folder / "InRelease").write_text(self.key.sign(release))


class Mirror:
    """Serves a folder by HTTP. Requests that `odd` names get something else: {part of a path:
    bytes, a status or STALL}."""

    def __init__(self, folder):
        self.folder, self.odd, self.requests, self.ended = Path(folder), {}, [], threading.Event()
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            """Answers one request per connection."""

            def do_GET(self):
                mirror.requests.append(self.path)
                found = next((what for part, what in mirror.odd.items() if part in self.path), None)
                path = mirror.folder / unquote(self.path.lstrip("/"))
                data = found if isinstance(found, bytes) else path.read_bytes() if path.is_file() else None
                if isinstance(found, int) or data is None:
                    self.send_error(found if isinstance(found, int) else 404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.answer(data, found)

            def answer(self, data, how):
                """Sends the contents, whole or as the mirror is."""
                try:
                    self.wfile.write(data if how != STALL else data[: len(data) // 2])
                    if how == STALL:
                        mirror.ended.wait(60)
                except OSError:
                    pass

            def log_message(self, format, *args):
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/debian"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def close(self):
        """The mirror is gone."""
        if not self.ended.is_set():
            self.ended.set()
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()
