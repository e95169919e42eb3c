// The pages' scripts and styles. Defined in a source that the build makes from web/
// (cmake/web.cmake), with npm's libraries where npm is at hand and without them elsewhere.
// Internal to nn/pages.
#pragma once

#include <string_view>

namespace tapestry {

struct PageAssets {
    std::string_view script;
    std::string_view style;
    /// "sha256-...", as a content security policy names a script: what may run, and nothing else.
    std::string_view script_hash;
    std::string_view style_hash;
};

/// What runs a model in a page; empty in a build without it (TAPESTRY_WASM).
struct LiveAssets {
    std::string_view worker;  ///< the text of a worker
    std::string_view wasm;    ///< packed by gzip, in base64
};

namespace page_assets {
extern const LiveAssets kLive;
extern const PageAssets kInspect;  ///< tapestry inspect's
extern const PageAssets kReport;   ///< tapestry train's
}  // namespace page_assets

}  // namespace tapestry
