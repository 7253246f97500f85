#!/usr/bin/env bash
# Checks the units of deploy/systemd, or those of another directory, with systemd's own tools,
# without a running systemd: they must be well formed, and the exposure of the service at most 2.0
# of 10. Needs the programs of Debian's package `systemd`.
#
#   tools/systemd.sh [DIR]
set -uo pipefail
units=$(realpath -e -- "${1:-$(dirname "${BASH_SOURCE[0]}")/../deploy/systemd}") || exit 1
exposure_max=2.0

# `verify` requires an existing program, so another one replaces it.
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
cp "$units"/roster.{service,socket} "$place" &&
    sed -i 's|^ExecStart=[^ ]*/roster |ExecStart=/usr/bin/env |' "$place/roster.service" ||
    exit 1

# `verify` only warns about unknown settings. A warning is an error here, too.
said=$(systemd-analyze verify --man=no --recursive-errors=no "$place"/roster.{service,socket} 2>&1)
status=$?
if ((status)) || [[ -n $said ]]; then
    echo "${said:-systemd-analyze verify ended with $status}" >&2
    exit 1
fi
systemd-analyze security --offline=true --no-pager \
    --threshold="${exposure_max/./}" "$place/roster.service" >"$place/report"
status=$?
tail -n 1 "$place/report"
if ((status)); then
    echo "the exposure is above $exposure_max:" >&2
    grep -v '✓' "$place/report" >&2
    exit 1
fi
