#!/usr/bin/env bash
# Runs the tests of a release build the way other machines would: another locale, time zone or user, fewer cores, no
# browser, no processor for a while. No test may fail, and a test that is skipped must give a reason (tests/skip.sh).
#
#     anywhere.sh SOURCE_DIR BUILD_DIR [WAY...]      (`.ci/long anywhere`; the ways are listed below)
#
# TAPESTRY_ANYWHERE_TESTS is a regular expression that selects tests (ctest -R). The logs are in BUILD_DIR/anywhere.
# Ways that need something that this machine lacks are skipped with a reason.
# Read next: tests/skip.sh; cmake/verdict.sh.
set -euo pipefail
source=$(realpath "$1") build=$(realpath "$2")
shift 2
wanted=" $* "
unset CLICOLOR_FORCE  # colours would hide ctest's verdict
# shellcheck source=cmake/verdict.sh
. "$source/cmake/verdict.sh"

logs=$build/anywhere
mkdir -p "$logs"
place=$(mktemp -d)
chmod 755 "$place"
trap 'rm -rf "$place"' EXIT
failures=0

# Every way leaves out the tests that it cannot change, by these kinds: all of them together would take two hours, and
# take about 40 minutes so. A test that is in no list runs in every way. What a way leaves out, and why, is beside it.
#
#   computing   depend on the processor only: they compute, and compare numbers with numbers. Nothing built here calls
#               setlocale(), so programs are in the C locale whatever the environment says
#   scripts     compute, too, but by shell scripts: these have temporary files, and read numbers with awk
#   programs    the library and the command, which handle text, files and terminals
#   killing     end or disturb processes at many points: a matter of files and signals; `killed` without scripts
#   building    run compilers, doxygen and binutils, with LC_ALL=C where they read what these say
#   browser     JavaScript, in node and in chromium
computing='ops|ops_odd_rows|torch|autograd|judge|judge_causes|capi.*|examples|example_.*|mutations|mutations_templates|step_allocations'
scripts='emulate|bits|planned_bits|instruction_counts'
programs='core|nn|nn_a_to_g|cli|experiments'
killed='survival|hostile'
killing="$killed|failing_calls|mpirun|mpirun_killed|mpirun_machines"
building='install|documents|compile_errors|reference|isa_reach|hot_loops_.*|weak_symbols_.*'
browser='inspect_pages|page_libraries|bpe_reference|course_figures|tokenizer_json|playground_worker'

is_wanted() { [[ $wanted == "  " || $wanted == *" $1 "* ]]; }

# attempt NAME COMMAND...: the tests under a command, for example env or taskset. Set `tree` for another build
# directory and `without` to the names to leave out, computing ones and their scripts if it is not set. `NAME+MORE`
# belongs to the way NAME.
attempt() { run_tests "$@" || failures=$((failures + 1)); }

# The same; status 1 if a test failed or was skipped without a reason.
run_tests() {
    local name=$1 began=$SECONDS verdict reason bad
    local in=${tree:-$build} chosen=(-E "^(${without-$computing|$scripts})\$")
    shift
    is_wanted "${name%+*}" || return 0
    "$@" ctest --test-dir "$in" --parallel "$(nproc)" "${chosen[@]}" -R "${TAPESTRY_ANYWHERE_TESTS:-.}" \
        --output-on-failure >"$logs/$name.log" 2>&1 </dev/null || true
    verdict=$(grep -E '^[0-9]+% tests passed' "$logs/$name.log") || verdict="ctest gave no verdict"
    echo "$name: $verdict, $((SECONDS - began)) s"
    bad=$(awk '/^The following tests FAILED:/ { on = 1; next } on && NF && !/\(Skipped\)/ && /[0-9]+ - / { print "    " $0 }' \
        "$logs/$name.log")
    skipped_in "$in/Testing/Temporary/LastTest.log" >"$logs/$name.skipped"
    while IFS= read -r reason; do
        [[ $reason != *": no reason given" ]] || bad+=$'\n'"    skipped: $reason"
    done <"$logs/$name.skipped"
    # Skipped only in this way.
    [[ ! -e $logs/plain.skipped ]] || comm -13 "$logs/plain.skipped" "$logs/$name.skipped" | sed 's/^/    skipped: /'
    [[ -n $bad || $verdict != "100% "* ]] || return 0
    echo "$bad"
    return 1
}

# not_here WAY REASON
not_here() { ! is_wanted "$1" || echo "skipped: anywhere: $1: $2"; }

# Copies the tree to a path with a space; ctest's files then refer to the copy.
copy_tree() {
    local copy="$place/a tree" file
    [[ ! -d $copy ]] || return 0
    mkdir -p "$copy/${build#"$source/"}"
    tar -C "$source" --exclude=./build --exclude=./.git -cf - . | tar -C "$copy" -xf -
    cp -r --reflink=auto "$build/." "$copy/${build#"$source/"}"
    while IFS= read -r -d '' file; do
        sed -i "s|$source|$copy|g" "$file"
    done < <(find "$copy" \( -name CTestTestfile.cmake -o -name cmake_install.cmake -o -name CMakeCache.txt \) -print0)
    rm -rf "$copy/${build#"$source/"}/Testing"
}

# All programs on PATH except browsers.
without_browser() {
    local directory
    mkdir "$place/bin"
    while IFS= read -r -d : directory; do
        ln -s -t "$place/bin" "$directory"/* 2>/dev/null || true  # the first of a name stays
    done <<<"$PATH:"
    rm -f "$place"/bin/*chrom*
}

# ---- the ways --------------------------------------------------------------------------------------

locale=(env -u LC_ALL -u LC_MESSAGES -u LC_NUMERIC -u LANGUAGE)
mkdir -p "$place/locales" "$place/a folder" "$place/nobody"
chmod 1777 "$place/nobody"

without='' attempt plain
# in_locale NAME LOCALE
in_locale() {
    if localedef -i "$2" -f UTF-8 "$place/locales/$2.UTF-8" 2>/dev/null; then
        attempt "$1" "${locale[@]}" LOCPATH="$place/locales" LANG="$2.UTF-8" LC_ALL="$2.UTF-8"
    else
        not_here "$1" "no locale can be made here (Debian: locales)"
    fi
}
in_locale german de_DE
# These differ in how shells, awk, sed, sort and Python read letters (a Turkish I is none of i): German has shown
# the others.
compiled="$computing|$programs|$killed"
without=$compiled in_locale turkish tr_TR
without=$compiled attempt utf8 "${locale[@]}" LC_ALL=C.UTF-8
without=$compiled attempt no_locale "${locale[@]}" -u LANG
# Nothing that compiles or is killed looks at a clock on the wall, or at a terminal's width.
without="$computing|$scripts|$killing|$building" attempt zone env TZ=Pacific/Chatham
without="$computing|$scripts|$killing|$building|$browser" attempt columns env COLUMNS=40 LINES=10
attempt no_home env HOME=/nonexistent XDG_CACHE_HOME=
without="$computing|$scripts|$building" attempt home_unset env -u HOME
without=$computing attempt temporary env TMPDIR="$place/a folder"
# shellcheck disable=SC2016  # the inner shell's
without="$computing|$scripts|$building|$browser" attempt private bash -c 'umask 077 && exec "$@"' private
if [[ $(ulimit -Hs) == unlimited ]]; then  # then threads have other stacks than usual
    # shellcheck disable=SC2016
    without="$computing|$scripts|$killing|$building|$browser" attempt stack bash -c 'ulimit -Ss unlimited && exec "$@"' stack
else
    not_here stack "the hard limit of the stack is $(ulimit -Hs) kB"
fi
if [[ -w /dev/shm ]]; then  # its directories are read in another order than ext4's
    shm=$(mktemp -d -p /dev/shm)
    chmod 755 "$shm"
    trap 'rm -rf "$place" "$shm"' EXIT
    without="$computing|$scripts|$building|$browser" attempt tmpfs env TMPDIR="$shm"
else
    not_here tmpfs "/dev/shm cannot be written"
fi
without='' attempt one_core taskset -c "$(taskset -cp $$ | sed -E 's/.*: ([0-9]+).*/\1/')"
without="$building|$browser" attempt three_threads env TAPESTRY_THREADS=3 OMP_NUM_THREADS=3

# Processes that have to wait: those that read clocks or wait for others. Most of what `killing` tests is stopped
# by itself already.
for manner in all one core; do
    without="$computing|$scripts|$killing|$building|$browser" \
        attempt starved+$manner "$source/tests/frame/starved.sh" "$manner" 1
done

if is_wanted no_browser; then without_browser; fi
without="$computing|$scripts|$programs|$killing|$building" attempt no_browser env PATH="$place/bin"

copied=$place/a\ tree/${build#"$source/"}
if is_wanted twice; then
    copy_tree
    # Compilers share nothing but their own files.
    without="$computing|$scripts|$building" run_tests twice env &
    first=$!
    without="$computing|$scripts|$building" tree=$copied attempt twice+copy env
    wait "$first" || failures=$((failures + 1))
fi

if [[ $(id -u) != 0 ]]; then
    not_here nobody "only root can become nobody"
elif is_wanted nobody; then
    copy_tree
    chown -R 65534:65534 "$place/a tree"
    without=$computing tree=$copied attempt nobody setpriv --reuid=65534 --regid=65534 --clear-groups \
        env HOME=/nonexistent TMPDIR="$place/nobody"
fi

((failures == 0)) || { echo "$failures ways with failures; logs in $logs" >&2; exit 1; }
