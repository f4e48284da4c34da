#!/bin/sh
# Asks every node whether it is ready, and lets nginx know: a node that drains or has lost its database gets no
# new requests, one that has come back gets its workspaces again. nginx itself notices only connections that
# fail, and a draining node still takes them.
#
#   KEBAB_NODES="10.0.0.11:8000 10.0.0.12:8000" KEBAB_NODES_FILE=/etc/nginx/kebab/kebab-nodes.conf \
#       KEBAB_RELOAD="nginx -s reload" follow-nodes.sh [once]
#
# `once` writes the file, all nodes taken for ready, and ends: before nginx first starts. Addresses, not names:
# nginx refuses its configuration while one name can't be resolved.
set -eu

: "${KEBAB_NODES:?the addresses of the nodes, HOST:PORT, separated by blanks}"
: "${KEBAB_NODES_FILE:?the file to write, which kebab.conf includes}"
# A node has to stay so long after it was told to stop: KEBAB_DRAIN_S of at least four times this.
period_s="${KEBAB_NODES_PERIOD_S:-1}"

is_ready() {
    # As from a proxy that speaks TLS: a site that has it sends all others away.
    curl --silent --output /dev/null --fail --max-time 2 \
        --header "Host: ${KEBAB_NODES_HOST:-localhost}" --header "X-Forwarded-Proto: https" "http://$1/readyz"
}

servers() {
    # Where no node is ready all are asked: what they answer tells clients more than no answer.
    ready="$1"
    for node in $KEBAB_NODES; do
        case " ${ready:-$KEBAB_NODES} " in
            *" $node "*) echo "server $node max_fails=1 fail_timeout=2s;" ;;
            *) echo "server $node down;" ;;
        esac
    done
}

ready_nodes() {
    answers="$(mktemp -d)"
    # Side by side: one that hangs must not hold up the others.
    for node in $KEBAB_NODES; do
        { is_ready "$node" && : >"$answers/$node"; } &
    done
    wait
    for node in $KEBAB_NODES; do
        [ ! -e "$answers/$node" ] || printf '%s ' "$node"
    done
    rm -rf "$answers"
}

write() {
    servers "$1" >"$KEBAB_NODES_FILE.new"
    if cmp -s "$KEBAB_NODES_FILE.new" "$KEBAB_NODES_FILE"; then
        rm "$KEBAB_NODES_FILE.new"
        return 1
    fi
    mv "$KEBAB_NODES_FILE.new" "$KEBAB_NODES_FILE"
}

if [ "${1:-}" = once ]; then
    write "" || true
    exit 0
fi

: "${KEBAB_RELOAD:?the command that has nginx read its configuration anew}"
untold=""
while true; do
    ready="$(ready_nodes)"
    if write "$ready"; then
        echo "ready: ${ready:-none, so all are asked}"
        untold=yes
    fi
    # The command may have several words. One that fails is tried again.
    if [ -n "$untold" ] && $KEBAB_RELOAD; then
        untold=""
    fi
    sleep "$period_s"
done
