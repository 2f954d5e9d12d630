#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Prepares this tree: system packages, .venv, locked Python packages, tools under their plain names. Run through `make setup`.
#   scripts/setup.sh demo|test|boards|docs|all   test, boards and docs include demo, all includes everything; nothing is done twice
set -eu

need=${1:-all}
case $need in demo|test|boards|docs|all) ;; *) echo "usage: $0 demo|test|boards|docs|all" >&2; exit 2;; esac
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
# An emptied cache is filled here, once, not by many tests at a time.
warm() { case $need in demo|docs) return 0;; esac; ls "$cache/yowasp/yosys-"* >/dev/null 2>&1; }
if have "$need" && warm && [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' 2>/dev/null; then exit 0; fi

# --- the system ---------------------------------------------------------------------------------------------------------------
system=$(uname -s)-$(uname -m)
[ "$system" = Linux-x86_64 ] || say "this is $system; tried on Linux-x86_64 only: some pinned packages may not exist for it"

missing='' missing_optional=''

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

python_header() { "$1" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; }

# Is what a line of requirements/system.txt requires there? Without Python its parts cannot be
# checked: a second look follows.
is_there() {
    case $1 in
        program:*)
            for name in $(printf '%s' "${1#*:}" | tr , ' '); do
                if command -v "$name" >/dev/null 2>&1; then return 0; fi
            done
            return 1;;
        header:*) printf '#include <%s>\n' "${1#*:}" | ${CXX:-g++} -E -x c++ - >/dev/null 2>&1;;
        perl:*) perl "-M${1#*:}" -e 1 >/dev/null 2>&1;;
        file:*) [ -e "${1#*:}" ];;
        python:interpreter) [ -n "$python" ];;
        python:venv) [ -n "$python" ] && "$python" -c 'import ensurepip, venv' >/dev/null 2>&1;;
        python:library) [ -z "$python" ] || shared_python "$python";;
        python:header) [ -z "$python" ] || python_header "$python";;
        *) die "requirements/system.txt: there is no check $1";;
    esac
}
# The package's name in this release of Debian.
package_name() {
    case $1 in
        *@*) printf '%s' "$1" | sed "s/@/$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')/";;
        *'|'*)
            for name in $(printf '%s' "$1" | tr '|' ' '); do
                if apt-cache show "$name" >/dev/null 2>&1; then break; fi
            done
            printf '%s' "$name";;
        *) printf '%s' "$1";;
    esac
}

case $need in all) covered='demo test boards docs all';; demo) covered=demo;; *) covered="demo $need";; esac
look() {
    missing='' missing_optional=''
    python=$(find_python) || python=''
    while read -r steps check package _; do
        case $steps in ''|'#'*) continue;; esac
        wanted=no
        for step in $(printf '%s' "$steps" | tr , ' '); do
            case " $covered " in
                *" $step "*) wanted=yes;;
                *) [ "$step-$wanted" != extra-no ] || wanted=extra;;
            esac
        done
        if [ $wanted = no ] || is_there "$check"; then continue; fi
        case $wanted in
            yes) missing="$missing $(package_name "$package")";;
            extra) missing_optional="$missing_optional $(package_name "$package")";;
        esac
    done <"$root/requirements/system.txt"
}

# apt-get with its output in the log. apt itself waits for dpkg's lock only, not for those of its lists and archives.
apt() {
    tries=0
    until LC_ALL=C $prefix apt-get -o DPkg::Lock::Timeout=300 "$@" </dev/null >"$log.last" 2>&1; do
        cat "$log.last" >>"$log"
        if ! grep -q 'Could not get lock' "$log.last" || [ $tries = 60 ]; then return 1; fi
        [ $tries != 0 ] || say "another program is installing packages: waiting for it, at most five minutes"
        tries=$((tries + 1))
        sleep 5
    done
    cat "$log.last" >>"$log"
}

apt_update() {
    say "fetching apt's package lists (about 10 MB, kept in /var/lib/apt/lists)"
    apt update
}
# "12 packages, 34.5 MB", dependencies included; nothing if apt does not know.
apt_plan() {
    # shellcheck disable=SC2086  # names of packages, without blanks
    LC_ALL=C apt-get -qq -o Debug::NoLocking=1 --print-uris install --no-install-recommends $missing$missing_optional 2>/dev/null |
        awk '$3 > 0 { n++; bytes += $3 } END { if (n) printf "%d packages, %.1f MB", n, bytes / 1e6 }'
}

install_packages() {
    prefix=''
    if ! command -v apt-get >/dev/null 2>&1; then
        [ -n "$missing" ] || return 0
        die "missing (by their Debian names):$missing. There is no apt-get here: install them your system's way, then run this" \
            "again"
    fi
    if [ "$(id -u)" != 0 ]; then
        if [ -z "$missing" ]; then
            say "not installed, and not necessary:$missing_optional (to have it: sudo apt-get install$missing_optional)"
            return 0
        fi
        command="apt-get install -y --no-install-recommends$missing$missing_optional"
        if [ ! -t 0 ] || ! command -v sudo >/dev/null 2>&1; then
            die "these packages are missing:$missing. As root, run: apt-get update && $command"
        fi
        plan=$(apt_plan)
        printf 'setup: packages are missing%s. Run "sudo %s"? [Y/n] ' "${plan:+ (to download: $plan)}" "$command"
        read -r answer || answer=n
        case $answer in ''|y|Y|yes) prefix=sudo;; *) die "nothing installed; missing:$missing";; esac
    fi
    : >"$log"
    plan=$(apt_plan)
    if [ -z "$plan" ]; then  # most often there are no package lists yet; with them, names may differ
        apt_update || true
        look
        plan=$(apt_plan)
    fi
    command="install -y --no-install-recommends$missing$missing_optional"
    say "installing system packages${plan:+ (to download: $plan)}:$missing$missing_optional"
    export DEBIAN_FRONTEND=noninteractive
    # A second time, because most often the package lists are old.
    # shellcheck disable=SC2086  # a command with its words
    if ! apt $command && ! { apt_update && apt $command; }; then
        tail -n 15 "$log" >&2
        die "apt-get failed (above, and in $log); to try by hand: apt-get $command"
    fi
}

mkdir -p "$root/build" "$cache"
log=$root/build/setup-apt.log
look
if [ -n "$missing$missing_optional" ]; then
    before=$missing
    install_packages
    look
    # What belongs to Python is known only now, if there was none.
    if [ -n "$missing" ] && [ "$missing" != "$before" ]; then install_packages; look; fi
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
    say "making a new .venv (the old one is incomplete, for another place or another Python)"
    rm -rf "$venv"
fi
if [ ! -e "$venv" ]; then
    say "making .venv with $("$python" --version) ($python)"
    "$python" -m venv "$venv"
    printf '%s\n' "$root" >"$venv/.litepulse-root"
fi
for step in $covered; do rm -f "$venv/.litepulse-$step"; done

# What builds a package must be there before it, and swig on PATH.
case $need in demo|docs) locks=$need;; *) locks="build $need";; esac
pip() { PATH=$venv/bin:$PATH "$venv/bin/python" -m pip --disable-pip-version-check "$@"; }
log=$root/build/setup-pip.log
: >"$log"
# shellcheck disable=SC2086  # names without blanks
size=$("$venv/bin/python" "$root/scripts/lock.py" --missing $locks)
say "installing the Python packages of requirements/$need.txt into .venv (to download: $size; pip keeps copies in its cache)"
for lock in $locks; do
    pip install --no-input --no-deps --no-build-isolation --use-pep517 --require-hashes -r "$root/requirements/$lock.txt" >>"$log" 2>&1 ||
        { tail -n 15 "$log" >&2; die "pip failed (above, and in $log)"; }
done
pip install --no-input --no-deps --no-build-isolation -e "$root" >>"$log" 2>&1 ||
    { tail -n 15 "$log" >&2; die "installing the litepulse command failed (above, and in $log)"; }

# --- tools --------------------------------------------------------------------------------------------------------------------
"$venv/bin/python" "$root/scripts/install_tools.py" "$cache"

# What is in place also serves the smaller needs.
for step in $covered; do printf '%s\n' "$key" >"$venv/.litepulse-$step"; done
say "ready: .venv/bin/litepulse"
