#include <tapestry/nn/models/lora.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/skip_drawing.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/int8_rows.h>
#include <tapestry/ops/matmul.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace tapestry {
namespace {

constexpr std::string_view kHead = "head";

// "blocks.3.attention.qkv", from its weight's name
std::string path_of(const Linear& layer) {
    const std::string path = layer.weight_name();
    require(!path.empty(), "LoRA: a layer {} has no weight", layer.name());
    return path.substr(0, path.rfind('.'));
}

LoraSite site_of(Linear& layer, std::string target, std::int64_t first, std::int64_t rows) {
    LoraSite site{&layer, std::move(target), path_of(layer), first, rows};
    for (const auto& update : layer.updates()) {
        if (update->first_row() == first && update->b.size(0) == rows) site.update = update.get();
    }
    return site;
}

LoraSite site_of(Linear& layer, std::string target) {
    return site_of(layer, std::move(target), 0, layer.out());
}

void add_attention(std::vector<LoraSite>& sites, MultiHeadAttention& attention, bool in_parts) {
    if (attention.qkv && in_parts) {
        const auto& config = attention.config();
        Linear& qkv = *attention.qkv;
        const std::int64_t width = qkv.out() / (config.heads + 2 * config.kv_heads);
        const std::int64_t queries = config.heads * width, keys = config.kv_heads * width;
        sites.push_back(site_of(qkv, "query", 0, queries));
        sites.push_back(site_of(qkv, "key", queries, keys));
        sites.push_back(site_of(qkv, "value", queries + keys, keys));
    } else if (attention.qkv) {
        sites.push_back(site_of(*attention.qkv, "qkv"));
    }
    sites.push_back(site_of(attention.output, "output"));
}

void add_feed_forward(std::vector<LoraSite>& sites, FeedForward& layer) {
    if (layer.gate) sites.push_back(site_of(*layer.gate, "gate"));
    sites.push_back(site_of(layer.up, "up"));
    sites.push_back(site_of(layer.down, "down"));
}

// Hugging Face's names of targets.
constexpr std::array<std::pair<std::string_view, std::string_view>, 21> kTheirNames{
    {{"q_proj", "query"},
     {"k_proj", "key"},
     {"v_proj", "value"},
     {"o_proj", "output"},
     {"gate_proj", "gate"},
     {"up_proj", "up"},
     {"down_proj", "down"},
     {"lm_head", "head"},
     {"c_attn", "qkv"},
     {"attn.c_attn", "qkv"},
     {"attn.c_proj", "output"},
     {"mlp.c_fc", "up"},
     {"c_fc", "up"},
     {"mlp.c_proj", "down"},
     {"c_proj", "down"},
     {"query_key_value", "qkv"},
     {"dense", "output"},
     {"dense_h_to_4h", "up"},
     {"dense_4h_to_h", "down"},
     {"out_proj", "output"},
     {"embed_out", "head"}}};

// As in PEFT, a name is the end of all names that it fits: GPT-2 has two c_proj, GPT-Neo one.
std::vector<std::string> own_targets(const std::string& name, bool is_gpt) {
    if (name == "c_proj" && is_gpt) return {"output", "down"};
    for (const auto& [theirs, ours] : kTheirNames) {
        if (name == theirs) return {std::string(ours)};
    }
    return {name};
}

std::vector<std::string> names_of(const std::vector<LoraSite>& sites) {
    std::vector<std::string> names;
    for (const LoraSite& site : sites) {
        if (std::find(names.begin(), names.end(), site.target) == names.end()) {
            names.push_back(site.target);
        }
    }
    return names;
}

std::set<std::string> chosen(const LanguageModel& model, const std::vector<LoraSite>& sites,
                             const std::vector<std::string>& given) {
    const std::vector<std::string> names = names_of(sites);
    const auto is_there = [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (given.empty() && is_there("qkv")) return {"qkv"};
    if (given.empty()) return {"query", "value"};
    if (given == std::vector<std::string>{"all-linear"}) {
        std::set<std::string> all(names.begin(), names.end());
        all.erase(std::string(kHead));
        return all;
    }
    std::set<std::string> targets;
    const bool is_gpt = std::holds_alternative<GPTConfig>(model.model_config());
    for (const std::string& name : given) {
        for (const std::string& own : own_targets(name, is_gpt)) {
            require(own != kHead || is_there(own),
                    "LoRA: the head's weight is the token embedding's (tied): files store it once, "
                    "so an update of the head would change the embedding too; train all "
                    "parameters, or leave the head out");
            require(is_there(own), "LoRA: no matrix of {} has the name \"{}\"; there are {}",
                    row_of(model.model_config()).phrase, name, fmt::join(names, ", "));
            targets.insert(own);
        }
    }
    return targets;
}

}  // namespace

std::vector<std::pair<std::string, const LowRank*>> lora_updates(const Module& model) {
    std::vector<std::pair<std::string, const LowRank*>> updates;
    const_cast<Module&>(model).apply([&](Module& module) {
        const auto* const one = dynamic_cast<LowRank*>(&module);
        if (one == nullptr) return;
        const std::string path = one->a.leaf()->place->path();
        updates.emplace_back(path.substr(0, path.rfind('.')), one);
    });
    return updates;
}

std::string update_path(const LoraSite& site) {
    const bool whole = site.rows == site.layer->out();
    return fmt::format("{}.lora{}", site.path, whole ? "" : "_" + site.target);
}

void add_update(LoraSite& site, const LowRankConfig& config, Generator& generator) {
    const std::string name = update_path(site).substr(site.path.size() + 1);
    site.update = &site.layer->add_update(name, site.first_row, site.rows, config, generator);
}

std::vector<LoraSite> lora_sites(LanguageModel& model) {
    std::vector<LoraSite> sites;
    const ModelConfig kind = model.model_config();
    const auto* const decoder = std::get_if<LlamaConfig>(&kind);
    const bool in_parts = decoder != nullptr && decoder->family != LlamaFamily::gpt_neox;
    const Tensor* table = nullptr;
    model.apply([&](Module& module) {
        if (auto* attention = dynamic_cast<MultiHeadAttention*>(&module)) {
            add_attention(sites, *attention, in_parts);
        } else if (auto* feed_forward = dynamic_cast<FeedForward*>(&module)) {
            add_feed_forward(sites, *feed_forward);
        } else if (auto* embedding = dynamic_cast<Embedding*>(&module)) {
            if (embedding->name() == "token_embedding") table = &embedding->weight;
        } else if (auto* layer = dynamic_cast<Linear*>(&module); layer && layer->name() == kHead) {
            const bool tied = table != nullptr && table->leaf() == layer->weight.leaf();
            if (!tied) sites.push_back(site_of(*layer, std::string(kHead)));
        }
    });
    require(!sites.empty(), "LoRA: {} has no attention or feed-forward networks to adapt",
            row_of(model.model_config()).phrase);
    return sites;
}

void add_lora(LanguageModel& model, const LoraConfig& config, Generator& generator) {
    require(lora_updates(model).empty(), "LoRA: the model has updates already");
    std::vector<LoraSite> sites = lora_sites(model);
    const std::set<std::string> targets = chosen(model, sites, config.targets);
    std::erase_if(sites, [&](const LoraSite& site) { return !targets.contains(site.target); });
    for (const LoraSite& site : sites) {  // before the model changes
        require(site.layer->int8() == nullptr, "LoRA: {} is in int8 already; add updates first",
                site.target);
        check_low_rank(config.update, site.layer->in(), site.rows);
    }
    model.freeze();
    for (LoraSite& site : sites) add_update(site, config.update, generator);
}

namespace {

void each_int8(const Module& model, const std::function<void(const Linear&)>& f) {
    const_cast<Module&>(model).apply([&](Module& module) {
        const auto* const layer = dynamic_cast<Linear*>(&module);
        if (layer != nullptr && layer->int8() != nullptr) f(*layer);
    });
}

}  // namespace

std::int64_t weight_count(const Module& model) {
    std::int64_t count = model.parameter_count();
    each_int8(model, [&](const Linear& layer) { count += layer.in() * layer.out(); });
    return count;
}

void keep_frozen_int8(LanguageModel& model) {
    require(!lora_updates(model).empty(),
            "LoRA: int8 weights cannot be trained, so only those "
            "that updates leave as they are can be int8");
    PeriodicRelease wide;  // weights in f32
    model.apply([&](Module& module) {
        auto* const layer = dynamic_cast<Linear*>(&module);
        if (layer == nullptr || layer->name() == kHead || layer->int8() != nullptr) return;
        const std::size_t bytes = layer->weight.bytes();
        layer->keep_int8();
        wide.add(bytes);
    });
    wide.finish();
}

std::string lora_text(const Module& model) {
    const auto updates = lora_updates(model);
    if (updates.empty()) return {};
    std::int64_t trained = 0;
    for (const auto& [path, update] : updates) trained += update->a.numel() + update->b.numel();
    const LowRankConfig& config = updates.front().second->config();
    const std::int64_t all = weight_count(model);
    return fmt::format(
        "LoRA: rank {}, scale {:.4g}, {}: {} of {} parameters trained "
        "({:.2f}%)",
        config.rank, low_rank_scale(config), pluralize(std::ssize(updates), "update"), trained, all,
        100 * static_cast<double>(trained) / static_cast<double>(all));
}

namespace {

// What an update adds to rows of a matrix.
struct AddedRows {
    std::int64_t first = 0;
    Tensor a, b;
    double scale = 1;
};

// So that intermediate results are small. The last rows join those before them, because products of
// a few rows may be added in another order.
constexpr std::int64_t kMergedRows = 128;

// In place if the matrix is only used here.
Tensor with_updates(const Tensor& matrix, bool is_own, const std::vector<AddedRows>& updates) {
    const NoGradGuard unrecorded;
    const Tensor w = is_own ? matrix : matrix.clone();
    for (const AddedRows& one : updates) {
        const std::int64_t all = one.b.size(0);
        for (std::int64_t i = 0, end = 0; i < all; i = end) {
            end = all - i < 2 * kMergedRows ? all : i + kMergedRows;
            Tensor rows = views::slice(w, 0, one.first + i, one.first + end);
            const Tensor added = matmul(views::slice(one.b, 0, i, end), one.a) * one.scale;
            rows.copy_(tapestry::to(tapestry::to(rows, added.dtype()) + added, rows.dtype()));
        }
    }
    return w;
}

DeferredTensor deferred_matrix(const Linear& layer) {
    const Int8Rows* const rows = layer.int8();
    return {layer.weight_name(), {rows->rows, rows->cols}, DType::f32, [rows] {
                return matrix_of(*rows);
            }};
}

}  // namespace

DeferredTensors merged_weights(const Module& model, const NamedTensors& given) {
    DeferredTensors all = deferred(given);
    const auto updates = lora_updates(model);
    if (updates.empty()) return all;
    each_int8(model, [&](const Linear& layer) { all.push_back(deferred_matrix(layer)); });
    const std::map<std::string, Tensor> by_name(given.begin(), given.end());
    std::map<std::string, std::vector<AddedRows>> added;  // by the matrix's name
    std::set<std::string> parts;                          // names of As and Bs
    for (const auto& [path, update] : updates) {
        added[path.substr(0, path.rfind('.')) + ".weight"].push_back(
            {update->first_row(), by_name.at(path + ".a"), by_name.at(path + ".b"),
             low_rank_scale(update->config())});
        parts.insert({path + ".a", path + ".b"});
    }
    std::erase_if(all, [&](const DeferredTensor& one) { return parts.contains(one.name); });
    for (DeferredTensor& one : all) {
        const auto found = added.find(one.name);
        if (found == added.end()) continue;
        const bool is_own = !by_name.contains(one.name);  // of int8 rows: made by each call
        one.value = [matrix = std::move(one.value), is_own,
                     updates_of_it = std::move(found->second)] {
            return with_updates(matrix(), is_own, updates_of_it);
        };
        added.erase(found);
    }
    require(added.empty(), "LoRA: the matrix {} of an update is missing",
            added.empty() ? "" : added.begin()->first);
    return all;
}

std::unique_ptr<LanguageModel> merged(const LanguageModel& model) {
    const SkipDrawing skip;
    std::unique_ptr<LanguageModel> plain = make_model(model.model_config());
    const DeferredTensors weights = merged_weights(model, saved_tensors(model));
    if (!weights.empty() && weights.front().dtype == DType::f64) plain->to(DType::f64);
    const NamedTensors all = saved_tensors(*plain);
    std::map<std::string, Tensor> places(all.begin(), all.end());
    require(places.size() == weights.size(), "LoRA: {} merged tensors for the {} of {}",
            weights.size(), places.size(), row_of(model.model_config()).phrase);
    for (const DeferredTensor& one : weights) places.at(one.name).copy_(one.value());
    plain->train(model.is_training());
    return plain;
}

}  // namespace tapestry
