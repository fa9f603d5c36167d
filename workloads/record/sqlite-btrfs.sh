# SQLite under a bank's transactions, with each kind of journal, on btrfs
# shellcheck shell=bash disable=SC2154

accounts=500000 # 75 MB with their index
rate=25         # transactions a second
seconds=40      # each phase of transactions
memory_mib=64

check() {
    check_loop
    need mkfs.btrfs btrfs-progs
    need_filesystem btrfs
    need sqlite3 sqlite3
    python3 -c 'import sqlite3' || fail "this python3 has no sqlite3"
}

prepare() {
    new_drive mkfs.btrfs -q
    detach
}

bank() { # ACTION...
    local action=$1
    shift
    inside python3 "$here/record/shared/sqlite_bank.py" "$action" "$work/fs/bank.sqlite" "$accounts" "$@" >&2
}

record() {
    phase mount
    plug_in "$work/disk.log" mount -o discard=async
    phase load
    bank load
    phase rollback-journal
    bank run DELETE FULL "$rate" "$seconds"
    phase wal
    bank run WAL FULL "$rate" "$seconds"
    phase wal-lazy
    bank run WAL NORMAL $((rate * 4)) "$seconds"
    phase vacuum
    inside sqlite3 "$work/fs/bank.sqlite" VACUUM >&2
    phase stop
    unplug
    phase end
}
