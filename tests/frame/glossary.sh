#!/usr/bin/env bash
# The course explains before it uses: no term of docs/course/glossary.md occurs in a chapter before
# the one that explains it, unless its paragraph refers to that chapter ("chapter 9", or a link to
# it). And the chapter that should explain it contains it.
#
# A term is a bold text in the first column; a cell may list several forms, and each may take an s
# or es. Programs, outputs, the list of sources at a chapter's end and the line "Next:" are ignored.
# Lower-case letters in a term also match capitals; "-" and " " are equivalent.
# Usage: glossary.sh SOURCE_DIR
set -euo pipefail
export LC_ALL=C  # a capital I is small otherwise in Turkish

# The paragraphs of a chapter, one per line: FILE:LINE, the chapter's number, the text. List items
# and table rows count as paragraphs.
paragraphs() {
    awk -v OFS='\t' '
        function flush() { if (text != "") print place, chapter, text; text = "" }
        FNR == 1 { flush(); fenced = 0; sources = 0; n = split(FILENAME, path, "/"); chapter = path[n] + 0 }
        /^```/ { fenced = !fenced; flush(); next }
        fenced { next }
        /^#/ { flush(); sources = /^## Where this is in the source/ }
        sources || /^(Next|Back)[: ]/ { next }
        /^ *$/ || /^ *(-|[0-9]+\.) / || /^\|/ { flush() }
        /[^ ]/ {
            if (text == "") { place = FILENAME ":" FNR; text = " " }
            line = $0
            gsub(/[`*]/, "", line)
            gsub(/\\[a-zA-Z]+/, " ", line)  # "P^\top P" is no "top-p"
            gsub(/\t/, " ", line)
            text = text line " "
        }
        END { flush() }' "$@"
}

# The terms: one per line with its chapters, the explaining one first.
terms() {
    awk -F ' *\\| *' -v OFS='\t' '
        /^\|/ && $4 ~ /\[[0-9]+\]/ {
            chapter = $4
            gsub(/\([^)]*\)/, "", chapter)
            gsub(/[^0-9]+/, " ", chapter)
            rest = $2
            while (match(rest, /\*\*[^*]+\*\*/)) {
                print substr(rest, RSTART + 2, RLENGTH - 4), chapter
                rest = substr(rest, RSTART + RLENGTH)
            }
        }' "$1"
}

# check FOLDER: one line per violation; status 1 if there are any.
check() {
    local chapters
    mapfile -t chapters < <(find "$1" -name '[0-9]*.md' ! -name '*.zh.md' | sort -V)
    awk -F '\t' -v folder="$1/" '
        # Puts spaces around every word, so a word can be searched as " word ".
        function words(text) { gsub(/[^A-Za-z0-9'"'"']+/, " ", text); return " " text " " }
        function occurs(term, text) {
            return index(text, " " term " ") || index(text, " " term "s ") || index(text, " " term "es ")
        }
        # The text without longer terms that contain this one: "cross entropy" is not "entropy".
        function without_longer(i, text,    j) {
            for (j = 1; j <= count; ++j) {
                if (j != i && index(" " key[j] " ", " " key[i] " ")) gsub(" " key[j] "(s|es)? ", "  ", text)
            }
            return text
        }
        # Does the text refer to one of the chapters: "chapter 9", "chapters 8 and 9",
        # "(9-attention.md)"?
        function names_one(text, numbers,    list, n, i) {
            n = split(numbers, list, " ")
            for (i = 1; i <= n; ++i) {
                if (text ~ "[Cc]hapters?[^.;:]*[^0-9]" list[i] "([^0-9]|$)") return 1
                if (text ~ "\\(" list[i] "-[a-z-]+\\.md\\)") return 1
            }
            return 0
        }
        NR == FNR {
            term[++count] = $1
            key[count] = words($1)
            key[count] = substr(key[count], 2, length(key[count]) - 2)
            chapters[count] = $2
            chapter[count] = $2 + 0
            next
        }
        {
            as_written = words($3)
            small = tolower(as_written)
            if (index($1, folder) == 1) $1 = substr($1, length(folder) + 1)
            for (i = 1; i <= count; ++i) {
                text = term[i] ~ /[A-Z]/ ? as_written : small
                if (!occurs(key[i], text) || !occurs(key[i], without_longer(i, text))) continue
                if ($2 == chapter[i]) explained[i] = 1
                if ($2 >= chapter[i] || names_one($3, chapters[i])) continue
                print $1 ": \"" term[i] "\" is explained in chapter " chapter[i] " only"
                wrong = 1
            }
        }
        END {
            for (i = 1; i <= count; ++i) {
                if (explained[i]) continue
                print "glossary.md: chapter " chapter[i] " does not have \"" term[i] "\""
                wrong = 1
            }
            exit wrong
        }' <(terms "$1/glossary.md") <(paragraphs "${chapters[@]}")
}

# First checks that planted violations are found.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
cat >"$planted/1-one.md" <<'END'
Tokens come too early, but attention (chapter 2) may: it says where. GPT-2 is early,
as is a cross-
attention that is broken across lines.
END
printf '%s\n' 'A token, *attention*, cross-attention and GPT.' >"$planted/2-two.md"
cat >"$planted/glossary.md" <<'END'
| **attention** | - | [2](2-two.md) |
| **cross-attention** | - | [2](2-two.md) |
| **GPT**, **never said** | - | [2](2-two.md) |
| *early* | - | [2](2-two.md) |
| **token** | - | [2](2-two.md) |
END
found=$(check "$planted") && { echo "FAILED: nothing was found where something is wrong"; exit 1; }
wanted='glossary.md: chapter 2 does not have "never said"'
[[ $found == "$wanted" ]] || { echo "FAILED: found, where its chapter was named:" "$found"; exit 1; }
sed -i 's/ (chapter 2)//' "$planted/1-one.md"
found=$(check "$planted") || true
[[ $(grep -c '^1-one.md:1: ' <<<"$found") == 4 ]] || { echo "FAILED: found:" "$found"; exit 1; }

check "$1/docs/course" || exit 1

# The translation has the same terms, with the same chapters.
diff <(terms "$1/docs/course/glossary.md") <(terms "$1/docs/course/glossary.zh.md") || {
    echo "FAILED: glossary.zh.md (>) does not have the terms of glossary.md (<)"
    exit 1
}
echo "$(terms "$1/docs/course/glossary.md" | wc -l) terms, none before its chapter"
