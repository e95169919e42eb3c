# Shows the progress of a long command and the time left: used by ./demo and ./check while packages
# are installed and while ninja builds.
#
# Sourced by bash; like bootstrap.sh, which uses it, it must run on a bare Debian 12.
# shellcheck shell=bash

# Not on a terminal, prints a line after this many seconds.
: "${TAPESTRY_PROGRESS_SECONDS:=15}"

# with_progress READER LOG COMMAND... runs the command, keeps its output in LOG and shows its
# progress: on a terminal on one line, which is rewritten, otherwise line by line. If the command
# fails, so does this, after showing the end of its output.
#
# READER, one of the functions below, is called with every line of the output; it sets `steps_done`
# and `steps`.
with_progress() {
    local reader=$1 log=$2 status=0
    shift 2
    "$@" 2>&1 | follow "$reader" "$log" || status=$?  # pipefail: the command's
    if ((status != 0)); then
        tail -n 40 "$log" >&2
        echo "(all of it: $log)" >&2
    fi
    return "$status"
}

follow() {
    local reader=$1 log=$2 line status
    local steps_done=0 steps=0 begin=$SECONDS last=$SECONDS
    : >"$log"
    while true; do
        status=0
        IFS= read -r -t 1 line || status=$?
        if ((status == 0)); then
            printf '%s\n' "$line" >>"$log"
            "$reader" "$line"
        else
            printf '%s' "$line" >>"$log"  # what has come of a line so far
            ((status > 128)) || break     # no timeout but the end
        fi
        if [[ -t 1 ]]; then
            printf '\r    %s\033[K' "$(progress)"
        elif ((SECONDS - last >= TAPESTRY_PROGRESS_SECONDS)); then
            echo "    $(progress)"
            last=$SECONDS
        fi
    done
    [[ ! -t 1 ]] || printf '\r\033[K'
    ((steps == 0)) || echo "    $steps_done of $steps done in $(duration $((SECONDS - begin)))"
}

# "57 of 204 done, about 3 min left": assumes that the remaining steps take as long as the past
# ones.
progress() {
    local passed=$((SECONDS - begin))
    if ((steps == 0)); then
        echo "$(duration "$passed") so far"
    elif ((steps_done < 3)); then
        echo "$steps_done of $steps done"
    else
        local left=$((passed * (steps - steps_done) / steps_done))
        echo "$steps_done of $steps done, about $(duration "$left") left"
    fi
}

duration() {
    if (($1 < 100)); then
        echo "$1 s"
    else
        echo "$((($1 + 30) / 60)) min"
    fi
}

# ninja's "[57/204] Building ...". A different total means another run: CMake ran again as part of
# the first.
ninja_steps() {
    [[ $1 =~ ^\[([0-9]+)/([0-9]+)\]\  ]] || return 0
    ((BASH_REMATCH[2] == steps)) || begin=$SECONDS
    steps_done=${BASH_REMATCH[1]} steps=${BASH_REMATCH[2]}
}

# apt-get fetches, unpacks and sets up each package.
apt_steps() {
    if [[ $1 =~ ^([0-9]+)\ upgraded,\ ([0-9]+)\ newly\ installed ]]; then
        steps_done=0 steps=$((3 * (BASH_REMATCH[1] + BASH_REMATCH[2])))
        begin=$SECONDS
    elif [[ $1 =~ ^(Get:|Unpacking |Setting up ) ]]; then
        steps_done=$((steps_done + 1))
    fi
}
