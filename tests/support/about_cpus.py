"""The tests that are about CPUs, each with its reason: they are skipped where a GPU is the default.

By the end of a test's path and its name, of all its parameters.
"""

from __future__ import annotations

from typing import Final

_NAMES: Final = "it names cpu(0), and makes arrays on the default context"
_PRINTED: Final = "it says what is printed, which has the context in it"
_CPUS: Final = "it is about several CPUs, of which the virtual GPU takes the second"
_FILE: Final = "its network comes from a file, and is imported to cpu(0)"

ABOUT_CPUS: Final = {
    "autograd/test_autograd.py::test_work_on_two_contexts_meets_in_one_gradient": _NAMES,
    "gluon/data/test_loader.py::test_batches_come_in_order": _NAMES,
    "gluon/test_block.py::test_imports": _FILE,
    "gluon/test_block.py::test_several_contexts": _CPUS,
    "gluon/test_block_habits.py::test_arrays_beside_symbols_numbers_and_other_contexts": _NAMES,
    "gluon/test_block_habits.py::test_old_names_of_files_and_parameters": _NAMES,
    "gluon/test_model_zoo.py::test_trained_parameters_are_fetched_once": _NAMES,
    "gluon/test_parameter.py::test_a_computed_array_may_be_put_in_a_parameters_place": _NAMES,
    "gluon/test_parameter.py::test_a_parameter_may_stand_in_for_another": _NAMES,
    "gluon/test_parameter.py::test_a_value_and_a_gradient": _NAMES,
    "gluon/test_trainer_arrays.py::test_random_programs_of_training_come": _NAMES,
    "ndarray/test_contexts.py::test_other_names_of_host_memory_mix_with_it": _NAMES,
    "ndarray/test_contexts.py::test_there_is_a_cpu_for_every_number": _CPUS,
    "ndarray/test_ndarray.py::test_arrays_of_two_cpus_meet_on_the_first_ones": _CPUS,
    "ndarray/test_ndarray.py::test_bfloat16_is_printed_as_floating": _PRINTED,
    "ndarray/test_ndarray.py::test_contexts_and_copies_between_them": _CPUS,
    "ndarray/test_ndarray.py::test_printing": _PRINTED,
    "ndarray/test_ndarray.py::test_zero_size_arrays": _PRINTED,
    "ndarray/test_old_spellings.py::test_pickles_of_mxnet": _NAMES,
    "ndarray/test_share.py::test_jax_memory_is_shared_and_left_alone": _CPUS,
    "ndarray/test_share.py::test_jax_reads_our_memory": _CPUS,
    "ndarray/test_sparse.py::test_a_csr_matrix_is_values_columns_and_row_ends": _NAMES,
    "ndarray/test_sparse.py::test_a_row_sparse_array_is_rows_and_where_they_stand": _PRINTED,
    "ndarray/test_views.py::test_methods_that_share_memory": _NAMES,
    "ndarray/test_views.py::test_what_is_the_very_same_object": _NAMES,
}


def reason_of(nodeid: str) -> str | None:
    """Returns why a test is about CPUs; None if it is not."""
    return next((why for name, why in ABOUT_CPUS.items() if f"/{name}" in nodeid), None)
