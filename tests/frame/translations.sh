#!/usr/bin/env bash
# A translated document X.zh.md shows the same programs, outputs, commands and pictures as X.md, and its tables
# have the same rows, so both must be changed together. And its emphasis is seen by GitHub, which shows the marks
# of *重：*的 because a Chinese mark in front of the last * is followed by a letter; *重*：的 is right.
# Usage: translations.sh SOURCE_DIR
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
command -v perl >/dev/null || skip "perl is not installed"

# The language-independent contents: blocks between ```, the sizes of tables, indented commands without their
# explanations, and the targets of pictures (X.zh.svg is X.svg with Chinese words).
shown() {
    awk '/^```/ { fenced = !fenced }
         fenced { print; next }
         /^\|/ { print "a row of " gsub(/\|/, "") - 1 " cells"; next }
         sub(/^    /, "") && /^(\.?\/|build\/|tests\/|tapestry |cmake |echo |awk |npm |fasttext )/ { sub(/  +.*/, ""); print }
         sub(/^!\[[^]]*\]/, "") { sub(/\.zh\.svg/, ".svg"); print }' "$1"
}

# The lines of a document with emphasis that GitHub would show as asterisks.
unseen_emphasis() {
    # shellcheck disable=SC2016  # the text of perl's program is perl's
    perl -CSD -ne '
        $fenced = !$fenced if /^```/;
        next if $fenced || /^    /;
        s/`[^`]*`|\$[^\$]*\$|\\\*/x/g;
        while (/(?<before>[^*]|^)(?<mark>\*{1,2})(?<text>[^*]+)\k<mark>(?=(?<after>.?))/g) {
            my %m = %+;
            next unless $m{text} =~ /^\p{P}/ && $m{before} =~ /[\p{L}\p{N}]/ ||
                        $m{text} =~ /\p{P}$/ && $m{after} =~ /[\p{L}\p{N}]/;
            print "$.: $m{mark}$m{text}$m{mark}$m{after}\n";
        }' "$1"
}

found=$(printf '%s\n' '*重：*的，**轻。** 的 `*重：*的`' '很*“重”*' '*重*：的，*轻*' | unseen_emphasis /dev/stdin)
[[ $found == $'1: *重：*的\n2: *“重”*' ]] || { echo "FAILED: found \"$found\""; exit 1; }

documents=0
failures=0
while IFS= read -r translation; do
    documents=$((documents + 1))
    original=${translation%.zh.md}.md
    if ! diff <(shown "$original") <(shown "$translation"); then
        echo "DIFFERENT: $translation (>) does not show what $original (<) does"
        failures=$((failures + 1))
    fi
    while IFS= read -r line; do
        echo "$translation:$line: GitHub shows these asterisks"
        failures=$((failures + 1))
    done < <(unseen_emphasis "$translation")
done < <(find "$1/README.zh.md" "$1/docs" -name '*.zh.md' | sort)

echo "$documents translations, $failures failures"
[[ $documents -gt 0 && $failures -eq 0 ]]
