#include <tapestry/nn/pages/html.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/pages/encoding.h>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestModel = 12'000'000;  // bytes; a third more as text

// The files that load_model() reads; a manifest would list files that a page does not need.
std::string files_of(const fs::path& directory) {
    JsonWriter json;
    json.object([&] {
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "vocab.json",
                                 "merges.txt", "added_tokens.json"}) {
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

namespace {

// Inside <script> only "<" can end it or open a comment, and JSON only has it in strings.
std::string inside_script(const std::string& json) {
    std::string text;
    text.reserve(json.size());
    for (const char c : json) {
        if (c == '<') {
            text += "\\u003c";
        } else {
            text += c;
        }
    }
    return text;
}

}  // namespace

std::string html_page(const PageAssets& assets, const std::string& json, const std::string& policy,
                      const std::string& live) {
    std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += fmt::format(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
        "'{}'{}; style-src '{}'; base-uri 'none'; form-action 'none'{}{}\">\n",
        assets.script_hash, can_answer(live) ? " 'wasm-unsafe-eval'; worker-src blob:" : "",
        assets.style_hash, policy.empty() ? "" : "; ", policy);
    page +=
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Tapestry</title>\n";
    page += fmt::format("<style>{}</style>\n</head>\n<body>\n", assets.style);
    page +=
        "<main id=\"page\"><noscript>This page draws itself with a script, which is switched "
        "off.</noscript></main>\n<script type=\"application/json\" id=\"data\">";
    page += inside_script(json);
    page += "</script>\n";
    page += live;
    page += fmt::format("<script>{}</script>\n</body>\n</html>\n", assets.script);
    return page;
}

// Both numbers are exact doubles (10^22 is the largest such power), so their quotient is what
// parsing the decimal number would give; this makes a page of curves three times as fast.
double six_digits(double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    const int places = 5 - static_cast<int>(std::floor(std::log10(std::abs(x))));
    if (places < 0 || places > 22) {
        const std::string text = fmt::format("{:.6g}", x);
        std::from_chars(text.data(), text.data() + text.size(), x);
        return x;
    }
    const double power = std::pow(10.0, places);
    return std::nearbyint(x * power) / power;
}

}  // namespace tapestry
