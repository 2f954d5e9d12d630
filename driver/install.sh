#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Installs what the Makefile beside has built, and removes it; called by it, with its variables in the environment.
#   install.sh check|install|uninstall|dkms|dkms-remove
# Exit status 2 and one line when something is missing or not allowed.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
kernel=${KERNEL:-$(uname -r)}
kdir=${KDIR:-/lib/modules/$kernel/build}
prefix=${DESTDIR:-}
udev=$prefix${UDEVDIR:-/etc/udev/rules.d}
modules=$prefix/lib/modules
units=$prefix${UNITDIR:-/etc/systemd/system}
names='litepulse.ko litepulse_uartbone.ko litepulse_lin.ko'
rules=70-litepulse.rules
attach_rules=71-litepulse-attach.rules
unit=litepulse-attach@.service
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$here/dkms.conf")
source=/usr/src/litepulse-$version
PATH=$PATH:/usr/sbin:/sbin

say() { printf 'litepulse: %s\n' "$*"; }
die() { printf 'litepulse: %s\n' "$*" >&2; exit 2; }

# Name of the package with the headers of the kernel.
headers_package() {
    ID='' ID_LIKE=''
    [ ! -r /etc/os-release ] || . /etc/os-release
    case " $ID $ID_LIKE " in
        *' debian '*|*' ubuntu '*) printf 'the package linux-headers-%s' "$kernel";;
        *' fedora '*|*' rhel '*) printf 'the package kernel-devel-%s' "$kernel";;
        *' suse '*|*' opensuse '*) printf 'the package kernel-default-devel';;
        *' arch '*) printf 'the package linux-headers';;
        *) printf 'the headers of this kernel';;
    esac
}

check() {
    major=${kernel%%.*}
    minor=${kernel#*.}
    minor=${minor%%[!0-9]*}
    case $major-$minor in *[!0-9-]*|-*|*-) die "$kernel is no release of a kernel";; esac
    [ "$major" -gt 6 ] || { [ "$major" = 6 ] && [ "$minor" -ge 1 ]; } || die "kernel $kernel is too old: 6.1 is the oldest that will do"
    [ -e "$kdir/Makefile" ] || die "no headers of kernel $kernel (there is no $kdir/Makefile): install $(headers_package)"
}

need_root() {
    [ -n "$prefix" ] || [ "$(id -u)" = 0 ] || die "this changes the system: run it as root (sudo make -C $here $1)"
}

secure_boot() {
    if command -v mokutil >/dev/null 2>&1; then
        mokutil --sb-state 2>/dev/null | grep -q 'SecureBoot enabled'
    else
        # four bytes of attributes, then the value
        value=$(od -An -t u1 -j 4 -N 1 /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c 2>/dev/null) &&
            [ "$value" -eq 1 ]
    fi
}

reload() {
    [ -z "$prefix" ] || return 0
    for release in "$@"; do depmod "$release"; done
    [ ! -e /run/udev/control ] || udevadm control --reload
    [ ! -d /run/systemd/system ] || systemctl daemon-reload
}

# The command that the service runs: LITEPULSE, or that of this source tree, or the one on PATH.
find_command() {
    command=${LITEPULSE:-$here/../.venv/bin/litepulse}
    [ -n "${LITEPULSE:-}" ] || [ -x "$command" ] || command=$(command -v litepulse) || command=''
    [ -n "$command" ] || die 'ATTACH=1: there is no command litepulse to attach boards with: make setup, or LITEPULSE=/path/of/litepulse'
    folder=$(cd "$(dirname "$command")" 2>/dev/null && pwd -P) || folder=$(dirname "$command")
    command=$folder/$(basename "$command")
    [ -x "$command" ] && [ -f "$command" ] || die "ATTACH=1: $command is no program"
    case $command in /*[!A-Za-z0-9/._+@-]*|[!/]*) die "ATTACH=1: systemd cannot run '$command': install the command elsewhere";; esac
    interpreter=$(sed -n '1s/^#! *\([^ ]*\).*/\1/p' "$command" | tr -d '\0')
    weak=$(writable_by_others "$command")
    [ -n "$weak" ] || [ -z "$interpreter" ] || weak=$(writable_by_others "$interpreter")
}

# "OWNER, who can change PATH", if somebody else than root can change a file, what it links to, or a folder above them.
writable_by_others() {
    for path in "$1" "$(readlink -f "$1")"; do
        while :; do
            described=$(stat -L -c '%U %a' "$path")
            mode=${described#* }
            [ "${described% *}" = root ] || { printf '%s, who can change %s' "${described% *}" "$path"; return; }
            case $mode in
                1777) ;;
                *[2367]?|*[2367]) printf 'others than root, who can change %s (mode %s)' "$path" "$mode"; return;;
            esac
            [ "$path" != / ] || break
            path=$(dirname "$path")
        done
    done
}

check_attach() {
    [ "${ATTACH:-0}" != 0 ] || return 0
    [ "$ATTACH" = 1 ] || die "ATTACH=$ATTACH: 1 attaches boards as they are plugged in, nothing else has a meaning"
    find_command
}

install_rules() {
    install -d "$udev"
    install -m 644 "$here/$rules" "$udev/$rules"
    say "installed $udev/$rules"
    [ "${ATTACH:-0}" = 1 ] || return 0
    install -m 644 "$here/$attach_rules" "$udev/$attach_rules"
    say "installed $udev/$attach_rules"
    install -d "$units"
    sed "s|@PROGRAM@|$command|" "$here/$unit" >"$units/.$unit"
    chmod 644 "$units/.$unit"
    mv "$units/.$unit" "$units/$unit"
    say "installed $units/$unit, which runs $command as root"
    [ -z "$weak" ] || say "so $weak, can do what root can: LITEPULSE= names another program"
}

install_module() {
    need_root install
    check_attach
    [ -e "$here/litepulse.ko" ] || die "litepulse.ko is not built: make -C $here"
    built=''
    for name in $names; do      # all but the first can be left out
        [ -e "$here/$name" ] || continue
        magic=$(modinfo -F vermagic "$here/$name")
        [ "${magic%% *}" = "$kernel" ] || die "$name is for kernel ${magic%% *}, not $kernel: make -C $here"
        built="$built $name"
    done
    [ -n "${SIGN_KEY:-}" ] || [ -z "${SIGN_CERT:-}" ] || die 'SIGN_CERT without SIGN_KEY'
    if [ -n "${SIGN_KEY:-}" ]; then
        [ -n "${SIGN_CERT:-}" ] || die 'SIGN_KEY without SIGN_CERT'
        [ -r "$SIGN_KEY" ] && [ -r "$SIGN_CERT" ] || die "cannot read $SIGN_KEY and $SIGN_CERT"
        [ -x "$kdir/scripts/sign-file" ] || die "the headers of kernel $kernel have no scripts/sign-file to sign with"
    fi
    folder=$modules/$kernel/updates
    install -d "$folder"
    trap 'rm -f "$folder"/.litepulse*.ko' EXIT
    for name in $built; do
        install -m 644 "$here/$name" "$folder/.$name"
        strip --strip-debug "$folder/.$name"
        [ -z "${SIGN_KEY:-}" ] || "$kdir/scripts/sign-file" sha256 "$SIGN_KEY" "$SIGN_CERT" "$folder/.$name"
    done
    for name in $built; do
        mv "$folder/.$name" "$folder/$name"
        say "installed $folder/$name"
    done
    trap - EXIT
    for name in $names; do
        [ -e "$here/$name" ] || rm -f "$folder/$name"   # of an earlier build
    done
    install_rules
    reload "$kernel"
    if secure_boot && [ -z "${SIGN_KEY:-}" ]; then
        say 'Secure Boot is on and the modules are not signed: the kernel will refuse them. docs/driver-install.md says how to sign them'
    fi
    if [ -z "$prefix" ] && [ -d /var/lib/dkms/litepulse ]; then
        say "DKMS has the driver, too: make -C $here dkms-remove, or uninstall, leaves only one"
    fi
}

uninstall() {
    need_root uninstall
    changed=''
    for found in "$modules"/*/updates/litepulse.ko* "$modules"/*/updates/litepulse_uartbone.ko* "$modules"/*/updates/litepulse_lin.ko*; do
        [ -e "$found" ] || continue
        rm "$found"
        say "removed $found"
        release=${found#"$modules"/}
        release=${release%%/*}
        case " $changed " in *" $release "*) ;; *) changed="$changed $release";; esac
    done
    # shellcheck disable=SC2086 # one word per kernel
    [ -z "$changed" ] || reload $changed
    remove_rules || [ -n "$changed" ] || say 'nothing of it is installed'
    if [ -z "$prefix" ]; then
        loaded=''
        for name in litepulse_lin litepulse_uartbone litepulse; do [ ! -d "/sys/module/$name" ] || loaded="$loaded $name"; done
        [ -z "$loaded" ] || say "still loaded: rmmod$loaded"
    fi
}

remove_rules() {
    removed=''
    for found in "$udev/$rules" "$udev/$attach_rules" "$units/$unit"; do
        [ -e "$found" ] || continue
        rm "$found"
        say "removed $found"
        removed=1
    done
    [ -n "$removed" ] || return 1
    reload
}

dkms_add() {
    need_root dkms
    check_attach
    if [ -z "$prefix" ]; then
        command -v dkms >/dev/null 2>&1 || die 'there is no dkms here: install the package dkms'
        check
        [ -z "$(dkms status litepulse)" ] || dkms_remove
    fi
    install -d "$prefix$source/uapi/linux"
    for file in "$here"/*.c "$here"/*.h "$here/Kbuild" "$here/Makefile" "$here/dkms.conf" "$here/$rules" "$here/$attach_rules" \
            "$here/$unit"; do
        case $file in *.mod.c) continue;; esac
        install -m 644 "$file" "$prefix$source/"
    done
    install -m 644 "$here"/uapi/linux/*.h "$prefix$source/uapi/linux/"
    install -m 755 "$here/install.sh" "$prefix$source/"
    say "installed $prefix$source"
    install_rules
    [ -z "$prefix" ] || return 0
    dkms install "litepulse/$version" -k "$kernel"
    reload
}

dkms_remove() {
    need_root dkms-remove
    if [ -z "$prefix" ] && command -v dkms >/dev/null 2>&1; then
        dkms status litepulse | sed -n 's|^litepulse[/, ]*\([^,: ]*\).*|\1|p' | sort -u | while read -r old; do
            dkms remove "litepulse/$old" --all
        done
    fi
    for found in "$prefix"/usr/src/litepulse-*; do
        [ -e "$found/dkms.conf" ] || continue
        rm -r "$found"
        say "removed $found"
    done
    remove_rules || true
}

case ${1:-} in
    check) check;;
    install) install_module;;
    uninstall) uninstall;;
    dkms) dkms_add;;
    dkms-remove) dkms_remove;;
    *) die 'usage: install.sh check|install|uninstall|dkms|dkms-remove';;
esac
