// addition: a GPT learns to add three-digit numbers. See digits.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/digits.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("addition", "a GPT learns to add numbers of three digits", kAdditionOptions,
                        0.99);
    return command.run(argc, argv, learn_to_add);
}
