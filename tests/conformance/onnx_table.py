"""The table of ONNX operators: name to a function of the program, the node and its inputs, which returns outputs."""

import onnx

from program import Inexpressible, element_of

RULES = {}


def op(*names):
    def put(rule):
        for name in names:
            RULES[name] = rule
        return rule

    return put


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def element_of_onnx(data_type):
    name = onnx.TensorProto.DataType.Name(data_type)
    try:
        return element_of(onnx.helper.tensor_dtype_to_np_dtype(data_type))
    except (Inexpressible, KeyError):
        raise Inexpressible(f"no element type for {name}") from None


def axis_of(axis, rank):
    return axis + rank if axis < 0 else axis
