// A checker's options as other languages pass them: one JSON object, so no structure needs the same
// layout on both sides. Internal to autograd/capi.
#pragma once

#include <tapestry/autograd/check/plain.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapestry::capi {

/// What to check, and how.
struct Request {
    GradcheckOptions options = {};
    Shape shape = {};                 ///< of x; empty: a vector
    std::vector<Shape> inputs = {};   ///< if x consists of several, concatenated; empty: one
    Shape output = {};                ///< of f(x); empty: a vector
    std::vector<Shape> outputs = {};  ///< of a kernel, if it has several; empty: one
    bool conventions = true;          ///< whether to call it in every way as well
    std::string subject = {};         ///< name in the report; empty: the kind of check
};

/// Selects the available options: those of a check by differences, of the same for a kernel, which
/// may have several outputs, or of a comparison of two types.
enum class Purpose { check, kernel, comparison };

/// Parses `{"certainty": 0.9999, "bounds": [0, null], "shape": [2, 3]}`; all defaults for "".
/// Throws ValueError for invalid JSON, for an unknown name, and for a value of the wrong kind.
Request read_request(std::string_view json, Purpose purpose = Purpose::check);

}  // namespace tapestry::capi
