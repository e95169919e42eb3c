#!/usr/bin/env bash
# docs/course/library.md, the library on one page, has every function and class of the library that a
# program of the course uses, in `code`; and its translation has the same names. Functions are those
# that a header declares outside of classes (members are explained where they are called).
# Usage: course_library.sh SOURCE_DIR
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
command -v perl >/dev/null || skip "perl is not installed"

# used FOLDER: the names, one per line.
# shellcheck disable=SC2016  # the text of perl's program is perl's
used() {
    local headers pages
    mapfile -t headers < <(find "$1"/core "$1"/autograd "$1"/ops "$1"/nn "$1"/examples/stories -name '*.h' | sort)
    mapfile -t pages < <(find "$1/docs/course" -name '[0-9]*.md' ! -name '*.zh.md' | sort)
    perl -e '
        my ($n, %declared, %used) = shift;
        local $/;
        for my $file (splice @ARGV, 0, $n) {
            open(my $in, "<", $file) or die "$file: $!";
            my $text = <$in>;
            $declared{$1} = 1 while $text =~ /^(?:\w[\w:<>,&* ]* |template.*\n\w[\w:<>,&* ]* )[&*]*(\w+)\(/gm;
            $declared{$1} = 1 while $text =~ /^ {0,4}(?:class|struct|enum class) (\w+)(?: final)?(?: :| \{)/gm;
        }
        for my $file (@ARGV) {
            open(my $in, "<", $file) or die "$file: $!";
            my $text = <$in>;
            while ($text =~ /^```cpp\n(.*?)^```/gms) {
                my $code = $1;
                $code =~ s{//.*}{}g;
                $code =~ s/"(?:\\.|[^"\\])*"/""/g;
                my %own;
                $own{$1} = 1 while $code =~ /\b(?!return |else |new )[A-Za-z_:]+[*&>]* (\w+) ?[=({),]/g;
                $own{$1} = 1 while $code =~ /\b(?:struct|class|using) (\w+)/g;
                while ($code =~ /(?<![\w.])((?:\w+::)?)(\w+)(?= ?[({<])/g) {
                    my ($scope, $name) = ($1, $2);
                    next if $scope =~ /^(?:std|fmt|xsimd)::/ || $name =~ /^(?:if|for|while|switch|return|int|double|float|main)$/;
                    $used{$name} = 1 if $declared{$name} && !$own{$name};
                }
                while ($code =~ /(?<![\w.:])([A-Z]\w+)\b/g) { $used{$1} = 1 if $declared{$1} && !$own{$1} }
            }
        }
        print map { "$_\n" } sort keys %used' "${#headers[@]}" "${headers[@]}" "${pages[@]}"
}

# shellcheck disable=SC2016
# named PAGE: all words in `code`, one per line.
named() { grep -oE '`[^`]+`' "$1" | grep -oE '\w+' | sort -u; }

# First checks that a planted name is found missing.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted"/{core,autograd,ops,nn,examples/stories,docs/course}
printf '%s\n' 'Tensor twice(const Tensor& x);' 'class Tensor {' '    int size() const;' '};' >"$planted/core/a.h"
# shellcheck disable=SC2016
printf '%s\n' '```cpp' 'int mine(int x) { return x; }  // once(' 'int main() { Tensor x; mine(twice(x).size()); }' '```' \
    >"$planted/docs/course/1-a.md"
[[ $(used "$planted") == $'Tensor\ntwice' ]] || { echo "FAILED: found:" "$(used "$planted")"; exit 1; }

wrong=0
for page in library.md library.zh.md; do
    missing=$(comm -23 <(used "$1" | sort) <(named "$1/docs/course/$page"))
    [[ -z $missing ]] || { echo "$page does not have: ${missing//$'\n'/ }"; wrong=1; }
done
diff <(named "$1/docs/course/library.md") <(named "$1/docs/course/library.zh.md") || {
    echo "FAILED: library.zh.md (>) has other names than library.md (<)"
    wrong=1
}
((wrong == 0)) || exit 1
echo "$(used "$1" | wc -l) names, all on the page"
