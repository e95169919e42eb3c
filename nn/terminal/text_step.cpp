#include <tapestry/nn/terminal/text_step.h>

#include <tapestry/autograd/print.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/inspect/diagnosis.h>
#include <tapestry/nn/terminal/text_label.h>
#include <tapestry/nn/terminal/text_map.h>

#include <algorithm>
#include <iterator>

namespace tapestry {
namespace {

using namespace terminal;

constexpr int kMostOfOp = 32;  // columns; some ops have many settings

std::vector<std::string> row_of(const Inspector& inspector, std::size_t number) {
    const InspectedEntry& e = inspector.entries()[number];
    std::vector<InspectedInput> inputs;  // without a mask or a bias that there is not
    std::copy_if(e.inputs.begin(), e.inputs.end(), std::back_inserter(inputs),
                 [](const InspectedInput& input) { return input.defined; });
    return {std::to_string(number),
            label_of(e.attributes.empty() ? e.name : fmt::format("{} ({})", e.name, e.attributes),
                     kMostOfOp),
            e.module,
            flow_text(inputs, e.outputs, [&](int slot) { return inspector.place(slot).entry; }),
            bytes_text(e.saved_bytes),
            fmt::format("{:.3f}", 1e3 * e.forward.seconds),
            e.step < 0 ? "-" : fmt::format("{:.3f}", 1e3 * e.backward.seconds)};
}

std::string totals(const Inspector& inspector) {
    std::size_t kept = 0;
    double forward = 0, backward = 0;
    for (const InspectedEntry& e : inspector.entries()) {
        kept += e.saved_bytes;
        forward += 1e3 * e.forward.seconds;
        if (e.step >= 0) backward += 1e3 * e.backward.seconds;
    }
    const std::size_t count = inspector.entries().size();
    return fmt::format("{} entr{}, {} kept for backward; {:.3f} ms forward, {:.3f} ms backward\n",
                       count, count == 1 ? "y" : "ies", bytes_text(kept), forward, backward);
}

}  // namespace

std::string text_tape(const Inspector& inspector) {
    std::vector<std::vector<std::string>> rows{
        {"#", "op", "module", "inputs -> outputs", "kept", "forward", "backward"}};
    for (std::size_t i = 0; i < inspector.entries().size(); ++i) {
        rows.push_back(row_of(inspector, i));
    }
    return totals(inspector) + text_table(rows, "rlllrrr");
}

namespace {

std::string name_of(const AttentionTrace& a) {
    const char* kind = a.cross    ? "cross-attention"
                       : a.causal ? "causal self-attention"
                                  : "self-attention";
    return fmt::format("{}, {}, {} {}, {}", a.module.empty() ? "the model itself" : a.module, kind,
                       a.queries, a.queries == 1 ? "query" : "queries", pluralize(a.keys, "key"));
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
    // Distances make no sense between two texts.
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
    if (const auto& found = inspector.non_finite()) {
        text += to_text(*found) + "\n\n";
    } else if (!options.layer) {
        const Diagnosis diagnosis = diagnose(inspector, page.next);
        if (!diagnosis.text.empty()) text += to_text(diagnosis) + "\n\n";
    }
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
