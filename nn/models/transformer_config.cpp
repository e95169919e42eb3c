#include <tapestry/nn/models/transformer_config.h>

#include <tapestry/nn/models/model_cost.h>

namespace tapestry {
namespace {

struct TransformerSizes : BlockSizes {
    double shared, wide, length;

    explicit TransformerSizes(const TransformerConfig& c)
        : BlockSizes(c),
          shared(shared_width(c)),
          wide(c.activation == Activation::swiglu ? 2 : 1),
          length(c.max_length == 0 ? 64 : static_cast<double>(c.max_length)) {}

    double attention() const { return (2 * dim + 2 * shared) * dim; }  // q k v, output
    double feed_forward() const { return (wide + 1) * dim * hidden; }
};

}  // namespace

double parameter_count(const TransformerConfig& c) {
    const TransformerSizes s(c);
    const double bias = c.bias ? 1 : 0;
    const double attention =
        s.attention() + bias * (2 * s.dim + 2 * s.shared) + head_norm_numbers(c);
    const double feed_forward = s.feed_forward() + bias * (s.wide * s.hidden + s.dim);
    const double norm = s.dim * (1 + bias);
    const double self_attention = attention + relative_table_numbers(c);
    const double encoder_layer = self_attention + feed_forward + 2 * norm;
    const double decoder_layer = self_attention + attention + feed_forward + 3 * norm;
    const double rows =
        static_cast<double>(c.source_vocab) +
        static_cast<double>(c.target_vocab) *
            ((c.share_embeddings ? 0 : 1) + (c.tied_head ? 0 : 1)) +
        (c.positions == Positions::learned ? 2 * static_cast<double>(c.max_length) : 0);
    return rows * s.dim + s.layers * (encoder_layer + decoder_layer) +
           (c.norm_first ? 2 * norm : 0);
}

double training_bytes(const TransformerConfig& c, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    const TransformerSizes s(c);
    const double tokens = static_cast<double>(batch) * s.length;
    // Per layer and token, the tape keeps: the inputs of norms, q k v, the heads, the hidden layer
    // before and after its activation, the residual stream; the decoder attends twice.
    const double attended = 4 * s.dim + 2 * s.shared;
    const double hidden = (s.wide + 1) * s.hidden;
    const double kept =
        s.layers * tokens * ((3 * s.dim + attended + hidden) + (4 * s.dim + 2 * attended + hidden));
    const double logits = 3 * tokens * static_cast<double>(c.target_vocab);
    return training_memory(c, kept + logits, gradient_sets, moments);
}

double step_flops(const TransformerConfig& c, std::int64_t batch, double source, double target) {
    const TransformerSizes s(c);
    const double encoder = s.attention() + s.feed_forward();
    const double in_decoder = s.feed_forward() + s.attention() + 2 * s.dim * s.dim;
    const double of_memory = 2 * s.shared * s.dim;  // keys and values of cross-attention
    const double weights = s.layers * (source * (encoder + of_memory) + target * in_decoder) +
                           target * s.dim * static_cast<double>(c.target_vocab);
    const double pairs = source * source + target * (target + 1) / 2 + target * source;
    const double forward = 2 * weights + 4 * s.layers * s.dim * pairs;
    return 3 * forward * static_cast<double>(batch);
}

double step_flops(const TransformerConfig& c, std::int64_t batch) {
    const TransformerSizes s(c);
    return step_flops(c, batch, s.length, s.length);
}

}  // namespace tapestry
