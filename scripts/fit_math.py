# Fits the polynomials of jit/llvm/math*.cpp: minimax in the weighted error by Lawson iteration (C. L. Lawson, 1961), in
# ninety decimal digits. Prints error and coefficients, lowest first, for f64 as they are and for f32 rounded; and the
# parts that multiples of pi / 2 and log 2 are taken off in. Needs mpmath.
import math
import struct
import mpmath as mp

mp.mp.dps = 90


def fit(f, weight, low, high, terms, points=120, rounds=12):
    at = [mp.mpf((low + high) / 2 + (high - low) / 2 * math.cos(math.pi * (k + .5) / points)) for k in range(points)]
    wanted = [f(x) for x in at]
    weights = [weight(x) for x in at]
    share = [mp.mpf(1) / points] * points
    best = None
    for _ in range(rounds):
        column = [s * w * w for s, w in zip(share, weights)]
        moments, sides = [], []
        for i in range(2 * terms - 1):
            moments.append(mp.fsum(column))
            if i < terms:
                sides.append(mp.fsum(c * y for c, y in zip(column, wanted)))
            column = [c * x for c, x in zip(column, at)]
        c = mp.lu_solve(mp.matrix([[moments[i + j] for j in range(terms)] for i in range(terms)]), mp.matrix(sides))
        errors = [abs(w * (mp.polyval(list(c)[::-1], x) - y)) for w, x, y in zip(weights, at, wanted)]
        if best is None or max(errors) < best[0]:
            best = max(errors), list(c)
        total = mp.fsum(s * e for s, e in zip(share, errors))
        share = [s * e / total for s, e in zip(share, errors)]
    return best


def show(name, single, *what):
    error, terms = fit(*what)
    rounded = [struct.unpack('f', struct.pack('f', float(c)))[0] if single else float(c) for c in terms]
    print(f'{name}: error 2^{float(mp.log(error, 2)):.1f}\n  ' + ', '.join(c.hex() for c in rounded))




def parts(name, value, bits, count, last):
    found = []
    for k in range(count):
        unit = mp.mpf(2) ** (mp.floor(mp.log(abs(value), 2)) - (last if k == count - 1 else bits) + 1)
        found.append((mp.nint if k == count - 1 else mp.floor)(value / unit) * unit)
        value -= found[-1]
    print(name + ': ' + ', '.join(float(c).hex() for c in found))


L = math.log(2) / 2 * 1.001
exp_tail = lambda x: (mp.expm1(x) - x) / x ** 2
show('exp f32', True, exp_tail, lambda x: x * x, -L, L, 5)
show('expm1 f32', True, exp_tail, abs, -L, L, 6)
show('exp, expm1 f64', False, exp_tail, abs, -L, L, 11)
show('exp in pow f32', False, exp_tail, lambda x: x * x, -L, L, 5)
a, b = math.sqrt(.5) * .9995 - 1, math.sqrt(2) * 1.0005 - 1
show('log f32', True, lambda x: (mp.log1p(x) - x + x * x / 2) / x ** 3, lambda x: abs(x ** 3 / mp.log1p(x)), a, b, 9)
Z = ((math.sqrt(2) - 1) / (math.sqrt(2) + 1)) ** 2 * 1.001
artanh = lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z
show('log f64', False, artanh, lambda z: z / 2, 1e-9, Z, 7)
show('log in pow f32', False, artanh, lambda z: z / 2, 1e-9, Z, 4)
show('log in pow f64, after 2/3', False, lambda z: (artanh(z) - mp.mpf(2) / 3) / z, lambda z: z * z / 2, 1e-9, Z, 8)
Q = (math.pi / 4) ** 2 * 1.001
sine = lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
cosine = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2
wide = (math.pi / 4 + .01) ** 2  # in f32 the nearest multiple may be missed by that much
show('sin f32', False, sine, lambda z: z, 1e-9, wide, 3)
show('cos f32', False, cosine, lambda z: z * z, 1e-9, wide, 3)
show('sin f64', False, sine, lambda z: z, 1e-9, Q, 6)
show('cos f64', False, cosine, lambda z: z * z, 1e-9, Q, 6)
near = lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s) - 1
far = lambda x: -mp.log(mp.erfc(x)) / x - 1
show('erf near f32', True, near, lambda s: mp.mpf(1) / 1.1, 1e-9, .95 ** 2, 6)
show('erf far f32', True, far, lambda x: mp.erfc(x) * x, .92, 4.1, 7)
show('erf near f64', False, near, lambda s: mp.mpf(1) / 1.1, 1e-9, .95 ** 2, 12)
show('erf far f64', False, far, lambda x: mp.erfc(x) * x, .92, 6.0, 18, 160)
arcsine = lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
show('asin f32', True, arcsine, lambda z: z, 1e-9, .25, 5)
show('asin f64', False, arcsine, lambda z: z, 1e-9, .25, 12)
arctangent = lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
show('atan f32', True, arctangent, lambda z: z, 1e-9, 1, 9)
show('atan f64', False, arctangent, lambda z: z, 1e-9, 1, 19, 160)
E = (L * 1.001) ** 2
hyperbolic_sine = lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
hyperbolic_cosine = lambda z: (mp.cosh(mp.sqrt(z)) - 1 - z / 2) / z ** 2
show('sinh f32', True, hyperbolic_sine, lambda z: z, 1e-9, E, 3)
show('cosh f32', True, hyperbolic_cosine, lambda z: z * z, 1e-9, E, 2)
show('sinh f64', False, hyperbolic_sine, lambda z: z, 1e-9, E, 5)
show('cosh f64', False, hyperbolic_cosine, lambda z: z * z, 1e-9, E, 4)
parts('pi / 2, f64 by FMA', mp.pi / 2, 53, 3, 53)
parts('pi / 2, f64', mp.pi / 2, 33, 4, 53)
parts('pi / 2, f32 by FMA', mp.pi / 2, 24, 3, 24)
parts('pi / 2, f32', mp.pi / 2, 11, 4, 24)
parts('log 2, f64', mp.log(2), 32, 2, 53)
