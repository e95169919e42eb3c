#include <tapestry/nn/pages/live_page.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/pages/encoding.h>
#include <tapestry/nn/pages/page_assets.h>

#include <fmt/format.h>

#include <span>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestModel = 12'000'000;  // bytes; a third more as text

// What load_model() reads; the manifest speaks of files that a page does not need.
std::string files_of(const fs::path& directory) {
    JsonWriter json;
    json.object([&] {
        for (const char* name :
             {"config.json", "model.safetensors", "tokenizer.json", "vocab.json", "merges.txt"}) {
            if (!fs::is_regular_file(directory / name)) continue;
            const std::string bytes = read_file(directory / name);
            json.member(name, base64(std::as_bytes(std::span(bytes.data(), bytes.size()))));
        }
    });
    return json.text();
}

std::string element(const char* type, const char* id, std::string_view text) {
    return fmt::format("<script type=\"{}\" id=\"{}\">{}</script>\n", type, id, text);
}

}  // namespace

std::string live_elements(const fs::path& model_directory) {
    std::error_code none;
    const std::uintmax_t bytes = fs::file_size(model_directory / "model.safetensors", none);
    if (model_directory.empty() || none || bytes > kLargestModel) return {};
    if (page_assets::kLive.wasm.empty()) return element("text/plain", "live-wasm", "");
    return element("text/plain", "live-worker", page_assets::kLive.worker) +
           element("text/plain", "live-wasm", page_assets::kLive.wasm) +
           element("application/json", "live-model", files_of(model_directory));
}

bool can_answer(const std::string& live_elements) {
    return !live_elements.empty() && !page_assets::kLive.wasm.empty();
}

}  // namespace tapestry
