#!/usr/bin/env bash
# Installs the Debian package into a fresh Debian root, which debootstrap makes, and uses it there:
# files, man pages and completions, the service with the command line of its unit and as its user,
# the client against it, an upgrade, removal and purge, after which the data is still there.
#
#   tools/acceptance/package.sh PACKAGE.deb [SUITE]
#
# SUITE is bookworm by default. Needs root, Debian's package `debootstrap` and its mirror, which is
# that of this machine's apt. The service has port 7730 of loopback, or that of ROSTER_PORT. systemd
# does not run in such a root, so what it does itself, such as the socket, is not tried.
set -uo pipefail
package=$(realpath -e -- "${1:?the package to install}") || exit 1
suite=${2:-bookworm}
port=${ROSTER_PORT:-7730}
place=$(mktemp -d) || exit 1
root=$place/root
service=
steps=0
faults=0

finish() {
    [[ -z $service ]] || kill "$service" 2>/dev/null
    mountpoint -q "$root/proc" && umount "$root/proc"
    rm -rf "$place"
}
trap finish EXIT

# expect TEXT COMMAND...: the command must succeed.
expect() {
    refuse 0 "$@"
}

# refuse STATUS TEXT COMMAND...: the command must exit with the status.
refuse() {
    local wanted=$1 text=$2 status
    shift 2
    steps=$((steps + 1))
    "$@" >"$place/said" 2>&1
    status=$?
    ((status == wanted)) && return
    faults=$((faults + 1))
    printf 'FAILED: %s: status %s, not %s\n  %s\n' "$text" $status "$wanted" "$*" >&2
    cat "$place/said" >&2
}

inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ROSTER_LISTEN="127.0.0.1:$port" ROSTER_URL="http://127.0.0.1:$port" chroot "$root" "$@"
}

# within TEXT: the shell in the root accepts the text as a test.
within() {
    inside bash -c "$1"
}

# The command of the unit, as its user and with its umask.
start() {
    local unit=$root/usr/lib/systemd/system/roster.service user command
    user=$(sed -n 's/^User=//p' "$unit")
    command=$(sed -n 's/^ExecStart=//p' "$unit")
    # shellcheck disable=SC2086  # Words of a command line.
    (umask 0077 && inside setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs \
        ${command//%S/\/var\/lib}) >"$place/log" 2>&1 &
    service=$!
    for _ in {1..100}; do
        inside roster health >/dev/null 2>&1 && return
        kill -0 "$service" 2>/dev/null || break
        sleep 0.1
    done
    cat "$place/log" >&2
    return 1
}

# SIGTERM; the service must end with status 0.
stop() {
    local process status
    process=$(pgrep --parent "$service" | head -n 1)
    kill "${process:-$service}"
    wait "$service"
    status=$?
    service=
    return $status
}

mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
    awk -v suite="$suite" '$2 == suite && $3 == "main" { print $1; exit }')
debootstrap --variant=minbase --include=adduser,man-db,bash-completion,zsh,fish \
    "$suite" "$root" ${mirror:+"$mirror"} >"$place/debootstrap" 2>&1 ||
    { tail -n 20 "$place/debootstrap" >&2; exit 1; }
mount -t proc proc "$root/proc" 2>/dev/null
cp "$package" "$root/roster.deb"

expect 'the package can be installed' inside dpkg --install /roster.deb
for file in /usr/bin/roster /etc/roster/roster.toml /usr/share/doc/roster/copyright \
    /usr/share/doc/roster/changelog.Debian.gz /usr/lib/systemd/system/roster.socket \
    /etc/systemd/system/multi-user.target.wants/roster.service \
    /etc/systemd/system/sockets.target.wants/roster.socket; do
    expect "there is $file" within "[[ -e $file || -L $file ]]"
done
expect 'the settings are a conffile' \
    within 'dpkg-query --show --showformat="\${Conffiles}" roster | grep -q /etc/roster/roster.toml'
expect 'the data belongs to the service alone' \
    within '[[ $(stat -c "%U %G %a" /var/lib/roster) == "roster roster 700" ]]'
expect 'the user cannot log in' within '[[ $(getent passwd roster) == *:/usr/sbin/nologin ]]'
expect 'the settings are valid' inside roster check-config --config /etc/roster/roster.toml

expect 'each man page is found and rendered without a warning' within '
    for page in /usr/share/man/man1/roster*.1.gz; do
        name=${page##*/} name=${name%.1.gz}
        said=$(MANWIDTH=80 man --warnings "$name" 2>&1 >/tmp/page)
        [[ -z $said && -s /tmp/page ]] || { echo "$name: $said"; exit 1; }
    done; [[ -n $name ]]'
expect 'bash finds the completions' within '
    source /usr/share/bash-completion/bash_completion
    _completion_loader roster; complete -p roster'
expect 'zsh finds the completions' inside zsh -f -c '
    autoload -U compinit && compinit -u -D
    [[ $_comps[roster] == _roster ]] && autoload +X _roster'
expect 'fish completes a command' within '[[ $(fish -c "complete -C \"roster us\"") == users* ]]'

expect 'the service starts with the command of its unit' start
expect 'roster health' inside roster health
expect 'the first key belongs to the service alone' \
    within '[[ $(stat -c "%U %a" /var/lib/roster/first-key) == "roster 600" ]]'
refuse 3 'nobody is served without the key' inside roster users list
key=(--key-file /var/lib/roster/first-key)
expect 'a user can be created' inside roster users create "${key[@]}" username=ada
expect 'users can be listed' within \
    'roster users list --key-file /var/lib/roster/first-key | grep -q ada'
expect 'the key can be stored' within \
    'roster login "$ROSTER_URL" --key-file /var/lib/roster/first-key && roster users get ada'
expect 'the service stops' stop

inside sed -i '$a log_format = "json"' /etc/roster/roster.toml
expect 'the package can be installed again' inside dpkg --install /roster.deb
expect 'an upgrade keeps changed settings' within 'grep -q "^log_format" /etc/roster/roster.toml'

expect 'the package can be removed' inside dpkg --remove roster
expect 'there is no program after removal' within '! type -P roster'
expect 'removal keeps data and settings' \
    within '[[ -s /var/lib/roster/first-key && -e /etc/roster/roster.toml ]]'
expect 'the package can be purged' inside dpkg --purge roster
expect 'purge removes the settings' within '[[ ! -e /etc/roster/roster.toml ]]'
expect 'purge keeps the data' within '[[ $(stat -c %U /var/lib/roster/first-key) == roster ]]'
# Except what this script has put there, and pages that man has kept.
expect 'nothing else is left' within '! find / -xdev -path /proc -prune -o -path /root -prune \
    -o -path /var/cache/man -prune -o -path /var/lib/roster -prune \
    -o -name "*roster*" ! -path /roster.deb -print | grep .'

expect 'the package can be installed on former data' inside dpkg --install /roster.deb
expect 'the service starts on former data' start
expect 'the user is still there' inside roster users get ada
expect 'the service stops again' stop

echo "$(basename "$package") in $suite: $steps steps, $faults failed"
((faults == 0))
