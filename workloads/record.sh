#!/usr/bin/env bash
# Records what PostgreSQL asks of its drive: pgbench on ext4, seen through nbdkit's log filter.
#
#   PostgreSQL -> ext4 -> loop device -> nbdfuse -> nbdkit (log filter) -> sparse image file
#
# The making of the file system and of the empty database cluster is not recorded; from the mount to the
# unmount everything is.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: record.sh [OPTIONS] OUTPUT

Record PostgreSQL under pgbench on ext4 and write
  OUTPUT.nbdkit.zst   the log of nbdkit's log filter, packed with zstd -19
  OUTPUT.phases.tsv   when each phase of the run began (UTC)

Options:
  -s SCALE    pgbench scale, 15 MiB of tables and indexes each (default 12)
  -t SECONDS  length of each of the three OLTP phases (default 45)
  -R RATE     transactions per second in those phases (default 200)
  -m MIB      memory for the database and its file cache (default 52)
  -b MBIT     what the drive takes, in Mibit per second and direction (default 128)
  -u USER     who runs PostgreSQL, which refuses to run as root (default postgres)
  -w DIR      where the image file goes; needs 1 GiB (default /dev/shm)
  -h          this help

Example (about four minutes, as root):
  sudo workloads/record.sh /tmp/again
  zstd -dc /tmp/again.nbdkit.zst | python3 workloads/describe.py /tmp/again.phases.tsv
EOF
}

fail() {
    echo "record.sh: $*" >&2
    exit 1
}

wrong_call() {
    echo "record.sh: $* (-h for help)" >&2
    exit 2
}

scale=12 seconds=45 rate=200 memory_mib=52 mbit=128 user=postgres work_parent=/dev/shm
while getopts ':s:t:R:m:b:u:w:h' option; do
    case $option in
        s) scale=$OPTARG ;;
        t) seconds=$OPTARG ;;
        R) rate=$OPTARG ;;
        m) memory_mib=$OPTARG ;;
        b) mbit=$OPTARG ;;
        u) user=$OPTARG ;;
        w) work_parent=$OPTARG ;;
        h) usage && exit 0 ;;
        :) wrong_call "-$OPTARG needs a value" ;;
        *) wrong_call "unknown option -$OPTARG" ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || wrong_call "expected one OUTPUT, found $#"
output=$1
for number in "-s $scale" "-t $seconds" "-R $rate" "-m $memory_mib" "-b $mbit"; do
    [[ ${number#* } =~ ^[1-9][0-9]*$ ]] || wrong_call "$number: expected a whole number above 0"
done
# The image holds 1000 MiB; tables, their copies while they are rebuilt, and the log need room.
[ "$scale" -le 24 ] || wrong_call "-s $scale: more than 24 does not fit the 1000 MiB file system"

# --- What is needed ------------------------------------------------------------------------------------

need() {
    command -v "$1" >/dev/null || fail "'$1' not found; install it, on Debian: apt-get install $2"
}
need nbdkit nbdkit
need nbdfuse libnbd-bin
need fusermount3 fuse3
need losetup mount
need mkfs.ext4 e2fsprogs
need runuser util-linux
need zstd zstd
need python3 python3
if command -v pg_config >/dev/null && [ -x "$(pg_config --bindir)/initdb" ]; then
    pg_bin=$(pg_config --bindir)
else
    pg_bin=$(find /usr/lib/postgresql -path '*/bin/initdb' -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
fi
[ -n "$pg_bin" ] || fail "'initdb' not found; install it, on Debian: apt-get install postgresql"
pgbench=$(PATH=$pg_bin:$PATH command -v pgbench) || fail "'pgbench' not found; apt-get install postgresql"
[ "$(id -u)" -eq 0 ] || fail "must be root to mount file systems; run it with sudo"
id "$user" >/dev/null 2>&1 || fail "no user '$user'; name another with -u"
[ -c /dev/fuse ] || fail "/dev/fuse is missing; load the module: modprobe fuse"
[ -d "$work_parent" ] || fail "no folder '$work_parent'; name another with -w"
free_mib=$(df --output=avail -BM "$work_parent" | tail -n 1 | tr -dc 0-9)
[ "$free_mib" -ge 1024 ] || fail "$work_parent has $free_mib MiB free, needs 1024; name another with -w"
[ -w "$(dirname "$output")" ] || fail "cannot write to the folder $(dirname "$output")"

# --- The drive, from below to above ---------------------------------------------------------------------

work=$(mktemp -d "$work_parent/eraseblock-record.XXXXXX")
chmod 755 "$work"
mkdir "$work/nbd" "$work/fs" "$work/run"
chown "$user" "$work/run"
data=$work/fs/pgdata
loop='' fuse_pid='' group=''

database() { # COMMAND...: run as the database's user, inside the memory limit
    local enter=()
    [ -z "$group" ] || enter=(sh -c "echo \$\$ >'$group/cgroup.procs' && exec \"\$@\"" sh)
    (cd "$work/run" && "${enter[@]}" runuser -u "$user" -- env PATH="$pg_bin:$PATH" LC_ALL=C TZ=UTC "$@")
}

attach() { # LOGFILE: image file -> nbdkit -> nbdfuse -> loop device
    rm -f "$work/fuse.pid"
    # The log filter comes first: it sees a request when it arrives, before the rate limit holds it.
    TZ=UTC nbdfuse -P "$work/fuse.pid" "$work/nbd/disk" \
        [ nbdkit --exit-with-parent --filter=log --filter=rate \
        file "$work/disk.img" logfile="$1" rate="${mbit}M" burstiness=0.25 ] &
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
}

detach() {
    [ -z "$loop" ] || losetup --detach "$loop"
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

# shellcheck disable=SC2317 # reached through the trap
clean_up() {
    local status=$?
    trap - EXIT
    set +e
    if [ -n "$group" ] && grep -qs '^oom_kill [1-9]' "$group"/memory.oom_control "$group"/memory.events; then
        echo "record.sh: the database ran out of its $memory_mib MiB; give it more with -m" >&2
    fi
    if [ -f "$data/postmaster.pid" ]; then
        database pg_ctl -s -D "$data" -m immediate -w stop >&2
    fi
    ! mountpoint -q "$work/fs" || umount "$work/fs"
    detach
    [ -z "$group" ] || rmdir "$group"
    rm -rf --one-file-system "$work"
        exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

phase() { # NAME: from now on
    printf '%s\t%s\n' "$(date -u '+%F %T.%6N')" "$1" >>"$work/phases.tsv"
    echo "$(date '+%T') $1" >&2
}

# --- Before the recording: an empty file system and an empty cluster --------------------------------------

truncate -s 1000M "$work/disk.img"
attach "$work/setup.log"
mkfs.ext4 -q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 "$loop"
mount "$loop" "$work/fs"
mkdir "$data"
chown "$user" "$data"
database initdb -D "$data" --auth=trust --no-instructions --locale=C --encoding=UTF8 >/dev/null
cat >>"$data/postgresql.conf" <<EOF
listen_addresses = ''
unix_socket_directories = '$work/run'
logging_collector = on
jit = off
shared_buffers = 4MB
backend_flush_after = 64kB
bgwriter_flush_after = 64kB
max_wal_size = 96MB
min_wal_size = 64MB
checkpoint_timeout = 60s
wal_writer_delay = 1s
maintenance_work_mem = 8MB
max_parallel_maintenance_workers = 0
default_statistics_target = 10
wal_level = minimal
max_wal_senders = 0
wal_compression = on
EOF
umount "$work/fs"
detach

# --- The recording ----------------------------------------------------------------------------------------

# Zipf over accounts that lie scattered in the table: some are asked for all the time, most hardly ever.
cat >"$work/run/popular.sql" <<'EOF'
\set account 1 + permute(random_zipfian(1, 100000 * :scale, 1.2), 100000 * :scale)
\set delta random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :account;
EOF

oltp() { # SYNCHRONOUS_COMMIT
    database env PGOPTIONS="-c synchronous_commit=$1" "$pgbench" -h "$work/run" -n -c 8 -j 2 -R "$rate" \
        -T "$seconds" --random-seed="$random_seed" -b tpcb-like@1 -b select-only@1 -f "$work/run/popular.sql@8" \
        postgres >"$work/run/pgbench.out" 2>&1 || fail "pgbench: $(tail -n 3 "$work/run/pgbench.out")"
    grep -E '^(number of transactions actually|latency average|rate limit schedule lag|tps)' "$work/run/pgbench.out" >&2
    random_seed=$((random_seed + 1))
}
random_seed=1

limit_memory
phase mount
attach "$work/disk.log"
mount -o discard "$loop" "$work/fs"
database pg_ctl -s -D "$data" -l "$work/run/server.out" -w start

phase load
database "$pgbench" -h "$work/run" -q -i -F 90 -s "$scale" postgres >"$work/run/load.out" 2>&1 ||
    fail "pgbench -i: $(tail -n 3 "$work/run/load.out")"

phase oltp
oltp off

phase oltp+backup
oltp off &
oltp_pid=$!
sleep $((seconds / 8))
mkdir "$work/fs/backup"
chown "$user" "$work/fs/backup"
database pg_dump -h "$work/run" -Fc -Z1 -f "$work/fs/backup/accounts.dump" postgres
wait "$oltp_pid"

phase oltp-sync
oltp on

phase maintenance
rm -r "$work/fs/backup"
database psql -q -h "$work/run" -c 'VACUUM (ANALYZE)' -c 'REINDEX TABLE pgbench_accounts' -c CHECKPOINT postgres

phase stop
database pg_ctl -s -D "$data" -m fast -w stop
umount "$work/fs"
detach
phase end

# --- What came of it ----------------------------------------------------------------------------------------

! grep -m 1 'return=-1' "$work/disk.log" >&2 || fail "the drive answered with errors, the first one above"
# nbdkit's threads write their lines some microseconds late, not always in the order of their time stamps.
LC_ALL=C sort --stable --key=1,2 "$work/disk.log" >"$work/sorted.log"
zstd -q -19 -f "$work/sorted.log" -o "$work/packed.zst"
cp "$work/packed.zst" "$output.nbdkit.zst"
cp "$work/phases.tsv" "$output.phases.tsv"
ls -l "$output.nbdkit.zst" "$output.phases.tsv" >&2
