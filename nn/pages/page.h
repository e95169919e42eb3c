// An Inspector's results as one HTML file: predictions, attention, tape, memory, gradients. It
// contains its own script and style, makes no network requests (its content security policy forbids
// them), and opens from disk. The script is bundled at build time from web/.
#pragma once

#include <tapestry/nn/inspect/inspector.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

/// Tokens read by a model's attention modules, as text, one each; any bytes.
struct PageText {
    std::string module = {};  ///< prefix of module paths; the first match is used
    /// One per token, of queries and of keys unless `keys` is given.
    std::vector<std::string> queries;
    std::vector<std::string> keys = {};  ///< for cross-attention
};

/// The model's input, if its tokens are patches of an image, row by row.
struct PageImage {
    Tensor pixels;  ///< f32 [channels, H, W], 1 or 3 of them; scaled from minimum to maximum
    std::int64_t patch = 1;  ///< side in pixels; divides H and W
    std::int64_t first = 1;  ///< tokens before the patches: the class token
};

/// A page's heading, labels and other contents apart from the step.
struct PageOptions {
    std::string title;                 ///< heading
    std::string subtitle = {};         ///< line below it
    std::vector<PageText> texts = {};  ///< without one, positions are numbered
    /// The name of a predicted class: a token's text. Without it classes are numbered.
    std::function<std::string(std::int64_t)> name_of = {};
    std::optional<PageImage> image = {};  ///< of a VisionTransformer's step
    /// A GPT's prompt, and its directory, which lets the page run it on other prompts: a build with
    /// TAPESTRY_WASM embeds it, others name the script that makes such a build.
    std::string prompt = {};
    std::filesystem::path model_directory = {};  ///< the model's
    std::string next = {};  ///< command to offer if nothing is wrong with the step; may be empty
};

/// The tokens at `count` positions of a module: queries of the first entry of `texts` that matches;
/// empty if there is none, or not one per position.
std::vector<std::string> tokens_of(const std::string& module, std::int64_t count,
                                   const std::vector<PageText>& texts);

/// The entry of `texts` for this attention: keys are its queries unless it is cross-attention;
/// either is empty if there is none, or not one text per position.
PageText text_of(const AttentionTrace& attention, const std::vector<PageText>& texts);

/// The tokens of an encoder-decoder whose parts have these names: its input, and what the decoder
/// reads as it generates.
std::vector<PageText> texts_of_both(const std::vector<std::string>& read,
                                    const std::vector<std::string>& written);

/// UTF-8; titles and tokens may contain anything. The page computes scores and weights from queries
/// and keys; for models with more than two million parameters these are rounded to 12 bits per
/// number.
std::string to_html(const Inspector& inspector, const PageOptions& options);

/// Only the page's data: one JSON object, see page.cpp for its members.
std::string to_json(const Inspector& inspector, const PageOptions& options);

}  // namespace tapestry
