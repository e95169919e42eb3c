// Streams of random numbers: keys that never change, and no two alike.
#include <tapestry/nn/train/training_config.h>
#include <tapestry/tests/nn/support.h>

#include <set>

using namespace tapestry;

TEST_CASE("streams: those that every run has keep their keys") {
    CHECK_EQ(stream(1337, Stream::weights).seed(), 4 * 1337);
    CHECK_EQ(stream(1337, Stream::batches).seed(), 4 * 1337 + 1);
    CHECK_EQ(stream(1337, Stream::evaluation).seed(), 4 * 1337 + 2);
    CHECK_EQ(stream(1337, Stream::samples).seed(), 4 * 1337 + 3);
    CHECK_EQ(stream(~std::uint64_t{0}, Stream::weights).seed(), ~std::uint64_t{0} - 3);
}

TEST_CASE("streams: names, steps and indices have different keys, fixed for ever") {
    std::set<std::uint64_t> keys;
    std::size_t count = 0;
    for (const std::uint64_t seed : {0U, 1U, 1337U}) {
        for (const Stream name :
             {Stream::weights, Stream::batches, Stream::evaluation, Stream::samples}) {
            keys.insert(stream(seed, name).seed());
            ++count;
        }
        for (const char* name : {"", "dropout", "dropouts", "tuodpor"}) {
            for (std::uint64_t step = 0; step < 5; ++step) {
                for (std::uint64_t index = 0; index < 5; ++index, ++count) {
                    const Generator generator = stream(seed, name, step, index);
                    CHECK_EQ(generator.offset(), 0);
                    keys.insert(generator.seed());
                }
            }
        }
    }
    CHECK_EQ(keys.size(), count);
    CHECK_EQ(stream(1337, "dropout", 3, 2).seed(), stream(1337, "dropout", 3, 2).seed());
    // Another number here would change training for the same seed.
    CHECK_EQ(stream(1337, "dropout", 3, 2).seed(), 8275948223501694007U);
}
