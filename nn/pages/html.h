// The file around a page's data: its script and style stand in it, and its content security policy
// names these two by their hashes and forbids all else. Internal to nn/pages; page.h and report.h
// are the pages.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tapestry {

// ---- scripts and styles -------------------------------------------------------------------------

// Defined in a source that the build makes from web/ (cmake/web.cmake), with npm's libraries where
// npm is at hand and without them elsewhere.

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

// ---- live pages ---------------------------------------------------------------------------------

// What makes a page answer: the model, and the library that runs it there, in WebAssembly. A build
// has the library if -DTAPESTRY_WASM named it (cmake/live_pages.sh).

/// Elements for a page about the model of this directory: #live-worker, #live-wasm and #live-model,
/// which nn/pages/web/live.js reads. Without the library an empty #live-wasm; nothing for no
/// directory, or for a model too large for a page. Throws IoError.
std::string live_elements(const std::filesystem::path& model_directory);

/// Whether the page may run WebAssembly.
bool can_answer(const std::string& live_elements);

// ---- the file -----------------------------------------------------------------------------------

/// `json` becomes the element #data, which the script reads. `policy`: further directives, for what
/// this page may do besides running its script. `live`: live_elements().
std::string html_page(const PageAssets& assets, const std::string& json,
                      const std::string& policy = {}, const std::string& live = {});

/// The nearest number of six decimal digits: pages are read by people, and have to be small.
double six_digits(double x);

}  // namespace tapestry
