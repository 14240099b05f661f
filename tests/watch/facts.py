#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes facts_code.c: instructions, and what each of them does to memory, as the processor's manual has it.

The facts are written down here, by hand and by form; no disassembler is asked. test_facts.c holds the code tables
against them, and runs each instruction under breakpoints, so that the processor is asked as well.

An instruction is a template with @ for its memory operand; an address is made of registers in one of the ways of
FORMS, in turn. What it needs in registers and memory is set before it runs.
"""
import sys

REGISTERS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()
cases = []


class Place:
    """An address: an area of the test's memory and an offset into it."""

    def __init__(self, area, offset):
        self.area, self.offset = area, offset

    def __add__(self, n):
        return Place(self.area, self.offset + n)


def mem(offset):
    return Place("MEMORY", offset)


def stack(offset):
    return Place("STACK", offset)


# ---- addresses: text, registers, place

def base(reg, disp):
    def form(at):
        return (f"{disp or ''}(%{reg})", {reg: at + -disp})
    return form


def indexed(b, i, scale, disp, count):
    def form(at):
        return (f"{disp or ''}(%{b},%{i},{scale})", {b: at + (-disp - scale * count), i: count})
    return form


def index_only(i, scale, disp):
    def form(at):  # the register is (address - disp) / scale
        return (f"{disp:#x}(,%{i},{scale})", {i: ("SCALED", at + -disp, scale)})
    return form


def relative(at):
    return (f"fact_memory+{at.offset}(%rip)", {})


FORMS = [
    base("rbx", 0), base("r12", 0), base("r13", 0), base("rbp", 0), base("r9", 8), base("rsi", -16),
    base("rdi", 0x1234), base("r14", -0x2000), relative, indexed("rbx", "rsi", 1, 0, 40),
    indexed("r8", "rdi", 2, 5, 100), indexed("rbp", "r12", 4, 0, -7), indexed("r13", "r15", 8, -128, 3),
    indexed("r12", "rbp", 8, 0x700, -20), index_only("rbx", 8, 0), index_only("r14", 4, 0x40), base("r15", 127),
    base("r8", 128), indexed("rsi", "r13", 2, -0x1000, 9), indexed("rdi", "rdi", 1, 0, None),
]
FORMS.pop()  # a register twice is a case of its own, below
turn = 0


def add(text, operands, registers=None, **more):
    cases.append(dict(text=text, operands=operands, registers=dict(registers or {}), **more))


def case(template, size, how, at=0x2800, **more):
    """One memory operand, in the next form of address."""
    global turn
    site = more.pop("site", True)
    registers = more.pop("registers", {})
    while True:
        text, made = FORMS[turn % len(FORMS)](mem(at))
        turn += 1
        if not set(made) & set(registers) and not ("SCALED" in str(made) and at % 8):
            break
    registers = {**made, **registers}
    add(template.replace("@", text), [(mem(at), size, how, site)], registers, **more)


SUFFIX = {1: "b", 2: "w", 4: "l", 8: "q"}
REG = {1: "r11b", 2: "r11w", 4: "r11d", 8: "r11"}
ODD = 0x2801  # unaligned
CROSSING = 0x2fff  # the last byte of a page, and on

# ---- moves of all sizes, all forms of address, all registers
for form in FORMS:
    for size in (1, 4):
        for template, how in (("mov @,%{}", "r"), ("mov %{},@", "w")):
            text, registers = form(mem(0x2800))
            add(template.format(REG[size]).replace("@", text), [(mem(0x2800), size, how, True)], registers)
for reg in REGISTERS:
    if reg not in ("rsp", "r11"):
        add(f"mov (%{reg}),%r11", [(mem(0x2888), 8, "r", True)], {reg: mem(0x2888)})
        add(f"movq $-5,0x20(%{reg})", [(mem(0x2888), 8, "w", True)], {reg: mem(0x2868)})
for size in (1, 2, 4, 8):
    for at in (0x2810, ODD, CROSSING - size // 2 + (size == 1)):
        case(f"mov @,%{REG[size]}", size, "r", at)
        case(f"mov %{REG[size]},@", size, "w", at)
        case(f"mov{SUFFIX[size]} $1,@", size, "w", at)
        case(f"add %{REG[size]},@", size, "rw", at)
for template, size in (("movzbw @,%r11w", 1), ("movzbl @,%r11d", 1), ("movzbq @,%r11", 1), ("movzwl @,%r11d", 2),
                       ("movzwq @,%r11", 2), ("movsbw @,%r11w", 1), ("movsbl @,%r11d", 1), ("movsbq @,%r11", 1),
                       ("movswl @,%r11d", 2), ("movswq @,%r11", 2), ("movslq @,%r11", 4)):
    case(template, size, "r")
for template, size in (("movbe @,%r11", 8), ("movbe @,%r11w", 2)):
    case(template, size, "r", needs="movbe")
case("movbe %r11d,@", 4, "w", needs="movbe")
case("movnti %r11,@", 8, "w")
case("movnti %r11d,@", 4, "w")

# ---- integers
for name in "add or adc sbb and sub xor cmp".split():
    for size in (1, 2, 4, 8):
        case(f"{name} @,%{REG[size]}", size, "r")
        case(f"{name} %{REG[size]},@", size, "r" if name == "cmp" else "rw")
        case(f"{name}{SUFFIX[size]} $7,@", size, "r" if name == "cmp" else "rw")
        if size > 1:
            case(f"{name}{SUFFIX[size]} $0x345,@", size, "r" if name == "cmp" else "rw")
for size in (1, 2, 4, 8):
    s = SUFFIX[size]
    case(f"test %{REG[size]},@", size, "r")
    case(f"test{s} $9,@", size, "r")
    for name in "inc dec neg not shl shr sar rol ror rcl rcr".split():
        case(f"{name}{s} @", size, "rw")
    for name in "shl sar ror".split():
        case(f"{name}{s} $3,@", size, "rw")
        case(f"{name}{s} %cl,@", size, "rw", registers={"rcx": 2})
    for name in "mul imul".split():
        case(f"{name}{s} @", size, "r", registers={"rax": 3, "rdx": 0})
    for name in "div idiv".split():
        case(f"{name}{s} @", size, "r", registers={"rax": 3, "rdx": 0}, cells=[(mem(0x2800), 100)])
    if size > 1:
        r = REG[size]
        case(f"imul @,%{r}", size, "r")
        case(f"imul $5,@,%{r}", size, "r")
        case(f"imul $500,@,%{r}", size, "r")
        for name in ("bt", "bts", "btr", "btc"):
            case(f"{name}{s} $3,@", size, "r" if name == "bt" else "rw")
            case(f"{name} %{r},@", size, "r" if name == "bt" else "rw", registers={"r11": 5}, spread=True, site=False)
        for name in ("bsf", "bsr", "popcnt", "lzcnt", "tzcnt"):
            case(f"{name} @,%{r}", size, "r", needs="lzcnt" if name == "lzcnt" else "bmi" if name == "tzcnt" else "")
        for name in ("cmove", "cmovne", "cmovb", "cmovg", "cmovs"):
            case(f"{name} @,%{r}", size, "r")
        for name in ("shld", "shrd"):
            case(f"{name} $3,%{r},@", size, "rw")
            case(f"{name} %cl,%{r},@", size, "rw", registers={"rcx": 2})
for name in ("sete", "setne", "setb", "setg", "sets", "setp"):
    case(f"{name} @", 1, "w")
for size in (4, 8):
    r, o = REG[size], {4: "r10d", 8: "r10"}[size]
    case(f"andn @,%{o},%{r}", size, "r", needs="bmi")
    case(f"bextr %{o},@,%{r}", size, "r", needs="bmi")
    case(f"blsi @,%{r}", size, "r", needs="bmi")
    case(f"blsr @,%{r}", size, "r", needs="bmi")
    case(f"shlx %{o},@,%{r}", size, "r", needs="bmi2")
    case(f"sarx %{o},@,%{r}", size, "r", needs="bmi2")
    case(f"rorx $3,@,%{r}", size, "r", needs="bmi2")
    case(f"pext @,%{o},%{r}", size, "r", needs="bmi2")
    case(f"mulx @,%{o},%{r}", size, "r", registers={"rdx": 3}, needs="bmi2")
    case(f"adcx @,%{r}", size, "r", needs="adx")
    case(f"adox @,%{r}", size, "r", needs="adx")
case("crc32b @,%r11", 1, "r", needs="sse4.2")
case("crc32q @,%r11", 8, "r", needs="sse4.2")

# ---- locked, exchanging
for size in (1, 2, 4, 8):
    r, s = REG[size], SUFFIX[size]
    case(f"xchg %{r},@", size, "rw", site=False)
    case(f"xadd %{r},@", size, "rw")
    case(f"lock xadd %{r},@", size, "rw", site=False)
    case(f"cmpxchg %{r},@", size, "rw", registers={"rax": 1})
    case(f"lock cmpxchg %{r},@", size, "rw", registers={"rax": 1}, site=False)
    for name in ("add", "or", "and", "xor", "sub"):
        case(f"lock {name} %{r},@", size, "rw", site=False)
    for name in ("inc", "dec", "neg", "not"):
        case(f"lock {name}{s} @", size, "rw", site=False)
case("lock btsl $3,@", 4, "rw", site=False)
PAIR = {"rax": 1, "rdx": 2, "rcx": 3, "rbx": 4}
case("cmpxchg8b @", 8, "rw", registers=PAIR)
case("lock cmpxchg8b @", 8, "rw", registers=PAIR, site=False)
case("lock cmpxchg16b @", 16, "rw", registers=PAIR, site=False)

# ---- vectors
for v, needs in (("", ""), ("v", "avx")):
    for name, size in (("movss", 4), ("movsd", 8), ("movd", 4), ("movq", 8), ("movups", 16), ("movupd", 16), ("movaps", 16),
                       ("movapd", 16), ("movdqa", 16), ("movdqu", 16)):
        case(f"{v}{name} @,%xmm0", size, "r", needs=needs)
        case(f"{v}{name} %xmm0,@", size, "w", needs=needs)
        if name.startswith("movu") or name in ("movdqu", "movss", "movsd"):
            case(f"{v}{name} @,%xmm9", size, "r", ODD, needs=needs)
            case(f"{v}{name} %xmm9,@", size, "w", CROSSING - size // 2, needs=needs)
    three = "%xmm1," if v else ""
    for name in ("movlps", "movhps", "movlpd", "movhpd"):
        case(f"{v}{name} @,{three}%xmm0", 8, "r", needs=needs)
        case(f"{v}{name} %xmm0,@", 8, "w", needs=needs)
    for name in ("movntps", "movntpd", "movntdq"):
        case(f"{v}{name} %xmm0,@", 16, "w", needs=needs)
    for name, size in (("lddqu", 16), ("movddup", 8), ("movshdup", 16), ("movsldup", 16), ("movntdqa", 16),
                       ("pmovzxbw", 8), ("pmovzxbd", 4), ("pmovzxbq", 2), ("pmovsxwd", 8), ("pmovsxdq", 8),
                       ("pmovsxwq", 4), ("pabsd", 16), ("sqrtps", 16), ("cvtdq2ps", 16), ("cvttps2dq", 16),
                       ("cvtps2pd", 8), ("cvtdq2pd", 8), ("ucomiss", 4), ("comisd", 8), ("ptest", 16)):
        case(f"{v}{name} @,%xmm0", size, "r", needs=needs or "sse4.2")
    for name, size in (("addss", 4), ("addsd", 8), ("mulss", 4), ("divsd", 8), ("subsd", 8), ("minss", 4), ("maxsd", 8),
                       ("sqrtss", 4), ("sqrtsd", 8), ("rcpss", 4), ("cvtss2sd", 4), ("cvtsd2ss", 8), ("addps", 16),
                       ("mulpd", 16), ("andps", 16), ("xorpd", 16), ("paddd", 16), ("pxor", 16), ("pand", 16), ("por", 16),
                       ("pcmpeqb", 16), ("pcmpgtd", 16), ("pmulld", 16), ("psubq", 16), ("pshufb", 16), ("pminub", 16),
                       ("packuswb", 16), ("haddps", 16), ("psadbw", 16), ("pmaddwd", 16), ("addsubps", 16)):
        case(f"{v}{name} @,{three}%xmm0", size, "r", needs=needs or "sse4.2")
    for name in "psrld psllq psraw punpckhbw punpcklbw punpckldq punpcklqdq unpckhps unpcklps unpcklpd unpckhpd".split():
        case(f"{v}{name} @,{three}%xmm0", 16, "r", needs=needs, masked=True, loose=True, site=False)
    for name, size in (("cmpltss", 4), ("cmpltsd", 8), ("cmpeqps", 16)):
        case(f"{v}{name} @,{three}%xmm0", size, "r", needs=needs)
    for name, size in (("insertps $0x10,", 4), ("pinsrb $3,", 1), ("pinsrw $3,", 2), ("pinsrd $1,", 4), ("pinsrq $1,", 8),
                       ("shufps $3,", 16), ("palignr $3,", 16), ("blendps $3,", 16), ("roundsd $1,", 8), ("roundss $1,", 4)):
        case(f"{v}{name}@,{three}%xmm0", size, "r", needs=needs or "sse4.2")
    for name in ("pshufd $3,", "pcmpistri $8,", "roundps $1,"):
        case(f"{v}{name}@,%xmm0", 16, "r", registers={"rcx": 0} if "istri" in name else {}, needs=needs or "sse4.2")
    for name, size in (("extractps $1,", 4), ("pextrb $1,", 1), ("pextrw $1,", 2), ("pextrd $1,", 4), ("pextrq $1,", 8)):
        case(f"{v}{name}%xmm0,@", size, "w", needs=needs or "sse4.2")
    for name, size, r in (("cvtsi2sdl", 4, 0), ("cvtsi2sdq", 8, 0), ("cvtsi2ssl", 4, 0), ("cvtsi2ssq", 8, 0)):
        case(f"{v}{name} @,{three}%xmm0", size, "r", needs=needs)
    for name, size in (("cvttss2si", 4), ("cvttsd2si", 8), ("cvtsd2si", 8)):
        case(f"{v}{name} @,%r11", size, "r", needs=needs)
for name, size in (("vmovups", 32), ("vmovaps", 32), ("vmovdqu", 32), ("vmovdqa", 32), ("vmovupd", 32)):
    case(f"{name} @,%ymm0", size, "r", needs="avx")
    case(f"{name} %ymm0,@", size, "w", needs="avx")
    if "u" in name[4:]:
        case(f"{name} @,%ymm12", size, "r", ODD, needs="avx")
        case(f"{name} %ymm12,@", size, "w", CROSSING - 9, needs="avx")
for name in ("vaddps", "vmulpd", "vandps", "vxorps", "vmaxpd"):
    case(f"{name} @,%ymm1,%ymm0", 32, "r", needs="avx")
for name in ("vpaddd", "vpxor", "vpcmpeqb", "vpshufb", "vpmulld", "vpermd"):
    case(f"{name} @,%ymm1,%ymm0", 32, "r", needs="avx2")
for name, size in (("vfmadd213ss", 4), ("vfmadd231sd", 8), ("vfnmadd132ps", 16)):
    case(f"{name} @,%xmm1,%xmm0", size, "r", needs="fma")
for name, size, to, needs in (("vbroadcastss", 4, "xmm0", "avx"), ("vbroadcastss", 4, "ymm0", "avx"),
                              ("vbroadcastsd", 8, "ymm0", "avx"), ("vbroadcastf128", 16, "ymm0", "avx"),
                              ("vpbroadcastb", 1, "xmm0", "avx2"), ("vpbroadcastw", 2, "ymm0", "avx2"),
                              ("vpbroadcastd", 4, "ymm0", "avx2"), ("vpbroadcastq", 8, "xmm0", "avx2"),
                              ("vbroadcasti128", 16, "ymm0", "avx2"), ("vpmovzxbw", 16, "ymm0", "avx2"),
                              ("vpmovsxdq", 16, "ymm0", "avx2"), ("vcvtps2pd", 16, "ymm0", "avx"),
                              ("vcvtph2ps", 8, "xmm0", "f16c"), ("vcvtph2ps", 16, "ymm0", "f16c")):
    case(f"{name} @,%{to}", size, "r", needs=needs)
case("vinsertf128 $1,@,%ymm1,%ymm0", 16, "r", needs="avx")
case("vextractf128 $1,%ymm0,@", 16, "w", needs="avx")
case("vextracti128 $1,%ymm0,@", 16, "w", needs="avx2")
case("vcvtps2ph $0,%xmm0,@", 8, "w", needs="f16c")
case("vmovntps %ymm0,@", 32, "w", needs="avx")
# ymm6 has every other lane's sign set, the first one's among them; ymm7 has small indices
for name, size, r, needs in (("vmaskmovps", 16, "xmm", "avx"), ("vmaskmovps", 32, "ymm", "avx"), ("vmaskmovpd", 32, "ymm", "avx"),
                             ("vpmaskmovd", 32, "ymm", "avx2"), ("vpmaskmovq", 16, "xmm", "avx2")):
    case(f"{name} @,%{r}6,%{r}0", size, "r", masked=True, site=False, needs=needs)
    case(f"{name} %{r}0,%{r}6,@", size, "w", masked=True, site=False, needs=needs)
add("maskmovdqu %xmm6,%xmm0", [(mem(0x2800), 16, "w", False)], {"rdi": mem(0x2800)}, masked=True)
add("vpgatherdd %ymm5,(%rbx,%ymm7,4),%ymm0", [(mem(0x2800), 4, "r", False)], {"rbx": mem(0x2800)}, spread=True, needs="avx2")
add("vgatherdpd %xmm5,16(%r9,%xmm7,8),%xmm0", [(mem(0x2800), 8, "r", False)], {"r9": mem(0x27f0)}, spread=True, needs="avx2")
case("movq @,%mm0", 8, "r")
case("movq %mm0,@", 8, "w")
case("paddd @,%mm0", 8, "r")
# AVX-512: displacements in units of the operand, broadcasts
for text, size, how, more in (
        ("vmovdqu64 0x40(%rbx),%zmm0", 64, "r", {}), ("vmovdqu8 %zmm0,0x40(%rbx)", 64, "w", {}),
        ("vmovups 0x20(%rbx),%ymm17", 32, "r", {}), ("vmovdqa32 %xmm19,0x30(%rbx)", 16, "w", {}),
        ("vaddps 0x40(%rbx),%zmm1,%zmm0", 64, "r", {}), ("vaddpd 0x8(%rbx){1to8},%zmm1,%zmm0", 8, "r", {}),
        ("vpaddd 0x4(%rbx){1to16},%zmm1,%zmm0", 4, "r", {}), ("vpbroadcastq 0x8(%rbx),%zmm0", 8, "r", {}),
        ("vaddsd 0x8(%rbx),%xmm17,%xmm0", 8, "r", {}), ("vpmovzxbd 0x10(%rbx),%zmm0", 16, "r", {}),
        ("vmovdqu32 0x40(%rbx),%zmm0{%k1}", 64, "r", {"masked": True}),
        ("vmovdqu32 %zmm0,0x40(%rbx){%k1}", 64, "w", {"masked": True}),
        ("vpcompressd %zmm0,0x40(%rbx){%k1}", 64, "w", {"masked": True})):
    disp = int(text.split("(%rbx)")[0].replace(",", " ").split()[-1], 16)
    add(text, [(mem(0x2840), size, how, "masked" not in more)], {"rbx": mem(0x2840 - disp)}, needs="avx512", **more)

# ---- the x87 unit, its state, and what is no access
for text, size, how in (("flds @", 4, "r"), ("fldl @", 8, "r"), ("fldt @", 10, "r"), ("fstps @", 4, "w"), ("fstpl @", 8, "w"),
                        ("fstpt @", 10, "w"), ("filds @", 2, "r"), ("fildl @", 4, "r"), ("fildll @", 8, "r"),
                        ("fistpl @", 4, "w"), ("fistpll @", 8, "w"), ("fadds @", 4, "r"), ("fmull @", 8, "r")):
    case(text, size, how)
case("fldcw @", 2, "r", site=False, cells=[(mem(0x2800), 0x37f)])
case("fnstcw @", 2, "w", site=False)
case("fnstsw @", 2, "w", site=False)
case("ldmxcsr @", 4, "r", site=False, cells=[(mem(0x2800), 0x1f80)])
case("stmxcsr @", 4, "w", site=False)
for text in ("lea 8(%rbx),%r11", "nopl 8(%rbx)", "nopw (%rbx,%rsi,1)", "prefetcht0 (%rbx)", "prefetchnta (%rbx)", "prefetchw (%rbx)",
             "clflush (%rbx)", "endbr64", "lfence", "mov %rbx,%r11", "fxsave (%rbx)", "mov (%ebx),%r11d"):
    add(text, [], {"rbx": mem(0x2800), "rsi": 8}, run="fxsave" not in text and "ebx" not in text)

# ---- addresses of their own
add("mov fact_constant(%rip),%r11d", [(Place("CONSTANT", 0), 4, "r", False)])
add("mov %r11d,fact_memory+0x2804(%rip)", [(mem(0x2804), 4, "w", True)])
add("movl $77,fact_memory+0x2804(%rip)", [(mem(0x2804), 4, "w", True)])
add("cmpb $7,fact_memory+0x2805(%rip)", [(mem(0x2805), 1, "r", True)])
add("mov %fs:fact_local@tpoff,%r11", [(Place("LOCAL", 0), 8, "r", False)])
add("mov %r11d,%fs:(%rbx)", [(Place("LOCAL", 0), 4, "w", False)], {"rbx": Place("LOCAL_OFFSET", 0)})
add("mov 0x10000010,%r11d", [(Place("LOW", 0x10), 4, "r", True)])
add("movabs %al,0x10000010", [(Place("LOW", 0x10), 1, "w", True)])
add("addl $1,0x10000000(,%rcx,4)", [(Place("LOW", 0x20), 4, "rw", True)], {"rcx": 8})
add("mov (%rdi,%rdi),%r11d", [(mem(0x2800), 4, "r", True)], {"rdi": ("SCALED", mem(0x2800), 2)})
add("mov 8(%rsp),%r11d", [(stack(0x808), 4, "r", False)], {"rsp": stack(0x800)})
add("mov %r11,(%rsp,%rbx,8)", [(stack(0x818), 8, "w", False)], {"rsp": stack(0x800), "rbx": 3})
add("incl -8(%rbp)", [(mem(0x2800), 4, "rw", False)], {"rbp": mem(0x2808)}, cfi=".cfi_def_cfa %rbp, 16")
add("incl -8(%rbp)", [(mem(0x2800), 4, "rw", True)], {"rbp": mem(0x2808)})

# ---- the address is gone afterwards
for reg in ("rax", "rbx", "r12", "r13"):
    for at in (0x2800, ODD):
        add(f"mov (%{reg}),%{reg}", [(mem(at), 8, "r", True)], {reg: mem(at)})
        add(f"mov 0x10(%{reg}),%{reg}", [(mem(at), 8, "r", True)], {reg: mem(at - 16)})
for text, size in (("mov (%rax),%eax", 4), ("movslq (%rax),%rax", 4), ("movzwl (%rax),%eax", 2), ("mov (%rax),%ax", 2),
                   ("movsbl (%rax),%eax", 1), ("mov (%rax),%al", 1)):
    add(text, [(mem(0x2800), size, "r", True)], {"rax": mem(0x2800)}, after="exact" if size > 1 else "either")
add("mov (%rbx,%rax,8),%rax", [(mem(0x2800), 8, "r", True)], {"rbx": mem(0x27f0), "rax": 2})
add("mov (%rax,%rbx,8),%rax", [(mem(0x2800), 8, "r", True)], {"rax": mem(0x27f0), "rbx": 2})
add("mov (%rax,%rax,1),%rax", [(mem(0x2800), 8, "r", True)], {"rax": ("SCALED", mem(0x2800), 2)})
add("mov (%rbx,%rax,4),%eax", [(mem(0x2800), 4, "r", True)], {"rbx": mem(0x27f8), "rax": 2})
add("mov (%rax),%rax", [(mem(CROSSING - 3), 8, "r", True)], {"rax": mem(CROSSING - 3)}, after="either")
for text, size, how in (("add (%rax),%rax", 8, "r"), ("imul (%rax),%eax", 4, "r"), ("cmovne (%rax),%rax", 8, "r"),
                        ("xadd %rax,(%rax)", 8, "rw"), ("mov (%rax),%ah", 1, "r"), ("cvttsd2si (%rax),%rax", 8, "r"),
                        ("popcnt (%rax),%rax", 8, "r")):
    add(text, [(mem(0x2800), size, how, True)], {"rax": mem(0x2800)}, after="either")
add("xchg %rax,(%rax)", [(mem(0x2800), 8, "rw", False)], {"rax": mem(0x2800)}, after="either")
add("divl 8(%rdx)", [(mem(0x2808), 4, "r", True)], {"rdx": mem(0x2800), "rax": 1}, after="either", run=False)
add("cmpxchg %r11,(%rax)", [(mem(0x2800), 8, "rw", True)], {"rax": mem(0x2800)}, after="either")
add("mulq (%rdx)", [(mem(0x2800), 8, "r", True)], {"rdx": mem(0x2800), "rax": 2}, after="either")

# ---- the stack
TOP = {"rsp": stack(0x800)}
add("push %rbx", [(stack(0x7f8), 8, "w", False)], TOP)
add("pushq $5", [(stack(0x7f8), 8, "w", False)], TOP)
add("pushw $5", [(stack(0x7fe), 2, "w", False)], TOP)
add("pushfq", [(stack(0x7f8), 8, "w", False)], TOP)
add("pop %rbx", [(stack(0x800), 8, "r", False)], TOP)
add("pop %bx", [(stack(0x800), 2, "r", False)], TOP)
add("popfq", [(stack(0x800), 8, "r", False)], TOP, cells=[(stack(0x800), 0x202)])
add("push (%rbx)", [(mem(0x2800), 8, "r", True), (stack(0x7f8), 8, "w", False)], {"rbx": mem(0x2800), **TOP})
add("pop (%rbx)", [(stack(0x800), 8, "r", False), (mem(0x2800), 8, "w", True)], {"rbx": mem(0x2800), **TOP})
add("push 0x20(%rsp)", [(stack(0x820), 8, "r", False), (stack(0x7f8), 8, "w", False)], TOP)
add("pop 0x20(%rsp)", [(stack(0x800), 8, "r", False), (stack(0x828), 8, "w", False)], TOP)
add("leave", [(stack(0x840), 8, "r", False)], {"rbp": stack(0x840), **TOP})
add("pop %rsp", [(stack(0x800), 8, "r", False)], TOP)
LANDING = [(mem(0x2800), "LANDING")]
add("call *(%rbx)", [(mem(0x2800), 8, "r", False), (stack(0x7f8), 8, "w", False)], {"rbx": mem(0x2800), **TOP}, cells=LANDING,
    branch=True)
add("call *%rbx", [(stack(0x7f8), 8, "w", False)], {"rbx": Place("LANDING", 0), **TOP}, branch=True)
add("jmp *(%rbx)", [(mem(0x2800), 8, "r", False)], {"rbx": mem(0x2800)}, cells=LANDING, branch=True)
add("jmp *0x100(,%r9,8)", [(mem(0x2800), 8, "r", False)], {"r9": ("SCALED", mem(0x2700), 8)}, cells=LANDING, branch=True)
add("ret", [(stack(0x800), 8, "r", False)], TOP, cells=[(stack(0x800), "LANDING")], branch=True)
add("ret $16", [(stack(0x800), 8, "r", False)], TOP, cells=[(stack(0x800), "LANDING")], branch=True)

# ---- strings: source, destination; the number of turns, 0 for those that do not repeat
for down in (False, True):
    for size in (1, 2, 4, 8):
        s = SUFFIX[size]
        for rep, n in (("", 0), ("rep ", 5), ("rep ", 1), ("rep ", 0x40 // size)):
            if down and n > 5:
                continue
            turns = max(n, 1)
            back = (turns - 1) * size if down else 0
            source, to = (mem(0x2800), turns * size, "r"), (mem(0x3400), turns * size, "w")
            registers = {"rsi": mem(0x2800 + back), "rdi": mem(0x3400 + back), "rax": 0x55}
            if rep:
                registers["rcx"] = n
            more = dict(down=down, repeats=n)
            add(f"{rep}movs{s}", [(*source, False), (*to, True)], registers, **more)
            add(f"{rep}stos{s}", [(*to, True)], registers, **more)
            add(f"{rep}lods{s}", [(*source, True)], registers, **more)
            if rep and n != 5:
                continue
            e, ne = ("repe ", "repne ") if rep else ("", "")
            both = [(mem(0x2800), turns * size, "r", False), (mem(0x3400), turns * size, "r", not rep)]
            add(f"{e}cmps{s}", both, registers, masked=bool(rep), same=True, **more)
            add(f"{ne}scas{s}", [(mem(0x3400), turns * size, "r", not rep)], registers, masked=bool(rep), **more)


def place(p):
    return "{%s, %d, 1}" % ((p.area, p.offset) if isinstance(p, Place) else ("NUMBER", p))


def value(v):
    if isinstance(v, tuple):  # of an index, that is scaled up again
        return "{%s, %d, %d}" % (v[1].area, v[1].offset, v[2])
    return place(v)


def main(out):
    out.write("// Made by facts.py.\n#include \"facts.h\"\n\n__asm__(\".text\\n\"\n")
    for i, c in enumerate(cases):
        cfi = c.get("cfi", "")
        out.write('        "fact_%d: .cfi_startproc\\n%s\\n"\n' % (i, cfi))
        out.write('        "%s\\n"\n' % c["text"])
        out.write('        "fact_%d_end: int3\\n.cfi_endproc\\n"\n' % i)
    out.write('        ".previous\\n");\n')
    for i in range(len(cases)):
        out.write(f"extern const uint8_t fact_{i}[], fact_{i}_end[];\n")
    out.write("const struct fact facts[] = {\n")
    for i, c in enumerate(cases):
        operands = ", ".join("{%s, %d, %d, %d, %d}" % (place(p), size, "r" in how, "w" in how, site)
                             for p, size, how, site in c["operands"])
        registers = ", ".join("{%d, %s}" % (REGISTERS.index(r), value(v)) for r, v in c["registers"].items())
        cells = ", ".join("{%s, %s}" % (place(p), value(Place("LANDING", 0) if v == "LANDING" else v))
                          for p, v in c.get("cells", []))
        flags = [k for k in ("spread", "masked", "branch", "down", "same", "loose") if c.get(k)]
        if "repeats" in c and c["text"].startswith("rep"):
            flags.append("rep")
        if c.get("after") == "either":
            flags.append("either")
        if not c.get("run", True):
            flags.append("still")
        parts = [f'.text = "{c["text"]}", .start = fact_{i}, .end = fact_{i}_end, .needs = "{c.get("needs", "")}"']
        for name, count, each in (("operand", len(c["operands"]), operands), ("reg", len(c["registers"]), registers),
                                  ("cell", len(c.get("cells", [])), cells)):
            if count:
                plural = {"operand": "operands", "reg": "registers", "cell": "cells"}[name]
                parts.append(f".{plural} = {count}, .{name} = {{{each}}}")
        if flags:
            parts.append(".flags = " + " | ".join("FACT_" + f.upper() for f in flags))
        out.write("    {" + ", ".join(parts) + "},\n")
    out.write("};\nconst unsigned fact_count = %d;\n" % len(cases))


main(open(sys.argv[1], "w"))
