# The first block of C in the README, as a program: y = A*x for a matrix of two rows.
/^```/ && inside { exit }
/^```c$/ { inside = 1; next }
inside && /^#include/ { print; next }
inside && !begun {
    begun = 1
    print "enum { n = 2, nnz = 3 };"
    print "static const int32_t row_ptr[] = { 0, 2, 3 }, col[] = { 0, 1, 1 };"
    print "static const double val[] = { 1, 2, 3 }, x[] = { 1, 10 };"
    print "int main(void)"
    print "{"
    print "double y[2] = { 0, 0 };"
}
inside
END { print "return y[0] == 21 && y[1] == 30 ? 0 : 1;"; print "}" }
