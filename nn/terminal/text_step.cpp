#include <tapestry/nn/terminal/text_step.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/terminal/text_map.h>
#include <tapestry/nn/terminal/text_tape.h>

namespace tapestry {
namespace {

std::string name_of(const AttentionTrace& a) {
    const char* kind = a.cross    ? "cross-attention"
                       : a.causal ? "causal self-attention"
                                  : "self-attention";
    return fmt::format("{}, {}, {} queries, {} keys",
                       a.module.empty() ? "the model itself" : a.module, kind, a.queries, a.keys);
}

std::string one_head(const Inspector& inspector, const PageOptions& page,
                     const StepTextOptions& options) {
    const auto& layers = inspector.attention();
    const auto layer = static_cast<std::size_t>(*options.layer);
    require(layer < layers.size(), "inspect: there is no layer {} of attention; there are {}",
            layer, layers.size());
    const AttentionTrace& a = layers[layer];
    require(*options.head < a.heads, "inspect: layer {} has no head {}; it has {}", layer,
            *options.head, a.heads);
    const auto head = static_cast<std::size_t>(*options.head);
    const PageText text = text_of(a, page.texts);
    // From one text to another there is no distance.
    const std::string distance =
        a.cross ? "" : fmt::format(", looks {:.1f} places away", a.distance[head]);
    return fmt::format(
        "layer {}, head {}: {}\n{:.2f} nats of entropy{}\n\n{}", layer, head, name_of(a),
        a.entropy[head], distance,
        text_map(a, *options.head, text.queries, text.keys, {.width = options.width}));
}

std::string all_heads(const Inspector& inspector, int width) {
    std::string text;
    for (std::size_t layer = 0; layer < inspector.attention().size(); ++layer) {
        const AttentionTrace& a = inspector.attention()[layer];
        text += fmt::format("{}layer {}: {}\n{}", layer > 0 ? "\n" : "", layer, name_of(a),
                            text_heads(a, {.width = width}));
    }
    return text;
}

}  // namespace

std::string text_step(const Inspector& inspector, const PageOptions& page,
                      const StepTextOptions& options) {
    std::string text =
        fmt::format("{}\n{}\n\n", utf8::printable(page.title), utf8::printable(page.subtitle));
    if (const auto& found = inspector.non_finite()) text += to_text(*found) + "\n\n";
    if (!options.layer) text += text_tape(inspector) + "\n";
    if (options.layer) {
        text += one_head(inspector, page, options);
    } else if (!inspector.attention().empty()) {
        text += all_heads(inspector, options.width);
    } else {
        return text + "no attention on the tape as one operation\n";
    }
    return text + fmt::format("\nweights from {}\n", shades_legend());
}

}  // namespace tapestry
