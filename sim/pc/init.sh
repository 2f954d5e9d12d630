#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# /init of the guest. The kernel speaks on the serial console; all else goes over a channel of its own, by which the rig sends what
# is to be run: a line with a size, then an archive of so many bytes. Its program `run` is executed, whatever that left behind is
# killed, "litepulse: exit STATUS" said (128 + signal when killed by one), and again.
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
mount -t tmpfs tmpfs /tmp
mount -t debugfs debugfs /sys/kernel/debug
export PATH=/bin HOME=/tmp TERM=linux
echo 8 >/proc/sys/kernel/printk
while read -r module; do
    insmod "/modules/$module" || echo "init: $module does not load" >/dev/kmsg
done </modules/order
port=
while [ -z "$port" ]; do
    for name in /sys/class/virtio-ports/*/name; do
        [ "$(cat "$name" 2>/dev/null)" = litepulse ] && port=/dev/$(basename "$(dirname "$name")")
    done
    [ -n "$port" ] || usleep 10000
done
exec 3<>"$port"
mkdir -p /tmp/files
cd /tmp/files || exit
echo "litepulse: ready" >&3
while :; do
    # Without somebody at the other end there is nothing to read.
    if ! read -r size <&3 || [ -z "$size" ]; then
        usleep 10000
        continue
    fi
    head -c "$size" <&3 | cpio -idmu 2>/dev/null
    ./run </dev/null >&3 2>&1 3>&-
    status=$?
    # What closing does to a driver belongs to the run.
    kill -9 -1
    wait
    echo "litepulse: the kernel has nothing more to say" >/dev/kmsg
    echo "litepulse: exit $status" >&3
done
