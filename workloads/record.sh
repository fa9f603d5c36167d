#!/usr/bin/env bash
# Records what real programs ask of their drive, seen through nbdkit's log filter.
#
# Each workload is a file of record/ with three functions: `check` says what is missing on this machine, `prepare` does what
# is not recorded (an empty file system, inputs), `record` what is; a fourth, `give_up`, may end what was left running.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

names() {
    local file
    for file in "$here"/record/*.sh; do
        basename "$file" .sh
    done
}

usage() {
    cat <<EOT
Usage: record.sh [OPTIONS] NAME... FOLDER
       record.sh [OPTIONS] all FOLDER

Record workloads anew; for each one write
  FOLDER/NAME.nbdkit.zst   the log of nbdkit's log filter, packed with zstd -19
  FOLDER/NAME.phases.tsv   when each phase of the run began (UTC)

Workloads:
EOT
    local name
    for name in $(names); do
        printf '  %-16s %s\n' "$name" "$(sed -n '1s/^# //p' "$here/record/$name.sh")"
    done
    cat <<EOT

Options:
  -b MBIT     what the drive takes, in Mibit per second and direction (default 128)
  -w FOLDER   where the image goes; needs 3 GiB (default /dev/shm)
  -h          this help
What else can be set stands at the top of each workload's file in $here/record.

Example (as root; about three minutes each):
  sudo workloads/record.sh postmark-ext3 sqlite-btrfs /tmp/again
  .venv/bin/python workloads/describe.py /tmp/again/sqlite-btrfs.nbdkit.zst
EOT
}

fail() {
    echo "record.sh: $*" >&2
    exit 1
}

wrong_call() {
    echo "record.sh: $* (-h for help)" >&2
    exit 2
}

mbit=128 work_parent=/dev/shm
while getopts ':b:w:h' option; do
    case $option in
        b) mbit=$OPTARG ;;
        w) work_parent=$OPTARG ;;
        h) usage && exit 0 ;;
        :) wrong_call "-$OPTARG needs a value" ;;
        *) wrong_call "unknown option -$OPTARG" ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || wrong_call "expected NAME... FOLDER"
[[ $mbit =~ ^[1-9][0-9]*$ ]] || wrong_call "-b $mbit: expected a whole number above 0"
output=${*: -1}
chosen=("${@:1:$#-1}")
[ "${chosen[*]}" != all ] || mapfile -t chosen < <(names)
for name in "${chosen[@]}"; do
    [ -f "$here/record/$name.sh" ] || wrong_call "no workload '$name'; there are: $(names | tr '\n' ' ')"
done

load() { # NAME
    # shellcheck source=record/shared/drive.sh
    . "$here/record/shared/drive.sh"
    # shellcheck source=/dev/null
    . "$here/record/$1.sh"
}

# shellcheck disable=SC2317 # reached through the trap
clean_up() {
    local status=$?
    trap - EXIT
    set +e
    ! declare -F give_up >/dev/null || give_up
    clean_up_drive
    exit "$status"
}

record_one() ( # NAME
    load "$1"
    work=$(mktemp -d "$work_parent/eraseblock-record.XXXXXX")
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    chmod 755 "$work"
    mkdir "$work/nbd" "$work/fs" "$work/run"
    echo "$(date '+%T') $1: preparing" >&2
    check
    prepare
    record
    save_recording "$output/$1"
)

[ -d "$work_parent" ] || fail "no folder '$work_parent'; name another with -w"
free_mib=$(df --output=avail -BM "$work_parent" | tail -n 1 | tr -dc 0-9)
[ "$free_mib" -ge 3072 ] || fail "$work_parent has $free_mib MiB free, needs 3072; name another with -w"
mkdir -p "$output"
for name in "${chosen[@]}"; do
    (load "$name" && check_drive && check)
done
# Other work on the machine should not shape the recording. Where the kernel groups processes by session, the group counts.
renice -n -15 -p $$ >/dev/null
[ ! -w /proc/self/autogroup ] || echo -15 >/proc/self/autogroup
for name in "${chosen[@]}"; do
    record_one "$name"
done
