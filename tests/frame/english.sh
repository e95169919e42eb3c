#!/usr/bin/env bash
# The English of the documents, comments and messages reads as its readers would write it: how often each part
# has a phrase of english.txt, in places per 1000 words, stays below that part's limit. Native technical prose
# has about 0.5. A low figure proves little, a high one that a part needs an editor; not every place must be
# changed.
# Usage: english.sh SOURCE_DIR            checks
#        english.sh --list FILE...        the places in these files, each with what to write instead
#        english.sh --sample SOURCE_DIR SEED [N]    N (100) sentences of all parts, drawn at random, for an editor
set -euo pipefail
export LC_ALL=C.UTF-8

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# paragraphs KIND FILE...: "FILE:LINE<tab>TEXT", a line for each paragraph. KIND: markdown (without listings),
# comments (of C++, JavaScript, Python and shell) or messages (strings of at least three words in C++).
paragraphs() {
    local kind=$1
    shift
    awk -v kind="$kind" '
        function flush() {
            if (text ~ /[a-z]/) print place "\t" text
            text = ""
        }
        function add(words) {
            if (text == "") place = FILENAME ":" FNR
            text = text (text == "" ? "" : " ") words
        }
        # Sets before_comment and comment. A mark within a string does not count.
        function split_comment(line,    i, c, quoted) {
            before_comment = line
            comment = ""
            if (!index(line, slashes ? "//" : "#")) return
            for (i = index(line, "\"") ? 1 : index(line, slashes ? "//" : "#"); i <= length(line); ++i) {
                c = substr(line, i, 1)
                if (c == "\\") { ++i; continue }
                if (c == "\"") quoted = !quoted
                if (quoted) continue
                if (slashes ? substr(line, i, 2) == "//" : c == "#" && (i == 1 || substr(line, i - 1, 1) == " ")) {
                    before_comment = substr(line, 1, i - 1)
                    comment = substr(line, i)
                    sub(slashes ? "^//+<?!? ?" : "^#+!?.* ?[-/].*sh$|^# ?", "", comment)
                    return
                }
            }
        }
        FNR == 1 {
            flush()
            fenced = 0
            slashes = FILENAME ~ /\.(h|cpp|c|js|txt)$/
        }
        kind == "markdown" {
            if ($0 ~ /^ *```/) { fenced = !fenced; flush(); next }
            if (fenced || $0 ~ /^(    |<)/ || $0 == "") { flush(); next }
            gsub(/`[^`]*`/, "``")
            gsub(/\]\([^)]*\)/, "]")
            if ($0 ~ /^(\||#)/) { flush(); gsub(/ *\| */, " . "); add($0); flush(); next }
            if ($0 ~ /^ *([-*]|[0-9]+\.) /) { flush(); sub(/^ *([-*]|[0-9]+\.) /, "") }
            sub(/^ +/, "")
            add($0)
            next
        }
        kind == "comments" {
            split_comment($0)
            if (before_comment ~ /[^ ]/ || comment == "" || comment ~ /^(   |--)/) flush()
            if (comment ~ /^(   |--)/ || comment == "") next
            gsub(/`[^`]*`/, "``", comment)
            add(comment)
            if (before_comment ~ /[^ ]/) flush()
            next
        }
        {
            if ($0 !~ /^ *"/) flush()
            if ($0 ~ /^ *#/) next
            split_comment($0)
            line = before_comment
            while (match(line, /"([^"\\]|\\.)*"/)) {
                words = substr(line, RSTART + 1, RLENGTH - 2)
                line = substr(line, RSTART + RLENGTH)
                gsub(/\\n/, " ", words)
                gsub(/\\./, "\x27", words)
                add(words)
                if (line ~ /"/ && line !~ /^ *"/) flush()
            }
        }
        END { flush() }' "$@" | if [[ $kind == messages ]]; then grep -P '\t(\S+ +){2}\S' || true; else cat; fi
}

# all_phrases: the patterns as one, for counting.
all_phrases() { awk -F '\t' '!/^#/ { printf "%s(?:%s)", any++ ? "|" : "", $2 }' "$here/english.txt"; }

# places: those in the paragraphs on stdin, as "FILE:LINE: PHRASE (NAME): INSTEAD".
places() {
    local name pattern instead found given
    given=$(cat)
    while IFS=$'\t' read -r name pattern instead; do
        [[ $name == \#* ]] && continue
        { grep -P -- "$pattern" <<<"$given" || true; } | while IFS=$'\t' read -r place text; do
            { grep -oP -- "$pattern" <<<"$text" || true; } | while IFS= read -r found; do
                echo "$place: \"${found## }\" ($name): $instead"
            done
        done
    done <"$here/english.txt"
}

# rate: "PLACES WORDS" of the paragraphs on stdin.
rate() {
    local text
    text=$(cut -f 2-)
    echo "$({ grep -oP -- "$(all_phrases)" <<<"$text" || true; } | wc -l) $(wc -w <<<"$text")"
}

# within LIMIT PART KIND FILE...: prints the part's rate; status 1 if it is over the limit.
within() {
    local limit=$1 part=$2 kind=$3 found words
    shift 3
    paragraphs "$kind" "$@" >"$scratch/text"
    read -r found words < <(rate <"$scratch/text")
    awk -v found="$found" -v words="$words" -v limit="$limit" -v part="$part" 'BEGIN {
        per_thousand = 1000 * found / (words ? words : 1)
        printf "%-24s %5d places in %6d words: %5.2f per 1000 (at most %s)\n", part, found, words, per_thousand, limit
        exit per_thousand > limit }' || { places <"$scratch/text" | head -n 200; return 1; }
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [[ ${1:-} == --list ]]; then
    shift
    for file; do
        if [[ $file == *.md ]]; then
            paragraphs markdown "$file"
        else
            paragraphs comments "$file"
            if [[ $file =~ \.(h|cpp)$ ]]; then paragraphs messages "$file"; fi
        fi
    done | places
    exit
fi

files() { local folder=$1; shift; find "$folder" -name libraries -prune -o -type f \( "$@" \) -print | sort; }
cpp() { files "$1" -name '*.h' -o -name '*.cpp'; }

if [[ ${1:-} == --sample ]]; then
    cd "$2"
    mapfile -t documents < <(find . -maxdepth 1 -name '*.md' ! -name '*.zh.md' | sort
        find docs -name '*.md' ! -name '*.zh.md' ! -path 'docs/course/*' ! -name experiments.md | sort)
    mapfile -t sources < <(for room in core autograd ops nn examples tests; do cpp "$room"; done)
    { paragraphs markdown "${documents[@]}"; paragraphs comments "${sources[@]}"; paragraphs messages "${sources[@]}"; } |
        awk -F '\t' -v seed="$3" 'BEGIN { srand(seed) } {
            n = split($2, sentences, /[.;] +/)
            for (i = 1; i <= n; ++i) {
                if (split(sentences[i], words, / +/) >= 5) printf "%.9f %s: %s\n", rand(), $1, sentences[i]
            } }' | sort -n >"$scratch/sample"
    head -n "${4:-100}" "$scratch/sample" | cut -d ' ' -f 2-
    exit
fi

# First that the check finds what it looks for, in each kind of text, and nothing in plain English.
cat >"$scratch/plain.md" <<'END'
# The cache
It is slower because it copies the weights; see `nobody` in [the table](alone.md). What is a tape?

    a training goes on, too.
END
cat >"$scratch/stilted.md" <<'END'
A step waits, for
the writer has a thread of its own. What is kept goes on.
END
cat >"$scratch/stilted.cpp" <<'END'
#include "a training goes on.h"
int a = 1;  // Nobody and somebody read "this".
/// The writer's thread, so that
/// the run goes on.
const char* text = "expected an object, found {}"; fail("the page says {}: " // nobody
     "it is told");
END
cat >"$scratch/stilted.sh" <<'END'
#!/usr/bin/env bash
# the others come to the same
echo "#nobody" '# nobody'
END
counted() { paragraphs "$@" | rate; }
expect() {
    local found
    found=$(counted "${@:2}")
    [[ ${found% *} == "$1" ]] || { echo "FAILED: $found for ${*:2}, expected $1"; paragraphs "${@:2}" | places; exit 1; }
}
expect 0 markdown "$scratch/plain.md"
expect 4 markdown "$scratch/stilted.md"
expect 4 comments "$scratch/stilted.cpp"
expect 2 messages "$scratch/stilted.cpp"
expect 1 comments "$scratch/stilted.sh"

cd "$1"
failed=0
check() { within "$@" || failed=1; }
# English originals; the course and what experiments say of themselves keep the voice of their author.
mapfile -t documents < <(find docs -name '*.md' ! -name '*.zh.md' ! -path 'docs/course/*' ! -name experiments.md | sort)
mapfile -t course < <(find docs/course docs/experiments.md -name '*.md' ! -name '*.zh.md' | sort)
mapfile -t commands < <(cpp core; cpp autograd; cpp ops; cpp nn; cpp examples/cli; cpp examples/options; cpp examples/programs)
check 1.5 README markdown README.md
check 1.5 docs markdown "${documents[@]}"
check 1.5 CHANGELOG markdown CHANGELOG.md
check 1.5 CONTRIBUTING markdown CONTRIBUTING.md SECURITY.md
check 1.5 "help and errors" messages "${commands[@]}"
check 3 "course, experiments" markdown "${course[@]}"
for page in docs/course/[0-9]*.md; do
    [[ $page == *.zh.md ]] || check 3 "chapter ${page//[^0-9]/}" markdown "$page"
done
for room in core autograd ops nn examples; do
    mapfile -t sources < <(cpp $room)
    check 2 "comments of $room" comments "${sources[@]}"
done
mapfile -t sources < <(files tests -name '*.h' -o -name '*.cpp' -o -name '*.js' -o -name '*.sh' -o -name '*.py')
check 4 "comments of tests" comments "${sources[@]}"
mapfile -t sources < <(cpp tests)
check 4 "names of tests" messages "${sources[@]}"
exit "$failed"
