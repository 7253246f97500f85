#!/usr/bin/env bash
# Writes the documentation of a library and runs its examples, in place of rustdoc: `RUSTDOC=… cargo
# test --doc`. `cargo doc` would check all dependencies first, which takes minutes; this uses the
# built ones. The documentation is thrown away: only its warnings matter.
set -euo pipefail

words=()
is_value=
for word; do
    case $word in
        --test) ;;
        --test-*) is_value=1 ;;
        *) [[ $is_value ]] || words+=("$word") && is_value= ;;
    esac
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
[[ " $* " != *' --test '* ]] || rustdoc "${words[@]}" --out-dir "$out" -D warnings
rustdoc "$@"
