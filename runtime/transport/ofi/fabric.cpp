#ifdef ISTHMUS_FABRIC
#include "runtime/transport/ofi/fabric.hpp"

#include <dlfcn.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/transport/transport.hpp"

namespace isthmus::runtime {
namespace {

/// The functions that it has by name.
struct Library {
  using GetInfo = int (*)(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info*, fi_info**);
  GetInfo get_info = nullptr;
  void (*free_info)(fi_info*) = nullptr;
  fi_info* (*copy_info)(const fi_info*) = nullptr;
  int (*open_fabric)(fi_fabric_attr*, fid_fabric**, void*) = nullptr;
  const char* (*words)(int) = nullptr;
  std::string refused;

  Library() {
    void* const file = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
      const char* const why = ::dlerror();
      refused = std::string("libfabric is not there (Debian: libfabric1): ") + (why == nullptr ? "" : why);
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      void* const found = ::dlsym(file, name);
      if (found == nullptr) (refused = "libfabric has no ") += name;
      std::memcpy(&function, &found, sizeof found);
    };
    find(get_info, "fi_getinfo");
    find(free_info, "fi_freeinfo");
    find(copy_info, "fi_dupinfo");
    find(open_fabric, "fi_fabric");
    find(words, "fi_strerror");
  }
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

/// What the program wants of signals: libraries of providers (PSM) take those that end it for themselves, print where
/// it was, and end it with another status.
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < kept_.size(); ++i) ::sigaction(numbers[i], nullptr, &kept_[i]);
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < kept_.size(); ++i) ::sigaction(numbers[i], &kept_[i], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr std::array numbers{SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGQUIT, SIGSEGV, SIGTERM};
  std::array<struct sigaction, numbers.size()> kept_{};
};

/// Of the providers that libfabric lists, those which do not reach other computers, and those that it keeps for tests
/// or for earlier programs: taken where they are named only.
bool is_for_others(const std::string& name) {
  static constexpr std::array<const char*, 5> others{"shm", "sm2", "net", "udp", "sockets"};
  const std::string core = name.substr(0, name.find(';'));
  return std::find(others.begin(), others.end(), core) == others.end();
}

[[noreturn]] void refuse(const char* what, std::int64_t error) {
  throw TransportError(std::string("libfabric: ") + what + ": " + Fabric::words_of(error));
}

void check(const char* what, std::int64_t status) {
  if (status < 0) refuse(what, status);
}

}  // namespace

std::string Fabric::words_of(std::int64_t error) {
  return library().words(static_cast<int>(error < 0 ? -error : error));
}

Fabric::Fabric(const std::string& provider, const std::string& address) : provider_(provider) {
  const KeptSignals keeps;
  if (!library().refused.empty()) throw TransportError(library().refused);
  try {
    open(address);
  } catch (...) {
    close();
    throw;
  }
}

Fabric::~Fabric() { close(); }

void Fabric::open(const std::string& address) {
  fi_info* hints = library().copy_info(nullptr);
  if (hints == nullptr) throw TransportError("libfabric: not enough memory");
  hints->caps = FI_TAGGED | FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // whoever holds the lock of the team
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->domain_attr->mr_mode = 0;
  if (!provider_.empty()) hints->fabric_attr->prov_name = ::strdup(provider_.c_str());
  const auto list = [&](bool here) {
    fi_info* found = nullptr;
    const int status = library().get_info(FI_VERSION(1, 9), here ? address.c_str() : nullptr, nullptr,
                                          here ? FI_SOURCE : 0, hints, &found);
    if (status != 0 && status != -FI_ENODATA) {
      library().free_info(hints);
      refuse("fi_getinfo", status);
    }
    return found;
  };
  // Those of TCP use the address by which this computer is known; others have addresses of their own.
  for (const bool here : {false, true}) {
    if (here && (address.empty() || info_ == nullptr || info_->addr_format == FI_SOCKADDR_IB)) break;
    fi_info* const all = list(here);
    const fi_info* one = all;
    while (one != nullptr && provider_.empty() && !is_for_others(one->fabric_attr->prov_name)) one = one->next;
    if (here && one != nullptr && std::strcmp(one->fabric_attr->prov_name, info_->fabric_attr->prov_name) != 0)
      one = nullptr;
    if (one != nullptr) {
      if (info_ != nullptr) library().free_info(info_);
      info_ = library().copy_info(one);
    }
    if (all != nullptr) library().free_info(all);
  }
  library().free_info(hints);
  if (info_ == nullptr)
    throw TransportError(provider_.empty()
                             ? std::string("libfabric knows no network here: fi_info -t FI_EP_RDM lists what it knows")
                             : "libfabric has no provider " + provider_ +
                                   " here that passes messages with tags: fi_info -t FI_EP_RDM lists those there are");
  provider_ = info_->fabric_attr->prov_name;
  most_ = std::min<std::uint64_t>(info_->ep_attr->max_msg_size, 1U << 30);
  check("fi_fabric", library().open_fabric(info_->fabric_attr, &fabric_, nullptr));
  check("fi_domain", fi_domain(fabric_, info_, &domain_, nullptr));
  fi_av_attr of_addresses{};
  of_addresses.type = FI_AV_TABLE;
  check("fi_av_open", fi_av_open(domain_, &of_addresses, &addresses_, nullptr));
  fi_cq_attr of_queue{};
  of_queue.format = FI_CQ_FORMAT_TAGGED;
  of_queue.wait_obj = FI_WAIT_NONE;
  of_queue.size = 4096;
  check("fi_cq_open", fi_cq_open(domain_, &of_queue, &queue_, nullptr));
  check("fi_endpoint", fi_endpoint(domain_, info_, &endpoint_, nullptr));
  check("fi_ep_bind", fi_ep_bind(endpoint_, &addresses_->fid, 0));
  check("fi_ep_bind", fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV));
  check("fi_enable", fi_enable(endpoint_));
}

void Fabric::close() {
  if (endpoint_ != nullptr) fi_close(&endpoint_->fid);
  if (queue_ != nullptr) fi_close(&queue_->fid);
  if (addresses_ != nullptr) fi_close(&addresses_->fid);
  if (domain_ != nullptr) fi_close(&domain_->fid);
  if (fabric_ != nullptr) fi_close(&fabric_->fid);
  if (info_ != nullptr) library().free_info(info_);
}

std::string Fabric::name() const {
  std::array<char, 256> bytes{};
  std::size_t size = bytes.size();
  check("fi_getname", fi_getname(&endpoint_->fid, bytes.data(), &size));
  return {bytes.data(), size};
}

std::vector<fi_addr_t> Fabric::reach(const std::vector<std::string>& names) const {
  std::vector<fi_addr_t> found(names.size(), FI_ADDR_NOTAVAIL);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int count = fi_av_insert(addresses_, names[i].data(), 1, &found[i], 0, nullptr);
    if (count != 1) refuse("fi_av_insert", count < 0 ? count : -FI_EINVAL);
  }
  return found;
}

}  // namespace isthmus::runtime
#endif
