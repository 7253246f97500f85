#!/usr/bin/env bash
# Every acceptance command in turn, against a binary that is already built (default
# target/release/roster, else --binary PATH); `--slice` for the small run of CI. What can run over
# PostgreSQL runs a second time, over a private cluster. Goes on after a failure, and fails at the
# end if any failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$("$here/venv.sh") || exit 1
failed=()
alone=(purge_search backup_load wal_ceiling slow_connections held_memory tls_scan browser proxies)
both=(faker_roundtrip bulk_roundtrip races kill9 handover idempotency follow_events contract_runs scim scim_walk
    purge_long)
postgres=(three_processes wire_cut migrate)

# run COMMAND ARGUMENT...
run() {
    local start=$SECONDS
    echo "== $*"
    "$python" "$here/$1.py" "${@:2}" || failed+=("$1")
    echo "   $((SECONDS - start)) s"
}

for command in "${both[@]}" "${alone[@]}"; do
    run "$command" "$@"
done
run handover "$@" --tls

place=$(mktemp -d) || exit 1
trap '"$here/../postgres.sh" stop "$place"' EXIT
if ROSTER_TEST_POSTGRES=$("$here/../postgres.sh" start "$place"); then
    export ROSTER_TEST_POSTGRES
    for command in "${both[@]}"; do
        run "$command" "$@" --engine postgres
    done
    for command in "${postgres[@]}"; do
        run "$command" "$@"
    done
    run scim_walk "$@" --engine postgres --processes 3
else
    failed+=(postgres)
fi
if ((${#failed[@]})); then
    echo "failed: ${failed[*]}" >&2
    exit 1
fi
echo "all acceptance commands passed"
