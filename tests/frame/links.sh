#!/usr/bin/env bash
# Every link from a document to a file of the tree leads to an existing file, so renaming a chapter
# reveals its references; and a fragment (FILE.md#a-heading, #a-heading) to a heading of that document, by
# GitHub's rule. Links to the web are not checked. The index, docs/README.md, links each document of docs once.
# Usage: links.sh SOURCE_DIR
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
command -v perl >/dev/null || skip "perl is not installed"
set -- "$(realpath "$1")"  # find does not enter a link

# broken FOLDER: "FILE:LINE: TARGET" for each; status 1 if there are any.
# shellcheck disable=SC2016  # the text of awk's program is awk's
broken() {
    local found=0 place target
    while IFS=$'\t' read -r place target; do
        [[ -e $(dirname "${place%:*}")/$target ]] && continue
        echo "${place#"$1/"}: $target"
        found=1
    done < <(find "$1" -maxdepth 1 -name '*.md' -print0 | cat - <(find "$1/docs" -name '*.md' -print0) |
        xargs -0 awk -v OFS='\t' '
            FNR == 1 { fenced = 0 }
            /^```/ { fenced = !fenced }
            fenced { next }
            {
                line = $0
                while (match($0, /\]\([^) ]+\)/)) {
                    target = substr($0, RSTART + 2, RLENGTH - 3)
                    $0 = substr($0, RSTART + RLENGTH)
                    sub(/#.*/, "", target)
                    if (target != "" && target !~ /^[a-z]+:/) print FILENAME ":" FNR, target
                }
                while (match(line, /(src|srcset)="[^"]+"/)) {
                    target = substr(line, RSTART, RLENGTH - 1)
                    line = substr(line, RSTART + RLENGTH)
                    sub(/^[a-z]+="/, "", target)
                    print FILENAME ":" FNR, target
                }
            }')
    ((found == 0))
}

# headless FOLDER: "FILE:LINE: TARGET" for each link whose heading is missing; status 1 if there are any.
headless() {
    local documents
    mapfile -t documents < <(find "$1" -maxdepth 1 -name '*.md'; find "$1/docs" -name '*.md')
    # shellcheck disable=SC2016  # the text of perl's program is perl's
    perl -CSDA -Mutf8 -MFile::Spec -e '
        my ($root, %anchors, @links) = shift;
        for my $file (@ARGV) {
            open(my $in, "<:encoding(UTF-8)", $file) or die "$file: $!";
            my ($fenced, %count);
            while (<$in>) {
                $fenced = !$fenced if /^```/;
                next if $fenced;
                if (/^#+ +(.*?)\s*$/) {
                    my $slug = lc($1 =~ s/\[([^\]]*)\]\([^)]*\)/$1/gr);
                    $slug =~ s/[^\w\- ]//g;
                    $slug =~ s/ /-/g;
                    my $n = $count{$slug}++;
                    $anchors{$file}{$n ? "$slug-$n" : $slug} = 1;
                }
                $anchors{$file}{$1} = 1 while /<a (?:id|name)="([^"]+)"/g;
                push @links, [$file, $., $1, $2] while /\]\(([^) #:]*)#([^) ]+)\)/g;
            }
        }
        my $wrong = 0;
        for (@links) {
            my ($file, $line, $target, $heading) = @$_;
            my ($volume, $folder) = File::Spec->splitpath($file);
            my $path = $target eq "" ? $file : $folder . $target;
            1 while $path =~ s{[^/]+/\.\./}{};
            next if $path !~ /\.md$/ || !-e $path || $anchors{$path}{$heading};
            print substr($file, length($root) + 1), ":$line: $target#$heading\n";
            $wrong = 1;
        }
        exit $wrong' "$1" "${documents[@]}"
}

# unlisted FOLDER: the documents of docs that the index does not link exactly once; status 1 if
# there are any.
unlisted() {
    local found=0 document
    for document in "$1"/docs/*.md; do
        document=$(basename "$document")
        [[ $document != README.md && $(grep -oF "]($document)" "$1/docs/README.md" | wc -l) != 1 ]] || continue
        echo "docs/README.md does not link $document once"
        found=1
    done
    ((found == 0))
}

# First checks that planted violations are found.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir "$planted/docs"
printf '%s\n' '[here](docs/a.md#x), [a heading](docs/a.md#it-is-x_2-so), [there](docs/gone.md)' '```' '[no](link.md)' '```' >"$planted/README.md"
# shellcheck disable=SC2016  # the heading's code is a document's
printf '%s\n' '[up](../README.md), [web](https://example.org), [b](#b), ![p](p.svg)' \
    '<img alt="up" src="../README.md"><source srcset="q.png">' '## It is `x_2`: so' '[so](#it-is-x_2-so)' \
    >"$planted/docs/a.md"
said=$(broken "$planted") && { echo "FAILED: nothing was found where something is wrong"; exit 1; }
[[ $said == $'README.md:1: docs/gone.md\ndocs/a.md:1: p.svg\ndocs/a.md:2: q.png' ]] || { echo "FAILED: found:" "$said"; exit 1; }

said=$(headless "$planted") && { echo "FAILED: no heading was found missing"; exit 1; }
[[ $said == $'README.md:1: docs/a.md#x\ndocs/a.md:1: #b' ]] || { echo "FAILED: found:" "$said"; exit 1; }

printf '%s\n' '[a](a.md), [b](b.md), [b](b.md)' >"$planted/docs/README.md"
touch "$planted/docs/b.md" "$planted/docs/c.md"
said=$(unlisted "$planted") && { echo "FAILED: nothing was found in the index"; exit 1; }
[[ $said == $'docs/README.md does not link b.md once\ndocs/README.md does not link c.md once' ]] ||
    { echo "FAILED: found:" "$said"; exit 1; }

broken "$1" || exit 1
headless "$1" || exit 1
unlisted "$1" || exit 1
echo "all links lead somewhere"
