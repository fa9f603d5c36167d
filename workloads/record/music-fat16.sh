# copying 90 music files of 4.8 MB on average, on FAT16
# shellcheck shell=bash disable=SC2154 source=shared/guest.sh
. "$here/record/shared/guest.sh"

check() {
    check_guest
}

prepare() {
    new_fat16
    # What is copied is a sparse file: only where it goes is recorded. Sizes as of songs of two to nine minutes.
    python3 - >"$work/run/workload" <<'END'
import random
dice = random.Random(42)
sizes = [dice.lognormvariate(0, 0.35) for _ in range(90)]
print("mkdir -p /tmp/Music")
for number, size in enumerate(sizes):
    album, track = divmod(number, 10)
    name = f"/tmp/Music/Album {album + 1}/{track + 1:02d} - Title of a song.mp3"
    print(f"mkdir -p '{name.rpartition('/')[0]}'; truncate -s {round(4.8e6 * 90 * size / sum(sizes))} '{name}'")
END
    cat >>"$work/run/workload" <<'END'
mount -t vfat /dev/vda /mnt
phase copy
cp -r /tmp/Music /mnt/
phase stop
umount /mnt
END
    build_guest "$work/run/workload"
}

record() {
    run_guest
}
