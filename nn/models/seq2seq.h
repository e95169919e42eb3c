// Sequence to sequence with recurrent networks, which the Transformer replaced. An encoder reads
// the source, and a decoder writes the target; between them passes only the encoder's last state
// or, with attention, also its outputs at every position of the source.
#pragma once

#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/recurrent/attention.h>
#include <tapestry/nn/recurrent/recurrent.h>

#include <optional>

namespace tapestry {

/// When the decoder attends to the source: never (Sutskever et al. 2014, "Sequence to Sequence
/// Learning with Neural Networks"); before each step (Bahdanau et al. 2014); after it (Luong et al.
/// 2015).
enum class Alignment {
    none,      ///< never
    bahdanau,  ///< before each step, additive
    luong      ///< after each step, by dot products
};

/// The configuration of a Seq2Seq.
struct Seq2SeqConfig {
    std::int64_t source_vocab = 0;             ///< tokens that it reads
    std::int64_t target_vocab = 0;             ///< tokens that it writes
    std::int64_t dim = 64;                     ///< E, of the embeddings
    std::int64_t hidden = 128;                 ///< H, of the decoder's state and of the memory
    std::int64_t layers = 1;                   ///< of the encoder, and of the decoder
    RecurrentCell cell = RecurrentCell::lstm;  ///< kind of recurrent network
    bool bidirectional = true;                 ///< the encoder: H / 2 in each direction
    Alignment alignment = Alignment::none;     ///< when the decoder attends to the source
    double dropout = 0;                        ///< on embeddings and between layers, in training
    std::int64_t padding_id = 0;               ///< in targets: no loss there; follows an end
};

/// The encoder's results.
struct EncodedSource {
    Tensor memory;          ///< [B, S, H]
    Tensor mask;            ///< bool [B, 1, S]; undefined if all sequences have S tokens
    RecurrentState state;   ///< [layers, B, H]: the decoder's initial state
    AdditiveMemory keys{};  ///< with Alignment::bahdanau
};

/// Encoder: a recurrent network over source embeddings. Its last state is the decoder's first (for
/// a bidirectional encoder, both directions' concatenated).
/// Decoder, with y_t the embedding of target token t, s_t its state, m_j the encoder's outputs:
///     none      s_t = cell(y_t, s_{t-1}),          logits = W s_t
///     bahdanau  c_t = attend(s_{t-1}, m),  s_t = cell([y_t; c_t], s_{t-1}),
///               logits = W tanh(W_c [c_t; s_t])
///     luong     s_t = cell(y_t, s_{t-1}),  c_t = attend(s_t, m),
///               logits = W tanh(W_c [c_t; s_t])
/// where attend is AdditiveAttention or DotAttention over the real positions of the source. The
/// readout W_c is Luong's for both (Bahdanau's has maxout units).
///
/// For all functions: source i64 [B, S]; source_lengths i64 [B], all S if undefined. They throw
/// DTypeError, ShapeError (also for an empty batch and empty sequences), ValueError for a length
/// outside 1 .. S, IndexError for a token outside the vocabulary (with position and value; padding
/// is checked as well).
class Seq2Seq : public Module {
public:
    Embedding source_embedding;                 ///< [source_vocab, E]
    Embedding target_embedding;                 ///< [target_vocab, E]
    std::unique_ptr<Recurrent> encoder;         ///< E -> H
    std::unique_ptr<Recurrent> decoder;         ///< E -> H, or E + H -> H with Alignment::bahdanau
    std::optional<AdditiveAttention> additive;  ///< with Alignment::bahdanau
    std::optional<DotAttention> dot;            ///< with Alignment::luong
    std::optional<Linear> combine;              ///< W_c [H, 2 H]
    Linear head;                                ///< W [target_vocab, H], with bias

    /// Throws ValueError for sizes that are not positive, an odd `hidden` for a bidirectional
    /// encoder, and a padding id outside either vocabulary.
    explicit Seq2Seq(const Seq2SeqConfig& config, Generator& generator = default_generator());

    /// Reads the source.
    EncodedSource encode(const Tensor& source, const Tensor& source_lengths = {}) const;

    /// Decodes target_in [B, T] from `state` (initially source.state), and sets it to the state
    /// after the last token. Returns logits [B, T, target_vocab]. `alignment`, if not null,
    /// receives the attention weights [B, T, S], a constant; ValueError if there are none.
    Tensor decode(const EncodedSource& source, const Tensor& target_in, RecurrentState& state,
                  Tensor* alignment = nullptr) const;

    /// Teacher forcing: logits [B, T, target_vocab] after each token of target_in [B, T].
    Tensor operator()(const Tensor& source, const Tensor& source_lengths, const Tensor& target_in,
                      Tensor* alignment = nullptr) const;

    /// Mean cross-entropy of target_out [B, T], excluding positions with padding_id. Throws
    /// ValueError if there are no others.
    Tensor loss(const Tensor& source, const Tensor& source_lengths, const Tensor& target_in,
                const Tensor& target_out) const;

    /// Greedy decoding from begin_id: i64 [B, T], where T is max_length, or less if every sequence
    /// reaches its end_id before. The result includes the end, followed by padding_id. `alignment`,
    /// if not null, receives the weights [B, T, S]. The model should be in evaluation mode. Throws
    /// IndexError for a begin_id or end_id outside the target vocabulary, ValueError unless
    /// max_length > 0.
    Tensor greedy(const Tensor& source, const Tensor& source_lengths, std::int64_t begin_id,
                  std::int64_t end_id, std::int64_t max_length, Tensor* alignment = nullptr) const;

    const Seq2SeqConfig& config() const { return config_; }  ///< as given
    std::string settings() const override;

private:
    struct Decoded {
        Tensor states;    // [B, T, H]
        Tensor contexts;  // [B, T, H]
    };
    Decoded decode_bahdanau(const EncodedSource& source, const Tensor& embedded,
                            RecurrentState& state, Tensor* alignment) const;

    Seq2SeqConfig config_;
    Dropout dropout_;
};

}  // namespace tapestry
