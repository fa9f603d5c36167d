# installing an office suite (LibreOffice) with dpkg, on NTFS
# shellcheck shell=bash disable=SC2154

memory_mib=384 # dpkg unpacks in several threads
packages=(libreoffice-core libreoffice-common libreoffice-writer libreoffice-calc libreoffice-impress libreoffice-draw
    libreoffice-math libreoffice-base-core libreoffice-help-en-us libreoffice-style-colibre libuno-sal3 ure)

check() {
    check_loop
    check_ntfs
    need dpkg dpkg
    need apt-get apt
}

prepare() {
    fetch_packages "${packages[@]}"
    new_drive make_ntfs
    plug_in "$work/setup.log" ntfs-3g -o big_writes
    mkdir -p "$work/fs/var/lib/dpkg/updates" "$work/fs/var/lib/dpkg/info"
    touch "$work/fs/var/lib/dpkg/status"
    unplug
}

record() {
    phase mount
    plug_in "$work/disk.log" ntfs-3g -o big_writes
    phase install
    # Unpacked and entered into dpkg's database; the packages' own scripts would change the machine outside.
    inside dpkg --root="$work/fs" --log=/dev/null --force-all --force-script-chrootless --unpack "$work"/packages/*.deb \
        >"$work/run/dpkg.out" 2>&1 || fail "dpkg: $(tail -n 5 "$work/run/dpkg.out")"
    phase stop
    unplug
    phase end
}
