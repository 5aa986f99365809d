# Fits the polynomials of jit/llvm/math.cpp: minimax in the weighted error by Lawson iteration (C. L. Lawson, 1961), in fifty
# decimal digits. Prints the error and the coefficients, lowest first, rounded to f32.
import math
from decimal import Decimal as D, getcontext
getcontext().prec=50
def solve(A,b):
    n=len(b); M=[r[:]+[x] for r,x in zip(A,b)]
    for i in range(n):
        p=max(range(i,n),key=lambda k:abs(M[k][i])); M[i],M[p]=M[p],M[i]
        for k in range(n):
            if k!=i:
                f=M[k][i]/M[i][i]
                if f: M[k]=[x-f*y for x,y in zip(M[k],M[i])]
    return [M[i][n]/M[i][i] for i in range(n)]
def fit(f,w,lo,hi,n,pts=120,iters=12):
    xs=[D((lo+hi)/2+(hi-lo)/2*math.cos(math.pi*(k+.5)/pts)) for k in range(pts)]
    fx=[D(f(x)) for x in xs]; W=[D(w(float(x))) for x in xs]; lam=[D(1)/pts]*pts
    best=None
    for it in range(iters):
        A=[[sum(l*q*q*x**(i+j) for l,q,x in zip(lam,W,xs)) for j in range(n)] for i in range(n)]
        b=[sum(l*q*q*y*x**i for l,q,x,y in zip(lam,W,xs,fx)) for i in range(n)]
        c=solve(A,b)
        e=[abs(q*(sum(ci*x**i for i,ci in enumerate(c))-y)) for q,x,y in zip(W,xs,fx)]
        m=max(e)
        if best is None or m<best[0]: best=(m,c)
        s=sum(l*z for l,z in zip(lam,e)); lam=[l*z/s for l,z in zip(lam,e)]
    return best
import struct
def show(name,r):
    print(name,'err %.3g = 2^%.2f'%(r[0],math.log2(r[0])))
    for c in r[1]: print('   ',float(struct.unpack('f',struct.pack('f',float(c)))[0]).hex(), '%.10g'%c)
L=math.log(2)/2*1.001
show('exp',fit(lambda x:(x.exp()-1-x)/(x*x),lambda x:x*x,-L,L,5))
show('exp6',fit(lambda x:(x.exp()-1-x)/(x*x),lambda x:x*x,-L,L,6))
a=math.sqrt(.5)*.9995-1;b=math.sqrt(2)*1.0005-1
show('log9',fit(lambda x:((1+x).ln()-x+x*x/2)/(x*x*x),lambda x:abs(x**3/math.log(1+x)),a,b,9))
show('log8',fit(lambda x:((1+x).ln()-x+x*x/2)/(x*x*x),lambda x:abs(x**3/math.log(1+x)),a,b,8))
t2=.95**2
def erfser(s): # erf(sqrt s)/sqrt s - 1
    t=D(2)/D(str(3.14159265358979323846264338327950288)).sqrt(); pi=D('3.14159265358979323846264338327950288'); t=2/pi.sqrt(); acc=D(0); 
    for n in range(30): acc+=t; t=t*(-s)*(2*n+1)/((n+1)*(2*n+3))
    return acc-1
show('erf',fit(erfser,lambda s:1/1.1,0,t2,6))
show('erfc',fit(lambda x:D(-math.log(math.erfc(float(x))))/x-1,lambda x:math.erfc(x)*x,.92,4.1,7))
