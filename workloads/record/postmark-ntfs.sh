# Postmark, the file work of a mail server, on NTFS
# shellcheck shell=bash source=shared/postmark.sh
. "$here/record/shared/postmark.sh"

check() {
    check_loop
    check_postmark
    check_ntfs
}

prepare() {
    new_drive make_ntfs
    detach
    postmark_script "$work/fs"
}

record() {
    phase mount
    plug_in "$work/disk.log" ntfs-3g -o big_writes
    phase postmark
    inside postmark "$work/run/postmark.txt" >&2
    phase stop
    unplug
    phase end
}
