#!/usr/bin/env bash
# One rendering per term: the Chinese documents use the word that docs/course/glossary.zh.md gives. In
# README.zh.md and docs, no *.zh.md has
# - a rendering that chinese_terms.txt calls wrong, or
# - an English term in Chinese prose where the glossary has a Chinese word.
# Programs, outputs, `code`, targets of links, and quotations in English are not looked at. English may
# stand next to the Chinese word as its gloss: 词元（token）, *叶子*，leaf，就是.
# Usage: chinese_terms.sh SOURCE_DIR
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)

# check TERMS GLOSSARY FILE...: what is wrong, a line for each; status 1 if anything is. Bytes, not
# characters: every awk reads these.
check() {
    LC_ALL=C awk -F ' *[|] *' '
        # Spaces around every English word, in small letters, as in " key value cache ".
        function words(text) { gsub(/[^A-Za-z0-9]+/, " ", text); return tolower(" " text " ") }
        # The text without what is quoted between two marks, where that is English.
        function without_quotes(text, open, close_,    kept, from, to, inside) {
            kept = ""
            while ((from = index(text, open)) && (to = index(substr(text, from), close_))) {
                inside = substr(text, from + length(open), to - 1 - length(open))
                kept = kept substr(text, 1, from - 1) (inside ~ /[\200-\377]/ ? inside : " ")
                text = substr(text, from + to - 1 + length(close_))
            }
            return kept text
        }
        # The text without its English glosses: （token）, ，leaf，, 也叫 mini-batch.
        function without_glosses(text) {
            gsub(/(也叫|论文里叫) [A-Za-z -]+/, " ", text)
            while (sub(/(（|，|；)[A-Za-z0-9 .-]+(）|，|；|。)/, "，", text)) {}
            return text
        }
        # The text without the phrases of a list.
        function without_phrases(text, list,    phrase, n, j, at) {
            n = split(list, phrase, " ")
            for (j = 1; j <= n; ++j) {
                while ((at = index(text, phrase[j]))) {
                    text = substr(text, 1, at - 1) " " substr(text, at + length(phrase[j]))
                }
            }
            return text
        }
        FILENAME == ARGV[1] && !/^#/ {
            listed[$1] = 1
            right[$1] = $3
            n = split($2, one, " ")
            for (i = 1; i <= n; ++i) {
                if (one[i] == "=") { latin[words($1)] = 1; continue }
                wrong_word[++wrong_words] = one[i]
                term_of[wrong_words] = $1
            }
        }
        FILENAME == ARGV[1] { next }
        FILENAME == ARGV[2] {
            if ($4 !~ /\[[0-9]+\]/) next
            chinese = $2
            gsub(/\*+[^*]+\*+,? */, "", chinese)
            rest = $2
            while (match(rest, /\*+[^*]+\*+/)) {
                form = substr(rest, RSTART, RLENGTH)
                gsub(/\*/, "", form)
                known[form] = 1
                if (chinese ~ /[\200-\377]/ && !(words(form) in latin)) {
                    key[++keys] = words(form)
                    rendering[keys] = chinese
                    phrases[keys] = right[form]
                }
                rest = substr(rest, RSTART + RLENGTH)
            }
            next
        }
        FNR == 1 { fenced = 0; glossary = FILENAME ~ /glossary[^\/]*$/ }
        /^```/ { fenced = !fenced; next }
        fenced || /^    / { next }
        {
            line = $0
            if (glossary) sub(/^\| \*[^|]*\*/, "| ", line)  # the English terms themselves
            gsub(/`[^`]*`/, " ", line)
            gsub(/\$[^$]*\$/, " ", line)
            gsub(/\]\([^)]*\)/, "]", line)
            gsub(/\*/, "", line)
            for (i = 1; i <= wrong_words; ++i) {
                if (!index(without_phrases(line, right[term_of[i]]), wrong_word[i])) continue
                print FILENAME ":" FNR ": \"" wrong_word[i] "\" for " term_of[i]
                wrong = 1
            }
            if (line !~ /[\200-\377]/) next
            prose = without_glosses(without_quotes(without_quotes(line, "“", "”"), "《", "》"))
            for (i = 1; i <= keys; ++i) {
                english = words(without_phrases(prose, phrases[i]))
                singular = substr(key[i], 1, length(key[i]) - 1)
                if (!index(english, key[i]) && !index(english, singular "s ")) continue
                print FILENAME ":" FNR ": \"" substr(singular, 2) "\" for " rendering[i]
                wrong = 1
            }
        }
        END {
            for (term in listed) {
                if (term in known || term ~ /^\(/) continue
                print "chinese_terms.txt: \"" term "\" is not in the glossary"
                wrong = 1
            }
            exit wrong
        }' "$@"
}

# First that the check finds what it looks for.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
cat >"$planted/terms" <<'END'
# a comment
rank | 秩 | 矩阵的秩
token | 令牌
MLP | =
leaf | | Leafs
unknown | 不知道
END
cat >"$planted/glossary" <<'END'
| **token** 词元 | - | [8](8.zh.md) |
| **key-value cache** 键值缓存 | - | [8](8.zh.md) |
| **MLP** 多层感知机 | - | [8](8.zh.md) |
| **rank** 维数 | - | [8](8.zh.md) |
| *leaf* 叶子 | - | [8](8.zh.md) |
END
cat >"$planted/text.zh.md" <<'END'
*词元*（token），*叶子*，leaf，就是；“Every token”，`token`，[词元](token.md)，MLP，矩阵的秩，Leafs。
两个 Tokens 和 key-value cache，令牌，秩。
```text
一个 token
```
END
found=$(check "$planted/terms" "$planted/glossary" "$planted/text.zh.md") &&
    { echo "FAILED: nothing was found where something is wrong"; exit 1; }
wanted="$planted/text.zh.md:2: \"秩\" for rank
$planted/text.zh.md:2: \"令牌\" for token
$planted/text.zh.md:2: \"token\" for 词元
$planted/text.zh.md:2: \"key value cache\" for 键值缓存
chinese_terms.txt: \"unknown\" is not in the glossary"
[[ $found == "$wanted" ]] || { echo "FAILED: found:" "$found"; exit 1; }

cd "$1"
mapfile -t documents < <(find README.zh.md docs -name '*.zh.md' | sort -V)
check "$here/chinese_terms.txt" docs/course/glossary.zh.md "${documents[@]}" ||
    { echo "FAILED: see docs/course/glossary.zh.md and tests/frame/chinese_terms.txt"; exit 1; }
echo "${#documents[@]} Chinese documents, one rendering per term"
