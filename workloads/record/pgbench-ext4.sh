# PostgreSQL under pgbench: load, OLTP, backup and maintenance, on ext4
# shellcheck shell=bash disable=SC2154

scale=12     # pgbench's, 15 MiB of tables and indexes each
seconds=45   # each of the three OLTP phases
rate=200     # transactions a second in those phases
memory_mib=52
dirty_mib=0  # PostgreSQL has its data written back itself
data='' user=postgres # who runs PostgreSQL, which refuses to run as root

check() {
    check_loop
    need mkfs.ext4 e2fsprogs
    need_filesystem ext4
    need runuser util-linux
    if command -v pg_config >/dev/null && [ -x "$(pg_config --bindir)/initdb" ]; then
        pg_bin=$(pg_config --bindir)
    else
        pg_bin=$(find /usr/lib/postgresql -path '*/bin/initdb' -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
    fi
    [ -n "$pg_bin" ] || fail "'initdb' not found; install it, on Debian: apt-get install postgresql"
    pgbench=$(PATH=$pg_bin:$PATH command -v pgbench) || fail "'pgbench' not found; apt-get install postgresql"
    id "$user" >/dev/null 2>&1 || fail "no user '$user'; name another in record/pgbench-ext4.sh"
}

database() { # COMMAND...: run as the database's user, inside the memory limit
    (cd "$work/run" && inside runuser -u "$user" -- env PATH="$pg_bin:$PATH" LC_ALL=C TZ=UTC "$@")
}

prepare() { # an empty file system and an empty database cluster
    data=$work/fs/pgdata
    chown "$user" "$work/run"
    new_drive mkfs.ext4 -q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0
    plug_in "$work/setup.log" mount
    mkdir "$data"
    chown "$user" "$data"
    database initdb -D "$data" --auth=trust --no-instructions --locale=C --encoding=UTF8 >/dev/null
    cat >>"$data/postgresql.conf" <<END
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
END
    unplug
    # Zipf over accounts that lie scattered in the table: some are asked for all the time, most hardly ever.
    cat >"$work/run/popular.sql" <<'END'
\set account 1 + permute(random_zipfian(1, 100000 * :scale, 1.2), 100000 * :scale)
\set delta random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :account;
END
}

oltp() { # SYNCHRONOUS_COMMIT RANDOM-SEED
    database env PGOPTIONS="-c synchronous_commit=$1" "$pgbench" -h "$work/run" -n -c 8 -j 2 -R "$rate" \
        -T "$seconds" --random-seed="$2" -b tpcb-like@1 -b select-only@1 -f "$work/run/popular.sql@8" \
        postgres >"$work/run/pgbench.out" 2>&1 || fail "pgbench: $(tail -n 3 "$work/run/pgbench.out")"
    grep -E '^(number of transactions actually|latency average|rate limit schedule lag|tps)' "$work/run/pgbench.out" >&2
}

record() {
    phase mount
    plug_in "$work/disk.log" mount -o discard
    database pg_ctl -s -D "$data" -l "$work/run/server.out" -w start

    phase load
    database "$pgbench" -h "$work/run" -q -i -F 90 -s "$scale" postgres >"$work/run/load.out" 2>&1 ||
        fail "pgbench -i: $(tail -n 3 "$work/run/load.out")"

    phase oltp
    oltp off 1

    phase oltp+backup
    oltp off 2 &
    local oltp_pid=$!
    sleep $((seconds / 8))
    mkdir "$work/fs/backup"
    chown "$user" "$work/fs/backup"
    database pg_dump -h "$work/run" -Fc -Z1 -f "$work/fs/backup/accounts.dump" postgres
    wait "$oltp_pid"

    phase oltp-sync
    oltp on 3

    phase maintenance
    rm -r "$work/fs/backup"
    database psql -q -h "$work/run" -c 'VACUUM (ANALYZE)' -c 'REINDEX TABLE pgbench_accounts' -c CHECKPOINT postgres

    phase stop
    database pg_ctl -s -D "$data" -m fast -w stop
    unplug
    phase end
}

give_up() { # what may still run when something went wrong
    if [ -n "$data" ] && [ -f "$data/postmaster.pid" ]; then
        database pg_ctl -s -D "$data" -m immediate -w stop >&2
    fi
}
