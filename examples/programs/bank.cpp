// bank: do the vectors of a river's "bank" and a money "bank" differ? See bank.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/bank.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("bank", "does a masked language model tell two banks apart?", kBankOptions,
                        0.9);
    return command.run(argc, argv, [](const TaskOptions& options) {
        const BankResult result = learn_bank(options);
        const auto say = [](const char* when, const Separation& s) {
            fmt::print("{}: {:.1f} % told apart; cosine {:.2f} within a meaning, {:.2f} across\n",
                       when, 100 * s.told.share(), s.same, s.different);
        };
        say("\nuntrained", result.untrained);
        say("trained", result.trained);
        return result.trained.told;
    });
}
