// A variational autoencoder of drawn digits: encodes an image as six nearly normal numbers, and
// decodes samples of a normal distribution into new digits. After Kingma and Welling 2013.
#include <tapestry/tapestry.h>

#include <array>

using namespace tapestry;

namespace {

constexpr std::int64_t kPixels = 64, kHidden = 128, kCode = 6;

// 3 x 5 pixels of each digit 0 to 9, row by row.
constexpr std::array<const char*, 10> kDigits{
    "####.##.##.####", ".#.##..#..#.###", "###..#####..###", "###..####..####", "#.##.####..#..#",
    "####..###..####", "####..####.####", "###..#.#..#..#.", "####.#####.####", "####.####..####"};

// [n, 64]: digits of 5 by 6 pixels at random places in 8 by 8 images.
Tensor draw_digits(std::int64_t n, Generator& generator) {
    std::vector<float> pixels(static_cast<std::size_t>(n * kPixels), 0.0F);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const char* const digit = kDigits[generator.below(10)];
        const std::size_t left = generator.below(3), top = generator.below(4);
        for (std::size_t row = 0; row < 5; ++row) {
            for (std::size_t column = 0; column < 6; ++column) {
                const std::size_t at = i * kPixels + (top + row) * 8 + left + column;
                if (digit[row * 3 + column / 2] == '#') pixels[at] = 1;
            }
        }
    }
    return tensor(pixels, {n, kPixels});
}

class VAE : public Module {
public:
    Sequential encoder, decoder;

    explicit VAE(Generator& generator) : Module("VAE") {
        encoder.add<Linear>(kPixels, kHidden, generator);
        encoder.add<SiLU>();
        encoder.add<Linear>(kHidden, 2 * kCode, generator);
        decoder.add<Linear>(kCode, kHidden, generator);
        decoder.add<SiLU>();
        decoder.add<Linear>(kHidden, kPixels, generator);
        register_module("encoder", encoder);
        register_module("decoder", decoder);
    }

    // The bound on -log p(x) in nats per image: reconstruction error plus KL divergence.
    Tensor loss(const Tensor& x, Generator& generator) const {
        const Tensors found = split(encoder(x), kCode, 1);  // mean and log variance, [B, 6] each
        const Tensor noise = randn_like(found[0], generator);
        const Tensor logits = decoder(found[0] + exp(0.5 * found[1]) * noise);  // [B, 64]
        const Tensor pixels =
            binary_cross_entropy_with_logits(logits, x, {.reduction = Reduction::sum});
        const Tensor code = 0.5 * sum(exp(found[1]) + square(found[0]) - 1.0 - found[1]);
        return (pixels + code) / static_cast<double>(x.size(0));
    }
};

void print_row(const Tensor& images) {  // [n, 64], as probabilities
    for (std::int64_t row = 0; row < 8; ++row) {
        for (std::int64_t i = 0; i < images.size(0); ++i) {
            for (std::int64_t column = 0; column < 8; ++column) {
                const double ink = images.at({i, row * 8 + column});
                fmt::print("{}", ink > 0.75 ? '#' : ink > 0.25 ? '+' : '.');
            }
            fmt::print("  ");
        }
        fmt::print("\n");
    }
}

}  // namespace

int main() {
    Generator generator(1);
    const TensorDataset digits(draw_digits(4000, generator));
    const auto parts = random_split(digits, {0.9, 0.1}, generator);
    VAE model(generator);
    AdamW optimizer(model, {.lr = 3e-3});
    const auto test = [&] {
        Generator same(2);
        return model.loss(parts[1].tensors()[0], same).item();  // held-out loss
    };
    const double before = test();
    DataLoader batches(parts[0], {.batch_size = 100, .shuffle = true, .seed = 1});
    for (std::int64_t epoch = 0; epoch < 60; ++epoch) {
        for (const auto& [images] : batches) {
            Tape tape;
            optimizer.zero_grad();
            tape.backward(model.loss(images, generator));
            optimizer.step();
        }
    }
    fmt::print("held out: {:.1f} nats per image before, {:.1f} after 60 epochs\n\n", before,
               test());
    print_row(sigmoid(model.decoder(randn({6, kCode}, generator))));
    return test() < 0.5 * before ? 0 : 1;
}
