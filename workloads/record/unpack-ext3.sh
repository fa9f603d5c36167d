# unpacking a source tree of 20,000 files (glibc) with tar, on ext3
# shellcheck shell=bash disable=SC2154

memory_mib=192 # xz needs 65

check() {
    check_loop
    need mkfs.ext3 e2fsprogs
    need_filesystem ext3
    need tar tar
    need xz xz-utils
    need apt-get apt
}

prepare() {
    fetch_sources glibc-source
    new_drive mkfs.ext3 -q -b 4096 -E lazy_itable_init=0
    plug_in "$work/setup.log" mount
    cp "$work/package/usr/src/glibc/"glibc-*.tar.xz "$work/fs/glibc.tar.xz"
    unplug
}

record() {
    phase mount
    plug_in "$work/disk.log" mount
    phase unpack
    inside tar -C "$work/fs" -xf "$work/fs/glibc.tar.xz"
    phase stop
    unplug
    phase end
}
