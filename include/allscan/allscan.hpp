/// Everything but MPI: include <allscan/transport/mpi.hpp> as well where ranks are processes.
#pragma once

#include <allscan/collective/scan_plan.hpp>
#include <allscan/collective/validate.hpp>
#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/gradient.hpp>
#include <allscan/combiner/host.hpp>
#include <allscan/combiner/kinds.hpp>
#include <allscan/combiner/laws.hpp>
#include <allscan/combiner/models.hpp>
#include <allscan/core/concepts.hpp>
#include <allscan/core/config.hpp>
#include <allscan/core/deadline.hpp>
#include <allscan/core/endpoint.hpp>
#include <allscan/core/environment.hpp>
#include <allscan/core/error.hpp>
#include <allscan/core/parallel.hpp>
#include <allscan/core/shape.hpp>
#include <allscan/core/trace.hpp>
#include <allscan/core/view.hpp>
#include <allscan/kernel/reference/gla.hpp>
#include <allscan/ops/gla_operator.hpp>
#include <allscan/ops/simple_gla_operator.hpp>
#include <allscan/transport/thread.hpp>
