"""The operators that converted code calls, put where it finds them."""

from __future__ import annotations

from .builtins import get_item, set_item, slice_, update_item
from .calls import converted_call
from .conditions import and_, assert_stmt, chain, if_exp, if_stmt, not_, or_, raised
from .for_loops import for_stmt
from .namespace import OPERATORS
from .scope import FunctionScope, autograph_artifact, ld, ldu, with_function_scope
from .state import Undefined, UndefinedReturnValue
from .while_loops import while_stmt

__all__ = ["OPERATORS"]

vars(OPERATORS).update(
    FunctionScope=FunctionScope,
    STD=None,
    Undefined=Undefined,
    UndefinedReturnValue=UndefinedReturnValue,
    and_=and_,
    assert_stmt=assert_stmt,
    autograph_artifact=autograph_artifact,
    chain=chain,
    converted_call=converted_call,
    for_stmt=for_stmt,
    get_item=get_item,
    if_exp=if_exp,
    if_stmt=if_stmt,
    ld=ld,
    ldu=ldu,
    not_=not_,
    or_=or_,
    raised=raised,
    set_item=set_item,
    slice_=slice_,
    update_item=update_item,
    while_stmt=while_stmt,
    with_function_scope=with_function_scope,
)
