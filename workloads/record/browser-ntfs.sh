# the cache of a web browser (Chromium) that surfs 100 MB of pages and pictures, on NTFS
# shellcheck shell=bash disable=SC2154

megabytes=100

check() {
    check_loop
    check_ntfs
    need chromium chromium
    need apt-get apt
}

prepare() {
    # Two illustrated manuals: 4,000 pages and 5,000 pictures.
    fetch_packages gimp-help-en debian-handbook
    local file
    for file in "$work"/packages/*.deb; do
        dpkg-deb -x "$file" "$work/package"
    done
    new_drive make_ntfs
    detach
}

record() {
    phase mount
    plug_in "$work/disk.log" ntfs-3g -o big_writes
    phase surf
    # Only the cache lies on the drive, not the browser's profile; the browser itself needs more memory than the limit.
    python3 "$here/record/shared/surf.py" "$work/package/usr/share" "$megabytes" chromium --headless=new --no-sandbox \
        --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$work/run/profile" \
        --disk-cache-dir="$work/fs/cache" --disk-cache-size=200000000
    phase stop
    unplug
    phase end
}
