// Which tokens of a story are linked, and the attention that heads give to them.
#include <tapestry/examples/school/experiments/head_figures.h>
#include <tapestry/examples/school/tasks/masked_words.h>
#include <tapestry/tapestry.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tapestry;
using namespace tapestry::experiments;

namespace {

// Character codes, so positions can be read off the text.
std::vector<std::int64_t> letters(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

TEST_CASE("links lead from the end of a word to the end of the word it belongs to") {
    const std::vector<Piece> pieces = story_pieces(1, 20'000, letters, 600);
    std::int64_t links = 0;
    for (const Piece& piece : pieces) {
        const std::string text(piece.ids.begin(), piece.ids.end());
        for (const Piece::Pair& pair : piece.links[static_cast<int>(Link::object)]) {
            REQUIRE(pair.to < pair.from);
            const std::string between = text.substr(static_cast<std::size_t>(pair.to) + 1,
                                                    static_cast<std::size_t>(pair.from - pair.to));
            CHECK((between.starts_with(" the ") || between.find(' ', 1) == std::string::npos));
            ++links;
        }
    }
    CHECK(links > 10);
}

TEST_CASE("heads of a new model look everywhere, and at linked words as at others") {
    Generator generator(1);
    GPT model({.vocab = 128, .context = 64, .layers = 2, .heads = 2, .dim = 16}, generator);
    const auto layers = look(model, story_pieces(1, 20'000, letters, 64));
    REQUIRE_EQ(layers.size(), 2);
    REQUIRE_EQ(layers[0].size(), 2);
    for (const auto& heads : layers) {
        for (const HeadFigures& head : heads) {
            CHECK(head.distance > 10);  // nearly uniform over up to 63 words back
            CHECK(head.distance < 22);
            CHECK(head.entropy < std::log(64));
            for (const LinkWeight& link : head.links) {
                CHECK(link.times() == doctest::Approx(1).epsilon(0.25));
            }
        }
    }
}
