# What the Postmark recordings share: the same files and transactions on each file system.
# shellcheck shell=bash disable=SC2154

check_postmark() {
    need postmark postmark
}

postmark_script() { # FOLDER: where Postmark works
    cat >"$work/run/postmark.txt" <<END
set location $1
set number 8000
set subdirectories 80
set size 500 30000
set transactions 24000
set seed 42
set bias read 5
set bias create 5
run
quit
END
}
