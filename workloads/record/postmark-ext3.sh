# Postmark, the file work of a mail server, on ext3
# shellcheck shell=bash source=shared/postmark.sh
. "$here/record/shared/postmark.sh"

check() {
    check_loop
    check_postmark
    need mkfs.ext3 e2fsprogs
    need_filesystem ext3
}

prepare() {
    new_drive mkfs.ext3 -q -b 4096 -E lazy_itable_init=0
    detach
    postmark_script "$work/fs"
}

record() {
    phase mount
    plug_in "$work/disk.log" mount
    phase postmark
    inside postmark "$work/run/postmark.txt" >&2
    phase stop
    unplug
    phase end
}
