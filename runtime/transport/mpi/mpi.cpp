#include "runtime/transport/mpi/mpi.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace isthmus::runtime {
namespace {

/// Messages of collectives: see the head of mpi.hpp.
bool is_direct(const Key& key) { return key.comm == 0 && key.tag == 0; }

/// Tags that are not those of contexts: the stream's, that of alarms, those of a listener where there are enough.
std::uint32_t tags_beside(std::uint32_t tags) { return tags < 16 ? 2 : 2 + MpiTransport::listener_tags; }

/// Beyond those, of names.
std::uint32_t tags_of_names(std::uint32_t tags) { return tags < 16384 ? 0 : 4096; }

}  // namespace

MpiTransport::MpiTransport(const isthmus_wire& wire)
    : wire_(wire),
      window_(std::min(wire.tags - tags_beside(wire.tags) - tags_of_names(wire.tags), most_window)),
      past_(window_) {
  count_contexts();
  hear_alarms();
}

MpiTransport::~MpiTransport() { wire_.close(wire_.data, failure().empty() ? 0 : 1); }

std::uint64_t MpiTransport::make(What what, Rank peer, std::uint64_t count, Token token) {
  if (spare_.empty()) {
    spare_.push_back(messages_.size());
    messages_.emplace_back();
  }
  const std::uint64_t number = spare_.back();
  spare_.pop_back();
  Message& message = messages_[number];
  message.what = what;
  message.peer = peer;
  message.token = token;
  message.count = count;
  message.got = message.ended = 0;
  message.piece = what == What::alarm ? wire_.most : piece_of(count);
  message.pieces = count == 0 ? 1 : (count - 1) / message.piece + 1;
  message.begun = foresees_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
  if (what != What::alarm) ++under_way_;
  return number;
}

void MpiTransport::release(std::uint64_t number) {
  messages_[number].what = What::free;
  --under_way_;
  spare_.push_back(number);
}

void MpiTransport::begin(std::uint64_t number, std::uint32_t tag, std::byte* bytes) {
  const Message& message = messages_[number];
  std::uint64_t left = message.count;
  for (std::uint64_t i = 0; i < message.pieces; ++i) {
    const std::uint64_t now = std::min(left, message.piece);
    const int status = message.sends() ? wire_.send(wire_.data, message.peer, tag, bytes, now, number)
                                       : wire_.receive(wire_.data, message.peer, tag, bytes, now, number);
    if (status < 0) return fail_for_wire();
    if (now > 0) bytes += now;
    left -= now;
  }
}

bool MpiTransport::begin_named(What what, Rank peer, const Key& key, std::byte* bytes, std::size_t count, Token token) {
  if (key.comm != 0 || key.tag != Key::named || key.context >= tags_of_names(wire_.tags)) return false;
  begin(make(what, peer, count, token), window_ + tags_beside(wire_.tags) + key.context, bytes);
  return true;
}

void MpiTransport::begin_direct(const Held& message) {
  const std::uint64_t number =
      make(message.sends ? What::send : What::recv, message.peer, message.count, message.token);
  begin(number, message.context % window_, message.bytes);
}

bool MpiTransport::send(Rank to, const Key& key, const std::byte* bytes, std::size_t count, Token token) {
  if (!failure().empty()) return false;
  std::byte* const from = const_cast<std::byte*>(bytes);  // only read
  if (is_direct(key)) {
    const Held message{true, to, key.context, from, count, token};
    if (may_begin(key.context)) begin_direct(message);
    else held_.push_back(message);
    return false;
  }
  if (begin_named(What::send, to, key, from, count, token)) return false;
  const std::uint64_t header = make(What::header_out, to, sizeof(Header), {});
  messages_[header].header = {key, count};
  begin(header, window_, reinterpret_cast<std::byte*>(&messages_[header].header));
  begin(make(What::bytes_out, to, count, token), window_, from);
  return false;
}

bool MpiTransport::recv(Rank from, const Key& key, std::byte* bytes, std::size_t count, Token token) {
  if (!failure().empty()) return false;
  if (is_direct(key)) {
    const Held message{false, from, key.context, bytes, count, token};
    if (may_begin(key.context)) begin_direct(message);
    else held_.push_back(message);
    return false;
  }
  if (begin_named(What::recv, from, key, bytes, count, token)) return false;
  Stream& stream = stream_of(from);
  Early early;
  if (stream.box.take_early(key, early)) {
    if (early.count != count) {
      raise("rank " + std::to_string(from) + " sends " + std::to_string(early.count) + " bytes where rank " +
            std::to_string(rank()) + " receives " + std::to_string(count));
      return false;
    }
    if (count > 0) std::memcpy(bytes, early.bytes.data(), count);
    stream.box.recycle(early);
    return true;
  }
  stream.box.post({key, bytes, count, token});
  read_header(from, stream);
  return false;
}

MpiTransport::Stream& MpiTransport::stream_of(Rank from) {
  if (streams_.empty()) streams_.resize(ranks());
  if (streams_[from] == nullptr) streams_[from] = std::make_unique<Stream>();
  return *streams_[from];
}

void MpiTransport::read_header(Rank from, Stream& stream) {
  if (stream.reads || !stream.box.awaits()) return;
  stream.reads = true;
  const std::uint64_t number = make(What::header_in, from, sizeof(Header), {});
  begin(number, window_, reinterpret_cast<std::byte*>(&messages_[number].header));
}

/// The bytes come next: to whoever waits for them, or into memory of ours.
void MpiTransport::header_came(std::uint64_t number) {
  const Rank from = messages_[number].peer;
  const Header header = messages_[number].header;
  release(number);
  Posted found;
  const bool wanted = stream_of(from).box.take_posted(header.key, found);
  if (wanted && found.count != header.count)
    return raise("rank " + std::to_string(from) + " sends " + std::to_string(header.count) + " bytes where rank " +
                 std::to_string(rank()) + " receives " + std::to_string(found.count));
  const std::uint64_t bytes = make(wanted ? What::bytes_in : What::early_in, from, header.count, found.token);
  Message& message = messages_[bytes];
  if (!wanted) {
    message.header = header;
    message.early.resize(header.count);
  }
  begin(bytes, window_, wanted ? found.bytes : message.early.data());
}

/// Somebody may have begun to wait for it meanwhile.
void MpiTransport::early_came(std::uint64_t number) {
  Message& message = messages_[number];
  Stream& stream = stream_of(message.peer);
  Posted found;
  if (!stream.box.take_posted(message.header.key, found)) {
    stream.box.keep({message.header.key, message.count, 0, 0, true, {}}, message.early.data());
  } else if (found.count != message.count) {
    raise("rank " + std::to_string(message.peer) + " sends " + std::to_string(message.count) + " bytes where rank " +
          std::to_string(rank()) + " receives " + std::to_string(found.count));
  } else {
    if (found.count > 0) std::memcpy(found.bytes, message.early.data(), found.count);
    ended_.push_back(found.token);
  }
}

std::string MpiTransport::differ(const Message& message, std::uint64_t sent) const {
  const std::string count = sent == ISTHMUS_WIRE_MORE ? "more bytes" : std::to_string(sent) + " bytes";
  return "rank " + std::to_string(message.peer) + " sends " + count + " where rank " + std::to_string(rank()) +
         " receives " + std::to_string(message.count);
}

void MpiTransport::ended(const isthmus_wire_end& end) {
  Message& message = messages_[end.token];
  ++message.ended;
  if (message.sends()) {
    if (message.ended == message.pieces) complete(end.token);
    return;
  }
  if (message.what == What::alarm) {
    heard_[sizeof heard_ - 1] = '\0';
    raised_ = true;  // whoever failed first has told all
    return fail(heard_);
  }
  if (end.bytes == ISTHMUS_WIRE_MORE) return raise(differ(message, end.bytes));
  message.got += end.bytes;
  // All pieces but the last one are as long as can be.
  const std::uint64_t missing = (message.pieces - message.ended) * message.piece;
  if (message.got > message.count || message.got + missing < message.count) return raise(differ(message, message.got));
  if (message.ended == message.pieces) complete(end.token);
}

void MpiTransport::complete(std::uint64_t number) {
  Message& message = messages_[number];
  const Rank peer = message.peer;
  if (message.begun != std::chrono::steady_clock::time_point{})
    (message.sends() ? sent_ : received_).ended(message.count, std::chrono::steady_clock::now() - message.begun);
  switch (message.what) {
    case What::send:
    case What::recv:
    case What::bytes_out:
    case What::bytes_in: ended_.push_back(message.token); break;
    case What::early_in: early_came(number); break;
    case What::header_in: return header_came(number);
    default: break;
  }
  const bool of_stream = message.what == What::bytes_in || message.what == What::early_in;
  release(number);
  if (!of_stream || !failure().empty()) return;
  Stream& stream = stream_of(peer);
  stream.reads = false;
  read_header(peer, stream);
}

void MpiTransport::retired(std::uint32_t context) {
  const auto ahead = static_cast<std::int32_t>(context - oldest_);
  if (ahead < 0) return;
  if (ahead >= static_cast<std::int32_t>(window_)) {
    far_past_.push_back(context);
    return;
  }
  past_[context % window_] = true;
  if (ahead > 0) return;
  while (past_[oldest_ % window_]) {
    past_[oldest_ % window_] = false;
    ++oldest_;
    const auto far = std::find(far_past_.begin(), far_past_.end(), oldest_ + window_ - 1);
    if (far == far_past_.end()) continue;
    past_[*far % window_] = true;
    far_past_.erase(far);
  }
  // In their order, as each of them keeps its own.
  for (std::size_t i = 0; i < held_.size();) {
    if (!may_begin(held_[i].context)) {
      ++i;
      continue;
    }
    begin_direct(held_[i]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void MpiTransport::hear_alarms() {
  const std::uint64_t number = make(What::alarm, ISTHMUS_WIRE_ANY, sizeof heard_, {});
  if (wire_.receive(wire_.data, ISTHMUS_WIRE_ANY, window_ + 1, heard_, sizeof heard_, number) < 0) fail_for_wire();
}

void MpiTransport::fail_for_wire(std::int64_t status) {
  constexpr std::int64_t died = -2;
  const std::string words = wire_.error(wire_.data);
  raise(status == died ? words
                       : "rank " + std::to_string(rank()) + " cannot send or receive over " + over() + ": " + words);
}

void MpiTransport::raise(const std::string& words) {
  fail(words);
  if (raised_) return;
  raised_ = true;
  words.copy(raise_, sizeof raise_ - 1);
  for (Rank r = 0; r < ranks(); ++r)
    if (r != rank()) wire_.send(wire_.data, r, window_ + 1, raise_, sizeof raise_, 0);
  // Nobody calls poll() any more: what has to leave leaves now, as far as it can.
  const isthmus_wire_end* gone = nullptr;
  for (int turn = 0; turn < 20; ++turn) {
    if (wire_.poll(wire_.data, &gone) < 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

/// A process that was stopped has not waited: of what passes between two looks at most 100 ms count.
void MpiTransport::watch_silence(bool idle) {
  using namespace std::chrono_literals;
  const Rank awaited = listener_ == nullptr ? nobody : listener_->awaits();
  if (!idle || (under_way_ == 0 && awaited == nobody)) {
    silent_ = {};
    idle_ = 0;
    return;
  }
  if (++idle_ % 64 != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (idle_ > 64) silent_ += std::min<std::chrono::steady_clock::duration>(now - looked_, 100ms);
  looked_ = now;
  if (silent_ < silence_) return;
  const auto waits = std::find_if(messages_.begin(), messages_.end(), [](const Message& message) {
    return message.what != What::free && message.what != What::alarm;
  });
  raise("nothing has come over " + std::string(over()) + " for " + std::to_string(silence_ / 1ms) + " ms: rank " +
        std::to_string(rank()) + " waits for rank " + std::to_string(waits == messages_.end() ? awaited : waits->peer));
}

void MpiTransport::listen(std::unique_ptr<Listener> listener) {
  if (window_ + 2 + listener_tags > wire_.tags)
    throw TransportError("a space needs " + std::to_string(listener_tags) + " tags of the wire: it has too few");
  listener_ = std::move(listener);
}

void MpiTransport::listener_sends(Rank to, std::uint32_t tag, const std::byte* bytes, std::size_t count,
                                  std::uint64_t token) {
  if (failure().empty() && wire_.send(wire_.data, to, window_ + 2 + tag, bytes, count, token | of_listener) < 0)
    fail_for_wire();
}

void MpiTransport::listener_receives(Rank from, std::uint32_t tag, std::byte* bytes, std::size_t count,
                                     std::uint64_t token) {
  if (failure().empty() && wire_.receive(wire_.data, from, window_ + 2 + tag, bytes, count, token | of_listener) < 0)
    fail_for_wire();
}

void MpiTransport::look() {
  if (!failure().empty()) return;
  const isthmus_wire_end* ends = nullptr;
  const std::int64_t count = wire_.poll(wire_.data, &ends);
  if (count < 0) fail_for_wire(count);
  for (std::int64_t i = 0; i < count && failure().empty(); ++i) {
    if ((ends[i].token & of_listener) != 0) listener_->ended(ends[i].token & ~of_listener);
    else ended(ends[i]);
  }
  if (silence_.count() > 0 && failure().empty()) watch_silence(count == 0);
}

std::chrono::nanoseconds MpiTransport::quiet_for() {
  foresees_ = true;
  if (listener_ != nullptr) return {};  // that may be sent something at any time
  const auto now = std::chrono::steady_clock::now();
  const auto counts = [](const Message& message) { return message.what != What::free && message.what != What::alarm; };
  std::uint64_t sending = 0, receiving = 0;
  for (const Message& message : messages_)
    if (counts(message)) (message.sends() ? sending : receiving) += message.count;
  Forecast::Time least = Forecast::longest;
  for (const Message& message : messages_) {
    if (!counts(message)) continue;
    if (message.begun == std::chrono::steady_clock::time_point{}) return {};
    const auto pause = message.sends()
                           ? sent_.pause(message.count, now - message.begun, sending, true)
                           : received_.pause(message.count, now - message.begun, receiving, message.token.awaited);
    least = std::min(least, pause);
  }
  return least;
}

std::size_t MpiTransport::poll(Token* ended_now, std::size_t most) {
  look();
  return ended_.give(ended_now, most);
}

}  // namespace isthmus::runtime
