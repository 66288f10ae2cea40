"""Functions that `tf.function` and `hn.function` trace alike, written over a small namespace F.

Each case is a function of F and its arguments, and the calls of it: arrays are given as NumPy's.
`make_traced.py` runs them under TensorFlow; `tests/tracing/test_oracle.py` under hybridnet.
"""

import numpy as np

CASES = []


def case(*calls, **options):
    """Notes a function with the arguments of its calls: a tuple, or a dict of names."""

    def noted(function):
        CASES.append((function.__name__, function, calls, options))
        return function

    return noted


def arr(*values, dtype="float32"):
    return np.array(values, dtype)


def grid(rows, columns, shift=0.0):
    return (np.arange(rows * columns, dtype="float32").reshape(rows, columns) + shift) / 7


A, B, C = arr(1, 2, 3), arr(-1, 0.5, 2), arr(4, 5)


@case((A,), (B,), (C,), (A,))
def square(F, x):
    return x * x


@case((A,), (arr(1, 2, 3, dtype="float64"),), (B,))
def one_trace_for_each_dtype(F, x):
    return x + x


@case((A, 2), (A, 3), (B, 2), (A, 2))
def python_numbers_are_constants(F, x, n):
    return x * n


@case((A, True), (A, False), (B, True))
def python_flags(F, x, negate):
    if negate:
        return -x
    return x + 1


@case((A, "exp"), (A, "tanh"), (B, "exp"))
def python_text(F, x, kind):
    if kind == "exp":
        return F.exp(x)
    return F.tanh(x)


@case(([A, B],), ([B, A],), ([A, B, A],))
def lists_of_arrays(F, parts):
    total = parts[0]
    for one in parts[1:]:
        total = total + one
    return total


@case(({"a": A, "b": B},), ({"a": B, "b": A},))
def dicts_of_arrays(F, parts):
    return {"sum": parts["a"] + parts["b"], "product": parts["a"] * parts["b"]}


@case(((A, C),), ((B, C),))
def tuples_of_arrays(F, pair):
    first, second = pair
    return first + F.sum(second), second


@case((A,), {"x": A, "scale": 3.0}, {"x": B, "scale": 3.0})
def defaults_and_names(F, x, scale=2.0):
    return x * scale


@case((A, None), (A, B), (B, None))
def an_optional_array(F, x, bias):
    if bias is None:
        return x
    return x + bias


@case((A,), (-A,), (B,))
def a_branch_on_values(F, x):
    if F.sum(x) > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@case((A,), (B,), (A * 10,))
def three_branches(F, x):
    total = F.sum(x)
    if total > 30:
        y = x / 10
    elif total > 3:
        y = x
    else:
        y = -x
    return y + 1


@case((A,), (B,), (A / 100,))
def a_loop_on_values(F, x):
    count = F.zero()
    while F.sum(x * x) < 100:
        x = x * 2
        count = count + 1
    return x, count


@case((A,), (-A,))
def break_out_of_a_loop(F, x):
    i = F.zero()
    while i < 10:
        i = i + 1
        x = x + i
        if F.sum(x) > 20:
            break
    return x, i


@case((A,), (B,))
def continue_a_loop(F, x):
    i = F.zero()
    total = x * 0
    while i < 6:
        i = i + 1
        if F.sum(total) > 5:
            continue
        total = total + x
    return total


@case((A,), (-A,), (B,))
def an_early_return(F, x):
    if F.sum(x) < 0:
        return -x
    return x * 3


@case((A, 2.0), (B, 2.0))
def and_or_not(F, x, limit):
    total = F.sum(x)
    if total > 0 and not (total > limit * 100 or total < limit / 100):
        y = x + limit
    else:
        y = x - limit
    return y


@case((A,), (-A,))
def a_conditional_expression(F, x):
    y = x if F.sum(x) > 0 else x * 0
    return y + 1


@case((A, 3), (B, 3), (A, 4))
def a_python_loop(F, x, n):
    for i in range(n):
        x = x + i
    return x


@case((grid(3, 2),), (grid(3, 2, 5),))
def a_loop_over_rows(F, x):
    total = F.zero()
    for row in x:
        total = total + F.sum(row * row)
    return total


@case((A, 3), (B, 3))
def appended_to_a_list(F, x, n):
    parts = []
    for i in range(n):
        parts.append(x * i)
    return F.stack(parts)


@case((A,), (B,))
def functions_inside(F, x):
    def double(y):
        return y * 2

    def twice(f, y):
        return f(f(y))

    return twice(double, x)


@case((A, 3), (A, 0), (B, 3))
def recursion(F, x, depth):
    def down(y, n):
        return y if n == 0 else down(y * 2, n - 1)

    return down(x, depth)


@case((grid(2, 3), grid(3, 4)), (grid(2, 3, 1), grid(3, 4, 1)), (grid(5, 3), grid(3, 4)))
def matrix_products(F, x, w):
    return F.tanh(F.matmul(x, w))


@case((A,), (B,))
def a_gradient_inside(F, x):
    return F.gradient(lambda y: F.sum(y * y * y), x)


@case((A,), (B,))
def a_second_gradient_inside(F, x):
    return F.gradient(lambda y: F.sum(F.gradient(lambda z: F.sum(z * z * z), y)), x)


@case((grid(2, 3),), (grid(2, 3, 2),), (grid(4, 3),))
def shapes_are_python_numbers(F, x):
    return x / x.shape[0] + x.shape[1]


@case((A,), (B,), (A,))
def a_constant_from_outside(F, x):
    return x + F.constant(OUTSIDE)


OUTSIDE = arr(10, 20, 30)


@case((A,), (B,), (A,))
def a_state_that_is_changed(F, x):
    F.add_to(F.state, x)
    return F.read(F.state) * 2


@case((A,), (B,))
def elementwise_choice(F, x):
    return F.where(x > 0, x, F.exp(x))


@case((A, (1, 2)), (A, (1, 3)), (B, (1, 2)))
def tuples_of_numbers(F, x, pair):
    return x * pair[0] + pair[1]


@case((A, [1, 2]), (A, [1, 2]))
def lists_of_numbers(F, x, pair):
    return x * pair[0] + pair[1]


@case((A,), (B,))
def a_function_that_calls_one(F, x):
    return F.traced_square(x) + F.traced_square(x + 1)


@case((A,), (B,))
def code_at_run_time(F, x):
    return F.host(x)


def leaves(result):
    """Returns the arrays of a result, flat, with their elements in float64."""
    if isinstance(result, dict):
        return [one for key in sorted(result) for one in leaves(result[key])]
    if isinstance(result, (list, tuple)):
        return [one for part in result for one in leaves(part)]
    host = result.asnumpy() if hasattr(result, "asnumpy") else np.asarray(result)
    return [host.astype(np.float64).reshape(-1)]
