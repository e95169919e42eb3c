#include <tapestry/nn/models/transformer_config.h>

#include <tapestry/nn/models/attention_numbers.h>

namespace tapestry {

double parameter_count(const TransformerConfig& c) {
    const auto dim = static_cast<double>(c.dim);
    const auto layers = static_cast<double>(c.layers);
    const double hidden = c.hidden == 0 ? 4 * dim : static_cast<double>(c.hidden);
    const double bias = c.bias ? 1 : 0;
    const double wide = c.activation == Activation::swiglu ? 2 : 1;
    const double attention = (2 * dim + 2 * shared_width(c)) * (dim + bias) +  // q k v, output
                             head_norm_numbers(c);
    const double feed_forward = wide * hidden * (dim + bias) + dim * (hidden + bias);
    const double norm = dim * (1 + bias);
    const double self_attention = attention + relative_table_numbers(c);
    const double encoder_layer = self_attention + feed_forward + 2 * norm;
    const double decoder_layer = self_attention + attention + feed_forward + 3 * norm;
    const double rows =
        static_cast<double>(c.source_vocab) +
        static_cast<double>(c.target_vocab) *
            ((c.share_embeddings ? 0 : 1) + (c.tied_head ? 0 : 1)) +
        (c.positions == Positions::learned ? 2 * static_cast<double>(c.max_length) : 0);
    return rows * dim + layers * (encoder_layer + decoder_layer) + (c.norm_first ? 2 * norm : 0);
}

}  // namespace tapestry
