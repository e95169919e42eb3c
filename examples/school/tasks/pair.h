// A question and its answer, both texts. Read next: translate.h, which learns them.
#pragma once

#include <tapestry/core/random.h>

#include <functional>
#include <string>

namespace tapestry::examples {

struct Pair {
    std::string source, target;
};

using DrawPair = std::function<Pair(bool for_test, Generator& generator)>;

}  // namespace tapestry::examples
