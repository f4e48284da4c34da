#!/bin/sh
# Becomes the process that the first argument names; whatever else it says is a verb of `kebab`.
# By exec: signals reach Kebab itself, which ends its work before it stops.
set -eu

role="${1:-web}"
[ "$#" -eq 0 ] || shift
# Compose has it on a volume, where nobody has made it yet.
[ -z "${TMPDIR:-}" ] || mkdir -p "$TMPDIR"
# Which process a container runs, for its health check; /tmp is writable where nothing else is.
role_file="${TMPDIR:-/tmp}/kebab-role"

need_servers() {
    # Without them Kebab would start servers of its own, in each container another one.
    if [ -z "${DATABASE_URL:-}" ] || [ -z "${REDIS_URL:-}" ]; then
        echo "kebab $role: set DATABASE_URL and REDIS_URL (docs/operations/install.md)." >&2
        exit 2
    fi
}

run() {
    need_servers
    echo "$role" >"$role_file"
    exec kebab "$@"
}

healthcheck() {
    running="$(cat "$role_file")"
    case "$running" in
        web)
            # As the proxy asks: a site that speaks TLS sends all others away.
            exec python -I -S -c '
import sys, urllib.request
headers = {"Host": "localhost", "X-Forwarded-Proto": "https"}
request = urllib.request.Request("http://127.0.0.1:" + sys.argv[1] + "/healthz", headers=headers)
urllib.request.urlopen(request, timeout=5)' "${KEBAB_PORT:-8000}"
            ;;
        # 1: it is still starting, or waits for its database.
        *) kebab alive "$running" || [ "$?" -eq 1 ] ;;
    esac
}

case "$role" in
    web)
        # Uploads that a killed process was being sent.
        rm -f "${TMPDIR:-/tmp}"/tmp*.upload*
        run web "$@"
        ;;
    worker) run worker --name worker --queues ingest,maintenance "$@" ;;
    embedder) run worker --name embedder --queues embed --slots 1 "$@" ;;
    mirror | beat | watch) run "$role" "$@" ;;
    migrate)
        need_servers
        exec kebab init "$@"
        ;;
    mcp)
        need_servers
        exec kebab mcp "$@"
        ;;
    healthcheck) healthcheck ;;
    *) exec kebab "$role" "$@" ;;
esac
