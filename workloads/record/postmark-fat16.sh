# Postmark, the file work of a mail server, on FAT16
# shellcheck shell=bash disable=SC2154 source=shared/guest.sh
. "$here/record/shared/guest.sh"
. "$here/record/shared/postmark.sh"

check() {
    check_guest
    check_postmark
}

prepare() {
    new_fat16
    postmark_script /mnt
    {
        echo "cat >/tmp/postmark.txt <<END"
        cat "$work/run/postmark.txt"
        echo END
        cat <<'END'
mount -t vfat /dev/vda /mnt
phase postmark
postmark /tmp/postmark.txt
phase stop
umount /mnt
END
    } >"$work/run/workload"
    build_guest "$work/run/workload" postmark
}

record() {
    run_guest
}
