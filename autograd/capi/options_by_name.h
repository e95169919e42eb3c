// A checker's options as other languages write them: one JSON object, for which no structure has to
// be laid out alike on both sides. Internal to autograd/capi.
#pragma once

#include <tapestry/autograd/check/plain.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::capi {

/// What is checked, and how.
struct Request {
    GradcheckOptions options = {};
    Shape shape = {};                ///< of x; empty: a vector
    std::vector<Shape> inputs = {};  ///< where x is several, one behind the other; empty: one
    Shape output = {};               ///< of f(x); empty: a vector
    std::string subject = {};        ///< what the report calls it; empty: what the check does
};

/// Which options there are: for a check by differences all, for a comparison of two types those
/// that have a meaning there.
enum class Purpose { check, comparison };

/// Of `{"certainty": 0.9999, "bounds": [0, null], "shape": [2, 3]}`; all defaults for "". Throws
/// ValueError for what is not JSON, for a name it does not know, and for a value of another kind
/// than the name asks for.
Request read_request(std::string_view json, Purpose purpose = Purpose::check);

}  // namespace tapestry::capi
