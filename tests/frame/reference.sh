#!/usr/bin/env bash
# The API reference can be made, and every public member and enumerator has a comment. Skipped, with a message,
# where there is no doxygen.
# Usage: reference.sh SOURCE_DIR
# Read next: docs/reference/build.
set -euo pipefail
source=$1
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
command -v doxygen >/dev/null || skip "doxygen is not installed (apt-get install doxygen)"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
need_programs_in "$out"

# First that the check finds what it looks for.
tree=$out/tree
mkdir -p "$tree"/{core/kernels,docs,nn/pages/web,cmake}
cp -r --no-preserve=mode "$source/docs/reference" "$tree/docs"  # the tree may be read-only
chmod +x "$tree/docs/reference/build"
cp "$source/cmake/public_headers.cmake" "$tree/cmake"
cp "$source/nn/pages/web/colours.css" "$tree/nn/pages/web"
echo '/** @namespace tapestry All. */ /** @defgroup core core */' >"$tree/docs/reference/main.dox"
cat >"$tree/core/shapes.h" <<'END'
// A file.
#pragma once

namespace tapestry {

/// Documented, like what follows without a gap.
void covered(int x);
void also_covered(int x);

void uncovered(int x);

/// A class.
class Square {
public:
    Square(const Square&) = default;
    ~Square();
    /// Covers its overloads only.
    int side() const;
    int side();
    int area() const;
    int depth = 0;  ///< documented

private:
    int hidden_ = 0;
};

/// Some.
enum class Side {
    left,  ///< documented
    right
};

struct Circle;

}  // namespace tapestry
END
sed 's/^\/\/ .*/\/\/ Internal to core./' "$tree/core/shapes.h" >"$tree/core/internal.h"
cp "$tree/core/shapes.h" "$tree/core/kernels/kernel.h"
said=$("$tree/docs/reference/build" "$out/planted" 2>&1) && { echo "FAILED: nothing was found where something is missing"; exit 1; }
expected='core/shapes.h:10: error: Member uncovered(int x) (function) of namespace tapestry is not documented.
core/shapes.h:20: error: Member area() const (function) of class tapestry::Square is not documented.
core/shapes.h:28: error: enumerators without a comment: right'
[[ $said == "$expected" ]] || { printf 'FAILED: found:\n%s\n' "$said"; exit 1; }

"$source/docs/reference/build" "$out/reference" || {
    echo "FAILED: these need a comment (see CONTRIBUTING.md)"
    exit 1
}
for page in index modules annotated classtapestry_1_1Tensor group__ops; do
    [[ -s $out/reference/$page.html ]] || { echo "FAILED: there is no $page.html"; exit 1; }
done
grep -q '#include.*tapestry/core/tensor.h' "$out/reference/classtapestry_1_1Tensor.html" ||
    { echo "FAILED: Tensor's page does not say what to include"; exit 1; }
echo "every public member has a comment"
