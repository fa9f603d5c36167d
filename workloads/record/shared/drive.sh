# The drive under a recording, and what surrounds it.
#
#   program -> file system -> loop device (direct I/O) -> nbdfuse -> nbdkit: log filter -> rate filter -> sparse file in RAM
#
# A workload sets `memory_mib` and `dirty_mib`. Its `prepare` calls new_drive and detach, or plug_in setup.log and unplug to put
# files there; its `record` calls plug_in disk.log, phase for each part, and unplug.
# Sourced by record.sh, which has `fail` and sets `work` (a folder of this recording) and `mbit`.
# shellcheck shell=bash disable=SC2154

drive_mib=1000
memory_mib=128 # for the programs of the workload and their part of the file cache
dirty_mib=32   # of written data that the file system may hold back; 0 for the kernel's own limit
loop='' fuse_pid='' group='' helpers=()

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || fail "'$1' not found; install it, on Debian: apt-get install $2"
}

need_filesystem() { # NAME: known to the kernel
    grep -qw "$1" /proc/filesystems || modprobe -q "$1" 2>/dev/null ||
        fail "this kernel has no $1; record on one that has"
}

# What every recording needs.
check_drive() {
    need nbdkit nbdkit
    need zstd zstd
    need python3 python3
    [ "$(id -u)" -eq 0 ] || fail "must be root to mount file systems; run it with sudo"
}

# What those with a loop device need on top.
check_loop() {
    need nbdfuse libnbd-bin
    need fusermount3 fuse3
    need losetup mount
    [ -c /dev/fuse ] || fail "/dev/fuse is missing; load the module: modprobe fuse"
}

inside() { # COMMAND...: run inside the memory limit, if there is one yet
    if [ -z "$group" ]; then
        "$@"
        return
    fi
    sh -c "echo \$\$ >'$group/cgroup.procs' && exec \"\$@\"" sh "$@"
}

limit_memory() {
    local root=/sys/fs/cgroup bytes=$((memory_mib * 1024 * 1024))
    if [ -f "$root/memory/memory.limit_in_bytes" ]; then
        group=$(mktemp -d "$root/memory/eraseblock-record.XXXXXX")
        echo "$bytes" >"$group/memory.limit_in_bytes"
    elif [ -f "$root/cgroup.subtree_control" ] && echo +memory >"$root/cgroup.subtree_control"; then
        group=$(mktemp -d "$root/eraseblock-record.XXXXXX")
        echo "$bytes" >"$group/memory.max"
    else
        fail "no memory control group to limit the file cache with: without one the reads never reach the drive"
    fi
}

# A drive with a small host keeps little written data in memory. `strict` 0 gives the loop device back as it was.
limit_dirty() { # STRICT MIB
    local bdi=/sys/block/${loop#/dev/}/bdi
    [ -w "$bdi/strict_limit" ] || fail "$bdi/strict_limit is missing: Linux 6.2 or later limits written data by drive"
    if [ "$1" -eq 1 ]; then
        echo $(($2 * 1024 * 1024)) >"$bdi/max_bytes"
    else
        echo 100 >"$bdi/max_ratio"
    fi
    echo "$1" >"$bdi/strict_limit"
}

in_own_session() { # COMMAND...: Ctrl-C must not take the drive away before it is unmounted
    # shellcheck disable=SC2016 # the inner shell expands it
    exec setsid sh -c '[ ! -w /proc/self/autogroup ] || echo -15 >/proc/self/autogroup; exec "$@"' sh "$@"
}

attach() { # LOGFILE: image file -> nbdkit -> nbdfuse -> loop device
    local rate=${mbit}M
    [ "$1" = "$work/disk.log" ] || rate=1000G # what is not recorded need not wait
    rm -f "$work/fuse.pid"
    # The log filter comes first: it sees a request when it arrives, before the rate limit holds it.
    in_own_session env TZ=UTC nbdfuse -P "$work/fuse.pid" "$work/nbd/disk" \
        [ nbdkit --exit-with-parent --filter=log --filter=rate \
        file "$work/disk.img" logfile="$1" rate="$rate" burstiness=0.25 ] &
    fuse_pid=$!
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        [ ! -s "$work/fuse.pid" ] || break
        kill -0 "$fuse_pid" 2>/dev/null || fail "nbdfuse ended at once; its message is above"
        sleep 0.1
    done
    [ -s "$work/fuse.pid" ] || fail "nbdfuse was not ready after 10 s"
    # Direct I/O: the file system's requests reach nbdfuse as they are, with no second cache between.
    loop=$(losetup --find --show --direct-io=on "$work/nbd/disk")
    [ "$dirty_mib" -eq 0 ] || limit_dirty 1 "$dirty_mib"
}

detach() {
    if [ -n "$loop" ]; then
        [ "$dirty_mib" -eq 0 ] || limit_dirty 0 0
        losetup --detach "$loop"
    fi
    loop=''
    if [ -n "$fuse_pid" ]; then
        local tries
        for ((tries = 0; tries < 50; tries++)); do # the loop device lets go of the file a moment later
            fusermount3 -u "$work/nbd" 2>/dev/null && break
            sleep 0.1
        done
        wait "$fuse_pid" || true
    fi
    fuse_pid=''
}

new_drive() { # MKFS...: an empty file system, attached and not yet mounted; the making of it is not recorded
    truncate -s "${drive_mib}M" "$work/disk.img"
    attach "$work/setup.log"
    "$@" "$loop" >"$work/mkfs.out" 2>&1 || fail "$1: $(tail -n 3 "$work/mkfs.out")"
}

plug_in() { # LOGFILE MOUNT...: attach and mount; MOUNT is called with device and folder
    [ "$1" != "$work/disk.log" ] || limit_memory
    [ -n "$loop" ] || attach "$1"
    shift
    inside "$@" "$loop" "$work/fs"
}

check_ntfs() {
    need ntfs-3g ntfs-3g
    need mkfs.ntfs ntfs-3g
    need_filesystem fuseblk
}

make_ntfs() { # DEVICE
    mkfs.ntfs -Q -F -q -c 4096 "$1"
}

fetch_packages() { # NAME...: Debian packages, as files in $work/packages
    mkdir -p "$work/packages"
    # Root's own folder is closed to the user that apt would fetch as.
    (cd "$work/packages" && apt-get download -qq -o APT::Sandbox::User=root "$@" >&2) ||
        fail "apt-get download $*: see above; try apt-get update"
}

fetch_sources() { # NAME: a Debian package that holds sources, unpacked into $work/package
    fetch_packages "$1"
    dpkg-deb -x "$work/packages/$1"_*.deb "$work/package"
}

unplug() {
    umount "$work/fs"
    detach
}

phase() { # NAME: from now on
    printf '%s\t%s\n' "$(date -u '+%F %T.%6N')" "$1" >>"$work/phases.tsv"
    echo "$(date '+%T') $1" >&2
}

# Reached through the trap of record.sh.
clean_up_drive() {
    if [ "${#helpers[@]}" -gt 0 ]; then
        kill "${helpers[@]}" 2>/dev/null
        wait "${helpers[@]}" 2>/dev/null
    fi
    if [ -n "$group" ] && grep -qs '^oom_kill [1-9]' "$group"/memory.oom_control "$group"/memory.events; then
        echo "record.sh: the programs ran out of their $memory_mib MiB" >&2
    fi
    local tries
    for ((tries = 0; tries < 50; tries++)); do # the programs that were stopped let go of it a moment later
        ! mountpoint -q "$work/fs" || umount -q "$work/fs" && break
        sleep 0.2
    done
    detach
    [ -z "$group" ] || rmdir "$group"
    rm -rf --one-file-system "$work"
}

save_recording() { # OUTPUT: OUTPUT.nbdkit.zst and OUTPUT.phases.tsv
    ! grep -m 1 'return=-1' "$work/disk.log" >&2 || fail "the drive answered with errors, the first one above"
    # nbdkit's threads write their lines some microseconds late, not always in the order of their time stamps.
    LC_ALL=C sort --stable --key=1,2 "$work/disk.log" >"$work/sorted.log"
    zstd -q -19 -f "$work/sorted.log" -o "$work/packed.zst"
    cp "$work/packed.zst" "$1.nbdkit.zst"
    cp "$work/phases.tsv" "$1.phases.tsv"
    ls -l "$1.nbdkit.zst" "$1.phases.tsv" >&2
}
