// The page's script and style. Defined in a source that the build makes from web/
// (cmake/web.cmake), with npm's libraries where npm is at hand and without them elsewhere.
#pragma once

#include <string_view>

namespace tapestry::page_assets {

extern const std::string_view kScript;
extern const std::string_view kStyle;
/// "sha256-...", as a content security policy names a script: what may run, and nothing else.
extern const std::string_view kScriptHash;
extern const std::string_view kStyleHash;

}  // namespace tapestry::page_assets
