#!/usr/bin/env bash
# A translated document X.zh.md shows the same programs, outputs, commands and pictures as X.md: who
# changes one of them is told to change the other.
# Usage: translations.sh SOURCE_DIR
set -euo pipefail

# What does not depend on the language: blocks between ```, indented commands without what is said of
# them, and the targets of pictures (X.zh.svg is X.svg with its words in Chinese).
shown() {
    awk '/^```/ { fenced = !fenced }
         fenced { print; next }
         sub(/^    /, "") && /^(\.\/|tapestry |cmake )/ { sub(/  +.*/, ""); print }
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
