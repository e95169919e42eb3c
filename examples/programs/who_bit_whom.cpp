// who_bit_whom: 狗咬人 and 人咬狗, with and without positions. See who_bit_whom.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/who_bit_whom.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("who_bit_whom", "狗咬人 and 人咬狗, with positions and without",
                        kBitesOptions, 0.95);
    return command.run(argc, argv, [](const TaskOptions& options) {
        const BiteScores scores = learn_who_bit_whom(options);
        fmt::print("\nwithout positions: {} of {} held out right ({:.1f} %); with them:\n",
                   scores.without.right, scores.without.of, 100 * scores.without.share());
        return scores.with_positions;
    });
}
