/// The six kinds of transition, and the operands they take. Every kind has the same static members; element_kinds.hpp says
/// what they do.
#pragma once

#include <allscan/combiner/dense.hpp>
#include <allscan/combiner/element_kinds.hpp>
#include <allscan/combiner/operands.hpp>
#include <allscan/combiner/rotation.hpp>
