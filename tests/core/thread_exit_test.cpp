// Thread-local objects are destroyed when their thread ends, the latest first.
#include <doctest/doctest.h>
#include <tapestry/core/thread_exit.h>

#include <string>
#include <thread>
#include <vector>

using namespace tapestry;

namespace {

std::string ended;  // written by one thread at a time

struct Told {
    ~Told() { ended += name; }
    char name = '?';
};

Told& first() {
    static thread_local Told* told = nullptr;
    return of_this_thread(told);
}

Told& second() {
    static thread_local Told* told = nullptr;
    return of_this_thread(told);
}

}  // namespace

TEST_CASE("thread exit: each thread has its own, until it ends") {
    ended.clear();
    first().name = 'm';
    std::thread([] {
        first().name = 'a';
        second().name = 'b';
        at_thread_exit([](void* letter) { ended += *static_cast<char*>(letter); },
                       const_cast<char*>("c"));
        CHECK_EQ(&first(), &first());
        CHECK_EQ(first().name, 'a');
        CHECK_EQ(ended, "");
    }).join();
    CHECK_EQ(ended, "cba");
    std::thread([] { CHECK_EQ(first().name, '?'); }).join();
    CHECK_EQ(ended, "cba?");
    CHECK_EQ(first().name, 'm');
}

TEST_CASE("thread exit: what is asked for by one that ends comes, too") {
    ended.clear();
    std::thread([] {
        at_thread_exit([](void*) { second().name = 'z'; }, nullptr);
        first().name = 'y';
    }).join();
    CHECK_EQ(ended, "yz");
}
