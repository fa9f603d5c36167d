# A virtual machine on the same drive, for file systems that this kernel lacks: Debian's kernel with its FAT driver.
#
#   program -> file system -> virtio disk -> qemu -> nbdkit: log filter -> rate filter -> sparse file in RAM
#
# Its root is a folder in memory with busybox and the programs asked for. qemu runs in software (TCG): a slow processor.
# shellcheck shell=bash disable=SC2154

kernel_package=linux-image-cloud-amd64
guest_memory_mib=192
nbdkit_pid='' guest_modules=(virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk failover
    net_failover virtio_net fat vfat nls_cp437 nls_ascii)

check_guest() {
    need qemu-system-x86_64 qemu-system-x86
    need cpio cpio
    need ldd libc-bin
    need apt-get apt
    need mkfs.fat dosfstools
    [ -x /bin/busybox ] || fail "'busybox' not found; install it, on Debian: apt-get install busybox-static"
    ! ldd /bin/busybox >/dev/null 2>&1 || fail "/bin/busybox is not the static one: apt-get install busybox-static"
    [ "$(uname -m)" = x86_64 ] || fail "the virtual machine is made for x86-64, not $(uname -m)"
}

new_fat16() {
    truncate -s "${drive_mib}M" "$work/disk.img"
    mkfs.fat -F 16 "$work/disk.img" >/dev/null
}

# $work/guest: the root of the machine, whose /workload is run there. $work/package: its kernel.
build_guest() { # WORKLOAD-SCRIPT PROGRAM...
    local root=$work/guest image modules library module program script=$1
    shift
    image=$(apt-cache depends "$kernel_package" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    [ -n "$image" ] || fail "apt knows no kernel image that $kernel_package depends on; try apt-get update"
    fetch_sources "$image"
    mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/mnt" "$root/tmp" "$root/modules"
    cp /bin/busybox "$root/bin/"
    for program in "$@"; do
        cp "$(command -v "$program")" "$root/bin/"
        for library in $(ldd "$(command -v "$program")" | grep -o '/[^ )]*'); do
            install -D "$library" "$root$library"
        done
    done
    modules=$(echo "$work/package/lib/modules/"*)
    for module in "${guest_modules[@]}"; do
        find "$modules" -name "$module.ko*" -exec cp {} "$root/modules/" \; -quit
    done
    cp "$script" "$root/workload"
    cat >"$root/init" <<END
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
ln -s /proc/self/fd /dev/fd
phase() { echo "@phase \$1"; }
phase mount
# Written data leaves memory after about a second, as from the cache of Windows; it must not fill the slow drive's queue.
echo 100 >/proc/sys/vm/dirty_expire_centisecs
echo 100 >/proc/sys/vm/dirty_writeback_centisecs
echo \$((4 << 20)) >/proc/sys/vm/dirty_background_bytes
echo \$((16 << 20)) >/proc/sys/vm/dirty_bytes
for module in ${guest_modules[*]}; do
    insmod /modules/\$module.ko || echo "no module \$module"
done
# Linux sends USB sticks, which have FAT most often, no more than this at once.
echo 120 >/sys/block/vda/queue/max_sectors_kb
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
(set -e; . /workload)
[ \$? -ne 0 ] || echo @end
poweroff -f
END
    chmod +x "$root/init"
    (cd "$root" && find . | cpio --quiet -o -H newc) >"$work/guest.cpio"
}

start_nbdkit() { # LOGFILE RATE
    TZ=UTC nbdkit --foreground -U "$work/nbd.sock" --filter=log --filter=rate \
        file "$work/disk.img" logfile="$1" rate="$2" burstiness=0.25 &
    nbdkit_pid=$!
    helpers+=("$nbdkit_pid")
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        [ ! -S "$work/nbd.sock" ] || return 0
        sleep 0.1
    done
    fail "nbdkit was not ready after 10 s"
}

# Runs the machine on the recorded drive; the phases are those that /workload names.
run_guest() {
    start_nbdkit "$work/disk.log" "${mbit}M"
    local line ended=''
    phase boot # the machine's BIOS and kernel look for partitions
    while read -r line; do
        line=${line%$'\r'}
        case $line in
            "@end") ended=yes ;;
            "@phase "*) phase "${line#@phase }" ;;
            *) echo "  $line" >&2 ;;
        esac
    done < <(qemu-system-x86_64 -accel tcg -cpu max -smp 1 -m "$guest_memory_mib" -nodefaults -display none -no-reboot \
        -serial stdio -kernel "$work"/package/boot/vmlinuz-* -initrd "$work/guest.cpio" \
        -append 'console=ttyS0 quiet panic=-1' \
        -drive "file=nbd:unix:$work/nbd.sock,format=raw,if=none,id=disk,cache=none" \
        -device virtio-blk-pci,drive=disk,request-merging=off \
        -nic user,model=virtio-net-pci,restrict=off </dev/null)
    [ -n "$ended" ] || fail "the virtual machine stopped early; its messages are above"
    kill "$nbdkit_pid"
    wait "$nbdkit_pid" || true
    phase end
}
