#!/usr/bin/env bash
# Copies the folders of a host to the backup disk.
set -euo pipefail

readonly TARGET="${BACKUP_TARGET:-/mnt/backup}"
readonly KEEP_DAYS=30

log() {
    printf '%s %s\n' "$(date +%FT%T)" "$*" >&2
}

# Ends with a message for the operator.
die() {
    log "error: $*"
    exit 1
}

usage() {
    cat <<TEXT
usage: backup.sh [-n] folder...

  -n   say what would be copied, and copy nothing
TEXT
}

# The disk is mounted by hand: without it the copy would fill the root disk.
function check_target {
    if ! mountpoint -q "$TARGET"; then
        die "$TARGET is not mounted; mount the backup disk first"
    fi
    if [[ ! -w "$TARGET" ]]; then
        die "$TARGET cannot be written; run this as root"
    fi
}

copy_folder() {
    local folder=$1 dry=$2
    local name stamp into
    name=$(basename "$folder")
    stamp=$(date +%F)
    into="$TARGET/$(hostname)/$name/$stamp"
    if [[ ! -d "$folder" ]]; then
        log "skipped $folder: it is no folder"
        return 0
    fi
    if [[ "$dry" == yes ]]; then
        log "would copy $folder to $into"
        return 0
    fi
    mkdir -p "$into"
    # Files that did not change are linked to those of the newest copy.
    local newest="$TARGET/$(hostname)/$name/newest"
    if [[ -d "$newest" ]]; then
        rsync --archive --delete --link-dest="$(readlink -f "$newest")" "$folder/" "$into/"
    else
        rsync --archive --delete "$folder/" "$into/"
    fi
    ln --symbolic --force --no-dereference "$into" "$newest"
    log "copied $folder to $into"
}

remove_old() {
    find "$TARGET/$(hostname)" -mindepth 2 -maxdepth 2 -type d -mtime "+$KEEP_DAYS" -print0 |
        while IFS= read -r -d '' old; do
            log "removes $old"
            rm -rf -- "$old"
        done
}

main() {
    local dry=no
    while getopts ":nh" option; do
        case "$option" in
            n) dry=yes ;;
            h) usage; exit 0 ;;
            *) usage; exit 2 ;;
        esac
    done
    shift $((OPTIND - 1))
    [[ $# -gt 0 ]] || { usage; exit 2; }
    check_target
    for folder in "$@"; do
        copy_folder "$folder" "$dry"
    done
    remove_old
}

main "$@"
