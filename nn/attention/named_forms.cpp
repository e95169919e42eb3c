#include <tapestry/nn/attention/named_forms.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/attention/linear_attention.h>
#include <tapestry/nn/attention/sparse_attention.h>
#include <tapestry/nn/module/factory_registry.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

struct NamedForm {
    std::string_view name;
    const char* number;  // what the number after the colon is; null: there is none
    bool has_weights;    // softmax over positions, whose weights dropout may zero
    bool may_be_causal;
    AttentionFormFactory (*make)(std::int64_t number, const AttentionFormUse& use, Generator& g);
};

constexpr std::int64_t kLargest = 1 << 20;

AttentionFormFactory window(std::int64_t width, const AttentionFormUse&, Generator&) {
    return [width] { return std::make_unique<SlidingWindowAttention>(width); };
}

AttentionFormFactory strided(std::int64_t stride, const AttentionFormUse&, Generator&) {
    return [stride] { return std::make_unique<StridedAttention>(stride); };
}

AttentionFormFactory linear_form(std::int64_t, const AttentionFormUse&, Generator&) {
    return [] { return std::make_unique<LinearAttention>(); };
}

AttentionFormFactory performer(std::int64_t features, const AttentionFormUse& use, Generator& g) {
    return [features, width = use.head_dim, &g] {
        return std::make_unique<PerformerAttention>(width, features, g);
    };
}

AttentionFormFactory linformer(std::int64_t k, const AttentionFormUse& use, Generator& g) {
    return
        [k, length = use.length, &g] { return std::make_unique<LinformerAttention>(length, k, g); };
}

constexpr std::array<NamedForm, 5> kForms{
    {{"window", "positions that a position sees on a side", true, true, window},
     {"strided", "positions of a stride", true, true, strided},
     {"linear", nullptr, false, true, linear_form},
     {"performer", "random features", false, true, performer},
     {"linformer", "summaries of a sequence", true, false, linformer}}};

std::string_view base_of(std::string_view name) { return name.substr(0, name.find(':')); }

const NamedForm* find_form(std::string_view name) {
    const auto found = std::find_if(kForms.begin(), kForms.end(), [&](const NamedForm& form) {
        return form.name == base_of(name);
    });
    return found == kForms.end() ? nullptr : &*found;
}

// After the colon; nullopt unless it is a number from 1 to kLargest.
std::optional<std::int64_t> number_of(std::string_view name) {
    const std::string_view digits = name.substr(std::min(name.size(), base_of(name).size() + 1));
    std::int64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || at != end || number < 1 || number > kLargest) return std::nullopt;
    return number;
}

void check_use(const NamedForm& form, const std::string& name, const AttentionFormUse& use) {
    require(form.may_be_causal || !use.causal,
            "{}: {} attention mixes all positions in each of its summaries, so a causal model "
            "would see what it is to predict; choose another form",
            use.model, name);
    require(form.has_weights || use.dropout == 0,
            "{}: {} attention computes no weights that dropout could zero; the dropout must be 0, "
            "got {}",
            use.model, name, use.dropout);
    require(use.positions != Positions::alibi && use.positions != Positions::relative,
            "{}: {} positions add to the score of each pair, which {} attention does not compute; "
            "choose other positions",
            use.model, name_of_value(use.positions), name);
    require(use.compute == ComputeType::f32, "{}: {} attention computes in f32, not in {}",
            use.model, name, name_of_value(use.compute));
}

FactoryRegistry<AttentionFormFactory>& registered_forms() {
    static FactoryRegistry<AttentionFormFactory> forms("attention", "register_attention_form",
                                                       "softmax");
    return forms;
}

}  // namespace

void register_attention_form(const std::string& name, AttentionFormFactory factory) {
    registered_forms().add(name, std::move(factory), find_form(name) != nullptr);
}

AttentionFormFactory attention_form(const std::string& name) {
    return registered_forms().find(name);
}

std::vector<std::string> attention_form_names() { return registered_forms().names(); }

AttentionFormFactory attention_form(const std::string& name, const AttentionFormUse& use,
                                    Generator& generator) {
    const std::vector<std::string> registered = attention_form_names();
    if (std::find(registered.begin(), registered.end(), name) != registered.end()) {
        return attention_form(name);
    }
    const NamedForm* const form = find_form(name);
    require(form != nullptr,
            "{}: no form of attention is called {}; there are window:W, strided:S, linear, "
            "performer:M, linformer:K, {}",
            use.model, utf8::quoted(name), fmt::join(registered, ", "));
    if (form->number == nullptr) {
        require(name == form->name, "{}: {} attention has no number, got {}", use.model, form->name,
                utf8::quoted(name));
    } else {
        require(number_of(name).has_value(),
                "{}: {} attention needs a number from 1 to {}, the {}, as in {}:64; got {}",
                use.model, form->name, kLargest, form->number, form->name, utf8::quoted(name));
    }
    check_use(*form, name, use);
    return form->make(number_of(name).value_or(0), use, generator);
}

double attention_form_numbers(std::string_view name, double length, double head_dim) {
    const auto number = static_cast<double>(number_of(name).value_or(0));
    if (base_of(name) == "performer") return number * head_dim;
    return base_of(name) == "linformer" ? 2 * number * length : 0;
}

}  // namespace tapestry
