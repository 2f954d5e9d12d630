#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Prepares this tree: system packages, .venv, pinned Python packages, tools under their plain names. Run through `make setup`.
#   scripts/setup.sh demo|test|boards     each includes the ones before it; nothing is done twice
set -eu

need=${1:-boards}
case $need in demo|test|boards) ;; *) echo "usage: $0 demo|test|boards" >&2; exit 2;; esac
root=$(cd "$(dirname "$0")/.." && pwd -P)
venv=$root/.venv
: "${HOME:=$(getent passwd "$(id -u)" | cut -d: -f6)}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/litepulse

# The Makefile puts .venv/bin first, but .venv must not be made from itself.
PATH=$(printf '%s' "$PATH" | tr ':' '\n' | grep -Fvx "$venv/bin" | tr '\n' ':' | sed 's/:$//')

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# make, which Verilator's builds use, cannot handle these in a path, and quoting does not help.
case $root in
    *[[:space:]\$\#:\;\"\'\`\\\(\)\&\|\*\?\[\]\<\>~%=]*)
        die "the path $root holds a space or another character that make and Verilator cannot handle; move the tree or clone" \
            "it elsewhere";;
esac

# --- quick way out: everything as it was left by the last run -----------------------------------------------------------------
fingerprint() {
    cat "$root/requirements/"*.txt "$root/pyproject.toml" "$root/scripts/setup.sh" "$root/scripts/install_tools.py" \
        "$root/scripts/yowasp_tool.py"
    printf '%s\n' "$root" "$cache"
}
key=$(fingerprint | cksum)
have() { [ "$(cat "$venv/.litepulse-$1" 2>/dev/null)" = "$key" ]; }
# Whoever empties the cache gets it filled here, once, not by many tests at a time.
warm() { [ "$need" = demo ] || ls "$cache/yowasp/yosys-"* >/dev/null 2>&1; }
for step in demo test boards; do
    if have "$step" && warm && [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        case "$need-$step" in demo-*|test-test|test-boards|boards-boards) exit 0;; esac
    fi
done

# --- the system ---------------------------------------------------------------------------------------------------------------
system=$(uname -s)-$(uname -m)
[ "$system" = Linux-x86_64 ] || say "this is $system; tried on Linux-x86_64 only: some pinned packages may not exist for it"

missing='' missing_optional=''
want() { case " $missing " in *" $1 "*) ;; *) missing="$missing $1";; esac; }
program() { command -v "$1" >/dev/null 2>&1 || want "$2"; }
header() { printf '#include <%s>\n' "$1" | ${CXX:-g++} -E -x c++ - >/dev/null 2>&1 || want "$2"; }

usable_python() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1; }
find_python() {
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if usable_python "$candidate"; then command -v "$candidate"; return 0; fi
    done
    return 1
}
# cocotb loads Python into the simulator, which takes its shared library; Debian packages that apart from the interpreter.
shared_python() {
    "$1" -c 'import ctypes, os, sys, sysconfig
name = "libpython%d.%d.so.1.0" % sys.version_info[:2]
for path in (os.path.join(sysconfig.get_config_var("LIBDIR") or "", name), name):
    try:
        ctypes.CDLL(path)
        sys.exit(0)
    except OSError:
        pass
sys.exit(1)' >/dev/null 2>&1
}

# Debian 12 and Ubuntu 24.04 have one of these, Debian 13 the other.
abc_package() {
    for package in berkeley-abc yosys-abc; do
        if apt-cache show "$package" >/dev/null 2>&1; then printf '%s' "$package"; return; fi
    done
    # there are no package lists yet
    case $(. /etc/os-release 2>/dev/null && printf '%s' "${VERSION_CODENAME:-}") in
        bookworm|jammy|noble) printf 'berkeley-abc';;
        *) printf 'yosys-abc';;
    esac
}

look() {
    missing='' missing_optional=''
    python=$(find_python) || python=''
    if [ -z "$python" ]; then
        want python3
        want python3-venv
    else
        "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || want python3-venv
    fi
    program g++ g++
    program make make
    program perl perl
    if [ "$need" != demo ]; then
        program git git
        program iverilog iverilog
        command -v berkeley-abc >/dev/null 2>&1 || program yosys-abc "$(abc_package)"
        program sigrok-cli sigrok-cli
        # Linux: kernels, a C library and a shell for two CPUs, the driver's checks
        program riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu
        program or1k-elf-gcc gcc-or1k-elf
        program dtc device-tree-compiler
        program flex flex
        program bison bison
        program bc bc
        program cpio cpio
        program rsync rsync
        program xz xz-utils
        program openssl openssl
        program sparse sparse
        program kmod kmod
        program qemu-system-x86_64 qemu-system-x86
        # packages of other suites of Debian: scripts/debian_package.py
        program dpkg-source dpkg-dev
        program gpgv gpgv
        [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || want debian-archive-keyring
        header lz4.h liblz4-dev
        header zlib.h zlib1g-dev
        if [ -n "$python" ] && ! shared_python "$python"; then
            want "libpython$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
        fi
    fi
    command -v ccache >/dev/null 2>&1 || missing_optional=' ccache'
    # The demo's independent witness; the tests cannot do without.
    [ "$need" != demo ] || command -v sigrok-cli >/dev/null 2>&1 || missing_optional="$missing_optional sigrok-cli"
}

install_packages() {
    command="apt-get install -y --no-install-recommends$missing$missing_optional"
    if ! command -v apt-get >/dev/null 2>&1; then
        [ -n "$missing" ] || return 0
        die "missing (by their Debian names):$missing. There is no apt-get here: install them your system's way, then run this" \
            "again"
    fi
    prefix=''
    if [ "$(id -u)" != 0 ]; then
        if [ -z "$missing" ]; then
            say "not installed, and not necessary:$missing_optional (to have it: sudo apt-get install$missing_optional)"
            return 0
        fi
        if [ ! -t 0 ] || ! command -v sudo >/dev/null 2>&1; then
            die "these packages are missing:$missing. As root, run: apt-get update && $command"
        fi
        printf 'setup: packages are missing. Run "sudo %s"? [Y/n] ' "$command"
        read -r answer || answer=n
        case $answer in ''|y|Y|yes) prefix=sudo;; *) die "nothing installed; missing:$missing";; esac
    fi
    say "installing system packages:$missing$missing_optional"
    export DEBIAN_FRONTEND=noninteractive
    if ! $prefix $command </dev/null >"$log" 2>&1; then
        # Most often the package lists are absent or old.
        $prefix apt-get update </dev/null >>"$log" 2>&1 && $prefix $command </dev/null >>"$log" 2>&1 ||
            { tail -n 15 "$log" >&2; die "apt-get failed (above, and in $log); to try by hand: $command"; }
    fi
}

mkdir -p "$root/build" "$cache"
log=$root/build/setup-apt.log
look
if [ -n "$missing$missing_optional" ]; then
    install_packages
    look
    [ -z "$missing" ] || die "still missing after the installation:$missing"
fi
[ -n "$python" ] || die "Python 3.11, 3.12 or 3.13 is needed"

# --- .venv --------------------------------------------------------------------------------------------------------------------
# Two at once would trample on each other; the second waits.
if command -v flock >/dev/null 2>&1 && [ "${LITEPULSE_SETUP_LOCKED:-}" != 1 ]; then
    LITEPULSE_SETUP_LOCKED=1 exec flock "$root/.venv.lock" "$0" "$need"
fi

# A tree that was moved or copied has scripts that name the old place.
if [ -e "$venv" ] && { ! usable_python "$venv/bin/python" || [ "$(cat "$venv/.litepulse-root" 2>/dev/null)" != "$root" ]; }; then
    say "making .venv anew (the old one is incomplete, for another place or another Python)"
    rm -rf "$venv"
fi
if [ ! -e "$venv" ]; then
    say "making .venv with $("$python" --version) ($python)"
    "$python" -m venv "$venv"
    printf '%s\n' "$root" >"$venv/.litepulse-root"
fi
rm -f "$venv"/.litepulse-demo "$venv"/.litepulse-test "$venv"/.litepulse-boards

pip() { "$venv/bin/python" -m pip --disable-pip-version-check "$@"; }
log=$root/build/setup-pip.log
say "installing the pinned Python packages of requirements/$need.txt (a minute or so the first time)"
pip install --no-input -r "$root/requirements/$need.txt" >"$log" 2>&1 ||
    { tail -n 15 "$log" >&2; die "pip failed (above, and in $log)"; }
pip install --no-input --no-deps --no-build-isolation -e "$root" >>"$log" 2>&1 ||
    { tail -n 15 "$log" >&2; die "installing the litepulse command failed (above, and in $log)"; }

# --- tools --------------------------------------------------------------------------------------------------------------------
"$venv/bin/python" "$root/scripts/install_tools.py" "$cache"

# What is in place also serves the smaller needs.
case $need in boards) steps='demo test boards';; test) steps='demo test';; *) steps=demo;; esac
for step in $steps; do printf '%s\n' "$key" >"$venv/.litepulse-$step"; done
say "ready: .venv/bin/litepulse"
