#!/bin/sh
# Stop Loftplan, copy its database to the backup server in Kappeln, start it again.
# Runs at 1:00 from cron on penryn-fs1. Needs the key of the user "loftbackup".
set -eu

DATA=/srv/loftplan/data
TARGET=loftbackup@kappeln-bk1:/backup/loftplan
KEEP_DAYS=21
STAMP=$(date +%Y-%m-%d)

systemctl stop loftplan
trap 'systemctl start loftplan' EXIT

tar -C "$DATA" -cf - . | zstd -6 > "/var/tmp/loftplan-$STAMP.tar.zst"
systemctl start loftplan
trap - EXIT

rsync --partial "/var/tmp/loftplan-$STAMP.tar.zst" "$TARGET/"
rm -f "/var/tmp/loftplan-$STAMP.tar.zst"
ssh "${TARGET%%:*}" "find /backup/loftplan -name '*.tar.zst' -mtime +$KEEP_DAYS -delete"
logger -t loftplan-backup "saved $STAMP"
