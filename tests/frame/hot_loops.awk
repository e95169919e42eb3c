# Finds the innermost loops of a disassembly (objdump -dCw --no-show-raw-insn) that hold packed
# fused multiply-adds, and says what is wrong with them. Part of hot_loops.sh, which says why.
#
#     awk -v register=zmm|ymm -v kind=tile -v least=N -f hot_loops.awk DISASSEMBLY
#     awk -v register=zmm|ymm -v kind=kernel [-v may_spill=1] [-v except=PATTERN] -f hot_loops.awk DISASSEMBLY
#
# Functions whose names match `except` are passed over.
#
# kind=tile    of the functions multiply_tile<T, Vectors, Rows, ...>: each has such a loop; an
#              iteration holds Rows * Vectors full-width FMAs (or that many times the steps it is
#              unrolled by) and no separate product or sum, store, call or access to the stack. Those
#              with Copies other than 0 may store, and read one address from the stack. For float and for double the largest of them holds
#              `least` FMAs or more.
# kind=kernel  of all functions: full-width FMAs for float and for double, no loop of products and
#              sums where none is fused, and no vector is put on the stack. Constants read from
#              there are counted, not refused: they cost no more than those read from elsewhere.
#
# A line for every fault, beginning with FAULT, then a line that counts what was seen; exit 1 after
# a fault. Runs with mawk: no three-argument match, no {n} in patterns.

# One function may hold the same loop many times over: a line says how often.
function fault(text) {
    text = "FAULT " name ": " text
    if (!times[text]++) said[++faults] = text
}

# Is the backward jump b a loop, and what is its body? Blocks that are seldom run lie behind the
# rest and jump back too: the jump is a loop only if it is reached from its own target. The body is
# what lies on the ways between the two; sweeps up, then down, find it.
function find_body(b,    i, more) {
    split("", reached)
    split("", body)
    reached[to[b]] = 1
    do {
        more = 0
        for (i = to[b]; i < from[b]; ++i) {
            if (!(i in reached)) continue
            if (!ends[i] && !(i + 1 in reached)) reached[i + 1] = 1
            if (goal[i] >= to[b] && goal[i] <= from[b] && !(goal[i] in reached)) {
                reached[goal[i]] = 1
                if (goal[i] < i) more = 1
            }
        }
    } while (more)
    if (!(from[b] in reached)) return 0
    body[from[b]] = 1
    do {
        more = 0
        for (i = from[b] - 1; i >= to[b]; --i) {
            if (i in body || !(i in reached)) continue
            if (!ends[i] && i + 1 in body || goal[i] in body) body[i] = more = 1
        }
    } while (more)
    return 1
}

# Adds up the instructions of `body`, which lie between the target and the jump b.
function look_at_body(b,    i, x) {
    full = narrow = products = sums = stack_reads = spills = scalar_stack = stores = calls = 0
    type = ""
    for (i = to[b]; i <= from[b]; ++i) {
        if (!(i in body)) continue
        x = instruction[i]
        if (x ~ /^vfn?m(add|sub)[0-9]*p[sd] /) {
            if (x ~ full_width) ++full; else ++narrow
            type = x ~ /^v[a-z0-9]*ps / ? "float" : "double"
        } else if (x ~ /^vmulp[sd] /) {
            ++products
        } else if (x ~ /^v(add|sub)p[sd] /) {
            ++sums
        }
        # %rbp is a stack pointer only where the function has made it one.
        if (x !~ /^lea / && (x ~ /\(%rsp/ || frame_pointer && x ~ /\(%rbp/)) {
            if (x !~ /^v/) ++scalar_stack
            else if (x ~ is_store) ++spills
            else ++stack_reads
        } else if (x ~ /^v/ && x ~ is_store) {
            ++stores
        }
        if (x ~ /^call/) ++calls
    }
}

# Is there a loop inside the loop b?
function has_inner_loop(b,    i) {
    for (i = 1; i <= jumps; ++i) {
        if (from[i] - to[i] >= from[b] - to[b] || to[i] < to[b] || from[i] > from[b]) continue
        if (find_body(i)) return 1
    }
    return 0
}

function judge_tile(    step) {
    ++loops
    step = rows * vectors
    if (narrow > 0) fault(narrow " FMAs narrower than " register)
    if (full % step != 0) fault(full " FMAs in a loop; " rows " x " vectors " wanted")
    if (products + sums > 0) fault(products + sums " separate products or sums beside FMAs")
    if (spills + stack_reads > 0)
        fault(spills " vectors put on the stack, " stack_reads " read from it")
    if (scalar_stack > (copies ? 1 : 0)) fault(scalar_stack " addresses or counters read from the stack")
    if (stores > 0 && !copies) fault(stores " stores of vectors in a loop that has nothing to store")
    if (calls > 0) fault(calls " calls")
    if (full > most[type]) most[type] = full
}

function judge_kernel() {
    if (full + narrow == 0) {  # a polynomial, as in exp, whose steps should have been fused
        if (products >= 4 && sums >= 4) fault(products " products and " sums " sums, none fused")
        return
    }
    ++loops
    if (spills > 0 && !may_spill)
        fault(spills " vectors put on the stack in a loop of " full " FMAs")
    if (spills > 0) ++spilling
    if (narrow > 0) fault(narrow " FMAs narrower than " register)
    constants += stack_reads
    addresses += scalar_stack
    ++seen[type]
}

# The end of a function: its loops are among the backward jumps.
function judge(    b, i, found) {
    if (name == "" || kind == "tile" && rows == 0) return
    if (except != "" && name ~ except) return
    ++functions
    for (i in target) {
        if (!(target[i] in position)) continue  # to another function
        goal[i] = position[target[i]]
        if (goal[i] > i + 0) continue  # i is a string, being an index
        to[++jumps] = goal[i]
        from[jumps] = i + 0
    }
    for (b = 1; b <= jumps; ++b) {
        if (work[from[b]] == work[to[b] - 1] || has_inner_loop(b) || !find_body(b)) continue
        look_at_body(b)
        if (kind == "kernel") judge_kernel()
        else if (full + narrow > 0) judge_tile()
        if (full + narrow > 0) ++found
    }
    if (kind == "tile" && found == 0) fault("no loop with packed FMAs")
}

BEGIN {
    full_width = "%" register "[0-9]"
    is_store = "\\)(\\{%k[1-7]\\})?$"  # AT&T syntax: the last operand is the target
}

/^[0-9a-f]+ <.*>:$/ {
    judge()
    name = $0
    copies = name ~ /Copies\)[1-9]/
    sub(/^[0-9a-f]+ </, "", name)
    sub(/>:$/, "", name)
    gsub(/tapestry::kernels::[a-z0-9]*::|\(anonymous namespace\)::/, "", name)
    sub(/\(.*$/, "", name)
    count = jumps = frame_pointer = rows = vectors = 0
    split("", position)
    split("", target)
    if (match(name, /multiply_tile<(float|double), [0-9]+, [0-9]+/)) {
        split(substr(name, RSTART, RLENGTH), argument, ", ")
        vectors = argument[2] + 0
        rows = argument[3] + 0
    }
    next
}

/^ *[0-9a-f]+:\t/ {
    address = $1
    sub(/:$/, "", address)
    text = $0
    sub(/^ *[0-9a-f]+:\t/, "", text)
    sub(/ +#.*$/, "", text)
    sub(/ +<.*$/, "", text)
    sub(/ +$/, "", text)
    instruction[++count] = text
    position[address] = count
    work[count] = work[count - 1] + (text ~ /^v(mul|fn?m(add|sub)[0-9]*)p[sd] /)
    ends[count] = text ~ /^(jmp|ret|ud2)/
    goal[count] = 0
    if (text ~ /^mov +%rsp,%rbp$/ || text ~ /^lea .*\(%rsp.*,%rbp$/) frame_pointer = 1
    if (text ~ /^j/) target[count] = $3
}

END {
    judge()
    name = "all"
    split("float double", types, " ")
    for (i = 1; i <= 2; ++i) {
        type = types[i]
        if (kind == "tile" && most[type] < least)
            fault(type ": the largest tile has " most[type] + 0 " FMAs, " least " wanted")
        if (kind == "kernel" && !seen[type]) fault("no loop with FMAs for " type)
    }
    for (i = 1; i <= faults; ++i) {
        print said[i] (times[said[i]] > 1 ? ", " times[said[i]] " times" : "")
    }
    if (kind == "tile") {
        print functions + 0 " tiles, " loops + 0 " loops of up to " most["float"] + 0 " FMAs"
    } else {
        print loops + 0 " loops with FMAs, " spilling + 0 " of them spill; " constants + 0 \
            " vectors and " addresses + 0 " addresses or counters read from the stack"
    }
    exit faults > 0
}
