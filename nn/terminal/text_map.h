// Attention weights drawn with characters, for a terminal without a browser:
//
//        O n c e
//     O |@@      |
//     n |**##    |
//     c |--%%==  |
//     e |..::##**|
//
// A row per query, a column per key, darker for larger weights. As on the page (nn/pages/page.h),
// the shade follows the square root of a weight, because most weights of a long row are small; the
// same shade means the same weight everywhere. Read next: text_plot.h, for curves.
#pragma once

#include <tapestry/nn/inspect/attention_trace.h>

#include <string>
#include <vector>

namespace tapestry {

/// The size and shades of a map.
struct TextMapOptions {
    int width = 80;                     ///< columns of the terminal
    int cells = 8;                      ///< of text_heads: maximum rows and columns of a map
    std::string shades = " .:-=+*#%@";  ///< from 0 to 1; at least two, one column wide each
};

/// weights [T, S], f32 or f64, from 0 to 1; NaN is drawn as '?'. Queries and keys: tokens of any
/// bytes, one per row and one per column, or empty for numbers. Keys are above their columns, top
/// to bottom; a cell is two columns wide, like an ideograph. A map wider than the terminal is split
/// into groups of keys. Throws ShapeError for another rank or number of tokens, ValueError for a
/// width below 20 or invalid shades.
std::string text_map(const Tensor& weights, const std::vector<std::string>& queries = {},
                     const std::vector<std::string>& keys = {}, const TextMapOptions& options = {});

/// The same for a head that an Inspector recorded. Throws IndexError if there is no such head.
std::string text_map(const AttentionTrace& attention, std::int64_t head,
                     const std::vector<std::string>& queries = {},
                     const std::vector<std::string>& keys = {}, const TextMapOptions& options = {});

/// All heads as small maps side by side, each with its number and its entropy in nats (explained in
/// nn/attention/diagnostics.h). Each cell shows the largest weight of its patch, so a line one key
/// wide remains visible.
std::string text_heads(const AttentionTrace& attention, const TextMapOptions& options = {});

/// The smallest weight of each shade: ". 0.01  : 0.04  ...".
std::string shades_legend(const TextMapOptions& options = {});

}  // namespace tapestry
