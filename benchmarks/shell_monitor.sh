#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A stand-in for the monitor of a shell agent of nova-compute: it loads the shell library of
# resource-agents where that is installed, reads Nova's configuration, looks at the process, and
# whether it has a connection to the message bus. awk reads the configuration: crudini, which
# such agents run, is a Python program and takes longer than all the rest.

: "${OCF_ROOT:=/usr/lib/ocf}"
library="$OCF_ROOT/lib/heartbeat/ocf-shellfuncs"
if [ -r "$library" ]; then
    . "$library"
else
    OCF_SUCCESS=0 OCF_ERR_GENERIC=1 OCF_ERR_CONFIGURED=6 OCF_NOT_RUNNING=7
    ocf_log() { shift; echo "$*" >&2; }
fi

# The last value of an option of [DEFAULT].
option() {
    awk -F ' *= *' -v name="$1" '
        /^\[/ { inside = ($0 == "[DEFAULT]") }
        inside && $1 == name { value = substr($0, index($0, "=") + 1); sub(/^ +/, "", value) }
        END { print value }' "$OCF_RESKEY_config"
}

# Whether the process $1 has an established connection to the port $2.
is_connected() {
    if command -v ss >/dev/null 2>&1; then
        ss -Htnp state established "( dport = :$2 )" | grep -q "pid=$1,"
        return
    fi
    hex=$(printf ':%04X' "$2")
    inodes=$(awk -v port="$hex" '$4 == "01" && substr($3, length($3) - 4) == port { print $10 }' \
        "/proc/$1/net/tcp" "/proc/$1/net/tcp6")
    for inode in $inodes; do
        ls -l "/proc/$1/fd" | grep -q "socket:\[$inode\]" && return 0
    done
    return 1
}

monitor() {
    file=${OCF_RESKEY_pid:-$HA_RSCTMP/nova-compute-$OCF_RESOURCE_INSTANCE.pid}
    [ -r "$file" ] || return $OCF_NOT_RUNNING
    read -r pid rest <"$file"
    kill -0 "$pid" 2>/dev/null || return $OCF_NOT_RUNNING
    tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -F "$OCF_RESKEY_binary" || return $OCF_NOT_RUNNING
    url=$(option transport_url)
    [ -n "$url" ] || return $OCF_ERR_CONFIGURED
    address=${url##*@}
    port=${address##*:}
    is_connected "$pid" "${port%%/*}" && return $OCF_SUCCESS
    ocf_log err "nova-compute (process $pid) has no connection to the message bus"
    return $OCF_ERR_GENERIC
}

monitor
