# downloading a 634 MB file from 48 peers at once with BitTorrent (aria2), on FAT16
# shellcheck shell=bash disable=SC2154 source=shared/guest.sh
. "$here/record/shared/guest.sh"

guest_memory_mib=384
file_bytes=634000000
tracker_port=6969
first_port=6981
# What each peer sends at most, in KB a second: 3.6 MB a second together.
peer_rates=(20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78 80 84 88 92 96 100 104
    108 112 116 120 125 130 135 140 145 150 155)

check() {
    check_guest
    need aria2c aria2
}

prepare() {
    new_fat16
    # The file is sparse: only where its pieces go is recorded.
    mkdir "$work/seed"
    truncate -s "$file_bytes" "$work/seed/movie.avi"
    python3 "$here/record/shared/swarm.py" make "$work/seed/movie.avi" "http://10.0.2.2:$tracker_port/announce" \
        >"$work/run/movie.torrent"
    {
        echo "base64 -d >/tmp/movie.torrent <<END"
        base64 "$work/run/movie.torrent"
        echo END
        cat <<'END'
mount -t vfat /dev/vda /mnt
phase download
# Little is held back in the program, so that parts reach the file as they come.
aria2c --quiet --dir=/mnt --file-allocation=none --disk-cache=256K --seed-time=0 --bt-max-peers=64 --enable-dht=false \
    --enable-dht6=false --bt-enable-lpd=false --enable-peer-exchange=false --no-conf --async-dns=false /tmp/movie.torrent
phase stop
umount /mnt
END
    } >"$work/run/workload"
    build_guest "$work/run/workload" aria2c
}

record() {
    local rate port=$first_port ports=()
    for rate in "${peer_rates[@]}"; do
        aria2c --quiet --no-conf --dir="$work/seed" --bt-seed-unverified=true --seed-ratio=0 --listen-port="$port" \
            --max-overall-upload-limit="${rate}K" --enable-dht=false --enable-dht6=false --bt-enable-lpd=false \
            --enable-peer-exchange=false --bt-tracker-interval=3600 --bt-exclude-tracker='*' "$work/run/movie.torrent" &
        helpers+=("$!")
        ports+=("$port")
        port=$((port + 1))
    done
    python3 "$here/record/shared/swarm.py" track "$tracker_port" 10.0.2.2 "${ports[@]}" &
    helpers+=("$!")
    run_guest
}
