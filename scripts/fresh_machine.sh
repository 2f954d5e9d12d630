#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# As root: how long commands take on a minimal Debian, from nothing and again. Needs debootstrap, git, util-linux and python3.
#   RELEASE=trixie COMMANDS="demo test" scripts/fresh_machine.sh   targets of make, each run twice (default: bookworm)
#   scripts/fresh_machine.sh system FOLDER                         only makes the minimal Debian of RELEASE, in FOLDER
#   scripts/fresh_machine.sh enter FOLDER COMMAND...               runs a command in it
# The machine gets this host's Debian mirror, name resolution, proxies, certificates and pip index, and a clone of HEAD.
set -eu
PATH=$PATH:/usr/sbin:/sbin
root=$(cd "$(dirname "$0")/.." && pwd -P) self=$(readlink -f "$0")
release=${RELEASE:-bookworm} commands=${COMMANDS:-demo test}
[ "$(id -u)" = 0 ] || { echo "fresh-machine: only root can make a machine" >&2; exit 2; }
# What the host's apt says: lines `KIND VALUE...`.
host_apt() { (cd "$root" && python3 -c "from scripts.debian_apt import $1; print($2)"); }
# The mounts are the command's own: they end with it. So does the command with this script.
inside() { setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --uts --ipc -- "$@"; }

case ${1:-} in
enter)
    machine=$2; shift 2
    mount -t proc proc "$machine/proc"
    mount -t sysfs -o ro sysfs "$machine/sys"
    mount --rbind /dev "$machine/dev"
    mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$machine/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$machine/dev/shm"
    hostname fresh
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE NODE_EXTRA_CA_CERTS; do
        eval "value=\${$name:-}"
        [ -z "$value" ] || set -- "$name=$value" "$@"
    done
    exec chroot "$machine" env -i HOME=/root USER=root CI=true PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@";;
system)
    machine=$2
    address=$(host_apt mirror "mirror('$release')")
    inside debootstrap --variant=minbase --include=git,make,ca-certificates "$release" "$machine" "$address" >&2
    cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
    echo "127.0.1.1 fresh" >>"$machine/etc/hosts"
    host_apt network_settings "*network_settings(), sep='\n'" >"$machine/etc/apt/apt.conf.d/90network"
    { echo "[global]"; python3 -m pip config list 2>/dev/null | awk -F "[.=']+" '
        $2 ~ /^(index-url|extra-index-url|trusted-host|cert|proxy|timeout|default-timeout|retries)$/ && !seen[$2]++ {
            value = $0; sub(/^[^=]*=/, "", value); gsub(/\047/, "", value); print $2 " = " value }'; } >"$machine/etc/pip.conf"
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp {} "$machine/usr/local/share/ca-certificates/" \; 2>/dev/null || true
    for file in "${SSL_CERT_FILE:-}" "${NODE_EXTRA_CA_CERTS:-}" "$(sed -n 's/^cert = //p' "$machine/etc/pip.conf")"; do
        [ ! -f "$file" ] || [ -e "$machine$file" ] || install -D -m 644 "$file" "$machine$file"
    done
    inside "$self" enter "$machine" update-ca-certificates >&2
    rm -f "$machine/etc/apt/sources.list"
    for suite in "$release" "$release-updates" "$release-security"; do
        address=$(host_apt mirror "mirror('$suite')")
        inside "$self" enter "$machine" /usr/lib/apt/apt-helper download-file "$address/dists/$suite/InRelease" /tmp/InRelease >/dev/null ||
            { echo "fresh-machine: $address has no $suite: the machine goes without" >&2; continue; }
        echo "deb $address $suite main" >>"$machine/etc/apt/sources.list"
    done
    rm -rf "$machine"/var/lib/apt/lists/* "$machine/tmp/InRelease" "$machine"/var/cache/apt/archives/*.deb;;
*)
    machine=$(mktemp -d)
    chmod 755 "$machine"
    trap 'rm -rf --one-file-system "$machine"' EXIT
    trap 'exit 130' INT TERM
    "$self" system "$machine"
    git -C "$root" bundle create -q "$machine/srv/litepulse.bundle" HEAD
    inside "$self" enter "$machine" git clone -q /srv/litepulse.bundle /srv/litepulse
    for target in $commands; do
        for run in first again; do
            began=$(date +%s) status=0
            inside "$self" enter "$machine" make -C /srv/litepulse "$target" </dev/null || status=$?
            echo "fresh-machine: $release, make $target, $run: $(($(date +%s) - began)) s, status $status"
            [ "$status" = 0 ] || exit "$status"
        done
    done;;
esac
