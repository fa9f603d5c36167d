# compiling a small Linux kernel with make and gcc, on ext3
# shellcheck shell=bash disable=SC2154

memory_mib=400 # two compilers at a time

check() {
    check_loop
    need mkfs.ext3 e2fsprogs
    need_filesystem ext3
    need xz xz-utils
    need apt-get apt
    local tool
    for tool in make gcc bc flex bison; do
        need "$tool" "$tool"
    done
}

prepare() {
    fetch_sources linux-source-6.1
    new_drive mkfs.ext3 -q -b 4096 -E lazy_itable_init=0
    plug_in "$work/setup.log" mount
    # The whole tree has 1.3 GB; this is not compiled in the smallest configuration. Kconfig files stay: they are read.
    local unused=() part
    for part in drivers/gpu drivers/net drivers/media drivers/scsi drivers/staging drivers/infiniband drivers/usb sound \
        arch/arm arch/arm64 arch/powerpc arch/mips tools/testing tools/perf; do
        unused+=(--exclude="*/$part/*.[chS]" --exclude="*/$part/*.dts*")
    done
    unused+=(--exclude='*/Documentation/*.rst' --exclude='*/Documentation/*.txt' --exclude='*/Documentation/*.yaml')
    tar -C "$work/fs" --strip-components=1 "${unused[@]}" -xf "$work/package/usr/src/"linux-source-*.tar.xz
    unplug
}

build() { # TARGET...
    # The compilers keep the processors busy: they get less of them than the drive.
    inside nice -n 8 make -C "$work/fs" -s -j2 KBUILD_BUILD_TIMESTAMP=now "$@" >"$work/run/make.out" 2>&1 ||
        fail "make: $(tail -n 5 "$work/run/make.out")"
}

record() {
    phase mount
    plug_in "$work/disk.log" mount
    phase configure
    build tinyconfig
    phase compile
    build vmlinux
    phase clean
    build clean
    phase stop
    unplug
    phase end
}
