/// What the collective layer asks of a transport.
#pragma once

#include <allscan/core/endpoint.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allscan {

/// Ordered channels between the ranks of a group. A communicator is a cheap, copyable handle on one rank's side; copies share
/// everything. It is used by one thread at a time.
///
/// Between two ranks, the messages of one channel match in the order they were started; channels do not disturb each other.
/// Sizes of matching messages agree: the callers have made sure of it. A message of 0 bytes is a message.
///
///   send(channel, peer, data, bytes, request)      starts; `data` must stay unchanged until test() says done
///   receive(channel, peer, data, bytes, request)   starts; `data` must stay untouched until test() says done
///   test(request)      never waits; true once done: a sender may reuse its memory, a receiver may read data(request)
///   data(request)      of a done receive: the posted buffer, or the peer's own memory, lent until release(request)
///   release(request)   of a done receive: the memory lent is no longer read. Call it once for every receive
///   cancel(request)    of a request that is not done: true if its memory is free from now on; false if a late message
///                      may still touch it. Never waits longer than a moment
///   endpoint()         this rank's live operations and channel numbers
///
/// A `request` is owned by the caller, default-constructible, stays where it is while started, and can be started again
/// after it is done. Starting allocates nothing of the library's. Errors: transport_error.
template <class C>
concept communicator = std::copyable<C> && std::default_initializable<typename C::request> &&
                       requires(C& c, const C& view, typename C::request& r, std::uint32_t channel, int peer,
                                const std::byte* from, std::byte* to, std::size_t bytes) {
                         { view.rank() } -> std::same_as<int>;
                         { view.size() } -> std::same_as<int>;
                         { view.name() } -> std::convertible_to<std::string_view>;
                         { c.endpoint() } -> std::same_as<endpoint&>;
                         { c.send(channel, peer, from, bytes, r) };
                         { c.receive(channel, peer, to, bytes, r) };
                         { c.test(r) } -> std::same_as<bool>;
                         { c.data(r) } -> std::same_as<const std::byte*>;
                         { c.release(r) };
                         { c.cancel(r) } -> std::same_as<bool>;
                       };

}  // namespace allscan
