// The HTML file around a page's data: it contains its script and style, and its content security
// policy allows these two by their hashes and forbids all else. Internal to nn/pages; page.h and
// report.h are the pages.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tapestry {

// ---- scripts and styles -------------------------------------------------------------------------

// Defined in a source that the build generates from web/ (cmake/web.cmake).

struct PageAssets {
    std::string_view script;
    std::string_view style;
    /// "sha256-...", as in a content security policy: only this script may run.
    std::string_view script_hash;
    std::string_view style_hash;
};

/// Code that runs a model in a page; empty in a build without it (TAPESTRY_WASM).
struct LiveAssets {
    std::string_view worker;  ///< a worker's source
    std::string_view wasm;    ///< gzipped, in base64
};

namespace page_assets {
extern const LiveAssets kLive;
extern const PageAssets kInspect;  ///< tapestry inspect's
extern const PageAssets kReport;   ///< tapestry train's
}  // namespace page_assets

// ---- live pages ---------------------------------------------------------------------------------

// Pages that run the model: they contain it, and the library as WebAssembly. A build has the
// library if -DTAPESTRY_WASM names it (cmake/live_pages.sh).

/// Elements for a page about the model in this directory: #live-worker, #live-wasm and #live-model,
/// which nn/pages/web/live.js reads. Without the library, an empty #live-wasm; an empty string for
/// an empty path, or for a model too large for a page. Throws IoError.
std::string live_elements(const std::filesystem::path& model_directory);

/// Whether the page may run WebAssembly.
bool can_answer(const std::string& live_elements);

// ---- the file -----------------------------------------------------------------------------------

/// `json` becomes the element #data, which the script reads. `policy`: further directives that
/// allow this page more than running its script. `live`: live_elements().
std::string html_page(const PageAssets& assets, const std::string& json,
                      const std::string& policy = {}, const std::string& live = {});

/// Rounds to six decimal digits, enough for readers, to keep pages small.
double six_digits(double x);

}  // namespace tapestry
