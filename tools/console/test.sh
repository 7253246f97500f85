#!/usr/bin/env bash
# Runs the tests of the console's pure modules, and checks the types of all its files.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$(dirname "$(dirname "$("$here/../acceptance/clients/packages.sh")")")
export PATH="$packages/bin:$PATH"
node --test --test-reporter=dot "$here"/test/*.test.mjs
# The compiler cannot follow the vendored files.
tsc="$packages/node_modules/.bin/tsc"
faults=$("$tsc" -p "$here/tsconfig.json" | grep 'error TS' | grep -v '/vendor/' || true)
[[ -z $faults ]] || {
    echo "$faults" >&2
    exit 1
}
