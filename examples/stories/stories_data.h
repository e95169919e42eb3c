// The words and the plots of the stories, as a grammar with a memory for who is who.
//
//     [one|two|three]  one of these               @name    one of the choices of that rule
//     {x=dog}          says "dog"; x is now that   {x}      says x's noun (or name) again
//     {x:he}           the pronoun for x, in the case of he, him or his; {x:He} begins a sentence
//     <ate>            a verb: its subject and its object are noted (stories.h, Dependency)
//     {c:boy}          boy or girl                 /        a new line; other space is one blank
//
// Pronouns are written in no other way, and so no pronoun lacks its referent. "a" becomes "an" by
// itself. Every story has in its cast c (a child), and, all of the other gender than c so that
// "he" and "she" stay clear: f (a friend), m (a grown-up of the family), k (a king or queen).
// Read next: stories_schemas.h (one sentence, two meanings of "it"), then stories.cpp.
#pragma once

#include <string_view>

namespace tapestry::examples {

struct Rule {
    std::string_view name, choices;
};

/// A story, and what happens in it in one sentence, which knows the story's nouns and names.
struct Plot {
    std::string_view text, summary;
};

inline constexpr Rule kRules[] = {
    // Who is he, she or they; all other nouns are it.
    {"boy", "Tom|Ben|Sam|Max|Leo|Jack|Tim|Dan"},
    {"girl", "Mia|Anna|Lily|Sue|Emma|Rosa|Kate|Nina"},
    {"dad", "dad|grandpa|uncle"},
    {"mom", "mom|grandma|aunt"},
    {"king", "king"},
    {"queen", "queen"},
    {"plural",
     "friends|children|shoes|socks|boots|mittens|apples|pears|plums|berries|carrots|nuts|cookies|"
     "eggs|chicks|stars|birds|ducks|cows|goats|dogs|cats|bees|flowers|boxes|bags|baskets|books|"
     "fields|barns"},
    // Words.
    {"animal", "dog|cat|cow|hen|goat|horse|duck|rabbit|fox|pig"},
    {"toy", "ball|kite|drum|doll|boat|train|truck|robot"},
    {"color", "red|blue|green|yellow|white|brown"},
    {"kind", "little|kind|happy|brave|quiet|good|clever|funny"},
    {"hobby", "run|sing|play|paint|read|swim|dance|draw|jump"},
    {"home", "near the sea|near a farm|by a lake|in a small town|in an old house|on a hill"},
    // Parts of stories. The first two are c, by name or not.
    {"he", "{c}|{c:he}"},
    {"He", "{c}|{c:He}"},
    {"day",
     "One day,|One day,|One morning,|One day after lunch,|One day after school,|On Monday,|"
     "On Sunday,|Last week,|In the spring,"},
    {"later", "Later that day,|After that,|On the way home,|The next day,|In the evening,"},
    {"intro", "@who|@who|@who @trait|@who @trait"},
    {"who",
     "Once there was a @kind {c:boy} named {c}.|"
     "There was a @kind {c:boy} named {c} who lived @home.|"
     "{c} was a @kind {c:boy} who [liked|loved] to @hobby.|"
     "Once upon a time, a @kind {c:boy} named {c} lived @home.|"
     "{c} lived @home with {c:his} {m}.|"
     "{c} was [five|six|seven] years old and [liked|loved] to @hobby."},
    {"trait",
     "{c:He} liked to [help|learn|be outside|look at animals|ask questions].|"
     "{c:He} had [brown|black|red|long|short] hair.|"
     "{c:His} eyes were [blue|brown|big|green].|"
     "{c:His} {m} called {c:him} [Bug|Bean|Sunny|Honey] because {m:he} loved {c:him}."},
    {"intro_friends",
     "{c} and {f} were [good|best] friends.|"
     "{c} had a friend named {f}.|"
     "{c} was a @kind {c:boy}, and {f} was {c:his} [good|best] friend.|"
     "{c} and {f} lived @home."},
    {"close",
     "{c} was [very|so] happy.|"
     "{c} had a big smile.|"
     "That night, @he slept well.|"
     "{c} never forgot that day.|"
     "{c} sang a happy song.|"
     "That was a good day for {c}.|"
     "{c} smiled because {c:he} [had learned something new|was proud]."},
    {"intro_people",
     "{x} and {y} [were [good|best] friends|lived @home|went to the same school].|"
     "{x} was a @kind {x:boy}, and {y} lived @home.|"
     "There were two {p=[friends|children]}. {p:His} names were {x} and {y}."},
    {"close_people",
     "{g={x} and {y}} [played|laughed|talked] until {g:he} were tired.|"
     "In the evening, {g={x} and {y}} had [bread|soup|cake], and {g:he} were happy.|"
     "After that, {g={x} and {y}} sat in the sun because {g:he} were tired."},
    {"close_friends",
     "{g={c} and {f}} were [very|so] happy.|"
     "{g={c} and {f}} laughed, and then {g:he} went home.|"
     "From that day on, {g={c} and {f}} were best friends.|"
     "{g={c} and {f}} played until [dinner|dark|the sun went down].|"
     "{g={c} and {f}} held hands because {g:he} were [happy|good friends]."},
};

inline constexpr Plot kPlots[] = {
    // Something is lost, and found.
    {R"(@intro {c:He} had a @color {t=@toy} and took {t:him} [to the park|to bed|to school] every
    day. / @day {c} could not find the {t}. {c:He} looked [under the bed|in the box|under the rug],
    but the {t} was not there. {c:He} looked [behind the door|in the garden|on the shelf], but
    {t:he} was not there. [{c} began to cry.|{c:He} was very sad.] {c:His} {m} heard {c:him}.
    "[What is wrong|Why are you so sad]?" {m:he} asked. "I [lost|cannot find] my {t}," said {c}. /
    {c:His} {m} looked [in the old basket|behind the big chair|under the table]. There {t:he} was!
    {c} hugged {c:his} {m} and [ran off to play with|picked up|kissed] the {t}. @close)",
     "{c} lost {c:his} {t}, and {c:his} {m} found {t:him}."},

    {R"({c} had @color {s=[shoes|socks|boots|mittens]}. {c:He} loved {s:him} because {s:he} were
    [soft|warm|new]. @day {c} could not find the {s}. {s:He} were not [under the bed|by the
    door|on the chair]. "Have you seen {s:him}?" {c:he} asked {c:his} {m}. "No," {m:he} said, "but
    the {p=[puppy|kitten]} may know." / {c} looked for the {p}. {p:He} was [in the yard|under the
    table|in a big box]. {p:He} had made a bed with the {s} and [slept on {s:him}|did not want to
    give {s:him} back]. {c} laughed because the {p} looked so [happy|funny|sweet].)",
     "{c} looked for {c:his} {s}: a {p} had made a bed with {s:him}."},

    {R"(An old {k} had a gold {r=[ring|crown|cup|bell]}. The {k} loved {r:him} because {r:he} was
    [bright|pretty|very old]. @day {k:he} lost {r:him} in the [garden|woods|snow]. The {k} cried
    and could not sleep. / A @kind {c:boy} named {c} heard about the {r}. {c:He} looked [all day|for
    three days] and found {r:him} [in a bush|under a leaf|by a tree]. {c} took the {r} to the {k}.
    "You are a good {c:boy}," {k:he} said. The {k} gave {c:him} [a horse|a big cake|a bag of gold],
    and {c} [thanked {k:him}|said thank you] and went home.)",
     "An old {k} lost a {r}, and {c} found {r:him}."},

    {R"({c} walked in the woods and saw a @color {b=[butterfly|bird|rabbit|fox]}. {b:He} was [quick|
    pretty], and {c} ran after {b:him}. Soon {c:he} did not know the way home. {c:He} sat on a
    {l=[log|rock]} because {l:he} was dry, and {c:he} began to cry. / An old {o=[owl|turtle|goat]}
    heard {c:him}. "Follow the {r=[river|path|road]}," {o:he} said. "{r:He} goes to your house."
    {c} followed {r:him} [all the way|step by step] until {c:he} saw {c:his} {m}. {m:He} ran to
    {c:him} and hugged {c:him}. "[I was so scared!|Where were you?]" {m:he} [cried|said].)",
     "{c} was lost in the woods, and a {o} showed {c:him} the {r} home."},

    // Wind, rain and snow.
    {R"(@intro_friends @day {g={c} and {f}} went to the [park|hill|beach|field] with a @color
    {k=[kite|ball|hat|plane]}. {g:He} wanted to play. Then a strong wind came, and the {k} went
    high up into a {t=tree}. {t:He} was very tall. "How can we get the {k} down?" asked {f}. /
    [{c} climbed up and pulled the {k} out.|{f} found a long {s=stick} and pushed the {k} with
    {s:him}.|{c} shook the {t}, and the {k} fell down.] The {k} was [not broken|a little wet|dirty
    but safe]. @close_friends)",
     "A strong wind took a {k} into a tree, but {c} and {f} got {k:him} back."},

    {R"(The sky was gray. {c} took {c:his} @color {u=umbrella} and went [to school|to the shop|for a
    walk]. Soon the rain came down. {c} saw {f} under a tree. {f:He} was [wet and cold|all wet]
    because {f:he} had no coat. "Come with me," said {c}. {c:He} held the {u} over {f}. {u:He} was
    big, and so {u:he} was good for two. / {g={c} and {f}} walked on. {g:He} jumped over every
    puddle, and {g:he} sang [a song about the rain|a happy song] all the way.)",
     "{c} shared a {u} with {f} in the rain."},

    {R"(The snow was deep. {g={c} and {f}} went out and made a big {s=snowman}. {c} gave {s:him} a
    [carrot|stone|stick] for a nose, and {f} gave {s:him} a @color hat. {g:He} named {s:him}
    [Mister Cold|Big Bob|Old Snow]. / The next day, the sun was hot. The {s} got smaller and smaller
    because {s:he} was made of snow. {f} was sad. "Do not cry," {c} told {f:him}. "We will make a
    new one [next winter|when the snow comes back]." {f} [smiled|nodded|felt better].)",
     "{c} and {f} made a {s}, but the sun was too hot for {s:him}."},

    {R"(@day the wind was strong. {c} had a new {h=hat}. {h:He} was @color and [soft|pretty]. The
    wind took {h:him} away! {c:He} ran and ran, but the {h} flew over the [fence|road|wall] and
    landed on a {a=[cow|horse|goat|pig]}. The {a} [shook {a:his} head|looked up|did not move].
    "Please give me my {h}," said {c}. The {a} [ate {h:him}|dropped {h:him} in the mud|dropped
    {h:him} on the grass]. {c} [laughed|cried a little|sighed] and told {c:his} {m} about the {a}.
    "{a:He} [has a new hat now|thinks all hats are food|likes you]," {m:he} said.)",
     "The wind took the {h} of {c} to a {a}."},

    // Animals in need.
    {R"(@intro @day {c:he} found a little {a=[puppy|kitten|bird|rabbit|lamb]} [by the road|near the
    river|under a bush]. {a:He} was [cold and wet|very hungry|hurt and scared]. {c} picked {a:him}
    up and took {a:him} home. "Can we help {a:him}?" {c:he} asked {c:his} {m}. "Yes," {m:he} said.
    {g={c} and {c:his} {m}} gave the {a} [food and water|a warm bed]. {g:He} sat with {a:him} all
    night. / In the morning, the {a} [felt better|began to play|was strong again]. {c} named
    {a:him} [Dot|Star|Button|Lucky], and {a:he} [followed|loved] {c} from that day on.)",
     "{c} found a little {a} and took {a:him} home."},

    {R"({c} saw a {n=nest} in a tree. In the {n} were three @color {e=eggs}. "Do not touch {e:him},"
    said {c:his} {m}. "The mother bird loves {e:him}." {c} [nodded|said yes] and went to look at
    the {e} every day. / One morning, {c:he} saw three little {b=chicks}. {b:He} [cried|sang] for
    food because {b:he} were hungry. [In the summer|Soon], the {b} learned to fly, and {b:he}
    left the {n}. {n:He} was empty, but {c} was [not sad|happy for {b:him}].)",
     "{c} watched a {n} until the {b} in {n:him} learned to fly."},

    {R"(At night, {c} heard a {n=[noise|sound]}. {n:He} came from under the bed. {c:He} was scared
    and called {c:his} {m}. {m:He} came with a {l=[lamp|candle]} and held {l:him} near the floor.
    There was a little {a=[mouse|kitten|frog]}! {a:He} [sat on a sock|looked at the light|ate a
    cookie]. {c} laughed. "You are not a monster," {c:he} told the {a}. {c:His} {m} took {a:him}
    [outside|to the garden], and {c} [slept well|was not scared that night].)",
     "{c} was scared of a {n} at night, but {n:he} was only a little {a}."},

    {R"(A little {x=[frog|duck|pig|mouse]} wanted to [fly|sing]. {x:He} tried and tried, but {x:he}
    could not. The other animals laughed at {x:him}. Only the old {y=[owl|goose|turtle]} did not
    laugh. "We are all good at something," {y:he} said to the {x}. / The next day, a
    {z=[lamb|kitten|chick]} fell into the {h=[river|mud|pond]}. The {z} cried because {h:he} was
    deep. The {x} was [brave|quick] and pulled {z:him} out. The other animals cheered. "You are good
    at helping," said the {y}, and the {x} was happy because {x:he} had a new friend.)",
     "A little {x} pulled a {z} out of the {h} and had a new friend."},

    {R"(A {x=[rabbit|horse|dog|fox]} and a {y=[turtle|duck|mouse|frog]} lived [in the woods|on a
    farm]. "I am fast, and you are slow," said the {x}. The {y} was [sad|angry|hurt], but {y:he}
    said, "Let us race to the [old tree|river|gate]." / The {x} ran fast. Then {x:he} stopped
    because {x:he} wanted to [sleep|eat some grass|rest]. The {y} did not stop. {y:He} went on and
    on and won the race. "I was [wrong|too proud]," said the {x}. "You are [clever|better than
    me]." The {y} [smiled|laughed|was glad], and the two [went home|ate lunch together].)",
     "A slow {y} won a race with a fast {x}."},

    {R"({c} had a {p=[dog|cat|goat|pig]} that liked to [dig|run away|eat all day]. @day {p:he} went
    into the garden and [ate the flowers|made a big hole]. {c:His} {m} was [angry|not happy].
    "Look at my garden!" {m:he} said. {c} was sorry. {c:He} took the {p} home and gave {p:him} a
    [bone|big leaf|bath]. Then {c:he} went back and [planted new flowers|worked all day]. {c:His}
    {m} hugged {c:him}, but {m:he} made the garden {w=[wall|fence]} higher. {w:He} was now too high
    for the {p}.)",
     "The {p} of {c} went into the garden, so {c:his} {m} made the {w} higher."},

    // Friends.
    {R"(@intro_friends @day {c} had a [big|sweet] {t=[cake|apple|cookie|pear|pie]}. {f} had no food
    because {f:he} had [left {f:his} lunch at home|dropped {f:his} lunch in the mud|lost {f:his}
    bag]. {f} looked at the {t} and said, "{t:He} looks good!" {c} cut {t:him} in two and gave
    {f:him} one half. "Thank you," said {f}. "You are [so kind|a good friend]." /
    {g={c} and {f}} sat under a tree and ate. @close_friends)",
     "{c} gave {f} one half of a {t}."},

    {R"({f}'s birthday was near. {c} wanted to give {f:him} something, but {c:he} had no money. So
    {c:he} made a {t=[picture|card|boat|crown|drum]} for {f:him}. {t:He} was not big, but {t:he} was
    [pretty|red and gold|made with love]. / At the party, {f} looked at many things. Then {f:he} saw
    the {t}. "I love {t:him}!" {f:he} said. "[Who made {t:him}|Where did you get {t:him}]?" "I made
    the {t} for you," said {c}. {f} hugged {c:him}, and {g={c} and {f}} [danced|ate cake|played].)",
     "{c} made a {t} for the birthday of {f}."},

    {R"(A new {f:boy} named {f} came to school. {f:He} was shy and sat alone [by the window|under a
    tree|on the grass]. {c} saw {f:him} and felt sad for {f:him}. {c:He} walked up to {f} with a
    {t=@toy}. "Do you want to play with {t:him}?" {c:he} asked. {f} [nodded|smiled|said yes]. /
    {g={c} and {f}} played all day. {g:He} [ran in the sun|laughed a lot|told jokes], and the next
    day {f} was not shy. {f:He} [waved at|called out to|ran to] {c} [at once|from the door].)",
     "{c} played with {f}, who was new at school and shy."},

    {R"({g={c} and {f}} found a {t=@toy} on the [beach|road|grass]. "I saw {t:him} first!" said {c}.
    "No, I did!" said {f}. {c} pulled the {t}, and {f} pulled {t:him} too. Then {t:he} [broke|fell
    in the mud]. {g={c} and {f}} looked at the {t}, and {g:he} were sad. "I am sorry," said {c}. "I
    am sorry too," said {f}. / {g={c} and {f}} [washed|fixed] the {t}. After that, {c} played with
    {t:him} in the morning, and {f} played with {t:him} at night.)",
     "{c} and {f} both wanted a {t}, and were sorry."},

    {R"({f} was sick and had to stay in bed. {c} wanted to help {f:him}. {c:He} made some
    {s=[soup|tea]}. {s:He} was hot, and so {c} walked slowly to the house of {f}. "This is for you,"
    {c:he} said. {f} [drank {s:him} all|said thank you and drank {s:him}]. "{s:He} is so good!"
    {f:he} said. / Then {c} read a {b=book} to {f:him}. {b:He} was about a [dog|king|ship] that
    [could fly|was lost|lived on the moon]. {f} fell asleep with a smile on {f:his} face.)",
     "{f} was sick, and {c} brought {s} and read a {b}."},

    {R"(@intro_friends @day {g={c} and {f}} played a game. {c} hid, and {f} looked for {c:him}.
    {f:He} looked behind the {b=[barn|house|wall]}, but no one was behind {b:him}. {f:He} looked in
    the {w=[wagon|box|tent]}, but {w:he} was empty. "Where are you?" {f:he} called. / Then {f} heard
    a laugh. {c} was up in the {t=tree}! {t:He} was [tall|old|full of leaves], and {c} sat in
    {t:him} like a bird. "You are good at this," {f} told {c:him}. @close_friends)",
     "{c} hid in a {t}, and {f} found {c:him}."},

    {R"({g={c} and {f}} went to the [hill|lake|field] for lunch. {c} brought bread, and {f} brought a
    sweet {p=[pie|cake]}. {g:He} put {p:him} on a @color blanket. Then a {a=[goat|dog|fox|pig]}
    came by. {a:He} smelled the {p} and ate {p:him} in one bite! "Stop!" cried {f}. {g={c} and {f}}
    ran after the {a}, but {a:he} was too fast for {g:him}. / "Well, we still have bread," said {c}.
    {f} [laughed|smiled] and [gave {c:him} a hug|took a bite|sat down next to {c:him}].)",
     "A {a} ate the {p} of {c} and {f}."},

    // Things a child makes or learns.
    {R"(@intro @day {g={c} and {c:his} {m}} wanted to make a {t=[cake|pie]}. {c} mixed the [eggs|
    milk|sugar] and the flour in a {b=bowl}. {b:He} was [big|blue|full]. Then {c:his} {m} put the
    {t} in the hot {o=oven}. {c} did not touch the {o} because {o:he} was too hot. Soon the {t}
    smelled [good|sweet]. When {t:he} was ready, {c} put [berries|cream|nuts] on top. "{t:He} is too
    pretty to eat!" said {c}. But {c:his} {m} [ate two pieces|took a big bite], and {m:he} [laughed|
    asked for more|smiled at {c:him}].)",
     "{c} and {c:his} {m} made a {t}."},

    {R"({c} got a tiny {s=seed} from {c:his} {m}. "Give {s:him} water and sun," {m:he} said. {c} put
    the {s} in a [pot|hole] and gave {s:him} water every day. For a long time, the {s} slept. "Is
    {s:he} sick?" {c} asked {c:his} {m}. "No," {m:he} said. "{s:He} is only slow." / One
    morning, {c} saw a little {p=plant}. {p:He} was green and [thin|tiny]. {p:He} grew and grew, and
    in the summer {p:he} was [taller than {c}|as high as the door]. {c} [danced|clapped|laughed]
    because the {p} had [@color|big] flowers.)",
     "{c} gave a {s} water until a {p} grew."},

    {R"({c} got a new @color {b=bike}. {b:He} was [fast|bright|big]. {c} wanted to ride {b:him}, but
    {c:he} fell. {c:His} [knee|hand|arm] hurt. "I cannot do this," {c:he} said. "Try again," said
    {c:his} {m}. {m:He} held the {b} and ran next to {b:him}. {c} tried again and again. / In the
    evening, {c:he} [rode to the gate|rode past the house|did not fall]. "Look at me!" {c:he}
    shouted. {c:His} {m} clapped {m:his} hands because {m:he} was [so proud|happy].)",
     "{c} fell off a {b}, and then learned to ride {b:him}."},

    {R"(@intro {c:He} made a little {b=boat} from [wood|paper] and put {b:him} on the
    {l=[lake|river|pond]}. The wind pushed {b:him} far away. {c} did not go into the {l} because
    {l:he} was [deep|cold]. "My {b}!" {c:he} cried. / Then a {a=[duck|dog|swan]} swam by. {a:He} saw
    the {b} and pushed {b:him} back to {c}. "Thank you, {a}!" {c:he} said. {c:He} gave {a:him} some
    bread, and {a:he} ate all of the bread at once. @close)",
     "A {a} brought the {b} of {c} back."},

    {R"({c} drew a {t=picture} and gave {t:him} to {c:his} {m}. {m:He} looked at {t:him} for a long
    time. "Is this a [dog|cow|pig]?" {m:he} asked. "No," {c} said, "I drew a
    {a=[bird|frog|horse|lion]}. {a:He} is [happy|sleepy|angry] because [the sun is up|lunch is
    late|winter is here]." "Now I see {a:him}," said {c:his} {m}. {m:He} put the {t} [on the wall|
    over the bed|by the door], and {t:he} [is still there|made the room bright].)",
     "{c} drew a {a} for {c:his} {m}."},

    {R"({c}'s {m} had a [pretty|blue|old] {v=[cup|bowl|plate|lamp]}, and {c} liked {v:him} too. @day
    {c} ran in the house and hit the table. The {v} fell down, and {v:he} broke. {c} wanted to
    [hide|run away], but {c:he} went to {c:his} {m}. "I am sorry. I broke the {v}," {c:he} said. /
    {c:His} {m} was [sad|quiet]. Then {m:he} hugged {c:him}. "{v:He} was only a {v}," {m:he} said.
    "Thank you for telling me." @close)",
     "{c} broke a {v} and told {c:his} {m}."},

    {R"(@day {g={c} and {c:his} {m}} went to the shop and got some {t=[apples|pears|plums|carrots]}.
    {t:He} were [red|fresh|big] and sweet. {c} put {t:him} in a {b=[basket|bag]}. {b:He} was old,
    and on the way home {b:he} broke. The {t} fell on the road. A {a=[goat|pig|horse|cow]} saw
    {t:him} and ate {t:him} all! "Stop!" shouted {c}, but {a:he} did not stop. / {c:His} {m}
    laughed. "{a:He} was hungry," {m:he} said. So {g={c} and {c:his} {m}} went back to the shop, and
    {g:he} got [more|a better bag|bread].)",
     "A {a} ate the {t} that {c} had got with {c:his} {m}."},

    {R"({g={c} and {c:his} {m}} sat on the [hill|roof|grass] at night. {g:He} looked at the
    {s=stars}. {s:He} were [bright|small and white]. "Where do {s:he} go in the day?" {c:he}
    asked. "{s:He} do not go away," said {c:his} {m}. "The sun is too bright." / Then the {n=moon}
    came up. {n:He} was [big and round|yellow|thin]. {c} waved at {n:him}. "[Is the {n} far away|Can
    we go to the {n}]?" {c:he} asked. But {c:his} {m} [was asleep|only smiled]. {c} closed {c:his}
    eyes too, and the {n} [looked down|went to bed].)",
     "{c} and {c:his} {m} looked at the {s} and the {n}."},
};

}  // namespace tapestry::examples
