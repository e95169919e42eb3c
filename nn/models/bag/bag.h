// A text classifier that is a bag of words and n-grams: their vectors are averaged and projected to
// the labels. It knows no order beyond an n-gram, and is trained and asked in microseconds. Read
// next: nn/train/classify/classify_task.h, which trains it.
//
// Sources: Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification" (fastText);
// character n-grams: Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information".
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/layers/dropout.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/bag/bag_config.h>
#include <tapestry/nn/transformer/blocks.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// The features of a text, ids in [1, config.buckets): its first config.words words, which white
/// space separates (ASCII's); sequences of 2 to word_ngrams words; and the n-grams of shortest to
/// longest characters of each word between < and >. Every feature is hashed (FNV-1a, 64 bits), and
/// features with one hash share a row. Throws ValueError for a text that is not UTF-8.
std::vector<std::int64_t> text_features(std::string_view text, const BagConfig& config);

/// The same by word, for a model with layers: of each word itself and its n-grams of characters, at
/// most 128 in all.
std::vector<std::vector<std::int64_t>> word_features(std::string_view text,
                                                     const BagConfig& config);

/// The words that text_features reads.
std::vector<std::string_view> feature_words(std::string_view text, const BagConfig& config);

/// features i64 [B, F], of which 0 is padding -> logits [B, C]:
///     h_b = mean_f table[features_bf],  logits_b = W h_b,
/// over features that are not padding; h is 0 without any. Rows of the table are initially uniform
/// in +-1/D, and W is 0, as in fastText.
///
/// With config.layers the features come by word, i64 [B, W, F], and an encoder reads the means of
/// the words' rows, in their order, before these are averaged:
///     x_bw = mean_f table[features_bwf],  h_b = mean_w encoder(x_b)_w
///
/// With config.several_labels each label has a separate probability, sigmoid(logit / T), and W a
/// bias, because a text may have no label; otherwise the labels share softmax(logits / T). T is the
/// temperature, which no step trains (nn/train/classify/calibration.h).
class BagClassifier : public Module {
public:
    Embedding table;                 ///< [buckets, D]; row 0 is never used
    std::optional<Encoder> encoder;  ///< with config.layers: rotary positions, norms first
    Dropout dropout;                 ///< of the average
    Linear head;                     ///< [C, D]; a bias only with config.several_labels
    /// T [1], which the logits are divided by for probabilities; 1 until it is fitted. A buffer.
    Tensor temperature;
    /// [1], with config.several_labels: the least probability of a label that is predicted; 0.5
    /// until it is fitted. A buffer.
    Tensor threshold;

    /// Throws ValueError for sizes out of range.
    explicit BagClassifier(const BagConfig& config, Generator& generator = default_generator());

    /// Throws ShapeError unless features are [B, F], or with layers [B, W, F]; IndexError for one
    /// outside the table.
    Tensor operator()(const Tensor& features) const;
    /// Mean cross-entropy of labels i64 [B, 1]; with config.several_labels, of labels i64 [B, C]
    /// that are 1 or 0, the mean binary cross-entropy over texts and labels.
    Tensor loss(const Tensor& features, const Tensor& labels) const;

    const BagConfig& config() const { return config_; }  ///< as given
    /// Sets the compute type of later calls.
    void compute_in(ComputeType type) { config_.compute = type; }
    std::string settings() const override;

private:
    Tensor encoded(const Tensor& features) const;

    BagConfig config_;
};

}  // namespace tapestry
