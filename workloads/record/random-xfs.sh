# uniform random overwrites of a file as large as the drive (fio), on XFS
# shellcheck shell=bash disable=SC2154

file_mib=880
rate=400   # overwrites a second, at random moments
seconds=60 # each phase

check() {
    check_loop
    need fio fio
    need mkfs.xfs xfsprogs
    need_filesystem xfs
}

prepare() {
    new_drive mkfs.xfs -q
    detach
}

overwrite() { # RANDOM-SEED FIO-OPTION...
    local random_seed=$1
    shift
    inside fio --name=overwrite --filename="$work/fs/file" --size="${file_mib}M" --rw=randwrite --bs=4k --direct=1 \
        --ioengine=libaio --norandommap --rate_iops="$rate" --rate_process=poisson --time_based --runtime="$seconds" \
        --randseed="$random_seed" --eta=never --minimal "$@" >"$work/run/fio.out" || fail "fio: $(tail -n 3 "$work/run/fio.out")"
}

record() {
    phase mount
    plug_in "$work/disk.log" mount
    phase fill
    inside fio --name=fill --filename="$work/fs/file" --size="${file_mib}M" --rw=write --bs=1M --ioengine=psync --fsync_on_close=1 \
        --eta=never --minimal >"$work/run/fio.out" || fail "fio: $(tail -n 3 "$work/run/fio.out")"
    phase overwrite
    overwrite 1 --iodepth=16
    phase overwrite+flush
    overwrite 2 --iodepth=1 --fdatasync=16
    phase stop
    unplug
    phase end
}
