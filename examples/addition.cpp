// addition: a GPT learns to add numbers of three digits. Read addition.h.
#include <tapestry/examples/addition.h>
#include <tapestry/examples/task_main.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("addition: a GPT learns to add numbers of three digits", kAdditionOptions,
                        0.99);
    return command.run(argc, argv, learn_to_add);
}
