// What makes a page answer: the model, and the library that runs it there, in WebAssembly. Internal
// to nn/pages; a build has the library if -DTAPESTRY_WASM named it (cmake/live_pages.sh).
#pragma once

#include <filesystem>
#include <string>

namespace tapestry {

/// Elements for a page about the model of this directory: #live-worker, #live-wasm and #live-model,
/// which nn/pages/web/live.js reads. Without the library an empty #live-wasm; nothing for no
/// directory, or for a model too large for a page. Throws IoError.
std::string live_elements(const std::filesystem::path& model_directory);

/// Whether the page may run WebAssembly.
bool can_answer(const std::string& live_elements);

}  // namespace tapestry
