#!/usr/bin/env bash
# Builds the Debian package of this version: a release build, man pages, completions, units and
# changelog, put together by cargo-deb, which is installed if it is missing. Checks the units and
# the package. Prints the name of the package, which is in target/debian.
#
#   tools/package.sh               everything
#   tools/package.sh --no-build    the package of the binary that is in target/release
#
# Needs Debian's packages `gcc`, `dpkg-dev`, `python3` and `systemd`, and `lintian` for the last
# check.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ${1-} != --no-build ]]; then
    cargo build --release --locked --package roster >&2
fi
cargo deb --version >/dev/null 2>&1 || cargo install --locked cargo-deb >&2

release=${CARGO_TARGET_DIR:-target}/release
place=$release/package
rm -rf "$place"
mkdir -p "$place"
"$release/roster" man "$place/man"
gzip -9n "$place"/man/*
for shell in bash zsh fish; do
    "$release/roster" completions "$shell" >"$place/roster.$shell"
done

# The units of deploy/systemd, with the paths of a package and an owner of the data that stays when
# the package is removed.
sed -e '1s|.*|# Installed by the package; change it with systemctl edit roster.|' \
    -e 's|^ExecStart=.* serve |ExecStart=/usr/bin/roster serve --config /etc/roster/roster.toml |' \
    -e 's|^DynamicUser=true|User=roster\nGroup=roster|' \
    deploy/systemd/roster.service >"$place/roster.service"
sed -e '1s|.*|# The address that Roster listens on; change it with systemctl edit roster.socket.|' \
    deploy/systemd/roster.socket >"$place/roster.socket"
tools/systemd.sh "$place" >&2

version=$(cargo metadata --no-deps --format-version 1 --locked |
    python3 -c 'import json, sys
packages = json.load(sys.stdin)["packages"]
print(next(package["version"] for package in packages if package["name"] == "roster"))')
# The date of the sources, so that a second build is equal.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
maintainer=$(sed -n 's/^maintainer = "\(.*\)"$/\1/p' crates/roster/Cargo.toml)
gzip -9n >"$place/changelog.Debian.gz" <<CHANGELOG
roster ($version-1) stable; urgency=medium

  * Roster $version. changelog.gz in the same directory lists what changed.

 -- $maintainer  $(date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %T +0000')
CHANGELOG
gzip -9n <CHANGELOG.md >"$place/changelog.gz"
tools/sbom.py | gzip -9n >"$place/roster.sbom.json.gz"

# Quiet, because it warns that it found no units, which are assets here.
package=$(cargo deb --quiet --package roster --no-build --locked)
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error "$package" >&2
else
    echo 'lintian is not installed: the package is not checked' >&2
fi
echo "$package"
