// All pictures of the course. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

namespace tapestry::pictures {

std::vector<Picture> course_pictures() {
    std::vector<Picture> all;
    for (const auto& part : {training_pictures(), tensor_pictures(), recurrent_pictures(),
                             attention_pictures(), transformer_pictures(), model_pictures(),
                             state_pictures(), speed_pictures(), house_pictures()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

}  // namespace tapestry::pictures
