// What an Inspector has seen, as one HTML file: predictions, attention, tape, memory, gradients. It
// holds its own script and style, needs no network and asks for none (its content security policy
// forbids it), and opens from a disk. The script is bundled at build time from web/.
#pragma once

#include <tapestry/nn/inspect/inspector.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

/// The tokens that attentions of a model read, as text, one each; any bytes.
struct PageText {
    std::string module = {};  ///< where: paths that begin so; the first that fits is taken
    std::vector<std::string> queries;
    std::vector<std::string> keys = {};  ///< of cross attention
};

/// What a model looked at if its tokens are patches of an image, row by row.
struct PageImage {
    Tensor pixels;  ///< f32 [channels, H, W], 1 or 3 of them; shown from the least to the greatest
    std::int64_t patch = 1;  ///< pixels a side; divides H and W
    std::int64_t first = 1;  ///< tokens before the patches: the class token
};

struct PageOptions {
    std::string title;
    std::string subtitle = {};
    std::vector<PageText> texts = {};  ///< positions are numbers where there is none
    /// What a class that is predicted is called: a token's text. Without it classes are numbers.
    std::function<std::string(std::int64_t)> name_of = {};
    std::optional<PageImage> image = {};
    /// What a GPT read, and the GPT, which then can be asked for other prompts in the page: a build
    /// with TAPESTRY_WASM puts it there, others name the script that makes such a build.
    std::string prompt = {};
    std::filesystem::path model_directory = {};
};

/// Of `texts`, the tokens at `count` positions of a module: queries of the first text that fits;
/// empty where there is none, or not one per position.
std::vector<std::string> tokens_of(const std::string& module, std::int64_t count,
                                   const std::vector<PageText>& texts);

/// Of `texts`, the one of this attention: keys are its queries unless the attention is cross;
/// either is empty where there is none, or not one text per position.
PageText text_of(const AttentionTrace& attention, const std::vector<PageText>& texts);

/// The tokens of an encoder-decoder whose parts are called so: what it reads, and what the decoder
/// looks at while it writes.
std::vector<PageText> texts_of_both(const std::vector<std::string>& read,
                                    const std::vector<std::string>& written);

/// UTF-8; titles and tokens may hold anything. The page computes scores and weights from queries
/// and keys; of models with more than two million parameters these are rounded to 12
/// bits a number.
std::string to_html(const Inspector& inspector, const PageOptions& options);

/// The page's data alone: one JSON object. page.cpp says what is in it.
std::string to_json(const Inspector& inspector, const PageOptions& options);

}  // namespace tapestry
