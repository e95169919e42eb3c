// What a model is without one of its heads: how experiments find out what a head is good for.
#pragma once

#include <tapestry/core/views.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>

#include <optional>

namespace tapestry::experiments {

/// Until this leaves scope, what head `head` found does not reach the output: the columns of W_O
/// that read it are 0. Several heads may be away at once.
class WithoutHead {
public:
    WithoutHead(const MultiHeadAttention& attention, std::int64_t head)
        : columns_(columns_of(attention, head)), kept_(columns_.clone()) {
        columns_.fill_(0);
    }
    ~WithoutHead() { columns_.copy_(kept_); }
    WithoutHead(const WithoutHead&) = delete;
    WithoutHead& operator=(const WithoutHead&) = delete;

    // [dim, dim / heads]: a constant that shares the parameter's memory
    static Tensor columns_of(const MultiHeadAttention& attention, std::int64_t head) {
        const Tensor weight = attention.output.weight.detach();
        const std::int64_t width = weight.size(1) / attention.config().heads;
        return views::slice(weight, 1, head * width, (head + 1) * width);
    }

private:
    Tensor columns_;
    Tensor kept_;
};

/// The same, but what the head finds on average stays: its mean output [dim / heads], through W_O,
/// is added to the bias. What is lost is only what the head makes of each input.
class WithMeanOfHead {
public:
    WithMeanOfHead(const MultiHeadAttention& attention, std::int64_t head, const Tensor& mean)
        : bias_(attention.output.bias.detach()), kept_(bias_.clone()) {
        const Tensor columns = WithoutHead::columns_of(attention, head);
        bias_.copy_(kept_ + squeeze(matmul(columns, unsqueeze(mean, 1)), 1));
        without_.emplace(attention, head);
    }
    ~WithMeanOfHead() { bias_.copy_(kept_); }
    WithMeanOfHead(const WithMeanOfHead&) = delete;
    WithMeanOfHead& operator=(const WithMeanOfHead&) = delete;

private:
    Tensor bias_, kept_;
    std::optional<WithoutHead> without_;
};

}  // namespace tapestry::experiments
