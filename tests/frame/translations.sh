#!/usr/bin/env bash
# A translated document X.zh.md shows the same programs, outputs, commands and pictures as X.md, and its tables
# have the same rows, so both must be changed together.
# Usage: translations.sh SOURCE_DIR
set -euo pipefail

# The language-independent contents: blocks between ```, the sizes of tables, indented commands without their
# explanations, and the targets of pictures (X.zh.svg is X.svg with Chinese words).
shown() {
    awk '/^```/ { fenced = !fenced }
         fenced { print; next }
         /^\|/ { print "a row of " gsub(/\|/, "") - 1 " cells"; next }
         sub(/^    /, "") && /^(\.?\/|build\/|tests\/|tapestry |cmake |echo |awk |npm |fasttext )/ { sub(/  +.*/, ""); print }
         sub(/^!\[[^]]*\]/, "") { sub(/\.zh\.svg/, ".svg"); print }' "$1"
}

documents=0
failures=0
while IFS= read -r translation; do
    documents=$((documents + 1))
    original=${translation%.zh.md}.md
    if ! diff <(shown "$original") <(shown "$translation"); then
        echo "DIFFERENT: $translation (>) does not show what $original (<) does"
        failures=$((failures + 1))
    fi
done < <(find "$1/README.zh.md" "$1/docs" -name '*.zh.md' | sort)

echo "$documents translations, $failures differ"
[[ $documents -gt 0 && $failures -eq 0 ]]
