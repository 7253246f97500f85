#!/usr/bin/env bash
# Makes the Python environment of the acceptance commands once, under target/venv, and prints the
# path of its interpreter. Made anew when requirements.txt changed.
#
#   venv.sh [REQUIREMENTS NAME]   for other requirements, under target/NAME
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=${1-$here/requirements.txt}
venv=$(cd "$here/../.." && pwd)/target/${2-venv}
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    rm -rf "$venv"
    mkdir -p "$(dirname "$venv")"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "the acceptance commands need Python 3.11 or newer" >&2
        exit 1
    }
    python3 -m venv "$venv" >&2
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" >&2
    cp "$requirements" "$venv/requirements.txt"
fi
echo "$venv/bin/python"
