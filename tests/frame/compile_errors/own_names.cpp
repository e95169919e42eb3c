// -std=c++20
//
// A program's own types in its own namespace hide those of the library, also under `using namespace
// tapestry`: the ordinary names that collide in the global namespace.
#include <tapestry/tapestry.h>

using namespace tapestry;

namespace app {

struct Batch {};
struct Split {};
struct Session {};
struct Checkpoint {};
struct Encoder {
    Tensor weight;
};
struct Decoder {};
struct Activation {};
struct Range {};
struct Op {};
struct Profiler {};
struct Storage {};
struct Leaf {};
struct Stream {};
struct Index {};
struct Slice {};
struct Selection {};
struct Padding {};
struct Positions {};
struct Recipe {};
struct Reduction {};
struct Team {};
struct Unique {};

struct All {
    Batch batch;
    Split split;
    Session session;
    Checkpoint checkpoint;
    Encoder encoder;
    Decoder decoder;
    Activation activation;
    Range range;
    Op op;
    Profiler profiler;
    Storage storage;
    Leaf leaf;
    Stream stream;
    Index index;
    Slice slice;
    Selection selection;
    Padding padding;
    Positions positions;
    Recipe recipe;
    Reduction reduction;
    Team team;
    Unique unique;
};

double run() {
    All all;
    all.encoder.weight = ones(2, 3);
    return relu(all.encoder.weight).sum().item();
}

}  // namespace app

int main() { return app::run() == 6 ? 0 : 1; }
