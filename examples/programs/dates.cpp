// dates: from "friday 20 november 2026" to "2026-11-20", with the encoder-decoder Transformer or
// the recurrent networks that preceded it. The dates are in dates.h, the training in translate.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/dates.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("dates", "from \"friday 20 november 2026\" to \"2026-11-20\"",
                        kDatesOptions, 0.99);
    std::string model = "transformer";
    command.options.choice("--model", model, {"transformer", "lstm", "lstm-attention"},
                           "transformer, lstm or lstm-attention (Bahdanau's)");
    command.add_page();
    command.add_pairs(draw_date, 20000, 1000);
    command.add_out("Directory for the trained Transformer, for `tapestry inspect`");
    const Pair example{"Friday 20 november 2026", "2026-11-20"};
    return command.run(argc, argv, [&](const TaskOptions& options) {
        return learn_with(model, draw_date, options, &example);
    });
}
