#!/usr/bin/env python3
"""Random expressions, composed by the signatures in the tables of overloads (src/cel/).

    cel/generate.py SEED COUNT [list] > FILE.jsonl

The recorder adds the outcomes; `test_cel_recorded FILE.jsonl [RULES]` compares them."""
import glob, json, os, random, re, sys

seed, count, lists = int(sys.argv[1]), int(sys.argv[2]), 'list' in sys.argv[3:]
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../src/cel')
R = random.Random(seed)
funcs = []
for p in sorted(glob.glob(SOURCES + '/operators.c') + glob.glob(SOURCES + '/library/*.c')):
    s = open(p).read()
    s = re.sub(r'"\s*\n\s*"', '', s)
    for m in re.finditer(r'\{ "([^"]+)",\s*"([^"]*->[^"]*)",([^}]*)\}', s):
        for alt in m.group(2).split(';'):
            a, r = alt.split('->')
            args, depth, cur = [], 0, ''
            for c in a.strip():
                if c == ',' and depth == 0: args.append(cur.strip()); cur = ''; continue
                depth += c == '('; depth -= c == ')'; cur += c
            if cur.strip(): args.append(cur.strip())
            funcs.append((m.group(1), 'CEL_MEMBER' in m.group(3), args, r.strip()))
ordered = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes']
for t in ordered:
    funcs += [('sort', True, [f'list({t})'], f'list({t})'), ('isSorted', True, [f'list({t})'], 'bool'), ('max', True, [f'list({t})'], t), ('min', True, [f'list({t})'], t)]
    for op in ['_<_', '_<=_', '_>_', '_>=_']: funcs.append((op, False, [t, t], 'bool'))
for op in ['_<_', '_>='+'_']: funcs += [(op, False, ['int', 'double'], 'bool'), (op, False, ['uint', 'int'], 'bool')]
funcs = [f for f in funcs if not f[0].startswith('@') or f[0] == '@in']
funcs = [f for f in funcs if f[0] != 'lists.range'] + [('lists.range', False, ['smallint'], 'list(int)')]
lit = {
 'int': ['0','1','-1','3','-7','10','0x10','9223372036854775807','-9223372036854775808'],
 'smallint': ['0','1','5','-1','60','dyn(3)','dyn(-2)'],
 'uint': ['0u','1u','7u','18446744073709551615u'],
 'double': ['0.0','1.5','-2.5','1e10','1e300','double("NaN")','double("Infinity")','-0.0'],
 'bool': ['true','false'],
 'string': ['""','"a"','"abc"','"héllo wörld"','"1.2.3"','"10.0.0.1"','"10.0.0.0/8"','"http://h:80/p?q=1"','"1h"','"2020-02-29T12:34:56Z"','"100m"','"1e3"','"[a-z]+"','"%s-%d"','"%.2f"','"dra.example.com"','"true"','"v1.2"','"UTC"','"+05:30"','"-"','"a,b,c"','"😀x"','"2001:db8::1"','device.driver'],
 'bytes': ['b""','b"abc"','b"\\xff"','b"é"'],
 'duration': ['duration("1s")','duration("-1h30m")','duration("0s")','duration("2562047h")'],
 'timestamp': ['timestamp(0)','timestamp("2020-02-29T12:34:56.789Z")','timestamp("9999-12-31T23:59:59Z")'],
 'quantity': ['quantity("1")','quantity("100m")','quantity("1.5Gi")','quantity("-3")','quantity("0")','device.capacity["dra.example.com"].memory','device.capacity["other.example.com"].slots'],
 'semver': ['semver("1.2.3")','semver("0.0.1-1")','semver("v1.2", true)'],
 'url': ['url("http://user@h:80/p/a?x=1&x=2#f")','url("/a/b?c=d")'],
 'ip': ['ip("10.0.0.1")','ip("::1")','ip("fe80::1")'],
 'cidr': ['cidr("10.0.0.0/8")','cidr("2001:db8::/32")','cidr("10.1.2.3/16")'],
 'format': ['format.date()','format.dns1123Label()','format.uri()','format.datetime()'],
 'null': ['null'],
}
base = list(lit)
base.remove('smallint'); base.remove('null')
A = 'device.attributes["dra.example.com"].'
attrs = [A+x for x in ['model','index','healthy','broken','version','negative','empty','uuid','missing']] + ['device.attributes["other.example.com"].speed','device.attributes["other.example.com"].name','device.attributes["nope"].x',A[:-1],'device.attributes','device']
if lists: attrs += [A+x for x in ['numbers','names','flags','versions']]*2
n = 0
def var():
    global n; n += 1; return f'v{n}'
def split2(t):
    depth = 0
    for i, c in enumerate(t):
        if c == ',' and depth == 0: return t[:i].strip(), t[i+1:].strip()
        depth += c == '('; depth -= c == ')'
def rtype(d=1): 
    x = R.random()
    if x < .2 and d: return f'list({rtype(d-1)})'
    if x < .28 and d: return f'map({R.choice(["string","int","bool","uint","string"])}, {rtype(d-1)})'
    if x < .36 and d: return f'opt({rtype(d-1)})'
    return R.choice(base)
def unify(p, t, env):
    if re.fullmatch('[A-Z]', p):
        if p in env: return env[p] == t
        env[p] = t; return True
    if p == 'dyn' or p == t: return True
    m, k = re.fullmatch(r'(\w+)\((.*)\)', p), re.fullmatch(r'(\w+)\((.*)\)', t)
    if not m or not k or m.group(1) != k.group(1): return False
    if m.group(1) == 'map':
        a, b = split2(m.group(2)); c, d = split2(k.group(2))
        return unify(a, c, env) and unify(b, d, env)
    return unify(m.group(2), k.group(2), env)
def fill(p, env):
    def one(m):
        l = m.group(0)
        if l not in env: env[l] = rtype(0)
        return env[l]
    return re.sub(r'\b[A-Z]\b', one, p)
def call(f, member, args):
    m = re.fullmatch(r'_(\W+|\w+)_', f)
    if f == '_?_:_': return f'({args[0]} ? {args[1]} : {args[2]})'
    if f == '_[_]': return f'({args[0]})[{args[1]}]'
    if f == '_[?_]': return f'({args[0]})[?{args[1]}]'
    if f == '@in': return f'({args[0]} in {args[1]})'
    if f in ('!_', '-_'): return f'{f[0]}({args[0]})'
    if m and len(args) == 2: return f'({args[0]} {m.group(1)} {args[1]})'
    if member: return f'({args[0]}).{f}({", ".join(args[1:])})'
    return f'{f}({", ".join(args)})'
def expr(t, d, scope):
    x = R.random()
    if x < .04: return R.choice(attrs)
    if x < .10: return f'dyn({expr(rtype() if R.random() < .3 else t, d-1, scope)})' if d > 0 else R.choice(attrs)
    here = [v for v, vt in scope if vt == t]
    if here and x < .35: return R.choice(here)
    if x < .12: return R.choice(lit.get(rtype(0)) or ['1'])
    if d <= 0: return leaf(t, scope)
    if x < .30: return special(t, d, scope)
    cands = []
    for f in funcs:
        env = {}
        if unify(f[3], t, env) or (f[3] == 'dyn' and R.random() < .05): cands.append((f, env))
    if not cands or R.random() < .15: return leaf(t, scope, d)
    f, env = R.choice(cands)
    args = [expr(fill(a, env), d-1, scope) if fill(a, env) != 'dyn' else expr(rtype(), d-1, scope) for a in f[2]]
    return call(f[0], f[1], args)
def leaf(t, scope, d=0):
    if t in lit: return R.choice(lit[t])
    m = re.fullmatch(r'(\w+)\((.*)\)', t)
    if not m: return R.choice(['int', 'string', 'map', 'type(1)', 'optional_type', 'dyn(1)']) if t == 'type' else R.choice(attrs)
    k = m.group(1)
    if k == 'list': return '[' + ', '.join(('?optional.of(' + expr(m.group(2), d-1, scope) + ')') if R.random() < .05 else expr(m.group(2), d-1, scope) for _ in range(R.choice([0,1,2,3]))) + ']'
    if k == 'map':
        a, b = split2(m.group(2))
        return '{' + ', '.join(f'{expr(a, -1, [])}: {expr(b, d-1, scope)}' for _ in range(R.choice([0,1,1,2]))) + '}'
    if k == 'opt': return R.choice(['optional.none()', f'optional.of({expr(m.group(2), d-1, scope)})', f'optional.ofNonZeroValue({expr(m.group(2), d-1, scope)})'])
    if k == 'type': return R.choice(['int', 'string', 'list', 'type(1)'])
    return R.choice(attrs)
def special(t, d, scope):
    x = R.random()
    if x < .2:
        v, vt = var(), rtype()
        return f'cel.bind({v}, {expr(vt, d-1, scope)}, {expr(t, d-1, scope + [(v, vt)])})'
    e = rtype(0)
    rng = expr(f'list({e})', d-1, scope) if R.random() < .85 else R.choice(attrs)
    v, w = var(), var()
    s1, s2 = scope + [(v, e)], scope + [(v, 'int'), (w, e)]
    if t == 'bool':
        m = R.choice(['all', 'exists', 'exists_one'])
        if R.random() < .3: return f'({rng}).{m}({v}, {w}, {expr("bool", d-1, s2)})'
        return f'({rng}).{m}({v}, {expr("bool", d-1, s1)})' if R.random() < .8 else f'has({R.choice(attrs)})'
    k = re.fullmatch(r'list\((.*)\)', t)
    if k:
        y = R.random()
        if y < .4: return f'({rng}).map({v}, {expr(k.group(1), d-1, s1)})'
        if y < .5: return f'({rng}).map({v}, {expr("bool", d-1, s1)}, {expr(k.group(1), d-1, s1)})'
        if y < .7: return f'({expr(t, d-1, scope)}).filter({v}, {expr("bool", d-1, scope + [(v, k.group(1))])})'
        if y < .85: return f'({rng}).transformList({v}, {w}, {expr(k.group(1), d-1, s2)})'
        return f'({expr(t, d-1, scope)}).sortBy({v}, {expr(R.choice(ordered), d-1, scope + [(v, k.group(1))])})'
    k = re.fullmatch(r'opt\((.*)\)', t)
    if k:
        u = rtype(0)
        y = R.choice(['optMap', 'optFlatMap', 'or', '?'])
        if y == '?': return R.choice([f'({R.choice(attrs)}).?{R.choice(["model","a"])}', f'{{"a": {expr(k.group(1), d-1, scope)}}}.?a'])
        if y == 'or': return f'({expr(t, d-1, scope)}).or({expr(t, d-1, scope)})'
        return f'({expr(f"opt({u})", d-1, scope)}).{y}({v}, {expr(k.group(1) if y == "optMap" else t, d-1, scope + [(v, u)])})'
    if R.random() < .5: return f'({expr(f"opt({t})", d-1, scope)}).orValue({expr(t, d-1, scope)})'
    return f'({expr("bool", d-1, scope)} ? {expr(t, d-1, scope)} : {expr(t, d-1, scope)})'
seen = set()
while len(seen) < count:
    e = expr(rtype() if R.random() < .7 else 'bool', R.choice([1, 2, 2, 3, 3, 4]), [])
    if len(e) > 700 or e in seen: continue
    seen.add(e)
    d = {"expr": e}
    if R.random() < .8: d["any"] = True
    if lists: d["list"] = True
    print(json.dumps(d, ensure_ascii=False))
