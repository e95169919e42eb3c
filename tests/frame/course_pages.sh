#!/usr/bin/env bash
# Rules for a chapter of the course. Its length is free, but nowhere do more than 450 words follow one
# another without something to look at: a program, an output, a formula, a picture, a table or a list. At
# least one picture is from docs/course/pictures, with words in the page's language; every picture there
# is shown by a page or the README. An inline formula follows a space, because otherwise GitHub shows its
# dollar signs. A translation has Chinese characters. Each row of a scoreboard (a table that begins
# "| scoreboard |", "| 记分牌 |") has the figures that a program of this or an earlier chapter prints:
# "MODEL: N parameters, loss L". A page's scoreboard continues the one before it by at least a row.
# A chapter says in front what it needs, and ends with a summary, usual misunderstandings, and five to
# seven questions in three grades, numbered through, each with its answer folded away below it. A line
# "> TEXT" quotes what a model writes in a program's output, on any page.
# Usage: course_pages.sh SOURCE_DIR
set -euo pipefail

# The names of the pictures on a page.
pictures() { sed -nE 's/^!\[[^]]*\]\(pictures\/([^)]*)\)$/\1/p' "$1"; }

# The lines of formulas that GitHub would not recognize.
unseen_formulas() {
    awk '/^```/ { fenced = !fenced }
         fenced || /^\$\$/ { displayed = !fenced && gsub(/\$\$/, "") == 1; next }
         displayed { displayed = !/\$\$$/; next }
         {
             gsub(/`[^`]*`/, "")
             n = split($0, part, "$")
             for (i = 1; i < n; i += 2) if (part[i] !~ /(^|[ |])$/) { print FNR; next }
         }' "$1"
}

# The lines at which a page has had more than 450 words in a row.
long_stretches() {
    awk '/^```/ { fenced = !fenced }
         fenced || /^(\$\$|\||!\[)/ || /^ *([-*]|[0-9]+\.) / { words = 0; next }
         { words += NF; if (words > 450) { print FNR; words = 0 } }' "$1"
}

# The rows of a page's scoreboard as programs print them.
scoreboard() {
    awk -F ' *[|] *' '/^\| (scoreboard|记分牌) / { inside = 1; next }
         !/^\|/ { inside = 0 }
         inside && !/^\|-/ { gsub(/（.*|`/, "", $2); print $2 ": " $4 " parameters, loss " $5 }' "$1"
}

# check_scoreboards PAGE...: the chapters in order; one line per violation.
check_scoreboards() {
    local page printed='' rows=0 row n
    for page; do
        printed+=$(grep -E '^[^|]+: [0-9]+ parameters, loss [0-9.]+$' "$page" || true)$'\n'
        n=$(scoreboard "$page" | wc -l)
        ((n == 0 || n > rows)) || echo "$(basename "$page"): the scoreboard does not grow"
        ((n == 0)) || rows=$n
        while read -r row; do
            grep -qxF "$row" <<<"$printed" || echo "$(basename "$page"): no program prints \"$row\""
        done < <(scoreboard "$page")
    done
    ((rows > 0)) || echo "no scoreboard"
}

# questions PAGE: what is missing of its frame, a line each.
questions() {
    local heading headings
    if [[ $1 == *.zh.md ]]; then
        headings=('## 小结' '## 常见的误解' '## 问题' '### 想一想' '### 推一推' '### 跑一跑，改一改')
        grep -qF '*需要*：' "$1" || echo "no line of what it needs"
    else
        headings=('## In short' '## Often misunderstood' '## Questions' '### Think' '### Derive' '### Run and change')
        tr "\n" " " <"$1" | grep -qF "*You need:*" || echo "no line of what it needs"
    fi
    for heading in "${headings[@]}"; do grep -qxF "$heading" "$1" || echo "no heading \"$heading\""; done
    ! grep -qE '\*(Answer|答案)[:：]?\*' "$1" || echo "an answer that is not folded away"
    awk -v first="${headings[2]}" '
        $0 == first { inside = 1; next }
        /^## / { inside = 0 }
        !inside { next }
        /^[0-9]+\. / { if ($0 + 0 != ++asked) print "question " asked " has the number " $0 + 0
                       if (open) print "question " asked - 1 " has no answer"
                       open = 1 }
        /^   <details><summary>/ { if (!open) print "two answers to question " asked; open = 0; ++folded }
        /^   <\/details>$/ { ++closed }
        END {
            if (open) print "question " asked " has no answer"
            if (folded != closed) print folded + 0 " answers begin, " closed + 0 " end"
            if (asked < 5 || asked > 7) print asked + 0 " questions"
        }' "$1"
}

# check COURSE: one line per violation; status 1 if there are any.
check() {
    local wrong=0 page pages language outputs characters shown svg line
    say() { echo "$(basename "$1"): $2"; wrong=1; }
    for page in "$1"/[0-9]*.md; do
        if [[ $page == *.zh.md ]]; then
            characters=$(LC_ALL=C.UTF-8 grep -oP '\p{Han}' "$page" | wc -l)
            ((characters > 0)) || say "$page" "no Chinese character"
            shown=$(pictures "$page" | grep -c '\.zh\.svg$' || true)
        else
            while read -r line; do
                say "$page" "line $line: more than 450 words in a row with nothing to look at"
            done < <(long_stretches "$page")
            shown=$(pictures "$page" | grep -vc '\.zh\.svg$' || true)
        fi
        while read -r line; do say "$page" "line $line: no space before a formula"; done < <(unseen_formulas "$page")
        while read -r line; do say "$page" "$line"; done < <(questions "$page")
        ((shown > 0)) || say "$page" "no picture of its own"
        [[ $shown == "$(pictures "$page" | wc -l)" ]] || say "$page" "a picture in the other language"
    done
    # shellcheck disable=SC2016  # the quotes are a page's
    outputs=$(cat "$1"/[0-9]*.md | sed -n '/^```text$/,/^```$/p')
    while IFS=: read -r page line; do
        grep -qF -- "$line" <<<"$outputs" ||
            say "$page" "no program writes \"$line\""
    done < <(grep -E '^> ' "$1"/[0-9]*.md | sed 's/:> /:/')
    for svg in "$1"/pictures/*.svg; do
        grep -qF "](pictures/$(basename "$svg"))" "$1"/[0-9]*.md ||
            grep -qsF "](docs/course/pictures/$(basename "$svg"))" "$1"/../../README*.md ||
            say "$svg" "shown nowhere"
    done
    for language in '' zh; do
        mapfile -t pages < <(find "$1" -name "[0-9]*${language:+.$language}.md" | sort -V)
        [[ -n $language ]] || mapfile -t pages < <(printf '%s\n' "${pages[@]}" | grep -v '\.zh\.md$')
        while read -r line; do echo "$line"; wrong=1; done < <(check_scoreboards "${pages[@]}")
    done
    ((wrong == 0))
}

# First checks that planted violations are found.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir "$planted/pictures"
touch "$planted/pictures/a.svg" "$planted/pictures/b.svg"
{ seq 440; echo '![a](pictures/a.svg)'; seq 460
  printf '%s\n' 'A: 3 parameters, loss 1.5' '' '| scoreboard | sees | parameters | loss |' '|---|---|---:|---:|' \
      '| A | a letter | 3 | 1.5 |' '| B | two | 4 | 1.5 |' '*You need:* 0. *Answer:* no.' '## In short' \
      '## Often misunderstood' '## Questions' '### Think' '### Derive' '1. Why?' '3. How?' '' '> a text' \
      '   <details><summary>Answer</summary>' ''; } >"$planted/1-one.md"
# shellcheck disable=SC2016  # the dollars are the page's
printf '%s\n' '字，$x$' '字 $x$，`$`' '![a](pictures/a.svg)' >"$planted/1-one.zh.md"
found=$(check "$planted") && { echo "FAILED: nothing was found where something is wrong"; exit 1; }
wanted='1-one.md: line 892: more than 450 words in a row with nothing to look at
1-one.md: no heading "### Run and change"
1-one.md: an answer that is not folded away
1-one.md: question 2 has the number 3
1-one.md: question 1 has no answer
1-one.md: 1 answers begin, 0 end
1-one.md: 2 questions
1-one.zh.md: line 1: no space before a formula
1-one.zh.md: no line of what it needs
1-one.zh.md: no heading "## 小结"
1-one.zh.md: no heading "## 常见的误解"
1-one.zh.md: no heading "## 问题"
1-one.zh.md: no heading "### 想一想"
1-one.zh.md: no heading "### 推一推"
1-one.zh.md: no heading "### 跑一跑，改一改"
1-one.zh.md: 0 questions
1-one.zh.md: no picture of its own
1-one.zh.md: a picture in the other language
1-one.md: no program writes "a text"
b.svg: shown nowhere
1-one.md: no program prints "B: 4 parameters, loss 1.5"
no scoreboard'
[[ $found == "$wanted" ]] || { echo "FAILED: found:" "$found"; exit 1; }

check "$1/docs/course" || exit 1
echo "$(find "$1/docs/course" -name '[0-9]*.md' | wc -l) pages, each with pictures and without long stretches of text"
