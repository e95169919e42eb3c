// Weights of attention drawn with characters, for those who have a terminal and no browser:
//
//        O n c e
//     O |@@      |
//     n |**##    |
//     c |--%%==  |
//     e |..::##**|
//
// A row per query, a column per key, darker where a query looks harder. As on the page
// (nn/pages/page.h), the shade follows the square root of a weight, for most weights of a long row
// are small: the same shade means the same weight everywhere. Read next: text_plot.h, for curves.
#pragma once

#include <tapestry/nn/inspect/attention_trace.h>

#include <string>
#include <vector>

namespace tapestry {

/// The size and shades of a map.
struct TextMapOptions {
    int width = 80;                     ///< columns of the terminal
    int cells = 8;                      ///< of text_heads: rows and columns of a map at the most
    std::string shades = " .:-=+*#%@";  ///< from nothing to all; two or more, one column wide each
};

/// weights [T, S], f32 or f64, from 0 to 1; NaN is drawn as '?'. Queries and keys are tokens of any
/// bytes, one per row and one per column, or none: then they are numbered. Keys stand above their
/// columns, read downwards; a cell is two columns wide, as an ideograph is. A map that is wider
/// than the terminal comes in pieces, some keys each. Throws ShapeError for another rank or number
/// of tokens, ValueError for a width below 20 or shades that are none.
std::string text_map(const Tensor& weights, const std::vector<std::string>& queries = {},
                     const std::vector<std::string>& keys = {}, const TextMapOptions& options = {});

/// The same of a head that an Inspector saw. Throws IndexError if there is no such head.
std::string text_map(const AttentionTrace& attention, std::int64_t head,
                     const std::vector<std::string>& queries = {},
                     const std::vector<std::string>& keys = {}, const TextMapOptions& options = {});

/// All heads as small maps side by side, each with its number and its entropy in nats
/// (nn/attention/diagnostics.h says what that tells). Of every patch the greatest weight is drawn,
/// so that a line one key wide stays to be seen.
std::string text_heads(const AttentionTrace& attention, const TextMapOptions& options = {});

/// From which weight each shade is taken: ". 0.01  : 0.04  ...".
std::string shades_legend(const TextMapOptions& options = {});

}  // namespace tapestry
