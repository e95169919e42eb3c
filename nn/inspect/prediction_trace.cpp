#include <tapestry/nn/inspect/prediction_trace.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/cast.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>

namespace tapestry {
namespace {

bool is_number(std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string_view stack_of(std::string_view layer) { return layer.substr(0, layer.rfind('.') + 1); }

}  // namespace

std::string layer_of(const std::string& path) {
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('.', at), path.size());
        if (is_number(std::string_view(path).substr(at, end - at))) return path.substr(0, end);
        at = end + 1;
    }
    return {};
}

void LogitLens::recorded(const Op& op, const Tensors& inputs) {
    const std::string layer = layer_of(op.module_path());
    if (layer.empty()) {
        if (!layer_.empty()) follow(op, inputs);
    } else {
        if (layer != layer_) enter(layer);
        if (!is_found_) find_stream(op, inputs);
        if (!op.outputs().empty()) {
            stream_ = op.outputs().front().slot;
            given_ = op.outputs().front().shape;
        }
    }
    for (const Op::Operand& y : op.outputs()) made_in_[y.slot] = entered_;
}

void LogitLens::enter(const std::string& layer) {
    if (stack_of(layer) != stack_of(layer_)) streams_.clear();
    layer_ = layer;
    ++entered_;
    is_found_ = false;
    behind_.clear();
    made_.clear();
}

// A layer's first read is the stream, in a norm or in a projection; parameters, which it may cast
// to a narrower type before, and its own results are not the stream.
void LogitLens::find_stream(const Op& op, const Tensors& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto made = made_in_.find(op.inputs()[i].slot);
        if (made == made_in_.end() || made->second == entered_) continue;
        const Tensor& x = inputs[i];
        streams_.push_back({layer_, x.detach().to_vector<float>(), x.shape(), x.dtype()});
        is_found_ = true;
        return;
    }
}

void LogitLens::follow(const Op& op, const Tensors& inputs) {
    Behind entry{&op, {}};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const int slot = op.inputs()[i].slot;
        const bool comes_again = slot >= 0 && (slot == stream_ || made_.contains(slot));
        entry.inputs.push_back(comes_again || !inputs[i].defined() ? Tensor() : inputs[i].detach());
    }
    for (const Op::Operand& y : op.outputs()) made_[y.slot] = true;
    behind_.push_back(std::move(entry));
}

// The value of `slot` if the layers output `stream`; undefined if it does not depend on them.
Tensor LogitLens::again(int slot, const Tensor& stream) const {
    std::unordered_map<int, Tensor> now{{stream_, stream}};
    for (const Behind& entry : behind_) {
        Tensors inputs = entry.inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto found = now.find(entry.op->inputs()[i].slot);
            if (!inputs[i].defined() && found != now.end()) inputs[i] = found->second;
        }
        const Tensors outputs = entry.op->forward(inputs);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            now[entry.op->outputs()[i].slot] = outputs[i];
        }
        if (now.contains(slot)) break;
    }
    const auto found = now.find(slot);
    return found == now.end() ? Tensor() : found->second;
}

void LogitLens::run(int slot,
                    const std::function<void(const std::string&, const Tensor&)>& use) const {
    if (!made_.contains(slot)) return;
    const NoGradGuard no_grad;
    for (const Stream& each : streams_) {
        if (each.shape != given_) continue;  // layers that do not pass one stream on
        const Tensor logits = again(slot, to(tensor(each.numbers, each.shape), each.dtype));
        if (logits.defined()) use(each.layer, logits);
    }
}

void LogitLens::clear() { *this = LogitLens(); }

namespace {

constexpr std::size_t kLikeliest = 5;
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 26;

// Keeps the five largest; of equal ones the first.
void keep(std::vector<PredictedClass>& best, std::int64_t id, double logit) {
    if (best.size() == kLikeliest && !(logit > best.back().probability)) return;
    if (best.size() == kLikeliest) best.pop_back();
    const auto at = std::find_if(best.begin(), best.end(), [logit](const PredictedClass& each) {
        return logit > each.probability;
    });
    best.insert(at, {id, logit});
}

// The probability fields hold logits until their sum is known.
Prediction predict(std::span<const float> logits, std::int64_t right) {
    Prediction row{.right = right};
    for (std::size_t i = 0; i < logits.size(); ++i) {
        keep(row.likeliest, static_cast<std::int64_t>(i), logits[i]);
    }
    const double most = row.likeliest.front().probability;
    double sum = 0;
    for (const float x : logits) sum += std::exp(x - most);
    for (PredictedClass& each : row.likeliest) {
        each.probability = std::exp(each.probability - most) / sum;
    }
    if (right < 0) return row;
    const float own = logits[static_cast<std::size_t>(right)];
    row.loss = std::log(sum) + most - own;
    row.rank = 1 + std::count_if(logits.begin(), logits.end(), [own](float x) { return x > own; });
    return row;
}

// logits [..., T, V] or [N, V], targets of the same shape without V: the rows of the first
// sequence, or all.
std::vector<Prediction> predictions_of(const Tensor& logits,
                                       const std::vector<std::int64_t>& right) {
    const std::int64_t classes = logits.shape().back();
    const std::int64_t all = logits.numel() / classes, rows = std::ssize(right);
    const Tensor flat = views::slice(views::reshape(logits.detach(), {all, classes}), 0, 0, rows);
    const std::vector<float> numbers = flat.to_vector<float>();
    std::vector<Prediction> found(right.size());
    parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::span row(numbers.data() + i * classes, static_cast<std::size_t>(classes));
            const auto at = static_cast<std::size_t>(i);
            found[at] = predict(row, right[at]);
        }
    });
    return found;
}

}  // namespace

PredictionTrace trace_predictions(const Op& op, const Tensor& logits,
                                  const RecordedCrossEntropy& asked, const LogitLens& lens) {
    PredictionTrace trace{.module = lens.last_layer(),
                          .classes = logits.shape().back(),
                          .label_smoothing = asked.options.label_smoothing};
    if (logits.numel() == 0) return trace;
    std::vector<std::int64_t> right = asked.targets.to_vector<std::int64_t>();
    if (logits.rank() > 2) right.resize(static_cast<std::size_t>(logits.size(-2)));
    for (std::int64_t& each : right) {
        if (each == asked.options.ignore_index) each = -1;
    }
    trace.rows = predictions_of(logits, right);
    if (logits.numel() > kMostNumbers) return trace;
    lens.run(op.inputs()[0].slot, [&](const std::string& layer, const Tensor& of_layer) {
        trace.layers.push_back({layer, predictions_of(of_layer, right)});
    });
    return trace;
}

}  // namespace tapestry
